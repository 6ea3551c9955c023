"""Counts of the written rows, and notes on the unreadable parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from srfix.recovery.documents import Count, DatedDocument, Part, json_of
from srfix.recovery.errors import RowsUnreadableError
from srfix.recovery.stores.choices import OnError
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json

_MOST_LISTED: Final = 20
_SHOWN_DIGITS: Final = 80
"""How much of a key is shown: 40 bytes."""


class WrittenStore(Part):
    """A task's part of a store."""

    task: str
    store: str
    rows: Count
    """Rows; for a store that is rebuilt unchanged, the number of records that were written."""
    rewritten: Count
    """Rows whose bytes have changed."""
    kept_raw: Count
    """Rows that srfix could not rewrite."""
    late: Count
    """Records older than the retention."""


class ReadRange(Part):
    """The range that was read of a partition."""

    partition: Count
    start_offset: Count
    """Inclusive."""
    end_offset: Count
    """Exclusive."""


class Unreadable(Part):
    """A row that srfix could not rewrite."""

    task: str
    store: str
    key: str
    """In hexadecimal."""
    problem: str

    def __str__(self) -> str:
        shown = self.key[:_SHOWN_DIGITS] + ("…" if len(self.key) > _SHOWN_DIGITS else "")
        return f"task {self.task}, store {self.store}, key {shown}: {self.problem}"


@dataclass(slots=True, kw_only=True)
class Tally:
    stores: list[WrittenStore] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    unreadable_rows: int = 0
    notes: list[str] = field(default_factory=list)

    def store(self, task: str, store: str) -> WrittenStore:
        self.stores.append(WrittenStore(task=task, store=store, rows=0, rewritten=0, kept_raw=0, late=0))
        return self.stores[-1]

    def note_unreadable(self, row: Unreadable) -> None:
        self.unreadable_rows += 1
        if len(self.unreadable) < _MOST_LISTED:
            self.unreadable.append(row)

    def add(self, other: Tally) -> None:
        self.stores += other.stores
        self.unreadable = [*self.unreadable, *other.unreadable][:_MOST_LISTED]
        self.unreadable_rows += other.unreadable_rows
        self.notes += other.notes

    def as_json(self) -> dict[str, Json]:
        return {
            "stores": json_of(self.stores),
            "unreadable_rows": self.unreadable_rows,
            "unreadable": json_of(self.unreadable),
            "notes": list(self.notes),
        }

    def refuse_unreadable(self, on_error: OnError) -> None:
        if self.unreadable_rows and on_error is OnError.FAIL:
            raise RowsUnreadableError(
                f"srfix cannot rewrite {counted(self.unreadable_rows, 'row')}, so it completed no directory: "
                + "; ".join(str(row).rstrip(".") for row in self.unreadable)
                + (" …" if self.unreadable_rows > len(self.unreadable) else "")
                + ". Register any missing schemas, or keep the bytes of these rows with --on-error keep-raw."
            )


class StateWritten(DatedDocument, tag="srfix.state-written/1"):
    """A state directory that was written: `srfix state rebuild`, `srfix state migrate`."""

    command: Literal["rebuild", "migrate"]
    directory: str
    """The application's new folder."""
    streams_version: str
    """The version of Kafka Streams that opens it."""
    stores: list[WrittenStore]
    ranges: list[ReadRange] | None
    """The ranges that were read of the topic; null for a migration."""
    unreadable_rows: Count
    unreadable: list[Unreadable]
    """The first unreadable rows."""
    notes: list[str]
