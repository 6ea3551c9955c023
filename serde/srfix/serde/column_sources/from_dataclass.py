"""Columns of a Python dataclass.

| hint | column |
|---|---|
| `str`, `bool`, `int`, `float`, `bytes` | STRING, BOOLEAN, BIGINT (INTEGER if it says so), DOUBLE, BYTES |
| `date`, `time`, `datetime` | DATE, TIME, TIMESTAMP |
| `decimal.Decimal`, saying precision and scale | DECIMAL |
| `list[X]`, `dict[str, X]`, a dataclass | ARRAY, MAP, STRUCT |
| `X | None` | as X: every column may be null |

What a hint alone cannot say is said beside it: `Annotated[int, INTEGER]`, `Annotated[decimal.Decimal, Decimal(10, 2)]`,
`Annotated[int, Namespace.KEY]`, or `field(metadata={"column_type": INTEGER, "namespace": Namespace.KEY})`.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Final, NewType, TypeAlias, Union, get_args, get_origin, get_type_hints

from srfix.serde.column_sources.sources import SourceField, source_columns
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_NESTING,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
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
from srfix.serde.errors import ColumnError

NameOf: TypeAlias = Callable[[str], str]
"""The name of a dataclass's field → what it is called where it is written."""
_SCALARS: Final[dict[object, tuple[ScalarType, ...]]] = {
    str: (STRING,),
    bool: (BOOLEAN,),
    int: (BIGINT, INTEGER),
    float: (DOUBLE,),
    bytes: (BYTES,),
    datetime.date: (DATE,),
    datetime.time: (TIME,),
    datetime.datetime: (TIMESTAMP,),
}
"""Hint → the types that it may be, the default first."""


def columns_from_dataclass(class_: type, *, names: NameRule = "upper", name_of: NameOf = str) -> Columns:
    """The columns of a dataclass's fields, in their order.

    :param name_of: what a field is called where it is written: takes full_name to fullName, say.
    :raises ColumnError: if it is no dataclass, a hint cannot be resolved or fits no column type (with its path), a
        dataclass holds itself, or two fields get the same name.
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
                f"Columns can only be taken from a dataclass; {where.removeprefix('the dataclass ')} is none."
            )
        if class_ in self._open:
            raise ColumnError(f"The field {path} makes {where} hold itself, which no column can.")
        try:
            hints = get_type_hints(class_, include_extras=True)
        except (NameError, TypeError, SyntaxError) as error:
            raise ColumnError(f"The type hints of {where} cannot be resolved: {error}.") from error
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
        hint, annotated = without_annotations(hint)
        namespaces = [mark for mark in (*declared, *annotated) if isinstance(mark, Namespace)]
        if namespaces and not is_column:
            raise ColumnError(f"The field {path} of a STRUCT is declared a key. Only columns are keys.")
        types = [mark for mark in (*declared, *annotated) if _is_column_type(mark)]
        if len(types) > 1 or len(namespaces) > 1 or len(types) + len(namespaces) < len(declared):
            raise ColumnError(
                f"The field {path} says its column type or its namespace twice, or as something else. "
                "Say a column type and a Namespace once at most."
            )
        type_ = self._type(hint, types[0] if types else None, path=path, depth=depth)
        return self._name_of(field.name), type_, namespaces[0] if namespaces else Namespace.VALUE

    def _type(self, hint: object, declared: object, *, path: str, depth: int) -> ColumnType:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The type hints nest deeper than {MAX_NESTING} levels at {path}. Flatten the innermost ones."
            )
        hint, annotated = without_annotations(hint)
        for mark in annotated:
            declared = mark if _is_column_type(mark) else declared
        if hint is decimal.Decimal:
            if not isinstance(declared, Decimal):
                raise ColumnError(
                    f"The field {path} is a decimal.Decimal without precision and scale. "
                    "Say them: Annotated[decimal.Decimal, Decimal(10, 2)]."
                )
            return declared
        scalars = _SCALARS.get(hint) if isinstance(hint, type) else None
        if scalars is not None:
            return _chosen(scalars, declared, hint, path)
        if declared is not None:
            raise ColumnError(
                f"The field {path} says a column type for {_hint_text(hint)}. Say it of the part it is meant for."
            )
        return self._composite(hint, path=path, depth=depth)

    def _composite(self, hint: object, *, path: str, depth: int) -> ColumnType:
        match get_origin(hint), get_args(hint):
            case origin, (items,) if origin is list:
                return Array(self._type(items, None, path=f"{path}->ARRAY", depth=depth + 1))
            case origin, (keys, values) if origin is dict:
                if keys is not str:
                    raise ColumnError(f"The field {path} is a dict with keys of {_hint_text(keys)}; they must be str.")
                return Map(self._type(values, None, path=f"{path}->MAP_VAL", depth=depth + 1))
            case _ if isinstance(hint, type) and dataclasses.is_dataclass(hint):
                return Struct(self.columns(hint, path=path, depth=depth + 1))
            case _:
                raise ColumnError(f"The field {path} is {_hint_text(hint)}, which fits no column type.")


def without_annotations(hint: object) -> tuple[object, list[object]]:
    """The hint without `Annotated`, `NewType` and `| None`, and what the annotations said."""
    marks: list[object] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += more
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif get_origin(hint) in (Union, UnionType) and len(some := _not_none(hint)) == 1:
            hint = some[0]
        else:
            return hint, marks


def _not_none(union: object) -> list[object]:
    return [member for member in get_args(union) if member is not NoneType]


def _is_column_type(mark: object) -> bool:
    return isinstance(mark, ScalarType | Decimal | Array | Map | Struct)


def _chosen(allowed: tuple[ScalarType, ...], declared: object, hint: object, path: str) -> ScalarType:
    if declared is None:
        return allowed[0]
    for type_ in allowed:
        if type_ is declared:
            return type_
    said_text = (
        print_type(declared) if isinstance(declared, ScalarType | Decimal | Array | Map | Struct) else repr(declared)
    )
    raise ColumnError(
        f"The field {path} is {_hint_text(hint)} and says {said_text}. It can be {' or '.join(t.value for t in allowed)}."
    )


def _hint_text(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not get_args(hint) else str(hint)
