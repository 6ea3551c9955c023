"""Bodies and rows of any Avro schema, written from the specification alone: whole ones, for others to break."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
import uuid
from collections.abc import Sequence
from random import Random
from typing import Any, Final, TypeAlias

from tests.serde.fuzz.engine_schemas import Json
from tests.serde.fuzz.mutations import varint

Value: TypeAlias = Any
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_DAY: Final = 86_400
_NUMBERS: Final = (0, 1, -1, 2, 63, 64, -64, -65, 127, 128, 2**31 - 1, -(2**31), 1_000, 86_399_999, 86_400_000)
_LONGS: Final = (*_NUMBERS, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63))
_DAYS: Final = (0, -1, 11_016, -719_162, -719_163, 2_932_896, 2_932_897)
_UNITS: Final = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_DOUBLES: Final = (0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 1e308, 5e-324, 0.1, 2.0**53, 16777217.0)
_TEXTS: Final = ("", "a", "é", "x\0y", "𝄞", "true", "12", "2020-01-01", "long " * 9, "\ufeff", "A")
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_LEVELS: Final = 7


class Schema:
    """A schema with the named types that are in it."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self._named: dict[str, Json] = {}
        self._define(root)

    def _define(self, schema: Json) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._define(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._named[schema["name"]] = schema
            for field in schema.get("fields", ()):
                self._define(field["type"])
            for part in ("items", "values"):
                if part in schema:
                    self._define(schema[part])

    def of(self, schema: Json) -> tuple[str, Json]:
        """Its kind, and itself."""
        if isinstance(schema, list):
            return "union", schema
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return schema, {"type": schema}
            schema = self._named[schema]
        return schema["type"], schema


def body(random: Random, schema: Schema) -> bytes:
    return _body(random, schema, schema.root, 0)


def _body(random: Random, schema: Schema, part: Json, level: int) -> bytes:
    kind, part = schema.of(part)
    match kind:
        case "null":
            return b""
        case "boolean":
            return random.choice((b"\0", b"\1"))
        case "int" | "long":
            return varint(_number(random, kind, part))
        case "float":
            return struct.pack("<f", random.choice((*_DOUBLES[:6], 0.1, 3.4028234663852886e38)))
        case "double":
            return struct.pack("<d", random.choice((*_DOUBLES, random.uniform(-1e6, 1e6))))
        case "bytes":
            is_decimal = part.get("logicalType") == "decimal"
            written = _unscaled(random, part) if is_decimal else random.randbytes(random.randrange(9))
            return varint(len(written)) + written
        case "string":
            return _text(_string(random, part))
        case "fixed":
            if part.get("logicalType") == "decimal":
                return _unscaled(random, part)
            return random.randbytes(part["size"])
        case "enum":
            return varint(random.randrange(len(part["symbols"])))
        case "record":
            return b"".join(_body(random, schema, field["type"], level + 1) for field in part["fields"])
        case "union":
            number = _branch(random, part, level)
            return varint(number) + _body(random, schema, part[number], level + 1)
        case "array":
            items = [_body(random, schema, part["items"], level + 1) for _ in range(_count(random, level))]
            return _blocks(random, items)
    keys = _keys(random, _count(random, level))
    return _blocks(random, [_text(key) + _body(random, schema, part["values"], level + 1) for key in keys])


def value(random: Random, schema: Schema) -> Value:
    """A value, of the types that rows without columns have."""
    return _value(random, schema, schema.root, 0)


def _value(random: Random, schema: Schema, part: Json, level: int) -> Value:
    kind, part = schema.of(part)
    match kind:
        case "null":
            return None
        case "boolean":
            return random.choice((True, False))
        case "int" | "long":
            return _of_number(random, kind, part)
        case "float" | "double":
            return random.choice((*_DOUBLES[: 6 if kind == "float" else None], random.uniform(-1e6, 1e6)))
        case "bytes" | "fixed" if part.get("logicalType") == "decimal":
            unscaled = _digits(random, part)
            return decimal.Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -part.get("scale", 0)))
        case "bytes":
            return random.randbytes(random.randrange(9))
        case "string":
            text = _string(random, part)
            if part.get("logicalType") == "uuid" and random.randrange(2):
                return uuid.UUID(text)
            return text
        case "fixed":
            return random.randbytes(part["size"])
        case "enum":
            return random.choice(part["symbols"])
        case "record":
            return {field["name"]: _value(random, schema, field["type"], level + 1) for field in part["fields"]}
        case "union":
            return _value(random, schema, part[_branch(random, part, level)], level + 1)
        case "array" if _is_entry(schema.of(part["items"])[1]) and random.randrange(2):
            key, kept = (field["type"] for field in schema.of(part["items"])[1]["fields"])
            return {
                _value(random, schema, key, level + 1): _value(random, schema, kept, level + 1)
                for _ in range(_count(random, level))
            }
        case "array":
            return [_value(random, schema, part["items"], level + 1) for _ in range(_count(random, level))]
    return {key: _value(random, schema, part["values"], level + 1) for key in _keys(random, _count(random, level))}


