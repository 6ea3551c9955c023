"""A second model of the stores' byte formats, written from the table of the formats and not from the codecs: the two must
agree, and whatever is in a directory the codecs answer with a value or a `FormatError`.

Vectors: bytes that Kafka's classes made (4.3.0), and rows that 4.3.1 left on disk.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from struct import pack
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.errors import FormatError
from srfix.recovery.state.checkpoints import CheckpointEntry, decode_position
from srfix.recovery.state.formats.joins import (
    CombinedKey,
    JoinSideKey,
    Side,
    SidedValue,
    Subscription,
    decode_combined_key,
    decode_join_side_key,
    decode_list,
    decode_sided_value,
    decode_subscription,
    encode_list,
    encode_sided_value,
)
from srfix.recovery.state.formats.values import (
    PLAIN,
    TIMESTAMPED,
    VALUES,
    WITH_HEADERS,
    Headers,
    StoredValue,
    decode_aggregate_with_headers,
    decode_timestamped,
    decode_with_headers,
    encode_aggregate_with_headers,
    encode_timestamped,
    encode_with_headers,
)
from srfix.recovery.state.formats.versioned import (
    VersionedRecord,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
    encode_latest,
    encode_versioned_key,
    encode_versioned_segment,
    versioned_segment_interval_ms,
)
from srfix.recovery.state.formats.windows import SESSIONS, WINDOWS, StoredWindow
from srfix.serde.subjects.names import Topic
from tests.recovery.state.encoding import (
    encode_combined_key,
    encode_join_side_key,
    encode_position,
    encode_subscription,
)
from tests.recovery.state.suppression import (
    BufferedValue,
    RecordContext,
    decode_buffered_value,
    encode_buffered_value,
)

INT: Final = st.integers(0, 2**31 - 1)
LONG: Final = st.integers(0, 2**63 - 1)
SIGNED_LONG: Final = st.integers(-(2**63), 2**63 - 1)
# With keys of null bytes, empty ones, and ones that look like other parts of a row.
RAW: Final = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"\0", b"\0" * 12, b"\xff" * 8, b"\1k1"]))
NAMES: Final = st.text(st.characters(codec="utf-8"), max_size=12)
HEADERS: Final = st.lists(st.tuples(NAMES, st.none() | RAW), max_size=4).map(tuple)

WINDOWED: Final = {
    f"{way}_{form}{name}_key": getattr(keys, f"{way}_{form}".rstrip("_"))
    for name, keys in (("window", WINDOWS), ("session", SESSIONS))
    for form in ("", "time_first_", "key_first_")
    for way in ("decode", "encode")
}
CODECS: Final[dict[str, Callable[..., Any]]] = WINDOWED | {
    name: function for name, function in globals().items() if name.startswith(("decode_", "encode_"))
}
DECODERS: Final[dict[str, Callable[[bytes], Any]]] = {
    name: function for name, function in CODECS.items() if name.startswith("decode_")
}


def varint(number: int) -> bytes:
    """`ByteUtils.writeVarint`: zigzag, seven bits a byte, the low ones first."""
    rest = number * 2 if number >= 0 else -number * 2 - 1
    out = b""
    while True:
        out += bytes([rest % 128 + (128 if rest >= 128 else 0)])
        rest //= 128
        if not rest:
            return out


def headers_of(headers: Headers) -> bytes:
    if not headers:
        return b"\0"
    body = varint(len(headers))
    for name, value in headers:
        body += varint(len(name.encode())) + name.encode()
        body += b"\1" if value is None else varint(len(value)) + value
    return varint(len(body)) + body


def sized(value: bytes | None) -> bytes:
    return pack(">i", -1) if value is None else pack(">i", len(value)) + value


ONE: Final = VersionedRecord(payload=b"v1", valid_from_ms=1_000, valid_to_ms=2_000)
TWO: Final = VersionedRecord(payload=b"v22", valid_from_ms=2_000, valid_to_ms=3_000)
GONE: Final = VersionedRecord(payload=None, valid_from_ms=5_000, valid_to_ms=5_000)
IN_WINDOW: Final = (b"k1", StoredWindow(60_000))
IN_SESSION: Final = (b"k1", StoredWindow(1_000, 5_000))
USERS: Final = CheckpointEntry(topic=Topic("users"), partition=0, offset=41)
# What `encode_` of the name takes, and the bytes of Kafka's class.
GOLDEN: Final[list[tuple[str, tuple[Any, ...], str]]] = [
    ("timestamped", (b"v1", 1_000), "00000000000003e87631"),
    ("timestamped", (b"v1", None), "ffffffffffffffff7631"),
    ("window_key", IN_WINDOW, "6b31000000000000ea6000000000"),
    ("time_first_window_key", IN_WINDOW, "00000000000000ea606b3100000000"),
    ("key_first_window_key", IN_WINDOW, "016b31000000000000ea6000000000"),
    ("session_key", IN_SESSION, "6b31000000000000138800000000000003e8"),
    ("time_first_session_key", IN_SESSION, "00000000000000138800000000000003e86b31"),
    ("list", ((b"v1", b"v22"),), "010000000200000002763100000003763232"),
    ("join_side_key", (JoinSideKey(key=b"k1", timestamp_ms=1_000, side=Side.LEFT),), "00000000000003e8016b31"),
    ("sided_value", (SidedValue(payload=b"v1", side=Side.LEFT),), "017631"),
    ("latest", (VersionedRecord(payload=b"v1", valid_from_ms=1_000, valid_to_ms=None),), "00000000000003e87631"),
    ("versioned_segment", ((ONE,),), "00000000000007d000000000000003e800000000000003e8000000027631"),
    (
        "versioned_segment",
        ((TWO, ONE),),
        "0000000000000bb800000000000003e800000000000007d00000000300000000000003e8000000027631763232",
    ),
    ("with_headers", (b"v1", 1_000, (("h", b"x"), ("n", None))), "100402680278026e0100000000000003e87631"),
    ("combined_key", (CombinedKey(foreign_key=b"b1", primary_key=b"a1"),), "0000000262316131"),
    # As 4.3.1 left it: a tombstone that nothing precedes is one record of no duration.
    ("versioned_segment", ((GONE,),), "0000000000001388" * 3 + "ffffffff"),
    ("position", ((USERS,),), "000000000100000005757365727300000001000000000000000000000029"),
]


class TestGoldenVectors:
    @pytest.mark.parametrize(("name", "given_", "stored"), GOLDEN)
    def test_both_ways(self, name: str, given_: tuple[Any, ...], stored: str) -> None:
        assert CODECS[f"encode_{name}"](*given_).hex() == stored
        told = DECODERS[f"decode_{name}"](bytes.fromhex(stored))
        match told:
            case StoredValue():
                assert (told.payload, told.timestamp_ms, told.headers)[: len(given_)] == given_
            case (bytes(), StoredWindow()):
                assert told == given_
            case _:
                assert told == given_[0]

    def test_a_position_has_zeros_behind_it_up_to_205_bytes(self) -> None:
        stored = encode_position([USERS])
        assert decode_position(stored + bytes(205 - len(stored))) == (USERS,)
        assert decode_position(bytes(40)) == ()  # of a versioned store of 4.3.1

    def test_no_headers_are_one_byte(self) -> None:
        assert encode_with_headers(b"v1", 1_000, ()).hex() == "0000000000000003e87631"
        assert decode_aggregate_with_headers(b"\0agg") == StoredValue(payload=b"agg")

    def test_a_column_family_says_the_form_of_its_rows(self) -> None:
        row = encode_with_headers(b"v1", 1_000, (("h", b"x"),))
        assert VALUES[PLAIN].decode(row) == StoredValue(payload=row)
        assert VALUES[TIMESTAMPED].decode(bytes(8) + row) == StoredValue(payload=row, timestamp_ms=0)
        told = StoredValue(payload=b"v1", timestamp_ms=1_000, headers=(("h", b"x"),))
        assert VALUES[WITH_HEADERS].decode(row) == told

    @pytest.mark.parametrize(
        ("retention_s", "interval_s"), [(3, 2), (60, 20), (90, 20), (300, 60), (600, 60), (3_600, 300), (86_400, 3_600)]
    )
    def test_how_much_time_a_segment_covers(self, retention_s: int, interval_s: int) -> None:
        assert versioned_segment_interval_ms(retention_s * 1_000) == interval_s * 1_000

    def test_a_timestamp_of_minus_one_is_none_and_an_empty_value_is_no_tombstone(self) -> None:
        assert decode_timestamped(b"\xff" * 8) == StoredValue(payload=b"", timestamp_ms=None)
        latest = VersionedRecord(payload=b"", valid_from_ms=-1, valid_to_ms=None)
        assert decode_latest(b"\xff" * 8) == latest
        assert encode_latest(latest) == b"\xff" * 8


class TestTwoModelsAgree:
    @given(RAW, st.none() | SIGNED_LONG.filter(lambda ms: ms != -1))
    def test_on_a_value_with_its_timestamp(self, payload: bytes, timestamp_ms: int | None) -> None:
        stored = pack(">q", -1 if timestamp_ms is None else timestamp_ms) + payload
        assert encode_timestamped(payload, timestamp_ms) == stored
        assert decode_timestamped(stored) == StoredValue(payload=payload, timestamp_ms=timestamp_ms)

    @given(RAW, LONG, HEADERS)
    def test_on_values_with_headers(self, payload: bytes, timestamp_ms: int, headers: Headers) -> None:
        stored = headers_of(headers) + pack(">q", timestamp_ms) + payload
        assert encode_with_headers(payload, timestamp_ms, headers) == stored
        value = StoredValue(payload=payload, timestamp_ms=timestamp_ms, headers=headers)
        assert decode_with_headers(stored) == value
        stored = headers_of(headers) + payload
        assert encode_aggregate_with_headers(payload, None, headers) == stored
        assert decode_aggregate_with_headers(stored) == StoredValue(payload=payload, headers=headers)

    @given(RAW, LONG, INT)
    def test_on_keys_of_windows(self, key: bytes, start: int, number: int) -> None:
        within = (key, StoredWindow(start, None, number))
        time, last = pack(">q", start), pack(">i", number)
        assert WINDOWS.encode(*within) == key + time + last
        assert WINDOWS.encode_time_first(*within) == b"\0" + time + key + last
        assert WINDOWS.encode_key_first(*within) == b"\1" + key + time + last
        assert WINDOWS.decode(key + time + last) == within
        assert WINDOWS.decode_many([key + time + last]) == ([key], [within[1]])
        assert WINDOWS.decode_time_first(b"\0" + time + key + last) == within
        assert WINDOWS.decode_key_first(b"\1" + key + time + last) == within

    @given(RAW, st.tuples(LONG, LONG).map(sorted))
    def test_on_keys_of_sessions(self, key: bytes, times: list[int]) -> None:
        start, end = times
        session = (key, StoredWindow(start, end))
        both = pack(">qq", end, start)
        assert SESSIONS.encode(*session) == key + both
        assert SESSIONS.encode_time_first(*session) == b"\0" + both + key
        assert SESSIONS.encode_key_first(*session) == b"\1" + key + both
        assert SESSIONS.decode(key + both) == session
        assert SESSIONS.decode_many([key + both]) == ([key], [session[1]])
        assert SESSIONS.decode_time_first(b"\0" + both + key) == session
        assert SESSIONS.decode_key_first(b"\1" + key + both) == session

    @given(st.lists(st.none() | RAW, max_size=5), RAW, SIGNED_LONG, st.sampled_from(Side))
    def test_on_lists_of_joins(self, entries: list[bytes | None], key: bytes, time: int, side: Side) -> None:
        stored = b"\1" + pack(">i", len(entries)) + b"".join(sized(entry) for entry in entries)
        assert encode_list(entries) == stored
        assert decode_list(stored) == tuple(entries)
        first = b"\1" if side is Side.LEFT else b"\0"
        of_key = JoinSideKey(key=key, timestamp_ms=time, side=side)
        assert encode_join_side_key(of_key) == pack(">q", time) + first + key
        assert decode_join_side_key(pack(">q", time) + first + key) == of_key
        assert encode_sided_value(SidedValue(payload=key, side=side)) == first + key
        assert decode_sided_value(first + key) == SidedValue(payload=key, side=side)

    @given(st.lists(LONG, min_size=2, max_size=6, unique=True), st.data())
    def test_on_a_segment_of_versions(self, times: list[int], data: st.DataObject) -> None:
        times.sort(reverse=True)
        payloads = [data.draw(st.none() | RAW) for _ in times[1:]]
        entries = b"".join(
            pack(">qi", begin, -1 if payload is None else len(payload))
            for begin, payload in zip(times[1:], payloads, strict=True)
        )
        stored = pack(">qq", times[0], times[-1]) + entries + b"".join(payload or b"" for payload in payloads[::-1])
        records = tuple(
            VersionedRecord(payload=payload, valid_from_ms=begin, valid_to_ms=end)
            for end, begin, payload in zip(times, times[1:], payloads, strict=False)
        )
        assert encode_versioned_segment(records) == stored
        assert decode_versioned_segment(stored) == records

    @given(RAW, st.just(-1) | LONG)
    def test_on_keys_of_versions(self, key: bytes, segment: int) -> None:
        assert encode_versioned_key(key, segment) == pack(">q", segment) + key
        assert decode_versioned_key(pack(">q", segment) + key) == (key, segment)

    @given(RAW, RAW, st.none() | st.binary(min_size=16, max_size=16), st.integers(0, 3), st.none() | INT)
    def test_on_subscriptions(
        self, foreign: bytes, primary: bytes, digest: bytes | None, instruction: int, partition: int | None
    ) -> None:
        pair = CombinedKey(foreign_key=foreign, primary_key=primary)
        assert encode_combined_key(pair) == sized(foreign) + primary
        assert decode_combined_key(sized(foreign) + primary) == pair
        version = 0 if partition is None else 1
        stored = bytes([version + (128 if digest is None else 0), instruction]) + (digest or b"") + primary
        stored += b"" if partition is None else pack(">i", partition)
        value = Subscription(
            version=version, instruction=instruction, hash=digest, primary_key=primary, primary_partition=partition
        )
        assert encode_subscription(value) == stored
        assert decode_subscription(stored) == value

    @given(st.tuples(st.none() | RAW, st.none() | RAW, st.none() | RAW), NAMES, LONG, INT, st.none() | HEADERS)
    def test_on_what_a_suppression_holds_back(
        self, values: tuple[bytes | None, ...], topic: str, number: int, partition: int, headers: Headers | None
    ) -> None:
        prior, old, new = values
        stored = pack(">qq", number, number) + sized(topic.encode()) + pack(">i", partition)
        stored += pack(">i", -1 if headers is None else len(headers))
        stored += b"".join(sized(name.encode()) + sized(value) for name, value in headers or ()) + sized(prior)
        stored += pack(">i", -2) if old is not None and old == prior else sized(old)
        stored += sized(new) + pack(">q", number)
        context = RecordContext(timestamp_ms=number, offset=number, topic=topic, partition=partition, headers=headers)
        value = BufferedValue(context=context, prior=prior, old=old, new=new, buffer_time_ms=number)
        assert encode_buffered_value(value) == stored
        assert decode_buffered_value(stored) == value


class TestHostileBytes:
    @pytest.mark.parametrize("name", DECODERS)
    def test_nothing_is_no_row(self, name: str) -> None:
        with pytest.raises(FormatError):
            DECODERS[name](b"")

    @pytest.mark.parametrize("name", DECODERS)
    @given(stored=st.binary(max_size=80))
    def test_are_a_value_or_a_format_error(self, name: str, stored: bytes) -> None:
        try:
            DECODERS[name](stored)
        except FormatError:
            return

    @pytest.mark.parametrize(
        ("name", "head"),
        [
            ("decode_list", "017fffffff"),
            ("decode_list", "01000000017fffffff"),
            ("decode_position", "007fffffff"),
            ("decode_position", "00000000017fffffff"),
            ("decode_position", "000000000100000000" + "7fffffff"),
            ("decode_combined_key", "7fffffff"),
            ("decode_with_headers", "feffffff0f" + "feffffff0f"),
            ("decode_with_headers", "0a" + "feffffff0f"),
            ("decode_buffered_value", "00" * 16 + "0000000174" + "00000000" + "7fffffff"),
            ("decode_versioned_segment", "7fffffffffffffff" + "00" * 8 + "0000000000000000" + "7fffffff"),
        ],
    )
    def test_announce_more_than_there_is_and_nothing_is_set_aside_for_it(self, name: str, head: str) -> None:
        stored = bytes.fromhex(head)
        tracemalloc.start()
        try:
            with pytest.raises(FormatError):
                DECODERS[name](stored)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000

    @pytest.mark.parametrize(
        ("name", "stored"),
        [
            ("decode_list", "01ffffffff"),
            ("decode_list", "0100000001fffffffe"),
            # The first entry's length leads back to the count, from where a careless reader comes to the end.
            ("decode_list", "0100000004fffffff8" + "00" * 8),
            ("decode_position", "00ffffffff"),
            ("decode_position", "0000000001ffffffff"),
            ("decode_position", "000000000100000000ffffffff"),
            ("decode_combined_key", "ffffffff"),
            ("decode_with_headers", "01" + "00" * 8),
            ("decode_with_headers", "0201" + "00" * 8),
            ("decode_buffered_value", "00" * 16 + "ffffffff" + "00" * 40),
            ("decode_buffered_value", "00" * 16 + "0000000174" + "00000000" + "fffffffe" + "00" * 40),
            ("decode_versioned_key", "fffffffffffffffe"),
            ("decode_window_key", "ffffffffffffffff00000000"),
            ("decode_time_first_window_key", "00ffffffffffffffff00000000"),
            ("decode_session_key", "0000000000000001" + "0000000000000002"),
            # Cut short, or of an unknown version or instruction.
            *(("decode_subscription", each) for each in ("00", "0000", "0100", "8100", "0200", "8004")),
            *(("decode_subscription", each) for each in ("0100" + "00" * 19, "0000" + "00" * 15)),
            # Of more than 32 bits, or without an end.
            *(("decode_with_headers", each) for each in ("8080808080", "808080808000", "ffffffff1f")),
            *(("decode_with_headers", each) for each in ("ffffffffff7f", "80", "")),
        ],
    )
    def test_with_a_length_count_or_time_that_cannot_be_are_refused(self, name: str, stored: str) -> None:
        with pytest.raises(FormatError):
            DECODERS[name](bytes.fromhex(stored))

    @pytest.mark.parametrize(
        ("family", "stored", "reason"),
        [
            (TIMESTAMPED, "00", "1 byte, but its timestamp alone needs 8"),
            (WITH_HEADERS, "10ff", "headers claim 8 bytes, but 1 byte follow"),
            (WITH_HEADERS, "01", "headers claim -1 bytes"),
            (WITH_HEADERS, "0203", "claims -2 headers"),
            (WITH_HEADERS, "0402020000000000000003e8", "claims 1 byte, but 0 bytes follow"),
            (WITH_HEADERS, "060201010000000000000003e8", "has no name"),
            (WITH_HEADERS, "0400000000000000000003e8", "1 byte too many after its headers"),
        ],
    )
    def test_a_garbled_row_is_refused_with_what_is_wrong(self, family: str, stored: str, reason: str) -> None:
        with pytest.raises(FormatError, match=reason):
            VALUES[family].decode(bytes.fromhex(stored))


class TestWhatNoStoreHolds:
    @pytest.mark.parametrize(
        "encode",
        [
            lambda: encode_timestamped(b"", 2**63),
            lambda: encode_with_headers(b"", 0, (("\ud800", b""),)),
            lambda: encode_aggregate_with_headers(b"", None, (("\ud800", b""),)),
            lambda: WINDOWS.encode(b"", StoredWindow(0, None, 2**31)),
            lambda: WINDOWS.encode_time_first(b"", StoredWindow(-1)),
            lambda: SESSIONS.encode(b"", StoredWindow(2, 1)),
            lambda: encode_join_side_key(JoinSideKey(key=b"", timestamp_ms=2**63, side=Side.LEFT)),
            lambda: encode_position([CheckpointEntry(topic=Topic("t"), partition=2**31, offset=0)]),
            lambda: encode_versioned_key(b"", 2**63),
            lambda: encode_versioned_segment(()),
            lambda: encode_subscription(subscription(partition=2**31)),
            lambda: encode_subscription(subscription(version=2, partition=0)),
            lambda: encode_buffered_value(buffered(offset=2**63)),
        ],
    )
    def test_is_a_format_error_and_no_error_of_python(self, encode: Callable[[], bytes]) -> None:
        with pytest.raises(FormatError):
            encode()


def subscription(*, version: int = 1, partition: int | None) -> Subscription:
    return Subscription(version=version, instruction=0, hash=None, primary_key=b"", primary_partition=partition)


def buffered(*, offset: int) -> BufferedValue:
    context = RecordContext(timestamp_ms=0, offset=offset, topic="t", partition=0)
    return BufferedValue(context=context, prior=None, old=None, new=None, buffer_time_ms=0)
