"""The journal: what it says is what was done, and damage is never guessed around."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import portalocker
import pytest

from srfix.recovery import PlanError
from srfix.recovery.plans.journal_file import Journal, default_journal_path
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from tests.recovery.repair.scene import Scene
from tests.recovery.staging import STEPS, clock

pytestmark = pytest.mark.core


def test_it_stands_beside_the_plan() -> None:
    assert default_journal_path(Path("a/p.json")) == Path("a/p.json.journal.jsonl")


class TestReadJournal:
    def test_it_says_what_was_done(self, scene: Scene) -> None:
        scene.apply()
        state = REPAIR_JOURNALS.read(scene.journal)
        assert (state.plan, state.finished, state.in_flight) == (scene.plan, True, None)
        assert sorted(state.after) == list(range(1, STEPS + 1))

    def test_a_step_that_was_begun_and_not_ended_is_in_flight(self, scene: Scene) -> None:
        scene.killed("after write", 2)
        assert REPAIR_JOURNALS.read(scene.journal).in_flight == 2

    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            (b'{"answer": {"compatibility"', b"garbage", r"Line 3 of the journal .* damaged or edited"),
            (b'"answer": {"id": 1', b'"answer": {"id": 2147483648', r"Line \d+ of .* does not fit the line before it"),
            (b'"level": "NONE"', b'"level": "FULL"', r"The first line of .* was edited"),
        ],
        ids=["no JSON", "an id that no registry gives", "another plan"],
    )
    def test_a_changed_line_is_refused_by_its_number(
        self, scene: Scene, before: bytes, after: bytes, said: str
    ) -> None:
        scene.apply()
        whole = scene.journal.read_bytes()
        scene.journal.write_bytes(whole.replace(before, after, 1))
        assert scene.journal.read_bytes() != whole
        with pytest.raises(PlanError, match=said):
            REPAIR_JOURNALS.read(scene.journal)

    @pytest.mark.parametrize("content", [b"{}\n", b"[]\n", b'{"event":"after","step":1}\n'])
    def test_another_file_is_not_taken_for_a_journal(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "journal"
        path.write_bytes(content)
        with pytest.raises(PlanError, match="its first line does not begin a repair"):
            REPAIR_JOURNALS.read(path)

    def test_an_event_of_a_later_version_is_passed_over(self, scene: Scene) -> None:
        scene.apply()
        with REPAIR_JOURNALS.open(scene.journal, clock) as (journal, _state):
            journal.write("remarked")
        assert REPAIR_JOURNALS.read(scene.journal).finished


class TestOpenJournal:
    def test_a_full_disk_stops_the_repair_before_the_write(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_room(*_args: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", no_room)
        with pytest.raises(PlanError, match=r"cannot be written \(No space left on device\)"):
            scene.apply()
        assert scene.registry.writes == 0

    def test_every_line_is_synced(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[int] = []
        monkeypatch.setattr("os.fsync", synced.append)
        with REPAIR_JOURNALS.open(tmp_path / "journal", clock) as (journal, state):
            assert isinstance(journal, Journal)
            assert state is None
            directory = len(synced)
            journal.write("remarked")
        assert (directory, len(synced)) == (1, 2)

    def test_a_journal_that_goes_away_before_it_is_locked_is_not_written_to(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another process held it, set it aside and was done, between our opening it and our lock."""
        path, aside = tmp_path / "journal", tmp_path / "aside"
        lock = portalocker.lock

        def late(*arguments: Any) -> None:
            if not aside.exists():
                path.rename(aside)
            lock(*arguments)

        monkeypatch.setattr("portalocker.lock", late)
        with REPAIR_JOURNALS.open(path, clock) as (journal, _state):
            journal.write("remarked")
        assert (aside.read_bytes(), path.read_bytes().count(b"\n")) == (b"", 1)

    def test_one_in_which_nothing_was_begun_is_not_left_behind(self, tmp_path: Path) -> None:
        with REPAIR_JOURNALS.open(tmp_path / "journal", clock):
            assert (tmp_path / "journal").exists()
        assert not (tmp_path / "journal").exists()
