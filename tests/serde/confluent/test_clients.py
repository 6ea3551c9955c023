"""Either client, or a URL: errors, pickling, threads, latest versions that change, contexts, robustness."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, cast

import pytest
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, SchemaRegistryClient
from confluent_kafka.serialization import MessageField

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    BadRow,
    DecodeError,
    EncodeError,
    MalformedHeaderError,
    Reason,
    RegistryClient,
    ResolveError,
    Role,
    SecretError,
    SrfixError,
    UsageError,
    WireError,
    deserialize_many,
)
from srfix.serde.arrow import to_arrow
from srfix.serde.confluent import (
    AvroDeserializer,
    AvroSerializer,
    JSONDeserializer,
    JSONSerializer,
    ProtobufDeserializer,
)
from srfix.serde.confluent.deserializer import ConfluentDeserializer
from srfix.serde.confluent.serializer import ConfluentSerializer
from srfix.serde.registries.given import AnyClient
from srfix.serde.schemas.errors import IncompatibleSchemaError, RegistryUnreachableError, SubjectNotFoundError
from srfix.serde.wire import Framing, frame_id, header_guid
from tests.serde.confluent import peers

Client: TypeAlias = RegistryClient | SchemaRegistryClient
RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
WIDER = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"string","default":""}]}'
JSON = '{"title":"R","type":"object"}'
CTX = peers.context()
LATEST = {"auto.register.schemas": False, "use.latest.version": True}


def _to_dict(value: object, ctx: object) -> dict[str, object]:
    return {"a": value}


class TestErrors:
    def test_an_id_that_the_registry_does_not_know(self, client: Client) -> None:
        for read in (AvroDeserializer(client), JSONDeserializer(None, None, client)):
            with pytest.raises(ResolveError, match="A value of topic 't', schema id 7: The registry"):
                read(frame_id(7, b"\x02"), CTX)

    def test_a_subject_that_is_not_there(self, client: Client) -> None:
        for conf in ({"auto.register.schemas": False}, LATEST):
            with pytest.raises(SubjectNotFoundError):
                AvroSerializer(client, RECORD, conf=conf)({"a": 1}, CTX)

    def test_an_incompatible_schema(self, server: FixtureRegistry, client: Client) -> None:
        server.seed("t-value", '"string"')
        server.configure("t-value", {"compatibility": "BACKWARD"})
        with pytest.raises(IncompatibleSchemaError):
            AvroSerializer(client, RECORD)({"a": 1}, CTX)

    def test_a_registry_that_is_gone(self, server: FixtureRegistry) -> None:
        with SchemaRegistryClient({"url": server.url, "max.retries": 0}) as client:
            serialize, read = AvroSerializer(client, RECORD), AvroDeserializer(client)
            server.close()
            with pytest.raises(RegistryUnreachableError, match=r"may have taken effect"):
                serialize({"a": 1}, CTX)
            with pytest.raises(RegistryUnreachableError):
                read(frame_id(1, b"\x02"), CTX)

    def test_a_context_that_is_missing_where_it_is_needed(self, client: Client) -> None:
        with pytest.raises(UsageError, match="there is no context"):
            AvroSerializer(client, RECORD)({"a": 1})
        with pytest.raises(UsageError, match="has no record name"):
            AvroSerializer(client, '["null","int"]', conf={"subject.name.strategy.type": "RECORD"})(1, CTX)
        with pytest.raises(UsageError, match=r"^to_dict is called with a context"):
            AvroSerializer(client, RECORD, _to_dict)(1)
        payload = AvroSerializer(client, RECORD)({"a": 1}, CTX)
        with pytest.raises(UsageError, match=r"^from_dict is called with a context"):
            AvroDeserializer(client, from_dict=lambda row, ctx: row)(payload)

    @pytest.mark.parametrize(
        "make",
        [
            lambda client, **columns: AvroDeserializer(client, **columns),
            lambda client, **columns: JSONDeserializer(None, None, client, **columns),
            lambda client, **columns: ProtobufDeserializer(None, None, client, **columns),
        ],
        ids=["Avro", "JSON", "Protobuf"],
    )
    def test_garbage_that_looks_like_a_guid_is_a_bad_row_without_guids(self, make: Callable[..., Any]) -> None:
        garbage = [b"\1" + b"x" * 20]
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            (bad,) = deserialize_many(garbage, "t", make(client), on_error="quarantine")
            assert isinstance(bad, BadRow)
            assert bad.reason is Reason.UNKNOWN_ID
            assert "this registry does not know GUIDs" in str(bad.error)
            batch = to_arrow(garbage, "t", make(client, columns="A INT, B INT"), on_error="quarantine")
            assert batch["_srfix_reason"].to_pylist() == ["UNKNOWN_ID"]

    def test_a_registry_without_guids(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            serialize = AvroSerializer(client, RECORD, conf={"schema.id.serializer": Framing.HEADER_GUID})
            with pytest.raises(EncodeError, match=r"Confluent's registry gives one only from 8\.0 on"):
                serialize({"a": 1}, peers.context(headers=[]))

    def test_an_asynchronous_client_is_refused(self, server: FixtureRegistry) -> None:
        client = cast("AnyClient", AsyncSchemaRegistryClient({"url": server.url}))
        with pytest.raises(UsageError, match=r"^AsyncSchemaRegistryClient is asynchronous"):
            AvroSerializer(client, RECORD)


class TestFramings:
    @pytest.mark.parametrize("framing", Framing)
    def test_each_is_written_and_read(self, client: Client, framing: Framing) -> None:
        ctx = peers.context(headers=[])
        payload = AvroSerializer(client, RECORD, conf={"schema.id.serializer": framing})({"a": 1}, ctx)
        assert AvroDeserializer(client)(payload, ctx) == {"a": 1}
        assert AvroDeserializer(client, conf={"schema.id.deserializer": framing})(payload, ctx) == {"a": 1}

    def test_one_that_is_not_read_is_refused(self, client: Client) -> None:
        payload = AvroSerializer(client, RECORD)({"a": 1}, CTX)
        with pytest.raises(WireError, match="has the framing prefix id, but"):
            AvroDeserializer(client, conf={"schema.id.deserializer": Framing.PREFIX_GUID})(payload, CTX)
        with pytest.raises(MalformedHeaderError, match="has no header __value_schema_id"):
            AvroDeserializer(client, conf={"schema.id.deserializer": Framing.HEADER_GUID})(payload, CTX)

    def test_whatever_holds_bytes_is_a_payload(self, client: Client) -> None:
        payload = AvroSerializer(client, RECORD)({"a": 1}, CTX)
        assert payload is not None
        read = AvroDeserializer(client)
        assert [read(cast("bytes", kind(payload)), CTX) for kind in (bytearray, memoryview)] == [{"a": 1}] * 2
        with pytest.raises(UsageError, match=r"^A payload is of the type str; it must be bytes"):
            read(cast("bytes", "text"), CTX)
        with pytest.raises(MalformedHeaderError, match="A value of topic 't': The record header"):
            read(payload, peers.context(headers=[("__value_schema_id", b"x")]))

    def test_headers_and_prefixes_take_turns(self, client: Client) -> None:
        conf = {"schema.id.serializer": Framing.HEADER_GUID}
        by_header, other = peers.context(headers=[]), peers.context(headers=[("trace", b"1")])
        small = AvroSerializer(client, RECORD, conf=conf)({"a": 1}, by_header)
        framed = AvroSerializer(client, RECORD)({"a": 2}, CTX)
        read = AvroDeserializer(client)
        for _ in range(3):
            rows = [read(small, by_header), read(framed, CTX), read(framed, other)]
            assert rows == [{"a": 1}, {"a": 2}, {"a": 2}]
        with pytest.raises(EncodeError, match=r"to the record header __value_schema_id.*, but it has none"):
            AvroSerializer(client, RECORD, conf=conf)({"a": 1}, CTX)
        with pytest.raises(DecodeError, match="A value of topic 't', schema GUID ") as caught:
            read(b"\xff", by_header)
        assert vars(caught.value)["guid"] == header_guid(by_header.headers, Role.VALUE)


class TestPickling:
    def test_they_travel_and_start_anew(self, server: FixtureRegistry, client: Client) -> None:
        for one in (client, server.url):
            payload = AvroSerializer(one, RECORD, _to_dict)(1, CTX)
            for made, value in (
                (AvroSerializer(one, RECORD, _to_dict, {"normalize.schemas": True}), 1),
                (AvroDeserializer(one), payload),
                (JSONSerializer(JSON, one), {}),
                (JSONDeserializer(JSON, None, one, {"validate": False}), JSONSerializer(JSON, one)({}, CTX)),
            ):
                copied: ConfluentSerializer | ConfluentDeserializer = pickle.loads(pickle.dumps(made))
                again = pickle.loads(pickle.dumps(copied))
                assert type(again) is type(made)
                calls = [cast("Callable[[object, object], object]", one) for one in (made, copied, again)]
                assert calls[0](value, CTX) == calls[1](value, CTX) == calls[2](value, CTX)
                for closed in (made, copied, again):
                    closed.close()

    @pytest.mark.parametrize(
        "config",
        [
            {"basic.auth.user.info": "user:secret"},
            {"url": "http://user:secret@registry.test"},
            {"ssl.key.password": "secret"},
        ],
    )
    def test_secrets_do_not(self, config: dict[str, object]) -> None:
        class Client(SchemaRegistryClient):
            def __init__(self) -> None:
                self._conf = {"url": "http://registry.test", **config}

        with pytest.raises(SecretError, match="would be sent to other processes unencrypted") as caught:
            pickle.dumps(AvroDeserializer(Client()))
        assert "secret@" not in str(caught.value)
        assert ":secret" not in str(caught.value)

    def test_a_mock_does_not(self) -> None:
        with pytest.raises(UsageError, match=r"^A mock:// registry lives in one process"):
            pickle.dumps(AvroDeserializer(peers.mock_client()))


def test_threads_share_a_serializer_that_registers_once(server: FixtureRegistry, client: Client) -> None:
    serialize, read = AvroSerializer(client, RECORD), AvroDeserializer(client)
    start = threading.Barrier(8)

    def work(number: int) -> list[object]:
        start.wait(timeout=30)
        contexts = [peers.context(topic=topic) for topic in ("a", "b")]
        return [read(serialize({"a": number}, ctx), ctx) for ctx in contexts]

    with ThreadPoolExecutor(8) as pool:
        seen = [row for rows in pool.map(work, range(8)) for row in rows]
    assert sorted(str(row) for row in seen) == sorted(str({"a": number}) for number in range(8) for _ in range(2))
    assert server.writes == 2


class TestLatest:
    def test_a_client_that_forgets_it_is_asked_again(self, server: FixtureRegistry) -> None:
        server.seed("t-value", RECORD)
        with SchemaRegistryClient({"url": server.url, "cache.latest.ttl.sec": 3600}) as client:
            serialize = AvroSerializer(client, None, conf=LATEST)
            read = AvroDeserializer(client, conf={"use.latest.version": True})
            first = serialize({"a": 1}, CTX)
            assert read(first, CTX) == {"a": 1}
            assert serialize({"a": 1}, CTX) == first  # fills its cache again, which the first read of an id empties
            server.seed("t-value", WIDER)
            assert serialize({"a": 1}, CTX) == first
            client.clear_latest_caches()
            assert serialize({"a": 1}, CTX) == frame_id(2, b"\x02\x00")
            assert read(first, CTX) == {"a": 1, "b": ""}


def test_the_same_id_in_two_contexts_is_told_apart_by_the_subject(server: FixtureRegistry, client: Client) -> None:
    conf = {"subject.name.strategy": _in_context}
    ours, theirs = peers.context(topic="x"), peers.context(topic="y", field=MessageField.KEY)
    payloads = [
        AvroSerializer(client, text, conf=conf)(value, ctx)
        for text, value, ctx in ((RECORD, {"a": 1}, ours), ('"string"', "s", theirs))
    ]
    assert [payload[:5] for payload in payloads if payload] == [b"\0\0\0\0\1"] * 2
    read = AvroDeserializer(client, conf=conf)
    assert [read(payloads[0], ours), read(payloads[1], theirs)] == [{"a": 1}, "s"]


def _in_context(ctx: object, record_name: str | None) -> str:
    topic, field = (getattr(ctx, name) for name in ("topic", "field"))
    return f":.{topic}:{topic}-{field}"


class TestRobustness:
    """Only our errors come out, whatever the bytes are; a wrong row is not checked here: Avro bodies carry no names."""

    def test_deep_nesting_ends_in_an_error(self, client: Client) -> None:
        linked = '{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"],"default":null}]}'
        value: dict[str, object] = {}
        for _ in range(20_000):
            value = {"next": value}
        serialize = AvroSerializer(client, linked)
        with pytest.raises(EncodeError, match="nests deeper than 1000 levels"):
            serialize(value, CTX)
        value["next"] = ("L", value)  # contains itself
        with pytest.raises(EncodeError, match="nests deeper than 1000 levels"):
            serialize(value, CTX)
        with pytest.raises(EncodeError, match="cannot be written as JSON"):
            JSONSerializer(JSON, client)(value, CTX)
        payload = serialize({"next": None}, CTX)
        assert payload is not None
        for reader in (None, linked):
            with pytest.raises(SrfixError):
                AvroDeserializer(client, reader)(payload[:5] + b"\x02" * 50_000 + b"\0", CTX)
        with pytest.raises(SrfixError, match="is not JSON"):
            JSONDeserializer(JSON)(frame_id(1, b"[" * 100_000 + b"]" * 100_000), CTX)
