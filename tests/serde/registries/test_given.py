"""A registry in each of its forms, wherever one is taken; what is none is refused when something is made of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type, cast

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Survey
from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    ById,
    CaseRule,
    ColumnError,
    DecodeError,
    DualSubject,
    FixedSubject,
    JsonDeserializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    JsonSerializer,
    KafkaDeserializer,
    RegistryClient,
    SecretError,
    SerdeContext,
    TopicSubject,
    UnderOneSubject,
    UsageError,
    WindowedDeserializer,
    WindowedSerializer,
    WindowKind,
    deserialize_many,
)
from srfix.serde.arrow import from_arrow, to_arrow
from srfix.serde.interface import Row
from srfix.serde.registries.given import given_registry, whole_registry
from srfix.serde.spark import plan_read, plan_write

COLUMNS = "ID BIGINT, NAME STRING"
Make = Callable[[Any], object]


@dataclass
class User:
    id: int | None
    name: str | None


@pytest.fixture
def server() -> Iterator[FixtureRegistry]:
    with FixtureRegistry(emulate="8.2") as running:
        yield running


@pytest.fixture(params=["our client", "confluent's client", "its configuration", "a URL"])
def given(request: pytest.FixtureRequest, server: FixtureRegistry) -> Iterator[Any]:
    with RegistryClient(server.url) as ours, SchemaRegistryClient({"url": server.url}) as theirs:
        conf = {"url": server.url, "timeout": 5, "max.retries": 1, "cache.capacity": 10, "proxy": None}
        forms = {"our client": ours, "confluent's client": theirs, "its configuration": conf, "a URL": server.url}
        yield forms[request.param]


class TestForms:
    def test_serdes_take_each(self, given: Any) -> None:
        for write, read in (
            (AvroSerializer(given, COLUMNS), AvroDeserializer(given, columns=COLUMNS)),
            (JsonSchemaSerializer(given, COLUMNS), JsonSchemaDeserializer(given, columns=COLUMNS)),
            (AvroSerializer.for_schema(given, '"string"'), AvroDeserializer(given)),
        ):
            topic = f"{type(write).__name__}-{write.schema.text[:3]}"
            row: object = "a" if write.schema.text == '"string"' else {"ID": 7, "NAME": "Ada"}
            assert read(write(row, topic), topic) == row

    def test_policies_take_each(self, given: Any) -> None:
        payload = AvroSerializer(given, COLUMNS)({"id": 7}, "users")
        for policy in (
            ById(given),
            UnderOneSubject(given),
            DualSubject(given, first=FixedSubject(value="none"), second=TopicSubject()),
        ):
            assert AvroDeserializer(policy)(payload, "users") == {"ID": 7, "NAME": None}

    def test_sparks_plans_take_each(self, given: Any) -> None:
        written = plan_write(given, "users", COLUMNS)

        plan = plan_read(given, "users", COLUMNS)
        assert [schema.schema_id for schema in plan.schemas] == [written.schema_id]
        assert len(plan.refreshed(given).schemas) == 1

    def test_a_survey_asks_through_a_client_of_our_own(self, given: Any, server: FixtureRegistry) -> None:
        server.seed("a-value", '"string"')
        survey = Survey(cast("Any", None), given)
        assert isinstance(survey.registry, RegistryClient)
        assert survey.subjects() == ("a-value",)

    def test_a_configuration_that_only_theirs_knows_makes_one_of_theirs(self, server: FixtureRegistry) -> None:
        registry, close = given_registry({"url": server.url, "cache.latest.ttl.sec": 60})
        assert registry.latest_may_change is True  # type: ignore[union-attr]
        close()
        registry, close = given_registry({"url": "mock://here"})
        with pytest.raises(UsageError, match=r"lives in one process"):
            pickle.dumps(registry)
        close()

    def test_secrets_of_a_configuration_stay_here(self) -> None:
        conf = {"url": "http://registry.test", "basic.auth.user.info": "user:secret"}
        with pytest.raises(SecretError):
            pickle.dumps(ById(conf))
        with SchemaRegistryClient(conf) as theirs:
            with pytest.raises(SecretError):
                pickle.dumps(ById(theirs))
            assert "secret" not in repr(whole_registry(theirs))


@pytest.mark.core
class TestTopics:
    def test_a_topics_name_stands_for_its_values(self, server: FixtureRegistry) -> None:
        payload = AvroSerializer(server.url, COLUMNS)({"id": 7}, "users")
        assert RegistryClient(server.url).subjects() == ("users-value",)
        assert AvroDeserializer(server.url)(payload, "users") == {"ID": 7, "NAME": None}
        assert JsonSerializer(COLUMNS)({"id": 7}, "users") == b'{"ID":7,"NAME":null}'
        assert JsonDeserializer(COLUMNS)(b'{"id":7}', "users") == {"ID": 7, "NAME": None}
        key = WindowedSerializer(JsonSerializer("ID INT KEY"), WindowKind.TIME)
        assert key(None, "users") is None

    def test_batches_take_one_too(self) -> None:
        read, write = JsonDeserializer(COLUMNS), JsonSerializer(COLUMNS)
        assert list(deserialize_many([b'{"id":7}'], "users", read)) == [{"ID": 7, "NAME": None}]
        batch = to_arrow([b'{"id":7}'], "users", read)
        assert batch.to_pylist() == [{"ID": 7, "NAME": None}]
        assert from_arrow(batch, write, "users").to_pylist() == [b'{"ID":7,"NAME":null}']
        for call in (deserialize_many, to_arrow):
            for wrong in (None, 7, [b"users"], SerdeContext):
                with pytest.raises(UsageError, match=r"^The context is "):
                    call([b"{}"], cast("Any", wrong), read)

    def test_rows_are_typed(self, server: FixtureRegistry) -> None:
        payload = AvroSerializer(server.url, User)(User(7, None), "users")
        read = AvroDeserializer(server.url, columns=User)
        assert_type(read.row(payload, "users"), Row | None)
        assert read.row(payload, "users") == {"ID": 7, "NAME": None}
        assert_type(JsonDeserializer(COLUMNS).row(b'{"id":7}', "users"), Row)
        with pytest.raises(DecodeError, match="A value of topic 'users': The payload is a bare"):
            JsonDeserializer().row(b"7", "users")


HOSTILE: list[tuple[Make, str]] = [
    (lambda r: AvroSerializer(None, COLUMNS), r"^registry is None; it must be a srfix\.serde\.RegistryClient"),  # type: ignore[arg-type]
    (lambda r: AvroSerializer(cast("Any", RegistryClient), COLUMNS), r"^registry is the class RegistryClient;"),
    (lambda r: AvroSerializer({"url": True}, COLUMNS), r"^registry: url is of the type bool;"),
    (lambda r: AvroSerializer(cast("Any", {7: "x"}), COLUMNS), r"^registry has a key of the type int;"),
    (lambda r: AvroSerializer(r, cast("Any", b"ID INT")), r"^Columns are of the type bytes\."),
    (lambda r: AvroSerializer(r, COLUMNS, subjects=cast("Any", "users-value")), r"^subjects is of the type str;"),
    (lambda r: AvroSerializer(r, COLUMNS, subjects=cast("Any", TopicSubject)), r"^subjects is the class TopicSubject;"),
    (
        lambda r: AvroSerializer(r, COLUMNS, case_rule="no"),
        r"^case_rule is 'no'; it must be a CaseRule, or one of the words",
    ),
    (lambda r: AvroSerializer(r, COLUMNS, schema_id=cast("Any", "7")), r"^schema_id is of the type str;"),
    (lambda r: AvroSerializer(r, COLUMNS, generation=cast("Any", 1)), r"^generation is of the type int;"),
    (lambda r: AvroSerializer(r, COLUMNS, cut_times=cast("Any", None)), r"^cut_times is None;"),
    (lambda r: AvroSerializer(r, COLUMNS, schema_id_framing=cast("Any", 1)), r"^schema_id_framing is of the type int;"),
    (lambda r: AvroSerializer.for_schema(r, cast("Any", {})), r"^schema is of the type dict;"),
    (lambda r: AvroDeserializer(cast("Any", None)), r"^resolver is None; it must be a policy"),
    (lambda r: AvroDeserializer(cast("Any", ById)), r"^resolver is the class ById;"),
    (lambda r: AvroDeserializer(r, columns=cast("Any", 7)), r"^Columns are of the type int\."),
    (lambda r: AvroDeserializer(r, columns=COLUMNS, strict=cast("Any", "yes")), r"^strict is of the type str;"),
    (lambda r: JsonDeserializer(COLUMNS, case_rule=cast("Any", CaseRule)), r"^case_rule is the class CaseRule;"),
    (lambda r: KafkaDeserializer(cast("Any", None)), r"^Columns are None\."),
    (lambda r: WindowedDeserializer(cast("Any", KafkaDeserializer), WindowKind.TIME), "is the class KafkaDes"),
    (lambda r: WindowedSerializer(JsonSerializer(), cast("Any", "hourly")), r"^kind is 'hourly';"),
    (lambda r: UnderOneSubject(r, cast("Any", "users-value")), r"^subjects is of the type str;"),
    (lambda r: DualSubject(r, first=cast("Any", TopicSubject), second=TopicSubject()), r"^first is the class"),
    (lambda r: SerdeContext(cast("Any", b"users")), r"^The topic of a context is of the type bytes;"),
    (lambda r: SerdeContext("users", cast("Any", "values")), r"^The role of a context is 'values';"),
    (lambda r: AvroDeserializer(r)(b"\0\0\0\0\1", cast("Any", None)), r"^The context is None;"),
    (lambda r: AvroDeserializer(r)(cast("Any", "text"), "users"), r"^A payload is of the type str;"),
    (lambda r: JsonSerializer()({}, cast("Any", SerdeContext)), r"^The context is the class SerdeContext;"),
    (lambda r: plan_read(cast("Any", 7), "users", COLUMNS), r"^registry is of the type int;"),
    (lambda r: plan_write(cast("Any", RegistryClient), "users", COLUMNS), r"^registry is the class RegistryClient;"),
    (lambda r: Survey(cast("Any", None), cast("Any", Path())), r"^registry is of the type \w*Path;"),
]


@pytest.mark.parametrize(("call", "message"), HOSTILE)
def test_what_is_wrong_is_refused_with_a_sentence(server: FixtureRegistry, call: Make, message: str) -> None:
    with RegistryClient(server.url) as registry, pytest.raises((UsageError, ColumnError), match=message):
        call(registry)
