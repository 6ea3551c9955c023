"""The meaning of a writer's number as a day, a time of day or an instant, and the column that holds it exactly.

| the writer's type | its values | DATE | TIME | TIMESTAMP |
|---|---|---|---|---|
| `date`, `Date` | days since 1970-01-01 | unchanged | refused | refused |
| `time-millis`, `-micros`, `-nanos`, `Time`, `MicroTime`, `NanoTime` | of the day | refused | by the unit | refused |
| `timestamp-millis`, `-micros`, `-nanos`, `Timestamp`, `Micro…`, `Nano…` | since 1970 | refused | refused | by the unit |
| `local-timestamp-millis`, `-micros`, `-nanos` | by a clock without a zone | refused | refused | refused: no instant |
| durations, years, a type on the wrong number, a type that Avro lacks | | refused | refused | refused |
| a number without any of these | the column's unit: days, milliseconds | | | |

The names with a hyphen are Avro's `logicalType`, in any letter case as AvroData compares them; the others are Connect's
and Debezium's schema names (`org.apache.kafka.connect.data`, `io.debezium.time`), in Avro's `connect.name` and JSON
Schema's `title`. DATE, TIME and TIMESTAMP hold days and microseconds. If a value in nanoseconds is not a whole
microsecond, it is refused when it is read. Any other column takes the written number unchanged.

A TIMESTAMP_NTZ holds only local times of a clock without a zone, in the writer's unit. It holds neither an instant,
because a clock's time depends on the place, nor a plain number.

ksqlDB knows three of these (`date`, `time-millis`, `timestamp-millis`) and treats every other number as days or
milliseconds. `reads_units` says for which case rules this module reads the units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import ColumnType, ScalarType
from srfix.serde.connect.coercions import UNITS, refusal
from srfix.serde.connect.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, ConnectType
from srfix.serde.errors import IncompatibleTypeError, TimeUnitError
from srfix.serde.printable import path_words

MILLIS: Final = 1_000
MICROS: Final = 1_000_000
NANOS: Final = 1_000_000_000


class _Counts(Enum):
    DAYS = "days since 1970"
    TIME = "a time of day"
    INSTANT = "an instant"
    LOCAL = "a local time without a zone"
    OTHER = "neither a day, nor a time of day, nor an instant"


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """The unit of a writer's numbers."""

    word: str
    """The unit's name in the writer's schema."""
    counts: _Counts
    per_second: int = 0
    """Units per second: `MILLIS`, `MICROS` or `NANOS`; 0 for days, and for numbers that no time column accepts."""

    @property
    def numbers(self) -> str:
        """Describes the numbers, with the same words for all names of one unit."""
        if not self.per_second:
            return self.counts.value if self.counts is _Counts.DAYS else self.word
        return f"{self.counts.value} in {UNITS[self.per_second]}"


_INT32: Final = frozenset({ConnectType.INT32})
_INT64: Final = frozenset({ConnectType.INT64})
_Unit: TypeAlias = "tuple[frozenset[ConnectType], _Counts, int]"
_LOGICAL: Final[Mapping[str, _Unit]] = {
    "date": (_INT32, _Counts.DAYS, 0),
    "time-millis": (_INT32, _Counts.TIME, MILLIS),
    "time-micros": (_INT64, _Counts.TIME, MICROS),
    "time-nanos": (_INT64, _Counts.TIME, NANOS),
    # A timestamp in milliseconds is also accepted on an int, because the number is the same, whether or not the type
    # counts.
    "timestamp-millis": (_INT32 | _INT64, _Counts.INSTANT, MILLIS),
    "timestamp-micros": (_INT64, _Counts.INSTANT, MICROS),
    "timestamp-nanos": (_INT64, _Counts.INSTANT, NANOS),
    "local-timestamp-millis": (_INT64, _Counts.LOCAL, MILLIS),
    "local-timestamp-micros": (_INT64, _Counts.LOCAL, MICROS),
    "local-timestamp-nanos": (_INT64, _Counts.LOCAL, NANOS),
}
_SIMILAR: Final = ("date", "time-", "timestamp-", "local-timestamp-", "duration")
_DEBEZIUM: Final = "io.debezium.time."
_NAMED: Final[Mapping[str, _Unit]] = {
    DATE_NAME: (_INT32, _Counts.DAYS, 0),
    TIME_NAME: (_INT32, _Counts.TIME, MILLIS),
    TIMESTAMP_NAME: (_INT64, _Counts.INSTANT, MILLIS),
    f"{_DEBEZIUM}Date": (_INT32, _Counts.DAYS, 0),
    f"{_DEBEZIUM}Time": (_INT32, _Counts.TIME, MILLIS),
    f"{_DEBEZIUM}MicroTime": (_INT64, _Counts.TIME, MICROS),
    f"{_DEBEZIUM}NanoTime": (_INT64, _Counts.TIME, NANOS),
    f"{_DEBEZIUM}Timestamp": (_INT64, _Counts.INSTANT, MILLIS),
    f"{_DEBEZIUM}MicroTimestamp": (_INT64, _Counts.INSTANT, MICROS),
    f"{_DEBEZIUM}NanoTimestamp": (_INT64, _Counts.INSTANT, NANOS),
}
_NUMBERS: Final = (ConnectType.INT8, ConnectType.INT16, ConnectType.INT32, ConnectType.INT64)
_TAKES: Final = {
    ScalarType.DATE: _Counts.DAYS,
    ScalarType.TIME: _Counts.TIME,
    ScalarType.TIMESTAMP: _Counts.INSTANT,
    ScalarType.TIMESTAMP_NTZ: _Counts.LOCAL,
}
_COLUMNS: Final = {counts: column for column, counts in _TAKES.items()}
_ENGINES: Final = (CaseRule.KSQLDB, CaseRule.KSQLDB_2020)


