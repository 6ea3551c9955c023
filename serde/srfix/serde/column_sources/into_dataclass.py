"""Rows of columns as instances of a dataclass: the way back of `columns_from_dataclass`.

| column | the field's hint |
|---|---|
| STRING, BOOLEAN, INTEGER and BIGINT, DOUBLE, BYTES | `str`, `bool`, `int`, `float`, `bytes` |
| DATE, TIME, TIMESTAMP, DECIMAL | `date`, `time`, `datetime`, `decimal.Decimal` |
| ARRAY, MAP, STRUCT | `list[X]`, `dict[str, X]`, a dataclass |

Fields are fed by the columns of their names under the case rule (`EXACT`: exactly; else ignoring case). A column that feeds no
field, a field without a default that no column feeds, and a hint that does not fit its column are refused when the serde is
made. Every column may be null: null for a field whose hint is not `X | None` is an error of that row.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast, get_args, get_origin, get_type_hints

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.column_sources.from_dataclass import NameOf, without_annotations
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.errors import CasingError, ColumnError, DecodeError, SrfixError

Build: TypeAlias = "Callable[[Any], object]"
"""A value of a row → what the field holds."""

_PYTHON: Final[dict[ScalarType, type]] = {
    ScalarType.STRING: str,
    ScalarType.BOOLEAN: bool,
    ScalarType.INTEGER: int,
    ScalarType.BIGINT: int,
    ScalarType.DOUBLE: float,
    ScalarType.BYTES: bytes,
    ScalarType.DATE: datetime.date,
    ScalarType.TIME: datetime.time,
    ScalarType.TIMESTAMP: datetime.datetime,
    ScalarType.TIMESTAMP_NTZ: datetime.datetime,
}


class _Rule(NamedTuple):
    case_rule: CaseRule
    name_of: NameOf


def dataclass_builder(
    class_: type, columns: Columns, case_rule: CaseRule, name_of: NameOf = str
) -> Callable[[object], object]:
    """What makes an instance of a row of these columns, among which a field is called as `name_of` says; None stays None."""
    rule = _Rule(CaseRule.EXACT if case_rule is CaseRule.EXACT else CaseRule.UNIQUE, name_of)
    build = _record(class_, columns, rule, path="")

    def instance(row: object) -> object:
        return None if row is None else build(row)

    return instance


def _record(class_: type, columns: tuple[Column, ...], rule: _Rule, *, path: str) -> Build:
    if not isinstance(class_, type) or not dataclasses.is_dataclass(class_):
        what = class_.__qualname__ if isinstance(class_, type) else f"an instance of {type(class_).__qualname__}"
        raise ColumnError(f"Rows become instances of a dataclass, and {what} is none. Pass the dataclass itself.")
    name = class_.__qualname__
    try:
        hints = get_type_hints(class_, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise ColumnError(f"The type hints of the dataclass {name} cannot be resolved: {error}.") from error
    fields = {rule.name_of(field.name): field for field in dataclasses.fields(class_) if field.init}
    by_name = {column.name: column for column in columns}
    try:
        fed = match_fields(tuple(fields), tuple(by_name), rule.case_rule, where="the columns")
    except CasingError as error:
        raise ColumnError(f"The fields of {name} and the columns do not go together: {error.message}") from error
    surplus = [column for column in by_name if column not in fed.values()]
    if surplus:
        raise ColumnError(
            f"The column {path}->{surplus[0]} feeds no field of {name}. Leave the column out, or give {name} such a field."
        )
    for called, field in fields.items():
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if called not in fed and not has_default:
            raise ColumnError(
                f"The field {name}.{called} is fed by no column ({', '.join(by_name) or 'there is none'}) and has no "
                "default. Give it one, or add the column."
            )
    fed_fields = ((fields[called].name, column) for called, column in fed.items())
    parts = [
        (field, column, _value(hints[field], by_name[column].type, rule, f"{path}->{column}", f"{name}.{field}"))
        for field, column in fed_fields
    ]

    def build(row: Mapping[str, object]) -> object:
        values = {field: make(row[column]) for field, column, make in parts}
        try:
            return class_(**values)
        except SrfixError:
            raise
        except Exception as error:
            raise DecodeError(f"{name} does not take the row ({type(error).__name__}: {error}).", path=path) from error

    return build


def _value(hint: object, type_: ColumnType, rule: _Rule, path: str, field: str) -> Build:
    plain, _ = without_annotations(hint)
    build = _not_null(plain, type_, rule, path, field)
    if _takes_none(hint):
        return lambda value: None if value is None else build(value)

    def build_not_null(value: object) -> object:
        if value is None:
            raise DecodeError(
                f"The column {path} is null, and the hint of {field} does not allow None. Declare it "
                f"{_words(plain)} | None: every column may be null.",
                path=path,
            )
        return build(value)

    return build_not_null


def _not_null(hint: object, type_: ColumnType, rule: _Rule, path: str, field: str) -> Build:
    if hint is Any or hint is object:
        return _same
    match type_:
        case Array(items) if get_origin(hint) is list:
            make = _value(get_args(hint)[0], items, rule, f"{path}->ARRAY", field)
            return lambda values: [make(value) for value in values]
        case Map(values, _) if get_origin(hint) is dict and get_args(hint)[0] is str:
            make = _value(get_args(hint)[1], values, rule, f"{path}->MAP_VAL", field)
            return lambda entries: {key: make(value) for key, value in entries.items()}
        case Struct(columns) if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return _record(hint, tuple(columns), rule, path=path)
        case Decimal() if hint is decimal.Decimal:
            return _same
        case ScalarType() if hint is _PYTHON.get(type_):
            return _same
        case _:
            raise ColumnError(
                f"The column {path} is {print_type(type_)}, and the field {field} is {_words(hint)}. Let one follow the "
                "other."
            )


def _takes_none(hint: object) -> bool:
    if hint is None or hint is type(None) or hint is Any or hint is object:
        return True
    inner = getattr(hint, "__supertype__", None)
    if inner is not None:
        return _takes_none(inner)
    args = get_args(hint)
    if hasattr(hint, "__metadata__"):  # Annotated
        return _takes_none(args[0])
    return get_origin(hint) not in (list, dict) and any(arg is type(None) for arg in args)


def _words(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _same(value: object) -> object:
    return value


def row_class(columns: object) -> type | None:
    """The dataclass that was given as columns; None for columns in another form."""
    return cast("type", columns) if isinstance(columns, type) and dataclasses.is_dataclass(columns) else None
