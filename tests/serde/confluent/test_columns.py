"""Columns beside confluent-kafka's own arguments: srfix's case-insensitive serde behind its constructors."""

from __future__ import annotations

import datetime
import decimal
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, assert_type, cast

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Decimal, Namespace
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.json import JSONDeserializer, JSONSerializer
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
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import FixedSubject, TemplateSubject, TopicSubject
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


@pytest.fixture(params=["our client", "confluent's client", "its configuration", "a URL"])
def given(
    request: pytest.FixtureRequest, server: FixtureRegistry, ours: RegistryClient, theirs: SchemaRegistryClient
) -> Any:
    forms = {"our client": ours, "confluent's client": theirs, "its configuration": {"url": server.url}}
    return forms.get(request.param, server.url)


class TestRows:
    def test_each_form_of_a_registry_writes_and_reads_rows(self, given: Any) -> None:
        for make_writer, make_reader in ((AvroSerializer, AvroDeserializer), (JSONSerializer, JSONDeserializer)):
            topic = make_writer.__name__
            write = cast("Any", make_writer)(given, columns=COLUMNS)
            read = cast("Any", make_reader)(given, columns="name STRING, id STRING")
            payload = write({"id": 7, "Name": "Ada"}, topic)
            assert read(payload, topic) == {"NAME": "Ada", "ID": "7"}
            assert read(None, topic) is None
            assert write(None, topic) is None
            for serde in (write, read):
                serde.close()

    def test_fields_of_any_letter_case_feed_the_columns(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, WRITTEN)({"Id": 7, "name": "Ada"}, SerdeContext("t"))
        assert AvroDeserializer(ours, columns=COLUMNS)(payload, "t") == ROW
        exact = AvroDeserializer(ours, columns="ID BIGINT, `name` STRING", case_rule="exact")
        assert exact(payload, "t") == {"ID": None, "name": "Ada"}
        with pytest.raises(ColumnNotFedError):
            AvroDeserializer(ours, columns="ID BIGINT, MORE STRING", strict=True)(payload, "t")

    def test_times_are_integers_where_the_configuration_says_so(self, ours: RegistryClient) -> None:
        columns, conf = "BORN DATE, SEEN TIMESTAMP", {"times": "integers"}
        payload = AvroSerializer(ours, columns=columns, conf=conf)({"born": -(10**6), "seen": 10**15}, "far")
        assert AvroDeserializer(ours, columns=columns, conf=conf)(payload, "far") == {"BORN": -(10**6), "SEEN": 10**15}
        with pytest.raises(DecodeError, match=r"integers"):
            AvroDeserializer(ours, columns=columns)(payload, "far")
        with pytest.raises(UsageError, match="times is 'integers' in the configuration, which"):
            AvroDeserializer(ours, into=User, conf=conf)

    def test_a_readers_schema_counts_with_its_defaults(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, WRITTEN)({"Id": 7, "name": "Ada"}, "t")
        reader = (
            '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
            '{"name":"more","type":"string","default":"none"}]}'
        )
        assert AvroDeserializer(ours, reader, columns="ID BIGINT, MORE STRING")(payload, "t") == {
            "ID": 7,
            "MORE": "none",
        }

    def test_keys_and_values_of_one_declaration_are_told_apart(
        self, server: FixtureRegistry, ours: RegistryClient
    ) -> None:
        columns = "ID BIGINT KEY, NAME STRING"
        key, value = SerdeContext("t", Role.KEY), SerdeContext("t")
        for make_writer, make_reader in ((AvroSerializer, AvroDeserializer), (JSONSerializer, JSONDeserializer)):
            conf = {"subject.name.strategy": TemplateSubject(f"{make_writer.__name__}-{{topic}}-{{role}}")}
            write = cast("Any", make_writer)(ours, columns=columns, conf=conf)
            read = cast("Any", make_reader)(ours, columns=columns)
            assert read(write({"id": 7}, key), key) == {"ID": 7}
            assert read(write({"name": "Ada"}, value), value) == {"NAME": "Ada"}
            assert write({"id": None}, key) is None

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
        with pytest.raises(UsageError, match=r"^case_rule is given, and a schema to write under"):
            AvroSerializer(ours, WRITTEN, columns=columns, case_rule="ksqldb")

    def test_a_policy_decides_which_ids_are_read(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns=COLUMNS)({"id": 7}, "t")
        with pytest.raises(SubjectVersionError, match="'other-value'"):
            AvroDeserializer(ours, policy="one-subject")(payload, "other")
        told: list[object] = []
        dual = DualSubject(ours, first=TopicSubject(), second=FixedSubject(value="t-value"), on_second=told.append)
        assert AvroDeserializer(ours, columns="ID BIGINT", policy=dual)(payload, "other") == {"ID": 7}
        assert len(told) == 1
        with pytest.raises(UsageError, match="The policy asks by topic, and there is no"):
            AvroDeserializer(ours, policy=dual)(payload)

    def test_they_travel(self, server: FixtureRegistry, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns=COLUMNS)({"id": 7}, "t")
        write = pickle.loads(pickle.dumps(AvroSerializer(ours, columns=COLUMNS, case_rule=CaseRule.EXACT)))
        assert write({"ID": 7}, "t") == payload
        read = pickle.loads(pickle.dumps(AvroDeserializer(ours, into=User, strict=True)))
        assert read(payload, "t") == User(7, None)
        document = JSONSerializer(ours, columns=COLUMNS)({"id": 7}, "j")
        assert pickle.loads(pickle.dumps(JSONDeserializer(ours, columns=COLUMNS)))(document, "j") == {
            "ID": 7,
            "NAME": None,
        }

    def test_the_values_of_a_configuration_may_be_references(self, server: FixtureRegistry) -> None:
        conf = {"url": server.url, "basic.auth.user.info": "user:env:NOWHERE"}
        copied = pickle.loads(pickle.dumps(AvroDeserializer({"url": server.url, "timeout": 5})))
        copied.close()
        with pytest.raises(Exception, match="would travel in clear"):
            pickle.dumps(AvroDeserializer(conf))


