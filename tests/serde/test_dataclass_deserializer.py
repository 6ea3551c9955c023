"""Rows as instances of a dataclass, by srfix's own deserializers."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    BadRow,
    ColumnError,
    DataclassDeserializer,
    DecodeError,
    JsonDeserializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    JsonSerializer,
    KafkaDeserializer,
    Role,
    SchemaDeserializer,
    SerdeContext,
    UsageError,
    Window,
    WindowedDeserializer,
    WindowedKey,
    WindowKind,
    columns_from_dataclass,
    deserialize_many,
    print_columns,
)
from srfix.serde.confluent import AvroDeserializer as ConfluentAvroDeserializer
from srfix.serde.confluent import AvroSerializer as ConfluentAvroSerializer
from srfix.serde.dataclass_deserializer import ColumnsDeserializer


@dataclass
class Account:
    id: int | None
    owner: str


@dataclass(frozen=True)
class Key:
    id: int


COLUMNS = "ID BIGINT, OWNER STRING"
ADA = Account(7, "Ada")
ROW = {"ID": 7, "OWNER": "Ada"}

Make = Callable[[str], ColumnsDeserializer]
READERS: dict[str, tuple[Callable[[str], Callable[..., bytes | None]], Make]] = {
    "avro": (lambda url: AvroSerializer(url, COLUMNS), lambda url: AvroDeserializer(url, columns=Account)),
    "json_sr": (
        lambda url: JsonSchemaSerializer(url, COLUMNS),
        lambda url: JsonSchemaDeserializer(url, columns=COLUMNS),
    ),
    "either": (lambda url: AvroSerializer(url, COLUMNS), lambda url: SchemaDeserializer(url, columns=COLUMNS)),
    "json": (lambda _url: JsonSerializer(COLUMNS), lambda _url: JsonDeserializer(Account)),
}


@pytest.fixture
def url(registry: FixtureRegistry) -> str:
    return registry.url


@dataclass
class Address:
    zip_code: str


@dataclass
class Customer:
    full_name: str
    home_address: Address | None = None


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


class TestNames:
    """Fields of Python's spelling, fed by those of others'."""

    ROW: Final = {"fullName": "Ada", "homeAddress": {"zipCode": "7"}}

    def test_of_columns_that_are_the_dataclasss(self) -> None:
        columns = columns_from_dataclass(Customer, names="keep", name_of=camel)
        assert print_columns(columns) == "`fullName` STRING, `homeAddress` STRUCT<`zipCode` STRING>"
        read = DataclassDeserializer(JsonDeserializer(columns), Customer, name_of=camel)
        for each in (read, pickle.loads(pickle.dumps(read))):
            assert each(json.dumps(self.ROW).encode(), "t") == Customer("Ada", Address("7"))

    def test_of_the_drop_in(self, url: str) -> None:
        columns = columns_from_dataclass(Customer, name_of=camel)
        payload = ConfluentAvroSerializer(url, columns=columns)(self.ROW, "t")
        read = DataclassDeserializer(ConfluentAvroDeserializer(url, columns=columns), Customer, name_of=camel)
        assert read(payload, "t") == Customer("Ada", Address("7"))

    def test_a_field_that_is_not_fed_is_called_as_the_columns_would(self) -> None:
        with pytest.raises(ColumnError, match=r"No column feeds the field Customer\.fullName"):
            DataclassDeserializer(JsonDeserializer("HOMEADDRESS STRUCT<ZIPCODE STRING>"), Customer, name_of=camel)


@pytest.mark.parametrize("format_", READERS)
class TestEachFormat:
    def test_a_row_is_an_instance_and_a_null_payload_none(self, url: str, format_: str) -> None:
        write, make = READERS[format_]
        read = DataclassDeserializer(make(url), Account)
        payload = write(url)(ADA, format_)
        assert read(payload, format_) == ADA
        assert read(None, format_) is None
        assert read.row(payload, SerdeContext(format_)) == ROW

    def test_many_keep_what_cannot_be_read_or_is_no_instance(self, url: str, format_: str) -> None:
        write, make = READERS[format_]
        serialize = write(url)
        payloads = [serialize(ADA, format_), None, serialize({"ID": 8, "OWNER": None}, format_), b"{"]
        read = DataclassDeserializer(make(url), Account)
        first, tombstone, of_null, cut = deserialize_many(payloads, format_, read, on_error="quarantine")
        assert (first, tombstone) == (ADA, None)
        assert isinstance(cut, BadRow)
        assert isinstance(of_null, BadRow)
        assert (of_null.position, of_null.payload, of_null.reason.value) == (2, payloads[2], "DECODE_FAILED")
        assert "The column OWNER is null" in str(of_null.error)


def test_a_null_among_items_is_told_by_the_items_hint() -> None:
    """Seen: "Declare the field int | None", for a field list[int]."""

    @dataclass
    class Scores:
        points: list[int]

    read = DataclassDeserializer(JsonDeserializer("POINTS ARRAY<BIGINT>"), Scores)
    with pytest.raises(DecodeError, match=r"POINTS->ARRAY is null, .* for it\. Declare it int \| None, because"):
        read(b'{"points": [1, null]}', "scores")


def test_a_key_in_kafkas_own_format_and_a_windowed_one() -> None:
    read = DataclassDeserializer(KafkaDeserializer("ID INT KEY"), Key)
    context = SerdeContext("users", Role.KEY)
    assert read(bytes.fromhex("00000007"), context) == Key(7)
    windowed = WindowedDeserializer(cast("Any", read), WindowKind.TIME)
    key: object = windowed(bytes.fromhex("00000007 00000000000003e8"), context)
    assert key == WindowedKey(cast("Any", Key(7)), Window(start_ms=1000))


def test_it_travels_to_another_process() -> None:
    read = DataclassDeserializer(JsonDeserializer(COLUMNS), Account)
    assert pickle.loads(pickle.dumps(read))(b'{"id": 7, "owner": "Ada"}', "users") == ADA


class TestWhatIsRefusedWhenItIsMade:
    def test_no_columns(self, url: str) -> None:
        with pytest.raises(UsageError, match=r"AvroDeserializer has no columns .* Create it with"):
            DataclassDeserializer(AvroDeserializer(url), Account)
        with pytest.raises(UsageError, match=r"AvroDeserializer has no columns"):  # whose rows are instances already
            DataclassDeserializer(ConfluentAvroDeserializer(url, columns=Account), Account)

    @pytest.mark.parametrize("into", [int, ADA, None])
    def test_no_dataclass(self, into: Any) -> None:
        with pytest.raises(UsageError, match=r"into is .*; it must be a dataclass \(the class"):
            DataclassDeserializer(JsonDeserializer(COLUMNS), into)
