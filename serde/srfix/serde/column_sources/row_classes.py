"""Columns from a Python dataclass, and rows as instances of a dataclass.

| hint | column |
|---|---|
| `str`, `bool`, `int`, `float`, `bytes` | STRING, BOOLEAN, BIGINT (INTEGER if annotated), DOUBLE, BYTES |
| `date`, `time`, `datetime` | DATE, TIME, TIMESTAMP |
| `decimal.Decimal`, annotated with precision and scale | DECIMAL |
| `list[X]`, `dict[str, X]`, a dataclass | ARRAY, MAP, STRUCT; other keys than `str` only for Protobuf |
| `X | None` | the column of X: every column may be null |

Annotations add what a hint alone cannot say: `Annotated[int, INTEGER]`, `Annotated[decimal.Decimal, Decimal(10, 2)]`,
`Annotated[int, Namespace.KEY]`, or `field(metadata={"column_type": INTEGER, "namespace": Namespace.KEY})`. For rows as
instances, only the hint counts.

A field of an instance is fed by the column with its name, under the case rule (`EXACT`: exactly; otherwise ignoring
case).
When the serde is made, srfix refuses a column without a field, a field with neither a column nor a default, and a hint
that does not fit its column. Every column may be null: if a field's hint is not `X | None`, a null is an error of that
row.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    NewType,
    TypeAlias,
    TypeGuard,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.column_sources.sources import SourceField, source_columns
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import (
    MAX_NESTING,
    PYTHON_TYPES,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.connect.columns import NameRule
from srfix.serde.errors import CasingError, ColumnError, DecodeError, SrfixError
from srfix.serde.printable import path_words
from srfix.serde.subjects.names import Role

NameOf: TypeAlias = Callable[[str], str]
"""The name of a dataclass's field → its name in the written record."""
_SCALARS: Final[dict[object, tuple[ScalarType, ...]]] = {
    str: (ScalarType.STRING,),
    bool: (ScalarType.BOOLEAN,),
    int: (ScalarType.BIGINT, ScalarType.INTEGER),
    float: (ScalarType.DOUBLE,),
    bytes: (ScalarType.BYTES,),
    datetime.date: (ScalarType.DATE,),
    datetime.time: (ScalarType.TIME,),
    datetime.datetime: (ScalarType.TIMESTAMP,),
}
"""Hint → the column types that it allows, the default first."""


def columns_from_dataclass(class_: type, *, names: NameRule = "upper", name_of: NameOf = str) -> Columns:
    """The columns of a dataclass's fields, in their order.

    :param name_of: gives a field's name in the written record, for example fullName for full_name.
    :raises ColumnError: if the class is not a dataclass, a hint cannot be resolved or fits no column type (with its
        path), a dataclass contains itself, or two fields get the same name.
    """
    return usable_columns(_Reader(names, name_of).columns(class_, path="", depth=1))


