"""Each configuration key beside confluent-kafka: the same bytes, rows, headers and subjects, over either client."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest
from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.common.serde import SubjectNameStrategyType
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.serde import AssociatedNameStrategy, SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.confluent import framing
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.json_schema import JSONDeserializer, JSONSerializer
from srfix.serde.confluent.strategies import topic_record_subject_name_strategy as our_topic_record_strategy
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.schemas.models import Schema as OurSchema
from srfix.serde.schemas.models import SchemaReference as OurReference
from srfix.serde.subjects.strategies import TopicRecordSubject
from tests.serde.confluent import peers
from tests.telling import slow_but

Client: TypeAlias = RegistryClient | SchemaRegistryClient

V1 = '{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":"int"}]}'
V2 = (
    '{"type":"record","name":"R","namespace":"n","fields":[{"name":"a","type":"int"},'
    '{"name":"b","type":["null","string"],"default":null}]}'
)

J1 = '{"title":"R","type":"object","properties":{"a":{"type":"integer"}}}'
J2 = '{"title":"R","type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}}}'
ROW = {"a": 1}


def _header_context(form: str, field: MessageField = MessageField.VALUE) -> SerializationContext:
    return peers.context(field=field, headers=[("x", b"1")] if form == "list" else {"x": b"1"})


def _own_strategy(ctx: SerializationContext, record_name: str | None) -> str:
    return f"own.{ctx.topic}.{ctx.field}.{record_name}"


def _own_strategy_of_four(ctx: SerializationContext, record_name: str | None, client: object, conf: object) -> str:
    return f"four.{ctx.topic}.{record_name}.{type(client).__name__}.{conf}"


STRATEGIES: dict[str, Mapping[str, object]] = {
    "topic": {"subject.name.strategy": confluent.topic_subject_name_strategy},
    "record": {"subject.name.strategy": confluent.record_subject_name_strategy},
    "topic record": {"subject.name.strategy": confluent.topic_record_subject_name_strategy},
    "TOPIC": {"subject.name.strategy.type": "TOPIC"},
    "record in lower case": {"subject.name.strategy.type": "record"},
    "TOPIC_RECORD": {"subject.name.strategy.type": SubjectNameStrategyType.TOPIC_RECORD},
    "one's own": {"subject.name.strategy": _own_strategy},
    "a callable before a type": {"subject.name.strategy": _own_strategy, "subject.name.strategy.type": "RECORD"},
    "associated, without any": {"subject.name.strategy.type": "ASSOCIATED"},
    "associated, record as a fallback": {
        "subject.name.strategy": AssociatedNameStrategy(),
        "subject.name.strategy.conf": {"subject.name.strategy.fallback.type": "RECORD"},
    },
}


class TestSubjects:
    @pytest.mark.parametrize("name", slow_but(STRATEGIES, "record", "TOPIC_RECORD", "one's own"))
    @pytest.mark.parametrize("field", [MessageField.KEY, MessageField.VALUE])
    def test_the_same_strategy_registers_under_the_same_subject(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient, name: str, field: MessageField
    ) -> None:
        conf, ctx = STRATEGIES[name], peers.context(field=field)
        expected = peers.their_avro_serializer(theirs, V1, conf)(ROW, ctx)
        subjects = set(theirs.get_subjects())
        theirs.clear_caches()
        assert AvroSerializer(client, V1, conf=conf)(ROW, ctx) == expected
        assert server.writes == 2
        assert set(theirs.get_subjects()) == subjects
        assert len(subjects) == 1
        payload = JSONSerializer(J1, client, conf=conf)(ROW, ctx)
        assert payload == peers.their_json_serializer(theirs, J1, conf)(ROW, ctx)

    def test_a_strategy_of_four_parameters_is_given_client_and_configuration(
        self, ours: RegistryClient, theirs: SchemaRegistryClient
    ) -> None:
        conf = {"subject.name.strategy": _own_strategy_of_four, "subject.name.strategy.conf": {"k": 1}}
        AvroSerializer(ours, V1, conf=conf)(ROW, peers.context())
        assert theirs.get_subjects() == ["four.t.n.R.RegistryClient.{'k': 1}"]
        for strategy in (our_topic_record_strategy, TopicRecordSubject()):
            AvroSerializer(ours, V1, conf={"subject.name.strategy": strategy})(ROW, peers.context())
            assert theirs.delete_subject("t-n.R")

    def test_an_associated_subject_is_found(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        names = {"resourceName": "t", "resourceNamespace": "k1", "associationType": "value"}
        found = [{"subject": "assoc", "guid": "g", **names}]
        path = r"^/associations/resources/k1/t\?resourceType=topic&associationType=value$"
        server.intercept(Fault(action=Answer(status=200, body=json.dumps(found)), path=path))
        cluster = {"subject.name.strategy.kafka.cluster.id": "k1"}
        conf = {"subject.name.strategy.type": "ASSOCIATED", "subject.name.strategy.conf": cluster}
        expected = peers.their_avro_serializer(theirs, V1, conf)(ROW, peers.context())
        before = len(server.requests)
        serialize = AvroSerializer(client, V1, conf=conf)
        assert [serialize(ROW, peers.context()) for _ in range(3)] == [expected] * 3
        assert theirs.get_subjects() == ["assoc"]
        assert len(server.requests) - before == 3, "one for the association, one to register, and this test's own"

    def test_the_producer_tells_the_cluster(self, server: FixtureRegistry, client: Client) -> None:
        server.intercept(
            Fault(action=Answer(status=200, body='[{"subject":"mine"}]'), path="^/associations/resources/told/t")
        )
        serialize = AvroSerializer(client, V1, conf={"subject.name.strategy.type": "ASSOCIATED"})
        serialize.set_cluster_id_resolver(lambda: "told")
        serialize(ROW, peers.context())
        assert server.write_log[0].path.startswith("/subjects/mine/versions")


class TestFraming:
    @pytest.mark.parametrize("form", ["list", "dict"])
    @pytest.mark.parametrize("field", [MessageField.KEY, MessageField.VALUE])
    def test_headers_carry_the_same_guid(
        self, client: Client, theirs: SchemaRegistryClient, form: str, field: MessageField
    ) -> None:
        conf: dict[str, object] = {"schema.id.serializer": confluent.header_schema_id_serializer}
        their_ctx, our_ctx = _header_context(form, field), _header_context(form, field)
        expected = peers.their_avro_serializer(theirs, V1, conf)({"a": 10**6}, their_ctx)
        serialize = AvroSerializer(client, V1, conf=conf)
        assert serialize({"a": 10**6}, our_ctx) == expected
        assert our_ctx.headers == their_ctx.headers
        assert AvroDeserializer(client)(expected, our_ctx) == {"a": 10**6}
        long = {"a": 2**30}
        payload = serialize(long, _header_context(form, field))
        for one in (confluent.dual_schema_id_deserializer, None):
            conf = {} if one is None else {"schema.id.deserializer": one}
            assert AvroDeserializer(client, conf=conf)(payload, our_ctx) == long

    @pytest.mark.parametrize("field", [MessageField.NONE, MessageField.KEY, MessageField.VALUE])
    def test_whose_header_is_read(self, field: MessageField) -> None:
        ctx = peers.context(
            field=field, headers=[(f"__{role}_schema_id", b"\x01" + uuid.uuid4().bytes) for role in ("key", "value")]
        )
        theirs, ours = (SchemaId("AVRO") for _ in range(2))
        confluent.dual_schema_id_deserializer(b"\x02", ctx, theirs)
        framing.dual_schema_id_deserializer(b"\x02", ctx, ours)
        assert ours.guid == theirs.guid

    def test_prefixed_guids_are_read(self, client: Client, theirs: SchemaRegistryClient) -> None:
        known = theirs.register_schema_full_response("t-value", Schema(V1))
        payload = b"\x01" + uuid.UUID(known.guid).bytes + b"\x02"
        for one in (confluent.prefix_schema_id_deserializer, confluent.dual_schema_id_deserializer):
            conf: dict[str, object] = {"schema.id.deserializer": one}
            assert peers.their_avro_deserializer(theirs, conf=conf)(payload, peers.context()) == ROW
            assert AvroDeserializer(client, conf=conf)(payload, peers.context()) == ROW

    def test_a_callable_of_ones_own_is_called_as_theirs(self, client: Client, theirs: SchemaRegistryClient) -> None:
        def write(payload: bytes, ctx: object, schema_id: object) -> bytes:
            return schema_id.id_to_bytes()[::-1] + payload  # type: ignore[attr-defined, no-any-return]

        conf: dict[str, object] = {"schema.id.serializer": write}
        expected = peers.their_avro_serializer(theirs, V1, conf)(ROW, peers.context())
        assert AvroSerializer(client, V1, conf=conf)(ROW, peers.context()) == expected

        def read(payload: bytes, ctx: object, schema_id: object) -> io.BytesIO:
            rest = io.BytesIO(payload[4::-1] + payload[5:])
            return schema_id.from_bytes(rest)  # type: ignore[attr-defined, no-any-return]

        conf = {"schema.id.deserializer": read}
        assert peers.their_avro_deserializer(theirs, conf=conf)(expected, peers.context()) == ROW
        assert AvroDeserializer(client, conf=conf)(expected, peers.context()) == ROW


LATEST: Mapping[str, object] = {"auto.register.schemas": False, "use.latest.version": True}
METADATA: Mapping[str, object] = {"auto.register.schemas": False, "use.latest.with.metadata": {"stage": "prod"}}


class TestWhichSchemaIsWrittenUnder:
    @pytest.mark.parametrize("schema", [None, V1])
    def test_the_latest(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient, schema: str | None
    ) -> None:
        server.seed("t-value", V1)
        server.seed("t-value", V2)
        for text, conf, row in ((schema, LATEST, {"a": 1, "b": "x"}), (V1, {"auto.register.schemas": False}, ROW)):
            expected = peers.their_avro_serializer(theirs, text, conf)(row, peers.context())
            assert AvroSerializer(client, text, conf=conf)(row, peers.context()) == expected
        assert server.writes == 0

    def test_no_version_that_is_soft_deleted(self, client: Client, theirs: SchemaRegistryClient) -> None:
        for text in (V1, V2):
            theirs.register_schema("t-value", Schema(text))
        theirs.delete_version("t-value", 1)
        conf = {"auto.register.schemas": False}
        for serialize in (peers.their_avro_serializer(theirs, V1, conf), AvroSerializer(client, V1, conf=conf)):
            with pytest.raises((RegistryAnswerError, SchemaRegistryError), match="40403"):
                serialize(ROW, peers.context())

    def test_the_latest_with_metadata(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        schema_id = server.seed("t-value", V1)
        server.seed("t-value", V2)
        answer = {"subject": "t-value", "version": 1, "id": schema_id, "schema": V1}
        path = r"^/subjects/t-value/metadata\?deleted=[tT]rue&key=stage&value=prod$"
        server.intercept(Fault(action=Answer(status=200, body=json.dumps(answer)), path=path))
        expected = peers.their_avro_serializer(theirs, None, METADATA)(ROW, peers.context())
        assert AvroSerializer(client, None, conf=METADATA)(ROW, peers.context()) == expected
        # As a reader's: of the two, the version that the metadata names.
        conf = {"use.latest.with.metadata": {"stage": "prod"}}
        payload = AvroSerializer(client, V2, conf={"auto.register.schemas": False})({"a": 1, "b": "x"}, peers.context())
        assert peers.their_avro_deserializer(theirs, conf=conf)(payload, peers.context()) == ROW
        assert AvroDeserializer(client, conf=conf)(payload, peers.context()) == ROW

    def test_the_id_that_is_named(self) -> None:
        with FixtureRegistry() as server, SchemaRegistryClient({"url": server.url}) as theirs:
            conf = {"use.schema.id": server.seed("t-value", V1)}
            server.configure("t-value", {"compatibility": "NONE"})
            server.seed("t-value", V2)
            expected = peers.their_avro_serializer(theirs, None, conf)(ROW, peers.context())
            for client in (server.url, theirs):
                assert AvroSerializer(client, None, conf=conf)(ROW, peers.context()) == expected

    def test_the_id_that_is_named_of_a_registry_that_gives_guids(self, server: FixtureRegistry, client: Client) -> None:
        """confluent-kafka 2.16 fails here: 8.x answers without the id, and its cache takes that for the whole answer."""
        schema_id = server.seed("t-value", V1)
        payload = AvroSerializer(client, None, conf={"use.schema.id": schema_id})(ROW, peers.context())
        assert payload == b"\0" + schema_id.to_bytes(4, "big") + b"\x02"

    @pytest.mark.parametrize("normalize", [True, False])
    def test_normalised(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient, *, normalize: bool
    ) -> None:
        server.seed("t-value", '{"properties":{},"title":"R","type":"object"}', schema_type="JSON")
        text, conf = '{"title":"R","type":"object","properties":{}}', {"normalize.schemas": normalize}
        expected = peers.their_json_serializer(theirs, text, conf)({}, peers.context())
        assert JSONSerializer(text, client, conf=conf)({}, peers.context()) == expected
        assert len(theirs.get_versions("t-value")) == (1 if normalize else 2)


class TestReaders:
    def test_the_latest_is_the_readers(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        payload = AvroSerializer(client, V1)(ROW, peers.context())
        server.seed("t-value", V2)
        conf = {"use.latest.version": True}
        expected = peers.their_avro_deserializer(theirs, conf=conf)(payload, peers.context())
        read = AvroDeserializer(client, conf=conf)
        assert [read(payload, peers.context()) for _ in range(2)] == [expected] * 2 == [{"a": 1, "b": None}] * 2

    def test_the_latest_validates_json(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        payload = JSONSerializer(J1, client)({"a": 1, "b": 7}, peers.context())
        read = JSONDeserializer(None, schema_registry_client=client, conf={"use.latest.version": True})
        server.seed("t-value", J2, schema_type="JSON")
        conf = {"use.latest.version": True}
        with pytest.raises(Exception, match="7 is not of type"):
            peers.their_json_deserializer(theirs, conf=conf)(payload, peers.context())
        with pytest.raises(ValueError, match=r'at \$\.b: the value is not of types "null",'):
            read(payload, peers.context())


class TestSchemas:
    def test_json_references_are_resolved(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        server.seed("inner", '{"title":"I","type":"integer"}', schema_type="JSON")
        outer = '{"title":"O","type":"object","properties":{"i":{"$ref":"inner.json"}}}'
        schema = Schema(outer, "JSON", [SchemaReference("inner.json", "inner", 1)])
        write_theirs, write = peers.their_json_serializer(theirs, schema), JSONSerializer(schema, client)
        assert write({"i": 1}, peers.context()) == write_theirs({"i": 1}, peers.context())
        for refuse in (write_theirs, write):
            with pytest.raises(Exception, match="not of type"):
                refuse({"i": "x"}, peers.context())

    def test_columns_read_references_that_only_have_names(self, server: FixtureRegistry, client: Client) -> None:
        names = {"a.json": "string", "b.json": "integer"}
        for name, type_ in names.items():
            server.seed(name, f'{{"type":"{type_}"}}', schema_type="JSON")
        text = '{"type":"object","properties":{"a":{"$ref":"a.json"},"b":{"$ref":"b.json"}}}'
        schema = Schema(text, "JSON", [SchemaReference(name, name, 1) for name in names])
        payload = JSONSerializer(schema, client)({"a": "x", "b": 7}, peers.context())
        read = JSONDeserializer(client, columns="A STRING, B BIGINT")
        assert read(payload, peers.context()) == {"A": "x", "B": 7}

    def test_references_of_references_are_resolved(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        server.seed("inner", V1)
        middle = '{"type":"record","name":"M","namespace":"m","fields":[{"name":"r","type":"n.R"}]}'
        server.seed("middle", middle, references=[OurReference(name="n.R", subject="inner", version=1)])
        outer = '{"type":"record","name":"O","fields":[{"name":"m","type":"m.M"}]}'
        schema, row = Schema(outer, "AVRO", [SchemaReference("m.M", "middle", 1)]), {"m": {"r": {"a": 1}}}
        expected = peers.their_avro_serializer(theirs, schema)(row, peers.context())
        ours = OurSchema(text=outer, references=(OurReference(name="m.M", subject="middle", version=1),))
        for given in (schema, ours):
            assert AvroSerializer(client, given)(row, peers.context()) == expected
        assert AvroDeserializer(client)(expected, peers.context()) == row

    def test_a_format_is_an_annotation(self, client: Client, theirs: SchemaRegistryClient) -> None:
        text = '{"$schema":"http://json-schema.org/draft-07/schema#","title":"D","type":"string","format":"date"}'
        expected = peers.their_json_serializer(theirs, text)("no date", peers.context())
        assert JSONSerializer(text, client)("no date", peers.context()) == expected

    @pytest.mark.parametrize("text", ['"string"', ' "long" ', '{"type":"bytes"}', '["null","int"]'])
    def test_bare_types_are_sent_as_they_send_them(
        self, client: Client, theirs: SchemaRegistryClient, text: str
    ) -> None:
        value: object = {'"string"': "äx", ' "long" ': 300, '{"type":"bytes"}': b"raw bytes"}.get(text, 5)
        ctx = peers.context(field=MessageField.KEY)
        expected = peers.their_avro_serializer(theirs, text)(value, ctx)
        assert AvroSerializer(client, text)(value, ctx) == expected
        assert AvroDeserializer(client)(expected, ctx) == value
        for names in (False, True):
            read_theirs = peers.their_avro_deserializer(theirs, text, names=names)
            assert (
                AvroDeserializer(client, text, None, names)(expected, ctx) == read_theirs(expected or b"", ctx) == value
            )
        assert len(theirs.get_versions("t-key")) == 1


class TestConversions:
    def test_to_dict_and_from_dict_are_called_with_object_and_context(
        self, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        def to_dict(value: object, ctx: object) -> dict[str, object]:
            calls.append((value, ctx))
            return {"a": len(str(value))}

        def from_dict(row: object, ctx: object) -> object:
            calls.append((row, ctx))
            return "made of it"

        calls: list[tuple[object, object]] = []
        ctx = peers.context()
        payload = AvroSerializer(client, V1, to_dict)("abc", ctx)
        assert payload == peers.their_avro_serializer(theirs, V1, to_dict=to_dict)("abc", ctx)
        assert AvroDeserializer(client, None, from_dict)(payload, ctx) == "made of it"
        assert calls == [("abc", ctx), ("abc", ctx), ({"a": 3}, ctx)]
        assert AvroDeserializer(client, None, from_dict)(None, ctx) is None
        assert AvroSerializer(client, V1, to_dict)(None, ctx) is None
        assert len(calls) == 3

    @pytest.mark.parametrize("make", [AvroSerializer, lambda client, _: JSONSerializer(J1, client)])
    def test_a_tombstone_asks_nothing(
        self, server: FixtureRegistry, client: Client, make: Callable[..., object]
    ) -> None:
        serialize = make(client, V1)
        assert callable(serialize)
        assert serialize(None, peers.context()) is None
        assert AvroDeserializer(client)(None, peers.context()) is None
        assert server.requests == ()

    def test_without_a_context_the_record_strategy_is_enough(
        self, client: Client, theirs: SchemaRegistryClient
    ) -> None:
        conf = {"subject.name.strategy": confluent.record_subject_name_strategy}
        expected = peers.their_avro_serializer(theirs, V1, conf)(ROW, None)
        assert AvroSerializer(client, V1, conf=conf)(ROW) == expected
        assert AvroDeserializer(client)(expected) == ROW


def test_the_bytes_of_documents_are_those_of_both_of_confluents_encoders(client: Client) -> None:
    """With orjson, and without it: floats and what only one of them writes apart."""
    serialize = JSONSerializer("true", client)
    documents: list[object] = [{"ä": '\u2028\x7f"\\/', "n": None, "b": [True, -1, 0, 10**15]}, [], "x", 7]
    for document in documents:
        payload = serialize(document, peers.context())
        assert isinstance(payload, bytes)
        assert payload[5:] == json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
