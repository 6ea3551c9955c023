"""What a topic tells of a plan that writes to it: what stands, what others did since, and what cannot be known."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.recovery.topic_plan.expiring import kept_records_path
from srfix.recovery.topic_plan.journal import TOPIC_JOURNALS
from srfix.recovery.topic_plan.plan_file import TopicPlan
from srfix.recovery.topic_plan.verifying import TopicOutcome, verify_topic_plan
from tests.recovery.topic_plan import test_expiry
from tests.recovery.topic_plan.test_seed import APP, CHANGELOG, SOURCE, applied, planned, rolled_back, world
from tests.recovery.topic_plan.world import DAY_MS, NOW_MS, World

HOLDS, FAILS, NOT_KNOWN = TopicOutcome.HOLDS, TopicOutcome.FAILS, TopicOutcome.NOT_KNOWN
Seen = list[tuple[TopicOutcome, int, int]]
"""Per check the outcome, what stands, and what was written since."""


def seen(plan: TopicPlan, on: World, journal: Path | None = None, kept: Path | None = None) -> Seen:
    state = None if journal is None else TOPIC_JOURNALS.read(journal)
    checks = verify_topic_plan(plan, on, state=state, kept_path=kept)
    return [(each.outcome, each.stands, each.since) for each in checks]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "p.json.journal.jsonl"


@pytest.fixture
def plan() -> TopicPlan:
    return planned(world())


@pytest.fixture
def made(plan: TopicPlan, journal: Path) -> World:
    """With a seed carried out."""
    filled = world()
    applied(plan, filled, journal)
    return filled


class TestSeed:
    def test_before_it_is_applied_nothing_is_there(self) -> None:
        made = world()
        assert seen(planned(made), made) == [(FAILS, 0, 0)]
        made = world(changelog=True)
        assert seen(planned(made), made) == [(FAILS, 0, 0), (FAILS, 0, 0)]

    @pytest.mark.parametrize("has_journal", [True, False])
    def test_applied_it_holds_compacted_or_not(
        self, made: World, plan: TopicPlan, journal: Path, has_journal: bool
    ) -> None:
        for _ in range(2):
            assert seen(plan, made, journal if has_journal else None) == [(HOLDS, 2, 0), (HOLDS, 1, 0)]
            made.compact(CHANGELOG)

    def test_what_the_application_wrote_since_is_no_loss(self, made: World, plan: TopicPlan, journal: Path) -> None:
        made.put(CHANGELOG, b"bob", b"new", 9_000)
        made.put(CHANGELOG, b"zoe", b"new", 9_000)
        assert seen(plan, made, journal) == [(HOLDS, 1, 1), (HOLDS, 1, 0)]
        assert seen(plan, made) == [(NOT_KNOWN, 1, 1), (HOLDS, 1, 0)]

    def test_a_row_that_is_gone_is_a_loss_where_nobody_else_has_written(
        self, made: World, plan: TopicPlan, journal: Path
    ) -> None:
        log = made.logs[CHANGELOG][0]
        log.records = [record for record in log.records if record.key != b"bob"]
        assert seen(plan, made, journal)[0] == (FAILS, 1, 0)
        made.put(CHANGELOG, b"zoe", b"new", 9_000)  # the application may have deleted bob, and the tombstone be gone
        assert seen(plan, made, journal)[0] == (NOT_KNOWN, 1, 0)

    def test_of_a_source_that_has_changed_the_digest_tells_or_nothing_does(
        self, made: World, plan: TopicPlan, journal: Path
    ) -> None:
        made.put(SOURCE, b"bob", b"later", 9_000)
        made.compact(SOURCE)
        assert seen(plan, made, journal) == [(HOLDS, 2, 0), (HOLDS, 1, 0)]
        made.put(CHANGELOG, b"bob", b"later", 9_000)
        assert seen(plan, made, journal)[0] == (NOT_KNOWN, 0, 0)

    def test_a_topic_that_was_recreated_or_lets_rows_go_fails(
        self, made: World, plan: TopicPlan, journal: Path
    ) -> None:
        made.configs[CHANGELOG]["cleanup.policy"] = "delete"
        assert seen(plan, made, journal)[0] == (FAILS, 0, 0)
        made.with_topic(CHANGELOG, 2)
        assert seen(plan, made, journal) == [(FAILS, 0, 0), (FAILS, 0, 0)]
        made.with_topic(CHANGELOG, 3)
        assert seen(plan, made, journal) == [(FAILS, 0, 0)]

    def test_rolled_back_it_fails(self, made: World, plan: TopicPlan, journal: Path) -> None:
        rolled_back(made, journal)
        assert seen(plan, made, journal) == [(FAILS, 0, 0)]


class TestExpiry:
    def test_keys_without_a_row_hold_and_those_with_it_do_not(self, tmp_path: Path, journal: Path) -> None:
        made = World().with_topic("users", 1)
        for key in (b"ann", b"bob", b"cem"):
            made.put("users", key, b"v", NOW_MS - 90 * DAY_MS)
        made.commit(APP, "users", 3)
        path = tmp_path / "p.json"
        plan = test_expiry.planned(made, path)
        kept = kept_records_path(path)
        assert seen(plan, made, kept=kept) == [(FAILS, 0, 0)]
        test_expiry.applied(plan, made, path, journal)
        assert seen(plan, made, kept=kept) == [(HOLDS, 3, 0)]
        made.compact("users", with_tombstones=True)
        made.put("users", b"ann", b"again", NOW_MS)
        assert seen(plan, made, kept=kept) == [(HOLDS, 2, 1)]
        made.put("users", b"bob", b"v", NOW_MS - 90 * DAY_MS)  # as a rollback writes it again
        assert seen(plan, made, kept=kept) == [(FAILS, 1, 1)]
        kept.write_bytes(kept.read_bytes() + b"{}")
        assert seen(plan, made, kept=kept) == [(NOT_KNOWN, 0, 0)]
