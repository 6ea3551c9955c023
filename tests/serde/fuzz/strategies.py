"""Named hypothesis strategies: what a writer has, and what a reader declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from tests.strategies import column_types, values_of

KAFKA_TYPES: Final = (ScalarType.INTEGER, ScalarType.BIGINT, ScalarType.DOUBLE, ScalarType.STRING, ScalarType.BYTES)
"""What the KAFKA format has."""
DELIMITED_TYPES: SearchStrategy[ColumnType] = column_types().filter(
    lambda type_: isinstance(type_, ScalarType | Decimal)
)
"""What the DELIMITED format has."""

_names: SearchStrategy[str] = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,3}", fullmatch=True)
_CASES: Final[tuple[Callable[[str], str], ...]] = (str, str, str.upper, str.upper, str.lower, str.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsCase:
    """Rows of a writer, and the columns of a reader: of the same types, some left out, some in other letter case."""

    writer: Columns
    """What the rows have. No two names, nor two of a STRUCT, are equal ignoring case."""
    rows: tuple[dict[str, object], ...]
    reader: Columns
    """What is read."""
    rule: CaseRule
    """How names are matched."""
    wrapped: bool
    """False for a bare value, of the only column."""


def _writers(types: SearchStrategy[ColumnType], *, most: int) -> SearchStrategy[Columns]:
    return st.lists(st.builds(Column, _names, types), min_size=1, max_size=most, unique_by=_folded).map(tuple)


def _folded(column: Column) -> str:
    return column.name.lower()


def _is_unique(type_: ColumnType) -> bool:
    match type_:
        case Struct(fields):
            return len({_folded(field) for field in fields}) == len(fields) and all(_is_unique(f.type) for f in fields)
        case Array(inner) | Map(inner):
            return _is_unique(inner)
    return True


_types: SearchStrategy[ColumnType] = column_types(_names).filter(_is_unique)


@st.composite
def rows_cases(
    draw: DrawFn, types: SearchStrategy[ColumnType] = _types, *, bare: bool | None = None, may_extend: bool = True
) -> RowsCase:
    """Any.

    :param bare: True for a single column without a record around it; None for either.
    """
    is_bare = draw(st.integers(0, 5)) == 0 if bare is None else bare
    writer = draw(_writers(types, most=1 if is_bare else 5))
    rows = st.fixed_dictionaries({column.name: values_of(column.type) for column in writer})
    if is_bare:
        rows = rows.filter(lambda row: row[writer[0].name] is not None)  # such a record has no bytes
    reader = writer if is_bare else _declared(draw, writer)
    if not is_bare and may_extend and draw(st.booleans()):
        reader = (*reader, Column("NOBODYS", ScalarType.BIGINT))
    return RowsCase(
        writer=writer,
        rows=tuple(draw(st.lists(rows, min_size=1, max_size=3))),
        reader=reader,
        rule=draw(st.sampled_from(CaseRule)),
        wrapped=not is_bare,
    )


def _declared(draw: DrawFn, writer: Columns) -> Columns:
    kept = [column for column in draw(st.permutations(writer)) if draw(st.integers(0, 4))] or [writer[0]]
    return tuple(
        Column(draw(st.sampled_from(_CASES))(column.name), _declared_type(draw, column.type)) for column in kept
    )


def _declared_type(draw: DrawFn, type_: ColumnType) -> ColumnType:
    match type_:
        case Struct(fields):
            return Struct(_declared(draw, fields) if fields else fields)
        case Array(items):
            return Array(_declared_type(draw, items))
        case Map(values, keys):
            return Map(_declared_type(draw, values), keys)
    return type_
