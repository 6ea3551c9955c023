"""The KAFKA format and windowed keys against Kafka's own serializers and Kafka Streams' own keys (3.9.2)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Final, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import CaseRule, DecodeError, Window, WindowKind, parse_columns, windowed
from srfix.serde.formats import kafka
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.stack.connect_process import float_text
from tests.stack.connect_rows import Connect, Refused, connect
from tests.stack.java_process import Json
from tests.stack.rows_of_columns import settled

pytestmark = pytest.mark.stack

MAX_LONG: Final = 2**63 - 1
VALUES: Final[dict[str, tuple[str, list[Value]]]] = {
    "Integer": ("INT", [0, 1, -1, 2**31 - 1, -(2**31)]),
    "Long": ("BIGINT", [0, 1, -1, 2**63 - 1, -(2**63)]),
    "Double": ("DOUBLE", [0.0, -0.0, 0.1, 5e-324, float("inf"), -float("inf"), float("nan")]),
    "String": ("STRING", ["", "x", "\0", "é", "€", "😀", "\uffff", "x" * 1000]),
    "Bytes": ("BYTES", [b"", b"\0", bytes(range(256))]),
    "ByteBuffer": ("BYTES", [b"", b"\0", bytes(range(256))]),
}
STRATEGIES: Final = {
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(),
    "STRING": st.text(),
    "BYTES": st.binary(),
}


@pytest.fixture(scope="module")
def java() -> Iterator[Connect]:
    with connect() as process:
        yield process


def _wire(value: Value) -> Json:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float():
            return float_text(value)
    return cast("Json", value)


def both_ways(java: Connect, kind: str, type_: str, values: list[Value]) -> None:
    columns = parse_columns(f"K {type_}")
    encode = kafka.encoder(None, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))
    decode = kafka.decoder(None, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))
    payloads = [encode({"K": value}, b"") for value in values]
    assert payloads == java.serialize(kind, [_wire(value) for value in values])
    assert java.deserialize(kind, payloads) == [_wire(value) for value in values]
    for payload, value in zip(payloads, values, strict=True):
        assert settled(decode(payload, 0)) == settled({"K": value})


class TestKafka:
    @pytest.mark.smoke
    @pytest.mark.parametrize("kind", VALUES)
    def test_each_type(self, java: Connect, kind: str) -> None:
        both_ways(java, kind, *VALUES[kind])

    @pytest.mark.parametrize("kind", VALUES)
    def test_generated(self, java: Connect, kind: str) -> None:
        type_, _ = VALUES[kind]

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(cast("st.SearchStrategy[Value]", STRATEGIES[type_]), min_size=5, max_size=5))
        def check(values: list[Value]) -> None:
            both_ways(java, kind, type_, values)

        check()

    @pytest.mark.parametrize("bits", [0x7FF8000000000001, -0x0008000000000000, 0x7FF0000000000001])
    def test_all_nans_are_one(self, java: Connect, bits: int) -> None:
        packed = struct.pack(">q", bits)
        encode = kafka.encoder(None, WriteSpec(columns=parse_columns("K DOUBLE"), case_rule=CaseRule.EXACT))
        ours = encode({"K": struct.unpack(">d", packed)[0]}, b"")
        assert [ours] == java.serialize("Double", [bits])
        assert ours != packed

    @pytest.mark.parametrize("kind", ["Integer", "Long", "Double"])
    @pytest.mark.parametrize("size", [0, 3, 5, 7, 9])
    def test_other_sizes_are_refused_by_both(self, java: Connect, kind: str, size: int) -> None:
        with pytest.raises(Refused, match=r"SerializationException: Size of data received by \w+ is not"):
            java.deserialize(kind, [b"\0" * size])
        with pytest.raises(DecodeError):
            kafka.decoder(None, ReadSpec(columns=parse_columns(f"K {VALUES[kind][0]}")))(b"\0" * size, 0)

    def test_bytes_that_are_not_utf_8_are_refused_here_and_replaced_there(self, java: Connect) -> None:
        # On purpose: another key would be written back.
        assert java.deserialize("String", [b"a\xff"]) == ["a\ufffd"]
        with pytest.raises(DecodeError):
            kafka.decoder(None, ReadSpec(columns=parse_columns("K STRING")))(b"a\xff", 0)


KEYS: Final = [b"", b"k", b"\0\0\0\1", bytes(range(256))]
TIMES: Final = [(0, 1), (0, 1000), (1_592_300_000_000, 1_592_300_003_600), (MAX_LONG - 1, MAX_LONG)]


class TestWindowedKeys:
    @pytest.mark.parametrize(("start", "end"), TIMES)
    @pytest.mark.parametrize("key", KEYS)
    def test_time(self, java: Connect, key: bytes, start: int, end: int) -> None:
        ours = windowed.join(key, Window(start), WindowKind.TIME)
        assert [ours] == java.serialize("TimeWindowed", [[_wire(key), start, end, 0]])
        read_key, window = windowed.split(ours, WindowKind.TIME)
        sized = window.with_size(1000)
        assert (read_key, window) == (key, Window(start))
        assert java.deserialize("TimeWindowed", [ours]) == [[_wire(key), sized.start_ms, sized.end_ms]]

    @pytest.mark.parametrize(("start", "end"), [*TIMES, (5, 5)])
    @pytest.mark.parametrize("key", KEYS)
    @pytest.mark.parametrize("kind", ["SessionWindowed", "SessionKeySchema"])
    def test_session(self, java: Connect, kind: str, key: bytes, start: int, end: int) -> None:
        ours = windowed.join(key, Window(start, end), WindowKind.SESSION)
        assert [ours] == java.serialize(kind, [[_wire(key), start, end, 0]])
        assert java.deserialize(kind, [ours]) == [[_wire(key), start, end]]
        assert windowed.split(ours, WindowKind.SESSION) == (key, Window(start, end))

    @pytest.mark.parametrize("number", [0, 1, 2**31 - 1])
    @pytest.mark.parametrize(("start", "end"), TIMES)
    @pytest.mark.parametrize("key", KEYS)
    def test_time_store(self, java: Connect, key: bytes, start: int, end: int, number: int) -> None:
        ours = windowed.join(key, Window(start, sequence_number=number), WindowKind.TIME_STORE)
        assert [ours] == java.serialize("WindowKeySchema", [[_wire(key), start, end, number]])
        read_key, window = windowed.split(ours, WindowKind.TIME_STORE)
        assert (read_key, window) == (key, Window(start, sequence_number=number))
        assert java.deserialize("WindowKeySchema", [ours]) == [[_wire(key), start, window.with_size(1000).end_ms]]


class TestConfluentFraming:
    def test_these_releases_know_no_guid_in_a_header(self, java: Connect) -> None:
        # `SchemaId` came with Confluent's 8.1, and that is not to be had by name: `tests/serde/confluent` has it against
        # confluent-kafka for Python instead. Once this fails there is something to compare with.
        assert java.has_class("io.confluent.kafka.serializers.KafkaAvroSerializer")
        assert not java.has_class("io.confluent.kafka.serializers.schema.id.SchemaId")
