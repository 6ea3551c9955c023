"""What the rows of a foreign topic have to be: worked out from what was generated, not from srfix.

| the writer has | the row is |
|---|---|
| a field of the column's name, or one alone that differs by case | its value, or bad where the column cannot hold it |
| several that differ by case, none exact | bad (`unique` of casing; ksqlDB's rules take the last) |
| none for this column | null; under NEWEST and reader_schema the alias's field, else the default; bad if strict |
| null beside a type that Avro does not read as the reader's, which has null too | null, whatever the column is |
| none for any column | bad, NOTHING_FED; nulls by a rule of ksqlDB's, unless every column is asked for |

Where Avro's resolution has a value and the row is bad all the same, this is why:

| refusal | source |
|---|---|
| one field that could feed two columns, or two fields one column, by case | `casing`; the table of test_casing |
| int or long into DOUBLE, bytes into STRING, where no reader's schema promotes | ksqlDB's coercions (DESIGN, "Coercions") |
| a null of a type that the column never holds; of items only where there are some | DESIGN, "Coercions" |
| a default of the reader's that the column cannot hold | the word BAD_SCHEMA is srfix's own: no document has it |
| bytes that are not UTF-8, in a field that feeds no column too | the site, "Engines, and what executors need" |
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.serde.foreign.schemas import NOT_UTF8, Field, Record
from tests.serde.foreign.topics import ColumnAst, ForeignTopic, Row, fitting
from tests.serde.logical_types import REFUSED, Written, expected


@dataclass(frozen=True, slots=True)
class Bad:
    causes: frozenset[str]
    """All that is wrong with it, in the words of `Reason`; which of them is met first is the engine's matter."""


class Ambiguous(LookupError):
    """Nobody can say which field feeds which column."""


def feeders(fields: tuple[Field, ...], columns: Mapping[str, ColumnAst], rule: str) -> dict[str, list[Field]]:
    """What feeds each column (casing's table): the last one gives the value, the others are looked at before it.

    :raises Ambiguous: under `unique`, if several differ by case alone and none is exact, or if one could feed two columns.
    """
    match rule:
        case "exact":
            return {each.name: [each] for each in fields if each.name in columns}
        case "ksqldb":
            made: dict[str, list[Field]] = {}
            for each in fields:
                name = each.name if each.name in columns else each.name.upper()
                if name in columns:
                    made.setdefault(name, []).append(each)
            return made
        case "ksqldb-2020":
            by_upper = {each.name.upper(): each for each in fields}
            return {name: [by_upper[name.upper()]] for name in columns if name.upper() in by_upper}
    found = {name: _unique(fields, name, columns) for name in columns}
    return {name: [of] for name, of in found.items() if of is not None}


def _unique(fields: tuple[Field, ...], name: str, columns: Mapping[str, ColumnAst]) -> Field | None:
    exact = [each for each in fields if each.name == name]
    folded = [each for each in fields if each.name.lower() == name.lower()]
    if exact or not folded:
        return exact[0] if exact else None
    # A default is for what the record lacks.
    for is_default in (False, True):
        fits = [each for each in folded if each.is_default == is_default]
        if len(fits) > 1:
            raise Ambiguous(name)
        if fits and fits[0].name not in columns:  # else it is claimed by its exact name
            if sum(column.lower() == name.lower() for column in columns) > 1:
                raise Ambiguous(name)
            return fits[0]
    return None


def row_of(topic: ForeignTopic, row: Row, columns: dict[str, ColumnAst], *, looks_everywhere: bool = True) -> object:
    """The row, or `Bad`; None for a tombstone.

    :param looks_everywhere: False for whoever does not look into fields that feed no column.
    """
    if row.is_tombstone:
        return None
    writer = topic.versions[row.version]
    causes = {"TRUNCATED"} if row.is_cut else set[str]()
    fields, values = resolved(writer, row.values, topic.resolves_to)
    made: object = None
    try:
        fed = feeders(fields, columns, topic.rule)
    except Ambiguous:
        return Bad(frozenset(causes | {"AMBIGUOUS_CASE"}))
    if not fed and (topic.is_strict or topic.rule not in ("ksqldb", "ksqldb-2020")):
        causes.add("NOTHING_FED")
    if topic.is_strict and lacks(fields, columns, topic.rule):
        causes.add("COLUMN_NOT_FED")
    reader = topic.resolves_to if topic.resolves_to is not None and topic.resolves_to.name == writer.name else None
    if looks_everywhere and NOT_UTF8 in _leaves(writer.fields, row.values, reader):
        causes.add("DECODE_FAILED")
    made = _struct(fields, values, columns, topic.rule)
    if isinstance(made, Bad):
        causes |= made.causes
    return Bad(frozenset(causes)) if causes else made


