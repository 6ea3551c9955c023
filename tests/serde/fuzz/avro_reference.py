"""A strict, slow decoder of Avro, written from the specification alone: what the fuzz tests hold ours against.

| bytes | here |
|---|---|
| boolean | 0 or 1, nothing else |
| int, long | a number of 32, of 64 bits; at most ten bytes |
| string | UTF-8, without surrogates |
| length | not negative, and so many bytes are there |
| index of a union, of an enum | from 0, below their number |
| blocks | a negative count is followed by a size in bytes, which is read and not relied on |
| the whole | every byte is used |

`Refused` is what the specification refuses. `Beyond` is what it allows, and we document that we do not hold.
"""

from __future__ import annotations

import datetime
import decimal
import json
import struct
import uuid
from typing import Final, TypeAlias, cast

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
_Object: TypeAlias = dict[str, Json]

MAX_EMPTY_ITEMS: Final = 65_536
MAX_LEVELS: Final = 150
"""How deep values are followed here. What is deeper is tested apart, in processes of its own."""

_PRIMITIVE: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_EPOCH: Final = datetime.datetime(1970, 1, 1)


class Refused(Exception):
    """The bytes are no value of the schema."""


class Loose(Refused):
    """They are none, but fastavro, and we with it, may read them all the same: a number of more bytes than a long has, or
    of more bits; a boolean of several bytes. Telling these apart costs every record of every topic more than it gains:
    what is read is still a value of the type, and no mutation of a body that was whole gets there but by design."""


class Beyond(Exception):
    """They are one, but beyond a documented bound."""


class AvroReference:
    def __init__(self, text: str, *, logical: bool = True) -> None:
        """:param logical: dates, times, decimals and UUIDs are made of their underlying types; and ints have 32 bits:
        without, that is for the caller to see to."""
        self._root: Json = json.loads(text)
        self._logical = logical
        self._named: dict[str, _Object] = {}
        self._spaces: dict[int, str] = {}
        self._define(self._root, "")
        self._body = b""
        self._at = 0
        self._empty_items = 0

    @property
    def is_bytes(self) -> bool:
        """The root is of the type bytes: Confluent's Java serializer writes it without a length."""
        return self._root == "bytes" or (isinstance(self._root, dict) and self._root["type"] == "bytes")

    def read(self, body: bytes) -> object:
        """The value.

        :raises Refused: if it is none.
        :raises Beyond: if it is one that we do not hold.
        """
        self._body, self._at, self._empty_items = body, 0, 0
        value = self._value(self._root, "", 0)
        if self._at != len(body):
            raise Refused("bytes are left over")
        return value

    def _define(self, schema: Json, space: str) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._define(branch, space)
        elif isinstance(schema, dict):
            if "name" in schema:
                name = _full_name(schema, space)
                space = name.rpartition(".")[0]
                self._named[name] = schema
                self._spaces[id(schema)] = space
            for field in cast("list[_Object]", schema.get("fields", [])):
                self._define(field["type"], space)
            for part in ("items", "values", "type"):
                if isinstance(schema.get(part), dict | list):
                    self._define(schema[part], space)

    def _value(self, schema: Json, space: str, level: int) -> object:
        if level > MAX_LEVELS:
            raise Beyond("too deep")
        if isinstance(schema, list):
            return self._value(schema[self._index(len(schema))], space, level + 1)
        if isinstance(schema, str):
            if schema in _PRIMITIVE:
                return self._primitive(schema)
            schema = self._named[schema if "." in schema or not space else f"{space}.{schema}"]
        assert isinstance(schema, dict)
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self._value(kind, space, level)
        space = self._spaces.get(id(schema), space)
        match kind:
            case "record":
                fields = cast("list[_Object]", schema["fields"])
                return {str(field["name"]): self._value(field["type"], space, level + 1) for field in fields}
            case "array":
                return self._items(schema["items"], space, level + 1)
            case "map":
                return self._entries(schema["values"], space, level + 1)
            case "enum":
                symbols = cast("list[str]", schema["symbols"])
                return symbols[self._index(len(symbols))]
            case "fixed":
                value: object = self._take(cast("int", schema["size"]))
            case _:
                value = self._primitive(str(kind))
        return _converted(value, schema) if self._logical else value

    def _primitive(self, kind: str) -> object:
        match kind:
            case "null":
                return None
            case "boolean":
                byte = self._take(1)[0]
                if byte > 1:
                    raise (Loose if byte in (0x80, 0x81) else Refused)("a boolean is 0 or 1")
                return byte == 1
            case "int":
                number = self._long()
                if self._logical and not -(2**31) <= number < 2**31:
                    raise Refused("an int has 32 bits")
                return number
            case "long":
                return self._long()
            case "float":
                return struct.unpack("<f", self._take(4))[0]
            case "double":
                return struct.unpack("<d", self._take(8))[0]
            case "bytes":
                return self._take(self._size())
            case "string":
                return self._text()
        raise AssertionError(kind)

    def _items(self, items: Json, space: str, level: int) -> list[object]:
        made: list[object] = []
        while count := self._count():
            for number in range(count):
                before = self._at
                made.append(self._value(items, space, level))
                if self._at == before:
                    self._empty_items += 1
                    if (number == 0 and count > MAX_EMPTY_ITEMS) or self._empty_items > MAX_EMPTY_ITEMS:
                        raise Beyond("too many items that take no bytes")
        return made

    def _entries(self, values: Json, space: str, level: int) -> dict[str, object]:
        made: dict[str, object] = {}
        while count := self._count():
            for _ in range(count):
                key = self._text()
                made[key] = self._value(values, space, level)
        return made

    def _count(self) -> int:
        count = self._long()
        if count >= 0:
            return count
        self._long()
        return -count

    def _index(self, number: int) -> int:
        index = self._long()
        if not 0 <= index < number:
            raise Refused("no such index")
        return index

    def _size(self) -> int:
        size = self._long()
        if size < 0:
            raise Refused("a length is not negative")
        return size

    def _text(self) -> str:
        try:
            return self._take(self._size()).decode("utf-8", "strict")
        except UnicodeDecodeError as error:
            raise Refused("a string is UTF-8") from error

    def _long(self) -> int:
        number = 0
        for place in range(10):
            byte = self._take(1)[0]
            number += (byte % 128) << 7 * place
            if byte < 128:
                if number >= 2**64:
                    raise Loose("a long has 64 bits")
                return number // 2 if number % 2 == 0 else -(number + 1) // 2
        raise Loose("a long has ten bytes at most")

    def _take(self, size: int) -> bytes:
        if size > len(self._body) - self._at:
            raise Refused("it ends too early")
        self._at += size
        return self._body[self._at - size : self._at]


