"""The records that speed is measured with: flat5, rich20 and ksql.

| shape | what it is |
|---|---|
| flat5 | five flat fields |
| rich20 | twenty: nullable ones, a record, an array, a map, a decimal, timestamps |
| ksql | what ksqlDB registers for twelve columns: all nullable, a MAP as an array of entries |
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from string import ascii_lowercase
from typing import Final, TypeAlias

from srfix.serde import Columns, columns_from_avro, parse_columns
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.interface import Row, Value
from srfix.serde.specs import WriteSpec

_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | int | float | bool | None"

_NOW: Final = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
_TIMESTAMP: Final = {"type": "long", "logicalType": "timestamp-millis"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Records of one schema."""

    name: str
    """flat5, rich20 or ksql."""
    schema: str
    """The Avro schema that they are written under."""
    row: Row
    """One record, as a serializer of columns takes it: maps are dicts. Its keys are the schema's field names."""
    avro_row: Mapping[str, object]
    """The same, as fastavro takes it: maps are what the schema has for them."""
    target: float
    """How many times the CPU time of bare fastavro is allowed."""
    coerced: Mapping[str, str]
    """Columns of other types than the writer's, by name: INT → BIGINT, numbers → STRING …"""
    projected: tuple[str, ...]
    """A quarter of the columns."""

    @property
    def columns(self) -> Columns:
        """The columns, with the schema's own names."""
        return columns_from_avro(self.schema, names="keep")

    @property
    def upper_columns(self) -> Columns:
        """The columns, with upper-case names."""
        return columns_from_avro(self.schema, names="upper")

    @property
    def coerced_columns(self) -> Columns:
        """Upper-case columns, some of other types than the writer's."""
        other = parse_columns(", ".join(f"{name} {type_}" for name, type_ in self.coerced.items()))
        types = {column.name: column for column in other}
        return tuple(types.get(column.name, column) for column in self.upper_columns)

    @property
    def projected_columns(self) -> Columns:
        """Upper-case columns, a quarter of them."""
        return tuple(column for column in self.upper_columns if column.name in self.projected)


def varied(row: Mapping[str, object], count: int) -> list[dict[str, object]]:
    """The row, and others of its size: whatever remembers the values of one record gains nothing by them. Nulls stay nulls."""
    random = Random(0)
    return [dict(row), *({name: _other(value, random) for name, value in row.items()} for _ in range(count - 1))]


