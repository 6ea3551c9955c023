"""TIMESTAMP_NTZ without a JVM: the number that a writer wrote is the same clock time to the deserializer, to a worker's batch,
and back again, for every 64-bit number.

| number | row |
|---|---|
| the years 1 to 9999, in whole microseconds | that clock time, before 1970 too, wherever it stands |
| beyond them; nanoseconds that are no whole microsecond | a bad row, to both |
"""

from __future__ import annotations

import datetime
from typing import Final

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import BadRow, Reason, SerdeContext, deserialize_many
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.wire import SchemaId, frame_id
from tests.serde.avro_schemas import array, logical, record
from tests.serde.spark.jvm.plans import Json, plan_of

LOCAL_UNITS: Final = {"local-timestamp-millis": 10**3, "local-timestamp-micros": 10**6, "local-timestamp-nanos": 10**9}
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_FIRST, _LAST = -62_135_596_800, 253_402_300_800
"""Seconds of the year 1, and of the year 10000."""
LOCAL_COLUMNS: Final = (
    "SEEN TIMESTAMP_NTZ, EACH ARRAY<TIMESTAMP_NTZ>, NAMED MAP<STRING, TIMESTAMP_NTZ>, ROW_ STRUCT<SEEN TIMESTAMP_NTZ>"
)


@st.composite
def local_numbers(draw: st.DrawFn) -> tuple[str, int]:
    """A unit and a number of it: mostly near 1970, the first and last year, an hour that New York's clocks skipped or had
    twice, and the ends of 64 bits."""
    word = draw(st.sampled_from(sorted(LOCAL_UNITS)))
    near = draw(st.sampled_from([0, _FIRST, _LAST, 1_710_037_800, 1_730_611_800])) * LOCAL_UNITS[word]
    number = draw(
        st.integers(near - 2_000, near + 2_000)
        | st.integers(_FIRST, _LAST).map(lambda second: second * LOCAL_UNITS[word])
        | st.integers(-(2**63), 2**63 - 1)
    )
    return word, min(max(number, -(2**63)), 2**63 - 1)


def meant(word: str, number: int) -> datetime.datetime | Reason:
    """What the number says, by whole numbers alone."""
    micros, rest = divmod(number * 10**6, LOCAL_UNITS[word])
    if not _FIRST * 10**6 <= micros < _LAST * 10**6 or rest:
        return Reason.OVERFLOW
    return _EPOCH + datetime.timedelta(microseconds=micros)


def everywhere(type_: Json) -> Json:
    """A record with the type in each place."""
    inner = record("In", SEEN=["null", type_])
    return record(SEEN=["null", type_], EACH=array(type_), NAMED={"type": "map", "values": type_}, ROW_=inner)


def _zigzag(number: int) -> bytes:
    rest, parts = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        parts.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*parts, rest])


def local_body(number: int) -> bytes:
    """`everywhere` with the number in each place, as Avro has it."""
    one = _zigzag(number)
    null_or, only = b"\2" + one, b"\2" + one + b"\0"
    return null_or + only + b"\2\2k" + one + b"\0" + null_or


@given(drawn=st.lists(local_numbers(), min_size=1, max_size=8))
def test_a_number_is_the_same_clock_time_to_the_deserializer_and_a_worker(
    drawn: list[tuple[str, int]],
) -> None:
    words = sorted(LOCAL_UNITS)
    plan = plan_of(LOCAL_COLUMNS, *(everywhere(logical("long", word)) for word in words))
    payloads = [frame_id(SchemaId(words.index(word) + 1), local_body(number)) for word, number in drawn]
    rows = deserialize_many(payloads, SerdeContext("t"), plan.deserializer(), on_error="quarantine")
    batch = PlanDecoder(plan)(pa.array(payloads, pa.binary())).to_pylist()
    for (word, number), row, got in zip(drawn, rows, batch, strict=True):
        wanted = meant(word, number)
        if isinstance(wanted, Reason):
            assert isinstance(row, BadRow), (word, number)
            assert (row.reason, got["row"], got["reason"]) == (wanted, None, wanted.value), (word, number)
        else:
            each = {"SEEN": wanted, "EACH": [wanted], "NAMED": {"k": wanted}, "ROW_": {"SEEN": wanted}}
            assert row == each
            assert got["row"] == {**each, "NAMED": [("k", wanted)]}
