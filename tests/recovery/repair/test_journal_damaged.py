"""A journal that lost its end, or lines, or a bit: the rollback undoes everything, or refuses, or names what it leaves."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.intercept import Answer, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import AppliedInPartError, PlanError
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.recovery.repair.rollback import Undone, roll_back
from srfix.serde import RegistryClient, SrfixError
from tests.recovery.repair.scene import Scene, staged_scene
from tests.recovery.staging import PHANTOM, STEPS, W2, R, clock

LINES = 1 + 2 * STEPS + 1


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


def check(scene: Scene) -> str:
    """Rolls back, and holds the promise; says how it ended."""
    repaired, content = scene.registry.dump(), scene.lines()
    scene.registry.forget_requests()
    events = None
    with suppress(PlanError):
        events = scene.roll_back()
    if events is None:
        assert (scene.registry.writes, scene.registry.dump(), scene.lines()) == (0, repaired, content)
        return "refused"
    if scene.registry.dump() == scene.before:
        return "undone"
    left = " ".join(event.why for event in events if isinstance(event, Left))
    for version in scene.client.versions(PHANTOM, deleted=True):
        if version != 1:
            assert re.search(rf"\bversion {version}\b", left), left
    config = scene.client.config(PHANTOM)
    assert config is None or str(config.compatibility) in left
    return "left"


class TestDamagedJournals:
    @pytest.mark.slow
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(damage=damages, at=st.integers(1, 2 * LINES), is_old=st.booleans())
    def test_a_rollback_undoes_all_or_refuses_or_names_what_it_leaves(
        self, tmp_path_factory: pytest.TempPathFactory, damage: Damage, at: int, *, is_old: bool
    ) -> None:
        """`at`: the journal line at which the repair was killed; beyond the last it came to its end."""
        with staged_scene(tmp_path_factory.mktemp("damaged")) as scene:
            if at <= LINES:
                scene.killed("after line", at)
            else:
                scene.apply()
            whole = scene.journal.read_bytes()
            scene.journal.write_bytes(damage.of(without_chain(whole) if is_old and damage.kind != "bit" else whole))
            check(scene)

    @pytest.mark.parametrize(
        "lines", [pytest.param(n, marks=() if n in (1, 7, 8) else pytest.mark.slow) for n in range(1, LINES)]
    )
    def test_one_that_is_cut_to_its_first_lines_is_refused_or_rolled_back_whole(self, scene: Scene, lines: int) -> None:
        """Seen: cut to its first lines it said "no step had been carried out", and two versions stayed."""
        scene.apply()
        whole = scene.lines()
        scene.journal.write_bytes(b"".join(whole[:lines]))
        ended = check(scene)
        # From the line before the second registration (the last that could be missed) all of it is known.
        assert ended == ("undone" if lines >= 8 else "refused")
        if ended == "refused":
            scene.journal.write_bytes(b"".join(whole))
            scene.roll_back()
            assert scene.registry.dump() == scene.before

    @pytest.mark.parametrize(
        "number", [pytest.param(n, marks=() if n in (1, 4) else pytest.mark.slow) for n in range(1, LINES - 1)]
    )
    @pytest.mark.parametrize("is_old", [False, True])
    def test_a_missing_line_is_refused_before_anything_is_undone(
        self, scene: Scene, number: int, *, is_old: bool
    ) -> None:
        """Seen: a KeyError after one step had been undone."""
        scene.apply()
        repaired, journal = scene.registry.dump(), scene.journal.read_bytes()
        lines = (without_chain(journal) if is_old else journal).splitlines(keepends=True)
        scene.journal.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        with pytest.raises(PlanError, match=rf"Line {number + 1} of the journal .* does not fit the line before it"):
            scene.roll_back()
        assert scene.registry.dump() == repaired

    def test_what_it_refuses_it_names(self, scene: Scene) -> None:
        scene.apply()
        scene.journal.write_bytes(scene.lines()[0])
        versions = ".*".join(rf"version {n + 1} \(schema id {n}, soft-deleted\) of {PHANTOM}" for n in (1, 2))
        with pytest.raises(
            PlanError,
            match=rf"does not say that steps 2 and 4 of its plan were carried out. But in the registry {versions}",
        ):
            scene.roll_back()

    def test_one_whose_last_word_is_that_it_stopped_leaves_what_others_did(self, scene: Scene) -> None:
        fault = Fault(method="DELETE", path="/versions/2", action=CutBefore())
        with scene.registry.intercept(fault), pytest.raises(AppliedInPartError):
            scene.apply()
        assert REPAIR_JOURNALS.read(scene.journal).stopped
        scene.registry.seed(PHANTOM, W2)  # somebody else, after all
        events = scene.roll_back()
        assert [event.action.step for event in events if isinstance(event, Undone)] == [2, 1]
        (left,) = [event for event in events if isinstance(event, Left)]
        assert left.why.startswith(f"version 3 (schema id 2, live) of {PHANTOM} is there")


class TestOldJournals:
    """Without a chain."""

    def test_one_is_read_and_gone_on_with_and_what_is_written_behind_it_is_tied_to_it(self, scene: Scene) -> None:
        scene.killed("after line", 5)
        scene.journal.write_bytes(without_chain(scene.journal.read_bytes()))
        scene.apply()
        assert REPAIR_JOURNALS.read(scene.journal).finished
        whole = scene.journal.read_bytes()
        scene.journal.write_bytes(whole.replace(b'"event": "resumed"', b'"event": "Resumed"'))
        with pytest.raises(PlanError, match=r"Line 6 of the journal .* does not fit the line before it"):
            REPAIR_JOURNALS.read(scene.journal)
        scene.journal.write_bytes(whole)
        scene.roll_back()
        assert scene.registry.dump() == scene.before


class TestAnotherRegistry:
    def test_a_journal_without_a_registration_is_refused_where_the_schemas_are_not(self, scene: Scene) -> None:
        scene.apply()
        scene.journal.write_bytes(scene.lines()[0])
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere:
            other.seed(PHANTOM, R)
            with pytest.raises(PlanError, match="none of its schemas is under the subject"):
                list(roll_back(scene.journal, elsewhere, clock=clock))
            assert other.writes == 0


def test_a_refused_first_write_says_that_it_stopped(scene: Scene) -> None:
    refused = Answer(status=403, body=json.dumps({"error_code": 40301, "message": "No."}))
    fault = Fault(method="PUT", path="/config", action=refused)
    with scene.registry.intercept(fault), pytest.raises(SrfixError, match=r"No\."):
        scene.apply()
    assert REPAIR_JOURNALS.read(scene.journal).stopped