class TestDataclasses:
    def test_they_come_out_as_they_go_in(self, ours: RegistryClient) -> None:
        seen = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
        order = Order(7, [Item(decimal.Decimal("1.50"), seen), Item(None, None)], {"a": 1.5})
        for make_writer, make_reader in ((AvroSerializer, AvroDeserializer), (JSONSerializer, JSONDeserializer)):
            topic = make_writer.__name__
            payload = cast("Any", make_writer)(ours, columns=Order)(order, topic)
            assert cast("Any", make_reader)(ours, columns=Order)(payload, topic) == order
            assert cast("Any", make_reader)(ours, into=Order)(payload, topic) == order

    def test_the_drop_in_writes_them_too(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, WRITTEN.replace("Id", "id"))(User(7, "Ada"), "t")
        assert AvroDeserializer(ours, into=User)(payload, "t") == User(7, "Ada")

    def test_a_field_that_no_column_feeds_has_its_default(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns="ID BIGINT")({"ID": 7}, "t")
        assert AvroDeserializer(ours, columns="ID BIGINT", into=User)(payload, "t") == User(7, None)

    def test_null_for_a_field_that_is_not_optional_is_an_error_of_the_row(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, columns=Order)({"items": []}, "t")
        with pytest.raises(DecodeError, match="A value of topic 't': The column ->ID is null,"):
            AvroDeserializer(ours, into=Order)(payload, "t")

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
            ("ID STRING, NAME STRING", r"^The column ->ID is STRING, and the field User\.id is int\."),
            ("NAME STRING", r"^The field User\.id is fed by no column \(NAME\) and has no default\."),
            ("ID BIGINT, AGE INT", r"^The column ->AGE feeds no field of User\."),
            ("ID BIGINT, `id` BIGINT", r"^The column ->ID feeds no field of User\."),
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

        with pytest.raises(ColumnError, match=r"The field .*Both\.\w+ is fed by no column"):
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

    def test_a_bare_value_is_no_row(self, ours: RegistryClient) -> None:
        payload = AvroSerializer(ours, '"string"')("a", "t")
        assert payload is not None
        with pytest.raises(DecodeError, match="A value of topic 't': The payload is a bare str,"):
            AvroDeserializer(ours).row(payload, "t")


