"""A journal that lost its end, or lines, or a bit: the rollback undoes everything, or refuses, or names what it leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.intercept import Answer, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.journal import read_journal
from srfix.recovery.repair.rollback import Left, Undone, roll_back
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, STEPS, W1, W2, R, clock, killed_at, plan_of

LINES = 1 + 2 * STEPS + 1


@contextmanager
def staged() -> Iterator[tuple[FixtureRegistry, RegistryClient]]:
    with FixtureRegistry() as registry:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            registry.seed(subject, text)
        with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
            yield registry, client


def without_chain(journal: bytes) -> bytes:
    """The journal as srfix wrote it before lines were tied to each other."""
    return re.sub(rb', "chain": "[0-9a-f]{64}"\}', b"}", journal)


@dataclass(frozen=True)
class Damage:
    """What is done to the lines of a journal, for hypothesis to draw and to print."""

    kind: str
    first: int
    second: int

    def of(self, journal: bytes) -> bytes:
        lines = journal.splitlines(keepends=True)
        a, b = self.first % len(lines), self.second % len(lines)
        match self.kind:
            case "cut":
                return journal[: self.first * 7919 % len(journal)]
            case "cut to lines":
                return b"".join(lines[: a + 1])
            case "without a line":
                return b"".join(line for number, line in enumerate(lines) if number != a)
            case "without lines":
                low, high = sorted((a, b))
                return b"".join(lines[:low] + lines[high:])
            case "doubled":
                return b"".join([*lines[:b], lines[a], *lines[b:]])
            case "exchanged":
                lines[a], lines[b] = lines[b], lines[a]
                return b"".join(lines)
            case "subset":
                return b"".join(line for number, line in enumerate(lines) if self.first >> number % 30 & 1)
            case _:  # a bit
                place = (self.first * 7919 + self.second) % len(journal)
                return journal[:place] + bytes([journal[place] ^ (1 << self.second % 8)]) + journal[place + 1 :]


KINDS = ("cut", "cut to lines", "without a line", "without lines", "doubled", "exchanged", "subset", "bit")
damages = st.builds(Damage, st.sampled_from(KINDS), st.integers(0, 2**31), st.integers(0, 2**31))


def check(registry: FixtureRegistry, client: RegistryClient, path: Path, before: object) -> str:
    """Rolls back, and holds the promise; says how it ended."""
    repaired, content = registry.dump(), path.read_bytes()
    registry.forget_requests()
    refusal, events = "", list[object]()
    try:
        events += roll_back(path, client, clock=clock)
    except PlanError as error:
        refusal = str(error)
    if refusal:
        assert (registry.writes, registry.dump(), path.read_bytes()) == (0, repaired, content), refusal
        return "refused"
    if registry.dump() == before:
        return "undone"
    left = " ".join(event.why for event in events if isinstance(event, Left))
    for version in client.versions(PHANTOM, deleted=True):
        if version != 1:
            assert re.search(rf"\bversion {version}\b", left), left
    config = client.config(PHANTOM)
    assert config is None or str(config.compatibility) in left
    return "left"


class TestDamagedJournals:
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(damage=damages, at=st.integers(1, 2 * LINES), is_old=st.booleans())
    def test_a_rollback_undoes_all_or_refuses_or_names_what_it_leaves(
        self, tmp_path_factory: pytest.TempPathFactory, damage: Damage, at: int, *, is_old: bool
    ) -> None:
        """`at`: the journal line at which the repair was killed; beyond the last it came to its end."""
        path = tmp_path_factory.mktemp("damaged") / "journal"
        with staged() as (registry, client), pytest.MonkeyPatch.context() as monkeypatch:
            before = registry.dump()
            if at <= LINES:
                with killed_at(monkeypatch, "after line", at):
                    list(apply_plan(plan_of(client), client, path, clock=clock))
            else:
                list(apply_plan(plan_of(client), client, path, clock=clock))
            whole = path.read_bytes()
            path.write_bytes(damage.of(without_chain(whole) if is_old and damage.kind != "bit" else whole))
            check(registry, client, path, before)

    @pytest.mark.parametrize("lines", range(1, LINES))
    def test_one_that_is_cut_to_its_first_lines_is_refused_or_rolled_back_whole(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, lines: int
    ) -> None:
        """Seen: cut to its first lines it said "no step had been carried out", and two versions stayed."""
        before = registry.dump()
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        whole = journal_path.read_bytes()
        journal_path.write_bytes(b"".join(whole.splitlines(keepends=True)[:lines]))
        ended = check(registry, client, journal_path, before)
        # From the line before the second registration (the last that could be missed) all of it is known.
        assert ended == ("undone" if lines >= 8 else "refused")
        if ended == "refused":
            journal_path.write_bytes(whole)
            list(roll_back(journal_path, client, clock=clock))
            assert registry.dump() == before

    @pytest.mark.parametrize("number", range(1, LINES - 1))
    @pytest.mark.parametrize("is_old", [False, True])
    def test_a_missing_line_is_refused_before_anything_is_undone(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, number: int, *, is_old: bool
    ) -> None:
        """Seen: a KeyError after one step had been undone."""
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        repaired, journal = registry.dump(), journal_path.read_bytes()
        lines = (without_chain(journal) if is_old else journal).splitlines(keepends=True)
        journal_path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        with pytest.raises(
            PlanError, match=rf"^Line {number + 1} of the journal .* does not follow the one before it: "
        ):
            list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == repaired

    def test_what_it_refuses_it_names(self, client: RegistryClient, journal_path: Path) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        journal_path.write_bytes(b"".join(journal_path.read_bytes().splitlines(keepends=True)[:1]))
        with pytest.raises(
            PlanError,
            match=rf"^The journal .* does not tell that step 2, 4 of its plan was carried out, and version 2 \(schema id 1, "
            rf"soft-deleted\) of {PHANTOM} stands; version 3 \(schema id 2, soft-deleted\) of {PHANTOM} stands\. Either the "
            r"end of the journal is missing, or somebody else has done that; srfix cannot tell, and nothing was written\.",
        ):
            list(roll_back(journal_path, client, clock=clock))

    def test_one_whose_last_word_is_that_it_stopped_leaves_what_others_did(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        with (
            registry.intercept(Fault(method="DELETE", path="/versions/2", action=CutBefore())),
            pytest.raises(AppliedInPartError),
        ):
            list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        assert read_journal(journal_path).stopped
        registry.seed(PHANTOM, W2)  # somebody else, after all
        events = list(roll_back(journal_path, client, clock=clock))
        assert [event.action.step for event in events if isinstance(event, Undone)] == [2, 1]
        (left,) = [event for event in events if isinstance(event, Left)]
        assert left.why.startswith(
            f"version 3 (schema id 2, live) of {PHANTOM} stands, as this step would leave it, and "
        )


class TestOldJournals:
    def test_one_without_a_chain_is_read_and_gone_on_with(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = registry.dump()
        plan = plan_of(client)
        with killed_at(monkeypatch, "after line", 5):
            list(apply_plan(plan, client, journal_path, clock=clock))
        journal_path.write_bytes(without_chain(journal_path.read_bytes()))
        list(apply_plan(plan, client, journal_path, clock=clock))
        assert read_journal(journal_path).finished
        list(roll_back(journal_path, client, clock=clock))
        assert registry.dump() == before

    def test_what_is_written_behind_it_is_tied_to_it(
        self, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = plan_of(client)
        with killed_at(monkeypatch, "after line", 5):
            list(apply_plan(plan, client, journal_path, clock=clock))
        journal_path.write_bytes(without_chain(journal_path.read_bytes()))
        list(apply_plan(plan, client, journal_path, clock=clock))
        journal_path.write_bytes(journal_path.read_bytes().replace(b'"event": "resumed"', b'"event": "Resumed"'))
        with pytest.raises(PlanError, match=r"^Line 6 of the journal .* does not follow"):
            read_journal(journal_path)


class TestAnotherRegistry:
    def test_a_journal_without_a_registration_is_refused_where_the_schemas_are_not(
        self, client: RegistryClient, journal_path: Path
    ) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        journal_path.write_bytes(journal_path.read_bytes().splitlines(keepends=True)[0])
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere:
            other.seed(PHANTOM, R)
            with pytest.raises(
                PlanError, match=r"^None of the schemas of this repair is at .* This looks like another"
            ):
                list(roll_back(journal_path, elsewhere, clock=clock))
            assert other.writes == 0


def test_a_refused_first_write_says_that_it_stopped(
    registry: FixtureRegistry, client: RegistryClient, journal_path: Path
) -> None:
    refused = Answer(status=403, body=json.dumps({"error_code": 40301, "message": "No."}))
    with (
        registry.intercept(Fault(method="PUT", path="/config", action=refused)),
        pytest.raises(Exception, match=r"No\."),
    ):
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
    assert read_journal(journal_path).stopped