class _Reader:
    def __init__(self, names: NameRule, name_of: NameOf) -> None:
        self._names, self._name_of = names, name_of
        self._open: list[type] = []

    def columns(self, class_: type, *, path: str, depth: int) -> Columns:
        where = f"the dataclass {class_.__qualname__}" if isinstance(class_, type) else repr(class_)
        if not isinstance(class_, type) or not dataclasses.is_dataclass(class_):
            raise ColumnError(
                f"Columns can be taken only from a dataclass, and {where.removeprefix('the dataclass ')} is not one."
            )
        if class_ in self._open:
            raise ColumnError(
                f"Through the field {path_words(path)}, {where} contains itself; a column cannot contain itself."
            )
        hints = _hints(class_)
        self._open.append(class_)
        fields = [
            self._field(field, hints[field.name], path=f"{path}->{field.name}", depth=depth, is_column=not path)
            for field in dataclasses.fields(class_)
        ]
        self._open.pop()
        return source_columns(fields, names=self._names, where=where)

    def _field(
        self, field: dataclasses.Field[object], hint: object, *, path: str, depth: int, is_column: bool
    ) -> SourceField:
        declared = [field.metadata[key] for key in ("column_type", "namespace") if key in field.metadata]
        hint, annotated, _ = _without_annotations(hint)
        namespaces = [mark for mark in (*declared, *annotated) if isinstance(mark, Namespace)]
        if namespaces and not is_column:
            raise ColumnError(f"The field {path_words(path)} of a STRUCT is declared a key. Only columns can be keys.")
        types = [mark for mark in (*declared, *annotated) if _is_column_type(mark)]
        if len(types) > 1 or len(namespaces) > 1 or len(types) + len(namespaces) < len(declared):
            raise ColumnError(
                f"The field {path_words(path)} gives more than one column type or namespace, or something that is neither. "
                "Give at most one column type and one Namespace."
            )
        type_ = self._type(hint, types[0] if types else None, path=path, depth=depth)
        return self._name_of(field.name), type_, namespaces[0] if namespaces else Namespace.VALUE

    def _type(self, hint: object, declared: object, *, path: str, depth: int) -> ColumnType:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The type hints nest deeper than {MAX_NESTING} levels at {path_words(path)}. Flatten the innermost ones."
            )
        hint, annotated, _ = _without_annotations(hint)
        for mark in annotated:
            declared = mark if _is_column_type(mark) else declared
        if hint is decimal.Decimal:
            if not isinstance(declared, Decimal):
                raise ColumnError(
                    f"The field {path_words(path)} is a decimal.Decimal without precision and scale. "
                    "Give them: Annotated[decimal.Decimal, Decimal(10, 2)]."
                )
            return declared
        scalars = _SCALARS.get(hint) if isinstance(hint, type) else None
        if scalars is not None:
            return _chosen(scalars, declared, hint, path)
        if declared is not None:
            raise ColumnError(
                f"The field {path_words(path)} gives a column type for {_hint_text(hint)} as a whole. Annotate the part that "
                "has this column type."
            )
        return self._composite(hint, path=path, depth=depth)

    def _composite(self, hint: object, *, path: str, depth: int) -> ColumnType:
        match get_origin(hint), get_args(hint):
            case origin, (items,) if origin is list:
                return Array(self._type(items, None, path=f"{path}->ARRAY", depth=depth + 1))
            case origin, (keys, values) if origin is dict:
                key_type = self._type(keys, None, path=f"{path}->MAP_KEY", depth=depth + 1)
                return Map(self._type(values, None, path=f"{path}->MAP_VAL", depth=depth + 1), key_type)
            case _ if isinstance(hint, type) and dataclasses.is_dataclass(hint):
                return Struct(self.columns(hint, path=path, depth=depth + 1))
            case _:
                raise ColumnError(f"The field {path_words(path)} is {_hint_text(hint)}, which fits no column type.")


