"""A registry of several schemas, and payloads framed in every way that there is."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from srfix.serde.schemas.errors import SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from tests.serde.fakes import MemoryRegistry
from tests.serde.fuzz.mutations import BINARY, mutated

Headers = list[tuple[str, bytes | str | None]]

_HEADER: Final = "__value_schema_id"


def guid_of(schema_id: int) -> UUID:
    """Ours for an id."""
    return UUID(int=0x5AFE << 96 | schema_id)


class GuidRegistry(MemoryRegistry):
    """It knows GUIDs too, and keeps any text."""

    def put(self, text: str, schema_type: str) -> int:
        """Takes a schema that may be none."""
        schema_id = len(self.schemas) + 1
        self.schemas[schema_id] = Schema(text=text, schema_type=schema_type)
        return schema_id

    def schema_by_guid(self, guid: str) -> Schema:
        known = {str(guid_of(schema_id)): schema for schema_id, schema in self.schemas.items()}
        if guid not in known:
            raise SchemaNotFoundError(404, 40403, f"Schema {guid} not found", "http://registry.test")
        return known[guid]


@dataclass(frozen=True, slots=True)
class Framed:
    """A payload, and the headers of its record."""

    payload: bytes
    headers: Headers | None = None

    def named(self, registry: MemoryRegistry) -> tuple[Schema | None, bytes]:
        """The schema that it names, None if there is none, and the body: read here anew, as Confluent documents it."""
        guids = {guid_of(schema_id).bytes: schema for schema_id, schema in registry.schemas.items()}
        header = dict(self.headers or ()).get(_HEADER)
        if header is not None:
            assert isinstance(header, bytes)
            return (guids.get(header[1:]) if header[:1] == b"\1" else None), self.payload
        if self.payload[:1] == b"\1":
            return guids.get(self.payload[1:17]), self.payload[17:]
        if self.payload[:1] == b"\0" and len(self.payload) >= 5:
            return registry.schemas.get(struct.unpack(">i", self.payload[1:5])[0]), self.payload[5:]
        return None, b""


def framed(random: Random, body: bytes, schema_id: int, others: tuple[int, ...]) -> Framed:
    """A body in a frame: most often the right one."""
    other = random.choice(others)
    right = _prefix(schema_id) + body
    guid = b"\1" + guid_of(schema_id).bytes
    match random.randrange(60):
        case 0:
            return Framed(_prefix(other) + body)
        case 1:
            return Framed(_prefix(random.choice((0, 9_999, 2**31 - 1))) + body)
        case 2:
            return Framed(b"\0" + random.choice((-1, -schema_id, -(2**31))).to_bytes(4, "big", signed=True) + body)
        case 3:
            return Framed(guid + body)
        case 4:
            return Framed(b"\1" + guid_of(9_999).bytes + body)
        case 5:
            return Framed(body, [(_HEADER, guid)])
        case 6:
            # The header counts, whatever the payload begins with.
            return Framed(_prefix(other) + body, [("x", b"y"), (_HEADER, guid)])
        case 7:
            return Framed(right, [(_HEADER, random.randbytes(random.randrange(20)))])
        case 8:
            return Framed(right, [(_HEADER, b"\1" + guid_of(other).bytes), (_HEADER, guid)])
        case 9:
            return Framed(bytes((random.choice((0x02, 0x08, 0x7B, 0x80, 0xFF)),)) + right[1:])
        case 10:
            return Framed(right[: random.randrange(5)])
        case 11:
            return Framed(right, [("__key_schema_id", b"\1" + guid_of(other).bytes)])
        case 12:
            return Framed(_prefix(schema_id) + right)
        case 13:
            return Framed(mutated(random, right, BINARY))
        case 14:
            return Framed((guid + body)[: random.randrange(17)])
        case _:
            return Framed(right)


def _prefix(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big")
