"""Cases 1 and 4 on a real registry of another maker: Apicurio 3.3.3, its global level set to BACKWARD first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.apicurio import ApicurioRegistry
from srfix.fixtures.streams import StreamsApplication, StreamsError, lose_state
from srfix.serde.registry import RegistryClient
from tests.docker.meddler import meddler
from tests.stack.scene import (
    WRITER_SCHEMA,
    Scene,
    assert_query_fails,
    diagnose,
    make_plan,
    new_scene,
    read_failure,
    srfix,
)
from tests.stack.test_case_01_incident import (
    test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired as test_the_incident_is_repaired_and_brought_back,
)

__all__ = ["test_the_incident_is_repaired_and_brought_back"]

pytestmark = pytest.mark.stack

MISSING: Final = "The given schema does not match any schema under the subject {subject}"
NEXT_WRITER_SCHEMA: Final = {
    **WRITER_SCHEMA,
    "fields": [*WRITER_SCHEMA["fields"], {"name": "homeCity", "type": "string", "default": ""}],
}


@pytest.fixture(scope="module")
def apicurio() -> Iterator[ApicurioRegistry]:
    with ApicurioRegistry() as registry:
        yield registry


@pytest.fixture
def scene(broker: KraftBroker, apicurio: ApicurioRegistry, tmp_path: Path) -> Scene:
    """An application that has met nothing yet, on an empty Apicurio."""
    apicurio.clear()
    return new_scene(broker, apicurio, tmp_path, missing=MISSING)


def set_back_before_the_second_registration(scene: Scene, plan: Path) -> str:
    """Carries out the plan while somebody else sets BACKWARD again; what the command says."""
    registration = f"/subjects/{scene.phantom}/versions"

    def set_back(method: str, path: str, earlier: int) -> None:
        if (method, path.partition("?")[0], earlier) == ("POST", registration, 1):
            with RegistryClient(scene.registry.url) as somebody:
                somebody.set_config(scene.phantom, {"compatibility": "BACKWARD"})

    with meddler(scene.registry.url, set_back) as url:
        return srfix(scene, "apply", str(plan), "--yes", "--registry", url, code=3)


def test_a_repair_that_is_refused_in_the_middle_is_undone_or_finished(scene: Scene, apicurio: ApicurioRegistry) -> None:
    next_id = apicurio.seed(scene.source_subject, json.dumps(NEXT_WRITER_SCHEMA, separators=(",", ":")))
    ann = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
    bob = {"userId": 2, "fullName": "Bob", "homeCountry": None, "homeCity": "Delft"}
    scene.produce(("ann", ann))
    scene.produce(("bob", bob), schema=NEXT_WRITER_SCHEMA, schema_id=next_id)
    ann_row, bob_row = {"USERID": 1, "FULLNAME": "Ann"}, {"USERID": 2, "FULLNAME": "Bob"}
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
    before = apicurio.dump()
    assert before["configs"] == {}
    lose_state(scene.setup)

    with scene.start() as application:
        application.wait_for_state("RUNNING")
        (finding,) = [found for found in diagnose(scene, code=1) if found["severity"] != "note"]
        assert [fault["id"] for fault in finding["schema_ids"]] == [scene.writer_id, next_id]
        plan = make_plan(scene)
        steps = [action["kind"] for action in json.loads(plan.read_text())["actions"]]
        assert steps[:4] == ["set-compatibility", "register", "soft-delete", "register"]

        # One schema stands there, the other does not: half of the store can be read.
        set_back_before_the_second_registration(scene, plan)
        assert apicurio.write_log[-1].status == 409
        assert application.query("ann") == ann_row
        assert_bob_fails(scene, application, next_id)

        # The undo takes away what the repair brought, and leaves to others what they have set.
        srfix(scene, "rollback", f"{plan}.journal.jsonl", "--yes", code=3)
        assert apicurio.dump() == before | {"configs": {scene.phantom: {"compatibility": "BACKWARD"}}}
        with RegistryClient(apicurio.url) as somebody:
            somebody.delete_config(scene.phantom)
        assert apicurio.dump() == before

    # Refused once more, and the level set to NONE again: the same command goes on where it was.
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)
        plan = make_plan(scene)
        set_back_before_the_second_registration(scene, plan)
        with RegistryClient(apicurio.url) as somebody:
            somebody.set_config(scene.phantom, {"compatibility": "NONE"})
        srfix(scene, "apply", str(plan), "--yes")
        srfix(scene, "verify", str(plan))
        assert (application.query("ann"), application.query("bob")) == (ann_row, bob_row)
        assert apicurio.dump()["configs"] == {}

    srfix(scene, "rollback", f"{plan}.journal.jsonl", "--yes")
    assert apicurio.dump() == before


def assert_bob_fails(scene: Scene, application: StreamsApplication, next_id: int) -> None:
    with pytest.raises(StreamsError) as caught:
        application.query("bob")
    outermost, _, innermost = read_failure(scene)
    assert caught.value.causes[0] == outermost
    assert caught.value.causes[1].message == f"Error retrieving Avro value schema version for id {next_id}"
    assert caught.value.causes[2] == innermost
