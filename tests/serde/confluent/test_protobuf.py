"""The Protobuf pair beside confluent-kafka's: bytes, messages, requests; and what it adds."""

from __future__ import annotations

import asyncio
import base64
import datetime
import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_type, cast

import pytest
from confluent_kafka import schema_registry as confluent
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry import protobuf as theirs_
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationError
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    ById,
    ColumnError,
    ColumnNotFedError,
    DecodeError,
    DualSubject,
    DualSubjectError,
    EncodeError,
    FixedSubject,
    Reason,
    RegistryClient,
    ResolveError,
    SchemaDeserializer,
    SchemaError,
    SerdeContext,
    SrfixError,
    TruncatedBodyError,
    UsageError,
)
from srfix.serde.confluent import (
    AsyncProtobufDeserializer,
    AsyncProtobufSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    framing,
    reference_subject_name_strategy,
)
from srfix.serde.formats.protobuf.indexes import read_indexes, written_indexes
from srfix.serde.wire import frame_id
from tests.serde.confluent import peers, protos
from tests.without_protobuf import without_protobuf

Client: TypeAlias = RegistryClient | SchemaRegistryClient
CTX = peers.context()
CLASSES = sorted(protos.NAMES)
LATEST: Mapping[str, object] = {"auto.register.schemas": False, "use.latest.version": True}
TEXT = """
    syntax = "proto3"; package n; import "google/protobuf/timestamp.proto";
    message R { int64 id = 1; repeated Part parts = 2; map<string, Part> by_name = 3; bytes data = 4;
                google.protobuf.Timestamp at = 5; Kind kind = 6; message Part { string name = 1; } }
    message Other { string s = 1; }
    enum Kind { NONE = 0; SOME = 1; }
"""


def their_serializer(message_type: Any, client: Any, conf: Mapping[str, object] | None = None) -> Any:
    return theirs_.ProtobufSerializer(message_type, client, peers._conf(conf))


def their_deserializer(message_type: Any, client: Any = None, conf: Mapping[str, object] | None = None) -> Any:
    return theirs_.ProtobufDeserializer(message_type, peers._conf(conf), client)


def same(one: object, other: Message) -> bool:
    """Whether they are the same, of whichever pool: of NaN, a message does not equal itself."""
    return isinstance(one, Message) and _contents(one) == _contents(other)


def _contents(message: Message) -> tuple[str, bytes]:
    return message.DESCRIPTOR.full_name, message.SerializeToString(deterministic=True)


def _posted(server: FixtureRegistry) -> set[tuple[str, bool]]:
    """The paths that something was posted to, and whether normalised."""
    posts = (one.path.partition("?") for one in server.requests if one.method == "POST")
    return {(path, "normalize=true" in query.lower()) for path, _, query in posts}


@pytest.mark.slow
@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(CLASSES))
def test_bytes_and_messages_are_confluents_in_both_directions(data: st.DataObject, name: str) -> None:
    message_type = protos.message_class(name)
    client = peers.mock_client()
    ours, theirs = ProtobufSerializer(message_type, client), their_serializer(message_type, client)
    read_ours, read_theirs = (
        make(message_type, None, client) for make in (ProtobufDeserializer, theirs_.ProtobufDeserializer)
    )
    read_alone, read_dynamic = ProtobufDeserializer(message_type), ProtobufDeserializer(None, None, client)
    message = data.draw(protos.messages(message_type))
    payload = ours(message, CTX)
    assert payload == theirs(message, CTX)
    for read in (read_ours, read_theirs, read_alone):
        assert type(read(payload, CTX)) is message_type
        assert same(read(payload, CTX), message)
    assert same(read_dynamic(payload, CTX), message)

    async def check() -> None:
        async with (
            AsyncProtobufSerializer(message_type, client) as write,
            AsyncProtobufDeserializer(message_type, None, client) as read,
        ):
            mock = AsyncSchemaRegistryClient.new_client({"url": "mock://"})
            their_write = await theirs_.AsyncProtobufSerializer(message_type, mock, dict(peers.BY_TOPIC))
            their_read = await theirs_.AsyncProtobufDeserializer(message_type, dict(peers.BY_TOPIC), mock)
            assert await write(message, CTX) == await their_write(message, CTX) == payload
            assert same(await read(payload, CTX), message)
            assert same(await their_read(payload, CTX), message)
            assert await write(None, CTX) is None
            assert await read(None, CTX) is None

    asyncio.run(check())


