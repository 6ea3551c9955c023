"""Generated Avro schemas of any kind, and bodies under them."""

from __future__ import annotations

import struct
from itertools import count
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy


def entries(key: object, value: object, **more: object) -> dict[str, object]:
    """The array of entries that AvroData writes for a map."""
    fields = [{"name": "key", "type": key}, {"name": "value", "type": value}]
    entry = {"type": "record", "name": "E", "fields": fields, "connect.internal.type": "MapEntry", **more}
    return {"type": "array", "items": entry}


@st.composite
def avro_schemas(draw: DrawFn) -> object:
    """Records of anything, with properties that mean something to AvroData."""
    numbers = count()

    def properties() -> dict[str, object]:
        return draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "connect.doc": st.just("doc"),
                    "connect.parameters": st.dictionaries(st.sampled_from("abc"), st.text(max_size=2), max_size=2),
                    "avro.x": st.just("y"),
                },
            )
        )

    def scalar() -> object:
        word = draw(st.sampled_from(["boolean", "int", "long", "float", "double", "string", "bytes"]))
        logical = draw(
            st.sampled_from([None, None, "date", "time-millis", "timestamp-millis", "timestamp-micros", "uuid"])
        )
        made: dict[str, object] = {"type": word, **properties()}
        if logical is not None:
            made["logicalType"] = logical
        elif word == "bytes" and draw(st.booleans()):
            made |= {"logicalType": "decimal", "precision": draw(st.integers(5, 70)), "scale": draw(st.integers(0, 5))}
        elif word == "int" and draw(st.booleans()):
            made["connect.type"] = draw(st.sampled_from(["int8", "int16"]))
        return made if draw(st.booleans()) else word

    def named() -> object:
        name = f"N{next(numbers)}"
        if draw(st.booleans()):
            return {"type": "enum", "name": name, "symbols": ["A", "B"], **properties()}
        return {"type": "fixed", "name": name, "size": draw(st.integers(1, 9)), **properties()}

    def union(depth: int) -> object:
        others = [{"type": "array", "items": any_type(depth + 1)}, record(depth + 1), named()]
        branches: list[object] = draw(
            st.lists(
                st.sampled_from(["null", "int", "string", "bytes", *others]), min_size=2, max_size=4, unique_by=str
            )
        )
        return branches

    def any_type(depth: int) -> object:
        kinds = (
            ["scalar", "scalar", "named"]
            if depth > 3
            else ["scalar", "named", "array", "map", "entries", "union", "record"]
        )
        match draw(st.sampled_from(kinds)):
            case "named":
                return named()
            case "array":
                return {"type": "array", "items": any_type(depth + 1), **properties()}
            case "map":
                return {"type": "map", "values": any_type(depth + 1), **properties()}
            case "entries":
                return entries(any_type(depth + 1), any_type(depth + 1), name=f"N{next(numbers)}")
            case "union":
                return union(depth)
            case "record":
                return record(depth + 1)
            case _:
                return scalar()

    def record(depth: int) -> dict[str, object]:
        fields: list[dict[str, object]] = []
        name = f"N{next(numbers)}"
        for number in range(draw(st.integers(0, 3))):
            field: dict[str, object] = {"name": f"f{number}", "type": any_type(depth + 1)}
            if field["type"] == "int" and draw(st.booleans()):
                field["default"] = 3
            if draw(st.booleans()):
                field["doc"] = "d"
            fields.append(field)
        return {"type": "record", "name": name, "namespace": draw(st.sampled_from(["a", "b.c"])), "fields": fields}

    return record(0)


def long_bytes(number: int) -> bytes:
    """A whole number as Avro writes it: zigzag, seven bits a byte, the least first."""
    left, made = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*made, left))


def _sized(body: bytes) -> bytes:
    return long_bytes(len(body)) + body


def _blocks(items: list[bytes]) -> bytes:
    return (long_bytes(len(items)) + b"".join(items) if items else b"") + b"\0"


def _whole(least: int, most: int) -> SearchStrategy[bytes]:
    return st.integers(least, most).map(long_bytes)


_DAYS, _MS = (-700_000, 2_900_000), (-62_135_596_800_000, 253_402_300_799_999)
_PRIMITIVES: Final[dict[str, SearchStrategy[bytes]]] = {
    "null": st.just(b""),
    "boolean": st.sampled_from([b"\0", b"\1"]),
    "int": _whole(-(2**31), 2**31 - 1),
    "long": _whole(-(2**63), 2**63 - 1),
    "float": st.floats(width=32).map(struct.Struct("<f").pack),
    "double": st.floats().map(struct.Struct("<d").pack),
    "string": st.text(max_size=5).map(lambda text: _sized(text.encode())),
    "bytes": st.binary(max_size=5).map(_sized),
}
_LOGICAL: Final = {
    ("int", "date"): _whole(*_DAYS),
    ("int", "time-millis"): _whole(0, 86_399_999),
    ("long", "timestamp-millis"): _whole(*_MS),
}


def bodies_of(schema: object) -> SearchStrategy[bytes]:
    """Bodies under a schema that defines each of its types where it stands; its dates and decimals fit their columns."""
    match schema:
        case str():
            return _PRIMITIVES[schema]
        case list():
            numbered = [bodies_of(branch).map(long_bytes(number).__add__) for number, branch in enumerate(schema)]
            return st.one_of(numbered)
        case {"type": "record", "fields": list(fields)}:
            return st.tuples(*(bodies_of(part["type"]) for part in fields)).map(b"".join)
        case {"type": "array", "items": items}:
            return st.lists(bodies_of(items), max_size=3).map(_blocks)
        case {"type": "map", "values": values}:
            parts = st.dictionaries(_PRIMITIVES["string"], bodies_of(values), max_size=3)
            return parts.map(lambda entries: _blocks([key + value for key, value in entries.items()]))
        case {"type": "enum", "symbols": list(symbols)}:
            return _whole(0, len(symbols) - 1)
        case {"type": "fixed", "size": int(size)}:
            return st.binary(min_size=size, max_size=size)
        case {"logicalType": "decimal", "precision": int(precision)}:
            unscaled = st.integers(1 - 10**precision, 10**precision - 1)
            return unscaled.map(
                lambda number: _sized(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))
            )
        case {"type": str(kind), "logicalType": str(logical)}:
            return _LOGICAL.get((kind, logical), _PRIMITIVES[kind])
        case {"type": str(kind)}:
            return _PRIMITIVES[kind]
    raise AssertionError(schema)
