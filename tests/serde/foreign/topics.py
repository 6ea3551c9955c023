"""Topics, drawn: versions of one to three record types, rows of each, and how they are to be read.

A version adds, removes, renames (with an alias) or promotes fields of the one before, inside of records too. What a scalar
is in a column stands in `tests.serde.logical_types`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, TypeAlias

from tests.serde.foreign.schemas import BYTES, INT, LONG, Field, Record
from tests.serde.logical_types import COLUMNS, REFUSED, WRITERS, expected

ColumnAst: TypeAlias = str | tuple[str, Any]
"""A scalar's word; ("ARRAY", item), ("MAP", value) or ("STRUCT", {name: column})."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A payload without its frame."""

    version: int
    """The place of its writer among the versions."""
    values: Mapping[str, Any]
    """As they were written, by field."""
    body: bytes
    """As it stands in the topic."""
    is_cut: bool = False
    """True if its last byte is missing."""
    is_tombstone: bool = False
    """True if there is no payload at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTopic:
    versions: tuple[Record, ...]
    """In the order of their registration."""
    rows: tuple[Row, ...]
    """Of all versions."""
    columns: dict[str, ColumnAst] | None = field(hash=False)
    """None for those of the reader, or of the newest version."""
    reader: Record | None = None
    """For `reader_schema=`."""
    takes_missing: bool
    """True for missing_columns="null"."""
    is_strict: bool = False
    rule: str = "unique"
    by_record: bool = False
    """True if each record type has a subject of its own, as under TopicRecordNameStrategy."""

    @property
    def records(self) -> tuple[str, ...]:
        """The record types, in the order in which subjects are given."""
        return tuple(dict.fromkeys(version.name for version in self.versions))

    @property
    def newest(self) -> Record:
        """The newest version of the first subject."""
        return [each for each in self.versions if not self.by_record or each.name == self.records[0]][-1]

    @property
    def resolves_to(self) -> Record | None:
        """The schema whose aliases and defaults count."""
        return self.newest if self.columns is None and self.reader is None else self.reader


def text_of(column: ColumnAst) -> str:
    match column:
        case ("ARRAY", item):
            return f"ARRAY<{text_of(item)}>"
        case ("MAP", value):
            return f"MAP<STRING, {text_of(value)}>"
        case ("STRUCT", columns):
            return "STRUCT<" + ", ".join(f"`{name}` {text_of(each)}" for name, each in columns.items()) + ">"
    assert isinstance(column, str)
    return column


def without_times(column: ColumnAst, *leave: str) -> ColumnAst:
    """The column with texts in place of these types."""
    if isinstance(column, str):
        return "STRING" if column in leave else column
    word, inner = column
    if word == "STRUCT":
        return word, {name: without_times(each, *leave) for name, each in inner.items()}
    return word, without_times(inner, *leave)


def draw_topic(random: Random) -> ForeignTopic:
    """A topic, its rows and the columns to read it with."""
    versions: list[Record] = []
    for name in random.sample(("User", "Order", "Note"), random.choice((1, 1, 2, 3))):
        record = Record(name=name, fields=tuple(_field(random, word) for word in _words(random, 5)))
        versions.append(record)
        for step in range(random.randrange(3)):
            record = Record(name=name, fields=_evolved(random, record.fields, step))
            versions.append(record)
    random.shuffle(versions)
    versions = list({version.text(): version for version in versions}.values())
    rows = [_row(random, place, version) for place, version in enumerate(versions) for _ in range(4)]
    rows.append(Row(version=0, values={}, body=b"", is_tombstone=True))
    how = random.choices(("newest", "reader", "columns", "reader and columns", "by case"), (30, 10, 40, 10, 15))[0]
    columns = None if how in ("newest", "reader") else _columns(random, versions)
    rule = random.choice(("exact", "ksqldb", "ksqldb-2020")) if how == "by case" else "unique"
    if rule.startswith("ksqldb") and columns is not None:
        # What ksqlDB makes of units that it does not know is the table's own matter (test_logical_types).
        columns = {
            name: without_times(each, "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ") for name, each in columns.items()
        }
    is_strict = random.random() < 0.15
    return ForeignTopic(
        versions=tuple(versions),
        rows=tuple(rows),
        columns=columns,
        reader=random.choice(versions) if how.startswith("reader") else None,
        takes_missing=not is_strict and random.random() < 0.6,
        is_strict=is_strict,
        rule=rule,
        by_record=random.random() < 0.3,
    )


def _words(random: Random, most: int) -> list[str]:
    return random.sample(("id", "ID", "name", "Name", "born", "At", "price", "tags", "home"), random.randint(1, most))


def _field(random: Random, name: str, *, is_nested: bool = False) -> Field:
    kinds = ("scalar", "scalar", "scalar", "scalar", "string", "enum", "boolean", "float", "double")
    kind = random.choice(kinds if is_nested else (*kinds, "array", "map", "record", "record", "union"))
    made = Field(
        name=name,
        kind=kind,
        type_name=f"T{random.randrange(10**9)}",
        scalar=random.choice(WRITERS) if kind in ("scalar", "array", "map") else None,
        fields=_parts(random, kind),
        nulls="" if kind == "union" else random.choice(("", "first", "last")),
    )
    return replace(made, default=_default(random, made)) if random.random() < 0.4 else made


def _parts(random: Random, kind: str) -> tuple[Field, ...]:
    if kind == "record":
        return tuple(_field(random, word, is_nested=True) for word in _words(random, 3))
    if kind != "union":
        return ()
    if random.random() < 0.5:
        return (Field(name="string", kind="string"), Field(name="long", kind="scalar", scalar=LONG))
    names = [f"R{random.randrange(10**9)}" for _ in range(2)]
    return tuple(Field(name=name, kind="record", type_name=name, fields=_parts(random, "record")) for name in names)


_DEFAULTS: Final[dict[str, Any]] = {"string": "new", "boolean": True, "double": 1.5, "float": 0.5, "enum": "green"}


def _default(random: Random, of: Field) -> tuple[Any, ...]:
    """Of a union it is the first branch's."""
    if of.nulls == "first" or of.kind == "union":
        return (None,)
    if of.kind == "scalar":
        assert of.scalar is not None
        return (random.choice(of.scalar.values[:4]),)
    return (_DEFAULTS[of.kind],) if of.kind in _DEFAULTS else ()


