"""The rows of a task's part of a store as a file of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.stores.choices import ExportFormat
from srfix.recovery.stores.exporting import exporting, refuse_existing
from srfix.recovery.stores.parts import PartsEngine, SecondAnswers, new_attempt, take, unfinished_folder
from srfix.recovery.stores.row_documents import ROWS_DECODED_TOGETHER, decoded_batches, typed_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPart:
    """A file."""

    store: StateStore
    """What is in it, with the damage that was met."""
    path: str
    """Where it is."""
    rows: int
    """How many rows it has."""
    failed: int
    """How many of them could not be decoded."""
    notes: tuple[str, ...]
    """Where a second subject answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWork:
    """Writes the rows of each part to a file."""

    form: ExportFormat
    """What the files are."""
    application: str
    """Whose store it is."""
    decoder: RecordDecoder
    """What decodes the rows."""
    second: SecondAnswers
    """What the decoder's policy tells of second subjects."""
    folder: str
    """Where attempts have their folders."""
    is_typed: bool = False
    """True for keys and values as typed columns, not as JSON."""

    def __call__(self, part: StateStore) -> ExportedPart:
        """A file in a folder of its own."""
        path = new_attempt(Path(self.folder)) / file_name(part, self.form)
        rows = failed = 0
        typed = typed_columns(self.decoder) if self.is_typed else {}
        with exporting(path, self.form, application=self.application, typed=typed) as write:
            batches = part.batches(size=ROWS_DECODED_TOGETHER)
            for batch in decoded_batches(part, batches, self.decoder, topic=part.changelog, typed=typed):
                rows, failed = rows + len(batch), failed + write(batch)
        return ExportedPart(store=part, path=str(path), rows=rows, failed=failed, notes=self.second.taken())

    def places(self, part: StateStore) -> Sequence[Path]:
        """The store's directory, and where it is written."""
        return (Path(part.directory.path), Path(self.folder))


def file_name(store: StateStore, form: ExportFormat) -> str:
    """How the file of a part is called."""
    return f"{store.name}-{store.task.name}.{form.value}"


def export_on_spark(
    engine: PartsEngine,
    stores: Sequence[StateStore],
    out: Path,
    form: ExportFormat,
    *,
    application: str,
    decoder: RecordDecoder,
    second: SecondAnswers,
    is_typed: bool = False,
) -> list[ExportedPart]:
    """Writes each part to a file in a directory, `STORE-TASK.parquet` or the like. They take their names when all are
    complete.
    """
    places = [out / file_name(store, form) for store in stores]
    for place in places:
        refuse_existing(place)
    with unfinished_folder(out) as folder:
        work = ExportWork(
            form=form,
            application=application,
            decoder=decoder,
            second=second,
            folder=str(folder),
            is_typed=is_typed,
        )
        done = engine.run(work, stores, doing=f"exporting {stores[0].name}" if stores else "exporting")
        for part, place in zip(done, places, strict=True):
            refuse_existing(place)
            take(Path(part.path), place)
    return [replace(part, path=str(place)) for part, place in zip(done, places, strict=True)]
