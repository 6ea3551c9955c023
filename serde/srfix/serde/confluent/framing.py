"""The place of a schema's identity, according to `schema.id.serializer` and `schema.id.deserializer`.

These functions have the names and signatures of confluent-kafka's functions, and can be passed instead of them. srfix
also recognises confluent-kafka's functions (by module and name, without importing confluent_kafka) and treats them
like its own. It calls any other callable as confluent-kafka does.

| argument | writes or reads |
|---|---|
| `prefix_schema_id_serializer` (default) | id in the payload |
| `header_schema_id_serializer` | GUID in a header; srfix adds it to the context's headers (a list or a dict) |
| `dual_schema_id_deserializer` (default) | the header, otherwise id or GUID in the payload |
| `prefix_schema_id_deserializer` | id or GUID in the payload only |
| `srfix.serde.wire.Framing` | PREFIX_ID, HEADER_GUID or PREFIX_GUID for writing; for reading, only the given one |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final, Protocol, TypeAlias, TypeVar
from uuid import UUID

from srfix.serde.arguments import type_words
from srfix.serde.errors import EncodeError, UsageError
from srfix.serde.formats.protobuf.indexes import read_indexes, written_indexes
from srfix.serde.interface import Context
from srfix.serde.subjects.names import Role
from srfix.serde.wire import (
    PREFIX_GUID_SIZE,
    Framing,
    Headers,
    frame_guid,
    header_guid,
    parse,
    prefix_id_bytes,
    schema_id_header,
    set_header_guid,
)

PROTOBUF: Final = "PROTOBUF"
"""The schema type whose payloads have message indexes."""


class SchemaId:
    """A schema's identity, like confluent-kafka's `SchemaId`. Custom callables get it and fill it in."""

    __slots__ = ("guid", "id", "message_indexes", "schema_type")

    def __init__(self, schema_type: str, schema_id: int | None = None, guid: str | UUID | None = None) -> None:
        self.schema_type: str = schema_type
        self.id: int | None = schema_id
        self.guid: UUID | None = UUID(guid) if isinstance(guid, str) else guid
        self.message_indexes: list[int] | None = None

    def __repr__(self) -> str:
        return f"SchemaId({self.schema_type!r}, {self.id}, {self.guid})"

    def from_bytes(self, payload: BytesIO) -> BytesIO:
        """Reads an id or a GUID at the stream's position, for Protobuf also the message indexes. Returns the stream, which
        then stands after them.

        :raises WireError: if there is neither id nor GUID.
        """
        rest = payload.read()
        frame = parse(rest)
        assert frame is not None
        self.id, self.guid, end = frame.schema_id, frame.guid, frame.body_offset
        if self.schema_type == PROTOBUF:
            indexes, end = read_indexes(rest, end)
            self.message_indexes = [*indexes]
        payload.seek(payload.tell() - len(rest) + end)
        return payload

    @property
    def index_bytes(self) -> bytes:
        """The bytes of the message indexes that follow the id or GUID."""
        return b"" if self.message_indexes is None else written_indexes(tuple(self.message_indexes))

    def id_to_bytes(self) -> bytes:
        """The byte 00, the id, then message indexes if there are any.

        :raises EncodeError: if there is no id.
        """
        if self.id is None:
            raise EncodeError(
                "There is no schema id to write: no schema was registered. Pass a schema, or a subject name "
                "strategy that gives a subject."
            )
        return prefix_id_bytes(self.id) + self.index_bytes

    def guid_to_bytes(self) -> bytes:
        """The byte 01, the GUID, then message indexes if there are any.

        :raises EncodeError: if there is no GUID.
        """
        return frame_guid(required_guid(self.guid), self.index_bytes)


class _HasId(Protocol):
    def id_to_bytes(self) -> bytes: ...
    def guid_to_bytes(self) -> bytes: ...
    def from_bytes(self, payload: BytesIO, /) -> BytesIO: ...


SerializeId: TypeAlias = Callable[[bytes, "Context | None", SchemaId], bytes]
DeserializeId: TypeAlias = Callable[[bytes, "Context | None", SchemaId], "BytesIO | bytes"]
_Framings = TypeVar("_Framings")


def prefix_schema_id_serializer(payload: bytes, ctx: Context | None, schema_id: _HasId) -> bytes:
    return schema_id.id_to_bytes() + payload


def header_schema_id_serializer(payload: bytes, ctx: Context | None, schema_id: _HasId) -> bytes:
    """Returns only the payload; the GUID goes into the context's headers.

    :raises EncodeError: if there is no context, or it has no headers to which one can be added.
    """
    frame = parse(schema_id.guid_to_bytes())
    add_header(ctx, required_guid(None if frame is None else frame.guid), b"" if frame is None else frame.body)
    return payload


def dual_schema_id_deserializer(payload: bytes, ctx: Context | None, schema_id: _HasId) -> BytesIO:
    """Returns the body; takes the identity from the header, otherwise from the payload.

    :raises WireError: if there is neither id nor GUID.
    """
    headers, indexes = ctx.headers if ctx else None, b""
    if getattr(schema_id, "schema_type", None) == PROTOBUF:
        headers, indexes = without_indexes(headers, header_role(ctx))
    guid = header_guid(headers, header_role(ctx))
    if guid is None:
        return prefix_schema_id_deserializer(payload, ctx, schema_id)
    schema_id.from_bytes(BytesIO(frame_guid(guid, indexes)))
    return BytesIO(payload)


def prefix_schema_id_deserializer(payload: bytes, ctx: Context | None, schema_id: _HasId) -> BytesIO:
    """Returns the body; takes the identity from the payload.

    :raises WireError: if the payload has no identity.
    """
    parse(payload)  # to raise srfix's errors, because confluent-kafka's schema_id raises others
    return schema_id.from_bytes(BytesIO(payload))


def without_indexes(headers: Headers, role: Role) -> tuple[Headers, bytes]:
    """A Protobuf record's headers in the form that `header_guid` takes, and the message indexes that followed the GUID."""
    name = schema_id_header(role)
    pairs = list((headers.items() if isinstance(headers, Mapping) else headers) or ())
    value = dict(pairs).get(name)
    if not isinstance(value, bytes) or len(value) < PREFIX_GUID_SIZE:
        return pairs, b""
    _, end = read_indexes(value, PREFIX_GUID_SIZE)
    return [(name, value[:PREFIX_GUID_SIZE])], value[PREFIX_GUID_SIZE:end]


