"""Case 8: what the serde writes differs from what it read: not at all, in letter case only, or in a subset of the fields.

| serde | columns | written under the phantom subject | after a restore |
|---|---|---|---|
| symmetric | as read | the writer's schema | read: masked |
| asymmetric | all, in upper case | another schema | 40403 |
| asymmetric | some, named as they are | another schema | 40403 |
| srfix's, under one subject | all, in upper case | another schema | 40403 |
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import ProjectedColumn, Row, SerdeKind, StreamsError
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, Schema
from tests.stack.scene import ANN, NEXT_COLUMNS, WRITER_SCHEMA, Scene, diagnose, repair, srfix

pytestmark = pytest.mark.stack

NEXT_WRITER_SCHEMA: Final = {
    **WRITER_SCHEMA,
    "fields": [*WRITER_SCHEMA["fields"], {"name": "tier", "type": ["null", "string"], "default": None}],
}
SUBSET: Final = (
    ProjectedColumn(name="userId", field="userId", type="INT64"),
    ProjectedColumn(name="homeCountry", field="homeCountry"),
)
IN_UPPER_CASE: Final[Row] = {"USERID": 1, "FULLNAME": "Ann", "HOMECOUNTRY": "NL"}


def test_a_symmetric_serde_writes_back_the_producers_schemas_and_so_masks_the_defect(
    scene: Scene, registry: FixtureRegistry
) -> None:
    scene = replace(scene, setup=replace(scene.setup, serde=SerdeKind.CONNECT))
    with RegistryClient(registry.url) as producer:
        next_id = producer.register(scene.source_subject, Schema(text=json.dumps(NEXT_WRITER_SCHEMA)))
    scene.produce(("ann", ANN))
    scene.produce(("bob", ANN | {"tier": "gold"}), schema=NEXT_WRITER_SCHEMA, schema_id=next_id)
    with scene.running(()) as application:
        application.wait_for_commit(scene.setup.users)
    held: Any = registry.dump()["subjects"]
    assert {version["id"] for version in held[scene.phantom]} == {scene.writer_id, next_id}
    lose_state(scene.setup)
    with scene.running(()) as application:
        assert dict(application.rows()) == {"ann": ANN, "bob": ANN | {"tier": "gold"}}
        assert application.join("bob") == ANN | {"tier": "gold"}
    (note,) = diagnose(scene, code=0)
    assert (note["code"], note["severity"]) == ("SRF003", "note")
    assert {fault["id"] for fault in note["schema_ids"]} == {scene.writer_id, next_id}


@pytest.mark.parametrize(
    ("serde", "columns", "row"),
    [
        pytest.param(SerdeKind.CONNECT_PROJECTED, NEXT_COLUMNS, IN_UPPER_CASE, id="letter-case-only"),
        pytest.param(SerdeKind.CONNECT_PROJECTED, SUBSET, {"userId": 1, "homeCountry": "NL"}, id="subset"),
        pytest.param(SerdeKind.SRFIX_ONE_SUBJECT, NEXT_COLUMNS, IN_UPPER_CASE, id="srfix-letter-case-only"),
    ],
)
def test_an_asymmetric_one_cannot_read_what_was_restored_until_it_is_repaired(
    scene: Scene, serde: SerdeKind, columns: tuple[ProjectedColumn, ...], row: Row
) -> None:
    scene = replace(scene, setup=replace(scene.setup, serde=serde))
    scene.produce(("ann", ANN))
    with scene.running(columns) as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == row
    lose_state(scene.setup)
    with scene.running(columns) as application:
        with pytest.raises(StreamsError, match=f"Error retrieving Avro value schema version for id {scene.writer_id}"):
            application.query("ann")
        # srfix decodes as the reader does, and as one with a fall-back would.
        (error,) = decoded(scene, "one-subject", columns, code=1)["errors"]
        assert f"Error retrieving Avro value schema version for id {scene.writer_id}" in error["message"]
        assert scene.phantom in error["message"]
        assert decoded(scene, "dual-subject", columns)["value"] == row

        repair(scene, keep="auto", live_keys=1)
        assert application.query("ann") == row
        assert application.join("ann") == row
        assert decoded(scene, "one-subject", columns)["value"] == row


def decoded(scene: Scene, policy: str, columns: tuple[ProjectedColumn, ...], *, code: int = 0) -> Any:
    """The one record of the topic, as srfix reads it under the store's subject into the application's columns."""
    types = {"INT64": "BIGINT", "STRING": "STRING"}
    wanted = ", ".join(f"`{column.name}` {types[column.type]}" for column in columns)
    setup = scene.setup
    where = ("--application", setup.application, "--store", setup.store, "--columns", wanted)
    return json.loads(srfix(scene, "decode", setup.users, "--resolve", policy, *where, "--output", "json", code=code))
