"""Columns beside confluent-kafka's own arguments: srfix's case-insensitive serde behind its constructors."""

from __future__ import annotations

import datetime
import decimal
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, assert_type, cast

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.arrow.decode import to_arrow
from srfix.serde.columns.types import Decimal, Namespace
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.json_schema import JSONDeserializer, JSONSerializer
from srfix.serde.errors import (
    ColumnError,
    ColumnNotFedError,
    DecodeError,
    EncodeError,
    SubjectVersionError,
    UsageError,
)
from srfix.serde.interface import Row, SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import DualSubject
from srfix.serde.subjects.strategies import FixedSubject, TopicSubject
from srfix.serde.wire import Framing

COLUMNS = "ID BIGINT, NAME STRING"
WRITTEN = '{"type":"record","name":"R","fields":[{"name":"Id","type":"long"},{"name":"name","type":["null","string"]}]}'
ROW = {"ID": 7, "NAME": "Ada"}


@dataclass
class User:
    id: int | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    price: Annotated[decimal.Decimal, Decimal(6, 2)] | None
    seen: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Order:
    id: int
    items: list[Item] | None
    totals: dict[str, float] | None = field(default_factory=dict)


class TestRows:
    def test_fields_of_any_letter_case_feed_the_columns(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, WRITTEN)({"Id": 7, "name": "Ada"}, SerdeContext("t"))
        assert AvroDeserializer(ours, columns=COLUMNS)(payload, "t") == ROW
        exact = AvroDeserializer(ours, columns="ID BIGINT, `name` STRING", case_rule="exact")
        assert exact(payload, "t") == {"ID": None, "name": "Ada"}
        with pytest.raises(ColumnNotFedError):
            AvroDeserializer(ours, columns="ID BIGINT, MORE STRING", strict=True)(payload, "t")

    def test_arrow_takes_them(self, ours: RegistryClient) -> None:
        deserialize = AvroDeserializer(ours, columns=COLUMNS)
        payload = AvroSerializer(ours, columns=COLUMNS)({"id": 7}, "t")
        batch = to_arrow([payload, None, b"no"], SerdeContext("t"), deserialize, on_error="quarantine")
        assert [row["ID"] for row in batch.to_pylist()] == [7, None, None]
        assert batch.column("_srfix_reason").to_pylist() == [None, "TOMBSTONE", "BAD_MAGIC"]
        with pytest.raises(UsageError, match="The deserializer has no columns"):
            to_arrow([payload], SerdeContext("t"), AvroDeserializer(ours))

    def test_a_readers_schema_counts_with_its_defaults(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, WRITTEN)({"Id": 7, "name": "Ada"}, "t")
        reader = (
            '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
            '{"name":"more","type":"string","default":"none"}]}'
        )
        read = AvroDeserializer(ours, reader, columns="ID BIGINT, MORE STRING")
        assert read(payload, "t") == {"ID": 7, "MORE": "none"}

    def test_the_configuration_of_confluent_kafka_holds(self, server: FixtureRegistry, ours: RegistryClient) -> None:
        conf = {"schema.id.serializer": Framing.HEADER_GUID, "subject.name.strategy": FixedSubject(value="mine")}
        headers: list[tuple[str, bytes | str | None]] = []
        ctx = SerdeContext("t", headers=headers)
        payload = AvroSerializer(ours, columns=COLUMNS, conf=conf)({"id": 7}, ctx)
        assert ours.subjects() == ("mine",)
        assert [name for name, _ in headers] == ["__value_schema_id"]
        assert AvroDeserializer(ours, columns=COLUMNS)(payload, ctx) == {"ID": 7, "NAME": None}
        with pytest.raises(EncodeError, match=r"NAME"):
            AvroSerializer(ours, columns=COLUMNS)({"name": b"x"}, "t")
        assert ours.subjects() == ("mine",)

    def test_rows_are_written_under_a_schema_that_exists(self, server: FixtureRegistry, ours: RegistryClient) -> None:
        server.seed("t-value", WRITTEN)
        columns = "`Id` BIGINT, `name` STRING"
        latest = {"auto.register.schemas": False, "use.latest.version": True}
        for write in (
            AvroSerializer(ours, WRITTEN, columns=columns),
            AvroSerializer(ours, columns=columns, conf=latest),
        ):
            payload = write({"Id": 7, "name": "Ada"}, "t")
            assert AvroDeserializer(ours)(payload, "t") == {"Id": 7, "name": "Ada"}
            with pytest.raises(EncodeError, match="ID feeds no column"):
                write({"ID": 7, "name": "Ada"}, "t")
        with pytest.raises(UsageError, match=r"^case_rule does not work together with a schema to write under"):
            AvroSerializer(ours, WRITTEN, columns=columns, case_rule="ksqldb")

    def test_a_policy_decides_which_ids_are_read(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns=COLUMNS)({"id": 7}, "t")
        with pytest.raises(SubjectVersionError, match="'other-value'"):
            AvroDeserializer(ours, policy="one-subject")(payload, "other")
        told: list[object] = []
        dual = DualSubject(ours, first=TopicSubject(), second=FixedSubject(value="t-value"), on_second=told.append)
        assert AvroDeserializer(ours, columns="ID BIGINT", policy=dual)(payload, "other") == {"ID": 7}
        assert len(told) == 1
        with pytest.raises(UsageError, match="The policy needs the topic, but there is no"):
            AvroDeserializer(ours, policy=dual)(payload)


