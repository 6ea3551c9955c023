"""The table of differences from confluent-kafka 2.16 (`srfix.serde.confluent.avro`), line by line, with what it does."""

from __future__ import annotations

import datetime
import json
import pickle
import uuid
from collections.abc import Callable
from typing import TypeAlias, cast

import pytest
from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import (
    Deserializer,
    MessageField,
    SerializationContext,
    SerializationError,
    Serializer,
)

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.json_schema import JSONDeserializer, JSONSerializer
from srfix.serde.errors import (
    DecodeError,
    EncodeError,
    PayloadTooShortError,
    ResolveError,
    SchemaError,
    SrfixError,
    SubjectVersionError,
    TrailingBytesError,
    UsageError,
)
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.errors import SubjectNotFoundError
from srfix.serde.schemas.models import Schema as OurSchema
from srfix.serde.wire import frame_guid, frame_id
from tests.serde.avro_schemas import record
from tests.serde.confluent import peers

RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
EMPTY = '{"type":"record","name":"R","fields":[]}'
CTX = peers.context()
Client: TypeAlias = RegistryClient | SchemaRegistryClient


def test_nothing_configured_is_the_topics_subject(server: FixtureRegistry, theirs: SchemaRegistryClient) -> None:
    confluent_avro.AvroSerializer(theirs, RECORD)({"a": 1}, CTX)
    assert any("/associations/" in one.path for one in server.requests)
    server.forget_requests()
    AvroSerializer(theirs, RECORD)({"a": 1}, CTX)
    assert not any("/associations/" in one.path for one in server.requests)


def test_a_small_body_behind_a_header_is_read(theirs: SchemaRegistryClient) -> None:
    ctx = peers.context(headers=[])
    conf = {"schema.id.serializer": confluent.header_schema_id_serializer}
    payload = AvroSerializer(theirs, RECORD, conf=conf)({"a": 1}, ctx)
    assert payload == b"\x02"
    with pytest.raises(Exception, match="Expecting data framing of length 6 bytes"):
        peers.their_avro_deserializer(theirs)(payload, ctx)
    assert AvroDeserializer(theirs)(payload, ctx) == {"a": 1}
    empty = AvroSerializer(theirs, EMPTY)({}, peers.context(topic="empty"))
    with pytest.raises(Exception, match="Expecting data framing of length 6 bytes"):
        peers.their_avro_deserializer(theirs)(empty or b"", peers.context(topic="empty"))
    assert AvroDeserializer(theirs)(empty, peers.context(topic="empty")) == {}


def test_bytes_behind_the_last_field_are_an_error(theirs: SchemaRegistryClient) -> None:
    payload = (AvroSerializer(theirs, RECORD)({"a": 1}, CTX) or b"") + b"more"
    assert peers.their_avro_deserializer(theirs)(payload, CTX) == {"a": 1}
    with pytest.raises(TrailingBytesError, match="A value of topic 't', schema id 1: 4 of the body's 5 bytes are"):
        AvroDeserializer(theirs)(payload, CTX)


def test_a_negative_branch_is_an_error(theirs: SchemaRegistryClient) -> None:
    schema_id = theirs.register_schema("t-value", Schema('["null","int"]'))
    payload = frame_id(schema_id, b"\x01\x08")
    assert peers.their_avro_deserializer(theirs)(payload, CTX) == 4
    with pytest.raises(DecodeError, match="has the index -1"):
        AvroDeserializer(theirs)(payload, CTX)


