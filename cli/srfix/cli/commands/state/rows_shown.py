"""How rows of stores are written: a document a line, or one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from srfix.cli.output import Block, Heading, ItemList, OutputFormat, Paragraph, Report, Table, show_json, write_report
from srfix.recovery.facts import DecodedPart, iso_time
from srfix.recovery.state_report import DecodedRow, row_document
from srfix.serde.json_values import to_json
from srfix.serde.printable import is_printable


def write_rows(rows: Iterable[DecodedRow], output: OutputFormat, *, application: str) -> tuple[int, int]:
    """Writes the rows; how many there were, and how many could not be decoded."""
    if output is OutputFormat.JSON:
        read = failed = 0
        for row in rows:
            # A line at a time: what was read before an outage is not lost.
            show_json(json.dumps(row_document(row, application=application), allow_nan=False))
            read, failed = read + 1, failed + row.record.failed
        sys.stdout.flush()
        return read, failed
    kept = list(rows)
    write_report(Report(document={}, blocks=tuple(_blocks(kept))), output)
    return len(kept), sum(row.record.failed for row in kept)


def _blocks(rows: list[DecodedRow]) -> Iterable[Block]:
    if not rows:
        yield Paragraph("No row lies there.")
        return
    has_windows = any(row.row.window is not None for row in rows)
    has_versions = any(row.row.valid_from_ms is not None for row in rows)
    columns = (
        "task",
        *(("window",) if has_windows else ()),
        *(("valid",) if has_versions else ()),
        "time",
        "key",
        "value",
    )
    yield Table(columns, tuple(_cells(row, has_windows=has_windows, has_versions=has_versions) for row in rows))
    problems = {
        f"{row.store.task.name}: {part.error.message}"
        for row in rows
        for part in (row.record.key, row.record.value)
        if part.error is not None
    }
    if problems:
        yield Heading("Not decoded", level=2)
        yield ItemList(tuple(sorted(problems)))


def _cells(found: DecodedRow, *, has_windows: bool, has_versions: bool) -> tuple[str, ...]:
    row = found.row
    window = () if not has_windows else ("-" if row.window is None else _span(row.window.start_ms, row.window.end_ms),)
    valid = () if not has_versions else (_span(row.valid_from_ms, row.valid_to_ms),)
    return (
        found.store.task.name,
        *window,
        *valid,
        _time(row.timestamp_ms),
        _shown(found.record.key),
        _shown(found.record.value),
    )


def _span(start_ms: int | None, end_ms: int | None) -> str:
    return _time(start_ms) if end_ms is None else f"{_time(start_ms)} to {_time(end_ms)}"


def _time(time_ms: int | None) -> str:
    return "-" if time_ms is None else iso_time(time_ms) or str(time_ms)


def _shown(part: DecodedPart) -> str:
    if part.error is not None:
        return f"({type(part.error).__name__})"
    if part.payload is None:
        return "null"
    if part.is_decoded:
        return json.dumps(to_json(part.value), ensure_ascii=False)
    try:
        text = part.payload.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    return text if text is not None and is_printable(text) else f"0x{part.payload.hex()}"
