"""The screens of a repair: the verdict first, short, each thing once; they fit, and the rest is in `--details`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery.repair import load_plan
from tests.cli.eight_stores import STORES, World, eight_stores
from tests.cli.kept_demo import Parts
from tests.cli.on_terminal import Screen, on_terminal


def after_the_steps(screen: Screen) -> Screen:
    """What `apply` says once it is done."""
    return Screen(code=screen.code, text=screen.text[screen.text.index("\nApplied") + 1 :], columns=screen.columns)


def has_no_broken_name(screen: Screen) -> bool:
    words = screen.text.replace("'", " ").split()
    return not [word for word in words if word.startswith("_confluent") and "CSAS_J_" not in word]


class TestOneStore:
    @pytest.fixture
    def planned(self, own_parts: Parts, tmp_path: Path) -> Screen:
        return on_terminal("plan", "-o", "plan.json", env=own_parts.environment, cwd=tmp_path)

    def test_the_plan_fits_25_lines_with_the_one_command(self, planned: Screen, tmp_path: Path) -> None:
        assert planned.code == 0
        assert planned.height <= 25
        assert max(map(len, planned.lines)) <= 80
        assert planned.commands() == ["srfix apply plan.json"]
        assert "6 steps; srfix rollback undoes them" in planned.lines[0]
        assert planned.lines[-1].startswith("Plan written to plan.json.")
        assert planned.text.count(load_plan(tmp_path / "plan.json").digest) == 1

    def test_the_plan_says_each_thing_once(self, planned: Screen, own_parts: Parts) -> None:
        assert planned.text.count(own_parts.staged.phantom_subject) == 1
        for words in (
            "ids 1, 2",
            "steps 6: compatibility NONE, register, soft-delete at once, compatibility back",
            "- The application's next internal schema is accepted as before.",
            "Until it is done do not wipe a state directory, restart anything or TERMINATE or DROP a query.",
        ):
            assert planned.words.count(words) == 1
        told = [line for line in planned.lines if len(line) > 30]
        assert sorted(set(told)) == sorted(told)

    def test_the_details_have_every_step_and_the_playbook(self, own_parts: Parts, planned: Screen) -> None:
        whole = on_terminal("plan", "--details", env=own_parts.environment)
        for words in ("It expects to find", "register schema id 1", "Around it", "standbys", "The schemas"):
            assert words in whole.text
            assert words not in planned.text

    def test_apply_says_the_outcome_first_and_then_what_to_do(
        self, own_parts: Parts, planned: Screen, tmp_path: Path
    ) -> None:
        screen = after_the_steps(
            on_terminal("apply", "plan.json", env=own_parts.environment, cwd=tmp_path, typed="y\n")
        )
        assert (screen.code, screen.lines[0]) == (0, "Applied: 6 of 6 steps carried out")
        assert screen.height <= 15
        assert screen.commands() == ["srfix verify plan.json", "srfix rollback plan.json.journal.jsonl"]
        assert "What is up reads at once, without a restart; ksqlDB 0.13" in screen.words
        assert "- Run srfix diagnose after every new schema of topic users." in screen.lines
        again = on_terminal("apply", "plan.json", "--yes", "--details", env=own_parts.environment, cwd=tmp_path)
        assert again.lines[0] == "Applied before; nothing was written now"
        assert "standbys" in again.text
        assert "standbys" not in screen.text

    def test_verify_says_the_verdict_first(self, own_parts: Parts, planned: Screen, tmp_path: Path) -> None:
        def verified(*options: str) -> Screen:
            return on_terminal("verify", "plan.json", *options, env=own_parts.environment, cwd=tmp_path)

        missing = verified()
        assert missing.code == 1
        assert missing.lines[0] == "Not repaired: 9 problems; 2 schema ids asked for, 6 live rows read"
        assert missing.lines[-1] == "1 confirmed, 9 problems."
        assert "schema id 1 is not registered here (40403)" in missing.words
        assert "Do not wipe a state directory, restart anything or TERMINATE or DROP a query yet." in missing.words
        assert on_terminal("apply", "plan.json", "--yes", env=own_parts.environment, cwd=tmp_path).code == 0
        holds, hurried, whole = verified(), verified("--max-records", "3"), verified("--details")
        assert (holds.code, holds.lines[0]) == (0, "Verified: 2 schema ids asked for, 6 live rows read")
        assert holds.height <= 12
        assert holds.text.count(own_parts.staged.phantom_subject) == 1
        assert "- schema id 1 is registered here" in whole.lines
        assert hurried.code == 2
        assert hurried.words.startswith("Not verified, though no problem was seen: 3 things not looked at; ")
        for partition in range(3):
            assert f"- users partition {partition}: offsets " in hurried.text
        assert "Do not rely on it yet" in hurried.words
        for screen in (missing, holds, hurried):
            assert screen.height <= 25
            assert has_no_broken_name(screen)

    def test_a_rollback_names_every_step_and_the_subject_not_with_each(
        self, own_parts: Parts, planned: Screen, tmp_path: Path
    ) -> None:
        assert on_terminal("apply", "plan.json", "--yes", env=own_parts.environment, cwd=tmp_path).code == 0
        screen = on_terminal("rollback", "plan.json", env=own_parts.environment, cwd=tmp_path, typed="y\n")
        asked, _question, told = screen.text.partition("[y/N]: y\n")
        for step in range(1, 7):
            assert f"step {step}" in asked
            assert re.search(rf"^- steps? ([\d, ]+, )?{step}\b", told, re.MULTILINE)
        assert asked.count(own_parts.staged.phantom_subject) == 1
        assert told.count(own_parts.staged.phantom_subject) <= 2
        assert screen.height <= 36
        assert max(map(len, screen.lines)) <= 80
        assert screen.lines[-1] == "2 undone, 0 left as they are, 4 with nothing to undo."
        again = on_terminal("apply", "plan.json", "--yes", env=own_parts.environment, cwd=tmp_path)
        kept = "The journal of an earlier run that stood there is kept as plan.json.journal.jsonl.1."
        assert again.words.startswith(kept)


@pytest.fixture(scope="module")
def eight() -> Iterator[World]:
    with eight_stores() as world:
        yield world


class TestEightStores:
    def test_each_screen_fits_80_lines(self, eight: World, tmp_path: Path) -> None:
        def screen(*arguments: str, typed: str = "") -> Screen:
            return on_terminal(*arguments, env=eight.environment, cwd=tmp_path, typed=typed)

        before = eight.registry.dump()
        planned, missing = screen("plan", "-o", "plan.json"), screen("verify", "plan.json")
        applied = screen("apply", "plan.json", typed="y\n")
        verified, hurried = screen("verify", "plan.json"), screen("verify", "plan.json", "--max-records", "100")
        undone = screen("rollback", "plan.json", "--yes")
        assert eight.registry.dump() == before
        assert undone.code == 0

        assert (planned.code, planned.commands()) == (0, ["srfix apply plan.json"])
        assert planned.words.count("steps 10: ") == STORES
        assert [planned.text.count(phantom) for phantom in eight.phantoms] == [1] * STORES
        for sentence in ("next internal schema is accepted as before", "accepts any schema", "Soft-deleted at once"):
            assert planned.words.count(sentence) == 1
        assert (missing.code, verified.code, hurried.code) == (1, 0, 2)
        assert verified.lines[0] == "Verified: 32 schema ids asked for, 1,536 live rows read"
        for number, phantom in enumerate(eight.phantoms):
            assert f"\n{phantom}\nStep {number * 10 + 1} of 80: " in applied.text
            assert f"\n{phantom}\nStep {number * 10 + 8} undone: " in f"\n{undone.text}"
        assert undone.lines[-1] == "32 undone, 0 left as they are, 48 with nothing to undo."
        closing = after_the_steps(applied)
        assert closing.lines[0] == "Applied: 80 of 80 steps carried out"
        assert closing.height <= 25
        for shown in (planned, missing, verified, hurried):
            assert shown.height <= 80
            assert has_no_broken_name(shown)


def test_a_repair_that_stopped_says_how_far_it_came(own_parts: Parts, tmp_path: Path) -> None:
    assert on_terminal("plan", "-o", "p.json", env=own_parts.environment, cwd=tmp_path).code == 0
    body = '{"error_code": 50001, "message": "Error in the backend data store"}'
    with own_parts.registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=500, body=body))):
        stopped = on_terminal("apply", "p.json", "--yes", env=own_parts.environment, cwd=tmp_path)
    assert stopped.code == 3
    assert "Applied in part: 1 of 6 steps carried out" in stopped.lines
    assert damage.APPLICATION not in after_the_steps(stopped).text
