"""What is named as a journal and is none: not a byte of it is written or cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from srfix.recovery import PlanError, save_plan
from srfix.recovery.plans.journal_file import is_cut_first_line
from srfix.recovery.plans.runs import JournalSetAside
from srfix.recovery.repair.apply import StepDone, apply_plan
from srfix.recovery.repair.journal import REPAIR_JOURNALS, read_plan_or_journal
from srfix.recovery.repair.rollback import roll_back
from tests.recovery.repair.scene import Scene
from tests.recovery.staging import STEPS, clock, plan_of
from tests.special_files import special

FOREIGN = {
    "text": b"buy milk\n",
    "text without an end": b"buy milk",
    "lines, the last without an end": b"buy milk\nand bre",
    "a json line": b'{"event": "begun"}\n',
    "json without an end": b'{"at": "home", "by": 1}',
    "a brace": b"{",
    "binary": bytes(range(256)) * 40,
    "blanks": b"  \n\n  ",
    "a NUL": b"\0",
    "deep": b"[" * 100_000 + b"\n",
    "a lone surrogate": b'{"event": "begun", "plan": "\\ud800"}\n',
}


def refused(path: Path, scene: Scene) -> list[str]:
    """Every way to name a journal, each refused; what was said."""
    said = []
    calls: list[Callable[[], object]] = [
        lambda: list(apply_plan(scene.plan, scene.client, path, clock=clock)),
        lambda: list(roll_back(path, scene.client, clock=clock)),
        lambda: REPAIR_JOURNALS.read(path),
    ]
    for call in calls:
        with pytest.raises(PlanError) as error:
            call()
        said.append(str(error.value))
    assert scene.registry.writes == 0
    return said


class TestForeignFiles:
    @pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
    def test_are_left_as_they_are(self, scene: Scene, tmp_path: Path, content: bytes) -> None:
        """Seen: what followed the last line end was gone, all of a file without one."""
        path = tmp_path / "notes"
        path.write_bytes(content)
        assert all("is not a journal of srfix" in said for said in refused(path, scene))
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["notes"]

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(content=st.binary(min_size=1, max_size=200) | st.text(min_size=1).map(str.encode))
    @example(content=b'{"at": "')
    def test_of_any_content(self, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
        """What begins as a journal does, as far as it goes, is a line that a crash has cut: it is renamed, whole."""
        path = tmp_path_factory.mktemp("any") / "notes"
        path.write_bytes(content)
        if is_cut_first_line(content):
            with REPAIR_JOURNALS.open(path, clock) as (journal, state):
                assert (journal.set_aside, state) == (path.with_name("notes.1"), None)
            path = path.with_name("notes.1")
        else:
            with pytest.raises(PlanError), REPAIR_JOURNALS.open(path, clock):
                pass
        assert path.read_bytes() == content

    def test_the_plan_itself(self, scene: Scene, tmp_path: Path) -> None:
        path = tmp_path / "p.json"
        save_plan(scene.plan, path)
        content = path.read_bytes()
        assert all("is not a journal of srfix" in said for said in refused(path, scene))
        assert path.read_bytes() == content
        assert read_plan_or_journal(path) == scene.plan

    def test_by_a_link_or_a_second_name(self, scene: Scene, tmp_path: Path) -> None:
        notes = tmp_path / "notes"
        notes.write_bytes(b"buy milk")
        (tmp_path / "soft").symlink_to(notes)
        (tmp_path / "hard").hardlink_to(notes)
        for name in ("soft", "hard"):
            refused(tmp_path / name, scene)
        assert notes.read_bytes() == b"buy milk"

    def test_a_link_to_nothing_makes_nothing(self, scene: Scene, tmp_path: Path) -> None:
        (tmp_path / "soft").symlink_to(tmp_path / "nowhere")
        assert "is a link to a file that is not there" in refused(tmp_path / "soft", scene)[0]
        assert os.listdir(tmp_path) == ["soft"]

    @pytest.mark.parametrize("kind", ["directory", "fifo", "socket", "device", "long name", "NUL", "no directory"])
    def test_what_is_no_file(self, scene: Scene, tmp_path: Path, kind: str) -> None:
        """A FIFO must not be waited for."""
        refused(special(kind, tmp_path), scene)


def test_an_empty_file_becomes_the_journal(scene: Scene) -> None:
    """Nothing of anybody's can be lost in it, and a crash right after it was created leaves one."""
    scene.journal.touch()
    scene.apply()
    assert REPAIR_JOURNALS.read(scene.journal).finished


class TestCutLines:
    @pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.999])
    def test_a_first_one_is_set_aside_whole_and_the_repair_is_carried_out(self, scene: Scene, share: float) -> None:
        scene.killed("after line", 1)
        line = scene.journal.read_bytes()
        piece = line[: int(len(line) * share)]
        scene.journal.write_bytes(piece)
        with pytest.raises(PlanError, match="has no complete line"):
            scene.roll_back()
        assert scene.journal.read_bytes() == piece
        aside = scene.journal.with_name("journal.1")
        first, *others = scene.apply()
        assert first == JournalSetAside(path=aside)
        assert [type(event) for event in others] == [StepDone] * STEPS
        assert aside.read_bytes() == piece

    def test_nothing_of_another_plans_journal_is_cut(self, scene: Scene) -> None:
        scene.killed("after line", 4)
        content = scene.journal.read_bytes()[:-20]
        scene.journal.write_bytes(content)
        with pytest.raises(PlanError, match="belongs to another plan"):
            scene.apply(plan_of(scene.client, "other-users-store-changelog-value"))
        assert scene.journal.read_bytes() == content
