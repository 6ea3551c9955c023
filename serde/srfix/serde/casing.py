"""Which field feeds which column: the one place that knows the case rules.

| rule | a column is fed by the field of |
|---|---|
| `UNIQUE` (default) | exactly its name; else the only one equal ignoring case; several: an error names them |
| `EXACT` | exactly its name |

A field that a column claims by its exact name feeds no other column. Names are compared ignoring case after
upper-casing, because that is how ksqlDB declares an unquoted name (`ParserUtil.getIdentifierText`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import Enum

from srfix.serde.errors import AmbiguousFieldError

__all__ = ["CaseRule", "declared_name", "match_fields"]


class CaseRule(Enum):
    """How names of fields and columns are compared."""

    UNIQUE = "unique"
    EXACT = "exact"
    KSQLDB = "ksqldb"
    KSQLDB_2020 = "ksqldb-2020"


def declared_name(identifier: str) -> str:
    """The column name that an unquoted identifier declares: upper case, as ksqlDB's
    `ParserUtil.getIdentifierText`."""
    return identifier.upper()


def _folded(name: str) -> str:
    # upper() first: an unquoted "ß" was declared as "SS", and lower() alone would keep those apart.
    return name.upper().casefold()


def match_fields(columns: Sequence[str], fields: Sequence[str], rule: CaseRule, *, where: str) -> dict[str, str]:
    """Column → the field that feeds it. Columns that no field feeds are absent, fields that feed none do not
    show.

    `where` says in an error's words what holds the fields: "the writer schema", "the row".

    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column, or one field could
        feed two columns; `.column` and `.fields` hold the names.
    """
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
                f"{', '.join(map(repr, candidates))}. Declare the column with the exact name of the one "
                "that is meant "
                "(quoted), or use the rule 'exact'.",
                column=column,
                fields=tuple(candidates),
            )
        if not candidates or candidates[0] in matched:
            continue
        field = candidates[0]
        if field in fed:
            raise AmbiguousFieldError(
                f"The field {field!r} of {where} could feed two columns that differ only by case: "
                f"{fed[field]!r} and "
                f"{column!r}. Declare one of them with the field's exact name (quoted), or use the rule "
                "'exact'.",
                column=column,
                fields=(field,),
            )
        fed[field] = column
    return {column: field for field, column in fed.items()}
