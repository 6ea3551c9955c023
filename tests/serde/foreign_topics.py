"""Topics that ksqlDB did not write, and what their rows have to be: worked out from what was generated, not from srfix.

A topic is one subject with versions of one to three record types. A version adds, removes, renames (with an alias) or
promotes fields of the one before. What a scalar is in a column stands in `tests.serde.logical_types`.

| the writer has | the row is |
|---|---|
| a field of the column's name, or one alone that differs by case | its value, or bad where the column cannot hold it |
| several that differ by case, none exact | bad (`unique` of casing) |
| none for this column | null; under NEWEST the alias's field, else the default (README, "The serde on Spark") |
| none for any column | bad, NOTHING_FED |

Where Avro's resolution has a value and the row is bad all the same, this is why:

| refusal | source |
|---|---|
| one field that could feed two columns, or two fields one column, by case | `casing`; the table of test_casing |
| int or long into DOUBLE, bytes into STRING, under NEWEST too | ksqlDB's coercions (facts/ksqldb.md; DESIGN, "Coercions") |
| a null, or an empty array or map, of a type that the column never holds | DESIGN, "Coercions": the type before the null |
| bytes that are not UTF-8 in a field that feeds no column | README, "The serde on Spark" |
"""

from __future__ import annotations

import decimal
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from tests.serde.logical_types import COLUMNS, REFUSED, WRITERS, Written, body, expected

__all__ = [
    "ColumnAst",
    "Either",
    "Field",
    "ForeignTopic",
    "Record",
    "Row",
    "draw_topic",
    "find",
    "has_no_feeder",
    "row_of",
    "text_of",
]

ColumnAst: TypeAlias = str | tuple[str, Any]
"""A scalar's word; ("ARRAY", item), ("MAP", value) or ("STRUCT", {name: column})."""


@dataclass(frozen=True, slots=True)
class Either:
    """This value, or a bad row: a null, or a part that nothing looks at, which no column of the type could hold."""

    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a writer's record."""

    name: str
    """As the schema has it."""
    kind: str
    """`scalar`, `enum`, `array`, `map`, `record`, `union`, `string`, `boolean`, `float` or `double`."""
    scalar: Written | None = None
    """Of a scalar, and of the items of an array or map."""
    fields: tuple[Field, ...] = ()
    """Of a record."""
    nulls: str = ""
    """`first` or `last` in a union with null."""
    aliases: tuple[str, ...] = ()
    """Earlier names."""
    default: tuple[object, ...] = ()
    """None, or one: the default, in JSON."""

    def schema(self, path: str) -> dict[str, Any]:
        """Of the field; `path` keeps the names of its types apart."""
        type_ = self._type(f"{path}_{self.name}")
        if self.nulls:
            type_ = ["null", type_] if self.nulls == "first" else [type_, "null"]
        made: dict[str, Any] = {"name": self.name, "type": type_}
        if self.aliases:
            made["aliases"] = list(self.aliases)
        if self.default:
            made["default"] = self.default[0]
        return made

    def _type(self, path: str) -> Any:
        match self.kind:
            case "enum":
                return {"type": "enum", "name": f"E{path}", "symbols": ["RED", "green"], "default": "RED"}
            case "array":
                return {"type": "array", "items": self._scalar(path)}
            case "map":
                return {"type": "map", "values": self._scalar(path)}
            case "record":
                return {"type": "record", "name": f"N{path}", "fields": [each.schema(path) for each in self.fields]}
            case "union":
                return ["null", "string", "long"]
            case "scalar":
                return self._scalar(path)
        return self.kind

    def _scalar(self, path: str) -> Any:
        assert self.scalar is not None
        type_ = self.scalar.type
        return {**type_, "name": f"F{path}"} if isinstance(type_, dict) and "name" in type_ else type_

    def draw(self, random: Random) -> object:
        """A value as it is written."""
        if self.nulls and random.random() < 0.25:
            return None
        match self.kind:
            case "scalar":
                assert self.scalar is not None
                return random.choice(self.scalar.values[:6])
            case "enum":
                return random.choice(("RED", "green"))
            case "array" | "map":
                assert self.scalar is not None
                items = [random.choice(self.scalar.values[:4]) for _ in range(random.randrange(3))]
                return items if self.kind == "array" else {f"k{place}": item for place, item in enumerate(items)}
            case "record":
                return {each.name: each.draw(random) for each in self.fields}
            case "union":
                return random.choice((None, "text", 5))
            case "string":
                # In one of thirty, bytes that are not UTF-8.
                return random.choice(("", "Ada", "Zoë", "\U0001f600")) if random.randrange(30) else b"\xff\xfe"
            case "boolean":
                return random.random() < 0.5
        return random.choice((0.5, -2.25, 1024.0))

    def encode(self, value: object) -> bytes:
        """As Avro's specification has it."""
        if self.nulls:
            null = b"\x00" if self.nulls == "first" else b"\x02"
            if value is None:
                return null
            return (b"\x02" if self.nulls == "first" else b"\x00") + self._encode(value)
        return self._encode(value)

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
                return (body(_LONG, len(written)) + b"".join(written) if written else b"") + b"\x00"
            case "record":
                return b"".join(each.encode(value[each.name]) for each in self.fields)
            case "union":
                return b"\x00" if value is None else b"\x02" + _text(value) if isinstance(value, str) else b"\x04\x0a"
            case "string":
                return _text(value)
            case "boolean":
                return b"\x01" if value else b"\x00"
        return struct.pack("<f" if self.kind == "float" else "<d", value)


