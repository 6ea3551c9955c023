"""`srfix state size`: shows the size of stores, the ages of their rows, and the schema ids in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, not_read, read_so_far
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import config_option
from srfix.cli.options.options import output_option, quiet_option
from srfix.cli.output.interface import Bars, Block, OutputFormat, Report, Table, table_of, titled_list
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.state.reading.store import StateStore
    from srfix.recovery.stores.sizes import IdCount, SizedStore


@command()
@directory_argument
@choice_options
@config_option
@quiet_option
@output_option
def size(directory: str, choice: StoreChoice, quiet: bool, output: OutputFormat) -> ExitCode:
    """Count the entries, bytes, ages and schema ids in the stores of DIR, by store and partition. Writes nothing.

    srfix reads all rows. In RocksDB's OPTIONS and LOG it looks for known problems: stalled writes, level 0, tombstones, and
    compaction that is switched off. By default Kafka Streams writes only errors to the LOG; a RocksDBConfigSetter can change
    this. Exit code 1 if a store is damaged.
    """
    from srfix.recovery.stores.sizes import StateSize, size_of

    now_ms = int(datetime.fromisoformat(now()).timestamp()) * 1_000
    parts = list(choice.stores(directory))
    pairs = [
        (store, size_of(store, application=application.application, now_ms=now_ms)) for application, store in parts
    ]
    document = StateSize(
        srfix=version("srfix"),
        generated_at=now(),
        directory=directory,
        stores=[size for _store, size in pairs],
    )
    unread = not_read(parts, applications=choice.applications(directory))
    code = unread.code()
    report = Report(document=document.to_json(), blocks=tuple(_blocks(pairs)))
    entries = sum(sized_store.entries for _store, sized_store in pairs)
    lines = (
        *unread.lines,
        f"{counted(entries, 'row')} in {counted(len(pairs), 'part')} of stores (a part is a store's rows in one task).",
    )
    return conclude(report, output, quiet=quiet, code=code, lines=lines)


def _blocks(pairs: Sequence[tuple[StateStore, SizedStore]]) -> Iterator[Block]:
    from srfix.cli.reports.rows import time_of

    def if_read(store: StateStore, sized_store: SizedStore, text: str) -> str:
        return "-" if store.is_shut and not sized_store.entries else text

    yield table_of(
        pairs,
        {
            "task": lambda pair: pair[1].task,
            "store": lambda pair: pair[1].store,
            "kind": lambda pair: if_read(*pair, pair[1].format + ("" if pair[0].detected.is_certain else "?")),
            "entries": lambda pair: read_so_far(pair[1].entries, pair[0]),
            "bytes": lambda pair: if_read(*pair, f"{pair[1].key_bytes + pair[1].value_bytes:,}"),
            "on disk": lambda pair: if_read(*pair, f"{pair[1].disk_bytes:,}"),
            "tombstones": lambda pair: if_read(*pair, f"{pair[1].tombstones:,}"),
            "oldest": lambda pair: time_of(pair[1].oldest_ms),
            "newest": lambda pair: time_of(pair[1].newest_ms),
            "key ids": lambda pair: _ids(pair[1].key_ids),
            "value ids": lambda pair: _ids(pair[1].value_ids),
        },
    )
    ages: Counter[str] = Counter()
    for _store, sized_store in pairs:
        ages.update({age.age: age.entries for age in sized_store.ages})
    if any(ages.values()):
        if timeless := sum(sized_store.entries for _store, sized_store in pairs) - ages.total():
            ages["not stored"] = timeless  # a plain store keeps no time beside a row
        yield Bars(("age", "entries"), tuple((name, (count,)) for name, count in ages.items()), title="Ages of rows")
    rocksdb_rows = dict.fromkeys(
        (
            sized_store.store,
            enumerated(sized_store.rocksdb_versions) or "-",
            enumerated(sized_store.compressions) or "-",
            enumerated(sized_store.compactions) or "-",
            "only errors" if sized_store.log_of_errors_alone else "stalls, tombstones, errors",
        )
        for _store, sized_store in pairs
        if sized_store.log_of_errors_alone is not None
    )
    if rocksdb_rows:
        columns = ("store", "RocksDB", "compression", "compaction", "Found in LOG")
        yield Table(columns, tuple(rocksdb_rows), title="Found in OPTIONS")
    hurts = (
        f"{sized_store.store} of task {sized_store.task}: {hurt}"
        for _store, sized_store in pairs
        for hurt in sized_store.hurts
    )
    yield from titled_list("Known problems", hurts)


def _ids(ids: Sequence[IdCount]) -> str:
    return enumerated(f"{id_count.id} ({id_count.entries:,})" for id_count in ids) or "-"
