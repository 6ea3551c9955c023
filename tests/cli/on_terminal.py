"""The installed command at a terminal of a given width, and how many lines of it a person sees."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.cli.forked import Forked
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment

CTRL_C: Final = "\x03"
"""Typed where it asks: the interrupt that a terminal sends to what runs in it, once that waits for the answer."""
_STYLES: Final = {
    "0": "/",
    "1": "bold",
    "2": "dim",
    "1;2": "bold dim",
    "31": "red",
    "32": "green",
    "33": "yellow",
    "1;31": "bold red",
    "1;32": "bold green",
    "1;33": "bold yellow",
    "1;34": "bold blue",
}


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What a person has seen when the command is over."""

    code: int
    text: str
    """Standard output and error in the order of their coming, without colours."""
    columns: int
    raw: str = ""
    """The same with what the terminal was told of styles and links."""

    @property
    def lines(self) -> list[str]:
        """Without the empty ones at the end."""
        return self.text.rstrip("\n").split("\n")

    @property
    def height(self) -> int:
        """Lines of the terminal, of which a longer line takes several."""
        return sum(max(1, -(-len(line) // self.columns)) for line in self.lines)

    @property
    def words(self) -> str:
        """All of it in one line, for sentences that are folded somewhere."""
        return " ".join(self.text.split())

    def commands(self) -> list[str]:
        """The commands in it, as a person marks them: from `srfix` to the end of a line that no backslash continues."""
        return [match[1] for match in re.finditer(r"(?m)^ +(srfix (?:.*\\\n)*.*)$", self.text)]


def on_terminal(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    columns: int = 80,
    typed: str = "",
    in_colours: bool = False,
) -> Screen:
    """Runs it; what is typed is typed when it asks, and echoed. In colours, styles and links stand between angle quotes."""
    terminal, other_end = pty.openpty()
    settings = {"COLUMNS": str(columns), "NO_COLOR": "" if in_colours else "1", "TERM": "xterm", **(env or {})}
    process = Forked([SRFIX, *map(str, arguments)], streams=(other_end,) * 3, env=environment(settings), cwd=cwd)
    os.close(other_end)
    shown, is_asked, patience_s = b"", False, 0.3
    while True:
        if is_asked and typed == CTRL_C and not select.select([terminal], [], [], patience_s)[0]:
            # One that comes just before the blocking read is not seen by it, and a second ends the process at once.
            os.kill(process.pid, signal.SIGINT)
            patience_s = 15.0
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux's end of file on a terminal
            break
        if not piece:
            break
        shown += piece
        if b"[y/N]: " in shown and not is_asked:
            is_asked = True
            if typed != CTRL_C:
                os.write(terminal, typed.encode())
    code = process.wait(TIMEOUT_S).code
    os.close(terminal)
    text = shown.decode().replace("\r\n", "\n")
    raw = text
    if in_colours:
        text = re.sub(r"\x1b\]8;(?:id=\d+)?;(.*?)\x1b\\", lambda link: f"‹{link[1] or '/link'}›", text)
        text = re.sub(r"\x1b\[([0-9;]*)m", lambda style: f"‹{_STYLES.get(style[1], style[1])}›", text)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return Screen(code=code, text=text, columns=columns, raw=raw)


def picture_of(screen: Screen, title: str) -> str:
    """The screen as SVG, without fonts from elsewhere."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=screen.columns, file=nowhere, force_terminal=True, color_system="standard")
        console.print(Text.from_ansi(re.sub(r"\x1b\]8;.*?\x1b\\", "", screen.raw.rstrip())))
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="screen")
    return re.sub(r"(?s)@font-face \{.*?\}\s*", "", svg)
