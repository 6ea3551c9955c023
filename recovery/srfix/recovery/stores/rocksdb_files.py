"""RocksDB's OPTIONS and LOG files, and entries in them that are known to hurt a store of Kafka Streams.

OPTIONS is an INI file: `[Version]` with `rocksdb_version`, `[DBOptions]`, then for each column family `[CFOptions "name"]` and
`[TableOptions/BlockBasedTable "name"]`. RocksDB writes a new one, `OPTIONS-<number>`, whenever it opens the database.

Lines of a LOG begin with a time and a thread; after these, srfix looks for stalled writes, too many files on level 0,
errors and tombstones. A stall is `Stalling writes because we have 20 level-0 files …` or `Stopping writes because we
have 2 immutable memtables …`; a line about a table has `EVENT_LOG_v1` and a JSON object with `event`
(`table_file_creation`),
`file_number`, and `table_properties` with `num_entries` and `num_deletions`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY
from srfix.serde import bounds
from srfix.serde.files import read_file
from srfix.serde.printable import counted

_FILE: Final = re.compile(r"OPTIONS-(\d+)")
_SECTION: Final = re.compile(r'\[(?P<kind>[A-Za-z/]+)(?: "(?P<family>.*)")?\]')

_COMPRESSIONS: Final = {
    "kNoCompression": "none",
    "kSnappyCompression": "snappy",
    "kZlibCompression": "zlib",
    "kBZip2Compression": "bzip2",
    "kLZ4Compression": "lz4",
    "kLZ4HCCompression": "lz4hc",
    "kXpressCompression": "xpress",
    "kZSTD": "zstd",
}
_COMPACTIONS: Final = {
    "kCompactionStyleLevel": "level",
    "kCompactionStyleUniversal": "universal",
    "kCompactionStyleFIFO": "fifo",
    "kCompactionStyleNone": "none",
}
_STALL: Final = re.compile(
    r"(?P<how>Stalling|Stopping) writes because (?:we have \d+ )?(?P<why>[^(,]{1,80}?)(?: rate \d+.*)?(?:$|[(,])"
)
_HOW: Final = {"Stalling": "stalling", "Stopping": "stopping"}
_LEVEL_0: Final = re.compile(r"we have (\d{1,9}) level-0 files")
_ERROR: Final = re.compile(r"\[ERROR\]|Corruption:|IO error:")
_THAT_HURT: Final = {
    ("disable_auto_compactions", "true"): "compaction is switched off (disable_auto_compactions): files and tombstones "
    "pile up.",
    ("compaction_style", "kCompactionStyleNone"): "there is no compaction (kCompactionStyleNone): files and tombstones "
    "pile up.",
    ("compaction_style", "kCompactionStyleFIFO"): "compaction is FIFO: it deletes the oldest files, even if they hold "
    "rows that are still valid.",
    ("table.no_block_cache", "true"): "there is no block cache: each look-up reads from disk.",
}
_EVENT: Final = "EVENT_LOG_v1 "
_MOST_BYTES: Final = 64 << 20
"""How much of each LOG file is read, from its start; Streams' own files are much smaller."""
_MOST_ERRORS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RocksDBOptions:
    rocksdb_version: str | None
    database: Mapping[str, str]
    families: Mapping[str, Mapping[str, str]]
    """The options of each column family; those of its tables are under `table.…`."""

    @property
    def compressions(self) -> tuple[str, ...]:
        """How the column families of rows are compressed, sorted: `none`, `lz4`, `snappy`, `zstd`, …"""
        return self._of_rows("compression", _COMPRESSIONS)

    @property
    def compactions(self) -> tuple[str, ...]:
        """How they are compacted, sorted: `universal`, `level`, `fifo`, `none`."""
        return self._of_rows("compaction_style", _COMPACTIONS)

    @property
    def logs_errors_alone(self) -> bool:
        """True if the LOG has only errors, no stalls and no tombstones; Streams sets it so."""
        return self.database.get("info_log_level") in ("ERROR_LEVEL", "FATAL_LEVEL")

    def _of_rows(self, name: str, words: Mapping[str, str]) -> tuple[str, ...]:
        values = {of[name] for family, of in self.families.items() if family != OFFSETS_COLUMN_FAMILY and name in of}
        return tuple(sorted(words.get(value, value) for value in values))