class TestMessageIndexes:
    @pytest.mark.parametrize("name", CLASSES)
    def test_are_confluents(self, client: Client, theirs: SchemaRegistryClient, name: str) -> None:
        message_type = protos.message_class(name)
        message = (
            message_type(key="k")
            if name == "old.Old"
            else message_type(data=b"")
            if "Inner" in name
            else message_type()
        )
        payload = their_serializer(message_type, theirs)(message, CTX)
        assert ProtobufSerializer(message_type, client)(message, CTX) == payload
        assert read_indexes(payload, 5)[0] == protos.NAMES[name]

    @given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=10))
    def test_are_written_as_there_and_read_again(self, indexes: list[int]) -> None:
        theirs = confluent.SchemaId("PROTOBUF", 7, message_indexes=indexes) if hasattr(confluent, "SchemaId") else None
        written = written_indexes(tuple(indexes))
        out = io.BytesIO()
        theirs_.ProtobufSerializer._encode_varints(out, indexes)
        assert theirs is None or theirs.id_to_bytes()[5:] == written
        assert out.getvalue() == written
        assert read_indexes(b"xx" + written + b"y", 2) == (tuple(indexes), 2 + len(written))

    def test_the_long_form_of_the_first_is_read(self, client: Client) -> None:
        first = protos.message_class("First")
        payload = ProtobufSerializer(first, client)(first(name="a"), CTX) or b""
        long = payload[:5] + b"\x02\x00" + payload[6:]
        assert ProtobufDeserializer(first, None, client)(long, CTX) == first(name="a")

    @pytest.mark.parametrize(
        ("body", "kind", "message", "reason"),
        [
            (b"", TruncatedBodyError, "ends within its message indexes", Reason.TRUNCATED),
            (b"\x04\x02", TruncatedBodyError, "ends within its message indexes", Reason.TRUNCATED),
            (b"\x01", DecodeError, "says that -1 message indexes follow", Reason.DECODE_FAILED),
            (b"\x02\x01", DecodeError, "has the message index -1", Reason.DECODE_FAILED),
            (b"\x02\xfe\xff\xff\xff\xff\xff\x01", DecodeError, "beyond 32 bits", Reason.DECODE_FAILED),
            (b"\x90\x03" + b"\x02" * 200, DecodeError, "nest at most 32 levels deep", Reason.DECODE_FAILED),
            (
                b"\x02\x06",
                DecodeError,
                r"indexes \[3\] name no message",
                Reason.DECODE_FAILED,
            ),
            (b"\x04\x00\x00", DecodeError, r"indexes \[0, 0\] name no message", Reason.DECODE_FAILED),
            (b"\x00\x0a\x05a", DecodeError, "is not a message drop.First", Reason.DECODE_FAILED),
        ],
    )
    def test_that_are_wrong_are_told_with_a_reason(
        self, ours: RegistryClient, body: bytes, kind: type[SrfixError], message: str, reason: Reason
    ) -> None:
        first = protos.message_class("First")
        payload = ProtobufSerializer(first, ours)(first(name="a"), CTX)
        assert payload is not None
        for read in (ProtobufDeserializer(first, None, ours), ProtobufDeserializer(None, None, ours)):
            with pytest.raises(
                SerializationError, match=rf"^A value of topic 't', schema id \d+: .*{message}"
            ) as caught:
                read(payload[:5] + body, CTX)
            assert isinstance(caught.value, kind)
            assert cast("SrfixError", caught.value).row_reason is reason


def _by_file(ctx: object, file: Any) -> str:
    return f"file-{file.name}"


CONFIGURATIONS: dict[str, Mapping[str, object]] = {
    "none": {},
    "known types too": {"skip.known.types": False},
    "normalised": {"normalize.schemas": True},
    "a strategy of one's own": {"reference.subject.name.strategy": _by_file},
    "their strategy": {"reference.subject.name.strategy": confluent.reference_subject_name_strategy},
    "our strategy": {"reference.subject.name.strategy": reference_subject_name_strategy},
    "by record": {"subject.name.strategy": confluent.record_subject_name_strategy},
    "by topic and record": {"subject.name.strategy.type": "TOPIC_RECORD"},
}


