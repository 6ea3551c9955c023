"""A person's session: what is typed at a terminal or run without one, each screen read as it comes."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment
from tests.cli.on_terminal import Screen, on_terminal
from tests.documents import check_printed


def commands_in(text: str, name: str) -> list[str]:
    """The commands `srfix name` that a screen shows to be pasted."""
    shown = Screen(code=0, text=text, columns=80).commands()
    return [command for command in shown if command.startswith(f"srfix {name} ") or command == f"srfix {name}"]


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What came of a command that has no terminal."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Session:
    """Somebody in a directory; a check that fails shows the session up to there."""

    directory: Path
    settings: Mapping[str, str]
    """The environment, beside this process's own."""
    transcript: list[str] = field(default_factory=list)

    def types(
        self,
        command: str,
        *,
        code: int = 0,
        says: Sequence[str] = (),
        never: Sequence[str] = (),
        height: int | None = None,
        answer: str | None = None,
    ) -> Screen:
        """Runs `srfix …` at a terminal of 80 columns, as typed or pasted.

        `answer` is typed where it asks; a command without one must not ask. `height` is the most lines that it may take.
        """
        arguments = shlex.split(command.replace("\\\n", " "))
        assert arguments[0] == "srfix", command
        screen = on_terminal(*arguments[1:], env=self.settings, cwd=self.directory, typed=answer or "")
        seen = self._note(command, screen.text)
        self._read(screen.code, screen.text, seen, code=code, says=says, never=never)
        assert ("[y/N]" in screen.text) == (answer is not None), seen
        assert height is None or screen.height <= height, seen
        return screen

    def runs(
        self,
        command: str,
        *,
        code: int = 0,
        says: Sequence[str] = (),
        never: Sequence[str] = (),
        stdin: str = "",
        settings: Mapping[str, str] | None = None,
    ) -> Printed:
        """Runs a line of shell without a terminal; `settings` are used for this line instead of the session's."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env=environment({"PATH": path(), **(self.settings if settings is None else settings)}),
            cwd=self.directory,
        )
        check_printed(done.stdout)
        text = done.stdout + done.stderr
        self._read(done.returncode, text, self._note(command, text), code=code, says=says, never=never)
        return Printed(code=done.returncode, out=done.stdout, err=done.stderr)

    def _note(self, command: str, text: str) -> str:
        self.transcript.append(f"$ {command}\n{text}")
        return "\n".join(self.transcript)

    def _read(self, got: int, text: str, seen: str, *, code: int, says: Sequence[str], never: Sequence[str]) -> None:
        words = " ".join(text.split())
        assert got == code, f"exit code {got} instead of {code} of the last command in\n{seen}"
        for said in says:
            assert said in words, f"{said!r} is not on the last screen of\n{seen}"
        for unsaid in ("Traceback", *never):
            assert unsaid not in words, f"{unsaid!r} is on the last screen of\n{seen}"


def path() -> str:
    """Where a shell finds srfix and python."""
    return f"{Path(SRFIX).parent}{os.pathsep}{os.environ['PATH']}"
