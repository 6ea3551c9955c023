"""Asked again as the failing reader asks: what is confirmed, what is a problem, what could not be looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import Census, CensusRequest, Cluster, LocalCensus, Plan, Supplied, verify
from srfix.recovery.advice.playbook import Verified, upon_verification
from srfix.recovery.census.interface import CensusProgress
from srfix.recovery.cluster.answers import GroupState
from srfix.recovery.commands import CommandLine
from srfix.recovery.repair.plan_file import Omission
from srfix.recovery.repair.verify.events import Confirmed, NotLookedAt, Problem
from srfix.recovery.repair.verify.verify import circumstances_now, outcome_of
from srfix.serde import Role, Schema, Subject, Topic
from srfix.serde.errors import AccessDeniedError
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.wire import SchemaId, frame_id
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, V1, V2, World, value, world_of


@pytest.fixture
def world() -> Iterator[World]:
    """Two partitions: W1 is live in both, W2 in the second."""
    with world_of({"users": 2}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(SOURCE_SUBJECT, W2)
        made.registry.seed(PHANTOM, R)
        made.put("users", ("a", V1), ("b", V1), partition=0)
        made.put("users", ("c", V1), ("d", V2), partition=1)
        made.broker.commit("shop", {("users", 0): 2, ("users", 1): 2})
        yield made


@pytest.fixture
def repaired(world: World, tmp_path: Path) -> Plan:
    plan = world.plan()
    world.apply(plan, tmp_path / "journal")
    world.registry.forget_requests()
    return plan


def problems(world: World, plan: Plan) -> list[str]:
    return [event.what for event in world.verify(plan) if isinstance(event, Problem)]


class TestVerify:
    def test_a_repair_is_confirmed_id_by_id_row_by_row(self, world: World, repaired: Plan) -> None:
        events = world.verify(repaired)
        assert all(isinstance(event, Confirmed) and event.subject == PHANTOM for event in events)
        ids, rows, settings = events[:2], events[2:4], events[4:]
        assert [event.schema_id for event in ids] == [1, 2]
        told = [event.what.partition(", one per partition")[0] for event in rows]
        assert told == ["2 live rows with schema id 1", "1 live row with schema id 2"]
        assert ["its configuration" in event.what for event in settings] == [True]
        assert world.registry.writes == 0

    def test_before_the_repair_each_id_and_row_is_a_problem(self, world: World) -> None:
        nothing, *found = problems(world, world.plan())
        assert "the plan was not applied, or it was rolled back" in nothing
        ids = [line.partition(" is not registered here (40403)")[0] for line in found[:2]]
        assert ids == ["schema id 1", "schema id 2"]
        rows = [line.partition(" cannot be read: ")[0] for line in found[2:]]
        assert rows == [f"users partition {where}" for where in ("0 offset 1", "1 offset 0", "1 offset 1")]

    def test_an_id_that_is_missing_again_is_a_problem(self, world: World, repaired: Plan) -> None:
        world.client().delete_version(PHANTOM, 2, permanent=True)
        assert "schema id 1 is not registered here (40403)" in problems(world, repaired)[0]

    def test_a_new_schema_of_the_source_is_a_problem(self, world: World, repaired: Plan) -> None:
        newest = world.registry.seed(SOURCE_SUBJECT, W2.replace("tier", "badge"))
        world.put("users", ("e", value(newest, ONE_LONG_AND_NULL)))
        (problem,) = problems(world, repaired)
        assert f"schema id {newest} is not registered here (40403); plan" in problem

    def test_an_id_that_the_registry_does_not_know_is_a_problem(self, world: World, repaired: Plan) -> None:
        world.put("users", ("e", value(99)))
        (problem,) = problems(world, repaired)
        assert problem.startswith("schema id 99, ")
        assert "`srfix explain SRF011`" in problem

    def test_one_that_the_plan_left_out_is_not_called_planned(self, world: World, repaired: Plan) -> None:
        left_out = Omission(subject=PHANTOM, reason="why", schema_ids=(SchemaId(99),))
        (problem,) = problems(world, replace(repaired, omissions=(left_out,)))
        assert problem == "schema id 99 is unknown to the registry, and the plan left it out: why"

    def test_what_the_plan_left_out_elsewhere_is_a_problem_until_it_is_registered(
        self, world: World, repaired: Plan
    ) -> None:
        elsewhere = Subject("till-tills-changelog-value")
        left_out = replace(
            repaired, omissions=(Omission(subject=elsewhere, reason="why", schema_ids=(SchemaId(1), SchemaId(2))),)
        )
        world.registry.seed(elsewhere, W1)
        assert problems(world, left_out) == ["the plan left schema id 2 out: why"]
        world.registry.seed(elsewhere, W2)
        assert problems(world, left_out) == []
        without_ids = Omission(subject=elsewhere, reason="why")
        assert problems(world, replace(repaired, omissions=(without_ids,))) == ["the plan left this out: why"]
        events = world.verify(replace(repaired, omissions=(structs.replace(without_ids, is_unseen=True),)))
        assert [type(event) for event in events if event.subject == elsewhere] == [NotLookedAt]

    def test_a_level_and_a_mode_that_were_left_are_problems(self, world: World, repaired: Plan) -> None:
        world.client().set_config(PHANTOM, {"compatibility": "NONE"})
        world.client().set_mode(PHANTOM, "READONLY")
        level, mode = problems(world, repaired)
        assert "its configuration is " in level
        assert "NONE" in level
        assert "its mode is READONLY" in mode
        assert all("Finish the repair with srfix apply" in problem for problem in (level, mode))

    def test_a_look_up_that_an_alias_answers_is_confirmed_as_that(self, world: World, repaired: Plan) -> None:
        world.client().set_config(PHANTOM, {"alias": SOURCE_SUBJECT})
        said = [event.what for event in world.verify(repaired) if isinstance(event, Confirmed)]
        assert said[0].startswith("schema id 1 is not registered here")
        assert f"through an alias of {SOURCE_SUBJECT}" in said[0]

    def test_a_source_topic_that_is_gone_is_a_problem(self, world: World, repaired: Plan) -> None:
        with EmbeddedBroker(topics={"elsewhere": 1}) as broker:
            config = {"bootstrap.servers": broker.bootstrap_servers}
            with Cluster(config) as cluster:
                event, *others = verify(repaired, cluster, LocalCensus(config), world.client())
            assert isinstance(event, Problem)
            assert [type(each) for each in others] == [Confirmed] * 3
            assert event.what.startswith("topic users, ")
            assert "does not exist in this cluster" in event.what
            assert "--bootstrap-servers" in event.what
            assert list(broker.topics) == ["elsewhere"]

    @pytest.mark.parametrize("what", ["broker", "topic"])
    def test_what_the_registry_shows_is_said_even_if_no_row_can_be_read(
        self, world: World, repaired: Plan, what: str
    ) -> None:
        """Seen: only the broker's error, and no word about the subjects, which the registry showed."""
        with Cluster({"bootstrap.servers": "127.0.0.1:1"}, timeout_s=0.5) as nobody:
            events = list(
                verify(repaired, nobody, world.engine, world.client())
                if what == "broker"
                else verify(repaired, world.cluster, Denied(), world.client())
            )
            world.client().delete_version(PHANTOM, 2, permanent=True)
            (problem,) = [
                each for each in verify(repaired, nobody, Denied(), world.client()) if isinstance(each, Problem)
            ]
        unseen, *others = events
        assert isinstance(unseen, NotLookedAt)
        assert unseen.what.startswith("topic users. No row of it was decoded, and only the registry was checked. ")
        assert [type(each) for each in others] == [Confirmed] * 3
        assert others[0].what == "schema id 1 is registered here; its rows were not read"
        assert problem.what.startswith("schema id 1 is not registered here")

    def test_a_partition_that_was_not_read_to_its_end_is_said(self, world: World, repaired: Plan) -> None:
        events = list(verify(repaired, world.cluster, StoppedEarly(world.engine), world.client()))
        (unseen,) = [event for event in events if isinstance(event, NotLookedAt)]
        assert (unseen.subject, unseen.what) == (PHANTOM, "users partition 1: no record came for 30 s")
        assert any(isinstance(event, Confirmed) for event in events)

    @pytest.mark.slow
    def test_content_that_is_registered_under_another_id_satisfies_the_reader_and_is_told(
        self, world: World, repaired: Plan
    ) -> None:
        """One content with two ids, as IMPORT mode makes them: the reader asks by content, so it is satisfied."""
        client = world.client()
        client.delete_version(PHANTOM, 2, permanent=True)
        client.set_mode(PHANTOM, "IMPORT", force=True)
        client.register_with_id(PHANTOM, Schema(text=W1), 900)
        client.delete_mode(PHANTOM)
        first, *others = world.verify(repaired)
        assert isinstance(first, Confirmed)
        assert (first.schema_id, "the content of schema id 900" in first.what) == (1, True)
        assert not any(isinstance(event, Problem) for event in others)

    @pytest.mark.parametrize("body", [b"", b"\x02\x02\x02\x02"], ids=["truncated", "over-long"])
    def test_a_row_that_cannot_be_decoded_is_a_problem(self, world: World, repaired: Plan, body: bytes) -> None:
        world.put("users", ("b", value(1, body)))
        world.broker.commit("shop", {("users", 0): 3})
        (problem,) = problems(world, repaired)
        assert problem.startswith("users partition 0 offset 2 cannot be read")
        assert "schema id 1" in problem

    def test_keys_are_read_as_keys(self, tmp_path: Path) -> None:
        with world_of({"users": 1}) as world:
            key_id = world.registry.seed("users-key", W1)
            world.registry.seed(PHANTOM.removesuffix("-value") + "-key", R)
            world.put("users", (frame_id(key_id, b"\x02"), b"plain"), (frame_id(key_id, b"\x04"), b"plain"))
            world.commit("shop", users=2)
            world.sources = {"users-store": Topic("users")}
            plan = world.plan()
            assert [finding.role for finding in plan.findings] == [Role.KEY]
            world.apply(plan, tmp_path / "journal")
            *events, keys_miss = world.verify(plan)
            assert [type(event) for event in events] == [Confirmed, Confirmed, Confirmed]
            assert isinstance(keys_miss, Problem)
            assert keys_miss.keys_miss
            assert outcome_of("shop", plan, events) is Verified.HOLDS
            assert outcome_of("shop", plan, [*events, keys_miss]) is Verified.KEYS_MISS
            unseen = NotLookedAt(subject=keys_miss.subject, what="w")
            assert outcome_of("shop", plan, [keys_miss, unseen]) is Verified.NOT_SEEN

    @pytest.mark.slow
    def test_a_text_that_the_registry_does_not_take_any_more_is_a_problem(self, world: World, repaired: Plan) -> None:
        body = json.dumps({"error_code": 42201, "message": "no such reference"})
        action = Answer(status=422, body=body)
        with world.registry.intercept(Fault(method="POST", path=f"^/subjects/{PHANTOM}[?]", action=action)):
            found = problems(world, repaired)
        assert found[0].startswith("schema id 1: ")
        assert "(42201: no such reference)" in found[0]

    def test_an_outage_is_no_verdict(self, world: World, repaired: Plan) -> None:
        body = json.dumps({"error_code": 50001, "message": "Error in the backend data store"})
        fault = Fault(method="POST", action=Answer(status=500, body=body))
        with world.registry.intercept(fault), pytest.raises(RegistryAnswerError):
            world.verify(repaired)