class TestConfiguration:
    @pytest.mark.parametrize("name", CONFIGURATIONS)
    def test_the_same_schemas_are_registered_under_the_same_subjects(self, name: str) -> None:
        conf, order = CONFIGURATIONS[name], protos.message_class("Order.Line")
        message = order(text="a")
        dumps, payloads, posted = [], [], []
        for is_ours in (False, True):
            with FixtureRegistry(emulate="8.2", compatibility="NONE") as server:
                with SchemaRegistryClient({"url": server.url}) as client:
                    serialize: Any = (
                        ProtobufSerializer(order, server.url, conf)
                        if is_ours
                        else their_serializer(order, client, conf)
                    )
                    payloads.append(serialize(message, CTX))
                serialize.close() if is_ours else None
                dumps.append(server.dump())
                posted.append(_posted(server))
        assert payloads[0] == payloads[1]
        assert dumps[0] == dumps[1]
        assert posted[0] == posted[1]
        assert len(cast("Any", dumps[1])["subjects"]) == (3 if conf.get("skip.known.types", True) else 8)

    @pytest.mark.parametrize("conf", [{"auto.register.schemas": False}, LATEST])
    def test_nothing_is_registered_where_it_is_not_to_be(
        self, server: FixtureRegistry, client: Client, theirs: SchemaRegistryClient, conf: Mapping[str, object]
    ) -> None:
        message_type = protos.message_class("common.Price")
        first = their_serializer(message_type, theirs)(message_type(), CTX)
        writes = server.writes
        theirs.clear_caches()
        assert ProtobufSerializer(message_type, client, conf)(message_type(), CTX) == first
        assert their_serializer(message_type, theirs, conf)(message_type(), CTX) == first
        assert server.writes == writes
        with pytest.raises(SchemaRegistryError):
            ProtobufSerializer(message_type, client, conf)(message_type(), peers.context(topic="elsewhere"))

    @pytest.mark.parametrize("form", ["list", "dict"])
    @pytest.mark.parametrize("field", [MessageField.KEY, MessageField.VALUE])
    def test_headers_carry_the_guid_and_the_indexes(
        self, client: Client, theirs: SchemaRegistryClient, form: str, field: MessageField
    ) -> None:
        message_type = protos.message_class("Order.Line.Tax")
        contexts = [
            peers.context(field=field, headers=[("x", b"1")] if form == "list" else {"x": b"1"}) for _ in range(2)
        ]
        conf: dict[str, object] = {"schema.id.serializer": confluent.header_schema_id_serializer}
        message = message_type(rate=0.5)
        payload = their_serializer(message_type, theirs, conf)(message, contexts[0])
        assert ProtobufSerializer(message_type, client, conf)(message, contexts[1]) == payload
        assert contexts[0].headers == contexts[1].headers
        for read in (ProtobufDeserializer(message_type, None, client), ProtobufDeserializer(None, None, client)):
            assert same(read(payload, contexts[1]), message)
            assert same(read(payload, contexts[1]), message)
        for one in (framing.dual_schema_id_deserializer, confluent.dual_schema_id_deserializer):
            conf = {"schema.id.deserializer": one}
            theirs.clear_caches()  # of texts, which it takes for serialized schemas
            assert their_deserializer(message_type, theirs, conf)(payload, contexts[1]) == message
            assert ProtobufDeserializer(message_type, conf, client)(payload, contexts[1]) == message
        written = framing.header_schema_id_serializer
        context = peers.context(field=field, headers=[("x", b"1")])
        assert their_serializer(message_type, theirs, {"schema.id.serializer": written})(message, context) == payload
        assert dict(context.headers or ()) == dict(contexts[0].headers or ())
        cut = peers.context(
            field=field,
            headers=[(name, cast("bytes", value)[:17]) for name, value in dict(contexts[1].headers or ()).items()],
        )
        with pytest.raises(TruncatedBodyError, match="ends within its message indexes"):
            ProtobufDeserializer(None, None, client)(payload, cut)

    def test_a_callable_of_ones_own_is_given_the_indexes(self, client: Client, theirs: SchemaRegistryClient) -> None:
        def write(payload: bytes, ctx: object, schema_id: Any) -> bytes:
            return payload + b"|" + bytes(schema_id.message_indexes) + bytes(schema_id.id_to_bytes())

        def read(payload: bytes, ctx: object, schema_id: Any) -> bytes:
            body, _, rest = payload.rpartition(b"|")
            schema_id.from_bytes(io.BytesIO(rest[2:]))
            return body

        message_type = protos.message_class("Order.Line")
        message = message_type(text="a")
        conf: dict[str, object] = {"schema.id.serializer": write}
        payload = their_serializer(message_type, theirs, conf)(message, CTX)
        assert ProtobufSerializer(message_type, client, conf)(message, CTX) == payload
        conf = {"schema.id.deserializer": read}
        assert ProtobufDeserializer(message_type, conf, client)(payload, CTX) == message
        assert same(ProtobufDeserializer(None, conf, client)(payload, CTX), message)


