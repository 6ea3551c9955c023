"""Each form written and read again gives the same, and no bytes raise anything but a FormatError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.errors import FormatError
from srfix.recovery.state import formats as f
from tests.recovery.state.formats.test_golden import DECODERS

BYTES = st.binary(max_size=40)
TIMES = st.integers(0, 2**63 - 1)
NUMBERS = st.integers(0, 2**31 - 1)
HEADERS = st.lists(st.tuples(st.text(max_size=9), st.none() | BYTES), max_size=4).map(tuple)


@given(payload=BYTES, timestamp=st.none() | TIMES, headers=HEADERS)
def test_values(payload: bytes, timestamp: int | None, headers: f.Headers) -> None:
    told = f.StoredValue(payload=payload, timestamp_ms=timestamp, headers=headers)
    assert f.decode_with_headers(f.encode_with_headers(payload, timestamp, headers)) == told
    plain = f.decode_timestamped(f.encode_timestamped(payload, timestamp))
    assert plain == f.StoredValue(payload=payload, timestamp_ms=timestamp)
    session = f.decode_aggregate_with_headers(f.encode_aggregate_with_headers(payload, headers))
    assert session == f.StoredValue(payload=payload, headers=headers)


@given(key=st.builds(f.WindowStoreKey, key=BYTES, start_ms=TIMES, sequence_number=NUMBERS))
def test_windows(key: f.WindowStoreKey) -> None:
    assert f.decode_window_store_key(f.encode_window_store_key(key)) == key
    assert f.decode_time_first_window_key(f.encode_time_first_window_key(key)) == key
    assert f.decode_key_first_window_key(f.encode_key_first_window_key(key)) == key


@given(key=BYTES, times=st.tuples(TIMES, TIMES).map(sorted))
def test_sessions(key: bytes, times: list[int]) -> None:
    session = f.SessionKey(key=key, start_ms=times[0], end_ms=times[1])
    assert f.decode_session_key(f.encode_session_key(session)) == session
    assert f.decode_time_first_session_key(f.encode_time_first_session_key(session)) == session
    assert f.decode_key_first_session_key(f.encode_key_first_session_key(session)) == session


@given(
    entries=st.lists(st.none() | BYTES, max_size=5).map(tuple),
    key=st.builds(f.JoinSideKey, key=BYTES, timestamp_ms=TIMES, side=st.sampled_from(f.Side)),
    value=st.builds(f.SidedValue, payload=BYTES, side=st.sampled_from(f.Side)),
)
def test_lists(entries: tuple[bytes | None, ...], key: f.JoinSideKey, value: f.SidedValue) -> None:
    assert f.decode_list(f.encode_list(entries)) == entries
    assert f.decode_join_side_key(f.encode_join_side_key(key)) == key
    assert f.decode_sided_value(f.encode_sided_value(value)) == value


@given(
    times=st.lists(TIMES, min_size=2, max_size=7, unique=True),
    payloads=st.lists(st.none() | BYTES, min_size=6, max_size=6),
    key=st.builds(f.VersionedKey, key=BYTES, segment=st.integers(-1, 2**63 - 1)),
)
def test_versions(times: list[int], payloads: list[bytes | None], key: f.VersionedKey) -> None:
    descending = sorted(times, reverse=True)
    records = tuple(
        f.VersionedRecord(payload=payload, valid_from_ms=begin, valid_to_ms=end)
        for payload, end, begin in zip(payloads, descending, descending[1:], strict=False)
    )
    segment = f.decode_versioned_segment(f.encode_versioned_segment(records))
    assert (segment.records, segment.next_ms) == (records, descending[0])
    assert f.decode_versioned_key(f.encode_versioned_key(key)) == key


@given(
    key=st.builds(f.CombinedKey, foreign_key=BYTES, primary_key=BYTES),
    instruction=st.integers(0, 3),
    hash_=st.none() | st.binary(min_size=16, max_size=16),
    partition=st.none() | NUMBERS,
)
def test_subscriptions(key: f.CombinedKey, instruction: int, hash_: bytes | None, partition: int | None) -> None:
    assert f.decode_combined_key(f.encode_combined_key(key)) == key
    value = f.Subscription(
        version=0 if partition is None else 1,
        instruction=instruction,
        hash=hash_,
        primary_key=key.primary_key,
        primary_partition=partition,
    )
    assert f.decode_subscription(f.encode_subscription(value)) == value


@given(
    value=st.builds(
        f.BufferedValue,
        context=st.builds(
            f.RecordContext,
            timestamp_ms=TIMES,
            offset=TIMES,
            topic=st.text(max_size=9),
            partition=NUMBERS,
            headers=st.none() | HEADERS,
        ),
        prior=st.none() | BYTES,
        old=st.none() | BYTES,
        new=st.none() | BYTES,
        buffer_time_ms=TIMES,
    )
)
def test_suppressions(value: f.BufferedValue) -> None:
    assert f.decode_buffered_value(f.encode_buffered_value(value)) == value


@given(places=st.dictionaries(st.tuples(st.text(min_size=1, max_size=9), NUMBERS), TIMES, max_size=5))
def test_positions(places: dict[tuple[str, int], int]) -> None:
    said = sorted((topic, partition, offset) for (topic, partition), offset in places.items())
    assert sorted(f.decode_position(f.encode_position(said) + b"\0" * 7)) == said


@pytest.mark.parametrize("decode", DECODERS)
@given(stored=st.binary(max_size=80))
def test_hostile_bytes(decode: Callable[[bytes], Any], stored: bytes) -> None:
    with suppress(FormatError):
        decode(stored)