def reads_units(case_rule: CaseRule) -> bool:
    """Whether numbers are read in the writer's unit: this is so except under ksqlDB's own rules."""
    return case_rule not in _ENGINES


def time_unit(writer: ConnectType, logical: object, name: object) -> TimeUnit | None:
    """The unit by `logicalType` (or its replacement) and by `connect.name` or `title`; None if there is none."""
    if writer not in _NUMBERS:
        return None
    by_logical = _of(writer, logical, logical.lower(), _LOGICAL, _SIMILAR) if isinstance(logical, str) else None
    by_name = _of(writer, name, name, _NAMED, _DEBEZIUM) if isinstance(name, str) else None
    if by_logical is None or by_name is None:
        return by_logical or by_name
    if (by_logical.counts, by_logical.per_second) == (by_name.counts, by_name.per_second):
        return by_logical
    return TimeUnit(f"{by_logical.word}, {by_name.word}", _Counts.OTHER)


def _of(
    writer: ConnectType, word: str, unit_name: str, units: Mapping[str, _Unit], similar: str | tuple[str, ...]
) -> TimeUnit | None:
    types, counts, per_second = units.get(unit_name, (frozenset(), _Counts.OTHER, 0))
    if writer in types:
        return TimeUnit(word, counts, per_second)
    return TimeUnit(word, _Counts.OTHER) if unit_name in units or unit_name.startswith(similar) else None


def refusal_in_unit(
    writer: ConnectType, unit: TimeUnit | None, column: ColumnType, path: str
) -> IncompatibleTypeError | None:
    """Like `refusal`, but also checks the unit."""
    if unit is None and column is ScalarType.TIMESTAMP_NTZ and refusal(writer, column, path) is None:
        why = f"its schema does not say that it is {_Counts.LOCAL.value} (local-timestamp-millis, -micros)"
        return _unit_error(writer.word, column, path, why, _number(writer))
    if unit is None or not isinstance(column, ScalarType) or column not in _TAKES:
        return refusal(writer, column, path)
    if unit.counts is _TAKES[column]:
        return None
    by_unit, as_number = column_of(unit), _number(writer)
    instead = as_number if by_unit is None else f"{by_unit.value}, or as {as_number}"
    return _unit_error(f"{writer.word} ({unit.word})", column, path, f"it is {unit.counts.value}", instead)


def _unit_error(writer: str, column: ScalarType, path: str, why: str, instead: str) -> TimeUnitError:
    return TimeUnitError(
        f"The writer's type {writer} cannot be read as {column.value}, at {path_words(path)}: {why}. Declare the column as "
        f"{instead}.",
        path=path,
        writer_type=writer,
        column_type=column.value,
    )


def _number(writer: ConnectType) -> str:
    number = "BIGINT" if writer is ConnectType.INT64 else "INTEGER"
    return f"{number}, which holds the number as it was written"


def column_of(unit: TimeUnit) -> ScalarType | None:
    """The column type for such values; None if only a number column can hold them."""
    return _COLUMNS.get(unit.counts)


def as_written(unit: TimeUnit | None, column: ColumnType) -> TimeUnit | None:
    """The unit of numbers that a column takes unchanged; None if the column reads the unit, or there is no unit."""
    return None if column in _TAKES else unit
