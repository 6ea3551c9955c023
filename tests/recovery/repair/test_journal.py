"""The journal: what it says is what was done, and damage is never guessed around."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import portalocker
import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.errors import PlanError
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.journal import Journal, default_journal_path, open_journal, read_journal
from srfix.serde.registry.client import RegistryClient
from tests.recovery.staging import STEPS, clock, killed_at, plan_of


class TestDefaultJournalPath:
    def test_it_stands_beside_the_plan(self) -> None:
        assert default_journal_path(Path("a/p.json")) == Path("a/p.json.journal.jsonl")


class TestReadJournal:
    def test_it_says_what_was_done(self, client: RegistryClient, journal_path: Path) -> None:
        plan = plan_of(client)
        list(apply_plan(plan, client, journal_path, clock=clock))
        state = read_journal(journal_path)
        assert (state.plan, state.finished, state.in_flight) == (plan, True, None)
        assert sorted(state.after) == list(range(1, STEPS + 1))

    def test_a_step_that_was_begun_and_not_ended_is_in_flight(
        self, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with killed_at(monkeypatch, "after write", 2):
            list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        assert read_journal(journal_path).in_flight == 2

    def test_a_damaged_line_in_the_middle_is_refused_by_its_number(
        self, client: RegistryClient, journal_path: Path
    ) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        lines = journal_path.read_bytes().splitlines(keepends=True)
        lines[3] = b"garbage\n"
        journal_path.write_bytes(b"".join(lines))
        with pytest.raises(PlanError, match=r"^Line 4 of the journal .* cannot be read\. It was damaged or edited;"):
            read_journal(journal_path)

    def test_an_answer_with_an_id_that_no_registry_gives_is_refused_by_its_line(
        self, client: RegistryClient, journal_path: Path
    ) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        journal_path.write_text(
            journal_path.read_text().replace('"answer": {"id": 1', '"answer": {"id": 2147483648', 1)
        )
        with pytest.raises(
            PlanError,
            match=r"^Line \d+ of the journal .* does not follow the one before it: .* It was damaged or edited;",
        ):
            read_journal(journal_path)

    def test_an_edited_plan_in_the_first_line_is_refused(self, client: RegistryClient, journal_path: Path) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        journal_path.write_text(journal_path.read_text().replace('"level": "NONE"', '"level": "FULL"', 1))
        with pytest.raises(PlanError, match=r"^The first line of .* was edited after it was made"):
            read_journal(journal_path)

    @pytest.mark.parametrize("content", [b"{}\n", b"[]\n", b'{"event":"after","step":1}\n'])
    def test_another_file_is_not_taken_for_a_journal(self, content: bytes, journal_path: Path) -> None:
        journal_path.write_bytes(content)
        with pytest.raises(PlanError, match=r"is not a journal of srfix: its first line does not begin a repair\. "):
            read_journal(journal_path)

    def test_an_event_of_a_later_version_is_passed_over(self, client: RegistryClient, journal_path: Path) -> None:
        list(apply_plan(plan_of(client), client, journal_path, clock=clock))
        with open_journal(journal_path, clock) as (journal, _state):
            journal.write("remarked")
        assert read_journal(journal_path).finished


class TestOpenJournal:
    def test_a_full_disk_stops_the_repair_before_the_write(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        journal_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        plan = plan_of(client)
        monkeypatch.setattr("os.fsync", _no_room)
        with pytest.raises(
            PlanError, match=r"^The journal .* cannot be written \(No space left on device\), and nothing is"
        ):
            list(apply_plan(plan, client, journal_path, clock=clock))
        assert registry.writes == 0

    def test_every_line_is_synced(
        self, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[int] = []
        monkeypatch.setattr("os.fsync", synced.append)
        with open_journal(journal_path, clock) as (journal, state):
            assert isinstance(journal, Journal)
            assert state is None
            directory = len(synced)
            journal.write("remarked")
        assert (directory, len(synced)) == (1, 2)

    def test_a_journal_that_goes_away_before_it_is_locked_is_not_written_to(
        self, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another process held it, set it aside and was done, between our opening it and our lock."""
        aside = journal_path.with_name("aside")
        lock = portalocker.lock

        def late(*arguments: Any) -> None:
            if not aside.exists():
                journal_path.rename(aside)
            lock(*arguments)

        monkeypatch.setattr("portalocker.lock", late)
        with open_journal(journal_path, clock) as (journal, _state):
            journal.write("remarked")
        assert (aside.read_bytes(), journal_path.read_bytes().count(b"\n")) == (b"", 1)

    def test_one_in_which_nothing_was_begun_is_not_left_behind(self, journal_path: Path) -> None:
        with open_journal(journal_path, clock):
            assert journal_path.exists()
        assert not journal_path.exists()


def _no_room(*_args: object) -> None:
    raise OSError(28, "No space left on device")
