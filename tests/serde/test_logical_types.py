"""Every logical type of a writer by every column by the engines without Spark, against Avro's specification
(`logical_types`); Spark's engines in tests/spark."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import BadRow, CaseRule, Reason, SerdeContext, deserialize_many
from srfix.serde.arrow import ValueWise, to_arrow
from srfix.serde.spark import ReadPlan
from tests.serde.avro_schemas import logical, map_of, record
from tests.serde.logical_types import COLUMNS, REFUSED, WRITERS, Written, body, expected, ksqldb_expected
from tests.serde.spark.read.jvm.plans import Json, plan_of

Engine = Callable[[ReadPlan, list[bytes]], list[object]]
"""A plan and payloads → the column's values; `REFUSED` for a bad row."""

_CONTEXT: Final = SerdeContext("t")
_HEAD: Final = b"\0\0\0\0\1"


def _rows(plan: ReadPlan, payloads: list[bytes]) -> list[object]:
    read = deserialize_many(payloads, _CONTEXT, plan.deserializer(), on_error="quarantine")
    return [REFUSED if isinstance(row, BadRow) else row["A"] for row in read]  # type: ignore[index, call-overload]


def _arrow(plan: ReadPlan, payloads: list[bytes], *, engine: type[ValueWise] | None = None) -> list[object]:
    batch = to_arrow(
        payloads, _CONTEXT, plan.deserializer(), columns=plan.columns, on_error="quarantine", engine=engine
    )
    reasons = batch.column("_srfix_reason").to_pylist()
    values = batch.column("A").to_pylist()
    return [value if reason is None else REFUSED for value, reason in zip(values, reasons, strict=True)]


def _arrow_by_values(plan: ReadPlan, payloads: list[bytes]) -> list[object]:
    return _arrow(plan, payloads, engine=ValueWise)


ENGINES: Final[dict[str, Engine]] = {"rows": _rows, "arrow": _arrow, "arrow by values": _arrow_by_values}
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)

# How a type stands in a record: the field's type, the column's, and the bytes and the value around one.
SHAPES: Final[dict[str, tuple[Callable[[Json], Json], str, bytes, bytes, Callable[[object], object]]]] = {
    "bare": (lambda type_: type_, "{}", b"", b"", lambda value: value),
    "nullable": (lambda type_: ["null", type_], "{}", b"\2", b"", lambda value: value),
    "nullable, null last": (lambda type_: [type_, "null"], "{}", b"\0", b"", lambda value: value),
    "array": (lambda type_: {"type": "array", "items": type_}, "ARRAY<{}>", b"\2", b"\0", lambda value: [value]),
    "struct": (lambda type_: record("S", A=type_), "STRUCT<A {}>", b"", b"", lambda value: {"A": value}),
    "map": (map_of, "MAP<STRING, {}>", b"\2\2k", b"\0", lambda value: {"k": value}),
}


def _payloads(written: Written, before: bytes = b"", behind: bytes = b"") -> list[bytes]:
    return [_HEAD + before + body(written, value) + behind for value in written.values]


@every_engine
@pytest.mark.parametrize("written", WRITERS, ids=lambda written: written.word)
def test_a_value_is_what_the_writer_meant_or_no_value(written: Written, engine: Engine) -> None:
    for column in COLUMNS:
        found = engine(plan_of(f"A {column}", record(A=written.type)), _payloads(written))
        for value, got in zip(written.values, found, strict=True):
            wanted = expected(written, column, value)
            assert got == wanted, (column, value)
            assert isinstance(wanted, decimal.Decimal) or type(got) is type(wanted), (column, value)


@every_engine
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("column", ["TIMESTAMP", "TIMESTAMP_NTZ"])
@pytest.mark.parametrize("unit", ["timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-micros"])
def test_a_unit_counts_wherever_the_type_stands(unit: str, column: str, shape: str, engine: Engine) -> None:
    (written,) = (each for each in WRITERS if each.word == f"long {unit}")
    type_of, column_of, before, behind, value_of = SHAPES[shape]
    plan = plan_of(f"A {column_of.format(column)}", record(A=type_of(written.type)))
    found = engine(plan, _payloads(written, before, behind))
    for value, got in zip(written.values, found, strict=True):
        wanted = expected(written, column, value)
        if shape == "map" and isinstance(got, list):
            got = dict(got)  # Arrow's
        assert got == (REFUSED if wanted is REFUSED else value_of(wanted)), value


