"""Case 13: a table whose keys are Avro under a schema id that the application does not write itself, on Kafka Streams
2.6.3. After a restore it misses every row without a word, and no registration changes that: srfix says so (SRF005), and
does not call the repaired store healthy.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import KeyWindows, ProjectedColumn, Row, SerdeKind, StreamsError
from srfix.serde.columns.types import STRING, Column
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role, subject_for
from srfix.serde.windowed import Window, WindowKind, join
from tests.stack.scene import ANN, ANN_ROW, Scene, diagnose, framed, make_plan, srfix

pytestmark = pytest.mark.stack

KEY_SCHEMA: Final = {"type": "record", "name": "UserKey", "fields": [{"name": "login", "type": "string"}]}
KEY_COLUMNS: Final = (ProjectedColumn(name="LOGIN", field="login"),)
NEW_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann Two"}
START_MS: Final = 1_600_000_200_000
END_MS: Final = START_MS + 3_600_000


@pytest.mark.parametrize("windows", [KeyWindows.NONE, KeyWindows.TIME])
def test_a_restored_row_that_the_application_misses_is_told_and_never_called_healthy(
    scene: Scene, windows: KeyWindows
) -> None:
    scene = replace(scene, setup=replace(scene.setup, key_serde=SerdeKind.CONNECT_PROJECTED, key_windows=windows))
    users, logins = scene.setup.users, scene.setup.logins
    key_id = scene.registry.seed(subject_for(users, Role.KEY), json.dumps(KEY_SCHEMA))
    assert scene.registry.seed(subject_for(logins, Role.KEY), json.dumps(KEY_SCHEMA)) == key_id
    ann, ann_key = written_and_read_key(key_id, windows)
    scene.produce((ann, ANN))
    with scene.running(key_columns=KEY_COLUMNS) as application:
        application.wait_for_commit(users)
        assert application.rows() == ((ann_key, ANN_ROW),)
        assert application.join(ann) == ANN_ROW
        application.wait_for_commit(logins)
    lose_state(scene.setup)

    # The restored key has the producers' id; the application asks for the same key under its own.
    with scene.running(key_columns=KEY_COLUMNS) as application:
        assert application.count() == 1
        assert application.query(ann_key) is None
        assert application.join(ann) is None
        with pytest.raises(StreamsError, match=f"Error retrieving Avro key schema version for id {key_id}"):
            application.rows()

        # A repair lets the rows be read, one after the other (SRF001); it does not let them be found.
        found = {(finding["code"], finding["role"]): finding for finding in diagnose(scene, code=1)}
        assert found.keys() >= {("SRF001", "key"), ("SRF001", "value"), ("SRF005", "key")}
        missed = found["SRF005", "key"]
        assert missed["source"] == {"topic": users, "subject": subject_for(users, Role.KEY)}
        assert [(fault["id"], fault["live_keys"]) for fault in missed["schema_ids"]] == [(key_id, 1)]
        assert not missed["repairable"]
        plan = make_plan(scene)
        srfix(scene, "apply", str(plan), "--yes")
        assert application.rows() == ((ann_key, ANN_ROW),)
        assert application.query(ann_key) is None
        assert application.join(ann) is None
        verification = json.loads(srfix(scene, "verify", str(plan), "--output", "json", code=1))
        assert not verification["verified"]
        (problem,) = [check["what"] for check in verification["checks"] if not check["ok"]]
        assert "srfix explain SRF005" in problem
        assert [left["code"] for left in diagnose(scene, code=1) if left["severity"] != "note"] == ["SRF005"]

        # The next update makes a second row for the same key.
        scene.produce((ann, ANN | {"fullName": "Ann Two"}))
        application.wait_for_commit(users)
        assert application.join(ann) == NEW_ROW
        assert application.rows() == ((ann_key, ANN_ROW), (ann_key, NEW_ROW))


def test_rows_are_missed_where_only_some_keys_carry_the_id_that_the_application_writes(scene: Scene) -> None:
    scene = replace(scene, setup=replace(scene.setup, key_serde=SerdeKind.CONNECT_PROJECTED))
    users, logins = scene.setup.users, scene.setup.logins
    own_schema = internal_schema(WriteSpec(columns=(Column("LOGIN", STRING),)))
    for topic in (users, logins):
        own_id = scene.registry.seed(subject_for(topic, Role.KEY), own_schema)
        other_id = scene.registry.seed(subject_for(topic, Role.KEY), json.dumps(KEY_SCHEMA))
    ann, bob = (
        framed(json.loads(own_schema), own_id, {"LOGIN": "ann"}),
        framed(KEY_SCHEMA, other_id, {"login": "bob"}),
    )
    scene.produce((ann, ANN), (bob, ANN))
    with scene.running(key_columns=KEY_COLUMNS) as application:
        application.wait_for_commit(users)
        assert application.join(ann) == application.join(bob) == ANN_ROW
        application.wait_for_commit(logins)
    lose_state(scene.setup)

    with scene.running(key_columns=KEY_COLUMNS) as application:
        found = {(finding["code"], finding["role"]) for finding in diagnose(scene, code=1)}
        plan = make_plan(scene)
        srfix(scene, "apply", str(plan), "--yes")
        assert application.join(ann) == ANN_ROW
        assert application.join(bob) is None
        assert ("SRF005", "key") in found
        srfix(scene, "verify", str(plan), code=1)


def written_and_read_key(key_id: int, windows: KeyWindows) -> tuple[bytes, Row]:
    """Ann's key as the producers write it, and as the application reads it."""
    payload = framed(KEY_SCHEMA, key_id, {"login": "ann"})
    row: Row = {"LOGIN": "ann"}
    if windows is KeyWindows.NONE:
        return payload, row
    window = Window(START_MS, END_MS)
    return join(payload, window, WindowKind.TIME), row | {"WINDOWSTART": START_MS, "WINDOWEND": END_MS}
