"""Values and keys that seem to carry a schema id which no registry gives: each is one bad row, and nothing stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery.errors import PlanError
from srfix.recovery.explain.stack_trace import read
from srfix.recovery.facts.subject_state import subject_state_from
from srfix.recovery.inspect.scan import scan_topic
from srfix.recovery.plans.documents import plan_digest
from srfix.recovery.repair.plan_file import REPAIR_PLANS, plan_document
from srfix.recovery.repair.verify.events import Problem
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.models import Json
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R, plan_of
from tests.recovery.world import World, value, world_of

IMPOSSIBLE = [0, 2**31, 2**31 + 5, 2**32 - 1]
BIGINT = (2**55 + 2**40).to_bytes(8, "big")
"""A BIGINT key that begins with 00 and would name the id 2147516416."""


def value_with(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + b"\x02"


@pytest.fixture(params=IMPOSSIBLE)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The incident, and beside its row one value and one key with such an id."""
    with world_of({"users": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(PHANTOM, R)
        made.live(("u1", value(1)), ("u2", value_with(request.param)), (BIGINT, value(1)))
        made.registry.forget_requests()
        yield made


def asked_ids(world: World) -> set[str]:
    """The ids that the registry was asked for."""
    paths = [request.path.partition("?")[0].split("/") for request in world.registry.requests]
    return {path[3] for path in paths if path[1:3] == ["schemas", "ids"]}


class TestATopicWithOne:
    def test_a_scan_counts_it_as_unframed(self, world: World) -> None:
        scan = scan_topic("users", cluster=world.cluster, engine=world.engine, registry=world.client())
        assert scan.schema_ids == (1,)
        (partition,) = scan.census.partitions
        assert (partition.values.unframed, partition.keys.unframed) == (1, 3)
        assert asked_ids(world) <= {"1"}

    def test_diagnosis_finds_the_incident_and_the_row(self, world: World) -> None:
        findings = world.findings()
        assert findings["SRF001"].schema_ids[0].schema_id == 1
        assert findings["SRF013"].explanation.startswith(
            "1 live key of topic users has a value that no schema registry"
        )
        assert asked_ids(world) <= {"1", "2"}

    def test_a_repair_goes_through_and_is_verified(self, world: World, tmp_path: Path) -> None:
        plan = world.plan()
        journal = tmp_path / "journal"
        world.apply(plan, journal)
        problems = [event for event in world.verify(plan) if isinstance(event, Problem)]
        assert [problem.schema_id for problem in problems if problem.schema_id is not None] == []
        world.roll_back(journal)
        assert asked_ids(world) <= {"1", "2"}


class TestDocumentsThatNameOne:
    @pytest.mark.parametrize("schema_id", [-1, *IMPOSSIBLE])
    @pytest.mark.parametrize("place", ["action", "finding"])
    def test_a_plan_is_refused(self, client: RegistryClient, schema_id: int, place: str) -> None:
        document = plan_document(plan_of(client))
        if place == "action":
            document["actions"][1]["schema_id"] = schema_id  # type: ignore[index, call-overload]
        else:
            document["findings"][0]["schema_ids"] = [schema_id]  # type: ignore[index, call-overload]
        document["digest"] = plan_digest(document)
        with pytest.raises(PlanError, match=rf"There is no schema id {schema_id}\b.*Plan again\.$"):
            REPAIR_PLANS.plan_from(document, where="the plan")

    @pytest.mark.parametrize("schema_id", [-1, *IMPOSSIBLE])
    def test_the_state_of_a_subject_is_refused(self, schema_id: int) -> None:
        version: Json = {"version": 1, "id": schema_id, "deleted": False}
        with pytest.raises(PlanError, match=rf"There is no schema id {schema_id}\b"):
            subject_state_from({"subject": "s", "versions": [version], "config": None, "mode": None})


class TestATraceThatNamesOne:
    @pytest.mark.parametrize("schema_id", [-2, -2147483648, 0, 2147483653])
    def test_it_is_of_a_payload_that_no_serializer_wrote(self, schema_id: int) -> None:
        reading = read(f"Error retrieving Avro value schema for id {schema_id}")
        assert reading.schema_id is None
        assert reading.finding == "SRF013"