def test_a_header_that_is_there_already_is_replaced(theirs: SchemaRegistryClient) -> None:
    """Readers differ in which of two counts: a record that is read and written again must not carry both."""
    conf = {"schema.id.serializer": confluent.header_schema_id_serializer}
    before = [("__value_schema_id", frame_guid(uuid.UUID(int=1))), ("x", b"1")]
    their_ctx, our_ctx = peers.context(headers=[*before]), peers.context(headers=[*before])
    peers.their_avro_serializer(theirs, RECORD, conf=conf)({"a": 1}, their_ctx)
    AvroSerializer(theirs, RECORD, conf=conf)({"a": 1}, our_ctx)
    assert isinstance(their_ctx.headers, list)
    assert [name for name, _ in their_ctx.headers] == ["__value_schema_id", "x", "__value_schema_id"]
    assert our_ctx.headers == their_ctx.headers[1:]


def test_a_block_of_the_least_count_is_an_error_with_a_readers_schema_too(theirs: SchemaRegistryClient) -> None:
    """Negated, -2⁶³ is itself: fastavro takes such a block for none, and what stands in it for the next one's count."""
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"long"}}]}'
    payload = frame_id(theirs.register_schema("t-value", Schema(text)), b"\xff" * 9 + b"\x01\x00\x00")
    assert peers.their_avro_deserializer(theirs)(payload, CTX) == {"a": []}
    for deserialize in (AvroDeserializer(theirs), AvroDeserializer(theirs, text)):
        with pytest.raises(DecodeError, match="after byte 12 there should be"):
            deserialize(payload, CTX)


def test_what_no_writer_writes_is_an_error(theirs: SchemaRegistryClient) -> None:
    for text, body in (('["null","boolean"]', b"\x02\x02"), ('["null","int"]', b"\x02\xfe\xff\xff\xff\xff\x01")):
        payload = frame_id(theirs.register_schema("t-value", Schema(text)), body)
        their = peers.their_avro_deserializer(theirs)(payload, CTX)
        assert their is not None
        with pytest.raises(DecodeError):
            AvroDeserializer(theirs)(payload, CTX)


def test_a_decimal_is_never_rounded(theirs: SchemaRegistryClient) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":3}}]}'
    schema_id = theirs.register_schema("t-value", Schema(text))
    payload = frame_id(schema_id, b"\x04" + (12345).to_bytes(2, "big"))
    assert str(peers.their_avro_deserializer(theirs)(payload, CTX)) == "{'d': Decimal('1.23E+4')}"
    assert str(AvroDeserializer(theirs)(payload, CTX)) == "{'d': Decimal('12345')}"


def test_the_last_of_two_headers_counts(theirs: SchemaRegistryClient) -> None:
    text = '{"type":"record","name":"A","fields":[{"name":"x","type":"long"}]}'
    first, last = (
        theirs.register_schema_full_response("t-value", Schema(one)) for one in (text, text.replace("x", "y"))
    )
    headers = [("__value_schema_id", frame_guid(uuid.UUID(one.guid))) for one in (first, last)]
    ctx = peers.context(headers=[*headers])
    payload = b"\x80\x80\x80\x80\x80\x02"
    assert peers.their_avro_deserializer(theirs)(payload, ctx) == {"x": 2**35}
    assert AvroDeserializer(theirs)(payload, ctx) == {"y": 2**35}


def test_each_subject_keeps_its_own_id(ours: RegistryClient, server: FixtureRegistry) -> None:
    """The same text has another id where the subject's latest version has metadata."""
    ours.register("a-value", OurSchema(text='"long"'), metadata={"properties": {"k": "v"}})
    serialize = AvroSerializer(ours, RECORD, conf={"auto.register.schemas": False})
    ours.register("a-value", OurSchema(text=RECORD), metadata={"properties": {"k": "v"}})
    ours.register("b-value", OurSchema(text=RECORD))
    with SchemaRegistryClient({"url": server.url}) as client:
        their = peers.their_avro_serializer(client, RECORD, {"auto.register.schemas": False})
        a, b = peers.context(topic="a"), peers.context(topic="b")
        first, second = their({"a": 1}, a), their({"a": 1}, b)
        assert first != second
        assert their({"a": 1}, a) == second, "the id of the subject that was looked up last"
        assert [serialize({"a": 1}, ctx) for ctx in (a, b, a, b)] == [first, second, first, second]


