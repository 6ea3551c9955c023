"""Whole topics, generated: writer schemas of one subject, columns made of one of them, and the payloads.

The columns are what `columns_from_avro` says of a schema, with some of them gone, renamed, or of another type; and the other
schemas are what became of that one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias, cast

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.errors import ColumnError
from srfix.serde.formats.avro.infer import columns_from_avro
from tests.serde.fuzz.mutations import BINARY, mutated, varint

__all__ = ["Topic", "avro_topics"]

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"

_NAMES: Final = ("id", "name", "userId", "zip", "city", "note", "amount", "seen", "kind", "tags", "inner", "x")
_LETTERS: Final[tuple[Callable[[str], str], ...]] = (str, str, str.upper, str.lower, str.title)
_MOST_LEVELS: Final = 3
_DAY_MS: Final = 86_400_000
_BOUNDS: Final = {
    "date": (-719_162, 2_932_896),
    "time-millis": (0, _DAY_MS - 1),
    "timestamp-millis": (-62_135_596_800_000, 253_402_300_799_999),
}
_TEXTS: Final = ("", "a", "Ünïcode €", "𝄞 clef", "quote\"'\\", "x" * 70, "null", "\u0000")
_FEEDS: Final[dict[ScalarType, tuple[ScalarType, ...]]] = {
    ScalarType.BOOLEAN: (ScalarType.STRING,),
    ScalarType.INTEGER: (ScalarType.BIGINT, ScalarType.STRING, ScalarType.DATE),
    ScalarType.BIGINT: (ScalarType.STRING, ScalarType.TIMESTAMP),
    ScalarType.DATE: (ScalarType.INTEGER, ScalarType.BIGINT, ScalarType.STRING),
    ScalarType.TIMESTAMP: (ScalarType.BIGINT, ScalarType.STRING),
}
"""What takes a writer's type that is another's column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A subject's schemas, and bodies of them."""

    schemas: tuple[str, ...]
    """Texts, in the order of their versions."""
    referred: tuple[str, str] | None
    """The full name and the text of a type that is defined apart, and that all of them refer to."""
    whole: tuple[str, ...]
    """The schemas with that type's definition in them."""
    columns: Columns
    """What is read."""
    case_rule: CaseRule
    """How."""
    bodies: tuple[tuple[int, bytes], ...]
    """The place of a schema, and a body."""
    broken: tuple[tuple[int, bytes], ...]
    """The same, after a mutation."""


@st.composite
def avro_topics(draw: DrawFn, *, bodies: int = 5) -> Topic:
    """Any.

    :param bodies: how many for each schema, and how many broken ones.
    """
    schemas = _Schemas(draw(st.randoms(use_true_random=True)))
    first = schemas.root()
    texts = [first, *(schemas.successor(first) for _ in range(draw(st.integers(0, 2))))]
    referred = schemas.referred
    references = () if referred is None else (json.dumps(referred),)
    columns = schemas.columns(json.dumps(texts[-1]), references)
    pick = Random(draw(st.integers(0, 2**32)))
    made = [
        (place, _Bodies(pick, schema, referred).body(schema))
        for place, schema in enumerate(texts)
        for _ in range(bodies)
    ]
    return Topic(
        schemas=tuple(json.dumps(schema) for schema in texts),
        referred=None if referred is None else (str(referred["name"]), json.dumps(referred)),
        whole=tuple(json.dumps(_inlined(schema, referred)) for schema in texts),
        columns=columns,
        case_rule=draw(st.sampled_from(CaseRule)),
        bodies=tuple(made),
        broken=tuple((place, mutated(pick, body, BINARY)) for place, body in made),
    )