def header_role(ctx: Context | None) -> Role:
    """Whether the header is for the key or the value. As in confluent-kafka, everything except a key is a value."""
    return Role.KEY if ctx is not None and ctx.field == Role.KEY.value else Role.VALUE


def required_guid(guid: UUID | None) -> UUID:
    if guid is None:
        raise EncodeError(
            "The registry gave no GUID for the schema; Confluent's registry gives one only from 8.0 on. Write the id "
            "into the payload instead (schema.id.serializer = prefix_schema_id_serializer)."
        )
    return guid


def add_header(ctx: Context | None, guid: UUID, indexes: bytes) -> None:
    if ctx is None:
        raise EncodeError(
            "The schema's GUID must go into a header, but there is no context. Call the serializer with a "
            "SerializationContext that has headers."
        )
    try:
        set_header_guid(ctx.headers, header_role(ctx), guid, indexes)
    except UsageError as error:
        raise EncodeError(error.message) from error


def serializer_of(value: object) -> Framing | SerializeId:
    by_name = {"prefix_schema_id_serializer": Framing.PREFIX_ID, "header_schema_id_serializer": Framing.HEADER_GUID}
    if value is None or isinstance(value, Framing):
        return value or Framing.PREFIX_ID
    return _resolve(value, by_name, "schema.id.serializer")


def deserializer_of(value: object) -> frozenset[Framing] | DeserializeId:
    """The framings to read, or the user's own callable."""
    every = frozenset(Framing)
    by_name = {
        "dual_schema_id_deserializer": every,
        "prefix_schema_id_deserializer": frozenset({Framing.PREFIX_ID, Framing.PREFIX_GUID}),
    }
    if value is None or isinstance(value, Framing):
        return every if value is None else frozenset({value})
    return _resolve(value, by_name, "schema.id.deserializer")


def _resolve(value: object, by_name: Mapping[str, _Framings], key: str) -> _Framings | Callable[..., Any]:
    if not callable(value):
        raise UsageError(
            f"{key} is {type_words(value)}; it must be {', '.join(by_name)}, a srfix.serde.wire.Framing, or a callable "
            "(payload, context, schema_id)."
        )
    is_known = getattr(value, "__module__", None) in ("confluent_kafka.schema_registry", __name__)
    return by_name.get(getattr(value, "__name__", ""), value) if is_known else value
