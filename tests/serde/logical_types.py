"""Every logical type of a writer, and what each column type must hold of its values: from Avro's specification (1.12), with
Python's integers and datetimes. Nothing of srfix is asked here.

| what the writer's schema says | column | is |
|---|---|---|
| date | DATE | that day |
| time-… | TIME | that time, if it is a whole microsecond within a day |
| timestamp-… | TIMESTAMP | that instant, if it is a whole microsecond of the years 1 to 9999 |
| local-timestamp-… | TIMESTAMP_NTZ | what that clock shows, with the same bounds |
| any of them | INTEGER (of an int), BIGINT, STRING | the number that was written, or its text |
| decimal | DECIMAL | the number, if it fits |
| uuid on a string | STRING | the text; on a fixed type BYTES as written, like duration and big-decimal |
| nothing | DATE, TIME, TIMESTAMP | what the column says: days, milliseconds |
| all else | | is refused: no value |
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.serde.spark.read.jvm.plans import Json


class _Refused:
    def __repr__(self) -> str:
        return "REFUSED"


REFUSED: Final = _Refused()
"""No value: the row is bad, or the plan is refused."""

COLUMNS: Final = (
    "BOOLEAN",
    "INTEGER",
    "BIGINT",
    "DOUBLE",
    "STRING",
    "BYTES",
    "DECIMAL(38, 9)",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
)
"""Every column type without parts."""

_DAY: Final = 86_400
_LAST_DAY: Final = 2_932_896  # 9999-12-31
_FIRST_DAY: Final = -719_162  # 0001-01-01
_2024: Final = 1_704_153_600  # 2024-01-02T00:00:00Z


def _instants(per_second: int) -> tuple[int, ...]:
    """Instants in a unit: of today, before 1970, at and beyond the ends of Python's years."""
    last, first = (_LAST_DAY + 1) * _DAY * per_second, _FIRST_DAY * _DAY * per_second
    some = (0, 1, -1, 999, -999, 1_000, -1_000, -1_001, _2024 * per_second, _2024 * per_second + 123_456_789)
    ends = (last - 1, last, first, first - 1, 2**63 - 1, -(2**63))
    return tuple(value for value in (*some, *ends) if -(2**63) <= value < 2**63)


def _times(per_second: int) -> tuple[int, ...]:
    a_day = _DAY * per_second
    return (0, 1, -1, 999, 1_000, 45_296_789, a_day - 1, a_day - 1_000, a_day + 1)


_DAYS: Final = (0, 1, -1, 19_724, _LAST_DAY, _LAST_DAY + 1, _FIRST_DAY, _FIRST_DAY - 1, 2**31 - 1, -(2**31))
_PLAIN: Final = (0, 1, -1, 1_000, 19_724, 45_296_789, 2**31 - 1, -(2**31))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A writer's type, and values of it as they are written."""

    word: str
    """What a test's name says."""
    type: Json
    """In Avro's JSON."""
    values: tuple[int | bytes | str, ...]
    """On the wire: numbers, bytes or a text."""
    counts: str = ""
    """`date`, `time`, `timestamp` or `local` with a unit behind it; `never` for what no such column holds; empty for a
    number."""
    per_second: int = 0
    """How many are a second."""
    scale: int = 0
    """Of a decimal."""


def _logical(kind: str, word: str, values: tuple[int, ...], counts: str, per_second: int = 0) -> Written:
    type_: Json = {"type": kind, "logicalType": word}
    return Written(word=f"{kind} {word}", type=type_, values=values, counts=counts, per_second=per_second)


def _named(kind: str, name: str, values: tuple[int, ...], counts: str, per_second: int = 0) -> Written:
    type_: Json = {"type": kind, "connect.version": 1, "connect.name": name}
    return Written(word=f"{kind} {name}", type=type_, values=values, counts=counts, per_second=per_second)


def _fixed(word: str, size: int) -> dict[str, Json]:
    return {"type": "fixed", "name": f"F{size}", "size": size, "logicalType": word}


_UNITS: Final = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}
_KAFKA: Final = "org.apache.kafka.connect.data"
_DEBEZIUM: Final = "io.debezium.time"