def parse_options(text: str) -> RocksDBOptions:
    version: str | None = None
    database: dict[str, str] = {}
    families: dict[str, dict[str, str]] = {}
    kind, family = "", ""
    for raw in text.splitlines():
        line = raw.strip()
        if section := _SECTION.fullmatch(line):
            kind, family = section["kind"], section["family"] or ""
            continue
        name, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        match kind:
            case "Version" if name == "rocksdb_version":
                version = value
            case "DBOptions":
                database[name] = value
            case "CFOptions":
                families.setdefault(family, {})[name] = value
            case _ if kind.startswith("TableOptions"):
                families.setdefault(family, {})[f"table.{name}"] = value
    return RocksDBOptions(rocksdb_version=version, database=database, families=families)


def newest_options(database: Path) -> RocksDBOptions | None:
    try:
        numbered = {int(match[1]): path for path in database.iterdir() if (match := _FILE.fullmatch(path.name))}
        if not numbered:
            return None
        content = read_file(numbered[max(numbered)], most_bytes=bounds.MOST_SETTINGS_BYTES)
    except (OSError, ValueError):
        return None
    return parse_options(content.decode("utf-8", "replace"))


def options_that_hurt(options: RocksDBOptions) -> tuple[str, ...]:
    """Sentences about options that are known to be expensive; none for Streams' own settings (2.6.3 to 4.3.1)."""
    sentences: list[str] = []
    for family, of in sorted(options.families.items()):
        where = f"Column family {family}: "
        sentences += (where + what for (name, value), what in _THAT_HURT.items() if of.get(name) == value)
        buffer, buffers = _number(of, "write_buffer_size"), _number(of, "max_write_buffer_number")
        if buffer is not None and buffer < 1 << 20:
            sentences.append(
                where
                + f"memtables have {counted(buffer, 'byte')}: RocksDB flushes them all the time, into many small files."
            )
        if buffers == 1:
            sentences.append(where + "there is one memtable: writes stall while RocksDB flushes it.")
    if options.database.get("max_open_files", "-1") not in ("-1", "") and (
        (_number(options.database, "max_open_files") or 0) < 100
    ):
        sentences.append(
            f"max_open_files is {options.database['max_open_files']}: RocksDB opens files again and again."
        )
    return tuple(sentences)


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name, "")
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RocksDBLog:
    stalls: Mapping[str, int]
    """The reason why writes were slowed or stopped → how often."""
    most_level_0_files: int
    errors: tuple[str, ...]
    tombstones: Mapping[int, tuple[int, int]]
    """For each table's number, its entries, and how many of them are tombstones."""


def parse_log(lines: Iterable[str]) -> RocksDBLog:
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
        properties = event["table_properties"]
        number, entries, deletions = event["file_number"], properties["num_entries"], properties["num_deletions"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if not all(isinstance(count, int) and count >= 0 for count in (number, entries, deletions)):
        return {}
    return {number: (entries, deletions)}


def read_logs(database: Path) -> RocksDBLog | None:
    """The events in the LOG files of a database, old ones (`LOG.old.…`) too; None if no such file can be read."""
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
    """Sentences about events that are known to be expensive. Only tombstones in the database's present tables count."""
    sentences = [f"Writes were held up {counted(count, 'time')} ({why})." for why, count in sorted(log.stalls.items())]
    if log.most_level_0_files:
        sentences.append(f"There were {log.most_level_0_files:,} files on level 0: compaction does not keep up.")
    present = [log.tombstones[number] for number in tables if number in log.tombstones]
    entries, deletions = sum(counts[0] for counts in present), sum(counts[1] for counts in present)
    if deletions * 2 > entries:
        sentences.append(
            f"{deletions:,} of {entries:,} entries in its tables are tombstones: iterators and range queries must skip "
            "all of them."
        )
    sentences.extend(f"RocksDB logged: {error}" for error in log.errors)
    return tuple(sentences)