def _other(value: object, random: Random) -> object:
    match value:
        case bool():
            return random.random() < 0.5
        case int():
            return random.randint(value // 2, value)
        case float():
            return random.uniform(0, 2 * value)
        case str():
            return "".join(random.choices(ascii_lowercase, k=len(value)))
        case bytes():
            return random.randbytes(len(value))
        case Decimal():
            return Decimal(random.randrange(100_000)).scaleb(-2)
        case datetime.datetime():
            return value + datetime.timedelta(milliseconds=random.randrange(10**9))
        case list():
            return [_other(part, random) for part in value]
        case dict():  # the keys of a MAP stay what they are, those of an array of entries too
            return {key: part if key == "key" else _other(part, random) for key, part in value.items()}
        case _:
            return value


def lower_names(schema: str) -> str:
    """An Avro schema with lower-case field names. Bodies are the same under both."""
    return json.dumps(_lowered(json.loads(schema)))


def _lowered(part: _Json) -> _Json:
    if isinstance(part, list):
        return [_lowered(each) for each in part]
    if not isinstance(part, dict):
        return part
    lowered = {key: _lowered(value) if isinstance(value, dict | list) else value for key, value in part.items()}
    fields = lowered.get("fields")
    if isinstance(fields, list):
        lowered["fields"] = [
            {**field, "name": str(field["name"]).lower()} for field in fields if isinstance(field, dict)
        ]
    return lowered


def upper_keys(row: Row, columns: Columns) -> Row:
    """A row with the names of its upper-case columns, those of STRUCTs included."""
    names = {column.name.lower(): column for column in columns}

    def upper(value: Value) -> Value:
        # Of the shapes here, only STRUCTs have keys that are all upper case in their columns.
        return {key.upper(): part for key, part in value.items()} if isinstance(value, dict) else value

    return {
        names[key.lower()].name: upper(value) if type(names[key.lower()].type).__name__ == "Struct" else value
        for key, value in row.items()
    }


def _record_schema(record: str, /, **fields: object) -> str:
    described = [{"name": field, "type": type_} for field, type_ in fields.items()]
    return json.dumps({"type": "record", "name": record, "fields": described})


_FLAT5_ROW: Final[Row] = {
    "id": 123456789,
    "name": "a name of some length",
    "score": 1.5,
    "count": 42,
    "active": True,
}
_FLAT5: Final = Shape(
    name="flat5",
    schema=_record_schema("Flat", id="long", name="string", score="double", count="int", active="boolean"),
    row=_FLAT5_ROW,
    avro_row=_FLAT5_ROW,
    target=1.4,
    coerced={"ID": "STRING", "SCORE": "STRING", "COUNT": "BIGINT"},
    projected=("NAME",),
)

_RICH20_ROW: Final[Row] = {
    "id": 123456789,
    "uuid": "6f2c0a0e-0c5f-4b8b-9c57-1f6d0b1f9a11",
    "title": "a title",
    "body": "some words that make a body",
    "author": None,
    "score": 1.5,
    "ratio": 0.25,
    "views": 1000,
    "likes": None,
    "active": True,
    "hidden": False,
    "created": _NOW,
    "updated": _NOW,
    "price": Decimal("123.45"),
    "tags": ["red", "green", "blue"],
    "attributes": {"colour": "red", "size": "large"},
    "address": {"street": "Main Street 1", "city": "Springfield", "zip": 12345},
    "digest": b"\x00\x01\x02\x03\x04\x05\x06\x07",
    "note": None,
    "version": 7,
}
_RICH20: Final = Shape(
    name="rich20",
    schema=_record_schema(
        "Rich",
        id="long",
        uuid="string",
        title="string",
        body=["null", "string"],
        author=["null", "string"],
        score="double",
        ratio=["null", "double"],
        views="int",
        likes=["null", "int"],
        active="boolean",
        hidden=["null", "boolean"],
        created=_TIMESTAMP,
        updated=["null", _TIMESTAMP],
        price={"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        tags={"type": "array", "items": "string"},
        attributes={"type": "map", "values": "string"},
        address=json.loads(_record_schema("Address", street="string", city="string", zip="int")),
        digest="bytes",
        note=["null", "string"],
        version="long",
    ),
    row=_RICH20_ROW,
    avro_row=_RICH20_ROW,
    target=1.2,
    coerced={"ID": "STRING", "SCORE": "STRING", "VIEWS": "BIGINT", "LIKES": "BIGINT", "VERSION": "STRING"},
    projected=("UUID", "VIEWS", "PRICE", "ADDRESS", "VERSION"),
)

_KSQL_COLUMNS: Final = parse_columns(
    "ID BIGINT, NAME STRING, KIND STRING, AMOUNT DOUBLE, QUANTITY INT, ACTIVE BOOLEAN, TAGS ARRAY<STRING>, "
    "COUNTS MAP<STRING, BIGINT>, ADDRESS STRUCT<STREET STRING, CITY STRING, ZIP INT>, PRICE DECIMAL(10, 2), "
    "CREATED TIMESTAMP, NOTE STRING"
)
_KSQL_ROW: Final[Row] = {
    "ID": 123456789,
    "NAME": "a name of some length",
    "KIND": "kind",
    "AMOUNT": 1.5,
    "QUANTITY": 42,
    "ACTIVE": True,
    "TAGS": ["red", "green", "blue"],
    "COUNTS": {"one": 1, "two": 2},
    "ADDRESS": {"STREET": "Main Street 1", "CITY": "Springfield", "ZIP": 12345},
    "PRICE": Decimal("123.45"),
    "CREATED": _NOW,
    "NOTE": None,
}
_KSQL: Final = Shape(
    name="ksql",
    schema=internal_schema(WriteSpec(columns=_KSQL_COLUMNS)),
    row=_KSQL_ROW,
    avro_row={**_KSQL_ROW, "COUNTS": [{"key": "one", "value": 1}, {"key": "two", "value": 2}]},
    target=1.2,
    coerced={"ID": "STRING", "AMOUNT": "STRING", "QUANTITY": "BIGINT"},
    projected=("NAME", "ADDRESS", "PRICE"),
)


SHAPES: Final = (_FLAT5, _RICH20, _KSQL)
"""Those that the gates are about."""
