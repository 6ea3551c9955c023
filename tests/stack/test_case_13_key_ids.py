"""Case 13: a table whose keys are Avro under a schema id that the application does not write itself, on Kafka Streams
2.6.3. After a restore it misses every row without a word, and no registration changes that: srfix says so (SRF005), and
does not call the repaired store healthy.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pytest

from srfix.fixtures.streams import ProjectedColumn, Row, SerdeKind, StreamsApplication, StreamsError, lose_state
from srfix.serde.subjects import Role, subject_for
from tests.stack.scene import COLUMNS, Scene, diagnose, framed, make_plan, srfix

pytestmark = pytest.mark.stack

KEY_SCHEMA: Final = {"type": "record", "name": "UserKey", "fields": [{"name": "login", "type": "string"}]}
KEY_COLUMNS: Final = (ProjectedColumn(name="LOGIN", field="login"),)
ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann"}
NEW_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann Two"}
ANN_KEY: Final[Row] = {"LOGIN": "ann"}


def test_a_restored_row_that_the_application_misses_is_said_and_never_called_healthy(scene: Scene) -> None:
    scene = replace(scene, setup=replace(scene.setup, key_serde=SerdeKind.CONNECT_PROJECTED))
    users, logins = scene.setup.users, scene.setup.logins
    key_id = scene.registry.seed(subject_for(users, Role.KEY), json.dumps(KEY_SCHEMA))
    scene.registry.seed(subject_for(logins, Role.KEY), json.dumps(KEY_SCHEMA))
    ann = framed(KEY_SCHEMA, key_id, {"login": "ann"})
    scene.produce((ann, ANN))
    with start(scene) as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(users)
        assert application.rows() == ((ANN_KEY, ANN_ROW),)
        assert application.join(ann) == ANN_ROW
        application.wait_for_commit(logins)
    lose_state(scene.setup)

    # The restored key has the producers' id; the application asks for the same key under its own.
    with start(scene) as application:
        application.wait_for_state("RUNNING")
        assert application.count() == 1
        assert application.query(ANN_KEY) is None
        assert application.join(ann) is None
        with pytest.raises(StreamsError, match=f"for id {key_id}"):
            application.rows()
        application.wait_for_commit(logins)

        # Joins and queries answer null, which no registration cures; that rows cannot be read, one after the other, it does.
        found = {(finding["code"], finding["role"]) for finding in diagnose(scene, code=1)}
        assert found >= {("SRF005", "key"), ("SRF001", "key"), ("SRF001", "value")}
        plan = make_plan(scene)
        srfix(scene, "apply", str(plan), "--yes")

        assert application.rows() == ((ANN_KEY, ANN_ROW),)
        assert application.query(ANN_KEY) is None
        assert application.join(ann) is None
        after = json.loads(srfix(scene, "verify", str(plan), "--output", "json", code=1))
        print(json.dumps(after, indent=1))
        print(srfix(scene, "diagnose", code=1))
        assert [finding["code"] for finding in diagnose(scene, code=1) if finding["severity"] != "note"] == ["SRF005"]

        # The next update makes a second row for the same key.
        scene.produce((ann, ANN | {"fullName": "Ann Two"}))
        application.wait_for_commit(users)
        assert application.join(ann) == NEW_ROW
        assert application.rows() == ((ANN_KEY, ANN_ROW), (ANN_KEY, NEW_ROW))


def start(scene: Scene) -> StreamsApplication:
    return StreamsApplication(scene.setup, columns=COLUMNS, key_columns=KEY_COLUMNS)
