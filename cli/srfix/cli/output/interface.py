"""What a command has to say, whatever the format: a JSON document, and the same for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, TextIO, TypeAlias

from srfix.cli.exit_codes import ExitCode
from srfix.recovery.ids_in_words import enumerated

if TYPE_CHECKING:
    from srfix.serde.schemas.models import Json


ERROR: Final = "srfix:"
"""How a line begins that says what went wrong."""


class OutputFormat(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    """Of commands that find something."""

    @property
    def is_for_programs(self) -> bool:
        """True if a program reads it, which gets its document whatever it says."""
        return self in (OutputFormat.JSON, OutputFormat.JUNIT)

    @property
    def folds(self) -> bool:
        """True if it can fold details away, so that a report which holds them all is still read at a glance."""
        return self in (OutputFormat.MARKDOWN, OutputFormat.HTML)


class Tone(Enum):
    """What a line means for who reads it: a terminal and a page have a colour for each."""

    GOOD = "good"
    """All holds, and all was looked at."""
    BAD = "bad"
    """Something must be done."""
    LATER = "later"
    """Something must be done before a restore or an upgrade."""
    UNSURE = "unsure"
    """Nothing is known to be wrong, but not everything was looked at."""
    NOTE = "note"
    """Nothing must be done."""
    PLAIN = "plain"
    """It is told, not judged."""


TONES: Final = {
    ExitCode.OK: Tone.GOOD,
    ExitCode.FINDINGS: Tone.BAD,
    ExitCode.REFUSED: Tone.UNSURE,
    ExitCode.PARTIAL: Tone.BAD,
}
"""What an exit code means for who reads the report."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str
    """One line."""
    level: int = 1
    """1 for the report's, 2 for a part's."""
    is_apart: bool = False
    """True for a part that stands beside those before it, not below the last one of the first level."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    text: str
    """Without line breaks."""
    is_warning: bool = False
    """True for what must not be done, or not be missed."""
    is_of_commands: bool = False
    """True for what must be known to run the commands before it."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list."""

    items: tuple[str, ...]
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class FieldList:
    """Names and values, one pair a line."""

    pairs: tuple[tuple[str, str], ...]
    title: str | None = None
    """One line that stands directly above them."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines to copy."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """A diff: what is written, line by line."""

    title: str
    """What is changed."""
    lines: tuple[tuple[str, str], ...]
    """Each with its mark: `+` for what is added, `~` for what is changed, `-` for what is removed."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Its cells are never shortened."""

    columns: tuple[str, ...]
    """The headings."""
    rows: tuple[tuple[str, ...], ...]
    """The cells, as many a row as there are headings."""
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts that are compared: a row of numbers for each thing counted, each number with a bar where a format draws."""

    columns: tuple[str, ...]
    """The headings: of what stands before the numbers, and of each number."""
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    """What is counted, and its numbers, one for each heading but the first."""
    title: str

    def as_table(self) -> Table:
        """The numbers without bars."""
        rows = tuple((name, *(f"{number:,}" for number in numbers)) for name, numbers in self.rows)
        return Table(self.columns, rows, title=self.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedId:
    """A schema id that records or rows carry, in a picture."""

    schema_id: int
    where: str
    """How much of it there is, and where; empty if that was not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How a store comes by schema ids, and which subject its reader asks for them."""

    topic: str | None
    """The topic that it restores from; None while that is not decided."""
    application: str
    store: str
    subject: str
    """The subject that is asked, or is at fault."""
    is_phantom: bool
    """True if the subject is named after a changelog topic that does not exist; False for the topic's own."""
    carried: tuple[CarriedId, ...]
    """The ids in the topic, ascending."""
    kept: tuple[int, ...]
    """The ids at fault that no record carries, but rows on disk may; ascending."""
    held: tuple[int, ...]
    """The ids that stand under the subject, ascending."""
    lacking: tuple[int, ...]
    """The ids at fault that do not stand there, ascending."""

    @property
    def in_words(self) -> str:
        """The same in sentences, for who does not see it."""
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
    """What most readers pass over: a format that can fold shows its title, and the blocks to who asks for them."""

    title: str
    """One line that says what is in it."""
    blocks: tuple[Block, ...]
    is_open: bool = False
    """True to show it unfolded at first."""


Block: TypeAlias = Heading | Paragraph | ItemList | FieldList | Commands | Changes | Table | Bars | Picture | Folded


def titled_list(
    title: str, items: Iterable[str], *, is_numbered: bool = False, is_apart: bool = False
) -> Iterator[Block]:
    """A list under a heading of the second level; nothing where there are no items."""
    if shown := tuple(items):
        yield Heading(title, level=2, is_apart=is_apart)
        yield ItemList(shown, is_numbered=is_numbered)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The report in a line: what stands first where the format has room for it."""

    text: str
    """One line. A first heading or paragraph that says the same is not said twice."""
    tone: Tone
    more: str | None = None
    """A sentence on how much was looked at."""

    def is_said_by(self, blocks: tuple[Block, ...]) -> bool:
        """True if the first of the blocks says the same."""
        match blocks[:1]:
            case (Heading(text) | Paragraph(text),):
                return text == self.text
            case _:
                return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report: what stands on standard output."""

    document: Mapping[str, Json]
    """For `--output json`; its key `schema` names the kind of document."""
    blocks: tuple[Block, ...]
    """For a person, in this order."""
    verdict: Verdict | None = None
    """What it comes to; None where the blocks begin with a heading that says it. With one, a page puts the commands next to
    it."""
    where: tuple[tuple[str, str | None], ...] = ()
    """What was looked at, for a title: `cluster` and `registry` as name and value, without secrets; None is left out."""

    @property
    def headline(self) -> Verdict | None:
        """What stands first: the verdict, or the heading that the blocks begin with."""
        match self.blocks[:1]:
            case (Heading(text, 1, tone=tone),) if self.verdict is None:
                return Verdict(text=text, tone=tone)
            case _:
                return self.verdict

    @property
    def rest(self) -> tuple[Block, ...]:
        """The blocks behind the headline: without the first where that says the same."""
        headline = self.headline
        return self.blocks[1:] if headline is not None and headline.is_said_by(self.blocks) else self.blocks


class Renderer(Protocol):
    """A format's module: `table`, `json`, `markdown`, `html`."""

    def render(self, report: Report, stream: TextIO) -> None:
        """Writes the report, and a line break at its end."""
        ...