def _text(value: str | bytes) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return body(_LONG, len(content)) + content


_LONG: Final = next(each for each in WRITERS if each.word == "long")
_INT: Final = next(each for each in WRITERS if each.word == "int")


_BRANCHES: Final = (
    Field(name="string", kind="string", nulls="first"),
    Field(name="long", kind="scalar", scalar=_LONG, nulls="first"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A version."""

    name: str
    """Of the record type."""
    fields: tuple[Field, ...]
    """In the order of the body."""

    def text(self) -> str:
        """The schema."""
        fields = [each.schema(self.name) for each in self.fields]
        return json.dumps({"type": "record", "name": self.name, "fields": fields})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A payload without its frame."""

    version: int
    """The place of its writer among the versions."""
    values: Mapping[str, object]
    """As they were written, by field."""
    body: bytes
    """As it stands in the topic."""
    is_cut: bool
    """True if its last byte is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTopic:
    """One topic."""

    versions: tuple[Record, ...]
    """In the order of their registration."""
    rows: tuple[Row, ...]
    """Of all versions."""
    columns: dict[str, ColumnAst] | None = field(hash=False)
    """None for NEWEST."""
    takes_missing: bool
    """True for missing_columns="null"."""


def text_of(column: ColumnAst) -> str:
    """In SQL."""
    match column:
        case ("ARRAY", item):
            return f"ARRAY<{text_of(item)}>"
        case ("MAP", value):
            return f"MAP<STRING, {text_of(value)}>"
        case ("STRUCT", columns):
            return "STRUCT<" + ", ".join(f"`{name}` {text_of(each)}" for name, each in columns.items()) + ">"
    assert isinstance(column, str)
    return column


def draw_topic(random: Random) -> ForeignTopic:
    """A topic, its rows and the columns to read it with."""
    names = random.sample(("User", "Order", "Note"), random.choice((1, 1, 2, 3)))
    versions: list[Record] = []
    for name in names:
        record = Record(name=name, fields=tuple(_field(random, word) for word in _words(random, 5)))
        versions.append(record)
        for step in range(random.randrange(3)):
            record = Record(name=name, fields=_evolved(random, record.fields, step))
            versions.append(record)
    random.shuffle(versions)
    distinct = {version.text(): version for version in versions}
    versions = list(distinct.values())
    rows = tuple(_row(random, place, version) for place, version in enumerate(versions) for _ in range(4))
    columns = None if random.random() < 0.35 else _columns(random, versions)
    return ForeignTopic(
        versions=tuple(versions), rows=rows, columns=columns, takes_missing=columns is None or random.random() < 0.5
    )


def _words(random: Random, most: int) -> list[str]:
    return random.sample(("id", "ID", "name", "Name", "born", "At", "price", "tags", "home"), random.randint(1, most))


def _field(random: Random, name: str, *, is_nested: bool = False) -> Field:
    kinds = ("scalar", "scalar", "scalar", "scalar", "string", "enum", "boolean", "float", "double")
    kind = random.choice(kinds if is_nested else (*kinds, "array", "map", "record", "union"))
    nulls = "" if kind == "union" else random.choice(("", "first", "last"))
    return Field(
        name=name,
        kind=kind,
        scalar=random.choice(WRITERS) if kind in ("scalar", "array", "map") else None,
        fields=tuple(_field(random, word, is_nested=True) for word in _words(random, 3)) if kind == "record" else (),
        nulls=nulls,
        default=(None,) if nulls == "first" and random.random() < 0.5 else (),
    )


def _evolved(random: Random, fields: tuple[Field, ...], step: int) -> tuple[Field, ...]:
    made = list(fields)
    place = random.randrange(len(made))
    old = made[place]
    match random.choice(("add", "add default", "remove", "rename", "promote")):
        case "add":
            made.append(Field(name=f"more{step}", kind="string", nulls="first", default=(None,)))
        case "add default":
            made.append(Field(name=f"count{step}", kind="scalar", scalar=_INT, default=(7,)))
        case "remove" if len(made) > 1:
            del made[place]
        case "rename":
            made[place] = Field(
                name=f"renamed{step}_{old.name}",
                kind=old.kind,
                scalar=old.scalar,
                fields=old.fields,
                nulls=old.nulls,
                aliases=(*old.aliases, old.name),
                default=old.default,
            )
        case _:
            kind, scalar = {"float": ("double", None), "string": ("scalar", _BYTES)}.get(
                old.kind, (old.kind, old.scalar)
            )
            if scalar is _INT:
                scalar = _LONG
            elif scalar is _LONG:
                kind, scalar = "float", None
            made[place] = Field(
                name=old.name, kind=kind, scalar=scalar, fields=old.fields, nulls=old.nulls, aliases=old.aliases
            )
    return tuple(made)


_BYTES: Final = Written(word="bytes", type="bytes", values=(b"", b"\x00\xff", b"text"), counts="bytes")


def _row(random: Random, place: int, version: Record) -> Row:
    values = {each.name: each.draw(random) for each in version.fields}
    whole = b"".join(each.encode(values[each.name]) for each in version.fields)
    is_cut = bool(whole) and random.randrange(15) == 0
    return Row(version=place, values=values, body=whole[:-1] if is_cut else whole, is_cut=is_cut)


def _columns(random: Random, versions: list[Record]) -> dict[str, ColumnAst]:
    fields = list(random.choice(versions).fields)
    made: dict[str, ColumnAst] = {}
    for each in random.sample(fields, random.randint(1, len(fields))):
        name = each.name if random.random() < 0.6 else each.name.upper()
        made[name] = _column(random, each)
    if random.random() < 0.3:
        made["MISSPELT"] = "STRING"
    return made


def _column(random: Random, of: Field) -> ColumnAst:
    if random.random() < 0.15:
        return random.choice(COLUMNS)
    match of.kind:
        case "array" | "map":
            return (of.kind.upper(), random.choice(_fitting(of)))
        case "record":
            return ("STRUCT", {each.name: _column(random, each) for each in of.fields})
        case "union":
            return random.choice(("STRING", ("STRUCT", {"string": "STRING", "LONG": "BIGINT"})))
    return random.choice(_fitting(of))


def _fitting(of: Field) -> list[str]:
    if of.scalar is None:
        return [column for column in COLUMNS if _scalar(column, of, _EXAMPLES[of.kind]) is not REFUSED]
    scalar = of.scalar
    found = [column for column in COLUMNS if any(expected(scalar, column, v) is not REFUSED for v in scalar.values)]
    return found or ["STRING"]


_EXAMPLES: Final[dict[str, object]] = {"enum": "RED", "string": "a", "boolean": True, "float": 0.5, "double": 0.5}


def find(fields: tuple[Field, ...], name: str, columns: dict[str, ColumnAst]) -> Field | None:
    """What feeds a column of these under the case rule `unique` (casing's table).

    :raises LookupError: if several differ by case alone, and none is exact; or if one could feed two columns.
    """
    exact = [each for each in fields if each.name == name]
    folded = [each for each in fields if each.name.lower() == name.lower()]
    if exact or not folded:
        return exact[0] if exact else None
    if len(folded) > 1:
        raise LookupError(name)
    if folded[0].name in columns:
        return None  # claimed by its exact name
    if sum(column.lower() == name.lower() for column in columns) > 1:
        raise LookupError(name)
    return folded[0]


def has_no_feeder(topic: ForeignTopic) -> bool:
    """True if a column, or one inside of it, has no field in any version."""
    assert topic.columns is not None
    # A version that is ambiguous gives no row, so it feeds nothing, and says nothing where it is alone.
    writers = [each.fields for each in topic.versions if not _is_ambiguous(each.fields, topic.columns)]
    return bool(writers) and any(True for _ in _unfed(writers, topic.columns))


def _is_ambiguous(fields: tuple[Field, ...], columns: dict[str, ColumnAst]) -> bool:
    try:
        for name in columns:
            find(fields, name, columns)
    except LookupError:
        return True
    return False


def _unfed(writers: list[tuple[Field, ...]], columns: dict[str, ColumnAst]) -> Iterator[str]:
    for name, column in columns.items():
        found = [each for fields in writers if (each := _found(fields, name, columns)) is not None]
        if not found:
            yield name
        elif isinstance(column, tuple) and column[0] == "STRUCT":
            inner = [each.fields if each.kind == "record" else _BRANCHES for each in found]
            inner = [fields for fields, each in zip(inner, found, strict=True) if each.kind in ("record", "union")]
            if inner:
                yield from _unfed(inner, column[1])


def _found(fields: tuple[Field, ...], name: str, columns: dict[str, ColumnAst]) -> Field | None:
    try:
        return find(fields, name, columns)
    except LookupError:
        # Which of them is not known: nobody may say that nothing feeds the column.
        return next(each for each in fields if each.name.lower() == name.lower())


def row_of(topic: ForeignTopic, row: Row, columns: dict[str, ColumnAst]) -> object:
    """The row, `REFUSED`, or `Either` of both."""
    if row.is_cut:
        return REFUSED
    writer = topic.versions[row.version]
    newest = topic.versions[-1] if topic.columns is None else None
    fields, values = writer.fields, dict(row.values)
    if newest is not None and newest.name == writer.name:
        fields, values = _resolved(fields, values, newest)
    if not any(each.name.lower() == name.lower() for each in fields for name in columns):
        return REFUSED  # NOTHING_FED
    made = _struct(fields, values, columns)
    unread = any(value == b"\xff\xfe" for value in _leaves(row.values))
    return Either(made) if unread and not isinstance(made, Either) and made is not REFUSED else made


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    else:
        yield value


def _resolved(
    fields: tuple[Field, ...], values: dict[str, object], newest: Record
) -> tuple[tuple[Field, ...], dict[str, object]]:
    """The writer's fields under the newest names, and the defaults of those that it lacks."""
    made, read = [], {}
    own = {each.name: each for each in fields}
    for wanted in newest.fields:
        name = next((name for name in (wanted.name, *wanted.aliases) if name in own), None)
        if name is not None:
            of = own[name]
            made.append(Field(name=wanted.name, kind=of.kind, scalar=of.scalar, fields=of.fields, nulls=of.nulls))
            read[wanted.name] = values[name]
        elif wanted.default:
            made.append(wanted)
            read[wanted.name] = wanted.default[0]
    # Those that the newest does not have stay: a column's name may differ from a field's by case.
    taken = {each.name for each in made}
    return tuple(made + [each for each in fields if each.name not in taken]), {**values, **read}


def _struct(fields: tuple[Field, ...], values: Mapping[str, object], columns: dict[str, ColumnAst]) -> object:
    made: dict[str, object] = {}
    loose = False
    for name, column in columns.items():
        try:
            of = find(fields, name, columns)
        except LookupError:
            return REFUSED
        value = None if of is None else _value(column, of, values[of.name])
        if value is REFUSED:
            return REFUSED
        loose |= isinstance(value, Either)
        made[name] = value.value if isinstance(value, Either) else value
    return Either(made) if loose else made


def _value(column: ColumnAst, of: Field, value: Any) -> object:
    if value is None:
        return None if _could_hold(column, of) else Either(None)
    if isinstance(column, str):
        return _scalar(column, of, value)
    word, inner = column
    if word == "STRUCT" and of.kind == "union":
        # A union of several types is Connect's record of its branches (AvroData, "io.confluent.connect.avro.Union").
        branches = {"string": value if isinstance(value, str) else None, "long": value if value == 5 else None}
        return _struct(_BRANCHES, branches, inner)
    if word.lower() != ("struct" if of.kind == "record" else of.kind):
        return REFUSED
    if word == "STRUCT":
        return _struct(of.fields, value, inner)
    assert of.scalar is not None
    item = Field(name="item", kind="scalar", scalar=of.scalar)
    parts = value.items() if word == "MAP" else enumerate(value)
    made = {key: _scalar(inner, item, part) for key, part in parts}
    if any(part is REFUSED for part in made.values()):
        return REFUSED
    whole: object = made if word == "MAP" else list(made.values())
    return whole if made or inner in _fitting(item) else Either(whole)


def _has_digits(value: decimal.Decimal, column: str) -> bool:
    """True if the DECIMAL holds it: a number is never rounded, nor longer than its column says."""
    precision, scale = map(int, column.removeprefix("DECIMAL(").removesuffix(")").split(","))
    unscaled = value.scaleb(scale)
    return unscaled == unscaled.to_integral_value() and abs(unscaled) < 10**precision


def _could_hold(column: ColumnAst, of: Field) -> bool:
    if isinstance(column, tuple):
        word, _ = column
        if word == "STRUCT":
            # What is inside is looked at where there is a record.
            return of.kind in ("record", "union")
        return word.lower() == of.kind
    if of.kind in ("array", "map", "record", "union"):
        return False
    return column in _fitting(of)


def _scalar(column: str, of: Field, value: Any) -> object:
    match of.kind:
        case "scalar":
            assert of.scalar is not None
            made = expected(of.scalar, column, value)
            return made if not isinstance(made, decimal.Decimal) or _has_digits(made, column) else REFUSED
        case "string":
            return value if column == "STRING" and isinstance(value, str) else REFUSED
        case "enum":
            return value if column == "STRING" else REFUSED
        case "boolean":
            return value if column == "BOOLEAN" else str(value).lower() if column == "STRING" else REFUSED
        case "float" | "double":
            return value if column == "DOUBLE" else str(value) if column == "STRING" else REFUSED
    return REFUSED