def test_an_int_that_no_reader_reads_is_not_written(theirs: SchemaRegistryClient) -> None:
    written = confluent_avro.AvroSerializer(theirs, RECORD)({"a": 2**31}, CTX)
    with pytest.raises(DecodeError, match="needs more than 32 bits"):
        AvroDeserializer(theirs)(written, CTX)
    named = record("N", a="int")
    for schema, value in (
        (json.loads(RECORD), {"a": 2**31}),
        (record("R", f=named, g=["null", "N"], h={"type": "array", "items": "N"}), {"h": [{"a": -(2**31) - 1}]}),
        (record("R", f=named, g=["null", "N"], h={"type": "array", "items": "N"}), {"g": ("N", {"a": 2**31})}),
        (record("R", f={"type": "map", "values": "int"}), {"f": {"x": 2**31}}),
        (record("R", f={"type": "int", "logicalType": "date"}), {"f": 2**31}),
        (record("R", f={"type": "array", "items": {"type": "int", "logicalType": "time-millis"}}), {"f": [-(2**40)]}),
        (record("R", f={"type": "int", "logicalType": "wonder"}), {"f": 2**31}),
    ):
        serialize = AvroSerializer(theirs, json.dumps(schema))
        with pytest.raises(EncodeError, match=r"does not fit its Avro schema at .*has int"):
            serialize({"f": {"a": 1}, "g": None, "h": []} | value, CTX)
    in_union = AvroSerializer(theirs, json.dumps(record("R", a=["int", "long"])))
    assert AvroDeserializer(theirs)(in_union({"a": 2**31}, CTX), CTX) == {"a": 2**31}


class TestErrors:
    """What caught confluent-kafka's goes on to."""

    def test_of_payloads_and_rows(self, theirs: SchemaRegistryClient) -> None:
        serialize, deserialize = AvroSerializer(theirs, RECORD), AvroDeserializer(theirs)
        payload = serialize({"a": 1}, CTX) or b""
        assert deserialize(payload, CTX) == {"a": 1}
        calls: list[tuple[type[SrfixError], Callable[[], object]]] = [
            (EncodeError, lambda: serialize({"a": "x"}, CTX)),
            (TrailingBytesError, lambda: deserialize(payload + b"more", CTX)),
            (PayloadTooShortError, lambda: deserialize(b"\0", CTX)),
            (ResolveError, lambda: deserialize(frame_id(77, b""), CTX)),
        ]
        for kind, call in calls:
            with pytest.raises(SerializationError) as caught:
                call()
            again = pickle.loads(pickle.dumps(caught.value))
            for error in (caught.value, again):
                assert isinstance(error, kind)
                assert isinstance(error, SerializationError)
                assert str(error) == str(caught.value)

    def test_of_the_registry(self, theirs: SchemaRegistryClient, ours: RegistryClient) -> None:
        for client in (theirs, ours):
            with pytest.raises(SchemaRegistryError) as caught:
                AvroSerializer(client, RECORD, conf={"auto.register.schemas": False})({"a": 1}, CTX)
            assert isinstance(caught.value, SubjectNotFoundError)
            assert (caught.value.http_status_code, caught.value.error_code) == (404, 40401)
            assert "t-value" in caught.value.error_message

    def test_of_an_id_that_the_registry_does_not_know(self, theirs: SchemaRegistryClient, ours: RegistryClient) -> None:
        for client in (theirs, ours):
            with pytest.raises(SchemaRegistryError) as caught:
                AvroDeserializer(client)(frame_id(77, b""), CTX)
            for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
                assert {ResolveError, SerializationError, SchemaRegistryError} < {*type(error).__mro__}
                assert (error.http_status_code, error.error_code) == (404, 40403)
                assert "77" in error.error_message

    def test_of_a_context_without_a_topic(self, server: FixtureRegistry, theirs: SchemaRegistryClient) -> None:
        nowhere = SerializationContext(cast("str", None), MessageField.VALUE)
        payload = AvroSerializer(theirs, RECORD)({"a": 1}, CTX)
        assert AvroDeserializer(theirs)(payload, nowhere) == {"a": 1}, "as confluent-kafka reads it, by id"
        writes = server.writes
        with pytest.raises(UsageError, match="has no topic"):
            AvroSerializer(theirs, RECORD)({"a": 1}, nowhere)
        assert server.writes == writes

    def test_of_a_context_that_is_not_there(self, theirs: SchemaRegistryClient) -> None:
        payload = AvroSerializer(theirs, RECORD)({"a": 1}, CTX)
        with pytest.raises(TypeError, match="there is none"):
            AvroDeserializer(theirs, from_dict=lambda row, _: row)(payload)
        with pytest.raises(TypeError, match="there is none"):
            AvroSerializer(theirs, RECORD, lambda row, _: row)({"a": 1})

    def test_they_are_serializers_and_deserializers_of_confluents(self, theirs: SchemaRegistryClient) -> None:
        serializer: Serializer = AvroSerializer(theirs, RECORD)
        deserializer: Deserializer = AvroDeserializer(theirs)
        assert isinstance(serializer, Serializer)
        assert isinstance(deserializer, Deserializer)
        assert isinstance(JSONDeserializer("{}"), Deserializer)