class TestTheLatestVersion:
    def test_is_written_under_by_the_messages_name(self, server: FixtureRegistry, client: Client) -> None:
        """confluent-kafka writes the class's own indexes: here they would be another message's."""
        first = protos.message_class("First")
        server.seed(
            "t-value",
            'syntax="proto3"; package drop; message New {} message First { string name = 1; }',
            schema_type="PROTOBUF",
        )
        payload = ProtobufSerializer(first, client, LATEST)(first(name="a"), CTX)
        assert payload == frame_id(1, b"\x02\x02\x0a\x01a")
        assert ProtobufDeserializer(first, None, client)(payload, CTX) == first(name="a")
        with pytest.raises(SchemaError, match=r"The schema has no message drop\.Empty"):
            ProtobufSerializer(protos.message_class("Empty"), client, LATEST)(protos.message_class("Empty")(), CTX)

    def test_gives_a_reader_without_a_class_its_message(self, server: FixtureRegistry, client: Client) -> None:
        server.configure("t-value", {"compatibility": "NONE"})
        write = ProtobufSerializer(None, client, schema_str=TEXT, message_name="n.Other")
        payload = write({"s": "a"}, CTX)
        server.seed(
            "t-value",
            'syntax="proto3"; package n; message Other { string s = 1; int32 more = 2; }',
            schema_type="PROTOBUF",
        )
        read = ProtobufDeserializer(None, {"use.latest.version": True}, client)
        assert [field.name for field in cast("Any", read(payload, CTX)).DESCRIPTOR.fields] == ["s", "more"]
        other = write.__class__(None, client, schema_str=TEXT)({"id": 1}, CTX)
        with pytest.raises(SchemaError, match=r"The schema has no message n\.R\."):
            read(other, CTX)

    @pytest.mark.parametrize("more", ["", "message More {}"])
    def test_under_a_records_subject_where_the_schema_has_one_message(
        self, server: FixtureRegistry, client: Client, more: str
    ) -> None:
        conf = {"subject.name.strategy.type": "RECORD"}
        text = 'syntax="proto3"; package n; message Only { string s = 1; INTO } '
        payload = ProtobufSerializer(None, client, conf, schema_str=text.replace("INTO", "") + more)({}, CTX)
        server.seed("n.Only", text.replace("INTO", "int32 i = 2;"), schema_type="PROTOBUF")
        message = cast("Any", ProtobufDeserializer(None, {**conf, "use.latest.version": True}, client)(payload, CTX))
        assert [field.name for field in message.DESCRIPTOR.fields] == (["s"] if more else ["s", "i"])

    def test_of_dicts(self, client: Client) -> None:
        first = ProtobufSerializer(None, client, schema_str=TEXT)({"id": 1}, CTX)
        assert ProtobufSerializer(None, client, LATEST)({"id": 1}, CTX) == first
        assert (
            ProtobufSerializer(None, client, LATEST, message_name="n.Other")({"s": ""}, CTX)
            == (first or b"")[:5] + b"\x02\x02"
        )


class TestOneClient:
    """The cache of confluent_kafka's client does not tell a descriptor from a text."""

    CALLS: Mapping[str, Callable[[Any, SchemaRegistryClient, bytes], object]] = {
        "their serializer": lambda kind, client, _: their_serializer(kind, client)(kind(), CTX),
        "their serializer, latest": lambda kind, client, _: their_serializer(kind, client, LATEST)(kind(), CTX),
        "their deserializer": lambda kind, client, payload: their_deserializer(kind, client)(payload, CTX),
        "serializer": lambda kind, client, _: ProtobufSerializer(kind, client)(kind(), CTX),
        "serializer, latest": lambda kind, client, _: ProtobufSerializer(kind, client, LATEST)(kind(), CTX),
        "deserializer": lambda kind, client, payload: ProtobufDeserializer(kind, None, client)(payload, CTX),
        "policy": lambda kind, client, payload: SchemaDeserializer(ById(client))(payload, SerdeContext("t")),
    }

    @pytest.mark.parametrize("ours", [name for name in CALLS if not name.startswith("their")])
    @pytest.mark.parametrize("others", [name for name in CALLS if name.startswith("their")])
    def test_serves_both_packages_in_either_order(
        self, server: FixtureRegistry, theirs: SchemaRegistryClient, ours: str, others: str
    ) -> None:
        kind = protos.message_class("common.Price")
        payload = their_serializer(kind, theirs)(kind(), CTX)
        for names in ((ours, others), (others, ours)):
            with SchemaRegistryClient({"url": server.url}) as client:
                for name in names:
                    result = self.CALLS[name](kind, client, payload)
                    assert result == (payload if "serializer" in name.replace(",", "").split() else result)