AVRO_READER, AVRO_WRITER = cast("Any", AvroDeserializer), cast("Any", AvroSerializer)
JSON_READER, JSON_WRITER = cast("Any", JSONDeserializer), cast("Any", JSONSerializer)
HOSTILE: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda r: AVRO_READER(RegistryClient, columns=COLUMNS),
        r"^schema_registry_client is the class RegistryClient;",
    ),
    (lambda r: AVRO_READER(b"http://x", columns=COLUMNS), r"^schema_registry_client is of the type bytes;"),
    (lambda r: AVRO_READER([r], columns=COLUMNS), r"^schema_registry_client is of the type list;"),
    (lambda r: AVRO_READER({"url": 7}), r"^schema_registry_client: "),
    (lambda r: AVRO_READER({"urll": "http://x"}), r"^schema_registry_client: There is no registry property "),
    (lambda r: AVRO_READER({}), r"^schema_registry_client: "),
    (
        lambda r: AVRO_READER(r, COLUMNS),
        r"^schema_str holds columns \(ID, …\), and no schema\. Pass them by name: columns=",
    ),
    (lambda r: AVRO_WRITER(r, COLUMNS), r"^schema_str holds columns"),
    (lambda r: JSON_WRITER(COLUMNS, r), r"^schema_str holds columns"),
    (lambda r: AVRO_READER(COLUMNS, r), r"^schema_str is of the type RegistryClient;"),
    (lambda r: AVRO_READER(r, columns=7), r"^Columns are of the type int\."),
    (lambda r: AVRO_READER(r, columns=b"ID INT"), r"^Columns are of the type bytes\."),
    (
        lambda r: AVRO_READER(r, columns=["ID INT"]),
        r"^Columns are a sequence of Column, and one of it is of the type str",
    ),
    (lambda r: AVRO_READER(r, columns=int), r"^Columns are given as the class int, which is no dataclass\."),
    (lambda r: AVRO_READER(r, columns=User(7)), r"^Columns are of the type User\."),
    (lambda r: AVRO_READER(r, into=User(7)), r"^into is of the type User; it must be a dataclass"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, case_rule="ksql"), r"^case_rule is 'ksql'; it must be a CaseRule"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, case_rule=CaseRule), r"^case_rule is the class CaseRule;"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, wrap="no"), r"^wrap is of the type str;"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, strict=1), r"^strict is of the type int;"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, policy=DualSubject), r"^policy is the class DualSubject;"),
    (lambda r: AVRO_READER(r, policy="dual-subject"), r"^policy is 'dual-subject'; it must be 'by-id'"),
    (lambda r: AVRO_READER(r, case_rule="exact"), r"^case_rule is given, and says how columns are fed"),
    (lambda r: AVRO_READER(r, None, None, True, columns=COLUMNS), r"^return_record_name is for rows as"),
    (lambda r: AVRO_READER(r, columns=COLUMNS, conf={"use.latest.version": True}), r"^columns say what a row has"),
    (lambda r: AVRO_WRITER(r, cut_times=True), r"^cut_times is given, and says how columns are written"),
    (lambda r: AVRO_WRITER(None, columns=COLUMNS), r"^schema_registry_client is None;"),
    (lambda r: AVRO_WRITER(r, columns=COLUMNS, generation="9"), r"^generation is '9'; it must be a Generation"),
    (lambda r: AVRO_WRITER(r, columns=COLUMNS, full_name=7), r"^full_name is of the type int;"),
    (lambda r: AVRO_WRITER(WRITTEN, r), r"^schema_str is of the type RegistryClient;"),
    (lambda r: JSON_WRITER(r, r), r"^schema_str is a registry, and schema_registry_client is given too"),
    (lambda r: JSON_WRITER(columns=COLUMNS), r"^schema_registry_client is None;"),
    (lambda r: JSON_WRITER(r, columns=COLUMNS, json_encode=str), r"^json_encode writes objects as they are"),
    (
        lambda r: JSON_READER(r, columns=COLUMNS, json_decode=bytes.decode),
        r"^json_decode reads documents as they are",
    ),
    (lambda r: AVRO_READER(r)(b"\x00", User(7)), r"^The context is of the type User;"),
    (lambda r: AVRO_WRITER(r, WRITTEN)({}, 7), r"^The context is of the type int;"),
    (lambda r: AVRO_WRITER(r, WRITTEN)({}, SerdeContext), r"^The context is the class SerdeContext;"),
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