def test_nothing_is_registered_for_a_record_that_does_not_fit(
    server: FixtureRegistry, theirs: SchemaRegistryClient
) -> None:
    with pytest.raises(EncodeError, match="A value for topic 't': The value does not fit"):
        AvroSerializer(theirs, RECORD)({"a": "x"}, CTX)
    with pytest.raises(EncodeError, match="does not fit its JSON Schema"):
        JSONSerializer('{"title":"R","type":"object"}', theirs)(["x"], CTX)
    assert server.writes == 0
    with pytest.raises(TypeError):
        peers.their_avro_serializer(theirs, RECORD)({"a": "x"}, CTX)
    assert server.writes == 1


@pytest.mark.core
class TestRegistrationsAreSent:
    """confluent-kafka's client answers a registration from what it has read: DESIGN's first invariant."""

    def test_the_trap_is_there(self, server: FixtureRegistry, theirs: SchemaRegistryClient) -> None:
        schema_id = server.seed("source-value", RECORD)
        schema = theirs.get_schema(schema_id, "t-value")
        assert theirs.register_schema("t-value", schema) == schema_id
        assert server.writes == 0

    def test_a_read_of_theirs_does_not_stand_in_for_a_registration_of_ours(
        self, server: FixtureRegistry, theirs: SchemaRegistryClient
    ) -> None:
        schema = theirs.get_schema(server.seed("source-value", RECORD), "t-value")
        AvroSerializer(theirs, schema)({"a": 1}, CTX)
        assert [one.path.partition("?")[0] for one in server.write_log] == ["/subjects/t-value/versions"]


def test_a_schema_of_another_type_is_refused(server: FixtureRegistry, client: Client) -> None:
    json_id = server.seed("t-value", '{"title":"R"}', schema_type="JSON")
    avro_id = server.seed("t-value", RECORD)
    with pytest.raises(SchemaError, match="A value of topic 't', schema id 1: The schema is"):
        AvroDeserializer(client)(frame_id(json_id, b"{}"), CTX)
    with pytest.raises(SchemaError, match="is of the type AVRO, not JSON"):
        JSONDeserializer(None, None, client)(frame_id(avro_id, b"{}"), CTX)
    latest = {"auto.register.schemas": False, "use.latest.version": True}
    with pytest.raises(SchemaError, match=r"The schema of subject 't-value' \(id 2\): the"):
        JSONSerializer(None, client, conf=latest)({}, CTX)
    with pytest.raises(SchemaError, match="pass the Schema with schema_type='JSON'"):
        JSONSerializer(Schema('{"title":"R"}'), client)


