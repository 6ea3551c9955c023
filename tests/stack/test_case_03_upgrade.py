"""Case 3: Kafka Streams 2.7.0, which has the fix of KAFKA-10179: the control, and the upgrade with the state kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parts.streams.application import lose_state
from parts.streams.model import JavaCause, StreamsError
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import (
    ANN,
    ANN_ROW,
    DATA_EXCEPTION,
    REST_CLIENT_EXCEPTION,
    SERIALIZATION_EXCEPTION,
    Scene,
    diagnose,
    make_plan,
    srfix,
)

pytestmark = pytest.mark.stack


def test_on_2_7_0_nothing_happens_and_nothing_is_found(scene: Scene, registry: FixtureRegistry) -> None:
    # It registers its internal schema under the source's subject, which at BACKWARD would refuse it.
    registry.configure(scene.source_subject, {"compatibility": "NONE"})
    setup = replace(scene.setup, version="2.7.0")
    scene.produce(("ann", ANN))
    with scene.running(setup=setup) as application:
        application.wait_for_commit(setup.users)
        assert application.query("ann") == ANN_ROW
        assert {call.topic for call in application.serde_calls} == {setup.users}
    lose_state(setup)
    with scene.running(setup=setup) as application:
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
    assert list(ids(registry)) == [scene.source_subject]
    assert diagnose(scene, code=0) == ()
    # Nothing led srfix to the store, and a store that nobody looked at is not called healthy: it asks for its name.
    by_name = ("--application", setup.application, "--streams-version", "2.7")
    source = ("--store", setup.store, "--source", f"{setup.application}/{setup.store}={setup.users}")
    assert diagnose(scene, *by_name, code=2) == ()
    assert diagnose(scene, *by_name, *source, code=0) == ()


def test_a_store_that_2_6_3_has_written_and_2_7_0_cannot_read_is_repaired(
    scene: Scene, registry: FixtureRegistry
) -> None:
    registry.configure(scene.source_subject, {"compatibility": "NONE"})  # else the next put is refused too (SRF016)
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    before = registry.dump()
    (internal_id,) = ids(registry)[scene.phantom]
    assert ids(registry)[scene.source_subject] == [scene.writer_id]

    # It can be known before the upgrade. 2.7.0 asks the source's subject for the id of the phantom one.
    (finding,) = [found for found in diagnose(scene, "--streams-version", "2.7", code=1) if found["severity"] != "note"]
    assert (finding["code"], finding["severity"]) == ("SRF004", "breaks on upgrade")
    assert (finding["subject"], finding["repairable"]) == (scene.source_subject, True)
    assert [fault["id"] for fault in finding["schema_ids"]] == [internal_id]
    # The rows of the state directory prove it.
    given = ("--streams-version", "2.7", "--state-dir", str(scene.setup.state_directory))
    (proven,) = [found for found in diagnose(scene, *given, code=1) if found["severity"] != "note"]
    assert [fault["id"] for fault in proven["schema_ids"]] == [internal_id]
    assert f"Rows on disk carry schema id {internal_id} (1 row, in the store of partition " in proven["explanation"]

    upgraded = replace(scene.setup, version="2.7.0")
    with scene.running(setup=upgraded) as application:
        with pytest.raises(StreamsError) as caught:
            application.query("ann")
        assert caught.value.causes == (
            JavaCause(
                class_name=DATA_EXCEPTION,
                message=f"Failed to deserialize data for topic {scene.setup.users} to Avro: ",
            ),
            JavaCause(
                class_name=SERIALIZATION_EXCEPTION,
                message=f"Error retrieving Avro value schema version for id {internal_id}",
            ),
            JavaCause(class_name=REST_CLIENT_EXCEPTION, message="Schema not found; error code: 40403"),
        )
        assert f"version for id {internal_id}" in finding["explanation"]

        # The running application reads at once, and nothing fails when it is started again.
        plan = make_plan(scene, "--streams-version", "2.7", "--also", "SRF004")
        assert registry.dump() == before
        srfix(scene, "apply", str(plan), "--yes")
        srfix(scene, "verify", str(plan))
        assert application.query("ann") == ANN_ROW
    assert {finding["severity"] for finding in diagnose(scene, "--streams-version", "2.7", code=0)} == {"note"}
    with scene.running(setup=upgraded) as application:
        assert application.join("ann") == ANN_ROW

    srfix(scene, "rollback", str(plan), "--yes")
    assert registry.dump() == before
    with scene.start(setup=upgraded) as application, pytest.raises(StreamsError, match=f"for id {internal_id}"):
        application.query("ann")


def ids(registry: FixtureRegistry) -> dict[str, list[int]]:
    """Per subject the ids of its versions."""
    subjects: Any = registry.dump()["subjects"]
    return {name: [version["id"] for version in versions] for name, versions in subjects.items()}