class TestDataclasses:
    def test_they_come_out_as_they_go_in(self, ours: RegistryClient) -> None:
        seen = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
        order = Order(7, [Item(decimal.Decimal("1.50"), seen), Item(None, None)], {"a": 1.5})
        for make_writer, make_reader in ((AvroSerializer, AvroDeserializer), (JSONSerializer, JSONDeserializer)):
            topic = make_writer.__name__
            payload = cast("Any", make_writer)(ours, columns=Order)(order, topic)
            assert cast("Any", make_reader)(ours, columns=Order)(payload, topic) == order
            read = pickle.loads(pickle.dumps(cast("Any", make_reader)(ours, into=Order)))
            assert read(payload, topic) == order

    def test_what_the_class_refuses_is_an_error_of_the_row(self, ours: RegistryClient) -> None:
        @dataclass
        class Positive:
            id: int | None

            def __post_init__(self) -> None:
                raise ValueError("not today")

        payload = AvroSerializer(ours, columns="ID BIGINT")({"ID": 7}, "t")
        with pytest.raises(DecodeError, match=r"Positive does not take the row \(ValueError: not"):
            AvroDeserializer(ours, into=Positive)(payload, "t")

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("ID STRING, NAME STRING", r"^The column ID is STRING, but the field User\.id is int\."),
            ("NAME STRING", r"^No column feeds the field User\.id \(columns: NAME\), and the field has no default\."),
            ("ID BIGINT, AGE INT", r"^The column AGE feeds no field of User\."),
            ("ID BIGINT, `id` BIGINT", r"^The column ID feeds no field of User\."),
        ],
    )
    def test_what_does_not_go_together_is_refused_when_it_is_made(
        self, ours: RegistryClient, columns: str, message: str
    ) -> None:
        with pytest.raises(ColumnError, match=message):
            AvroDeserializer(ours, columns=columns, into=User)

    def test_a_dataclass_of_key_and_value_is_none_of_either(self, ours: RegistryClient) -> None:
        @dataclass
        class Both:
            id: Annotated[int | None, Namespace.KEY]
            name: str | None

        with pytest.raises(ColumnError, match=r"No column feeds the field .*Both\.\w+ "):
            AvroDeserializer(ours, columns=Both)


class TestRow:
    def test_it_is_a_dict_whatever_else_is_made(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns=COLUMNS)({"id": 7, "name": "Ada"}, "t")
        assert payload is not None
        read = AvroDeserializer(ours, into=User)
        assert_type(read(payload, "t"), User | None)
        assert_type(AvroDeserializer(ours, columns=User), AvroDeserializer[User | None])
        assert_type(AvroDeserializer(ours), AvroDeserializer[object])
        assert_type(JSONDeserializer(ours, into=User), JSONDeserializer[User | None])
        assert_type(read.row(payload, "t"), Row)
        assert_type(read.row(None, "t"), None)
        maybe = cast("bytes | None", payload)
        assert_type(read.row(maybe, "t"), Row | None)
        assert read.row(payload, "t") == ROW
        assert read.row(None, "t") is None