def test_reading_as_the_latest_needs_the_schema_under_the_subject(server: FixtureRegistry, client: Client) -> None:
    """As there; the words are ours: it is the incident, met by a plain reader."""
    schema_id = server.seed("source-value", RECORD)
    server.seed("t-value", EMPTY)
    read = AvroDeserializer(client, conf={"use.latest.version": True})
    with pytest.raises(SubjectVersionError, match="must also be registered under subject") as caught:
        read(frame_id(schema_id, b"\x02"), CTX)
    assert caught.value.subject == "t-value"
    with pytest.raises(SubjectVersionError, match="but subject 't-value' does not hold its schema"):
        AvroSerializer(client, None, conf={"use.schema.id": schema_id})({"a": 1}, CTX)


class TestJson:
    def test_a_pattern_is_ecmas(self, theirs: SchemaRegistryClient) -> None:
        """Python's `$` also matches before a last line feed, and its `\\d` takes digits of every script."""
        for pattern, text in (("^a$", "a\n"), (r"^\d$", "٣")):
            schema = json.dumps({"title": "R", "type": "string", "pattern": pattern})
            assert peers.their_json_serializer(theirs, schema)(text, CTX) is not None
            with pytest.raises(EncodeError, match="does not match"):
                JSONSerializer(schema, theirs)(text, CTX)

    def test_a_tuple_is_an_array(self, theirs: SchemaRegistryClient) -> None:
        schema = '{"title":"R","type":"array"}'
        with pytest.raises(Exception, match="is not of type 'array'"):
            peers.their_json_serializer(theirs, schema)((1, 2), CTX)
        assert JSONSerializer(schema, theirs)((1, 2), CTX) == JSONSerializer(schema, theirs)([1, 2], CTX)

    def test_what_is_written_as_null_is_no_number(self, theirs: SchemaRegistryClient) -> None:
        schema = '{"title":"R","type":"number"}'
        for number in (float("nan"), float("inf")):
            assert str(peers.their_json_serializer(theirs, schema)(number, CTX)).endswith("null'")
            with pytest.raises(EncodeError, match='the value is not of type "number"'):
                JSONSerializer(schema, theirs)(number, CTX)

    def test_a_value_that_orjson_writes_is_validated_as_it_is_written(self, theirs: SchemaRegistryClient) -> None:
        """Seen: a date was refused under every schema that looks at it: "Unsupported type: 'date'"."""
        serialize = JSONSerializer('{"title":"R","type":"string","maxLength":10}', theirs)
        assert serialize(datetime.date(2020, 1, 2), CTX) == serialize("2020-01-02", CTX)
        with pytest.raises(EncodeError, match=r"at \$: the value is longer than 10 characters"):
            serialize(uuid.UUID(int=1), CTX)


class TestInAContext:
    @pytest.mark.parametrize("whose", ["our client", "confluent's client"])
    @pytest.mark.parametrize("path", ["", "/contexts/.eu"])
    def test_an_id_that_its_subject_does_not_hold_is_read(self, server: FixtureRegistry, path: str, whose: str) -> None:
        server.seed("t-value", EMPTY)  # id 1 of the default context
        server.seed(":.eu:elsewhere-value", RECORD)
        url, payload = server.url + path, frame_id(1, b"\x02")
        conf = {"subject.name.strategy": lambda ctx, _name: "t-value" if path else ":.eu:t-value"}
        with SchemaRegistryClient({"url": url, "max.retries": 0}) as theirs, RegistryClient(url) as ours:
            with pytest.raises(SchemaRegistryError, match="Schema 1 not found"):
                peers.their_avro_deserializer(theirs, conf=conf)(payload, CTX)
            client = ours if whose == "our client" else theirs
            assert AvroDeserializer(client, conf=conf)(payload, CTX) == {"a": 1}
