"""The option `times`: times as datetimes, or as the integers in the records. It is the same wherever columns are read
or written.

| `times` | DATE | TIME | TIMESTAMP, TIMESTAMP_NTZ |
|---|---|---|---|
| `"datetimes"` (default) | `datetime.date` | `datetime.time` | `datetime.datetime`, years 1 to 9999 |
| `"integers"` | INTEGER (int32) | BIGINT (int64) | BIGINT (int64) |
| `"micros"`, only to write | as with `"datetimes"`, under an Avro schema of the columns with microseconds | | |

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
from srfix.serde.errors import UsageError

Times: TypeAlias = Literal["datetimes", "integers"]
"""The Python form of a DATE, TIME or TIMESTAMP: a datetime, or the integer in the record."""

WrittenTimes: TypeAlias = Literal["datetimes", "integers", "micros"]
"""The same for a writer; with `"micros"`, the schema of the columns has `time-micros` and `timestamp-micros`."""

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


def given_written_times(times: WrittenTimes, *, has_own_schema: bool) -> WrittenTimes:
    """`has_own_schema`: whether the columns get an Avro schema of their own."""
    if times == "micros" and not has_own_schema:
        raise UsageError(
            "times='micros' is only for columns that are written in Avro under their own schema: other formats have no "
            "such schema, and an existing schema already says its unit. Leave it out."
        )
    word("times", times, get_args(WrittenTimes if has_own_schema else Times))
    return times


def with_times(columns: Columns, times: WrittenTimes) -> Columns:
    """The columns of the rows: with `"integers"`, integers replace DATE, TIME and TIMESTAMP."""
    if times != "integers":
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