AVRO_READER, AVRO_WRITER = cast("Any", AvroDeserializer), cast("Any", AvroSerializer)
JSON_READER, JSON_WRITER = cast("Any", JSONDeserializer), cast("Any", JSONSerializer)
HOSTILE: list[tuple[Callable[[Any], object], str]] = [
    (lambda r: AVRO_READER(RegistryClient, columns=COLUMNS), "schema_registry_client is the class RegistryClient;"),
    (lambda r: AVRO_READER(b"http://x", columns=COLUMNS), "schema_registry_client is of the type bytes;"),
    (lambda r: AVRO_READER({"urll": "http://x"}), "schema_registry_client: Unknown registry property "),
    (lambda r: AVRO_READER({}), "schema_registry_client: "),
    (lambda r: AVRO_READER(r, COLUMNS), r"schema_str contains columns .* Pass them as columns="),
    (lambda r: AVRO_WRITER(r, COLUMNS), "schema_str contains columns"),
    (lambda r: JSON_WRITER(COLUMNS, r), "schema_str contains columns"),
    (lambda r: AVRO_READER(COLUMNS, r), "schema_str is of the type RegistryClient;"),
    (lambda r: AVRO_READER(r, columns=7), "Columns are of the type int"),
    (lambda r: AVRO_READER(r, columns=["ID INT"]), "a sequence of Column, but one element has the type str"),
    (lambda r: AVRO_READER(r, columns=int), "the class int, which is not a dataclass"),
    (lambda r: AVRO_READER(r, columns=User(7)), "Columns are of the type User"),
    (lambda r: AVRO_READER(r, into=User(7)), "into is of the type User; it must be a dataclass"),
    (lambda r: AVRO_READER(r, into=User, conf={"times": "integers"}), "times='integers' .* a dataclass"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, case_rule="ksql"), "case_rule is 'ksql'; it must be a CaseRule"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, wrap="no"), "wrap is of the type str;"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, policy=DualSubject), "policy is the class DualSubject;"),
    (lambda r: AVRO_READER(r, policy="dual-subject"), "policy is 'dual-subject'; it must be 'by-id'"),
    (lambda r: AVRO_READER(r, case_rule="exact"), r"case_rule says how columns are fed"),
    (
        lambda r: AVRO_READER(r, None, None, True, columns=COLUMNS),
        "return_record_name does not work together with columns",
    ),
    (lambda r: AVRO_READER(r, columns=COLUMNS, conf={"use.latest.version": True}), "define what a row has"),
    (lambda r: AVRO_WRITER(r, cut_times=True), r"cut_times says how columns are written"),
    (lambda r: AVRO_WRITER(r, columns=COLUMNS, generation="9"), "generation is '9'; it must be a Generation"),
    (lambda r: AVRO_WRITER(r, columns=COLUMNS, full_name=7), "full_name is of the type int;"),
    (lambda r: JSON_WRITER(r, r), "schema_str is a registry, and schema_registry_client is given too"),
    (lambda r: JSON_WRITER(columns=COLUMNS), "schema_registry_client is None;"),
    (lambda r: JSON_WRITER(r, columns=COLUMNS, json_encode=str), "json_encode writes objects unchanged"),
    (lambda r: JSON_READER(r, columns=COLUMNS, json_decode=bytes.decode), "json_decode returns documents unchanged"),
    (lambda r: AVRO_READER(r)(b"\x00", User(7)), "The context is of the type User;"),
    (lambda r: AVRO_WRITER(r, WRITTEN)({}, 7), "The context is of the type int;"),
]


@pytest.mark.parametrize(("call", "message"), HOSTILE)
def test_what_is_wrong_is_refused_with_a_sentence(
    ours: RegistryClient, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises((UsageError, ColumnError), match=message):
        call(ours)


@pytest.mark.parametrize(
    "conf",
    [
        {"url": "http://u:secret@bad host:x"},
        {"url": "http://r", "basic.auth.user.info": "secret"},
        {"url": "http://r", "bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.token": "secret"},
        {"url": "http://r", "bearer.auth.token": "secret", "basic.auth.user.info": "u:secret"},
    ],
)
def test_no_secret_of_a_configuration_is_told(conf: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        AvroDeserializer(conf)
    assert "secret" not in repr(caught.value)
    assert "secret" not in repr(caught.value.__cause__)