@every_engine
def test_each_writers_unit_counts_where_versions_differ(engine: Engine) -> None:
    types: list[Json] = ["long", *(logical("long", f"timestamp-{unit}") for unit in ("millis", "micros", "nanos"))]
    plan = plan_of("A TIMESTAMP", *(record(A=type_) for type_ in types))
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    seconds = int(at.timestamp())
    raw = Written(word="", type="long", values=())
    payloads = [
        b"\0\0\0\0" + bytes([schema_id]) + body(raw, seconds * per_second)
        for schema_id, per_second in ((1, 10**3), (2, 10**3), (3, 10**6), (4, 10**9), (3, 10**6), (1, 10**3))
    ]
    assert engine(plan, payloads) == [at] * 6


@every_engine
@pytest.mark.parametrize("rule", [CaseRule.KSQLDB, CaseRule.KSQLDB_2020])
@pytest.mark.parametrize("unit", ["timestamp-micros", "timestamp-nanos", "local-timestamp-micros", "time-micros"])
def test_under_ksqldbs_rules_a_number_of_a_unit_that_it_does_not_know_is_milliseconds(
    unit: str, rule: CaseRule, engine: Engine
) -> None:
    written = Written(word="", type=logical("long", unit), values=(0, -1, 1_704_153_600_000, 1_704_153_600_000_000))
    plan = plan_of("A TIMESTAMP", record(A=written.type), case_rule=rule)
    found = engine(plan, _payloads(written))
    assert found == [ksqldb_expected(int(value), "TIMESTAMP") for value in written.values]


_UNITS = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_COLUMNS = {"timestamp": "TIMESTAMP", "local": "TIMESTAMP_NTZ"}
_FIRST_S, _LAST_S = -62_135_596_800, 253_402_300_800
"""The years 1 and 10000."""


class TestInstants:
    @given(
        unit=st.sampled_from(sorted(_UNITS)),
        counts=st.sampled_from(sorted(_COLUMNS)),
        second=st.sampled_from([0, _FIRST_S, _LAST_S]) | st.integers(_FIRST_S, _LAST_S),
        more=st.integers(-2_000, 2_000) | st.integers(-(2**63), 2**63 - 1),
    )
    def test_any_number_is_its_instant_or_clock_time_in_every_engine(
        self, unit: str, counts: str, second: int, more: int
    ) -> None:
        number = min(max(second * _UNITS[unit] + more, -(2**63)), 2**63 - 1)
        type_ = logical("long", f"{'local-' if counts == 'local' else ''}timestamp-{unit}")
        written = Written(word="", type=type_, values=(number,), counts=counts, per_second=_UNITS[unit])
        plan = plan_of(f"A {_COLUMNS[counts]}", record(A=type_))
        wanted = expected(written, _COLUMNS[counts], number)
        for engine in ENGINES.values():
            assert engine(plan, _payloads(written)) == [wanted]


@pytest.mark.parametrize(
    ("column", "unit", "reason", "words"),
    [
        ("TIME", "micros", Reason.TYPE_MISMATCH, "The writer's type int64 (timestamp-micros) cannot be read as"),
        (
            "TIMESTAMP",
            "nanos",
            Reason.OVERFLOW,
            "it is not a whole number of microseconds, and TIMESTAMP has nothing finer",
        ),
    ],
)
def test_a_refusal_names_the_type_and_what_the_column_has_not(
    column: str, unit: str, reason: Reason, words: str
) -> None:
    plan = plan_of(f"A {column}", record(A=logical("long", f"timestamp-{unit}")))
    (bad,) = deserialize_many([_HEAD + b"\2"], _CONTEXT, plan.deserializer(), on_error="quarantine")
    assert isinstance(bad, BadRow)
    assert bad.reason is reason
    assert words in bad.error.message
