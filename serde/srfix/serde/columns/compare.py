"""Compares two column lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from srfix.serde.casing import declared_name
from srfix.serde.columns.text import print_columns, print_type
from srfix.serde.columns.tokens import quoted_name
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Map, Struct, usable_columns


class DifferenceKind(Enum):
    """The kinds of differences between two column lists."""

    MISSING = "missing"
    """Only the first list has the column or field."""
    ADDED = "added"
    """Only the second list has the column or field."""
    CASE = "case"
    """The names differ, but only by letter case."""
    NAMESPACE = "namespace"
    """A key in one and a value in the other, or a KEY and a PRIMARY KEY."""
    TYPE = "type"
    ORDER = "order"
    """The columns or fields that both lists have stand in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDifference:
    """One difference between two column lists."""

    kind: DifferenceKind
    path: str
    """The place, by the first list's names: `->A->ARRAY->B`. For a different order it is the STRUCT, or empty for the
    columns."""
    first: str | None
    """The first list's side as text: a column, a name, a type, or the names in order; None if it has nothing there."""
    second: str | None
    """The second list's side."""

    @property
    def sentence(self) -> str:
        """The difference in words."""
        where = self.path or "the columns"
        match self.kind:
            case DifferenceKind.MISSING:
                return f"{where}: only the first has {self.first}."
            case DifferenceKind.ADDED:
                return f"{where}: only the second has {self.second}."
            case DifferenceKind.CASE:
                return f"{where}: the name is {self.first} in the first and {self.second} in the second; only case differs."
            case DifferenceKind.NAMESPACE | DifferenceKind.TYPE:
                return f"{where}: {self.first} in the first, {self.second} in the second."
            case DifferenceKind.ORDER:
                return f"{where}: the order is {self.first} in the first and {self.second} in the second."
            case _:
                assert_never(self.kind)


def compare_columns(first: Columns, second: Columns) -> tuple[ColumnDifference, ...]:
    """All differences, in the first list's order; then columns that only the second list has, then a different order.
    Empty if the lists are equal.

    Two columns without an exact counterpart count as the same column if their names differ only by letter case and
    there is no third such column.

    :raises ColumnError: if one of the lists cannot be used: it is empty, nests too deep, or has two columns with the
        same name.
    """
    return tuple(_compare(usable_columns(first), usable_columns(second), ""))


def _compare(first: Columns, second: Columns, path: str) -> Iterator[ColumnDifference]:
    pairs = _pairs(first, second)
    for number, column in enumerate(first):
        here = f"{path}->{column.name}"
        if number not in pairs:
            yield ColumnDifference(kind=DifferenceKind.MISSING, path=here, first=print_columns((column,)), second=None)
            continue
        other = second[pairs[number]]
        if other.name != column.name:
            yield _differ(DifferenceKind.CASE, here, quoted_name(column.name), quoted_name(other.name))
        if other.namespace is not column.namespace:
            yield _differ(DifferenceKind.NAMESPACE, here, column.namespace.value, other.namespace.value)
        yield from _compare_types(column.type, other.type, here)
    paired = set(pairs.values())
    for number, column in enumerate(second):
        if number not in paired:
            here = f"{path}->{column.name}"
            yield ColumnDifference(kind=DifferenceKind.ADDED, path=here, first=None, second=print_columns((column,)))
    order = [number for number in range(len(first)) if number in pairs]
    other_order = sorted(order, key=pairs.__getitem__)
    if order != other_order:
        names = [column.name for column in first]
        yield _differ(
            DifferenceKind.ORDER,
            path,
            _listed([names[number] for number in order]),
            _listed([names[number] for number in other_order]),
        )


def _pairs(first: Columns, second: Columns) -> dict[int, int]:
    """Positions in the first list → positions in the second list, for columns that count as the same.

    It first pairs columns with the same name in the same half, because a column of the key may occur again among the
    values. Then it pairs columns with the same name, then columns whose names differ only by letter case, if there is
    no third such column.
    """
    pairs: dict[int, int] = {}
    for identity in _IDENTITIES:
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        paired = (pairs.keys(), set(pairs.values()))
        for side, columns in enumerate((first, second)):
            for number, column in enumerate(columns):
                if number not in paired[side]:
                    groups.setdefault(identity(column), ([], []))[side].append(number)
        for ours, theirs in groups.values():
            if len(ours) == len(theirs) == 1:
                pairs[ours[0]] = theirs[0]
    return pairs


_IDENTITIES: Final[tuple[Callable[[Column], Hashable], ...]] = (
    lambda column: (column.namespace.is_key, column.name),
    lambda column: column.name,
    lambda column: declared_name(column.name),
)


def _compare_types(first: ColumnType, second: ColumnType, path: str) -> Iterator[ColumnDifference]:
    match first, second:
        case Array(items), Array(other_items):
            yield from _compare_types(items, other_items, f"{path}->ARRAY")
        case Map(values, keys), Map(other_values, other_keys):
            yield from _compare_types(keys, other_keys, f"{path}->MAP_KEY")
            yield from _compare_types(values, other_values, f"{path}->MAP_VAL")
        case Struct(fields), Struct(other_fields):
            yield from _compare(fields, other_fields, path)
        case _:
            if first != second:
                yield _differ(DifferenceKind.TYPE, path, print_type(first), print_type(second))


def _differ(kind: DifferenceKind, path: str, first: str, second: str) -> ColumnDifference:
    return ColumnDifference(kind=kind, path=path, first=first, second=second)


def _listed(names: list[str]) -> str:
    return ", ".join(map(quoted_name, names))