def lacks(fields: tuple[Field, ...], columns: Mapping[str, ColumnAst], rule: str) -> bool:
    """True if a column, or a field inside one, has no field of the writer's."""
    try:
        fed = feeders(fields, columns, rule)
    except Ambiguous:
        return False
    if len(fed) < len(columns):
        return True
    return any(
        isinstance(column, tuple) and column[0] == "STRUCT" and of.fields and lacks(of.fields, column[1], rule)
        for name, column in columns.items()
        for of in fed[name][-1:]
    )


def _leaves(fields: tuple[Field, ...], values: Mapping[str, Any], reader: Record | None) -> Iterator[object]:
    """All values but the texts that the reader takes as bytes: Java's decoder does not look at those."""
    wanted = {} if reader is None else {name: each for each in reader.fields for name in (*each.aliases, each.name)}
    for each in fields:
        value, want = values.get(each.name), wanted.get(each.name)
        if isinstance(value, Mapping):
            yield from _leaves(each.fields, value, replace(reader, fields=want.fields) if reader and want else None)
        elif want is None or _promoted(each, want, value)[0].kind == each.kind:
            yield value


def resolved(
    writer: Record, values: Mapping[str, Any], reader: Record | None
) -> tuple[tuple[Field, ...], Mapping[str, Any]]:
    """The writer's fields under the reader's names, and the defaults of those that it lacks. A record of another name is not
    resolved."""
    if reader is None or reader.name != writer.name:
        return writer.fields, values
    return _resolved(writer.fields, values, reader.fields)


def _resolved(
    fields: tuple[Field, ...], values: Mapping[str, Any], wanted: tuple[Field, ...]
) -> tuple[tuple[Field, ...], Mapping[str, Any]]:
    own = {each.name: each for each in fields}
    made: list[Field] = []
    defaults: list[Field] = []
    read: dict[str, Any] = {}
    claimed: set[str] = set()
    for want in wanted:
        name = next((name for name in (want.name, *want.aliases) if name in own), None)
        if name is not None:
            of, value = own[name], values.get(name)
            if want.kind == of.kind == "record" and want.type_name == of.type_name:
                inner, parts = _resolved(of.fields, value or {}, want.fields)
                of, value = replace(of, fields=inner), None if value is None else parts
            of, value = _promoted(of, want, value)
            made.append(replace(of, name=want.name))
            read[want.name] = value
            claimed.add(name)
        elif want.default:
            defaults.append(replace(want, is_default=True))
            read[want.name] = want.default[0]
    # Those that the reader does not have stay: a column's name may differ from a field's by case.
    return tuple(made + defaults + [each for each in fields if each.name not in claimed]), {**values, **read}


def _promoted(of: Field, want: Field, value: Any) -> tuple[Field, Any]:
    """A field as Avro promotes it to the reader's type (its specification, "Schema Resolution"), where Connect would not."""
    word = of.scalar.type if of.kind == "scalar" and of.scalar is not None else of.kind
    wanted = want.scalar.type if want.kind == "scalar" and want.scalar is not None else want.kind
    word, wanted = (each["type"] if isinstance(each, dict) else each for each in (word, wanted))
    match word, wanted:
        case (("int" | "long"), ("float" | "double")):
            number = None if value is None else float(value)
            if number is not None and wanted == "float":
                (number,) = struct.unpack("<f", struct.pack("<f", number))
            return replace(of, kind="double", scalar=None), number
        case "string", "bytes":
            made = value.encode() if isinstance(value, str) else value  # Java's decoder does not look at the text
            return replace(of, kind="scalar", scalar=want.scalar), made
        case "bytes", "string":
            return replace(of, kind="string", scalar=None), value if value is None else _as_text(value)
    # Each branch of the writer's union is resolved by itself.
    is_apart = word != wanted and (word, wanted) not in (("int", "long"), ("float", "double"))
    return replace(of, reads_null=is_apart and bool(of.nulls and want.nulls)), value