def _hints(class_: type) -> dict[str, Any]:
    try:
        return get_type_hints(class_, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise ColumnError(
            f"The type hints of the dataclass {class_.__qualname__} cannot be resolved: {error}."
        ) from error


def _without_annotations(hint: object) -> tuple[object, list[object], bool]:
    """The hint without `Annotated`, `NewType` and `| None`, what the annotations say, and whether None is allowed."""
    marks: list[object] = []
    is_optional = False
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += more
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif get_origin(hint) in (Union, UnionType) and len(get_args(hint)) == 2 and NoneType in get_args(hint):
            (hint,) = (member for member in get_args(hint) if member is not NoneType)
            is_optional = True
        else:
            return hint, marks, is_optional or hint is Any or hint is object


def _is_column_type(mark: object) -> TypeGuard[ColumnType]:
    return isinstance(mark, ScalarType | Decimal | Array | Map | Struct)


def _chosen(allowed: tuple[ScalarType, ...], declared: object, hint: object, path: str) -> ScalarType:
    if declared is None:
        return allowed[0]
    for type_ in allowed:
        if type_ is declared:
            return type_
    said_text = print_type(declared) if _is_column_type(declared) else repr(declared)
    raise ColumnError(
        f"The field {path_words(path)} is {_hint_text(hint)}, but gives the column type {said_text}. Use "
        f"{' or '.join(t.value for t in allowed)}."
    )


def _hint_text(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)


Build: TypeAlias = "Callable[[Any], object]"
"""A value of a row → the field's value."""


class RowBuilders:
    """Makes instances from the rows of keys and of values; raises a ColumnError if no half matches the dataclass."""

    def __init__(self, columns: Columns, make: Callable[[Role], Callable[[object], object]]) -> None:
        self._make, self._made = make, dict[Role, Callable[[object], object]]()
        roles, problems = roles_of(columns), list[ColumnError]()
        for role in roles:
            try:
                self.of(role)
            except ColumnError as error:
                problems.append(error)
        if len(problems) == len(roles):
            raise problems[-1]

    def of(self, role: Role) -> Callable[[object], object]:
        if role not in self._made:
            self._made[role] = self._make(role)
        return self._made[role]


class _Rule(NamedTuple):
    case_rule: CaseRule
    name_of: NameOf


def dataclass_builder(
    class_: type, columns: Columns, case_rule: CaseRule, name_of: NameOf = str
) -> Callable[[object], object]:
    """A function that makes an instance from a row of these columns, and None from None."""
    rule = _Rule(CaseRule.EXACT if case_rule is CaseRule.EXACT else CaseRule.UNIQUE, name_of)
    build = _record(class_, columns, rule, path="")

    def instance(row: object) -> object:
        return None if row is None else build(row)

    return instance


def _record(class_: type, columns: tuple[Column, ...], rule: _Rule, *, path: str) -> Build:
    if not isinstance(class_, type) or not dataclasses.is_dataclass(class_):
        what = class_.__qualname__ if isinstance(class_, type) else f"an instance of {type(class_).__qualname__}"
        raise ColumnError(f"Rows become instances of a dataclass, and {what} is not one. Pass the dataclass itself.")
    name = class_.__qualname__
    hints = _hints(class_)
    fields = {rule.name_of(field.name): field for field in dataclasses.fields(class_) if field.init}
    by_name = {column.name: column for column in columns}
    try:
        fed = match_fields(tuple(fields), tuple(by_name), rule.case_rule, where="the columns")
    except CasingError as error:
        raise ColumnError(f"The fields of {name} and the columns do not match: {error.message}") from error
    surplus = [column for column in by_name if column not in fed.values()]
    if surplus:
        raise ColumnError(
            f"The column {path_words(f'{path}->{surplus[0]}')} feeds no field of {name}. Leave the column out, or give "
            f"{name} such a field."
        )
    for called, field in fields.items():
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if called not in fed and not has_default:
            raise ColumnError(
                f"No column feeds the field {name}.{called} (columns: {', '.join(by_name) or 'none'}), and the field "
                "has no default. Give the field a default, or add the column."
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
    plain, _, takes_none = _without_annotations(hint)
    build = _not_null(plain, type_, rule, path, field)
    if takes_none:
        return lambda value: None if value is None else build(value)

    def build_not_null(value: object) -> object:
        if value is None:
            raise DecodeError(
                f"The column {path_words(path)} is null, and the hint of {field} does not allow None for it. Declare it "
                f"{_hint_text(plain)} | None, because every column may be null.",
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
        case Map(values, keys) if get_origin(hint) is dict:
            _value(get_args(hint)[0], keys, rule, f"{path}->MAP_KEY", field)  # this refuses a hint that does not fit
            make = _value(get_args(hint)[1], values, rule, f"{path}->MAP_VAL", field)
            return lambda entries: {key: make(value) for key, value in entries.items()}
        case Struct(columns) if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return _record(hint, tuple(columns), rule, path=path)
        case Decimal() if hint is decimal.Decimal:
            return _same
        case ScalarType() if hint is PYTHON_TYPES[type_]:
            return _same
        case _:
            raise ColumnError(
                f"The column {path_words(path)} is {print_type(type_)}, but the field {field} is {_hint_text(hint)}. "
                "Change one of them to match the other."
            )


def _same(value: object) -> object:
    return value


def row_class(columns: object) -> type | None:
    return cast("type", columns) if isinstance(columns, type) and dataclasses.is_dataclass(columns) else None