def _full_name(schema: _Object, space: str) -> str:
    name = str(schema["name"])
    given = schema.get("namespace", space)
    return name if "." in name or not given else f"{given}.{name}"


def _converted(value: object, schema: _Object) -> object:
    logical, kind = schema.get("logicalType"), schema["type"]
    try:
        match kind, logical, value:
            case "int", "date", int():
                return datetime.date.fromordinal(datetime.date(1970, 1, 1).toordinal() + value)
            case "int", "time-millis", int():
                return _time(value * 1000)
            case "long", "time-micros", int():
                return _time(value)
            case "long", "timestamp-millis" | "timestamp-micros", int():
                micros = value * 1000 if logical == "timestamp-millis" else value
                return (_EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=datetime.UTC)
            case "long", "local-timestamp-millis" | "local-timestamp-micros", int():
                return _EPOCH + datetime.timedelta(microseconds=value * (1000 if "millis" in str(logical) else 1))
            case "string", "uuid", str():
                return uuid.UUID(value)
            case "bytes" | "fixed", "decimal", bytes():
                sign, digits, _ = decimal.Decimal(int.from_bytes(value, "big", signed=True)).as_tuple()
                return decimal.Decimal((sign, digits, -cast("int", schema.get("scale", 0))))
    except (ValueError, OverflowError) as error:
        raise Refused(f"no {logical}") from error
    return value


def _time(micros: int) -> datetime.time:
    if not 0 <= micros < 86_400_000_000:
        raise ValueError("a time of day is within a day")
    return (_EPOCH + datetime.timedelta(microseconds=micros)).time()
