"""Which field feeds which column: the one place that knows the case rules.

| rule | a column is fed by the field of |
|---|---|
| `UNIQUE` (default) | the field with exactly its name; otherwise the only one ignoring case; if several, an error names them |
| `EXACT` | exactly its name |
| `KSQLDB` | the field with its name, or its name in upper case; if several, the schema's last one, even if it is null |
| `KSQLDB_2020` | any field whose upper-case name equals the column's upper-case name; if several, the schema's last one |

`UNIQUE` and `EXACT` are srfix's own rules: if a field has the exact name of a column, it feeds no other column. The
other two are ksqlDB's rules, including collisions:

- `KSQLDB` is `ConnectDataTranslator.toKsqlStruct` since 0.13 (ksql#6201). It walks the writer's fields in their order;
  each field feeds the column with exactly its name, otherwise the column with its upper-case name, otherwise none. So
  the last field wins, even over an exact match, and one field feeds at most one column.
- `KSQLDB_2020` is the same class from 0.10 to 0.12. It walks the columns and compares both names in upper case, so one
  field may feed several columns.
- JSON objects have their own rule in both generations (`KsqlJsonDeserializer.enforceFieldTypesForStruct`), which is
  `match_keys`: the exact key, otherwise the last key of the document whose upper-case form is the column's name.

Upper case is Python's `str.upper`: Unicode's full, unconditional mapping (ß becomes SS). Java's `toUpperCase()` is the
same mapping in the JVM's default locale, so a ksqlDB that runs in Turkish, Azeri or Lithuanian maps i differently, and
a JVM with older Unicode tables (for example Java 11 for Georgian) does not map all letters that Python maps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum

from srfix.serde.errors import AmbiguousFieldError


class CaseRule(Enum):
    """The rule that compares names of fields and columns."""

    UNIQUE = "unique"
    """The exact name, otherwise the only field with this name ignoring case."""
    EXACT = "exact"
    """The exact name."""
    KSQLDB = "ksqldb"
    """As ksqlDB since 0.13."""
    KSQLDB_2020 = "ksqldb-2020"
    """As ksqlDB from 0.10 to 0.12."""


def declared_name(identifier: str) -> str:
    """The column name that an unquoted identifier declares: upper case, as ksqlDB's `ParserUtil.getIdentifierText`."""
    return identifier.upper()


def is_same(one: str, other: str) -> bool:
    """True if two names are equal ignoring case."""
    return _folded(one) == _folded(other)


def is_among(name: str, names: Iterable[str]) -> bool:
    """True if one of the names is equal, ignoring case."""
    return any(is_same(name, other) for other in names)


def have_in_common(names: Iterable[str], other_names: Iterable[str]) -> bool:
    """True if one of the names is one of the others, ignoring case."""
    return not folded(names).isdisjoint(map(_folded, other_names))


def folded(names: Iterable[str]) -> frozenset[str]:
    """The names in a form that makes the comparison ignore case. Use it to compare with thousands of names."""
    return frozenset(map(_folded, names))


def upper_camel(name: str) -> str:
    """MY_TABLE as MyTable: Guava's `UPPER_UNDERSCORE.to(UPPER_CAMEL, …)`, which changes only ASCII letters."""
    words = (word.encode() for word in name.split("_"))
    return b"".join(word[:1].upper() + word[1:].lower() for word in words).decode()


def are_distinct(names: Sequence[str]) -> bool:
    """True if no two names are equal ignoring case."""
    return len({_folded(name) for name in names}) == len(names)


def match_fields(columns: Sequence[str], fields: Sequence[str], rule: CaseRule, *, where: str) -> dict[str, str]:
    """Column → the field that feeds it, for formats with a schema; `fields` are in the writer's order."""
    return {column: field for field, column in placements(columns, fields, rule, where=where)}


def placements(
    columns: Sequence[str], fields: Sequence[str], rule: CaseRule, *, where: str
) -> tuple[tuple[str, str], ...]:
    """Every (field, column) in the engine's order: the later one wins (`KSQLDB`), but both types are checked."""
    match rule:
        case CaseRule.KSQLDB:
            declared = frozenset(columns)
            named = ((field, field if field in declared else field.upper()) for field in fields)
            return tuple((field, column) for field, column in named if column in declared)
        case CaseRule.KSQLDB_2020:
            by_upper = {field.upper(): field for field in fields}
            return tuple((by_upper[column.upper()], column) for column in columns if column.upper() in by_upper)
        case CaseRule.UNIQUE | CaseRule.EXACT:
            matched = _match_unique(columns, fields, rule, where=where)
            return tuple((field, column) for column, field in matched.items())


def match_keys(columns: Sequence[str], keys: Sequence[str], rule: CaseRule, *, where: str) -> dict[str, str]:
    """Column → the key of a JSON object that feeds it, also with a null; `keys` are in the document's order."""
    if rule is CaseRule.UNIQUE or rule is CaseRule.EXACT:
        return _match_unique(columns, keys, rule, where=where)
    names = frozenset(keys)
    if names.issuperset(columns):
        return {column: column for column in columns}
    by_upper = {key.upper(): key for key in keys}
    pairs = ((column, column if column in names else by_upper.get(column)) for column in columns)
    return {column: key for column, key in pairs if key is not None}


def _folded(name: str) -> str:
    # upper() comes first: an unquoted "ß" was declared as "SS", and lower() alone would not make them equal.
    return name.upper().casefold()


def _match_unique(columns: Sequence[str], fields: Sequence[str], rule: CaseRule, *, where: str) -> dict[str, str]:
    names = set(fields)
    matched = {column: column for column in columns if column in names}
    if rule is CaseRule.EXACT or len(matched) == len(columns):
        return matched
    by_fold: defaultdict[str, list[str]] = defaultdict(list)
    for field in fields:
        by_fold[_folded(field)].append(field)
    fed: dict[str, str] = {field: field for field in matched.values()}
    for column in columns:
        if column in matched:
            continue
        candidates = by_fold.get(_folded(column), [])
        if len(candidates) > 1:
            raise AmbiguousFieldError(
                f"Column {column!r} could be fed by several fields of {where} that differ only by case: "
                f"{', '.join(map(repr, candidates))}. Declare the column with the exact name of the field "
                "that you mean (quoted), or use the rule 'exact'.",
                column=column,
                fields=tuple(candidates),
            )
        if not candidates or candidates[0] in matched:
            continue
        field = candidates[0]
        if field in fed:
            raise AmbiguousFieldError(
                f"The field {field!r} of {where} could feed two columns that differ only by case: "
                f"{fed[field]!r} and {column!r}. Declare one of the columns with the field's exact name (quoted), or "
                "use the rule 'exact'.",
                column=column,
                fields=(field,),
            )
        fed[field] = column
    return {column: field for field, column in fed.items()}