def _as_text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return NOT_UTF8


def _struct(
    fields: tuple[Field, ...], values: Mapping[str, Any], columns: Mapping[str, ColumnAst], rule: str
) -> dict[str, object] | Bad:
    try:
        fed = feeders(fields, columns, rule)
    except Ambiguous:
        return Bad(frozenset({"AMBIGUOUS_CASE"}))
    made: dict[str, object] = dict.fromkeys(columns)
    causes: set[str] = set()
    for name, found in fed.items():
        for of in found:
            value = _value(columns[name], of, values.get(of.name), rule)
            made[name] = value
            if isinstance(value, Bad):
                causes |= value.causes | {"BAD_SCHEMA"} if of.is_default else value.causes
    return Bad(frozenset(causes)) if causes else made


_MISMATCH: Final = Bad(frozenset({"TYPE_MISMATCH"}))
_UNRESOLVED: Final = Bad(frozenset({"TYPE_MISMATCH", "DECODE_FAILED"}))
"""Java's decoder cannot read such a body."""


def _value(column: ColumnAst, of: Field, value: Any, rule: str) -> object:
    if not could_hold(column, of):
        if of.reads_null:
            return _UNRESOLVED if value is not None else None
        return _MISMATCH
    if value is None:
        return None
    if isinstance(column, str):
        return _scalar(column, of, value)
    word, inner = column
    if word == "STRUCT":
        # A union of several types is Connect's record of its branches (AvroData, "io.confluent.connect.avro.Union").
        branches = tuple(replace(each, nulls="first") for each in of.fields)
        return _struct(branches if of.kind == "union" else of.fields, value, inner, rule)
    item = Field(name="item", kind="scalar", scalar=of.scalar)
    parts = value.items() if word == "MAP" else enumerate(value)
    made = {key: _value(inner, item, part, rule) for key, part in parts}
    causes = {cause for part in made.values() if isinstance(part, Bad) for cause in part.causes}
    if causes:
        return Bad(frozenset(causes))
    return made if word == "MAP" else list(made.values())


def could_hold(column: ColumnAst, of: Field) -> bool:
    """Whether a column of the type is fed by such a field at all. What is inside of it is looked at where there is some."""
    if isinstance(column, tuple):
        word, _ = column
        return of.kind in ("record", "union") if word == "STRUCT" else word.lower() == of.kind
    if of.kind in ("array", "map", "record", "union"):
        return False
    if column == "BYTES" or column.startswith("DECIMAL"):
        # To Connect both are bytes: which of them it is, is asked of a value alone.
        return of.scalar is not None and of.scalar.counts in ("bytes", "decimal")
    return column in fitting(of)


def _scalar(column: str, of: Field, value: Any) -> object:
    if of.kind == "scalar":
        assert of.scalar is not None
        made = expected(of.scalar, column, value)
        if isinstance(made, decimal.Decimal) and not _has_digits(made, column):
            made = REFUSED
        if made is not REFUSED:
            return made
        return Bad(frozenset({"BAD_VALUE", "OVERFLOW"})) if _is_alike(column, of.scalar) else _MISMATCH
    if value == NOT_UTF8:
        return Bad(frozenset({"DECODE_FAILED"}))
    if column == "STRING" and of.kind in ("boolean", "float", "double"):
        return str(value).lower() if of.kind == "boolean" else str(value)
    return value


def _is_alike(column: str, scalar: Written) -> bool:
    return scalar.counts not in ("bytes", "decimal") or (scalar.counts == "bytes") == (column == "BYTES")


def _has_digits(value: decimal.Decimal, column: str) -> bool:
    """True if the DECIMAL holds it: a number is never rounded, nor longer than its column says."""
    precision, scale = map(int, column.removeprefix("DECIMAL(").removesuffix(")").split(","))
    unscaled = value.scaleb(scale)
    return unscaled == unscaled.to_integral_value() and abs(unscaled) < 10**precision
