"""At 3 a.m., with a node that cannot read its store: README's stack trace, then what each screen says to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kept_demo import kept_demo
from tests.cli.on_terminal import CTRL_C, Screen
from tests.cli.sessions.session import Session, commands_in
from tests.pages import block_that_begins

TRACE = "org.apache.kafka.connect.errors.DataException"


def the_command(screen: Screen, name: str) -> str:
    """The one command of that name that the screen says to run."""
    [command] = set(commands_in(screen.text, name))
    return command


@pytest.mark.slow
def test_from_the_stack_trace_to_the_repair_and_back(tmp_path: Path) -> None:
    with kept_demo(tmp_path) as demo:
        session = Session(directory=tmp_path, settings=demo.environment)
        phantom, store = demo.ready["phantom_subject"], f"{demo.ready['application']} / {demo.ready['store']}"
        damaged = demo.dump()

        explained = session.runs("srfix explain -", stdin=block_that_begins(TRACE), says=("SRF001", "40403", phantom))
        [diagnose] = commands_in(explained.out, "diagnose")
        found = session.types(diagnose, code=1, says=(f"SRF001, broken: {store}", phantom, "1 finding"), height=25)
        assert "do not wipe a state directory" in found.words

        planned = session.types(the_command(found, "plan"), says=("6 steps", phantom))
        assert demo.dump() == damaged
        apply = the_command(planned, "apply")
        asked = session.types(
            apply, answer="n\n", code=130, says=(phantom, "register id 2", "6 steps", "Nothing was written."), height=15
        )
        assert "srfix rollback" in asked.text, "the prompt names the undo"
        session.types(apply, answer=CTRL_C, code=130, says=("Nothing was written.",), height=15)
        session.runs(apply, code=2, says=("--yes",))
        assert demo.dump() == damaged

        applied = session.types(apply, answer="y\n", says=("Step 6 of 6",))
        repaired = demo.dump()
        assert repaired != damaged
        session.types(
            the_command(applied, "verify"), says=(phantom,), never=("problem with", "not looked at"), height=25
        )
        session.types(diagnose, says=("Nothing is broken now", "SRF003"), never=("SRF001",), height=25)

        rollback = the_command(applied, "rollback")
        session.types(rollback, answer="n\n", code=130, says=(phantom, "Nothing was written."), height=25)
        session.types(rollback, answer=CTRL_C, code=130, says=("Nothing was written.",), height=25)
        session.runs(rollback, code=2, says=("--yes", "Nothing was written."))
        assert demo.dump() == repaired
        session.types(rollback, answer="y\n", says=("register schema id 1", "register schema id 2"))
        assert demo.dump() == damaged
        session.types(diagnose, code=1, says=(f"SRF001, broken: {store}",), height=25)


def test_an_interrupt_at_the_question_leaves_the_line_of_the_question(tmp_path: Path) -> None:
    with kept_demo(tmp_path) as demo:
        session = Session(directory=tmp_path, settings=demo.environment)
        session.runs("srfix plan -o plan.json")
        screen = session.types("srfix apply plan.json", answer=CTRL_C, code=130)
    assert screen.lines[-2].endswith("[y/N]: ")
    assert screen.lines[-1] == "Nothing was written."
