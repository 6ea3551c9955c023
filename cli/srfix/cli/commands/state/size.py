"""`srfix state size`: how large stores are, how old their rows, which schema ids they carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.commands.state.choosing import StoreChoice, choice_options, directory_argument, not_read, read_so_far
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import config_option
from srfix.cli.options.gate import quiet_option
from srfix.cli.options.options import output_option
from srfix.cli.output.interface import Bars, Block, OutputFormat, Report, Table, titled_list
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.ids_in_words import counted, enumerated

if TYPE_CHECKING:
    from srfix.recovery.stores.sizes import StoreSize
    from srfix.serde.subjects.names import Role


@command()
@directory_argument
@choice_options
@config_option
@quiet_option
@output_option
def size(directory: str, choice: StoreChoice, quiet: bool, output: OutputFormat) -> ExitCode:
    """Count what lies in the stores of DIR: entries, bytes, ages, schema ids, per store and partition. Writes nothing.

    It reads all rows, and RocksDB's OPTIONS and LOG for what is known to hurt: stalled writes, level 0, tombstones,
    compaction that is switched off. Kafka Streams lets the LOG tell of errors alone, unless a RocksDBConfigSetter changes that.
    Exit code 1 if a store is damaged.
    """
    from srfix.recovery.stores.sizes import StateSize, size_of, sized_store

    now_ms = int(datetime.fromisoformat(now()).timestamp()) * 1_000
    parts = list(choice.stores(directory))
    found = [(application.application, size_of(store, now_ms=now_ms)) for application, store in parts]
    document = StateSize(
        srfix=version("srfix"),
        generated_at=now(),
        directory=directory,
        stores=[sized_store(application, size) for application, size in found],
    )
    unread = not_read(parts, applications=choice.applications(directory))
    code = unread.code()
    report = Report(document=document.to_json(), blocks=tuple(_blocks([each for _name, each in found])))
    entries = sum(each.entries for _name, each in found)
    lines = (*unread.lines, f"{counted(entries, 'row')} in {counted(len(found), 'part')} of stores.")
    return conclude(report, output, quiet=quiet, code=code, lines=lines)


def _blocks(found: Sequence[StoreSize]) -> Iterator[Block]:
    yield Table(
        (
            "task",
            "store",
            "kind",
            "entries",
            "bytes",
            "on disk",
            "tombstones",
            "oldest",
            "newest",
            "key ids",
            "value ids",
        ),
        tuple(_row(each) for each in found),
    )
    ages = {name: sum(each.ages[name] for each in found) for name in (found[0].ages if found else {})}
    if any(ages.values()):
        yield Bars(("age", "entries"), tuple((name, (count,)) for name, count in ages.items()), title="Ages of rows")
    told = {(each.store.name, *_rocksdb(each)): None for each in found if each.options}
    if told:
        yield Table(
            ("store", "RocksDB", "compression", "compaction", "LOG tells of"), tuple(told), title="By its OPTIONS"
        )
    hurts = (f"{each.store.name} of task {each.store.task.name}: {said}" for each in found for said in each.hurts)
    yield from titled_list("What is known to hurt", hurts)


def _row(each: StoreSize) -> tuple[str, ...]:
    from srfix.cli.reports.rows import time_of
    from srfix.serde.subjects.names import Role

    is_unread = each.store.is_shut and not each.entries
    bytes_ = each.key_bytes + each.value_bytes
    return (
        each.store.task.name,
        each.store.name,
        "-" if is_unread else each.store.format.value,
        read_so_far(each.entries, each.store),
        *(("-",) * 3 if is_unread else (f"{bytes_:,}", f"{each.disk_bytes:,}", f"{each.tombstones:,}")),
        time_of(each.oldest_ms),
        time_of(each.newest_ms),
        _ids(each, Role.KEY),
        _ids(each, Role.VALUE),
    )


def _rocksdb(each: StoreSize) -> tuple[str, ...]:
    is_quiet = all(options.logs_errors_alone for options in each.options)
    return (
        enumerated(each.rocksdb_versions) or "-",
        enumerated(each.compressions) or "-",
        enumerated(each.compactions) or "-",
        "errors alone" if is_quiet else "stalls, tombstones, errors",
    )


def _ids(each: StoreSize, role: Role) -> str:
    return enumerated(f"{schema_id} ({count:,})" for schema_id, count in each.schema_ids[role].items()) or "-"
