"""RocksDB's OPTIONS files, and what in them is known to hurt a store of Kafka Streams.

An INI file: `[Version]` with `rocksdb_version`, `[DBOptions]`, then for each column family `[CFOptions "name"]` and
`[TableOptions/BlockBasedTable "name"]`. RocksDB writes a new one, `OPTIONS-<number>`, whenever it opens the database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srfix.recovery.state.offsets_column_family import OFFSETS_COLUMN_FAMILY
from srfix.serde import bounds
from srfix.serde.files import read_file

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RocksDBOptions:
    """What an OPTIONS file says."""

    rocksdb_version: str | None
    """The RocksDB that wrote it, `5.18.4`; None if it does not say."""
    database: Mapping[str, str]
    """The options of the whole database, by RocksDB's names."""
    families: Mapping[str, Mapping[str, str]]
    """Per column family its options, those of its tables under `table.…`."""

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
        """True if the LOG tells of errors alone, as Streams sets it: of no stall, and no tombstone."""
        return self.database.get("info_log_level") in ("ERROR_LEVEL", "FATAL_LEVEL")

    def _of_rows(self, name: str, words: Mapping[str, str]) -> tuple[str, ...]:
        found = {of[name] for family, of in self.families.items() if family != OFFSETS_COLUMN_FAMILY and name in of}
        return tuple(sorted(words.get(value, value) for value in found))


def parse_options(text: str) -> RocksDBOptions:
    """What is in the text of an OPTIONS file. A line that is none of its form is passed over."""
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
    """What the newest OPTIONS file of a database says; None if there is none that can be read."""
    try:
        numbered = {int(found[1]): path for path in database.iterdir() if (found := _FILE.fullmatch(path.name))}
        if not numbered:
            return None
        content = read_file(numbered[max(numbered)], most_bytes=bounds.MOST_SETTINGS_BYTES)
    except (OSError, ValueError):
        return None
    return parse_options(content.decode("utf-8", "replace"))


def options_that_hurt(options: RocksDBOptions) -> tuple[str, ...]:
    """What is known to cost much, in sentences; none for what Streams itself sets.

    Streams sets no compression, universal compaction, three memtables of 16 MiB, a WAL that is never written, and a LOG of
    errors alone (2.6.3 to 4.3.1); a RocksDBConfigSetter may change all of it.
    """
    said: list[str] = []
    for family, of in sorted(options.families.items()):
        where = f"Column family {family}: "
        if of.get("disable_auto_compactions") == "true":
            said.append(where + "compaction is switched off (disable_auto_compactions): files and tombstones pile up.")
        if of.get("compaction_style") == "kCompactionStyleNone":
            said.append(where + "there is no compaction (kCompactionStyleNone): files and tombstones pile up.")
        if of.get("compaction_style") == "kCompactionStyleFIFO":
            said.append(
                where + "compaction is FIFO: it deletes the oldest files, rows that are still valid among them."
            )
        if of.get("table.no_block_cache") == "true":
            said.append(where + "there is no block cache: each look-up reads from disk.")
        buffer, buffers = _number(of, "write_buffer_size"), _number(of, "max_write_buffer_number")
        if buffer is not None and buffer < 1 << 20:
            said.append(
                where + f"memtables have {buffer:,} bytes: they are flushed all the time, into many small files."
            )
        if buffers == 1:
            said.append(where + "there is one memtable: writes stall while it is flushed.")
    if options.database.get("max_open_files", "-1") not in ("-1", "") and (
        (_number(options.database, "max_open_files") or 0) < 100
    ):
        said.append(f"max_open_files is {options.database['max_open_files']}: files are opened again and again.")
    return tuple(said)


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name, "")
    return int(text) if re.fullmatch(r"-?\d{1,19}", text) else None
