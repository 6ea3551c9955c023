"""A command's report, independent of the format: a JSON document, and the same content as blocks for a person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TextIO, TypeAlias, TypeVar

from srfix.cli.exit_codes import ExitCode
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import printable

if TYPE_CHECKING:
    from srfix.serde.schemas.models import Json


ERROR: Final = "srfix:"


class OutputFormat(Enum):
    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    """Only for commands that report findings."""

    @property
    def is_for_programs(self) -> bool:
        """True if a program reads the format. It gets its document whatever the report says."""
        return self in (OutputFormat.JSON, OutputFormat.JUNIT)

    @property
    def folds(self) -> bool:
        """True if the format can fold details away, so that a report with all details is still easy to read."""
        return self in (OutputFormat.MARKDOWN, OutputFormat.HTML)


class Tone(Enum):
    """The meaning of a line for its reader. A terminal and a page show each tone in its own colour."""

    GOOD = "good"
    BAD = "bad"
    LATER = "later"
    """Something must be done before a restore or an upgrade."""
    UNSURE = "unsure"
    """Nothing is known to be wrong, but not everything was looked at."""
    NOTE = "note"
    PLAIN = "plain"
    """Plain information without a judgement."""


TONES: Final = {
    ExitCode.OK: Tone.GOOD,
    ExitCode.FINDINGS: Tone.BAD,
    ExitCode.REFUSED: Tone.UNSURE,
    ExitCode.PARTIAL: Tone.BAD,
}
"""The tone of a report, by the command's exit code."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str
    level: int = 1
    """1 for a report's heading, 2 for a part's heading."""
    is_apart: bool = False
    """True for a part beside the previous parts, not below the last first-level heading."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    is_warning: bool = False
    """True for a warning: what the reader must not do, or must not miss."""
    is_of_commands: bool = False
    """True if the reader needs it to run the commands before it."""


@dataclass(frozen=True, slots=True)
class ItemList:
    items: tuple[str, ...]
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class FieldList:
    """Names and values, one pair on each line."""

    pairs: tuple[tuple[str, str], ...]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines to copy."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """A diff of a repair's writes, line by line."""

    title: str
    lines: tuple[tuple[str, str], ...]
    """Each with its mark: `+` for what is added, `~` for what is changed, `-` for what is removed."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Its cells are never shortened."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str | None = None


_Row = TypeVar("_Row")


def table_of(
    things: Iterable[_Row], columns: Mapping[str, Callable[[_Row], object]], *, title: str | None = None
) -> Table:
    """A table with a row for each thing, and for each heading what gives its cells; None is shown as a dash."""
    cells = ([cell(thing) for cell in columns.values()] for thing in things)
    rows = tuple(tuple("-" if cell is None else str(cell) for cell in row) for row in cells)
    return Table(tuple(columns), rows, title=title)


_Key = TypeVar("_Key")


def grouped(things: Iterable[_Row], key: Callable[[_Row], _Key]) -> dict[_Key, list[_Row]]:
    """The things by their keys, in the order of each key's first thing."""
    groups: dict[_Key, list[_Row]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts to compare: a row of numbers for each counted thing. A format that can draw shows each with a bar."""

    columns: tuple[str, ...]
    """The headings: one for the counted things, and one for each number."""
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    """Each counted thing, and its numbers: one for each heading except the first."""
    title: str

    def as_table(self) -> Table:
        rows = tuple((name, *(f"{number:,}" for number in numbers)) for name, numbers in self.rows)
        return Table(self.columns, rows, title=self.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedId:
    schema_id: int
    where: str
    """The amount and the place; empty if srfix did not count it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Where the schema ids of a store come from, and which subject its reader asks for them."""

    topic: str | None
    """The topic that it restores from; None if that is not decided."""
    application: str
    store: str
    subject: str
    """The subject that the reader asks, or that lacks ids."""
    is_phantom: bool
    """True if the subject is named after a changelog topic that does not exist; False for the topic's own subject."""
    carried: tuple[CarriedId, ...]
    """The ids in the topic, ascending."""
    kept: tuple[int, ...]
    """The missing ids that no record carries but rows on disk may carry, ascending."""
    held: tuple[int, ...]
    lacking: tuple[int, ...]

    @property
    def in_words(self) -> str:
        """The picture in sentences, for readers who cannot see it."""
        topic = "a topic that is not decided" if self.topic is None else f"topic {self.topic}"
        ids = enumerated(
            f"{carried_id.schema_id} ({carried_id.where})" if carried_id.where else carried_id.schema_id
            for carried_id in self.carried
        )
        carry = f", whose records carry {_named(len(self.carried))} {ids}" if ids else ""
        disk = f" Rows on disk may carry {_named(len(self.kept))} {enumerated(self.kept)}." if self.kept else ""
        holdings = f"{_named(len(self.held))} {enumerated(self.held)}" if self.held else "nothing"
        lacks = f" and lacks {enumerated(self.lacking)}" if self.lacking else ""
        return (
            f"Store {self.store} of application {self.application} restores from {topic}{carry}.{disk} Its reader asks "
            f"{'the phantom subject' if self.is_phantom else 'subject'} {self.subject}, which holds {holdings}{lacks}."
        )


def _named(count: int) -> str:
    return "schema id" if count == 1 else "schema ids"


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that most readers skip. A format that can fold shows the title, and shows the blocks on request."""

    title: str
    blocks: tuple[Block, ...]
    is_open: bool = False


Block: TypeAlias = Heading | Paragraph | ItemList | FieldList | Commands | Changes | Table | Bars | Picture | Folded


def titled_list(
    title: str, items: Iterable[str], *, is_numbered: bool = False, is_apart: bool = False
) -> Iterator[Block]:
    """A list under a heading of the second level; nothing if there are no items."""
    if shown := tuple(items):
        yield Heading(title, level=2, is_apart=is_apart)
        yield ItemList(shown, is_numbered=is_numbered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The report in one line. It stands first if the format has room for it."""

    text: str
    """One line. If the first heading or paragraph says the same, a format shows it only once."""
    tone: Tone
    more: str | None = None
    """A sentence about how much was looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    document: Mapping[str, Json]
    """The document for `--output json`. Its key `schema` names the kind of document."""
    blocks: tuple[Block, ...]
    verdict: Verdict | None = None
    """The result; None if the blocks begin with it as a heading. With one, a page puts the commands next to it."""
    where: tuple[tuple[str, str | None], ...] = ()
    """For a title: `cluster` and `registry`, as name and value without secrets. A value of None is left out."""

    @property
    def headline(self) -> Verdict | None:
        """The first line: the verdict, or the heading that the blocks begin with."""
        match self.blocks[:1]:
            case (Heading(text, 1, tone=tone),) if self.verdict is None:
                return Verdict(text=text, tone=tone)
            case _:
                return self.verdict

    @property
    def rest(self) -> tuple[Block, ...]:
        """The blocks after the headline. If the first block says the same as the headline, it is left out."""
        match self.headline, self.blocks[:1]:
            case Verdict(text=said), (Heading(text) | Paragraph(text),) if text == said:
                return self.blocks[1:]
            case _:
                return self.blocks


class Renderer(Protocol):
    """A format's module: `table`, `json`, `markdown`, `html`."""

    def render(self, report: Report, stream: TextIO) -> None:
        """Writes the report, and a line break at its end."""
        ...


_NAMES: Final = frozenset({"subject", "topic", "application", "store", "registry", "journal"})
_WHOLE: Final = r"""(?<![^\s("'/])(?:{})(?=[.,;:!?)"']*(?:[\s/]|$))"""
"""A name that is not part of a longer word."""
_MOST_NAMES: Final = 2_000


def names_of(document: Mapping[str, Json]) -> re.Pattern[str] | None:
    """A pattern that finds each name of the document in a printable text, the longest first; None if it has no names."""
    names = sorted(dict.fromkeys(_names(document)), key=len, reverse=True)[:_MOST_NAMES]
    return re.compile(_WHOLE.format("|".join(map(re.escape, names)))) if names else None


def _names(value: Json | Mapping[str, Json]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _NAMES and isinstance(item, str):
                if item.strip():
                    yield printable(item).replace("\n", " ")
            else:
                yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
