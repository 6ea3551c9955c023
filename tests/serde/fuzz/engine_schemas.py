"""Avro schemas of every kind, out of a generator of random numbers: what the engines are compared on.

Texts, not columns: they have what no column list gives (unions of several types, recursion, fixed, duration, units of time that
Connect does not know), and what Connect's converters write (`connect.type`, `connect.name`, arrays of `MapEntry`).
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final, TypeAlias

from tests.serde.avro_schemas import (
    DATE,
    MILLIS,
    TIME_MILLIS,
    array,
    decimal,
    entries,
    enum,
    fixed,
    logical,
    map_of,
    record,
)

Json: TypeAlias = Any
WriterSchema: TypeAlias = dict[str, Json]

_PLAIN: Final = ("boolean", "int", "long", "float", "double", "bytes", "string")
_CONNECT: Final = "org.apache.kafka.connect.data"


def _connects(schema: Json, word: str) -> Json:
    return schema | {"connect.version": 1, "connect.name": f"{_CONNECT}.{word}"}


_LOGICAL: Final[tuple[Json, ...]] = (
    *(DATE, TIME_MILLIS, logical("long", "time-micros")),
    *(logical("long", f"{kind}timestamp-{unit}") for kind in ("", "local-") for unit in ("millis", "micros", "nanos")),
    *(logical("string", "uuid"), logical("long", "no-such-type")),
    {"type": "int", "connect.type": "int8"},
    {"type": "int", "connect.type": "int16"},
    *(_connects(DATE, "Date"), _connects(TIME_MILLIS, "Time"), _connects(MILLIS, "Timestamp")),
    _connects({"type": "long"}, "Timestamp"),
)
_NAMES: Final = ("A", "b", "Cc", "id", "ID_2", "VALUE", "key", "x1", "_y")
_NAMESPACE: Final = "n.s"


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._count = 0
        self._records: list[str] = []
        self._others: list[str] = []

    def type_(self, depth: int) -> Json:
        leaves = (self._plain,) * 4 + (self._logical,) * 3 + (self._decimal, self._fixed, self._enum, self._known)
        branches = (self._nullable,) * 5 + (self._array, self._map, self._record, self._entries, self._union)
        return self._random.choice(leaves + (branches if depth > 0 else ()))(depth)

    def record(self, depth: int) -> WriterSchema:
        random, name = self._random, self._name("R")
        self._records.append(name)
        names = random.sample(_NAMES, random.choice((0, 1, 2, 3, 4, 5, 6)) if depth < 3 else random.randint(1, 7))
        fields: list[Json] = [self._field(each, depth) for each in names]
        if random.randrange(6) == 0:
            fields.append({"name": "next", "type": ["null", name], "default": None})
        self._records.remove(name)
        self._others.append(name)
        return {"type": "record", "name": name, "fields": fields}

    def _field(self, name: str, depth: int) -> Json:
        type_ = self.type_(depth - 1)
        field: Json = {"name": name, "type": type_}
        if isinstance(type_, list) and type_[0] == "null" and self._random.randrange(2):
            field["default"] = None
        return field

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"{_NAMESPACE}.{letter}{self._count}"

    def _plain(self, depth: int) -> Json:
        return self._random.choice(_PLAIN)

    def _logical(self, depth: int) -> Json:
        return dict(self._random.choice(_LOGICAL))

    def _decimal(self, depth: int) -> Json:
        random = self._random
        precision = random.choice((1, 2, 9, 18, 19, 38, 39, 76, 77, random.randint(1, 90)))
        scale = random.choice((0, min(2, precision), precision, random.randint(0, precision)))
        if random.randrange(2):
            return decimal(precision, scale)
        size = next(size for size in range(1, 60) if 10**precision <= 2 ** (8 * size - 1))
        name = self._name("D")
        self._others.append(name)
        return decimal(precision, scale, fixed(size + random.choice((0, 0, 1, 5)), name))

    def _fixed(self, depth: int) -> Json:
        name = self._name("F")
        self._others.append(name)
        match self._random.randrange(6):
            case 0:
                return logical(fixed(12, name), "duration")
            case 1:
                return logical(fixed(16, name), "uuid")
        return fixed(self._random.choice((0, 1, 2, 7, 20)), name)

    def _enum(self, depth: int) -> Json:
        name = self._name("E")
        self._others.append(name)
        return enum(*self._random.sample("ABCDEFG", self._random.randint(1, 5)), name=name)

    def _known(self, depth: int) -> Json:
        """A type by its name; a record that is not whole yet, too: where it can end."""
        random = self._random
        if self._records and depth > 0 and random.randrange(2):
            name = random.choice(self._records)
            return random.choice((["null", name], array(name), map_of(name)))
        return random.choice(self._others) if self._others else "string"

    def _nullable(self, depth: int) -> Json:
        type_ = self.type_(depth - 1)
        if isinstance(type_, list):
            return type_
        return ["null", type_] if self._random.randrange(4) else [type_, "null"]

    def _array(self, depth: int) -> Json:
        return array(self.type_(depth - 1))

    def _map(self, depth: int) -> Json:
        return map_of(self.type_(depth - 1))

    def _record(self, depth: int) -> Json:
        return self.record(depth - 1)

    def _entries(self, depth: int) -> Json:
        """A map, as ksqlDB and Connect write it."""
        random = self._random
        key = random.choice((["null", "string"], "string", ["null", "string"], ["null", "int"], "long", "boolean"))
        return entries(key, self._nullable(depth - 1), self._name("M"))

    def _union(self, depth: int) -> Json:
        random, seen, branches = self._random, {"null"}, []
        for _ in range(random.randint(1, 4)):
            before = (list(self._others), self._count)
            type_ = self.type_(depth - 1)
            named = {"type": type_} if isinstance(type_, str) else type_
            kind = None if isinstance(named, list) else named.get("name", named["type"])
            if kind is None or kind in seen:
                self._others = before[0]
                continue
            seen.add(kind)
            branches.append(type_)
        if random.randrange(2) or not branches:
            branches.insert(random.randint(0, len(branches)), "null")
        return branches


def writer_schema(random: Random) -> Json:
    """A schema; most often a record."""
    maker = _Maker(random)
    match random.randrange(14):
        case 0:
            return maker.type_(3)
        case 1:
            return ["null", maker.record(3)]
    return maker.record(random.choice((1, 2, 3, 3)))


def _defaulted(name: str, *fields: tuple[str, Json, Json]) -> Json:
    made = [{"name": field, "type": type_, "default": default} for field, type_, default in fields]
    return record(name) | {"fields": made}


_DEEP: Final = _defaulted("n.s.DR2", ("s", "string", "deep"))
_DEFAULTS: Final[tuple[tuple[Json, Json], ...]] = (
    ("boolean", True),
    ("int", -7),
    ("long", 2**40),
    ("float", 1.5),
    ("double", -0.25),
    ("bytes", "\u0000\u00ff"),
    ("string", "dé"),
    (decimal(6, 2), "\u0004\u00d2"),
    (DATE, 365),
    (MILLIS, 1_700_000_000_123),
    (TIME_MILLIS, 1_000),
    (["null", "string"], None),
    (array("int"), [1, -2]),
    (map_of("string"), {"k": "v"}),
    (enum("X", "Y", name="n.s.DE"), "Y"),
    (fixed(2, "n.s.DF"), "\u0001\u0002"),
    (_defaulted("n.s.DR", ("p", "int", 5), ("q", ["null", "string"], None), ("r", _DEEP, {})), {}),
)
_PROMOTED: Final[dict[Json, tuple[str, ...]]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def _other_union(random: Random, types: list[Json]) -> list[Json]:
    """Without some of the types that define no name, and with others."""
    left = [one for one in types if one not in tuple(_PROMOTED) or random.random() < 0.4]
    # At least one that is not null.
    new = random.sample(("null", "int", "double", "string", "boolean"), random.randint(2, 3))
    return [*left, *(one for one in new if one not in left)]


def reader_of(random: Random, writer: WriterSchema) -> WriterSchema:
    """The writer's record as a reader has it: some fields gone, some renamed with an alias, some of a wider type, some of
    a union that lacks a type or has a new one, others with defaults that the writer lacks."""
    reader: WriterSchema = json.loads(json.dumps(writer))
    fields = []
    for field in reader["fields"]:
        match random.randrange(8):
            case 0:
                field = {**field, "name": field["name"] + "_new", "aliases": [field["name"]]}
            case 1 if isinstance(field["type"], str) and field["type"] in _PROMOTED:
                field = {**field, "type": random.choice(_PROMOTED[field["type"]])}
            case 2 if isinstance(field["type"], str):
                continue  # it defines no name that others use
            case 3 | 5 | 6 | 7 if isinstance(field["type"], list):
                field = {**field, "type": _other_union(random, field["type"])}
            case 4 if field["type"] == "null" or field["type"] in tuple(_PROMOTED):
                field = {**field, "type": _other_union(random, [field["type"]])}
        fields.append(field)
    for number, (type_, default) in enumerate(random.sample(_DEFAULTS, random.randint(0, 4))):
        place = random.randint(0, len(fields))
        fields.insert(place, {"name": f"added{number}", "type": type_, "default": default})
    reader["fields"] = fields
    return reader
