"""How the schema of a topic fits that of a store: its fields, and whether a field of one type can feed a column of
another; if not, the two schemas describe different things.

| the writer's | feeds |
|---|---|
| int, long, float, double | each other, and string |
| boolean | boolean and string |
| string, bytes, enum, fixed | each other |
| record, array, map | the same; ksqlDB writes a map as an array of entries |

That is what Avro's schema resolution and ksqlDB's coercions allow together (`ConnectDataTranslator.validateSchema`):
both refuse any other pair. A union feeds every column that one of its branches can feed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.evidence import rules
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.serde.casing import CaseRule, folded, match_fields
from srfix.serde.errors import AmbiguousFieldError, SchemaError
from srfix.serde.formats.table import field_names, record_name
from srfix.serde.schemas.models import Json, Schema, SchemaVersion
from srfix.serde.subjects.names import Role, Topic

_NUMBERS: Final = frozenset({"int", "long", "float", "double"})
_TEXTS: Final = frozenset({"string", "bytes", "enum", "fixed"})
_LISTS: Final = frozenset({"array", "map"})
FITS: Final = 2
NOBODYS: Final = frozenset(
    {"io.confluent.ksql.avro_schemas.KsqlDataSourceSchema", "KsqlDataSourceSchema", "ConnectDefault"}
)
"""Record names that Connect and ksqlDB give to any record."""


def field_types(schema: Schema) -> Mapping[str, frozenset[str]]:
    """For each field of an Avro record, the types that its values can have; empty for other schemas."""
    if schema.schema_type != "AVRO":
        return {}
    try:
        document = json.loads(schema.text)
    except (ValueError, RecursionError):
        return {}
    match document:
        case {"type": "record", "fields": list(fields)}:
            return {
                str(field["name"]): _types(field.get("type"))
                for field in fields
                if isinstance(field, dict) and "name" in field
            }
    return {}


def can_feed(writer: frozenset[str] | None, column: frozenset[str] | None) -> bool:
    """True if a value of one of the writer's types may become a value of the column; also if either type is not known."""
    if not writer or not column or "any" in writer | column:
        return True
    return any(_feeds(one, other) for one in writer for other in column)


def _feeds(one: str, other: str) -> bool:
    if one == other:
        return True
    if one in _NUMBERS:
        return other in _NUMBERS or other == "string"
    if one == "boolean":
        return other == "string"
    return any(one in kinds and other in kinds for kinds in (_TEXTS, _LISTS))


def _types(document: Json) -> frozenset[str]:
    match document:
        case list():
            return frozenset().union(*map(_types, document)) - {"null"}
        case {"type": inner}:
            return _types(inner)
        case str() if document in _NUMBERS | _TEXTS | _LISTS | {"record", "boolean", "null"}:
            return frozenset({document})
    return frozenset({"any"})  # a named type that is defined elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A schema in a form that can be compared: one that may have written the store's rows, or the store's own."""

    schema: Schema
    where: str
    names: tuple[str, ...]
    """The names of its fields; empty if there is nothing to compare."""
    folded: frozenset[str]
    types: Mapping[str, frozenset[str]]


def writer_of(schema: Schema, where: str) -> Writer:
    names = field_names(schema)
    return Writer(schema=schema, where=where, names=names, folded=folded(names), types=field_types(schema))


def of_version(version: SchemaVersion, survey: Survey) -> Writer:
    where = f"{version.subject} version {version.version}"
    return survey.once(("writer", where), lambda: writer_of(version.schema, where))


@dataclass(frozen=True, slots=True, kw_only=True)
class Internal:
    role: Role
    """The value, or the key if the value schema cannot be compared."""
    writer: Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    fit: int = -1
    """2 if all fields fit, 1 if some, 0 if none, -1 if it was not compared."""
    has_no_other: bool = False
    is_same_record: bool = False
    pieces: tuple[Evidence, ...] = ()

    @property
    def rank(self) -> tuple[int, bool, bool]:
        return self.fit, self.has_no_other, self.is_same_record


def internal_of(store: SuspectStore, survey: Survey) -> Internal | None:
    for role in (Role.VALUE, Role.KEY):
        subject = store.subject(role)
        latest = survey.latest(subject) if survey.has_subject(subject) else None
        if latest is not None and (writer := of_version(latest, survey)).names:
            return Internal(role=role, writer=writer)
    return None


def compare_schemas(topic: Topic, internal: Internal, writer: Writer) -> Comparison:
    names = internal.writer.names
    if not names or not writer.names:
        return Comparison()
    if internal.role is Role.KEY:  # many keys have only this one field, so it says little
        _named, shared = _shared(internal.writer, writer)
        rule = rules.KEY_FIELDS if shared == len(names) else rules.OTHER_KEY_FIELDS
        detail = f"{shared} of the {len(names)} fields of the store's key schema are fields of {writer.where}"
        if len(names) == 1:
            detail = f"the only field of the store's key schema is {'' if shared else 'not '}a field of {writer.where}"
        return Comparison(pieces=(rule.of_topic(topic, detail),))
    named, shared = (0, 0) if internal.writer.folded.isdisjoint(writer.folded) else _shared(internal.writer, writer)
    if named == 0:
        none = f"none of the {len(names)} fields of the store's schema is a field of {writer.where}"
        if len(names) == 1:
            none = f"the only field of the store's schema is not a field of {writer.where}"
        return Comparison(fit=0, pieces=(rules.NO_FIELD.of_topic(topic, none),))
    pieces = []
    if shared < len(names):
        verb, them = ("exists", "it") if shared == 1 else ("exist", "them")
        some = (
            f"{shared} of the {len(names)} fields of the store's schema also {verb} in {writer.where} (ignoring case)"
        )
        pieces.append(rules.SOME_FIELDS.of_topic(topic, f"{some}, with a type that can feed {them}"))
    else:
        every = f"all {len(names)} fields of the store's schema are fields of {writer.where}, ignoring case"
        if len(names) == 1:
            every = f"the only field of the store's schema is a field of {writer.where}, ignoring case"
        pieces.append(rules.ALL_FIELDS.of_topic(topic, every))
    has_no_other = shared == len(names) == len(writer.names)
    if has_no_other:
        pieces.append(rules.SAME_FIELDS.of_topic(topic, f"{writer.where} has no other field"))
    own = record_of(internal.writer.schema)
    is_same_record = own is not None and own == record_of(writer.schema)
    if is_same_record:
        called = f"the record of {writer.where} and the record of the store are both called {own}"
        pieces.append(rules.SAME_RECORD.of_topic(topic, called))
    return Comparison(
        fit=1 if shared < len(names) else FITS,
        has_no_other=has_no_other,
        is_same_record=is_same_record,
        pieces=tuple(pieces),
    )


def _shared(internal: Writer, writer: Writer) -> tuple[int, int]:
    """How many of the store's fields have the name of a writer's field, and how many of these it can feed."""
    columns, fields = internal.names, writer.names
    try:
        fed = match_fields(columns, fields, CaseRule.UNIQUE, where="the writer schema")
    except AmbiguousFieldError:  # by the engine's rule, the last of several fields counts
        fed = match_fields(columns, fields, CaseRule.KSQLDB_2020, where="the writer schema")
    types, writer_types = internal.types, writer.types
    return len(fed), sum(can_feed(writer_types.get(field), types.get(column)) for column, field in fed.items())


def record_of(schema: Schema) -> str | None:
    name = name_of_record(schema)
    return None if name in NOBODYS else name


def name_of_record(schema: Schema) -> str | None:
    try:
        return record_name(schema)
    except SchemaError:  # it refers to others; srfix does not fetch them only for its name
        return None
