"""The framings of a payload: only this module knows where a schema id stands.

| framing | where | bytes |
|---|---|---|
| `PREFIX_ID`   | payload | `00`, 4-byte big-endian schema id, body |
| `PREFIX_GUID` | payload | `01`, 16-byte GUID, body |
| `HEADER_GUID` | header `__key_schema_id`, `__value_schema_id` | `01`, 16-byte GUID; payload = body |

For Protobuf, message indexes follow the id or GUID: in the payload before the body, or in the header.

The header wins over the payload, as in Confluent's dual deserializers (confluent-kafka 2.16, `schema_id.py`).
A null payload is a tombstone, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Final, NewType, TypeAlias, cast
from uuid import UUID

from srfix.serde.errors import (
    ImpossibleSchemaIdError,
    MalformedHeaderError,
    PayloadTooShortError,
    UnknownMagicByteError,
    UsageError,
    WireError,
)
from srfix.serde.java_ints import INT_MAX
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role

SchemaId = NewType("SchemaId", int)
Headers: TypeAlias = "Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]] | None"

PREFIX_ID_SIZE: Final = 5
"""Bytes before the body in the `PREFIX_ID` framing."""
PREFIX_GUID_SIZE: Final = 17
"""Bytes before the body in the `PREFIX_GUID` framing, and in the header of `HEADER_GUID`."""
MAX_SCHEMA_ID: Final = INT_MAX
"""Schema ids are Java ints, and no registry assigns a negative one. Java reads a larger four-byte number as a negative
id. A registry answers a request for such an id with 404 and the error code 404, not 40403, so srfix does not ask."""
MIN_SCHEMA_ID: Final = 1
"""Registries count from 1. A payload that looks framed with id 0 is something else: for example an 8-byte big-endian
integer below 2^24, such as a BIGINT key without a registry. `parse` refuses it; `wire_peek` counts it as unframed."""

prefix_of: Final[Callable[[bytes], bytes]] = itemgetter(slice(PREFIX_ID_SIZE))
"""The bytes before the body in the `PREFIX_ID` framing, which are the readers' key for their plans. The function is in
C, because it runs once per record. It checks nothing; `parse` does."""

_MAGIC_ID = 0
_MAGIC_GUID = 1


class Framing(Enum):
    """The place of the schema's identity."""

    PREFIX_ID = "prefix id"
    PREFIX_GUID = "prefix GUID"
    HEADER_GUID = "header GUID"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A parsed payload. Exactly one of `schema_id` and `guid` is set."""

    framing: Framing
    """The framing."""
    schema_id: SchemaId | None
    """The id, for `PREFIX_ID`."""
    guid: UUID | None
    """The GUID, for the other two."""
    payload: bytes
    """The whole payload, including the framing; the bytes after a header's GUID are put in front of it."""
    body_offset: int
    """The offset of the body in `payload`: 5, 17 or 0."""

    @property
    def identity(self) -> SchemaId | UUID:
        """The schema's identity: the id, or the GUID."""
        return cast("UUID", self.guid) if self.schema_id is None else self.schema_id

    @property
    def body(self) -> bytes:
        """The encoded row, without framing."""
        return self.payload[self.body_offset :]


def schema_id_header(role: Role) -> str:
    """The record header that carries the GUID in the `HEADER_GUID` framing."""
    return f"__{role.value}_schema_id"


def header_guid(headers: Headers, role: Role) -> UUID | None:
    """The GUID in a record's headers, or None; the last one counts, as in Kafka's Headers.lastHeader."""
    value = _header(headers, role)
    return None if value is None else UUID(bytes=value[1:PREFIX_GUID_SIZE])


def _header(headers: Headers, role: Role) -> bytes | None:
    if not headers:
        return None
    name = schema_id_header(role)
    header_value: bytes | str | None = None
    present = False
    for key, value in headers.items() if isinstance(headers, Mapping) else headers:
        if key == name:
            header_value, present = value, True
    if not present:
        return None
    if not isinstance(header_value, bytes) or len(header_value) < PREFIX_GUID_SIZE or header_value[0] != _MAGIC_GUID:
        size = "null" if header_value is None else counted(len(header_value), "byte")
        raise MalformedHeaderError(
            f"The record header {name} holds {size}; it must hold the byte 01 and a 16-byte schema GUID. "
            "Something other than Confluent's HeaderSchemaIdSerializer wrote this header."
        )
    return header_value


def set_header_guid(headers: Headers, role: Role, guid: UUID, indexes: bytes = b"") -> None:
    """Puts a GUID into a record's headers, like Confluent's `HeaderSchemaIdSerializer`: it appends to a list, or sets
    the key of a dict. It removes an earlier GUID header (for example of the record's source), because readers differ in
    which of two headers counts.
    `indexes` are the indexes of a Protobuf message, which follow the GUID.
    """
    name, value = schema_id_header(role), frame_guid(guid, indexes)
    if isinstance(headers, dict):
        headers[name] = value
    elif isinstance(headers, list):
        if any(key == name for key, _ in headers):
            headers[:] = [header for header in headers if header[0] != name]
        headers.append((name, value))
    else:
        has = "none" if headers is None else f"a {type(headers).__name__}"
        raise UsageError(
            f"srfix writes the schema's GUID to the record header {name}. For this, the context must have headers as a "
            f"list or a dict, but it has {has}. Pass headers=[] when producing, or use another framing."
        )


