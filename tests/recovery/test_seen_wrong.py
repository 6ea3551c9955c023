"""What issue 12 and the generated worlds say was seen wrong, each as a world written by hand, and what must come out of it.

Every world is judged whole as well (`judging`): diagnosed, repaired, verified, diagnosed again and rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Examination, Finding, Plan, PlanError, Severity, verify
from srfix.recovery.repair.apply import AlreadyApplied, apply_plan
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.repair.verify.events import Confirmed, Event, Problem
from srfix.serde import SrfixError, UsageError
from tests.recovery.worlds.cases import (
    CLICK,
    KEY,
    KEY_ROW,
    LOGIN,
    USER,
    USER_2,
    USER_ROW,
    incident,
    plain_group,
    streams_group,
    subject,
    topic,
)
from tests.recovery.worlds.judging import clock, judge, judge_staged
from tests.recovery.worlds.schemas import text
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import UNFRAMED, DiskRow, Group, Key, KeyFormat, Kind, StoreDisk, TrueStore, World

Apply: TypeAlias = Callable[[StagedWorld], Plan]
PHANTOM = "my-app-users-store-changelog-value"
PHANTOM_KEY = "my-app-users-store-changelog-key"


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def registry(running: FixtureRegistry) -> FixtureRegistry:
    running.clear()
    return running


def examined(world: World, registry: FixtureRegistry) -> Examination:
    """The diagnosis of a world, whose other properties hold too."""
    assert judge(world, registry).wrong == []
    registry.clear()
    staged = StagedWorld(world, registry)
    with staged.client() as client:
        return staged.examine(staged.survey(client))


def sources(examination: Examination) -> dict[str, str]:
    """Per store that has a source its topic."""
    return {
        f"{facts.store.application}/{facts.store.name}": str(facts.source.topic)
        for facts in examination.facts
        if facts.source is not None
    }


def is_fine(examination: Examination) -> bool:
    diagnosis = examination.diagnosis
    return not diagnosis.has_findings and not diagnosis.is_inconclusive


def of(examination: Examination, code: str) -> list[Finding]:
    return [finding for finding in examination.diagnosis.findings if finding.code == code]


def planned(staged: StagedWorld) -> Plan:
    with staged.client() as client:
        survey = staged.survey(client)
        return make_plan(staged.examine(survey), survey, clock=clock)


def applied(staged: StagedWorld, plan: Plan, journal: Path) -> None:
    with staged.client() as client:
        list(apply_plan(plan, client, journal, clock=clock))


def verified(staged: StagedWorld, plan: Plan) -> list[Event]:
    with staged.client() as client:
        return list(verify(plan, staged.cluster(), staged, client, supplied=staged.supplied()))


def all_confirmed(events: list[Event]) -> bool:
    return bool(events) and all(isinstance(event, Confirmed) for event in events)


LOGINS = {"logins": topic(LOGIN, LOGIN)}
ONE_SOURCE: dict[str, tuple[World, dict[str, str]]] = {
    "the plain incident": (incident(), {"my-app/users-store": "users"}),
    "a global table beside a stream": (
        incident(
            store="users-global",
            kind=Kind.GLOBAL,
            topics=LOGINS,
            groups={"my-app": streams_group("my-app", {"logins": 2}, is_live=True)},
            subjects={"logins-value": subject(LOGIN)},
        ),
        {"my-app/users-global": "users"},
    ),
    "a plain group with a longer name": (
        incident(groups={"my-app": streams_group("my-app", {"users": 3}), "my-app-users": plain_group({"users": 3})}),
        {"my-app/users-store": "users"},
    ),
    "a topic that is unframed and has no subject": (
        incident(
            store="t",
            topics={"raw": topic(UNFRAMED, UNFRAMED)},
            groups={"my-app": streams_group("my-app", {"users": 3, "raw": 2})},
        ),
        {"my-app/t": "users"},
    ),
    "a group without any sign of Kafka Streams": (
        replace(incident(groups={"my-app": plain_group({"users": 3})}), truth=()),
        {},
    ),
}
"""What stands beside the store, and the sources that are named."""


class TestTheSource:
    """From the verdict alone: evidence/test_hypotheses.py."""

    @pytest.mark.parametrize("case", ONE_SOURCE)
    def test_is_named(self, case: str, registry: FixtureRegistry) -> None:
        world, named = ONE_SOURCE[case]
        assert sources(examined(world, registry)) == named

    def test_that_is_deleted_is_no_other_topic(self, registry: FixtureRegistry) -> None:
        world = incident(
            topics={"clicks": topic(CLICK, CLICK), "logins": topic(LOGIN)},
            groups={"my-app": streams_group("my-app", {"clicks": 2, "logins": 1})},
            subjects={"clicks-value": subject(CLICK), "logins-value": subject(LOGIN)},
        )
        world = replace(world, topics={name: of for name, of in world.topics.items() if name != "users"})
        examination = examined(world, registry)
        assert sources(examination).get("my-app/users-store") in ("users", None)
        assert not any(finding.repairable for finding in of(examination, "SRF001"))


class TestAStoreThatRestoresFromNowhere:
    """Every operator's name: diagnosis/test_candidates.py."""

    def test_is_never_broken_after_an_application_reset(self, registry: FixtureRegistry) -> None:
        world = incident(
            users=topic(USER, USER, policy="delete"), groups={"my-app": streams_group("my-app", {"users": 2})}
        )
        truth = TrueStore("my-app", "KSTREAM-AGGREGATE-STATE-STORE-0000000003", Kind.AGGREGATE)
        subjects = {"users-value": subject(USER), f"{truth.changelog}-value": subject(USER_ROW)}
        examination = examined(replace(world, truth=(truth,), subjects=subjects), registry)
        assert sources(examination) == {}
        assert not any(finding.severity is Severity.BROKEN for finding in examination.diagnosis.findings)
        assert not any("cleanup.policy" in finding.next for finding in examination.diagnosis.findings)

    @pytest.mark.parametrize("is_running", [True, False])
    def test_is_that_of_a_transient_query(self, is_running: bool, registry: FixtureRegistry) -> None:
        application = "_confluent-ksql-default_transient_transient_USERS_4711_1592300000000"
        world = incident(application=application, store="KafkaTopic_Right-Reduce", kind=Kind.TRANSIENT)
        truth = replace(world.truth[0], topic=None)
        groups = world.groups if is_running else {}
        examination = examined(replace(world, truth=(truth,), groups=groups), registry)
        assert not any(finding.severity is Severity.BROKEN for finding in examination.diagnosis.findings)


