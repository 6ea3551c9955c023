"""A changelog filled from its source: what it holds, that it can be killed at any instant, and what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.recovery import AppliedInPartError, PlanError, RolledBackInPartError
from srfix.recovery.plans.runs import AlreadyApplied, AlreadyRolledBack, JournalSetAside, Left
from srfix.recovery.topic_plan.apply import (
    TopicEvent,
    TopicStepDone,
    TopicStepUndone,
    TopicUndoEvent,
    apply_topic_plan,
    roll_back_topic_plan,
)
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
from srfix.recovery.topic_plan.logs import STREAMS_CONFIGS
from srfix.recovery.topic_plan.plan_file import SeedChangelog, TopicPlan, describe
from srfix.recovery.topic_plan.seeding import SeedRequest, plan_seed
from srfix.serde import Topic
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.wire import SchemaId, frame_id
from tests.recovery.topic_plan.world import NOW, SERVERS, KillAt, Killed, World

APP, STORE, SOURCE, CHANGELOG = "shop", "users-store", "users", "shop-users-store-changelog"
A = SchemaId(1)
REQUEST = SeedRequest(
    application=APP, store=STORE, source=Topic(SOURCE), isolation=Isolation.READ_UNCOMMITTED, replication_factor=1
)


def world(*, changelog: bool = False) -> World:
    """Two partitions: keys written twice, a tombstone, headers, a null key, and a record beyond the committed offset."""
    made = World().with_topic(SOURCE, 2)
    if changelog:
        made.with_topic(CHANGELOG, 2)
    made.put(SOURCE, b"ann", frame_id(A, b"1"), 1_000)
    made.put(SOURCE, b"bob", frame_id(A, b"2"), 2_000, headers=(("h", b"x"), ("n", None)))
    made.put(SOURCE, b"cem", frame_id(A, b"3"), 3_000)
    made.put(SOURCE, None, b"nobody", 3_500)
    made.put(SOURCE, b"ann", frame_id(SchemaId(2), b"4"), 4_000)
    made.put(SOURCE, b"cem", None, 5_000)
    made.put(SOURCE, b"dan", frame_id(A, b"5"), 6_000)
    made.put(SOURCE, b"eve", b"", 7_000, partition=1)
    made.commit(APP, SOURCE, 6, 1)
    return made


ROWS = {
    (0, b"bob"): (frame_id(A, b"2"), 2_000, (("h", b"x"), ("n", None))),
    (0, b"ann"): (frame_id(SchemaId(2), b"4"), 4_000, ()),
    (1, b"eve"): (b"", 7_000, ()),
}


def planned(look: World) -> TopicPlan:
    return plan_seed(REQUEST, look, bootstrap_servers=SERVERS, clock=lambda: NOW)


def applied(plan: TopicPlan, on: World, journal: Path) -> list[TopicEvent]:
    return list(apply_topic_plan(plan, on, on, journal, clock=on.clock))


def killed(plan: TopicPlan, on: World, journal: Path, number: int) -> None:
    """An apply that dies at an instant."""
    on.instant = KillAt(number)
    with pytest.raises(Killed):
        applied(plan, on, journal)
    on.instant = lambda: None


def rolled_back(on: World, journal: Path) -> list[TopicUndoEvent]:
    return list(roll_back_topic_plan(journal, on, on, clock=on.clock))


def logs_of(on: World) -> dict[str, list[list[object]]]:
    return {name: [list[object](log.records) for log in logs] for name, logs in on.logs.items()}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "plan.json.journal.jsonl"


class TestPlanSeed:
    def test_holds_what_a_restore_loads_and_no_more(self) -> None:
        look = world()
        plan = planned(look)
        assert isinstance(plan.work, SeedChangelog)
        first, second = plan.work.partitions
        assert (first.start_offset, first.end_offset, first.rows) == (0, 6, 2)
        assert (second.start_offset, second.end_offset, second.rows) == (0, 1, 1)
        assert (first.oldest_ms, first.newest_ms) == (2_000, 4_000)
        ids = [(each.schema_id, each.rows, each.is_registered) for each in plan.work.schema_ids]
        assert ids == [(1, 1, None), (2, 1, None)]
        assert plan.work.subject == "shop-users-store-changelog-value"
        assert [describe(plan, step) for step in plan.actions] == [
            f"create the topic {CHANGELOG} with 2 partitions",
            f"write 2 rows to {CHANGELOG}[0]",
            f"write 1 row to {CHANGELOG}[1]",
        ]
        assert look.appended == 0

    def test_says_which_ids_the_reader_will_not_find(self) -> None:
        plan = plan_seed(REQUEST, world(), bootstrap_servers=SERVERS, registered=lambda _, schema_id: schema_id == A)
        (line,) = [line for line in plan.price if "Not registered there: 2." in line]
        assert f"`srfix plan --topic {CHANGELOG} --reader connect -o subjects.json`" in line

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda w: setattr(w, "members", 2), r"'shop' runs: its group has 2 members"),
            (lambda w: setattr(w, "members", None), r"srfix does not know whether application 'shop' runs: an ACL"),
            (lambda w: w.commits.clear(), "has committed no offset of users"),
            (lambda w: w.commit(APP, SOURCE, 8), r"committed offset 8 of users\[0\]"),
            (lambda w: w.logs.pop(SOURCE), "'users' is not among them"),
            (lambda w: w.with_topic(CHANGELOG, 3), f"{CHANGELOG} has 3 partitions"),
            (lambda w: w.with_topic(CHANGELOG, 2, cleanup_policy="delete"), r"cleanup\.policy=delete"),
            (lambda w: w.with_topic(CHANGELOG, 2, message_timestamp_type="LogAppendTime"), r"type=LogAppendTime"),
            (lambda w: w.with_topic(CHANGELOG, 2).put(CHANGELOG, b"ann", b"x"), rf"{CHANGELOG}\[0\] holds 1 row"),
            (
                lambda w: w.put(SOURCE, b"x", b"y", 0, partition=1) or w.commit(APP, SOURCE, 6, 2),
                "no timestamp, or the timestamp 0",
            ),
        ],
    )
    def test_refuses_what_would_not_be_the_same_store(self, damage: Callable[[World], object], message: str) -> None:
        look = world()
        damage(look)
        with pytest.raises(PlanError, match=message):
            planned(look)

    def test_takes_a_changelog_in_which_every_key_was_deleted(self, journal: Path) -> None:
        on = world(changelog=True)
        on.put(CHANGELOG, b"ann", b"x")
        on.put(CHANGELOG, b"ann", None)
        plan = planned(on)
        assert isinstance(plan.work, SeedChangelog)
        assert (plan.work.creates, plan.work.changelog_ends) == (False, (2, 0))
        applied(plan, on, journal)
        assert on.rows(CHANGELOG) == ROWS


class TestApply:
    def test_the_changelog_restores_to_the_same_rows_with_the_same_timestamps(self, journal: Path) -> None:
        on = world()
        events = applied(planned(on), on, journal)
        assert on.rows(CHANGELOG) == ROWS
        assert on.configs[CHANGELOG] == STREAMS_CONFIGS
        assert [event.report.written for event in events if isinstance(event, TopicStepDone)] == [1, 2, 1]
        assert TOPIC_JOURNALS.read(journal).finished

    @pytest.mark.core
    def test_a_second_run_writes_nothing_and_compaction_of_what_was_replaced_changes_nothing(
        self, journal: Path
    ) -> None:
        on = world()
        plan = planned(on)
        on.compact(SOURCE, with_tombstones=True)
        applied(plan, on, journal)
        assert on.rows(CHANGELOG) == ROWS
        before = logs_of(on)
        assert applied(plan, on, journal) == [AlreadyApplied()]
        assert logs_of(on) == before

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda w: setattr(w, "members", 1), "'shop' runs"),
            (
                lambda w: w.commit(APP, SOURCE, 7),
                r"a restore of users\[0\] now ends at offset 7; when the plan was made it ended at 6",
            ),
            (lambda w: w.with_topic(CHANGELOG, 2), f"the topic {CHANGELOG} exists now"),
            (
                lambda w: (w.put(SOURCE, b"bob", b"new"), w.compact(SOURCE)),
                r"users\[0\] .*\(1 row, and the plan has 2\)",
            ),
            (
                lambda w: w.logs[SOURCE].append(w.logs[SOURCE][0]),
                "users has 3 partitions now; when the plan was made it had 2",
            ),
        ],
    )
    def test_a_changed_world_is_refused_before_anything_is_written(
        self, damage: Callable[[World], object], message: str, journal: Path
    ) -> None:
        on = world()
        plan = planned(on)
        damage(on)
        before = logs_of(on)
        with pytest.raises(PlanError, match=message) as caught:
            applied(plan, on, journal)
        assert not isinstance(caught.value, AppliedInPartError)
        assert logs_of(on) == before
        assert not journal.exists()

    def test_rows_in_a_changelog_that_was_empty_are_refused_even_if_they_are_as_planned(self, journal: Path) -> None:
        on = world(changelog=True)
        plan = planned(on)
        on.put(CHANGELOG, b"bob", frame_id(A, b"2"), 2_000, headers=(("h", b"x"), ("n", None)))
        with pytest.raises(PlanError, match="holds 1 row that this run did not write"):
            applied(plan, on, journal)

    def test_an_application_that_has_started_meanwhile_is_not_written_over(self, journal: Path) -> None:
        on = world()
        plan = planned(on)
        killed(plan, on, journal, instants(on, plan, journal) - 4)
        on.put(CHANGELOG, b"ann", b"B", 9_000)
        before = logs_of(on)
        with pytest.raises(AppliedInPartError, match=rf"{CHANGELOG}\[0\] offset 2 is not from this"):
            applied(plan, on, journal)
        assert logs_of(on) == before


def instants(on: World, plan: TopicPlan, journal: Path) -> int:
    """How many there are in an undisturbed run."""
    other = copy.deepcopy(on)
    counting = other.instant = KillAt(None)
    applied(plan, other, journal.with_name("undisturbed.jsonl"))
    return counting.seen


class TestKilled:
    @pytest.mark.parametrize("changelog", [False, True])
    def test_at_every_instant_the_next_run_comes_to_the_same_end(self, changelog: bool, tmp_path: Path) -> None:
        plan = planned(world(changelog=changelog))
        total = instants(world(changelog=changelog), plan, tmp_path / "j")
        assert total > 15
        for number in range(total):
            on, journal = world(changelog=changelog), tmp_path / f"{number}.jsonl"
            killed(plan, on, journal, number)
            applied(plan, on, journal)
            assert on.rows(CHANGELOG) == ROWS
            assert sum(len(log.records) for log in on.logs[CHANGELOG]) == len(ROWS)  # none of them twice
            assert TOPIC_JOURNALS.read(journal).finished

    def test_a_record_that_a_killed_run_had_on_its_way_changes_no_row(self, journal: Path) -> None:
        on = world()
        plan = planned(on)
        killed(plan, on, journal, instants(on, plan, journal) - 6)
        late = iter([lambda: on.put(CHANGELOG, b"ann", frame_id(SchemaId(2), b"4"), 4_000)])
        on.instant = lambda: next(late, lambda: None)()
        applied(plan, on, journal)
        assert on.rows(CHANGELOG) == ROWS


class TestRollback:
    @pytest.mark.core
    def test_deletes_the_topic_that_the_plan_created_and_what_was_rolled_back_can_be_applied_anew(
        self, journal: Path
    ) -> None:
        on = world()
        before, plan = logs_of(on), planned(on)
        applied(plan, on, journal)
        assert all(isinstance(event, TopicStepUndone) for event in rolled_back(on, journal))
        assert logs_of(on) == before
        assert rolled_back(on, journal) == [AlreadyRolledBack()]
        assert isinstance(applied(plan, on, journal)[0], JournalSetAside)
        assert on.rows(CHANGELOG) == ROWS

    def test_deletes_the_rows_of_a_topic_that_was_there(self, journal: Path) -> None:
        on = world(changelog=True)
        applied(planned(on), on, journal)
        rolled_back(on, journal)
        assert on.rows(CHANGELOG) == {}
        assert CHANGELOG in on.logs

    @pytest.mark.parametrize("changelog", [False, True])
    def test_leaves_a_changelog_that_the_application_has_written_to(self, changelog: bool, journal: Path) -> None:
        on = world(changelog=changelog)
        applied(planned(on), on, journal)
        on.put(CHANGELOG, b"ann", b"B", 9_000)
        on.put(CHANGELOG, b"eve", b"B", 9_000, partition=1)
        before = logs_of(on)
        left = [event for event in rolled_back(on, journal) if isinstance(event, Left)]
        assert len(left) == len(planned(world(changelog=changelog)).actions), "nothing was undone"
        assert f"somebody else has written to {CHANGELOG}[" in left[0].why
        assert logs_of(on) == before

    def test_is_refused_while_the_application_runs(self, journal: Path) -> None:
        on = world()
        applied(planned(on), on, journal)
        on.members = 1
        with pytest.raises(PlanError, match="'shop' runs") as caught:
            rolled_back(on, journal)
        assert not isinstance(caught.value, RolledBackInPartError)


def test_the_journal_of_another_plan_that_was_carried_out_in_part_is_refused(journal: Path) -> None:
    on = world()
    plan = planned(on)
    killed(plan, on, journal, 8)
    with pytest.raises(PlanError, match=r"belongs to another plan \(sha256:"):
        applied(replace(plan, created_at="2026-11-27T00:00:00+00:00"), on, journal)