def is_header_guid_set(headers: Headers, role: Role, guid: UUID) -> bool:
    """True if `set_header_guid` would change nothing."""
    name, value = schema_id_header(role), frame_guid(guid)
    if isinstance(headers, dict):
        return headers.get(name) == value
    if not isinstance(headers, list) or not headers or headers[-1] != (name, value):
        return False
    return all(key != name for key, _ in headers[:-1])


def parse(payload: bytes | None, *, headers: Headers = None, role: Role = Role.VALUE) -> Frame | None:
    """Parses a payload; None for a tombstone."""
    if payload is None:
        return None
    header = _header(headers, role)
    if header is not None:
        guid, behind = UUID(bytes=header[1:PREFIX_GUID_SIZE]), header[PREFIX_GUID_SIZE:]
        return Frame(framing=Framing.HEADER_GUID, schema_id=None, guid=guid, payload=behind + payload, body_offset=0)
    if not payload:
        raise PayloadTooShortError(
            "The payload is empty (0 bytes), which is not a tombstone: a framed payload starts with a magic byte. It "
            "is corrupt, or its producer uses no schema registry serializer."
        )
    magic = payload[0]
    if magic == _MAGIC_ID:
        if len(payload) < PREFIX_ID_SIZE:
            raise PayloadTooShortError(
                f"The payload has {counted(len(payload), 'byte')}; the byte 00 announces a 4-byte schema id, so it "
                "needs at least 5. It was cut off, or its producer uses no schema registry serializer."
            )
        schema_id = schema_id_of(payload)
        if not is_schema_id(schema_id):
            raise ImpossibleSchemaIdError(
                f"The payload begins like a framed one, but its schema id would be {schema_id}{_to_java(schema_id)}; "
                f"registries assign only {MIN_SCHEMA_ID} to {MAX_SCHEMA_ID}. The payload is corrupt, or its producer "
                "uses no schema registry serializer (for example for a BIGINT key).",
                schema_id=int(schema_id),
            )
        return Frame(
            framing=Framing.PREFIX_ID,
            schema_id=schema_id,
            guid=None,
            payload=payload,
            body_offset=PREFIX_ID_SIZE,
        )
    if magic == _MAGIC_GUID:
        if len(payload) < PREFIX_GUID_SIZE:
            raise PayloadTooShortError(
                f"The payload has {counted(len(payload), 'byte')}; the byte 01 announces a 16-byte schema GUID, so it "
                "needs at least 17. It was cut off, or its producer uses no schema registry serializer."
            )
        return Frame(
            framing=Framing.PREFIX_GUID,
            schema_id=None,
            guid=UUID(bytes=payload[1:PREFIX_GUID_SIZE]),
            payload=payload,
            body_offset=PREFIX_GUID_SIZE,
        )
    looks = " It looks like plain JSON." if payload[:1] in b'{["' else ""
    raise UnknownMagicByteError(
        f"The payload starts with the byte {magic:02x}; a framed one starts with 00 (schema id) or 01 (schema "
        f"GUID).{looks} It is corrupt, or its producer uses no schema registry serializer."
    )


def is_framed(payload: bytes | None, headers: Headers = None, role: Role = Role.VALUE) -> bool:
    """True if the payload carries the id or GUID of a schema; False for a tombstone."""
    try:
        return parse(payload, headers=headers, role=role) is not None
    except WireError:
        return False


def schema_id_of(payload: bytes) -> SchemaId:
    """The schema id of a payload that is known to have the `PREFIX_ID` framing. It checks nothing; `parse` does."""
    return SchemaId(int.from_bytes(payload[1:PREFIX_ID_SIZE], "big"))


def identity_of(payload: bytes) -> SchemaId | UUID:
    """The schema id or GUID of a payload that is known to begin with one. It checks nothing; `parse` does."""
    return UUID(bytes=payload[1:PREFIX_GUID_SIZE]) if payload[0] == _MAGIC_GUID else schema_id_of(payload)


def is_schema_id(schema_id: int) -> bool:
    """True for an id that a registry can have assigned. srfix never asks for another id."""
    return MIN_SCHEMA_ID <= schema_id <= MAX_SCHEMA_ID


def given_schema_id(schema_id: int) -> SchemaId:
    """An id from an argument or a document."""
    if not is_schema_id(schema_id):
        raise ImpossibleSchemaIdError(
            f"There is no schema id {schema_id}{_to_java(schema_id)}: registries assign only {MIN_SCHEMA_ID} to "
            f"{MAX_SCHEMA_ID}.",
            schema_id=schema_id,
        )
    return SchemaId(schema_id)


def _to_java(schema_id: int) -> str:
    """How Java's readers print four bytes that are beyond Java's ints."""
    return f" ({schema_id - 2**32} to Java)" if MAX_SCHEMA_ID < schema_id < 2**32 else ""


def prefix_id_bytes(schema_id: int) -> bytes:
    """The 5 bytes before a body in the `PREFIX_ID` framing."""
    return bytes((_MAGIC_ID,)) + given_schema_id(schema_id).to_bytes(4, "big")


def frame_id(schema_id: int, body: bytes) -> bytes:
    """A payload in the `PREFIX_ID` framing."""
    return prefix_id_bytes(schema_id) + body


def frame_guid(guid: UUID, body: bytes = b"") -> bytes:
    """A payload in the `PREFIX_GUID` framing; without a body, the header's value in `HEADER_GUID`."""
    return bytes((_MAGIC_GUID,)) + guid.bytes + body
