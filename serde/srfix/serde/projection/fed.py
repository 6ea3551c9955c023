"""When a writer feeds columns, and the words where it does not.

A column is fed if the writer's schema has a field for it, or a JSON document without a schema a key, whatever the value is:
a field that holds null feeds its column. So does the default of a reader's schema, where the writer's record is resolved
against it (`formats.avro.read.resolution`). A row of which no column is fed is no row of these columns: another record type in
the topic, or columns that are misspelt. As a row it would be all null, as if the writer had written that. ksqlDB makes that
row (`ConnectDataTranslator.toKsqlStruct`), and so do its case rules, unless every column is asked for (`strict`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NoReturn

from srfix.serde.casing import CaseRule, have_in_common
from srfix.serde.errors import ColumnNotFedError, NothingFedError

_SHOWN: Final = 20


class Unfed:
    """Why what a writer writes is no row. Made once, raised for each row."""

    def __init__(self, kind: type[ColumnNotFedError], message: str, columns: tuple[str, ...]) -> None:
        self._kind = kind
        self._message = message
        self._columns = columns

    def error(self) -> ColumnNotFedError:
        """A new one each time: an exception that is raised twice collects tracebacks."""
        return self._kind(self._message, columns=self._columns)

    def refuse(self, _: object = None) -> NoReturn:
        """Raises it."""
        raise self.error()


def unfed(
    columns: Collection[str],
    absent: Collection[str],
    inside: Iterable[str],
    fields: Iterable[str],
    *,
    strict: bool,
    what: str,
) -> Unfed | None:
    """Why a writer's rows are none; None if they are.

    :param columns: the row's columns.
    :param absent: those that nothing feeds, no default either.
    :param inside: the fields inside of columns, by path, that nothing feeds, no default either.
    :param fields: what the writer has instead.
    :param what: what has those fields: "the writer schema", "the document".
    """
    what = f"The {what.removeprefix('the ')}"
    if len(absent) == len(columns):
        fields = list(fields)
        why = (
            "They differ in letter case, which the case rule does not ignore; another does."
            if have_in_common(columns, fields)
            else "Its record is of another type than theirs, or they are misspelt. Leave such rows out, or name columns that "
            "it has."
        )
        message = f"{what} feeds none of the columns {_named(columns)}: it has {_named(fields) or 'no fields'}. {why}"
        return Unfed(NothingFedError, message, tuple(columns))
    lacking = [*absent, *inside]
    if not strict or not lacking:
        return None
    message = (
        f"{what} does not feed {_named(lacking)}, and every column was asked for (strict): it has {_named(fields)}. Leave "
        "such rows out, or read them without strict: the columns are null there."
    )
    return Unfed(ColumnNotFedError, message, tuple(lacking))


def has_rows_of_nulls(case_rule: CaseRule, *, strict: bool) -> bool:
    """True if a row of which no column is fed is a row."""
    return not strict and case_rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020)


def _named(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(map(repr, every[:_SHOWN])) + more