def _is_entry(part: Json) -> bool:
    return isinstance(part, dict) and part.get("connect.internal.type") == "MapEntry"


def _branch(random: Random, branches: Sequence[Json], level: int) -> int:
    if level > _LEVELS and "null" in branches:
        return branches.index("null")
    return random.randrange(len(branches))


def _count(random: Random, level: int) -> int:
    return random.choice((0, 1, 1, 2, 3)) if level < _LEVELS else 0


def _keys(random: Random, count: int) -> list[str]:
    return random.sample(_TEXTS, count) if random.randrange(8) else [random.choice(_TEXTS) for _ in range(count)]


def _blocks(random: Random, items: list[bytes]) -> bytes:
    """In one block or several, with their sizes or without."""
    written = b""
    while items:
        count = random.choice((len(items), random.randint(1, len(items))))
        some, items = b"".join(items[:count]), items[count:]
        written += varint(count) + some if random.randrange(4) else varint(-count) + varint(len(some)) + some
    return written + b"\0"


def _text(text: str) -> bytes:
    encoded = text.encode()
    return varint(len(encoded)) + encoded


def _string(random: Random, part: Json) -> str:
    if part.get("logicalType") != "uuid":
        return random.choice(_TEXTS)
    one = uuid.UUID(int=random.getrandbits(128))
    return random.choice((str(one), str(one), str(one), one.hex, str(one).upper(), f"{{{one}}}", one.urn))


def _number(random: Random, kind: str, part: Json) -> int:
    logical = part.get("logicalType", "")
    bits = 31 if kind == "int" else 63
    if logical == "date":
        return random.choice((*_DAYS, random.randint(-700_000, 2_900_000)))
    for unit, per_second in _UNITS.items():
        if logical.endswith(unit) or ("Timestamp" in part.get("connect.name", "") and unit == "millis"):
            last = _DAY * per_second if logical.startswith("time-") else 253_402_300_800 * per_second
            first = 0 if logical.startswith("time-") else -62_135_596_800 * per_second
            near = random.choice((0, 0, last - 1, last, first, first - 1, first + 1, 1_000, -1_000, 999, -1))
            number = random.choice((near, random.randint(first, last), random.randint(0, 10**6) * 1000))
            return max(min(number, (1 << bits) - 1), -(1 << bits))
    numbers = [number for number in _LONGS if -(1 << bits) <= number < 1 << bits]
    return random.choice((*numbers, random.randint(-(1 << bits), (1 << bits) - 1)))


def _of_number(random: Random, kind: str, part: Json) -> Value:
    """A number, or the time that it stands for."""
    number, logical = _number(random, kind, part), part.get("logicalType", "")
    try:
        match logical:
            case "date":
                return datetime.date.fromordinal(719_163 + number)
            case "time-millis" | "time-micros":
                micros = number * (1_000 if logical == "time-millis" else 1)
                return (_EPOCH + datetime.timedelta(microseconds=micros % (_DAY * 10**6))).time()
            case "timestamp-millis" | "timestamp-micros" | "local-timestamp-millis" | "local-timestamp-micros":
                micros = number * (1_000 if logical.endswith("millis") else 1)
                at = _EPOCH + datetime.timedelta(microseconds=micros)
                return at if logical.startswith("local") else at.replace(tzinfo=datetime.UTC)
    except (ValueError, OverflowError):
        return number
    return number


def _digits(random: Random, part: Json) -> int:
    most = 10 ** int(part["precision"]) - 1
    number = random.choice((0, 1, most, most + 1, random.randint(0, most), random.randint(0, 10**6)))
    return number * random.choice((1, -1))


def _unscaled(random: Random, part: Json) -> bytes:
    number = _digits(random, part)
    least = number.bit_length() // 8 + 1
    size = part["size"] if part["type"] == "fixed" else least + random.choice((0, 0, 0, 1, 20))
    return number.to_bytes(max(size, least), "big", signed=True)[-size:]
