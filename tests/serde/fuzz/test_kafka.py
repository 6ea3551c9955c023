"""Hostile and broken keys in Kafka's own serialization, bare and within windows of each kind."""

from __future__ import annotations

import struct
from random import Random
from typing import Final

from hypothesis import strategies as st

from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import ColumnType, ScalarType
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
    WindowedDeserializer,
)
from srfix.serde.errors import SrfixError
from srfix.serde.formats import kafka
from srfix.serde.interface import Context, Deserializer, SerdeContext, Value
from srfix.serde.resolve.policies import ById
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role
from srfix.serde.windowed import Window, WindowKind, join
from srfix.serde.wire import frame_id
from tests.serde.fuzz.expected import Unfit
from tests.serde.fuzz.frames import GuidRegistry
from tests.serde.fuzz.harness import Fuzz, drawn, seeds
from tests.serde.fuzz.mutations import BINARY, JSON
from tests.serde.fuzz.strategies import KAFKA_TYPES, RowsCase, rows_cases
from tests.serde.fuzz.topic import OTHERS, bare_reads

_LAYOUTS: Final = {ScalarType.INTEGER: ">i", ScalarType.BIGINT: ">q", ScalarType.DOUBLE: ">d"}
_WINDOWS: Final = {WindowKind.TIME: ">q", WindowKind.SESSION: ">qq", WindowKind.TIME_STORE: ">qi"}

_kafka_cases = rows_cases(st.sampled_from(KAFKA_TYPES), bare=True)
_times = st.integers(0, 2**63 - 1)


def _value(type_: ColumnType, body: bytes) -> object:
    """As Kafka's deserializers, but for texts that are none."""
    assert isinstance(type_, ScalarType)
    try:
        if type_ in _LAYOUTS:
            return struct.unpack(_LAYOUTS[type_], body)[0]
        return body.decode("utf-8", "strict") if type_ is ScalarType.STRING else body
    except (struct.error, UnicodeDecodeError) as error:
        raise Unfit(str(error)) from error


def _window(kind: WindowKind, payload: bytes) -> tuple[bytes, Window]:
    """As Kafka Streams' schemas of windowed keys."""
    size = struct.calcsize(_WINDOWS[kind])
    if len(payload) < size:
        raise Unfit("too short for a window")
    numbers = struct.unpack(_WINDOWS[kind], payload[len(payload) - size :])
    if min(numbers) < 0 or (kind is WindowKind.SESSION and numbers[0] < numbers[1]):
        raise Unfit("no window")
    key = payload[: len(payload) - size]
    match kind:
        case WindowKind.TIME:
            return key, Window(numbers[0])
        case WindowKind.SESSION:
            return key, Window(numbers[1], numbers[0])
        case WindowKind.TIME_STORE:
            return key, Window(numbers[0], None, numbers[1])


def _any_window(kind: WindowKind, one: int, other: int) -> Window:
    start, end = sorted((one, other))
    match kind:
        case WindowKind.TIME:
            return Window(start)
        case WindowKind.SESSION:
            return Window(start, end)
        case WindowKind.TIME_STORE:
            return Window(start, None, end % 2**31)


_windows = st.tuples(st.sampled_from(WindowKind), _times, _times).map(lambda drawn: (drawn[0], _any_window(*drawn)))


class TestKafka:
    @drawn(_kafka_cases, seeds)
    def test_a_key_is_what_kafkas_deserializers_make_of_it(self, fuzz: Fuzz, case: RowsCase, random: Random) -> None:
        (column,) = case.writer
        encode = kafka.encoder(None, WriteSpec(columns=case.writer, case_rule=case.rule))
        bodies = [encode(row, b"") for row in case.rows]
        for read in bare_reads(fuzz, random, KafkaDeserializer(case.reader), bodies, BINARY, about=repr(column)):
            try:
                expected = {column.name: _value(column.type, read.body)}
            except Unfit as error:
                read.must_be_refused(str(error))
            else:
                read.must_be(expected)


_registry = GuidRegistry()
_avro_id = _registry.seed("own", OTHERS["AVRO"])
_json_id = _registry.seed("other", OTHERS["JSON"], schema_type="JSON")
_columns = parse_columns("A BIGINT KEY, B STRING KEY")
_keys: tuple[tuple[Deserializer, bytes], ...] = (
    (AvroDeserializer(ById(_registry)), frame_id(_avro_id, b"\x02\x02\x02a")),
    (SchemaDeserializer(ById(_registry), columns=_columns), frame_id(_json_id, b'{"A":1,"b":"x"}')),
    (JsonDeserializer(_columns), b'{"A":1,"b":"x"}'),
)


class TestWindowed:
    @drawn(_kafka_cases, _windows, seeds)
    def test_a_windowed_key_of_kafka_is_the_key_and_its_window(
        self, fuzz: Fuzz, case: RowsCase, windowed: tuple[WindowKind, Window], random: Random
    ) -> None:
        kind, window = windowed
        (column,) = case.writer
        encode = kafka.encoder(None, WriteSpec(columns=case.writer, case_rule=case.rule))
        bodies = [join(encode(row, b""), window, kind) for row in case.rows]
        deserialize = WindowedDeserializer(KafkaDeserializer(case.reader), kind)

        def expected(payload: bytes) -> object:
            key, found = _window(kind, payload)
            return [{column.name: _value(column.type, key)}, found]

        for read in bare_reads(fuzz, random, _taken_apart(deserialize), bodies, BINARY, about=f"{column} {kind}"):
            if not read.body:
                assert read.row is None
                continue
            try:
                row = expected(read.body)
            except Unfit as error:
                read.must_be_refused(str(error))
            else:
                read.must_be(row)

    @drawn(st.sampled_from(_keys), _windows, seeds)
    def test_a_windowed_key_of_any_format_is_refused_or_what_that_format_reads(
        self, fuzz: Fuzz, key: tuple[Deserializer, bytes], windowed: tuple[WindowKind, Window], random: Random
    ) -> None:
        kind, window = windowed
        deserialize, whole = key
        bodies = [join(whole, window, kind)]
        read_apart = _taken_apart(WindowedDeserializer(deserialize, kind))
        for read in bare_reads(fuzz, random, read_apart, bodies, JSON, about=f"{deserialize} {kind}", role=Role.KEY):
            if not read.body:
                assert read.row is None
                continue
            try:
                key_bytes, found = _window(kind, read.body)
                row = deserialize(key_bytes, SerdeContext("t", Role.KEY))
            except (Unfit, SrfixError) as error:
                read.must_be_refused(str(error))
            else:
                read.must_be([row, found])


def _taken_apart(deserialize: WindowedDeserializer) -> Deserializer:
    """Key and window as a list, which can be compared part by part."""

    def read(payload: bytes | None, ctx: Context) -> Value:
        windowed = deserialize(payload, ctx)
        return None if windowed is None else [windowed.key, windowed.window]  # type: ignore[list-item]

    return read
