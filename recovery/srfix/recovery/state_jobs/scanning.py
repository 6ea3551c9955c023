"""The first rows of a task's part of a store, decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.stores.store import StateStore
from srfix.recovery.state_jobs.second_answers import SecondAnswers
from srfix.recovery.state_report.row_documents import DecodedRow, decoded_rows
from srfix.recovery.state_report.row_filter import RowFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPart:
    """What was read of a part."""

    store: StateStore
    """The part, with the damage that was met."""
    rows: tuple[DecodedRow, ...]
    """Its rows, in the order of their keys."""
    notes: tuple[str, ...]
    """Where a second subject answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanWork:
    """Reads the first rows of each part."""

    wanted: RowFilter
    """Which rows."""
    decoder: RecordDecoder
    """What decodes them."""
    second: SecondAnswers
    """What the decoder's policy tells of second subjects."""
    limit: int
    """How many rows at most, of each part."""

    def __call__(self, part: StateStore) -> ScannedPart:
        """The first rows.

        :raises LibraryMissingError: if rocksdict is not installed.
        :raises RegistryError: if the registry could not be asked.
        """
        rows = decoded_rows(part, self.wanted.rows(part), self.decoder, topic=part.changelog)
        return ScannedPart(store=part, rows=tuple(islice(rows, self.limit)), notes=self.second.taken())

    def places(self, part: StateStore) -> Sequence[Path]:
        """The store's directory."""
        return (Path(part.directory.path),)
