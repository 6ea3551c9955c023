"""RocksDB's LOG files, and what in them is known to hurt: stalled writes, too many files on level 0, errors, tombstones.

Lines begin with a time and a thread; what is looked for stands behind. A stall is `Stalling writes because we have 20 level-0
files …` or `Stopping writes because we have 2 immutable memtables …`; tables are told of by `EVENT_LOG_v1` and a JSON object
with `event` (`table_file_creation`), `file_number`, and `table_properties` with `num_entries` and `num_deletions`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_STALL: Final = re.compile(
    r"(?P<how>Stalling|Stopping) writes because (?:we have \d+ )?(?P<why>[^(,]{1,80}?)(?: rate \d+.*)?(?:$|[(,])"
)
_HOW: Final = {"Stalling": "stalling", "Stopping": "stopping"}
_LEVEL_0: Final = re.compile(r"we have (\d{1,9}) level-0 files")
_ERROR: Final = re.compile(r"\[ERROR\]|Corruption:|IO error:")
_EVENT: Final = "EVENT_LOG_v1 "
_MOST_BYTES: Final = 64 << 20
"""Of each LOG file, from its start; Streams' own stay far below."""
_MOST_ERRORS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RocksDBLog:
    """What LOG files say."""

    stalls: Mapping[str, int]
    """Why writes were slowed or stopped → how often."""
    most_level_0_files: int
    """The most files on level 0 that a stall names; 0 if none does."""
    errors: tuple[str, ...]
    """The first lines that tell of an error."""
    tombstones: Mapping[int, tuple[int, int]]
    """Per number of a table its entries, and how many of those are tombstones."""


def parse_log(lines: Iterable[str]) -> RocksDBLog:
    """What the lines of a LOG file say. A line that is none of these forms is passed over."""
    stalls: Counter[str] = Counter()
    errors: list[str] = []
    tombstones: dict[int, tuple[int, int]] = {}
    level_0 = 0
    for line in lines:
        if stall := _STALL.search(line):
            stalls[f"{_HOW[stall['how']]}: {stall['why'].strip()}"] += 1
            if files := _LEVEL_0.search(line):
                level_0 = max(level_0, int(files[1]))
        elif _EVENT in line:
            tombstones.update(_table(line))
        elif _ERROR.search(line) and len(errors) < _MOST_ERRORS:
            errors.append(line.strip()[:300])
    return RocksDBLog(stalls=dict(stalls), most_level_0_files=level_0, errors=tuple(errors), tombstones=tombstones)


def _table(line: str) -> dict[int, tuple[int, int]]:
    try:
        event: Any = json.loads(line[line.index(_EVENT) + len(_EVENT) :])
        if event["event"] != "table_file_creation":
            return {}
        told = event["table_properties"]
        number, entries, deletions = event["file_number"], told["num_entries"], told["num_deletions"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not all(isinstance(each, int) and each >= 0 for each in (number, entries, deletions)):
        return {}
    return {number: (entries, deletions)}


def read_logs(database: Path) -> RocksDBLog | None:
    """What the LOG files of a database say, old ones (`LOG.old.…`) too; None if there are none that can be read."""
    try:
        files = sorted(path for path in database.iterdir() if path.name == "LOG" or path.name.startswith("LOG.old."))
    except OSError:
        return None
    lines = [line for path in files for line in _lines(path)]
    return parse_log(lines) if files else None


def _lines(path: Path) -> Iterator[str]:
    try:
        if not path.is_file():
            return
        with path.open("rb") as file:
            left = _MOST_BYTES
            for line in file:
                left -= len(line)
                if left < 0:
                    return
                yield line.decode("utf-8", "replace")
    except OSError:
        return


def log_that_hurts(log: RocksDBLog, tables: Iterable[int]) -> tuple[str, ...]:
    """What is known to cost much, in sentences.

    :param tables: the numbers of the tables that the database has now; the tombstones of those alone count.
    """
    said = [f"Writes were held up {count:,} times ({why})." for why, count in sorted(log.stalls.items())]
    if log.most_level_0_files:
        said.append(f"There were {log.most_level_0_files:,} files on level 0: compaction does not keep up.")
    present = [log.tombstones[number] for number in tables if number in log.tombstones]
    entries, deletions = sum(each[0] for each in present), sum(each[1] for each in present)
    if deletions * 2 > entries:
        said.append(
            f"{deletions:,} of {entries:,} entries in its tables are tombstones: iterating and ranges walk over them all."
        )
    said.extend(f"RocksDB logged: {error}" for error in log.errors)
    return tuple(said)
