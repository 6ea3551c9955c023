"""Tombstones by age: only what is old and was not written since, killed at any instant, raced by others, and brought back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery import PlanError
from srfix.recovery.plans.runs import AlreadyApplied
from srfix.recovery.topic_plan.apply import (
    TopicEvent,
    TopicStepDone,
    TopicStepUndone,
    TopicUndoEvent,
    apply_topic_plan,
    roll_back_topic_plan,
)
from srfix.recovery.topic_plan.expiring import ExpiryRequest, kept_records_path, plan_expiry
from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, ExpireKeys, TopicPlan, topic_plan_document
from srfix.serde import Topic, UsageError
from tests.recovery.topic_plan.world import DAY_MS, NOW, NOW_MS, SERVERS, Content, KillAt, Killed, World

APP, TOPIC = "shop", "users"
CHANGELOG = "shop-counts-changelog"
OLD = NOW_MS - 40 * DAY_MS
YOUNG = NOW_MS - DAY_MS
HEADERS = (("h", b"x"), ("n", None))
OF_STORE: dict[str, object] = {"store": "counts", "topic": None}


def world() -> World:
    made = World().with_topic(TOPIC, 2)
    made.put(TOPIC, b"ann", b"1", OLD)
    made.put(TOPIC, b"bob", b"2", OLD + 1, headers=HEADERS)
    made.put(TOPIC, b"ann", b"3", YOUNG)  # written since: stays
    made.put(TOPIC, b"cem", b"4", OLD)
    made.put(TOPIC, b"cem", None, OLD)  # deleted already
    made.put(TOPIC, b"dan", b"old", OLD)
    made.put(TOPIC, b"dan", b"5", OLD + 5)
    made.put(TOPIC, b"ida", b"6", None)  # without a timestamp: of no age
    made.put(TOPIC, b"eve", b"7", OLD + 3, partition=1)
    made.put(TOPIC, b"fay", b"8", YOUNG, partition=1)
    made.commit(APP, TOPIC, 8, 2)
    return made


EXPIRED: dict[tuple[int, bytes], Content] = {
    (0, b"bob"): (b"2", OLD + 1, HEADERS),
    (0, b"dan"): (b"5", OLD + 5, ()),
    (1, b"eve"): (b"7", OLD + 3, ()),
}
STAYS: dict[tuple[int, bytes], Content] = {
    (0, b"ann"): (b"3", YOUNG, ()),
    (0, b"ida"): (b"6", None, ()),
    (1, b"fay"): (b"8", YOUNG, ()),
}


REQUEST = ExpiryRequest(application=APP, store=None, topic=Topic(TOPIC), older_than_s=30 * 86_400, limit=None)


def planned(look: World, path: Path, **changes: object) -> TopicPlan:
    request = replace(REQUEST, **changes)  # type: ignore[arg-type]
    return plan_expiry(request, look, path, bootstrap_servers=SERVERS, clock=lambda: NOW)


def applied(plan: TopicPlan, on: World, path: Path, journal: Path | None = None) -> list[TopicEvent]:
    journal = journal or path.with_name("journal")
    return list(apply_topic_plan(plan, on, on, journal, kept_path=kept_records_path(path), clock=on.clock))


def rolled_back(on: World, path: Path, journal: Path | None = None) -> list[TopicUndoEvent]:
    return list(roll_back_topic_plan(journal or path.with_name("journal"), on, on, clock=on.clock))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.json"


class TestPlanExpiry:
    def test_takes_keys_whose_newest_record_is_old_and_no_others(self, path: Path) -> None:
        look = world()
        plan = planned(look, path)
        assert isinstance(plan.work, ExpireKeys)
        assert [each.rows for each in plan.work.partitions] == [2, 1]
        assert (plan.work.live_keys, plan.work.left_by_limit, plan.work.kept.records) == (6, 0, 3)
        assert plan.work.samples[0] == "'bob' of 2026-10-17T12:00:00+00:00, partition 0, offset 1"
        assert plan.price[0].startswith("The plan deletes 3 of the 6 keys with a row in users")
        assert look.appended == 0
        assert kept_records_path(path).stat().st_mode & 0o777 == 0o600, "the records are for nobody else to read"
        TOPIC_PLANS.save(plan, path)
        assert TOPIC_PLANS.load(path) == plan

    def test_a_limit_takes_the_oldest(self, path: Path) -> None:
        plan = planned(world(), path, limit=2)
        assert isinstance(plan.work, ExpireKeys)
        assert [each.rows for each in plan.work.partitions] == [1, 1]
        assert plan.work.left_by_limit == 1
        assert any("1 more key would be old enough, but --limit 2" in line for line in plan.price)

    @pytest.mark.parametrize("edited", ["cutoff", "samples"])
    def test_an_edited_plan_is_refused(self, edited: str, path: Path) -> None:
        TOPIC_PLANS.save(planned(world(), path), path)
        path.write_text(path.read_text().replace(f'"{edited}"', f'"{edited}_"'))
        with pytest.raises(PlanError, match=r"plan\.json was edited after it was made"):
            TOPIC_PLANS.load(path)

    @pytest.mark.parametrize(
        ("damage", "changes", "message"),
        [
            (lambda w: w.configs[TOPIC].update({"cleanup.policy": "delete"}), {}, "users is not compacted"),
            (lambda w: w.commits.clear(), {}, "Nothing shows that application .* reads users"),
            (lambda _: None, OF_STORE, f"'{CHANGELOG}' is not among them"),
            (lambda w: w.with_topic(CHANGELOG, 1).__dict__.update(members=1), OF_STORE, "'shop' runs"),
        ],
    )
    def test_refuses_what_is_not_proven(
        self, damage: Callable[[World], object], changes: dict[str, object], message: str, path: Path
    ) -> None:
        look = world()
        damage(look)
        with pytest.raises(PlanError, match=message):
            planned(look, path, **changes)

    @pytest.mark.parametrize(
        "changes",
        [{"store": "counts"}, {"topic": None}, {"topic": Topic("__consumer_offsets")}, {"older_than_s": 10**10}],
    )
    def test_refuses_a_question_that_makes_no_sense(self, changes: dict[str, object], path: Path) -> None:
        with pytest.raises(UsageError):
            planned(world(), path, **changes)


class TestApply:
    @pytest.mark.core
    def test_deletes_what_was_planned_once(self, path: Path) -> None:
        on = world()
        plan = planned(on, path)
        applied(plan, on, path)
        assert on.rows(TOPIC) == STAYS
        written = on.appended
        assert applied(plan, on, path) == [AlreadyApplied()]
        assert on.appended == written

    def test_what_was_written_since_the_plan_stays_and_is_counted(self, path: Path) -> None:
        on = world()
        plan = planned(on, path)
        on.put(TOPIC, b"bob", b"new", NOW_MS)
        events = applied(plan, on, path)
        assert on.rows(TOPIC)[0, b"bob"] == (b"new", NOW_MS, ())
        assert [event.report.left for event in events if isinstance(event, TopicStepDone)] == [1, 0]

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda w: w.configs[TOPIC].update({"cleanup.policy": "delete"}), r"users has cleanup\.policy=delete"),
            (
                lambda w: w.with_topic(TOPIC, 2),
                r"users\[0\] ends at offset 0 now; when the plan was made it ended at 8",
            ),
            (lambda w: w.with_topic(TOPIC, 3), "users has 3 partitions now; when the plan was made it had 2"),
        ],
    )
    def test_a_changed_topic_is_refused(self, damage: Callable[[World], object], message: str, path: Path) -> None:
        on = world()
        plan = planned(on, path)
        damage(on)
        with pytest.raises(PlanError, match=message):
            applied(plan, on, path)
        assert on.appended == 0

    @pytest.mark.parametrize("how", ["gone", "edited"])
    def test_without_the_records_nothing_is_deleted(self, how: str, path: Path) -> None:
        on = world()
        plan = planned(on, path)
        kept = kept_records_path(path)
        if how == "gone":
            kept.unlink()
        else:
            kept.write_text(kept.read_text().replace("1", "2", 1))
        with pytest.raises(PlanError, match=r"records"):
            applied(plan, on, path)
        assert on.appended == 0


class TestKilled:
    def test_at_every_instant_the_next_run_comes_to_the_same_end(self, path: Path) -> None:
        plan = planned(world(), path)
        other = world()
        counting = other.instant = KillAt(None)
        applied(plan, other, path)
        assert counting.seen > 15
        for number in range(counting.seen):
            on, journal = world(), path.with_name(f"{number}.jsonl")
            on.instant = KillAt(number)
            with pytest.raises(Killed):
                applied(plan, on, path, journal)
            on.instant = lambda: None
            applied(plan, on, path, journal)
            assert on.rows(TOPIC) == STAYS
            assert on.appended == len(EXPIRED)  # no tombstone twice
            rolled_back(on, path, journal)
            assert on.rows(TOPIC) == STAYS | EXPIRED

    def test_and_rolled_back_at_once_nothing_is_changed(self, path: Path) -> None:
        plan = planned(world(), path)
        for number in range(40):
            on, journal = world(), path.with_name(f"{number}.jsonl")
            on.instant = KillAt(number)
            with suppress(Killed):
                applied(plan, on, path, journal)
            on.instant = lambda: None
            if journal.exists() and journal.read_bytes():
                rolled_back(on, path, journal)
            assert on.rows(TOPIC) == STAYS | EXPIRED


class TestRaced:
    """Others write one key each, at any instant of an apply that is killed at any instant, and so of the rollback."""

    @given(
        kills=st.lists(st.integers(0, 40), max_size=3),
        writes=st.dictionaries(
            st.sampled_from(sorted(STAYS | EXPIRED)), st.tuples(st.integers(0, 60), st.booleans()), max_size=4
        ),
        is_undone=st.booleans(),
        is_compacted=st.booleans(),
    )
    def test_whoever_wrote_since_wins(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        kills: list[int],
        writes: dict[tuple[int, bytes], tuple[int, bool]],
        is_undone: bool,
        is_compacted: bool,
    ) -> None:
        on, path = world(), tmp_path_factory.mktemp("raced") / "plan.json"
        plan = planned(on, path)
        seen, waiting = 0, dict(writes)

        def others() -> None:
            nonlocal seen
            seen += 1
            for (partition, key), (at, is_deletion) in list(waiting.items()):
                if at <= seen:
                    del waiting[partition, key]
                    on.put(TOPIC, key, None if is_deletion else b"theirs", NOW_MS + 1, partition=partition)

        def run(task: Callable[[], object]) -> None:
            for number in kills:
                killing = KillAt(number)

                def both(killing: KillAt = killing) -> None:
                    others()
                    killing()

                on.instant = both
                try:
                    task()
                except Killed:
                    continue
            on.instant = others
            task()

        run(lambda: applied(plan, on, path))
        if is_compacted:
            on.compact(TOPIC, with_tombstones=True)
        if is_undone:
            run(lambda: rolled_back(on, path))
        expected = STAYS | EXPIRED if is_undone else dict(STAYS)
        for where, (_at, is_deletion) in writes.items():
            if where in waiting:
                continue
            expected.pop(where, None)
            if not is_deletion:
                expected[where] = (b"theirs", NOW_MS + 1, ())
            elif is_undone and is_compacted and where in EXPIRED:
                # Nothing of the key is left in the topic: the plan says that it counts as not written since.
                found = on.rows(TOPIC).get(where)
                if found is not None:
                    expected[where] = EXPIRED[where]
        assert on.rows(TOPIC) == expected


class TestRollback:
    @pytest.mark.core
    @pytest.mark.parametrize("is_compacted", [False, True])
    def test_writes_again_what_was_deleted_with_timestamps_and_headers(self, path: Path, is_compacted: bool) -> None:
        on = world()
        before = on.rows(TOPIC)
        applied(planned(on, path), on, path)
        if is_compacted:
            on.compact(TOPIC, with_tombstones=True)
        events = rolled_back(on, path)
        assert on.rows(TOPIC) == before
        assert [event.report.written for event in events if isinstance(event, TopicStepUndone)] == [1, 2]

    def test_leaves_what_others_wrote_or_deleted_since(self, path: Path) -> None:
        on = world()
        applied(planned(on, path), on, path)
        on.put(TOPIC, b"bob", b"theirs", NOW_MS)
        on.put(TOPIC, b"dan", None, NOW_MS)
        events = rolled_back(on, path)
        assert on.rows(TOPIC)[0, b"bob"] == (b"theirs", NOW_MS, ())
        assert (0, b"dan") not in on.rows(TOPIC)
        assert [event.report.left for event in events if isinstance(event, TopicStepUndone)] == [0, 2]


def test_a_store_s_changelog_is_meant_by_its_store(path: Path) -> None:
    on = world().with_topic(CHANGELOG, 1)
    on.put(CHANGELOG, b"k", b"v", OLD)
    plan = planned(on, path, **OF_STORE)
    action = {"step": 1, "kind": "expire-partition", "topic": CHANGELOG, "partition": 0}
    assert topic_plan_document(plan)["actions"] == [action]
    assert any("Wipe the state directories of shop" in line for line in plan.playbook)
    other = copy.deepcopy(on)
    other.members = 1
    with pytest.raises(PlanError, match="'shop' runs"):
        applied(plan, other, path)
    applied(plan, on, path)
    assert on.rows(CHANGELOG) == {}
