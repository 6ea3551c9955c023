"""confluent-kafka's configuration keys: every one is known by name, and what is wrong is said by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import pytest
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.schema_registry import json_schema as confluent_json
from confluent_kafka.schema_registry import protobuf as confluent_protobuf
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.serde import ValidationRulesExecution
from google.protobuf.timestamp_pb2 import Timestamp

from srfix.serde import SchemaError, UsageError
from srfix.serde.confluent import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
)
from srfix.serde.confluent.config import _KEYS, SerdeClass, settings
from srfix.serde.interface import SchemaLookup
from srfix.serde.registries.confluent_client import AnySchema
from tests.serde.fakes import MemoryRegistry

AVRO = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
JSON = '{"title":"R","type":"object"}'
PROTO = 'syntax = "proto3"; message R { int32 a = 1; }'
REGISTRY = cast("SchemaLookup", MemoryRegistry())
THEIRS = {
    SerdeClass.AVRO_SERIALIZER: confluent_avro.AvroSerializer,
    SerdeClass.AVRO_DESERIALIZER: confluent_avro.AvroDeserializer,
    SerdeClass.JSON_SERIALIZER: confluent_json.JSONSerializer,
    SerdeClass.JSON_DESERIALIZER: confluent_json.JSONDeserializer,
    SerdeClass.PROTOBUF_SERIALIZER: confluent_protobuf.ProtobufSerializer,
    SerdeClass.PROTOBUF_DESERIALIZER: confluent_protobuf.ProtobufDeserializer,
}
OURS: dict[SerdeClass, Callable[[dict[str, object]], object]] = {
    SerdeClass.AVRO_SERIALIZER: lambda conf: AvroSerializer(REGISTRY, AVRO, conf=conf),
    SerdeClass.AVRO_DESERIALIZER: lambda conf: AvroDeserializer(REGISTRY, conf=conf),
    SerdeClass.JSON_SERIALIZER: lambda conf: JSONSerializer(JSON, REGISTRY, conf=conf),
    SerdeClass.JSON_DESERIALIZER: lambda conf: JSONDeserializer(None, schema_registry_client=REGISTRY, conf=conf),
    SerdeClass.PROTOBUF_SERIALIZER: lambda conf: ProtobufSerializer(None, REGISTRY, conf, schema_str=PROTO),
    SerdeClass.PROTOBUF_DESERIALIZER: lambda conf: ProtobufDeserializer(None, conf, REGISTRY),
}


class TestKnownKeys:
    @pytest.mark.parametrize("kind", SerdeClass)
    def test_they_are_confluents_and_one_of_ours(self, kind: SerdeClass) -> None:
        theirs = set(THEIRS[kind]._default_conf)
        own = set() if kind is SerdeClass.PROTOBUF_SERIALIZER else {"times"}
        assert {name for name, key in _KEYS.items() if kind in key.of} == theirs | own

    @pytest.mark.parametrize("kind", SerdeClass)
    def test_their_defaults_are_ours(self, kind: SerdeClass) -> None:
        theirs = {name: value for name, value in THEIRS[kind]._default_conf.items() if not callable(value)}
        ours = {name: _KEYS[name].default for name in theirs}
        assert ours == theirs
        assert settings(kind, None) == settings(kind, {}) == settings(kind, theirs)
        OURS[kind](dict(THEIRS[kind]._default_conf))


@pytest.mark.core
class TestUnknownKeys:
    @pytest.mark.parametrize("kind", SerdeClass)
    def test_the_nearest_is_suggested(self, kind: SerdeClass) -> None:
        with pytest.raises(UsageError, match=r"no configuration key 'use\.lates\.version'.* 'use\.latest\.version'\?$"):
            OURS[kind]({"use.lates.version": True})

    def test_what_is_none_is_named(self) -> None:
        with pytest.raises(UsageError, match=r"no configuration key 'auto\.register\.schemas'\. It is a key of AvroS"):
            AvroDeserializer(REGISTRY, conf={"auto.register.schemas": True})
        with pytest.raises(ValueError, match="The keys of AvroSerializer are"):  # as confluent's is
            AvroSerializer(REGISTRY, AVRO, conf={"zzz": 1})
        with pytest.raises(UsageError, match="The configuration of AvroSerializer is of the type list"):
            AvroSerializer(REGISTRY, AVRO, conf=cast("dict[str, object]", ["validate"]))


WRITE, READ = SerdeClass.AVRO_SERIALIZER, SerdeClass.AVRO_DESERIALIZER
FALLBACK = "subject.name.strategy.fallback"
WRONG: list[tuple[SerdeClass, dict[str, object], str]] = [
    (WRITE, {"auto.register.schemas": "yes"}, "is of the type str"),
    (WRITE, {"use.schema.id": True}, "is of the type bool"),
    (WRITE, {"use.schema.id": 2**31}, "is 2147483648; registries assign"),
    (WRITE, {"use.latest.version": True}, r"and auto\.register\.schemas .* exclude"),
    (SerdeClass.JSON_SERIALIZER, {"use.latest.version": None}, "is None; it must be"),
    (READ, {"use.latest.with.metadata": "a=b"}, "is of the type str"),
    (READ, {"use.latest.with.metadata": {"a": 1}}, "must be a dict of texts"),
    (WRITE, {"subject.name.strategy": "TOPIC"}, r"is of the type str.*\.type\.$"),
    (WRITE, {"subject.name.strategy.type": "TPIC"}, r"is 'TPIC'\. Use one of"),
    (WRITE, {"subject.name.strategy.type": "NONE"}, "cannot be NONE; only a fallback can"),
    (WRITE, {"subject.name.strategy.conf": "x"}, "is of the type str"),
    (
        WRITE,
        {"subject.name.strategy.type": "ASSOCIATED", "subject.name.strategy.conf": {FALLBACK: "TOPIC"}},
        r"Do you mean 'subject\.name\.strategy\.fallback\.type'\?$",
    ),
    (
        WRITE,
        {"subject.name.strategy.type": "ASSOCIATED", "subject.name.strategy.conf": {f"{FALLBACK}.type": "ASSOCIATED"}},
        "cannot be ASSOCIATED: the fallback is used only after",
    ),
    (WRITE, {"schema.id.serializer": "header"}, "is of the type str"),
    (READ, {"schema.id.deserializer": 1}, "is of the type int"),
    (WRITE, {"validate.strict": "no"}, "is of the type str"),
    (SerdeClass.JSON_DESERIALIZER, {"validate": 1}, "is of the type int"),
    (WRITE, {"validation.rules.execution": "SOMETIMES"}, "is 'SOMETIMES'"),
    (
        SerdeClass.JSON_SERIALIZER,
        {"validation.rules.execution": ValidationRulesExecution.AFTER_DOMAIN_RULES},
        "is AFTER_DOMAIN_RULES, but srfix executes no rules",
    ),
    (WRITE, {"validation.rules.executor": object()}, "is given, but srfix executes no rules"),
    (SerdeClass.PROTOBUF_SERIALIZER, {"skip.known.types": "yes"}, "is of the type str"),
    (SerdeClass.PROTOBUF_SERIALIZER, {"use.deprecated.format": True}, "is True, but message indexes"),
    (SerdeClass.PROTOBUF_DESERIALIZER, {"use.deprecated.format": True}, "is True, but message indexes"),
    (SerdeClass.PROTOBUF_DESERIALIZER, {"use.deprecated.format": 1}, "is of the type int"),
    (SerdeClass.PROTOBUF_SERIALIZER, {"reference.subject.name.strategy": "x"}, "is of the type str.*file descriptor"),
    (SerdeClass.PROTOBUF_SERIALIZER, {"use.latest.version": True}, r"and auto\.register\.schemas .* exclude"),
]


@pytest.mark.parametrize(("kind", "conf", "message"), WRONG, ids=[str(next(iter(conf))) for _, conf, _ in WRONG])
def test_a_wrong_value_is_refused_by_name(kind: SerdeClass, conf: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        OURS[kind](conf)
    assert next(iter(conf)).removesuffix(".type") in caught.value.message


@pytest.mark.parametrize("mode", ["DISABLED", ValidationRulesExecution.DISABLED])
def test_disabled_rules_are_taken(mode: object) -> None:
    AvroSerializer(REGISTRY, AVRO, conf={"validation.rules.execution": mode, "validation.rules.fail.fast": True})


class _Executor:
    def type(self) -> str:
        return "X"


class TestArguments:
    def test_rules_are_refused_by_name(self) -> None:
        AvroSerializer(REGISTRY, AVRO, rule_conf={}, rule_registry=RuleRegistry())
        with pytest.raises(UsageError, match="rule_conf is given, but srfix executes no rules"):
            AvroSerializer(REGISTRY, AVRO, None, None, {"key": "value"})
        rules = RuleRegistry()
        rules.register_executor(cast("object", _Executor()))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"^rule_registry has executors or actions"):
            JSONDeserializer(JSON, rule_registry=rules)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: AvroSerializer(REGISTRY, AVRO, to_dict=cast("None", 1)), "to_dict is of the type int"),
            (lambda: AvroDeserializer(REGISTRY, from_dict=cast("None", 1)), "from_dict is of the type int"),
            (
                lambda: AvroDeserializer(REGISTRY, return_record_name=cast("bool", 1)),
                "return_record_name is of the type",
            ),
            (lambda: AvroDeserializer(cast("str", None)), "schema_registry_client is None"),
            (lambda: AvroSerializer(cast("str", 7), AVRO), "schema_registry_client is of the type int"),
            (lambda: AvroSerializer(REGISTRY), "AvroSerializer needs one of these: schema_str"),
            (lambda: AvroSerializer(REGISTRY, cast("AnySchema", json.loads(AVRO))), "schema_str is of the type dict"),
            (lambda: JSONDeserializer(None), "schema_registry_client is needed if there is no schema_str"),
            (lambda: JSONSerializer(JSON, REGISTRY, json_encode=cast("None", 1)), "json_encode is of the type int"),
            (
                lambda: ProtobufSerializer(None, REGISTRY),
                r"needs one of these: msg_type \(a generated class\); schema_str",
            ),
            (lambda: ProtobufSerializer(Timestamp, cast("str", None)), "schema_registry_client is None"),
            (
                lambda: ProtobufSerializer(cast("None", Timestamp()), REGISTRY),
                "msg_type is of the type Timestamp; it must be",
            ),
            (
                lambda: ProtobufSerializer(cast("None", dict), REGISTRY),
                "msg_type is the class dict; it must be a generated",
            ),
            (lambda: ProtobufSerializer(Timestamp, REGISTRY, schema_str=PROTO), "msg_type says what the message is"),
            (
                lambda: ProtobufSerializer(Timestamp, REGISTRY, message_name="R"),
                "Leave out schema_str and message_name, or",
            ),
            (lambda: ProtobufDeserializer(None), "schema_registry_client is needed if there is no schema_str"),
            (
                lambda: ProtobufDeserializer(Timestamp, None, REGISTRY, {"key": "value"}),
                "rule_conf is given, but srfix executes no rules",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused_by_name(self, make: Callable[[], object], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            make()

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: AvroSerializer(REGISTRY, "  "), r"^The schema text is empty"),
            (lambda: AvroSerializer(REGISTRY, '{"type":"recrod"}'), r"^The schema text is not an Avro schema"),
            (lambda: AvroDeserializer(REGISTRY, "{"), r"^The schema text is not JSON"),
            (lambda: JSONSerializer("[]", REGISTRY), r"^The schema text is not a JSON Schema: it is neither"),
            (
                lambda: ProtobufSerializer(None, REGISTRY, schema_str="message R {"),
                r"^The text is not a Protobuf schema",
            ),
            (lambda: ProtobufDeserializer(None, schema_str="message R {"), r"^The text is not a Protobuf schema"),
            (
                lambda: ProtobufSerializer(None, REGISTRY, schema_str=PROTO, message_name="n.R"),
                r"^The schema has no message n\.R\.",
            ),
            (lambda: ProtobufSerializer(None, REGISTRY, schema_str=Schema(PROTO)), "has the type AVRO, not PROTOBUF"),
            (
                lambda: JSONSerializer('{"properties":{"a":{"type":"nothing"}}}', REGISTRY),
                r"is not a JSON Schema that can be used: at \$\.properties\.a\.type, the value is not",
            ),
            (
                lambda: JSONSerializer('{"items":{"$ref":"x.json"}}', REGISTRY),
                r"be used: it refers to 'x\.json', which is not among the schema's references; srfix fetches nothing\.$",
            ),
            (lambda: JSONSerializer('{"$ref":"http://192.0.2.1/x"}', REGISTRY), r"srfix fetches nothing"),
        ],
    )
    def test_a_schema_that_is_none_is_refused(self, make: Callable[[], object], message: str) -> None:
        with pytest.raises(SchemaError, match=message):
            make()
