"""Logical types of our own, which make fastavro refuse what it would read as something else.

| logical type | of | refuses |
|---|---|---|
| `INT` | int | more than 32 bits: fastavro reads 64 |
| `DECIMAL` | bytes, fixed | more bytes than `PayloadBounds.decimal_bytes`: their conversion is quadratic |
| `TIME_MILLIS`, `TIME_MICROS` | int, long | what is not within a day: fastavro makes another time of what is negative |

They stand in the reader's copy of a schema only. fastavro looks logical types up by name, in one table for the process
(its documented way to add some); no other library uses these names.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from typing import Final

from fastavro.read import LOGICAL_READERS

from srfix.serde.bounds import payload_bounds
from srfix.serde.formats.avro.read.finish import decimal_of_unscaled
from srfix.serde.java_ints import INT_MAX, INT_MIN

INT: Final = "srfix-int"
DECIMAL: Final = "srfix-decimal"
TIME_MILLIS: Final = "srfix-time-millis"
TIME_MICROS: Final = "srfix-time-micros"

_MIDNIGHT: Final = datetime.datetime(1970, 1, 1)
_DAY_MICROS: Final = 86_400_000_000


def _int(number: int, _writer: object = None, _reader: object = None) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise OverflowError(f"an int of {number}, which needs more than 32 bits")


def _decimal(value: bytes, writer: Mapping[object, object] | None, _reader: object = None) -> decimal.Decimal:
    scale = (writer or {}).get("scale")
    if not value:  # as fastavro
        return decimal.Decimal(0).scaleb(-scale if isinstance(scale, int) else 0)
    return decimal_of_unscaled(value, scale if isinstance(scale, int) else 0, payload_bounds().decimal_bytes, "")


def _time_millis(number: int, _writer: object = None, _reader: object = None) -> datetime.time:
    return _time_micros(number * 1000)


def _time_micros(number: int, _writer: object = None, _reader: object = None) -> datetime.time:
    if 0 <= number < _DAY_MICROS:
        return (_MIDNIGHT + datetime.timedelta(microseconds=number)).time()
    raise OverflowError(f"the time of day is {number} µs, and a day has {_DAY_MICROS}")


LOGICAL_READERS[f"int-{INT}"] = _int
LOGICAL_READERS[f"bytes-{DECIMAL}"] = _decimal
LOGICAL_READERS[f"fixed-{DECIMAL}"] = _decimal
LOGICAL_READERS[f"int-{TIME_MILLIS}"] = _time_millis
LOGICAL_READERS[f"long-{TIME_MICROS}"] = _time_micros
