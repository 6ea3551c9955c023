"""Bytes that Kafka's own classes made (4.3.0), both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from srfix.recovery.errors import FormatError
from srfix.recovery.state import formats as f

K1, V1, V22 = b"k1", b"v1", b"v22"
WINDOW = f.WindowStoreKey(key=K1, start_ms=60_000, sequence_number=0)
SESSION = f.SessionKey(key=K1, start_ms=1_000, end_ms=5_000)
ONE = f.VersionedRecord(payload=V1, valid_from_ms=1_000, valid_to_ms=2_000)
TWO = f.VersionedRecord(payload=V22, valid_from_ms=2_000, valid_to_ms=3_000)
HEADERS = (("h", b"x"), ("n", None))

GOLDEN: list[tuple[str, str, Callable[[bytes], Any], Any, Callable[[], bytes]]] = [
    (
        "a value with its timestamp",
        "00000000000003e87631",
        f.decode_timestamped,
        f.StoredValue(payload=V1, timestamp_ms=1_000),
        lambda: f.encode_timestamped(V1, 1_000),
    ),
    (
        "a key in a window store",
        "6b31000000000000ea6000000000",
        f.decode_window_store_key,
        WINDOW,
        lambda: f.encode_window_store_key(WINDOW),
    ),
    (
        "a key in a session store",
        "6b31000000000000138800000000000003e8",
        f.decode_session_key,
        SESSION,
        lambda: f.encode_session_key(SESSION),
    ),
    (
        "a window's key, time first",
        "00000000000000ea606b3100000000",
        f.decode_time_first_window_key,
        WINDOW,
        lambda: f.encode_time_first_window_key(WINDOW),
    ),
    (
        "a window's key in the index",
        "016b31000000000000ea6000000000",
        f.decode_key_first_window_key,
        WINDOW,
        lambda: f.encode_key_first_window_key(WINDOW),
    ),
    (
        "a session's key, time first",
        "00000000000000138800000000000003e86b31",
        f.decode_time_first_session_key,
        SESSION,
        lambda: f.encode_time_first_session_key(SESSION),
    ),
    (
        "a list",
        "010000000200000002763100000003763232",
        f.decode_list,
        (V1, V22),
        lambda: f.encode_list((V1, V22)),
    ),
    (
        "a join's key",
        "00000000000003e8016b31",
        f.decode_join_side_key,
        f.JoinSideKey(key=K1, timestamp_ms=1_000, side=f.Side.LEFT),
        lambda: f.encode_join_side_key(f.JoinSideKey(key=K1, timestamp_ms=1_000, side=f.Side.LEFT)),
    ),
    (
        "an entry of a join's list",
        "017631",
        f.decode_sided_value,
        f.SidedValue(payload=V1, side=f.Side.LEFT),
        lambda: f.encode_sided_value(f.SidedValue(payload=V1, side=f.Side.LEFT)),
    ),
    (
        "a latest value",
        "00000000000003e87631",
        f.decode_latest,
        f.VersionedRecord(payload=V1, valid_from_ms=1_000, valid_to_ms=None),
        lambda: f.encode_latest(f.VersionedRecord(payload=V1, valid_from_ms=1_000, valid_to_ms=None)),
    ),
    (
        "a segment with one record",
        "00000000000007d000000000000003e800000000000003e8000000027631",
        f.decode_versioned_segment,
        f.VersionedSegment(records=(ONE,)),
        lambda: f.encode_versioned_segment((ONE,)),
    ),
    (
        "a segment with two records",
        "0000000000000bb800000000000003e800000000000007d00000000300000000000003e8000000027631763232",
        f.decode_versioned_segment,
        f.VersionedSegment(records=(TWO, ONE)),
        lambda: f.encode_versioned_segment((TWO, ONE)),
    ),
    (
        "a value with timestamp and headers",
        "100402680278026e0100000000000003e87631",
        f.decode_with_headers,
        f.StoredValue(payload=V1, timestamp_ms=1_000, headers=HEADERS),
        lambda: f.encode_with_headers(V1, 1_000, HEADERS),
    ),
    (
        "a position",
        "000000000100000005757365727300000001000000000000000000000029",
        f.decode_position,
        (("users", 0, 41),),
        lambda: f.encode_position([("users", 0, 41)]),
    ),
    (
        "a key of a foreign-key subscription (from a store of 4.3.1)",
        "0000000262316131",
        f.decode_combined_key,
        f.CombinedKey(foreign_key=b"b1", primary_key=b"a1"),
        lambda: f.encode_combined_key(f.CombinedKey(foreign_key=b"b1", primary_key=b"a1")),
    ),
    (
        "a foreign-key subscription (from a store of 4.3.1)",
        "010353e8c9d7d878347154ac2a8a384ebab8613100000000",
        f.decode_subscription,
        f.Subscription(
            version=1,
            instruction=3,
            hash=bytes.fromhex("53e8c9d7d878347154ac2a8a384ebab8"),
            primary_key=b"a1",
            primary_partition=0,
        ),
        lambda: f.encode_subscription(
            f.Subscription(
                version=1,
                instruction=3,
                hash=bytes.fromhex("53e8c9d7d878347154ac2a8a384ebab8"),
                primary_key=b"a1",
                primary_partition=0,
            )
        ),
    ),
]


@pytest.mark.parametrize(
    ("hexadecimal", "decode", "said", "encode"), [g[1:] for g in GOLDEN], ids=[g[0] for g in GOLDEN]
)
def test_golden_vector(
    hexadecimal: str, decode: Callable[[bytes], Any], said: Any, encode: Callable[[], bytes]
) -> None:
    assert decode(bytes.fromhex(hexadecimal)) == said
    assert encode().hex() == hexadecimal


def test_zeros_behind_a_position_are_ignored() -> None:
    stored = bytes.fromhex("000000000100000005757365727300000001000000000000000000000029").ljust(205, b"\0")
    assert f.decode_position(stored) == (("users", 0, 41),)


def test_no_headers_are_one_byte() -> None:
    assert f.encode_with_headers(V1, 1_000, ()).hex() == "0000000000000003e87631"
    assert f.decode_aggregate_with_headers(b"\0agg") == f.StoredValue(payload=b"agg")


def test_a_timestamp_of_minus_one_is_none() -> None:
    assert f.decode_timestamped(b"\xff" * 8 + V1) == f.StoredValue(payload=V1, timestamp_ms=None)
    assert f.encode_timestamped(V1, None) == b"\xff" * 8 + V1


def test_a_segment_of_one_tombstone_that_nothing_precedes_begins_where_it_ends() -> None:
    record = f.VersionedRecord(payload=None, valid_from_ms=7, valid_to_ms=7)
    stored = f.encode_versioned_segment((record,))
    assert stored.hex() == "000000000000000700000000000000070000000000000007ffffffff"
    assert f.decode_versioned_segment(stored) == f.VersionedSegment(records=(record,))


@pytest.mark.parametrize(
    ("retention_s", "interval_s"), [(3, 2), (60, 20), (90, 20), (300, 60), (600, 60), (3_600, 300), (86_400, 3_600)]
)
def test_how_much_time_a_segment_covers(retention_s: int, interval_s: int) -> None:
    assert f.versioned_segment_interval_ms(retention_s * 1_000) == interval_s * 1_000


DECODERS = [
    f.decode_timestamped,
    f.decode_with_headers,
    f.decode_aggregate_with_headers,
    f.decode_window_store_key,
    f.decode_time_first_window_key,
    f.decode_key_first_window_key,
    f.decode_session_key,
    f.decode_time_first_session_key,
    f.decode_key_first_session_key,
    f.decode_list,
    f.decode_join_side_key,
    f.decode_sided_value,
    f.decode_versioned_key,
    f.decode_latest,
    f.decode_versioned_segment,
    f.decode_combined_key,
    f.decode_subscription,
    f.decode_buffered_value,
    f.decode_position,
]


@pytest.mark.parametrize("decode", DECODERS)
def test_nothing_is_no_row(decode: Callable[[bytes], Any]) -> None:
    with pytest.raises(FormatError):
        decode(b"")


def test_no_memory_is_taken_for_a_number_that_is_only_announced() -> None:
    with pytest.raises(FormatError, match="cut short at entry 1"):
        f.decode_list(bytes.fromhex("017fffffff"))
    with pytest.raises(FormatError, match="cut short"):
        f.decode_position(bytes.fromhex("007fffffff"))
