"""Case 5: identical schemas mask the defect, until the next version of the source's schema."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import StreamsError
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, Schema, parse_columns
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.specs import WriteSpec
from tests.stack.scene import ANN_ROW, BOB_ROW, Scene, diagnose, make_plan, srfix

pytestmark = pytest.mark.stack

WRITTEN: Final = internal_schema(WriteSpec(columns=parse_columns("USERID BIGINT, FULLNAME STRING")))
NEXT_WRITTEN: Final = internal_schema(WriteSpec(columns=parse_columns("USERID BIGINT, FULLNAME STRING, TIER STRING")))
"""What the producers write is what the application projects to, as in a topic that ksqlDB itself writes; until they add a
column that the application does not take."""
ANN: Final[dict[str, object]] = {"USERID": 1, "FULLNAME": "Ann"}
BOB: Final[dict[str, object]] = {"USERID": 2, "FULLNAME": "Bob", "TIER": "gold"}


def test_a_store_whose_schemas_are_the_same_can_be_read_until_the_next_version_of_the_source_s(
    scene: Scene, registry: FixtureRegistry
) -> None:
    written_id = registry.seed(scene.source_subject, WRITTEN)
    scene.produce(("ann", ANN), schema=json.loads(WRITTEN), schema_id=written_id)
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    assert ids(registry, scene.phantom) == [written_id]
    lose_state(scene.setup)

    with scene.running() as application:
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
        application.wait_for_commit(scene.setup.logins)
        (note,) = diagnose(scene, code=0)
        assert (note["code"], note["severity"], note["subject"]) == ("SRF003", "note", scene.phantom)
        assert [fault["id"] for fault in note["schema_ids"]] == [written_id]
        assert f"until the topic gets a record with a new schema of {scene.source_subject}" in note["explanation"]
        before: Any = registry.dump()
        srfix(scene, "plan", "--detailed-exitcode", code=0)  # nothing to do

        # The registry takes the next version; the application reads it, and writes what it always wrote.
        with RegistryClient(registry.url) as producer:
            next_id = producer.register(scene.source_subject, Schema(text=NEXT_WRITTEN))
        scene.produce(("bob", BOB), schema=json.loads(NEXT_WRITTEN), schema_id=next_id)
        application.wait_for_row("bob", BOB_ROW)
        application.wait_for_commit(scene.setup.users)
    assert ids(registry, scene.phantom) == [written_id]
    lose_state(scene.setup)

    with scene.running() as application:
        assert application.query("ann") == ANN_ROW
        with pytest.raises(StreamsError, match=f"Error retrieving Avro value schema version for id {next_id}"):
            application.query("bob")
        (finding,) = [found for found in diagnose(scene, code=1) if found["severity"] != "note"]
        assert (finding["code"], finding["subject"]) == ("SRF001", scene.phantom)
        assert [(fault["id"], fault["live_keys"]) for fault in finding["schema_ids"]] == [(next_id, 1)]

        plan = make_plan(scene)
        srfix(scene, "apply", str(plan), "--yes")
        assert application.query("bob") == BOB_ROW
        assert application.join("bob") == BOB_ROW
    srfix(scene, "rollback", str(plan), "--yes")
    after: Any = registry.dump()
    assert after["subjects"][scene.phantom] == before["subjects"][scene.phantom]


def ids(registry: FixtureRegistry, subject: str) -> list[int]:
    """The ids of a subject's versions."""
    subjects: Any = registry.dump()["subjects"]
    return [version["id"] for version in subjects[subject]]