class TestWithoutAClass:
    ROW: Mapping[str, object] = {
        "id": 7,
        "parts": [{"name": "a"}],
        "by_name": {"k": {"name": "b"}},
        "data": b"\xff",
        "at": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        "kind": "SOME",
    }

    def test_dicts_are_written_and_messages_read(self, client: Client) -> None:
        serialize = ProtobufSerializer(None, client, schema_str=TEXT)
        payload = serialize(dict(self.ROW), CTX)
        message = cast("Any", ProtobufDeserializer(None, None, client)(payload, CTX))
        assert (message.id, message.parts[0].name, message.by_name["k"].name) == (7, "a", "b")
        assert (message.data, message.at.seconds, message.kind) == (b"\xff", 1704067200, 1)
        assert serialize(message, CTX) == payload, "a message of the name, whichever registry's it was made of"
        again = ProtobufDeserializer(None, schema_str=TEXT)(payload, CTX)
        assert same(again, message)
        assert serialize(None, CTX) is None

    @pytest.mark.parametrize("name", [None, "n.R.Part"])
    def test_the_message_that_is_named_is_written(self, client: Client, name: str | None) -> None:
        payload = ProtobufSerializer(None, client, schema_str=TEXT, message_name=name)({}, CTX)
        indexes = read_indexes(payload or b"", 5)[0]
        assert indexes == ((0,) if name is None else (0, 0)), "the map's entry does not stand in the text"
        assert cast("Any", ProtobufDeserializer(None, None, client)(payload, CTX)).DESCRIPTOR.full_name == (
            name or "n.R"
        )

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"nothing": 1}, r"has no \"nothing\" field"),
            ({"id": "x"}, "does not fit its Protobuf schema"),
            ({"parts": [{"name": 1}]}, "does not fit its Protobuf schema"),
            ([], "is of the type list; it must be a message n.R, or a dict"),
            (Timestamp(), "is of the type Timestamp; it must be a message n.R, or a dict"),
        ],
    )
    def test_what_does_not_fit_is_told_and_nothing_registered(
        self, server: FixtureRegistry, client: Client, row: object, message: str
    ) -> None:
        with pytest.raises(EncodeError, match=f"^A value for topic 't': The (value|row) .*{message}"):
            ProtobufSerializer(None, client, schema_str=TEXT)(row, CTX)
        assert server.writes == 0

    def test_a_schema_with_references_is_written_and_read(self, client: Client, theirs: SchemaRegistryClient) -> None:
        for name in ("drop_in/base.proto", "drop_in/common.proto"):
            references = [SchemaReference("drop_in/base.proto", "drop_in/base.proto", 1)] if "common" in name else []
            theirs.register_schema(name, Schema(protos.FILES[name], "PROTOBUF", references))
        text = protos.FILES["drop_in/common.proto"].replace("Price", "Prize")
        schema = Schema(text, "PROTOBUF", [SchemaReference("drop_in/base.proto", "drop_in/base.proto", 1)])
        payload = ProtobufSerializer(None, client, schema_str=schema)({"money": {"units": 3}}, CTX)
        assert cast("Any", ProtobufDeserializer(None, None, client)(payload, CTX)).money.units == 3