def _evolved(random: Random, fields: tuple[Field, ...], step: int) -> tuple[Field, ...]:
    made = list(fields)
    place = random.randrange(len(made))
    old = made[place]
    if old.kind == "record" and random.random() < 0.7:
        made[place] = replace(old, fields=_evolved(random, old.fields, step))
        return tuple(made)
    match random.choice(("add", "add default", "remove", "rename", "rename", "promote")):
        case "add":
            made.append(Field(name=f"more{step}", kind="string", nulls="first", default=(None,)))
        case "add default":
            made.append(Field(name=f"count{step}", kind="scalar", scalar=INT, default=(7,)))
        case "remove" if len(made) > 1:
            del made[place]
        case "rename":
            made[place] = replace(old, name=f"renamed{step}_{old.name}", aliases=(*old.aliases, old.name))
        case _:
            made[place] = _promoted(old)
    return tuple(made)


def _promoted(old: Field) -> Field:
    if old.kind == "float":
        return replace(old, kind="double")
    if old.kind == "string":
        return replace(old, kind="scalar", scalar=BYTES, default=())
    if old.kind != "scalar":
        return old
    if old.scalar is INT:
        return replace(old, scalar=LONG)
    return replace(old, kind="float", scalar=None, default=()) if old.scalar is LONG else old


def _row(random: Random, place: int, version: Record) -> Row:
    values = {each.name: each.draw(random) for each in version.fields}
    whole = version.encode(values)
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
            return (of.kind.upper(), random.choice(fitting(of)))
        case "record":
            return ("STRUCT", {each.name: _column(random, each) for each in of.fields})
        case "union":
            if of.fields[0].kind == "string":
                return random.choice(("STRING", ("STRUCT", {"string": "STRING", "LONG": "BIGINT"})))
            return ("STRUCT", {each.name: _column(random, each) for each in of.fields})
    return random.choice(fitting(of))


def fitting(of: Field) -> list[str]:
    """The scalar columns that hold some of its values, or of its items'."""
    if of.scalar is None:
        return _FITTING[of.kind]
    scalar = of.scalar
    return [column for column in COLUMNS if any(expected(scalar, column, v) is not REFUSED for v in scalar.values)]


_FITTING: Final = {
    "string": ["STRING"],
    "enum": ["STRING"],
    "boolean": ["BOOLEAN", "STRING"],
    "float": ["DOUBLE", "STRING"],
    "double": ["DOUBLE", "STRING"],
}
