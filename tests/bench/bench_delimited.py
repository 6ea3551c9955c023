"""DELIMITED, decoded and encoded, beside Python's csv with coercions by hand: CPU time per record.

    python -m tests.bench.bench_delimited [--records N] [--rounds R]

By hand is what a user would write: `csv.reader` on the text of a payload, or one on those of a batch, and a function for each
column. It takes what Python's `int` and `float` take (`1_0`, ` 1`, `nan`), and any number for an INT. "With checks" is the same
that refuses what Java refuses, as ours does: the gate is against that. All payloads of a batch are different.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import re
from argparse import Namespace
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from srfix.serde.batches.rows import deserialize_many
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns, Decimal, ScalarType
from srfix.serde.deserializer import DelimitedDeserializer
from srfix.serde.interface import Deserializer, Row, SerdeContext, Serializer
from srfix.serde.serializer import DelimitedSerializer
from tests.bench.measuring import Figures, Route, arguments, gate, measure, table

CTX: Final = SerdeContext("bench")
_TIMES: Final = 2
_BATCH: Final = 1_000
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_CENT: Final = decimal.Decimal("0.01")
_WHOLE: Final = re.compile(r"[+-]?\d+")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_EXACT: Final = decimal.Context(prec=8, traps=[decimal.Inexact, decimal.InvalidOperation])
_SHAPES: Final = {
    "flat5": ("ID BIGINT, NAME STRING, SCORE DOUBLE, COUNT INT, ACTIVE BOOLEAN", "{id},name {n} of it,{n}.5,{n},true"),
    "order8": (
        "ID BIGINT, COUNT INT, ITEM STRING, SCORE DOUBLE, PRICE DECIMAL(8, 2), PAID BOOLEAN, DAY DATE, STAMP TIMESTAMP",
        "{id},{n},item_{n},{n}.5,{n}.25,true,{day},{at}",
    ),
    "order8, nulls": (
        "ID BIGINT, COUNT INT, ITEM STRING, SCORE DOUBLE, PRICE DECIMAL(8, 2), PAID BOOLEAN, DAY DATE, STAMP TIMESTAMP",
        "{id},,item_{n},,{n}.25,true,,{at}",
    ),
    "order8, quoted": (
        "ID BIGINT, COUNT INT, ITEM STRING, SCORE DOUBLE, PRICE DECIMAL(8, 2), PAID BOOLEAN, DAY DATE, STAMP TIMESTAMP",
        '{id},{n},"item, {n}",{n}.5,{n}.25,true,{day},{at}',
    ),
}

_Convert = Callable[[str], Any]
_OfBatch = Callable[[list[Any]], object]


def _payloads(pattern: str) -> list[bytes]:
    return [
        pattern.format(id=10**12 + number, n=number, day=18_000 + number, at=1_592_300_000_000 + number).encode()
        for number in range(_BATCH)
    ]


_BY_HAND: Final[dict[object, _Convert]] = {
    ScalarType.BIGINT: int,
    ScalarType.INTEGER: int,
    ScalarType.STRING: str,
    ScalarType.DOUBLE: float,
    ScalarType.BOOLEAN: lambda text: text.lower() == "true",
    ScalarType.DATE: lambda text: datetime.date.fromordinal(_EPOCH_DAY + int(text)),
    ScalarType.TIMESTAMP: lambda text: _EPOCH + datetime.timedelta(milliseconds=int(text)),
    Decimal: lambda text: decimal.Decimal(text).quantize(_CENT),
}


def _whole(bits: int, then: Callable[[int], Any]) -> _Convert:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def convert(text: str) -> object:
        if not _WHOLE.fullmatch(text):
            raise ValueError(text)
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return then(number)

    return convert


def _number(then: _Convert) -> _Convert:
    def convert(text: str) -> object:
        if not _NUMBER.fullmatch(text):
            raise ValueError(text)
        return then(text)

    return convert


_WITH_CHECKS: Final[dict[object, _Convert]] = {
    **_BY_HAND,
    ScalarType.BIGINT: _whole(64, int),
    ScalarType.INTEGER: _whole(32, int),
    ScalarType.DOUBLE: _number(float),
    ScalarType.DATE: _whole(64, lambda days: datetime.date.fromordinal(_EPOCH_DAY + days)),
    ScalarType.TIMESTAMP: _whole(64, lambda ms: _EPOCH + datetime.timedelta(milliseconds=ms)),
    Decimal: _number(lambda text: decimal.Decimal(text).quantize(_CENT, None, _EXACT)),
}


def _kind(column_type: object) -> object:
    return Decimal if isinstance(column_type, Decimal) else column_type


def _reading(columns: Columns, converters: dict[object, _Convert], *, each: bool = False) -> _OfBatch:
    """Reads a batch by one reader, or `each` by one of its own."""
    converts = [(column.name, converters[_kind(column.type)]) for column in columns]

    def rows(texts: Iterable[str]) -> list[Row]:
        return [
            {name: convert(field) if field else None for (name, convert), field in zip(converts, fields, strict=True)}
            for fields in csv.reader(texts)
        ]

    def read(payloads: list[bytes]) -> list[Row]:
        if not each:
            return rows(payload.decode() for payload in payloads)
        return [row for payload in payloads for row in rows((payload.decode(),))]

    return read


_WRITTEN: Final[dict[object, Callable[[Any], object]]] = {
    ScalarType.BOOLEAN: lambda value: "true" if value else "false",
    ScalarType.DATE: lambda value: value.toordinal() - _EPOCH_DAY,
    ScalarType.TIMESTAMP: lambda value: (value - _EPOCH) // datetime.timedelta(milliseconds=1),
    Decimal: lambda value: format(value, "f"),
}


def _writing(columns: Columns) -> _OfBatch:
    converts = [(column.name, _WRITTEN.get(_kind(column.type))) for column in columns]

    def write(row: Row) -> bytes:
        out = io.StringIO()
        values = ((row[name], convert) for name, convert in converts)
        csv.writer(out).writerow(
            [convert(value) if convert and value is not None else value for value, convert in values]
        )
        return out.getvalue()[:-2].encode()

    return lambda rows: [write(row) for row in rows]


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=10 * _BATCH, rounds=7)
    print(f"DELIMITED: CPU ns a record, the least of {given.rounds} rounds, in batches of {_BATCH:,} records.")
    for name, (sql, pattern) in _SHAPES.items():
        columns, payloads = parse_columns(sql), _payloads(pattern)
        deserialize, serialize = DelimitedDeserializer(columns), DelimitedSerializer(columns)

        def many(some: list[bytes], read: Deserializer = deserialize) -> list[Any]:
            return list(deserialize_many(some, CTX, read))

        def one_by_one(some: list[bytes], read: Deserializer = deserialize) -> list[Any]:
            return [read(payload, CTX) for payload in some]

        def written(rows: list[Row], write: Serializer = serialize) -> list[Any]:
            return [write(row, CTX) for row in rows]

        reads: dict[str, _OfBatch] = {
            "srfix, many": many,
            "srfix, one by one": one_by_one,
            "csv": _reading(columns, _BY_HAND),
            "csv, a reader each": _reading(columns, _BY_HAND, each=True),
            "csv with checks": _reading(columns, _WITH_CHECKS),
        }
        figures = _measured(f"{name} DELIMITED decode", reads, payloads, given, "csv", "csv with checks")
        ratio = figures.ratio("csv with checks", "srfix, many")
        gate(f"{name}: csv with coercions and checks by hand / srfix, many", ratio, at_least=_TIMES)
        writes = {"srfix": written, "csv": _writing(columns)}
        _measured(f"{name} DELIMITED encode", writes, many(payloads), given, "csv")


def _measured(title: str, each: dict[str, _OfBatch], items: list[Any], given: Namespace, *beside: str) -> Figures:
    assert len({repr(run(items)) for run in each.values()}) == 1, "the routes do not agree"
    routes: dict[str, Route] = {name: partial(run, items) for name, run in each.items()}
    figures = measure(routes, records=given.records, rounds=given.rounds, records_a_turn=_BATCH)
    table(title, figures, *beside)
    return figures


if __name__ == "__main__":
    main()
