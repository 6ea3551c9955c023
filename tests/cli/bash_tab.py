"""An interactive bash in which somebody types and presses Tab, as on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment

_READLINE = (
    "set bell-style none",
    "set completion-query-items 0",
    "set enable-bracketed-paste off",
    "set page-completions off",
    "set show-all-if-ambiguous on",
)
_SHOW_LINE = b"\x07"
"""Ctrl-G, which is bound to print the line as it stands."""
_CLEAR_LINE = b"\x15"
_LINE = re.compile(rb"\nline<([^>]*)>")


class BashAtTerminal:
    """One bash with srfix's completion in it."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        bound = "; ".join(f"bind '{setting}'" for setting in _READLINE)
        show = """bind -x '"\\C-g": printf "\\nline<%s>\\n" "$READLINE_LINE"'"""
        self._send(
            f'{bound}; {show}; PATH="{Path(SRFIX).parent}:$PATH"; eval "$(srfix --shell-completion bash)"\n'.encode()
        )
        self._shown_line()

    def press_tab(self, typed: str) -> tuple[str, list[str]]:
        """Types, presses Tab. Returns the line that then stands there, and what was offered where that was several."""
        self._send(_CLEAR_LINE + typed.encode() + b"\t")
        line, shown = self._shown_line()
        offered = [text for text in shown.splitlines()[1:] if not text.startswith("$ ")]
        return line, " ".join(offered).split()

    def _send(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def _shown_line(self) -> tuple[str, str]:
        """The line, and what the terminal showed before it."""
        self._send(_SHOW_LINE)
        shown = b""
        deadline = time.monotonic() + TIMEOUT_S
        while (match := _LINE.search(shown)) is None:
            left = max(0.0, deadline - time.monotonic())
            assert select.select([self._terminal], [], [], left)[0], f"bash did not answer: {shown!r}"
            shown += os.read(self._terminal, 65536)
        return match[1].decode(), shown[: match.start()].decode().replace("\r\n", "\n")


@contextmanager
def bash_at_terminal(directory: Path) -> Iterator[BashAtTerminal]:
    """A bash in this directory; it ends with the block."""
    terminal, other_end = pty.openpty()
    with subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        cwd=directory,
        env=environment({"TERM": "dumb", "PS1": "$ ", "COLUMNS": "200"}),
        start_new_session=True,
    ) as process:
        os.close(other_end)
        try:
            yield BashAtTerminal(terminal)
        finally:
            process.kill()
            os.close(terminal)
