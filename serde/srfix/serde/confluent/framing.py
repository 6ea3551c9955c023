"""Where a schema's identity stands, as `schema.id.serializer` and `schema.id.deserializer` say it.

The functions have confluent-kafka's names and signatures and may be passed in place of its own; its own are
recognised (by module and name: confluent_kafka is not imported) and mean the same. Any other callable is called as
confluent-kafka calls it.

| what is passed | writes, or reads |
|---|---|
| `prefix_schema_id_serializer` (default) | id in the payload |
| `header_schema_id_serializer` | GUID in a header that is added to the context's headers, a list or a dict |
| `dual_schema_id_deserializer` (default) | the header, else id or GUID in the payload |
| `prefix_schema_id_deserializer` | id or GUID in the payload only |
| `srfix.serde.wire.Framing` | PREFIX_ID, HEADER_GUID, PREFIX_GUID for writing; likewise, and no other, for reading |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final, Protocol, TypeAlias, TypeVar
from uuid import UUID

from srfix.serde.confluent.config import described
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
    """A schema's identity as confluent-kafka's `SchemaId`: what custom callables are given and fill in."""

    __slots__ = ("guid", "id", "message_indexes", "schema_type")

    def __init__(self, schema_type: str, schema_id: int | None = None, guid: str | UUID | None = None) -> None:
        self.schema_type: str = schema_type
        self.id: int | None = schema_id
        self.guid: UUID | None = UUID(guid) if isinstance(guid, str) else guid
        self.message_indexes: list[int] | None = None

    def __repr__(self) -> str:
        return f"SchemaId({self.schema_type!r}, {self.id}, {self.guid})"

    def from_bytes(self, payload: BytesIO) -> BytesIO:
        """Reads id or GUID, of Protobuf also message indexes, where the stream stands; gives the stream, standing behind.

        :raises WireError: if neither is there.
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
        """The message indexes as they stand behind id or GUID."""
        return b"" if self.message_indexes is None else written_indexes(tuple(self.message_indexes))

    def id_to_bytes(self) -> bytes:
        """The byte 00 and the id, then message indexes if there are any.

        :raises EncodeError: if there is no id.
        """
        if self.id is None:
            raise EncodeError(
                "There is no schema id to write: no schema was registered. Pass a schema, or a subject name strategy that "
                "has a subject for it."
            )
        return prefix_id_bytes(self.id) + self.index_bytes

    def guid_to_bytes(self) -> bytes:
        """The byte 01 and the GUID, then message indexes if there are any.

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
    """The payload alone; the GUID goes into the context's headers.

    :raises EncodeError: if there is no context, or it has no headers that can take one.
    """
    frame = parse(schema_id.guid_to_bytes())
    add_header(ctx, required_guid(None if frame is None else frame.guid), b"" if frame is None else frame.body)
    return payload


def dual_schema_id_deserializer(payload: bytes, ctx: Context | None, schema_id: _HasId) -> BytesIO:
    """The body, with the identity from the header, else from the payload.

    :raises WireError: if neither is there.
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
    """The body, with the identity from the payload.

    :raises WireError: if it is not there.
    """
    parse(payload)  # for its errors: confluent-kafka's schema_id has others
    return schema_id.from_bytes(BytesIO(payload))


def without_indexes(headers: Headers, role: Role) -> tuple[Headers, bytes]:
    """A Protobuf record's headers as `header_guid` takes them, and the message indexes that stood behind the GUID."""
    name = schema_id_header(role)
    pairs = list((headers.items() if isinstance(headers, Mapping) else headers) or ())
    value = dict(pairs).get(name)
    if not isinstance(value, bytes) or len(value) < PREFIX_GUID_SIZE:
        return pairs, b""
    _, end = read_indexes(value, PREFIX_GUID_SIZE)
    return [(name, value[:PREFIX_GUID_SIZE])], value[PREFIX_GUID_SIZE:end]


def header_role(ctx: Context | None) -> Role:
    """Whose header it is: as in confluent-kafka, what is no key is a value."""
    return Role.KEY if ctx is not None and ctx.field == Role.KEY.value else Role.VALUE


def required_guid(guid: UUID | None) -> UUID:
    if guid is None:
        raise EncodeError(
            "The registry gave no GUID for the schema; Confluent's registry gives one only from 8.0 on. Write the id "
            "into the payload instead (schema.id.serializer = prefix_schema_id_serializer)."
        )
    return guid


def add_header(ctx: Context | None, guid: UUID, indexes: bytes) -> None:
    """Puts the header that carries a schema's GUID, and a Protobuf message's indexes, into the context's headers."""
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
    """What `schema.id.serializer` means; a callable is one of the user's own."""
    by_name = {"prefix_schema_id_serializer": Framing.PREFIX_ID, "header_schema_id_serializer": Framing.HEADER_GUID}
    if value is None or isinstance(value, Framing):
        return value or Framing.PREFIX_ID
    return _resolve(value, by_name, "schema.id.serializer")


def deserializer_of(value: object) -> frozenset[Framing] | DeserializeId:
    """What `schema.id.deserializer` means: the framings that are read, or one of the user's own callables."""
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
            f"{key} is {described(value)}; it must be {', '.join(by_name)}, a srfix.serde.wire.Framing, or a callable "
            "(payload, context, schema_id)."
        )
    is_known = getattr(value, "__module__", None) in ("confluent_kafka.schema_registry", __name__)
    return by_name.get(getattr(value, "__name__", ""), value) if is_known else value