class TestErrors:
    def test_a_message_of_another_class_is_refused(self, server: FixtureRegistry, client: Client) -> None:
        for value, what in ((Timestamp(), "of the type Timestamp"), ({"value": "x"}, "of the type dict")):
            with pytest.raises(
                EncodeError, match=f"The value is {what}; it must be a message google.protobuf.StringValue\\.$"
            ):
                ProtobufSerializer(StringValue, client)(value, CTX)
        assert server.writes == 0

    def test_a_missing_required_field_is_named_and_nothing_registered(
        self, server: FixtureRegistry, client: Client
    ) -> None:
        old = protos.message_class("old.Old")
        with pytest.raises(EncodeError, match="missing required fields") as caught:
            ProtobufSerializer(old, client)(old(part=[{}]), CTX)
        assert caught.value.paths == ("key", "part[0].ok")
        assert isinstance(caught.value, SerializationError)
        assert server.writes == 0

    def test_a_schema_of_another_type_is_refused(self, server: FixtureRegistry, client: Client) -> None:
        schema_id = server.seed("t-value", '"string"')
        with pytest.raises(SchemaError, match="of the type AVRO, not PROTOBUF"):
            ProtobufDeserializer(StringValue, None, client)(frame_id(schema_id, b"\0"), CTX)
        with pytest.raises(ResolveError):
            ProtobufDeserializer(StringValue, None, client)(frame_id(77, b"\0"), CTX)

    def test_a_reference_strategy_without_a_subject_is_told(self, client: Client) -> None:
        price = protos.message_class("common.Price")
        conf = {"reference.subject.name.strategy": lambda ctx, file: None}
        with pytest.raises(UsageError, match=r"returned None for drop_in/base\.proto"):
            ProtobufSerializer(price, client, conf)(price(), CTX)


def test_without_the_libraries_the_extra_is_named() -> None:
    with without_protobuf():
        for make in (
            lambda: ProtobufSerializer(None, "http://registry", schema_str=TEXT),
            lambda: ProtobufDeserializer(None, None, "http://registry"),
        ):
            with pytest.raises(SchemaError, match=r"pip install 'srfix\[protobuf\]'\.$"):
                make()


@dataclass
class Part:
    id: int | None
    kind: str | None = None


@dataclass
class Labels:
    labels: dict[int, str] | None
    names: dict[int, str] | None


class TestColumns:
    def test_a_message_is_read_as_a_row_or_a_dataclass(self, client: Client) -> None:
        payload = ProtobufSerializer(None, client, schema_str=TEXT)({"id": 7, "kind": "SOME"}, CTX)
        assert payload is not None
        reads = ProtobufDeserializer(schema_registry_client=client, columns="ID BIGINT, KIND STRING, MORE INT")
        assert reads(payload, CTX) == reads.row(payload, CTX) == {"ID": 7, "KIND": "SOME", "MORE": None}
        read = ProtobufDeserializer(schema_registry_client=client, into=Part)
        assert_type(read(payload, CTX), Part | None)
        assert read(payload, CTX) == Part(7, "SOME")
        assert read.row(payload, CTX) == {"ID": 7, "KIND": "SOME"}
        with pytest.raises(ColumnNotFedError):
            ProtobufDeserializer(None, None, client, columns="MORE INT", strict=True)(payload, CTX)

    def test_a_map_with_keys_of_numbers_becomes_a_dataclass(self, client: Client) -> None:
        text = 'syntax = "proto3"; message R { map<int32, string> labels = 1; map<int64, string> names = 2; }'
        row = {"labels": {-1: "a"}, "names": {5: "b"}}
        payload = ProtobufSerializer(None, client, schema_str=text)(row, CTX)
        assert ProtobufDeserializer(None, None, client, into=Labels)(payload, CTX) == Labels(**row)
        columns = "`labels` MAP<STRING, STRING>, `names` MAP<BIGINT, STRING>"
        with pytest.raises(ColumnError, match=r"MAP_KEY is STRING, but the field Labels.labels is int"):
            ProtobufDeserializer(None, None, client, columns=columns, into=Labels)

    @pytest.mark.parametrize("place", ["prefix", "header"])
    def test_wherever_the_schemas_guid_stands(self, client: Client, place: str) -> None:
        conf = {"schema.id.serializer": getattr(framing, f"{place}_schema_id_serializer")}
        ctx = peers.context(headers=[])
        payload = ProtobufSerializer(None, client, conf, schema_str=TEXT, message_name="n.Other")({"s": "a"}, ctx)
        assert ProtobufDeserializer(None, None, client, columns="S STRING")(payload, ctx) == {"S": "a"}

    def test_a_copy_in_another_process_reads_the_same(self, server: FixtureRegistry) -> None:
        payload = ProtobufSerializer(None, server.url, schema_str=TEXT)({"id": 7}, CTX)
        for read in (
            ProtobufDeserializer(schema_registry_client=server.url, columns=Part),
            ProtobufDeserializer(schema_str=TEXT, columns=Part),
        ):
            assert pickle.loads(pickle.dumps(read))(payload, CTX) == read(payload, CTX) == Part(7, "NONE")

    def test_times_are_read_as_integers(self, client: Client) -> None:
        far = {"at": {"seconds": 1_577_836_800, "nanos": 5_000_000}}
        payload = ProtobufSerializer(None, client, schema_str=TEXT)(far, CTX)
        conf = {"times": "integers"}
        reads = ProtobufDeserializer(None, conf, client, columns="`AT` TIMESTAMP")
        assert reads(payload, CTX) == {"AT": 1_577_836_800_005}
        with pytest.raises(UsageError, match=r"^times says how columns are read, but no columns were given\."):
            ProtobufDeserializer(None, conf, client)
        with pytest.raises(UsageError, match=r"^times says how columns are written, but no columns were given\."):
            JSONSerializer("{}", client, conf=conf)
        written = JSONSerializer(client, columns="`AT` TIMESTAMP", conf=conf)({"AT": 5}, peers.context(topic="json"))
        read_json = JSONDeserializer(None, None, client, columns="`AT` TIMESTAMP", conf=conf)
        assert read_json(written, peers.context(topic="json")) == {"AT": 5}

    def test_what_contradicts_them_is_refused(self, client: Client) -> None:
        make = cast("Any", ProtobufDeserializer)
        with pytest.raises(UsageError, match=r"^message_type and columns both say what a payload becomes\."):
            make(StringValue, None, client, columns=Part)
        with pytest.raises(UsageError, match=r"Leave out schema_str; or leave out schema_registry_client"):
            make(None, None, client, schema_str=TEXT, columns=Part)
        with pytest.raises(UsageError, match=r"^strict says how columns are fed, but no columns were given"):
            make(None, None, client, strict=True)