def test_a_global_table_on_streams_2_7_whose_ids_are_not_under_the_sources_subject_has_no_clean_bill(
    registry: FixtureRegistry,
) -> None:
    world = incident(
        store="users-global",
        kind=Kind.GLOBAL,
        has_source_subject=False,
        groups={"my-app": Group(client_ids=("my-app-1-StreamThread-1-consumer",), assignor="stream")},
        subjects={"User": subject(USER)},
    )
    assert not is_fine(examined(replace(world, is_upgraded=True), registry))


class TestTheVerification:
    @pytest.fixture
    def apply(self, tmp_path: Path) -> Apply:
        """Plans the repair, and carries it out."""

        def apply(staged: StagedWorld) -> Plan:
            plan = planned(staged)
            applied(staged, plan, tmp_path / "plan.json.journal.jsonl")
            return plan

        return apply

    @pytest.mark.parametrize("users", [topic(), None])
    def test_of_an_empty_topic_or_another_cluster_is_not_all_confirmed(
        self, users: object, registry: FixtureRegistry, apply: Apply
    ) -> None:
        staged = StagedWorld(incident(), registry)
        plan = apply(staged)
        assert all_confirmed(verified(staged, plan))
        staged.world = replace(staged.world, topics={"users": topic()} if users else {}, groups={})
        try:
            events = verified(staged, plan)
        except SrfixError:
            return
        assert not all_confirmed(events)

    def test_of_a_plan_that_left_keys_out_is_not_all_confirmed(self, registry: FixtureRegistry, apply: Apply) -> None:
        world = incident(
            users=topic(*[USER] * 3, key_format=KeyFormat.AVRO, key=KEY),
            keys=(KeyFormat.AVRO, 0),
            subjects={"users-key": subject(KEY), PHANTOM_KEY: subject(KEY_ROW, mode="READONLY")},
        )
        staged = StagedWorld(world, registry)
        plan = apply(staged)
        assert plan.left_out
        assert not all_confirmed(verified(staged, plan))

    def test_of_a_plan_that_left_an_undecided_store_out_is_not_all_confirmed(
        self, registry: FixtureRegistry, apply: Apply
    ) -> None:
        order = "Order(orderId long, total long)"
        world = incident(topics={"orders": topic(order)}, subjects={"orders-value": subject(order)})
        undecided = TrueStore("ledger", "g", Kind.GLOBAL, "orders")
        world = replace(
            world,
            truth=(*world.truth, undecided),
            subjects={**world.subjects, f"{undecided.changelog}-value": subject("Row(total long)")},
        )
        staged = StagedWorld(world, registry)
        plan = apply(staged)
        assert {finding.store for finding in plan.findings} == {"users-store"}
        assert not all_confirmed(verified(staged, plan))

    def test_asks_for_planned_ids_of_which_no_row_is_live(self, registry: FixtureRegistry, apply: Apply) -> None:
        world = incident(rows=(USER_2, USER), subjects={"users-value": subject(USER_2, USER)})
        staged = StagedWorld(world, registry)
        plan = apply(staged)
        staged.world = replace(staged.world, topics={"users": topic(None, USER)})
        _purge(staged, staged.ids[USER_2])
        assert any(isinstance(event, Problem) for event in verified(staged, plan))