WRITERS: Final = (
    Written(word="int", type="int", values=_PLAIN),
    Written(word="long", type="long", values=(*_PLAIN, *_instants(1_000))),
    _logical("int", "date", _DAYS, "date"),
    _logical("int", "time-millis", _times(1_000), "time", 1_000),
    _logical("long", "time-micros", _times(1_000_000), "time", 1_000_000),
    _logical("long", "time-nanos", _times(1_000_000_000), "time", 1_000_000_000),
    *(_logical("long", f"timestamp-{unit}", _instants(of), "timestamp", of) for unit, of in _UNITS.items()),
    *(_logical("long", f"local-timestamp-{unit}", _instants(of), "local", of) for unit, of in _UNITS.items()),
    # In other letters, as Connect compares them.
    _logical("long", "Timestamp-Micros", _instants(1_000_000), "timestamp", 1_000_000),
    # A unit that Avro has not, and units on the other number, which nobody can be sure of.
    _logical("long", "timestamp-seconds", (0, 1, _2024), "never"),
    _logical("int", "timestamp-micros", _PLAIN, "never"),
    _logical("long", "time-millis", _PLAIN, "never"),
    _logical("long", "date", _PLAIN, "never"),
    # No logical type that anybody knows: a number.
    _logical("long", "version", _PLAIN, ""),
    # What Connect's sources write: Debezium has no logicalType.
    _named("int", f"{_KAFKA}.Date", _DAYS, "date"),
    _named("int", f"{_KAFKA}.Time", _times(1_000), "time", 1_000),
    _named("long", f"{_KAFKA}.Timestamp", _instants(1_000), "timestamp", 1_000),
    _named("int", f"{_DEBEZIUM}.Date", _DAYS, "date"),
    _named("int", f"{_DEBEZIUM}.Time", _times(1_000), "time", 1_000),
    _named("long", f"{_DEBEZIUM}.MicroTime", _times(1_000_000), "time", 1_000_000),
    _named("long", f"{_DEBEZIUM}.NanoTime", _times(1_000_000_000), "time", 1_000_000_000),
    _named("long", f"{_DEBEZIUM}.Timestamp", _instants(1_000), "timestamp", 1_000),
    _named("long", f"{_DEBEZIUM}.MicroTimestamp", _instants(1_000_000), "timestamp", 1_000_000),
    _named("long", f"{_DEBEZIUM}.NanoTimestamp", _instants(1_000_000_000), "timestamp", 1_000_000_000),
    _named("int", f"{_DEBEZIUM}.Year", (1970, 2024), "never"),
    _named("long", f"{_DEBEZIUM}.MicroDuration", (0, 1, 10**9), "never"),
    # No numbers.
    Written(
        word="bytes decimal",
        type={"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
        values=(b"\x00", b"\xff", b"\x80", b"\x04\xd2", b"\xfb\x2e"),
        counts="decimal",
        scale=3,
    ),
    Written(
        word="fixed decimal",
        type=_fixed("decimal", 5) | {"precision": 11, "scale": 0},
        values=(bytes(5), b"\xff" * 5, b"\x80" + bytes(4), b"\x00\x00\x00\x04\xd2"),
        counts="decimal",
    ),
    Written(
        word="string uuid",
        type={"type": "string", "logicalType": "uuid"},
        values=("b7f5ab04-5a1c-4c2e-9b3e-0a4f7f3d9c11", "not a uuid", ""),
        counts="text",
    ),
    Written(word="fixed uuid", type=_fixed("uuid", 16), values=(bytes(range(16)), bytes(16)), counts="bytes"),
    Written(word="fixed duration", type=_fixed("duration", 12), values=(bytes(range(12)), bytes(12)), counts="bytes"),
    Written(
        word="bytes big-decimal",
        type={"type": "bytes", "logicalType": "big-decimal"},
        values=(b"\x04\x04\xd2\x06", b"\x02\x00\x00"),
        counts="bytes",
    ),
)
"""Avro 1.12's logical types, Debezium's and Connect's names, and their like."""


def cases() -> Iterator[tuple[Written, str]]:
    """Every writer with every column."""
    return ((written, column) for written in WRITERS for column in COLUMNS)


def expected(written: Written, column: str, value: int | bytes | str) -> object:
    """What the column must hold of a value; `REFUSED` if it can hold none, or not this one."""
    if isinstance(value, bytes):
        return _of_bytes(written, column, value)
    if isinstance(value, str):
        return value if column == "STRING" else REFUSED
    # Connect has looked at a time of day before anybody sees its number.
    is_time = written.counts == "time" and written.per_second == 1_000 and "debezium" not in written.word
    if is_time and not 0 <= value <= _DAY * 1_000:
        return REFUSED
    kind = written.type["type"] if isinstance(written.type, dict) else written.type
    match column:
        case "INTEGER":
            return value if kind == "int" else REFUSED
        case "BIGINT":
            return value
        case "STRING":
            return str(value)
        case "DATE":
            is_date = written.counts == "date" or (not written.counts and kind == "int")
            return _date(value) if is_date else REFUSED
        case "TIME":
            if written.counts == "time":
                return _time(value, written.per_second)
            return _time(value, 1_000) if not written.counts and kind == "int" else REFUSED
        case "TIMESTAMP":
            if written.counts == "timestamp":
                return _instant(value, written.per_second)
            return _instant(value, 1_000) if not written.counts else REFUSED
        case "TIMESTAMP_NTZ":
            if written.counts != "local":
                return REFUSED  # an instant is on every clock another time, and a number on none
            found = _instant(value, written.per_second)
            return found.replace(tzinfo=None) if isinstance(found, datetime.datetime) else found
        case _:
            return REFUSED


def ksqldb_expected(value: int, column: str) -> object:
    """What ksqlDB makes of a number whose unit it does not know."""
    return _instant(value, 1_000) if column == "TIMESTAMP" else REFUSED


def _of_bytes(written: Written, column: str, value: bytes) -> object:
    if written.counts != "decimal":
        return value if column == "BYTES" else REFUSED
    if not column.startswith("DECIMAL"):
        return REFUSED
    return decimal.Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-written.scale)


def _date(days: int) -> object:
    if not _FIRST_DAY <= days <= _LAST_DAY:
        return REFUSED
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=days)


def _time(number: int, per_second: int) -> object:
    micros = number * 1_000_000
    if not 0 <= number < _DAY * per_second or micros % per_second:
        return REFUSED
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros // per_second)).time()


def _instant(number: int, per_second: int) -> object:
    micros = number * 1_000_000
    if micros % per_second:
        return REFUSED
    whole = micros // per_second
    if not _FIRST_DAY * _DAY * 1_000_000 <= whole < (_LAST_DAY + 1) * _DAY * 1_000_000:
        return REFUSED
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(microseconds=whole)


def body(written: Written, value: int | bytes | str) -> bytes:
    """The value as Avro writes it."""
    if isinstance(value, int):
        return _long(value)
    content = value.encode() if isinstance(value, str) else value
    is_fixed = isinstance(written.type, dict) and written.type["type"] == "fixed"
    return content if is_fixed else _long(len(content)) + content


def _long(value: int) -> bytes:
    """A long of Avro. It is not srfix's `written_varint`, so that an error of srfix's is not in its own test, too."""
    zigzag = (value << 1) ^ (value >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