class TestPolicies:
    def test_one_subject_and_two(self, ours: RegistryClient) -> None:
        """The incident, and its reader."""
        source = peers.context(topic="source")
        payload = ProtobufSerializer(StringValue, ours)(StringValue(value="a"), source)
        with pytest.raises(ResolveError):
            ProtobufDeserializer(StringValue, None, ours, policy="one-subject")(payload, CTX)
        dual = DualSubject(ours, first=FixedSubject(value="t-value"), second=FixedSubject(value="source-value"))
        for message_type in (StringValue, None):
            message = ProtobufDeserializer(cast("type[StringValue]", message_type), None, ours, policy=dual)(
                payload, CTX
            )
            assert same(message, StringValue(value="a"))
        neither = DualSubject(ours, first=FixedSubject(value="a"), second=FixedSubject(value="b"))
        with pytest.raises(DualSubjectError) as caught:
            ProtobufDeserializer(StringValue, None, ours, policy=neither)(payload, CTX)
        assert caught.value.row_reason is Reason.NOT_UNDER_SUBJECT


def test_they_are_pickled(server: FixtureRegistry) -> None:
    url = server.url
    writers = [
        ProtobufSerializer(StringValue, url),
        ProtobufSerializer(None, url, schema_str=TEXT, message_name="n.Other"),
    ]
    for serialize, value in zip(writers, (StringValue(value="a"), {"s": "a"}), strict=True):
        ctx = peers.context(topic=str(type(value)))
        payload = serialize(value, ctx)
        assert pickle.loads(pickle.dumps(serialize))(value, ctx) == payload
        readers: list[Callable[..., object]] = [
            ProtobufDeserializer(None, None, url),
            ProtobufDeserializer(StringValue, None, url),
        ]
        for read in readers:
            assert same(pickle.loads(pickle.dumps(read))(payload, ctx), cast("Message", read(payload, ctx)))


def test_what_is_registered_is_the_generated_files_own(client: Client, theirs: SchemaRegistryClient) -> None:
    ProtobufSerializer(StringValue, client)(StringValue(), CTX)
    text = theirs.get_latest_version("t-value", fmt="serialized").schema.schema_str
    registered = FileDescriptorProto.FromString(base64.b64decode(text or ""))
    own = FileDescriptorProto.FromString(StringValue.DESCRIPTOR.file.serialized_pb)
    assert [*registered.message_type] == [*own.message_type]
