"""Writer schemas, and bodies under them: by Avro's specification, without a library for it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.serde.logical_types import WRITERS, Written, body

LONG: Final = next(each for each in WRITERS if each.word == "long")
"""A number without a logical type."""
INT: Final = next(each for each in WRITERS if each.word == "int")
"""The shorter one."""
BYTES: Final = Written(word="bytes", type="bytes", values=(b"", b"\x00\xff", b"text"), counts="bytes")
"""What a string may be promoted to."""
NOT_UTF8: Final = b"\xff\xfe"
"""The bytes of a string that is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a writer's record, or a branch of its union."""

    name: str
    """As the schema has it; of a branch, as Connect calls it."""
    kind: str
    """`scalar`, `enum`, `array`, `map`, `record`, `union`, `string`, `boolean`, `float` or `double`."""
    type_name: str = ""
    """Of a named type; it stays where the field is renamed."""
    scalar: Written | None = None
    """Of a scalar, and of the items of an array or map."""
    fields: tuple[Field, ...] = ()
    """Of a record; of a union the branches beside null."""
    nulls: str = ""
    """`first` or `last` in a union with null."""
    aliases: tuple[str, ...] = ()
    """Earlier names."""
    default: tuple[Any, ...] = ()
    """None, or one: the default, as a value."""
    is_default: bool = False
    """True if it is the reader's, in place of one that the writer does not have."""
    reads_null: bool = False
    """True if null is all that the reader's union has of the writer's."""

    def schema(self) -> dict[str, Any]:
        type_ = self._type()
        if self.nulls:
            type_ = ["null", type_] if self.nulls == "first" else [type_, "null"]
        made: dict[str, Any] = {"name": self.name, "type": type_}
        if self.aliases:
            made["aliases"] = list(self.aliases)
        if self.default:
            value = self.default[0]
            made["default"] = value.decode("latin-1") if isinstance(value, bytes) else value
        return made

    def _type(self) -> Any:
        match self.kind:
            case "enum":
                return {"type": "enum", "name": self.type_name, "symbols": ["RED", "green"], "default": "RED"}
            case "array":
                return {"type": "array", "items": self._scalar()}
            case "map":
                return {"type": "map", "values": self._scalar()}
            case "record":
                return {"type": "record", "name": self.type_name, "fields": [each.schema() for each in self.fields]}
            case "union":
                return ["null", *(branch._type() for branch in self.fields)]
            case "scalar":
                return self._scalar()
        return self.kind

    def _scalar(self) -> Any:
        assert self.scalar is not None
        type_ = self.scalar.type
        return {**type_, "name": self.type_name} if isinstance(type_, dict) and "name" in type_ else type_

    def draw(self, random: Random) -> Any:
        """A value as it is written; of a union the branch's name and its value."""
        if self.nulls and random.random() < 0.25:
            return None
        match self.kind:
            case "scalar":
                assert self.scalar is not None
                return random.choice(self.scalar.values if random.random() < 0.3 else self.scalar.values[:6])
            case "enum":
                return random.choice(("RED", "green"))
            case "array" | "map":
                assert self.scalar is not None
                items = [random.choice(self.scalar.values[:4]) for _ in range(random.randrange(3))]
                return items if self.kind == "array" else {f"k{place}": item for place, item in enumerate(items)}
            case "record":
                return {each.name: each.draw(random) for each in self.fields}
            case "union":
                branch = random.choice((None, *self.fields))
                return None if branch is None else {branch.name: branch.draw(random)}
            case "string":
                return random.choice(("", "Ada", "Zoë", "\U0001f600")) if random.randrange(30) else NOT_UTF8
            case "boolean":
                return random.random() < 0.5
        return random.choice((0.5, -2.25, 1024.0))

    def encode(self, value: Any) -> bytes:
        """As Avro's specification has it."""
        if not self.nulls:
            return self._encode(value)
        if value is None:
            return b"\x00" if self.nulls == "first" else b"\x02"
        return (b"\x02" if self.nulls == "first" else b"\x00") + self._encode(value)

    def _encode(self, value: Any) -> bytes:
        match self.kind:
            case "scalar":
                assert self.scalar is not None
                return body(self.scalar, value)
            case "enum":
                return b"\x00" if value == "RED" else b"\x02"
            case "array" | "map":
                assert self.scalar is not None
                parts = value if self.kind == "array" else value.items()
                written = [
                    body(self.scalar, part) if self.kind == "array" else _text(part[0]) + body(self.scalar, part[1])
                    for part in parts
                ]
                return (body(LONG, len(written)) + b"".join(written) if written else b"") + b"\x00"
            case "record":
                return b"".join(each.encode(value[each.name]) for each in self.fields)
            case "union":
                if value is None:
                    return b"\x00"
                ((name, inner),) = value.items()
                place = [branch.name for branch in self.fields].index(name)
                return body(LONG, place + 1) + self.fields[place]._encode(inner)
            case "string":
                return _text(value)
            case "boolean":
                return b"\x01" if value else b"\x00"
        return struct.pack("<f" if self.kind == "float" else "<d", value)


def _text(value: str | bytes) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return body(LONG, len(content)) + content


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A version."""

    name: str
    """Of the record type."""
    fields: tuple[Field, ...]
    """In the order of the body."""

    def text(self) -> str:
        fields = [each.schema() for each in self.fields]
        return json.dumps({"type": "record", "name": self.name, "fields": fields})

    def encode(self, values: Mapping[str, Any]) -> bytes:
        return b"".join(each.encode(values[each.name]) for each in self.fields)
