"""What a command has to say, whatever the format: a JSON document, and the same for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TextIO, TypeAlias

if TYPE_CHECKING:
    from srfix.serde.registry import Json


class OutputFormat(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str
    """One line."""
    level: int = 1
    """1 for the report's, 2 for a part's."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences."""

    text: str
    """Without line breaks."""


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
class Table:
    """A table. Its cells are never shortened."""

    columns: tuple[str, ...]
    """The headings."""
    rows: tuple[tuple[str, ...], ...]
    """The cells, as many a row as there are headings."""
    title: str | None = None


Block: TypeAlias = Heading | Paragraph | ItemList | FieldList | Commands | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report: what stands on standard output."""

    document: Mapping[str, Json]
    """For `--output json`; its key `schema` names the kind of document."""
    blocks: tuple[Block, ...]
    """For a person, in this order."""


class Renderer(Protocol):
    """A format's module: `table`, `json`, `markdown`."""

    def render(self, report: Report, stream: TextIO) -> None:
        """Writes the report, and a line break at its end."""
        ...
