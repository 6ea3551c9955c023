"""Compares two column lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.serde.casing import declared_name
from srfix.serde.columns.text import print_columns, print_type
from srfix.serde.columns.tokens import quoted_name
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Map, Struct, usable_columns
from srfix.serde.printable import path_words


class DifferenceKind(Enum):
    MISSING = "missing"
    ADDED = "added"
    CASE = "case"
    NAMESPACE = "namespace"
    """A key in one and a value in the other, or a KEY and a PRIMARY KEY."""
    TYPE = "type"
    ORDER = "order"
    """The columns or fields that both lists have stand in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDifference:
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
        return f"{path_words(self.path, 'the columns')}: {_SENTENCES[self.kind].format(self.first, self.second)}"


_SENTENCES: Final = {
    DifferenceKind.MISSING: "only the first has {0}.",
    DifferenceKind.ADDED: "only the second has {1}.",
    DifferenceKind.CASE: "the name is {0} in the first and {1} in the second; only case differs.",
    DifferenceKind.NAMESPACE: "{0} in the first, {1} in the second.",
    DifferenceKind.TYPE: "{0} in the first, {1} in the second.",
    DifferenceKind.ORDER: "the order is {0} in the first and {1} in the second.",
}


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
            yield _differ(DifferenceKind.MISSING, here, print_columns((column,)), None)
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
            yield _differ(DifferenceKind.ADDED, f"{path}->{column.name}", None, print_columns((column,)))
    order = [number for number in range(len(first)) if number in pairs]
    other_order = sorted(order, key=pairs.__getitem__)
    if order != other_order:
        listed = [", ".join(quoted_name(first[number].name) for number in numbers) for numbers in (order, other_order)]
        yield _differ(DifferenceKind.ORDER, path, *listed)


def _pairs(first: Columns, second: Columns) -> dict[int, int]:
    """Positions in the first list → positions in the second list: by name and half (a column of the key may occur again
    among the values), then by name, then by a name that differs only by letter case."""
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


def _differ(kind: DifferenceKind, path: str, first: str | None, second: str | None) -> ColumnDifference:
    return ColumnDifference(kind=kind, path=path, first=first, second=second)
