"""The pages that people read, and their fenced blocks: `tests/project/test_code_blocks.py` says what runs or checks each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
SITE: Final = ROOT / ".ci" / "docs" / "pages"
PAGES: Final = [
    README,
    *(ROOT / name for name in ("CONTRIBUTING.md", "DESIGN.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(SITE.rglob("*.md")),
]
SHELLS: Final = ("sh", "bash")
"""What a shell's block may say that it is."""

IS_NO_CODE: Final = {
    "org.apache.kafka.connect.errors.DataException": "the stack trace of the incident: see below, it is explained",
    "serde/srfix/serde/ ": "DESIGN's tree of folders",
}
"""How a block without a language begins → what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    page: Path
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def is_screen(self) -> bool:
        return not self.language and self.text.startswith("$ srfix ")

    @property
    def is_shell(self) -> bool:
        return not self.language and not self.is_screen and not self.text.startswith(tuple(IS_NO_CODE))

    def commands(self) -> list[list[str]]:
        """Its lines as words; comments are gone, and lines that go on are one."""
        lines = self.text.replace("\\\n", "").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def name_of(page: Path) -> str:
    """A page's path, as a test's name shows it."""
    return str(page.relative_to(SITE if page.is_relative_to(SITE) else ROOT))


def _fenced() -> Iterator[Fenced]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2$", text, re.DOTALL | re.MULTILINE):
            line = text.count("\n", 0, block.start()) + 1
            language = block[3].strip()
            yield Fenced(page=page, line=line, language="" if language in SHELLS else language, text=block[4])


BLOCKS: Final = list(_fenced())


def pages_with(language: str) -> Sequence[Path]:
    """The pages that have blocks of a language: those of each are one session, from top to bottom."""
    return [page for page in PAGES if code_of(page, language)]


def code_of(page: Path, language: str) -> Sequence[str]:
    """The texts of a page's blocks of a language."""
    return [block.text for block in BLOCKS if (block.page, block.language) == (page, language)]


def block_that_begins(begin: str) -> str:
    """The one block of all pages whose text begins so."""
    [text] = [block.text for block in BLOCKS if block.text.startswith(begin)]
    return text
