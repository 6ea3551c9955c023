"""The counting core against a naive model of what a restore loads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.recovery.census.counting import ColumnReader, PartitionCounter
from srfix.recovery.census.interface import IdCount, PartitionCensus, RoleCensus
from srfix.recovery.census.local import NativeCounter, native_columns
from srfix.serde import Role, WireError
from srfix.serde.native import kernel
from srfix.serde.wire import SchemaId, frame_guid, frame_id, parse, schema_id_header

GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


keys = (
    st.none()
    | st.sampled_from([b"a", b"b", b"", b"\x00", b"\x01"])
    | st.builds(frame_id, st.integers(1, 3), st.sampled_from([b"a", b"b"]))
    | st.just(frame_guid(GUID, b"a"))
)
values = (
    st.none()
    | st.builds(frame_id, st.integers(1, 9), st.sampled_from([b"", b"row"]))
    | st.sampled_from([b"\x00" * 5, b"\x00\x7f\xff\xff\xffrow", b"\x00\x80\x00\x00\x00row", b"\x00\xff\xff\xff\xff"])
    | st.sampled_from([b"", b"{}", b"\x00\x00", b"\x01", frame_guid(GUID), frame_guid(GUID, b"row")])
)
headers = st.just(()) | st.lists(
    st.tuples(
        st.sampled_from([schema_id_header(Role.KEY), schema_id_header(Role.VALUE), "trace"]),
        st.sampled_from([frame_guid(GUID), b"broken", None]),
    ),
    max_size=2,
).map(tuple)


@st.composite
def logs(draw: st.DrawFn) -> list[list[Record]]:
    """A log in the runs in which it is read; offsets may have gaps."""
    offset = draw(st.integers(0, 5))
    runs: list[list[Record]] = []
    for size in draw(st.lists(st.integers(1, 12), max_size=5)):
        compacted, headed, alike = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
        run_keys = st.sampled_from([frame_id(7, b"a"), frame_id(7, b"b")]) if alike else keys
        run_values = st.sampled_from([frame_id(draw(st.integers(1, 2)), b""), None]) if alike else values
        run = []
        for _ in range(size):
            run.append(
                Record(
                    offset=offset,
                    key=draw(run_keys),
                    value=draw(run_values),
                    headers=draw(headers) if headed else (),
                )
            )
            offset += draw(st.integers(1, 3)) if compacted else 1
        runs.append(run)
    return runs


def schema_of(record: Record, role: Role) -> SchemaId | str | None:
    payload = record.key if role is Role.KEY else record.value
    try:
        frame = parse(payload, headers=record.headers, role=role)
    except WireError:
        return "unframed"
    if frame is None:
        return None
    if frame.schema_id == 0:
        return "unframed"  # no registry gives that id
    return "guid" if frame.schema_id is None else frame.schema_id


def latest_of_key(log: list[Record]) -> list[Record]:
    latest: dict[bytes, Record] = {}
    for record in log:
        if record.key is None:
            continue
        latest.pop(record.key, None)
        if record.value is not None:
            latest[record.key] = record
    return list(latest.values())


def model(log: list[Record], limit: int | None, role: Role) -> RoleCensus:
    """What the interface's docstrings say, word by word."""
    live = latest_of_key([record for record in log if limit is not None and record.offset < limit])
    pending = latest_of_key([record for record in log if limit is None or record.offset >= limit])
    schemas = [schema_of(record, role) for record in log]
    counts = []
    for schema_id in sorted({schema for schema in schemas if isinstance(schema, int)}):
        offsets = [record.offset for record in log if schema_of(record, role) == schema_id]
        alive = [record.offset for record in live if schema_of(record, role) == schema_id]
        counts.append(
            IdCount(
                schema_id=schema_id,
                records=len(offsets),
                live_keys=None if limit is None else len(alive),
                pending_keys=sum(schema_of(record, role) == schema_id for record in pending),
                first_offset=min(offsets),
                last_offset=max(offsets),
                live_offset=max(alive, default=None),
            )
        )
    return RoleCensus(
        ids=tuple(counts),
        guids=schemas.count("guid"),
        unframed=schemas.count("unframed"),
        nulls=schemas.count(None),
        first_unframed_offset=next((record.offset for record in log if schema_of(record, role) == "unframed"), None),
        live_unframed_keys=None if limit is None else sum(schema_of(record, role) == "unframed" for record in live),
    )


def counted(
    runs: list[list[Record]], limit: int | None, *, one_partition: bool = True, native: bool = False
) -> PartitionCensus:
    read: Any = native_columns if native else ColumnReader()
    counter: Any = (NativeCounter if native else PartitionCounter)(limit)
    for run in runs:
        offsets = [record.offset for record in run]
        whole = range(offsets[0], offsets[-1] + 1)
        columns = read(
            offsets=whole if len(whole) == len(offsets) else offsets,
            keys=[record.key for record in run],
            values=[record.value for record in run],
            headers=[list(record.headers) for record in run] if any(record.headers for record in run) else None,
            one_partition=one_partition,
        )
        counter.add(columns, 0, len(run))
    records, keys, values = counter.result()
    return PartitionCensus(
        partition=3,
        start_offset=0,
        end_offset=99,
        committed_offset=limit,
        restore_limit=limit,
        records=records,
        keys=keys,
        values=values,
    )


def row(offset: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(offset=offset, key=key, value=value, headers=())


class TestPartitionCounter:
    @given(runs=logs(), limit=st.none() | st.integers(0, 80))
    @example(runs=[[row(0, b"a", frame_id(1, b"")), row(1, b"a", None), row(2, b"a", frame_id(2, b""))]], limit=2)
    @example(runs=[[row(n, b"a", frame_id(n + 1, b"")) for n in range(9)]], limit=5)
    @example(runs=[[row(0, None, frame_id(1, b"")), row(1, None, None)]], limit=None)
    def test_it_agrees_with_a_naive_model(self, runs: list[list[Record]], limit: int | None) -> None:
        census = counted(runs, limit)
        assert counted(runs, limit, one_partition=False) == census
        log = [record for run in runs for record in run]
        assert census.values == model(log, limit, Role.VALUE)
        assert census.keys == model(log, limit, Role.KEY)
        assert census.records == len(log)

    @given(runs=logs(), limit=st.none() | st.integers(0, 80))
    def test_how_the_log_is_cut_into_runs_does_not_matter(self, runs: list[list[Record]], limit: int | None) -> None:
        assert counted(runs, limit) == counted([[record] for run in runs for record in run], limit)

    @pytest.mark.skipif(kernel() is None, reason="the kernel is not there")
    @given(runs=logs(), limit=st.none() | st.integers(0, 80))
    @example(runs=[[row(0, None, None), row(1, b"", frame_id(1, b"")), row(2, b"", None)]], limit=1)
    def test_the_kernel_counts_the_same(self, runs: list[list[Record]], limit: int | None) -> None:
        assert counted(runs, limit, native=True) == counted(runs, limit)
        assert counted([list(chain.from_iterable(runs))] if runs else [], limit, native=True) == counted(runs, limit)

    @pytest.mark.core
    def test_an_empty_partition_has_nothing(self) -> None:
        found = counted([], 0)
        assert (found.records, found.restore_limit, found.values) == (0, 0, model([], 0, Role.VALUE))
