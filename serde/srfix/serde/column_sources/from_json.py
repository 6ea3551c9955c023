"""Infers columns from samples of plain JSON. ksqlDB infers nothing from plain JSON, so these rules are srfix's own.

| seen | column |
|---|---|
| true, false | BOOLEAN |
| whole numbers within 64 bits | BIGINT; INTEGER with `integers="smallest"`, if all fit 32 bits |
| other numbers, or both | DOUBLE, if no whole number loses a digit |
| texts | STRING |
| arrays, objects | ARRAY of the items' type, STRUCT of the fields of all samples; never MAP |
| null only, only empty arrays, only empty objects | none: the field is dropped, and the caller gets its path |
| any other mixture | refused; or STRING, which ksqlDB's JSON format reads from any JSON |
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, cast

from srfix.serde.column_sources.sources import source_columns
from srfix.serde.columns.types import (
    MAX_NESTING,
    Array,
    Columns,
    ColumnType,
    Namespace,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.connect.columns import Dropped, Inferred, NameRule
from srfix.serde.connect.java_text import no_constant
from srfix.serde.errors import ColumnError, SchemaError
from srfix.serde.java_ints import is_int, is_long

IntegerRule: TypeAlias = Literal["bigint", "smallest"]
"""`bigint`: whole numbers are BIGINT. `smallest`: they are INTEGER if all samples fit 32 bits."""
ConflictRule: TypeAlias = Literal["refuse", "string"]
"""What happens if no type holds all values: an error, or STRING."""

_MAX_DIGITS: Final = 400
_KINDS: Final = {
    bool: "a boolean",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}


def columns_from_json(
    samples: Iterable[str | bytes],
    *,
    names: NameRule = "upper",
    integers: IntegerRule = "bigint",
    conflicts: ConflictRule = "refuse",
) -> Columns:
    """The columns that all samples fit. Unlike `infer_json`, this does not report the fields that it leaves out.

    :raises SchemaError: if a sample is not a JSON object.
    :raises ColumnError: if the samples give no columns.
    """
    return infer_json(samples, names=names, integers=integers, conflicts=conflicts).columns


def infer_json(
    samples: Iterable[str | bytes],
    *,
    names: NameRule = "upper",
    integers: IntegerRule = "bigint",
    conflicts: ConflictRule = "refuse",
) -> Inferred:
    """The columns that all samples fit, as they first appear, and the fields whose type no sample shows."""
    root = _Summary()
    for number, sample in enumerate(samples, start=1):
        document = _loaded(sample, number)
        if not isinstance(document, dict):
            raise SchemaError(f"Sample {number} is not a JSON object; a row must be one.")
        root.add(document, "$", depth=0)
    settling = _Settling(names, integers, conflicts)
    columns = settling.columns(root, "$")
    if not columns:
        raise ColumnError("The samples show no column. Give at least one sample with a field that is not null.")
    return Inferred(usable_columns(columns), tuple(settling.dropped))


def _loaded(sample: str | bytes, number: int) -> object:
    def whole_number(digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            raise ValueError(f"a number of {len(digits):,} digits")
        return int(digits)

    try:
        return cast("object", json.loads(sample, parse_constant=no_constant, parse_int=whole_number))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"Sample {number} is not JSON: {error}.") from error


class _Summary:
    """The values of the samples at one path."""

    __slots__ = ("exact", "fields", "items", "kinds", "largest", "least")

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.fields: dict[str, _Summary] = {}
        self.items: _Summary | None = None
        self.least = 0
        self.largest = 0
        self.exact = True
        """Whether a DOUBLE holds every number in the samples."""

    def add(self, value: object, path: str, *, depth: int) -> None:
        if depth > MAX_NESTING:
            raise ColumnError(f"The samples nest deeper than {MAX_NESTING} levels at {path}. Name the columns.")
        if value is None:
            return
        self.kinds.add(type(value))
        match value:
            case bool() | str():
                pass
            case int():
                self.least, self.largest = min(self.least, value), max(self.largest, value)
                self.exact = self.exact and _fits_double(value)
            case float():
                self.exact = self.exact and math.isfinite(value)
            case list():
                self.items = self.items or _Summary()
                for item in value:
                    self.items.add(item, f"{path}[]", depth=depth + 1)
            case dict():
                for name, field in value.items():
                    self.fields.setdefault(name, _Summary()).add(field, f"{path}.{name}", depth=depth + 1)


def _fits_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


class _Settling:
    def __init__(self, names: NameRule, integers: IntegerRule, conflicts: ConflictRule) -> None:
        self._names = names
        self._integers = integers
        self._conflicts = conflicts
        self.dropped: list[Dropped] = []

    def columns(self, summary: _Summary, path: str) -> Columns:
        types = {name: self._type(field, f"{path}.{name}") for name, field in summary.fields.items()}
        fields = ((name, type_, Namespace.VALUE) for name, type_ in types.items() if type_ is not None)
        return source_columns(fields, names=self._names, where="the samples" if path == "$" else path)

    def _type(self, summary: _Summary, path: str) -> ColumnType | None:
        kinds = summary.kinds
        if not kinds:
            return self._drop(path, "only null was seen")
        if kinds == {bool}:
            return ScalarType.BOOLEAN
        if kinds == {str}:
            return ScalarType.STRING
        if kinds <= {int, float}:
            return self._number(summary, path)
        if kinds == {list} and summary.items is not None:
            if not summary.items.kinds:
                return self._drop(path, "every array was empty or had only nulls")
            items = self._type(summary.items, f"{path}[]")
            return None if items is None else Array(items)
        if kinds == {dict}:
            fields = self.columns(summary, path)
            return Struct(fields) if fields else self._drop(path, "only objects without any usable field were seen")
        return self._conflict(path, " and ".join(words for kind, words in _KINDS.items() if kind in kinds))

    def _number(self, summary: _Summary, path: str) -> ColumnType:
        if float not in summary.kinds:
            if self._integers == "smallest" and is_int(summary.least) and is_int(summary.largest):
                return ScalarType.INTEGER
            if is_long(summary.least) and is_long(summary.largest):
                return ScalarType.BIGINT
        if summary.exact:
            return ScalarType.DOUBLE
        return self._conflict(path, "numbers that neither BIGINT nor DOUBLE holds exactly")

    def _drop(self, path: str, reason: str) -> ColumnType | None:
        self.dropped.append(Dropped(path, reason))
        return None

    def _conflict(self, path: str, what: str) -> ColumnType:
        if self._conflicts == "string":
            return ScalarType.STRING
        raise ColumnError(
            f"The samples have {what} at {path}; no column type fits this. Use conflicts='string' to read these "
            "values as text, or name the columns."
        )
