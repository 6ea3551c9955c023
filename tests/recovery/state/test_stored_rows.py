"""Rows of key-value stores taken apart: the golden vectors, and whatever a store may hold."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.formats import Headers
from srfix.recovery.state.stored_rows import (
    PLAIN,
    ROW_FAMILIES,
    TIMESTAMPED,
    WITH_HEADERS,
    stored_value,
)

payloads = st.binary(max_size=40)
timestamps = st.integers(-(2**63), 2**63 - 1)
headers_of_records = st.lists(
    st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.none() | st.binary(max_size=80)),
    max_size=4,
)


def varint(number: int) -> bytes:
    """Kafka's `ByteUtils.writeVarint`, written anew."""
    zigzag = (number << 1) ^ (number >> 31)
    out = bytearray()
    while zigzag & ~0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def packed(headers: list[tuple[str, bytes | None]]) -> bytes:
    if not headers:
        return varint(0)
    out = varint(len(headers))
    for name, content in headers:
        raw = name.encode()
        out += varint(len(raw)) + raw
        out += varint(-1) if content is None else varint(len(content)) + content
    return varint(len(out)) + out


class TestGoldenVectors:
    def test_value_and_timestamp(self) -> None:
        assert stored_value(TIMESTAMPED, bytes.fromhex("00000000000003e87631")).payload == b"v1"

    def test_value_timestamp_and_headers(self) -> None:
        found = stored_value(WITH_HEADERS, bytes.fromhex("100402680278026e0100000000000003e87631"))
        assert found.payload == b"v1"
        assert found.headers == (("h", b"x"), ("n", None))

    def test_no_headers_are_one_zero(self) -> None:
        found = stored_value(WITH_HEADERS, bytes.fromhex("0000000000000003e87631"))
        assert (found.payload, found.headers) == (b"v1", ())


class TestAnyRow:
    @given(payload=payloads)
    def test_a_plain_one_is_its_payload(self, payload: bytes) -> None:
        assert stored_value(PLAIN, payload).payload == payload

    @given(payload=payloads, timestamp=timestamps)
    def test_a_timestamped_one_is_what_follows_the_timestamp(self, payload: bytes, timestamp: int) -> None:
        assert stored_value(TIMESTAMPED, timestamp.to_bytes(8, "big", signed=True) + payload).payload == payload

    @given(payload=payloads, timestamp=timestamps, headers=headers_of_records)
    def test_one_with_headers_keeps_them(
        self, payload: bytes, timestamp: int, headers: list[tuple[str, bytes | None]]
    ) -> None:
        found = stored_value(WITH_HEADERS, packed(headers) + timestamp.to_bytes(8, "big", signed=True) + payload)
        kept: Headers = tuple(headers)
        assert (found.payload, found.headers) == (payload, kept)

    @given(family=st.sampled_from(ROW_FAMILIES), value=st.binary(max_size=60))
    def test_garbage_is_taken_apart_or_refused(self, family: str, value: bytes) -> None:
        with suppress(StateDirectoryError):
            assert value.endswith(stored_value(family, value).payload)


@pytest.mark.parametrize(
    ("family", "stored", "reason"),
    [
        (TIMESTAMPED, "00", "a value has 1 byte, and its timestamp alone needs 8"),
        (WITH_HEADERS, "", "a size before the headers of a value is cut short, or is none"),
        (WITH_HEADERS, "ffffffffff01", "a size before the headers of a value is cut short, or is none"),
        (WITH_HEADERS, "10ff", "a value's headers would have 8 bytes, and 1 byte follow"),
        (WITH_HEADERS, "01", "a value's headers would have -1 bytes, and 0 bytes follow"),
        (WITH_HEADERS, "0203", "a value would have -2 headers"),
        (WITH_HEADERS, "0402020000000000000003e8", "a header of a value would have 1 bytes, and 0 bytes follow"),
        (WITH_HEADERS, "0402010000000000000003e8", "a size before the headers of a value is cut short, or is none"),
        (WITH_HEADERS, "060201010000000000000003e8", "a header of a value has no name"),
        (WITH_HEADERS, "0400000000000000000003e8", "1 byte are left behind the headers of a value"),
    ],
)
def test_a_garbled_row_is_refused(family: str, stored: str, reason: str) -> None:
    with pytest.raises(StateDirectoryError, match=f"^{re.escape(reason)}$"):
        stored_value(family, bytes.fromhex(stored))
