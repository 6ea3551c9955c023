"""The option `times`: times as datetimes, or as the integers in the records. It is the same wherever columns are read
or written.

| `times` | DATE | TIME | TIMESTAMP, TIMESTAMP_NTZ |
|---|---|---|---|
| `"datetimes"` (default) | `datetime.date` | `datetime.time` | `datetime.datetime`, years 1 to 9999 |
| `"integers"` | INTEGER (int32) | BIGINT (int64) | BIGINT (int64) |

The integers are in the unit that the writer's schema declares: days since 1970-01-01; milliseconds of the day or since
1970; or microseconds (`timestamp-micros`, `time-micros`). In Protobuf, which has no such integer, they are
milliseconds, as in ksqlDB. All values of a column are then integers, even if a datetime
could hold them. A writer's type that cannot feed the column as a time cannot feed it as an integer either. A time
beyond its day is read like any other time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from srfix.serde.arguments import word
from srfix.serde.columns.types import Array, Columns, ColumnType, Map, ScalarType, Struct

Times: TypeAlias = Literal["datetimes", "integers"]
"""The Python form of a DATE, TIME or TIMESTAMP: a datetime, or the integer in the record."""

READ_AS_INTEGERS: Final = (
    "Read times as integers (times='integers', conf={'times': 'integers'} in srfix.serde.confluent, --times integers in the "
    "shell), or repair the writer"
)
"""What to do about a time that a datetime cannot hold; the end of a sentence."""

_INTEGERS: Final = {
    ScalarType.DATE: ScalarType.INTEGER,
    ScalarType.TIME: ScalarType.BIGINT,
    ScalarType.TIMESTAMP: ScalarType.BIGINT,
    ScalarType.TIMESTAMP_NTZ: ScalarType.BIGINT,
}


def given_times(times: Times) -> Times:
    word("times", times, get_args(Times))
    return times


def with_times(columns: Columns, times: Times) -> Columns:
    """The columns of the rows: with `"integers"`, integers replace DATE, TIME and TIMESTAMP."""
    if times == "datetimes":
        return columns
    return tuple(replace(column, type=_as_integers(column.type)) for column in columns)


def _as_integers(type_: ColumnType) -> ColumnType:
    match type_:
        case ScalarType():
            return _INTEGERS.get(type_, type_)
        case Array(items):
            return Array(_as_integers(items))
        case Map(values, keys):
            return Map(_as_integers(values), _as_integers(keys))
        case Struct(fields):
            return Struct(with_times(fields, "integers"))
        case _:
            return type_