class Denied:
    def count(self, *_given: object, **_options: object) -> Census:
        raise AccessDeniedError("This user may not read the topic 'users'.", acl="Read on topic 'users'")


class StoppedEarly:
    """A census that could not read partition 1 to its end."""

    def __init__(self, engine: LocalCensus) -> None:
        self._engine = engine

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        census = self._engine.count(request, on_progress=on_progress)
        partitions = tuple(
            replace(partition, stopped_early="no record came for 30 s") if partition.partition == 1 else partition
            for partition in census.partitions
        )
        return replace(census, partitions=partitions)


class LivingCluster(Cluster):
    """A cluster that tells of groups, as a real one does and the embedded one cannot."""

    members: int = 0

    asked: tuple[tuple[str, ...], ...] = ()

    def group_states(self, groups: Iterable[str], *, timeout_s: float = 5.0) -> Mapping[str, GroupState]:
        self.asked += (tuple(groups),)
        state = "Stable" if self.members else "Empty"
        answer = GroupState(group="", state=state, members=self.members, problem=None)
        return {group: replace(answer, group=group) for group in self.asked[-1]}


class TestCircumstancesNow:
    def test_the_group_is_asked_anew(self, world: World, repaired: Plan) -> None:
        (planned,) = repaired.circumstances
        assert (planned.application, planned.members) == ("shop", None)
        assert [(store.name, store.topic) for store in planned.stores] == [("users-store", "users")]
        with LivingCluster({"bootstrap.servers": world.broker.bootstrap_servers}) as cluster:
            said = []
            for cluster.members in (0, 2):
                (now,) = circumstances_now(repaired, cluster, Supplied())
                assert now == replace(planned, members=cluster.members, state=now.state, problem=None)
                said.append(next(iter(upon_verification(now, Verified.HOLDS, CommandLine()))))
        assert "has no members now (Empty)" in said[0]
        assert "has 2 members now (Stable)" in said[1]

    def test_many_groups_are_asked_for_at_once(self, world: World, repaired: Plan) -> None:
        (planned,) = repaired.circumstances
        plan = replace(repaired, applications=(planned, replace(planned, application="tills")))
        with LivingCluster({"bootstrap.servers": world.broker.bootstrap_servers}) as cluster:
            assert [now.application for now in circumstances_now(plan, cluster, Supplied())] == ["shop", "tills"]
            assert cluster.asked == (("shop", "tills"),)

    def test_a_diagnosis_knows_the_group_and_the_plan_keeps_it(self, world: World) -> None:
        cluster = LivingCluster({"bootstrap.servers": world.broker.bootstrap_servers})
        cluster.members = 3
        world.cluster = world.stack.enter_context(cluster)
        (told,) = world.examine().diagnosis.applications
        assert any("has 3 members now (Stable)" in line for line in told.advice)
        assert ("group-state", "Stable") in {(seen.kind, seen.says) for seen in told.observations}
        plan = world.plan()
        assert [(known.members, known.state) for known in plan.applications] == [(3, "Stable")]
        assert any("3 members when" in line for line in plan.playbook)


class TestOutcomeOf:
    def test_each_application_has_its_own(self, repaired: Plan) -> None:
        (finding,) = repaired.findings
        other = replace(finding, application="tills", subject=Subject("tills-users-store-changelog-value"))
        both = replace(repaired, findings=(finding, other))
        holds = Confirmed(subject=finding.subject, what="w")
        unseen = NotLookedAt(subject=finding.subject, what="w")
        problem = Problem(subject=other.subject, what="w")
        assert outcome_of("shop", both, [holds, problem]) is Verified.HOLDS
        assert outcome_of("tills", both, [holds, problem]) is Verified.PROBLEMS
        assert outcome_of("shop", both, [holds, unseen, problem]) is Verified.NOT_SEEN
