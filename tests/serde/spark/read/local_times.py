"""TIMESTAMP_NTZ: records with a local time in each place, and what their numbers say.

That every engine without a JVM says so is in tests/serde/test_logical_types.py.
"""

from __future__ import annotations

from typing import Final

from srfix.serde import Reason
from tests.serde.avro_schemas import array, logical, map_of, record
from tests.serde.logical_types import REFUSED, Written, body, expected
from tests.serde.spark.read.jvm.plans import Json

LOCAL_UNITS: Final = {"local-timestamp-millis": 10**3, "local-timestamp-micros": 10**6, "local-timestamp-nanos": 10**9}
LOCAL_COLUMNS: Final = (
    "SEEN TIMESTAMP_NTZ, EACH ARRAY<TIMESTAMP_NTZ>, NAMED MAP<STRING, TIMESTAMP_NTZ>, ROW_ STRUCT<SEEN TIMESTAMP_NTZ>"
)


def local(word: str) -> Written:
    return Written(word=word, type=logical("long", word), values=(), counts="local", per_second=LOCAL_UNITS[word])


def meant(word: str, number: int) -> object:
    """The clock time, or the reason why there is none."""
    found = expected(local(word), "TIMESTAMP_NTZ", number)
    return Reason.OVERFLOW if found is REFUSED else found


def everywhere(type_: Json) -> Json:
    """A record with the type in each place."""
    inner = record("In", SEEN=["null", type_])
    return record(SEEN=["null", type_], EACH=array(type_), NAMED=map_of(type_), ROW_=inner)


def local_body(number: int) -> bytes:
    """`everywhere` with the number in each place, as Avro has it."""
    one = body(local("local-timestamp-millis"), number)
    null_or, only = b"\2" + one, b"\2" + one + b"\0"
    return null_or + only + b"\2\2k" + one + b"\0" + null_or
