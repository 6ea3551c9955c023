"""Columns of a Python dataclass."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, Optional, TypeVar, Union

import pytest

from srfix.serde import ColumnError, columns_from_dataclass, parse_columns, print_columns
from srfix.serde.columns.types import BIGINT, INTEGER, STRING, Array, Decimal, Namespace

OrderId = NewType("OrderId", int)
Money = Annotated[decimal.Decimal, Decimal(10, 2)]
T = TypeVar("T")


@dataclass
class Address:
    street: str
    zipCode: Annotated[int, INTEGER]


@dataclass
class Order:
    counted: ClassVar[int] = 0

    id: Annotated[OrderId, Namespace.KEY]
    customer: str | None
    paid: bool
    weight: float
    price: Money
    picture: Optional[bytes]  # noqa: UP045 -- the older spelling is in use
    placed_on: datetime.date
    at: datetime.time
    placed: datetime.datetime
    tags: list[str | None]
    addresses: dict[str, Address]
    discounts: list[Money] | None
    total: decimal.Decimal = field(metadata={"column_type": Decimal(12, 0)}, default=decimal.Decimal(0))


@dataclass
class Node:
    value: int
    children: list[Node]


@dataclass
class Keyed:
    inner: Annotated[int, Namespace.KEY]


@dataclass
class Box(Generic[T]):
    it: T


class Plain:
    pass


def of(hint: object, **metadata: object) -> type:
    return make_dataclass("Row", [("a", hint, field(metadata=metadata))])


class TestColumnsFromDataclass:
    def test_each_hint_has_its_type(self) -> None:
        assert columns_from_dataclass(Order) == parse_columns(
            """
            ID BIGINT KEY, CUSTOMER STRING, PAID BOOLEAN, WEIGHT DOUBLE, PRICE DECIMAL(10, 2), PICTURE BYTES, PLACED_ON DATE,
            `AT` TIME, PLACED TIMESTAMP, TAGS ARRAY<STRING>, ADDRESSES MAP<STRING, STRUCT<STREET STRING, ZIPCODE INT>>,
            DISCOUNTS ARRAY<DECIMAL(10, 2)>, TOTAL DECIMAL(12, 0)
            """
        )

    def test_names_can_be_kept(self) -> None:
        assert print_columns(columns_from_dataclass(Address, names="keep")) == "`street` STRING, `zipCode` INTEGER"

    @pytest.mark.parametrize(
        ("class_", "expected"),
        [
            (of(int, column_type=INTEGER, namespace=Namespace.PRIMARY_KEY), "A INTEGER PRIMARY KEY"),
            (of(int, other="said to somebody else"), "A BIGINT"),
            (of(Annotated[int | None, INTEGER]), "A INTEGER"),
            (of(Annotated[int, "the number"] | None), "A BIGINT"),
            (of(list[Annotated[int, INTEGER]]), "A ARRAY<INTEGER>"),
            (of(dict[Annotated[int, INTEGER], str]), "A MAP<INTEGER, STRING>"),
            (of(Union[None, Annotated[OrderId, BIGINT]]), "A BIGINT"),  # noqa: UP007 -- the older spelling is in use
        ],
    )
    def test_what_a_hint_cannot_say_is_said_beside_it(self, class_: type, expected: str) -> None:
        assert columns_from_dataclass(class_) == parse_columns(expected)

    @pytest.mark.parametrize(
        ("class_", "message"),
        [
            (Plain, r"^Columns can be taken only from a dataclass, and Plain is not one\.$"),
            (of(Any), r"^The field a is (typing\.)?Any, which fits no column type\.$"),
            (of(list), r"^The field a is list, which fits no column type\.$"),
            (of(set[int]), r"^The field a is set\[int\], which fits no column type\.$"),
            (of(Plain), r"^The field a is Plain, which fits no column type\.$"),
            (of(Box[int]), r"^The field a is .*Box\[int\], which fits no column type\.$"),
            (of(int | str), r"^The field a is int \| str, which fits no column type\.$"),
            (of(None), r"^The field a is NoneType, which fits no column type\.$"),
            (of(Literal["x"]), r"^The field a is typing\.Literal\['x'\], which fits no column type\.$"),
            (of(dict[set[int], str]), r"^The field a->MAP_KEY is set\[int\], which fits no column type\.$"),
            (of(dict[str, list[set[int]]]), r"a->MAP_VAL->ARRAY is set\[int\], which fits no column type"),
            (of(decimal.Decimal), r"^The field a is a decimal\.Decimal without precision and scale"),
            (of(Annotated[decimal.Decimal, STRING]), r"a is a decimal\.Decimal without precision"),
            (
                of(Annotated[int, STRING]),
                r"^The field a is int, but gives the column type STRING\. Use BIGINT or INTEGER\.$",
            ),
            (
                of(Annotated[bool, INTEGER]),
                r"^The field a is bool, but gives the column type INTEGER\. Use BOOLEAN\.$",
            ),
            (of(Annotated[list[int], Array(INTEGER)]), r"a gives a column type for list\[int\]"),
            (of(Annotated[int, INTEGER, BIGINT]), r"a gives more than one column type or namespace"),
            (of(Annotated[int, INTEGER], column_type=INTEGER), r"a gives more than one column type or namespace"),
            (of(int, column_type="INT"), r"a gives more than one .* or something that is neither"),
            (
                of(list[Keyed]),
                r"^The field a->ARRAY->inner of a STRUCT is declared a key\. Only columns can be keys\.$",
            ),
            (
                Node,
                r"^Through the field children->ARRAY, the dataclass Node contains itself; a column cannot contain itself\.$",
            ),
            (of("Nowhere"), r"the dataclass Row cannot be resolved: name 'Nowhere' is not defined"),
            (make_dataclass("Row", [("a", int), ("A", int)]), r"the dataclass Row become the column 'A'"),
            (make_dataclass("Row", []), r"^The column list is empty\."),
        ],
    )
    def test_what_fits_no_column_is_refused_with_its_path(self, class_: type, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            columns_from_dataclass(class_)

    def test_nesting_is_bounded(self) -> None:
        hint: object = int
        for _ in range(64):
            hint = list[hint]  # type: ignore[valid-type]
        with pytest.raises(ColumnError, match=r"^The type hints nest deeper than 64 levels at a->ARRAY"):
            columns_from_dataclass(of(hint))

    def test_a_dataclass_may_stand_in_two_places(self) -> None:
        assert len(columns_from_dataclass(make_dataclass("Two", [("a", Address), ("b", Address)]))) == 2