class _Schemas:
    def __init__(self, pick: Random) -> None:
        self._pick = pick
        self._count = 0
        self.referred: dict[str, Json] | None = None

    def root(self) -> dict[str, Json]:
        """A record."""
        if self._pick.random() < 0.2:
            self.referred = self._record(_MOST_LEVELS)
        return self._record(0)

    def successor(self, schema: dict[str, Json]) -> dict[str, Json]:
        """What became of a record: fields come, go, move, and change their letters and types."""
        pick = self._pick
        fields = [dict(part) for part in cast("list[dict[str, Json]]", schema["fields"]) if pick.random() < 0.9]
        for part in fields:
            part["name"] = pick.choice(_LETTERS)(str(part["name"]))
            part["type"] = self._changed(part["type"])
        fields += (self._field(name, 1) for name in _some(pick, _NAMES, 2))
        pick.shuffle(fields)
        return {**schema, "fields": cast("Json", _distinct(fields))}

    def columns(self, text: str, references: tuple[str, ...]) -> Columns:
        """What a reader declares, who knows of the schema."""
        names = self._pick.choice(("upper", "keep"))
        try:
            columns = columns_from_avro(text, names="keep" if names == "keep" else "upper", references=references)
        except ColumnError:  # letter case makes columns of one name, or there is none
            columns = (Column("ID", ScalarType.BIGINT),)
        return self._declared(columns) or (Column("NAME", ScalarType.STRING),)

    def _declared(self, columns: Columns) -> Columns:
        pick = self._pick
        kept = [
            Column(pick.choice((str, str, str, str.upper))(column.name), self._declared_type(column.type))
            for column in columns
            if pick.random() < 0.9
        ]
        if pick.random() < 0.3:
            kept.append(Column("NOBODYS", pick.choice((ScalarType.STRING, Array(ScalarType.BIGINT)))))
        pick.shuffle(kept)
        # Spark's own names are told apart ignoring case.
        by_name = {column.name.upper(): column for column in kept}
        return tuple(by_name.values())

    def _declared_type(self, type_: ColumnType) -> ColumnType:
        pick = self._pick
        match type_:
            case Struct(fields):
                return Struct(self._declared(fields) or fields)
            case Array(items):
                return Array(self._declared_type(items))
            case Map(values):
                return Map(self._declared_type(values))
            case Decimal(precision, scale):
                more = pick.choice((0, 0, 0, 2))
                return Decimal(min(38, precision + 2 * more), min(scale + more, 38))
            case ScalarType.TIME:
                return pick.choice((ScalarType.INTEGER, ScalarType.BIGINT, ScalarType.STRING))
            case ScalarType():
                return pick.choice(_FEEDS.get(type_, (type_,))) if pick.random() < 0.25 else type_

    def _name(self) -> str:
        self._count += 1
        return f"ns.N{self._count}"

    def _record(self, level: int) -> dict[str, Json]:
        pick = self._pick
        fields = [self._field(name, level + 1) for name in _some(pick, _NAMES, 8 if level == 0 else 4)]
        if fields and pick.random() < 0.1:
            twin = self._field(str(fields[0]["name"]).upper(), level + 1)
            fields.append(twin)
        return {"type": "record", "name": self._name(), "fields": cast("Json", _distinct(fields))}

    def _field(self, name: str, level: int) -> dict[str, Json]:
        type_ = self._nullable(self._type(level))
        field: dict[str, Json] = {"name": self._pick.choice(_LETTERS)(name), "type": type_}
        if isinstance(type_, list) and type_[0] == "null":
            field["default"] = None
        return field

    def _nullable(self, type_: Json) -> Json:
        if isinstance(type_, list):
            return type_
        wrapped: tuple[Json, ...] = (type_, type_, ["null", type_], ["null", type_], [type_, "null"], [type_])
        return self._pick.choice(wrapped)

    def _type(self, level: int) -> Json:
        pick = self._pick
        chance = pick.random()
        if level < _MOST_LEVELS and chance < 0.35:
            below = level + 1
            kind = pick.choice(("record", "array", "map", "entries"))
            if kind == "record":
                return self._record(below)
            inner: Json = self._nullable(self._type(below))
            if kind == "entries":
                return self._entries(inner)
            return {"type": kind, "items" if kind == "array" else "values": inner}
        if self.referred is not None and chance > 0.85:
            return str(self.referred["name"])
        if chance > 0.98:
            return ["null", "int", "string"]
        return self._leaf()

    def _entries(self, inner: Json) -> Json:
        keys: tuple[Json, ...] = ("string", "string", ["null", "string"], "int")
        key = self._pick.choice(keys)
        fields: list[Json] = [{"name": "key", "type": key}, {"name": "value", "type": inner}]
        name = self._name()
        entry: Json = {"type": "record", "name": name, "fields": fields, "connect.internal.type": "MapEntry"}
        return {"type": "array", "items": entry}

    def _leaf(self) -> Json:
        pick = self._pick
        kind = pick.choice(
            ("boolean", "int", "long", "float", "double", "string", "string", "bytes", "enum", "fixed", "decimal",
             "decimal", "date", "time-millis", "timestamp-millis", "timestamp-micros", "local-timestamp-millis", "uuid",
             "int16")
        )  # fmt: skip
        match kind:
            case "enum":
                return {"type": "enum", "name": self._name(), "symbols": ["RED", "Green", "blue"]}
            case "fixed":
                return {"type": "fixed", "name": self._name(), "size": pick.randint(1, 9)}
            case "decimal":
                return self._decimal()
            case "date" | "time-millis":
                return {"type": "int", "logicalType": kind}
            case "timestamp-millis" | "timestamp-micros" | "local-timestamp-millis":
                return {"type": "long", "logicalType": kind}
            case "uuid":
                return {"type": "string", "logicalType": "uuid"}
            case "int16":
                return {"type": "int", "connect.type": "int16"} if pick.random() < 0.1 else "int"
            case _:
                return kind

    def _decimal(self) -> Json:
        precision = self._pick.choice((1, 4, 9, 10, 18, 19, 30, 38))
        scale = self._pick.randint(0, min(precision, 6))
        head: dict[str, Json] = {"type": "bytes"}
        if self._pick.random() < 0.4:
            head = {"type": "fixed", "name": self._name(), "size": precision // 2 + 1}
        return {**head, "logicalType": "decimal", "precision": precision, "scale": scale}

    def _changed(self, type_: Json) -> Json:
        pick = self._pick
        chance = pick.random()
        if isinstance(type_, list):
            return next(part for part in type_ if part != "null") if len(type_) == 2 and chance < 0.2 else type_
        if chance < 0.2:
            return ["null", type_]
        if chance < 0.3 and isinstance(type_, str) and type_ in ("long", "double"):
            return "int" if type_ == "long" else "float"
        if chance < 0.4 and isinstance(type_, dict) and type_["type"] == "record":
            return self.successor(type_)
        return type_


class _Bodies:
    """Bodies as any Avro library may write them: blocks of any number, with their size or without."""

    def __init__(self, pick: Random, root: Json, referred: Json) -> None:
        self._pick = pick
        self._named: dict[str, Json] = {}
        for schema in (referred, root):
            self._collect(schema)

    def _collect(self, schema: Json) -> None:
        if isinstance(schema, list):
            for branch in schema:
                self._collect(branch)
        elif isinstance(schema, dict):
            if isinstance(schema.get("name"), str) and "type" in schema and "fields" in schema:
                self._named[str(schema["name"])] = schema
            for part in cast("list[dict[str, Json]]", schema.get("fields", [])):
                self._collect(part["type"])
            for inner in ("items", "values"):
                self._collect(schema.get(inner))

    def body(self, schema: Json) -> bytes:
        pick = self._pick
        if isinstance(schema, list):
            branch = pick.randrange(len(schema))
            return varint(branch) + self.body(schema[branch])
        if isinstance(schema, str):
            return self.body(self._named[schema]) if schema in self._named else self._leaf(schema, {})
        assert isinstance(schema, dict)
        match schema["type"]:
            case "record":
                parts = cast("list[dict[str, Json]]", schema["fields"])
                return b"".join(self.body(part["type"]) for part in parts)
            case "array":
                return self._blocks(lambda: self.body(schema["items"]))
            case "map":
                return self._blocks(lambda: self._leaf("string", {}) + self.body(schema["values"]))
            case "enum":
                return varint(pick.randrange(len(cast("list[Json]", schema["symbols"]))))
            case kind:
                return self._leaf(str(kind), schema)

    def _blocks(self, item: Callable[[], bytes]) -> bytes:
        pick, written = self._pick, b""
        for _ in range(pick.choice((0, 1, 1, 1, 2))):
            count = pick.randint(1, 3)
            items = b"".join(item() for _ in range(count))
            written += varint(count) if pick.random() < 0.7 else varint(-count) + varint(len(items))
            written += items
        return written + b"\0"

    def _leaf(self, kind: str, schema: dict[str, Json]) -> bytes:
        pick, logical = self._pick, schema.get("logicalType")
        match kind:
            case "null":
                return b""
            case "boolean":
                return bytes((pick.randrange(2),))
            case "int" | "long":
                return varint(self._number(kind, str(logical)))
            case "float" | "double":
                code = "<f" if kind == "float" else "<d"
                return struct.pack(code, pick.choice((0.0, -0.0, 0.1, 1.5e38, float("-inf"), float("nan"), -1e-45)))
            case "string":
                text = pick.choice(_TEXTS).encode()
                return varint(len(text)) + text
            case "fixed":
                size = cast("int", schema["size"])
                return self._unscaled(schema, size) if logical == "decimal" else pick.randbytes(size)
            case _:
                written = self._unscaled(schema, None) if logical == "decimal" else pick.randbytes(pick.randrange(6))
                return varint(len(written)) + written

    def _number(self, kind: str, logical: str) -> int:
        pick, most = self._pick, 31 if kind == "int" else 63
        low, high = _BOUNDS.get(logical, (-(2**most), 2**most - 1))
        if logical == "None" and kind == "long" and pick.random() < 0.8:
            low, high = _BOUNDS["timestamp-millis"]  # a TIMESTAMP may take it
        near = pick.randint(max(low, -1000), 1000) if logical == "time-millis" else pick.randint(-1000, 1000)
        if logical == "time-millis" and pick.random() < 0.1:
            return pick.choice((-1, high + 1, high + 2, 2 * high))  # 24:00 is the last
        return pick.choice((low, high, 0, 1, pick.randint(low, high), near))

    def _unscaled(self, schema: dict[str, Json], size: int | None) -> bytes:
        pick, bound = self._pick, 10 ** cast("int", schema["precision"])
        beyond = pick.random() < 0.15
        number = pick.choice((bound, bound + 5, 2**64 + 5) if beyond else (0, 1, bound - 1, pick.randrange(bound)))
        number *= pick.choice((1, -1))
        if size is None:
            return number.to_bytes(number.bit_length() // 8 + 1 + pick.randrange(2), "big", signed=True)
        most = 1 << (8 * size - 1)
        return max(-most, min(most - 1, number)).to_bytes(size, "big", signed=True)


def _inlined(schema: Json, referred: dict[str, Json] | None) -> Json:
    """The schema with a type's definition where its name comes first."""
    left = [] if referred is None else [referred]

    def walked(part: Json) -> Json:
        match part:
            case str() if left and part == left[0]["name"]:
                return left.pop()
            case list():
                return [walked(branch) for branch in part]
            case dict():
                inner = ("type", "items", "values")
                made = {key: walked(value) if key in inner else value for key, value in part.items()}
                if isinstance(part.get("fields"), list):
                    made["fields"] = [walked(field) for field in cast("list[Json]", part["fields"])]
                return made
            case _:
                return part

    return walked(schema)


def _some(pick: Random, names: tuple[str, ...], most: int) -> list[str]:
    return pick.sample(names, pick.randint(most // 2, most))


def _distinct(fields: list[dict[str, Json]]) -> list[dict[str, Json]]:
    return list({str(part["name"]): part for part in fields}.values())