class TestThePlan:
    def test_of_a_plain_reader_is_empty(self, registry: FixtureRegistry) -> None:
        world = incident()
        world = replace(world, truth=(replace(world.truth[0], reader="plain"),), says_reader=True)
        staged = StagedWorld(world, registry)
        with staged.client() as client:
            assert not staged.examine(staged.survey(client)).diagnosis.has_findings
        assert _actions(staged) == []

    def test_leaves_the_producers_subject_alone(self, registry: FixtureRegistry) -> None:
        world = incident(phantom=subject(USER_ROW, USER))
        staged = StagedWorld(world, registry)
        assert _actions(staged) == []

    def test_lets_the_next_internal_schema_in_after_any_number_of_repairs(
        self, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        staged = StagedWorld(incident(), registry)
        applied(staged, planned(staged), tmp_path / "1.journal.jsonl")
        next_row = "KsqlDataSourceSchema(USERID long?, NAME string?, TIER string?)"
        assert staged.ask("POST", f"/subjects/{PHANTOM}/versions", {"schema": text(next_row)})[0] == 200
        staged.ids[USER_2] = registry.seed("users-value", text(USER_2))
        staged.world = replace(staged.world, topics={"users": topic(USER, USER_2)})
        applied(staged, planned(staged), tmp_path / "2.journal.jsonl")
        last_row = "KsqlDataSourceSchema(USERID long?, NAME string?, TIER string?, AGE long?)"
        assert staged.ask("POST", f"/subjects/{PHANTOM}/versions", {"schema": text(last_row)})[0] == 200

    def test_applied_again_after_a_purge_does_not_say_that_all_is_done(
        self, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        staged = StagedWorld(incident(), registry)
        plan = planned(staged)
        applied(staged, plan, tmp_path / "plan.journal.jsonl")
        _purge(staged, staged.ids[USER])
        with staged.client() as client:
            try:
                events = list(apply_plan(plan, client, tmp_path / "plan.journal.jsonl", clock=clock))
            except PlanError:
                return
            assert not any(isinstance(event, AlreadyApplied) for event in events)
        assert all_confirmed(verified(staged, plan))

    def test_is_rolled_back_without_what_others_registered_under_the_same_number(
        self, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        staged = StagedWorld(incident(), registry)
        applied(staged, planned(staged), tmp_path / "plan.journal.jsonl")
        version = _purge(staged, staged.ids[USER])
        with staged.client() as client:
            theirs = "KsqlDataSourceSchema(USERID long?, NAME string?, TIER string?)"
            registry.seed(PHANTOM, text(theirs))
            list(roll_back(tmp_path / "plan.journal.jsonl", client, clock=clock))
        status, found = staged.ask("POST", f"/subjects/{PHANTOM}", {"schema": text(theirs)})
        assert (status, found.get("version")) == (200, version)


class TestTheRegistry:
    def test_holds_a_mirror_which_is_no_second_finding(self, registry: FixtureRegistry) -> None:
        examination = examined(replace(incident(), mirror="dr"), registry)
        assert len(of(examination, "SRF001")) == 1

    def test_knows_no_store_of_an_application_that_is_named_and_that_is_no_clean_bill(
        self, registry: FixtureRegistry
    ) -> None:
        staged = StagedWorld(replace(incident(), application="my-other-app"), registry)
        with staged.client() as client, suppress(UsageError):
            assert not is_fine(staged.examine(staged.survey(client)))

    @pytest.mark.parametrize("level", ["BACKWARD", "NONE"])
    def test_normalises_what_a_plan_registers(self, level: str, registry: FixtureRegistry) -> None:
        place = "~Place(code long, city string)"
        row = "KsqlDataSourceSchema(CODE long?, CITY string?)"
        world = incident(
            users=topic(place, place), phantom=subject(row, level=level), subjects={"users-value": subject(place)}
        )
        assert judge(replace(world, normalize=True), registry).wrong == []

    def test_keeps_a_subjects_own_normalize_without_a_level(self, registry: FixtureRegistry) -> None:
        phantom = replace(subject("Row(userId long)"), normalize=True)
        assert judge(incident(phantom=phantom), registry).wrong == []

    def test_holds_one_content_under_two_ids(self, registry: FixtureRegistry) -> None:
        staged = StagedWorld(incident(), registry)
        staged.ask("PUT", "/mode/linked-value?force=true", {"mode": "IMPORT"})
        status, _ = staged.ask(
            "POST", "/subjects/linked-value/versions", {"schema": text(USER), "id": 77, "version": 1}
        )
        assert status == 200
        staged.ask("DELETE", "/mode/linked-value")
        registry.forget_requests()
        judgement = judge_staged(staged)
        assert judgement.wrong == []
        assert "findings" in judgement.reached


def codes(world: World, registry: FixtureRegistry) -> set[str]:
    staged = StagedWorld(world, registry)
    with staged.client() as client:
        return {finding.code for finding in staged.examine(staged.survey(client)).diagnosis.findings}


class TestPollution:
    def test_is_not_the_producers_only_version_where_the_records_ids_are_lost(self, registry: FixtureRegistry) -> None:
        world = incident(users=topic("Lost2"), phantom=subject(USER))
        assert "SRF010" not in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []


class TestLostRows:
    @pytest.mark.parametrize("policy", ["compact", "delete"])
    def test_a_wipe_is_advised_only_where_the_topic_keeps_every_row(
        self, registry: FixtureRegistry, policy: str
    ) -> None:
        rows = (DiskRow(Key(0), "LostRow", 0), DiskRow(Key(5), USER_ROW, 5))
        world = incident(users=replace(topic(USER), policy=policy))
        world = replace(
            world, state_of=("my-app",), disk={"my-app/users-store": StoreDisk({0: rows[: 1 + (policy == "delete")]})}
        )
        assert "SRF014" in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []


def _purge(staged: StagedWorld, schema_id: int) -> int:
    """Hard-deletes a version of the phantom subject, soft-deleted or not; its number."""
    with staged.client() as client:
        for number in client.versions(PHANTOM, deleted=True):
            if client.version(PHANTOM, number, deleted=True).schema_id == schema_id:
                if number in client.versions(PHANTOM):
                    client.delete_version(PHANTOM, number)
                client.delete_version(PHANTOM, number, permanent=True)
                return int(number)
    raise AssertionError(f"{PHANTOM} has no version with id {schema_id}")


def _actions(staged: StagedWorld) -> list[object]:
    try:
        return list(planned(staged).actions)
    except PlanError:
        return []
