"""Checks values of one type before they are written; misfits are collected with paths, and worded in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from srfix.serde.columns.half import only_column, require_string_keys
from srfix.serde.columns.types import Columns, usable_columns
from srfix.serde.errors import EncodeError
from srfix.serde.printable import path_words, shortened

_SHOWN_FIELDS = 10
_SHOWN_CHARACTERS = 60


class Misfit(Exception):
    """Values that do not fit, each as path and sentence. It never leaves this package: see `encode_error`."""

    def __init__(self, findings: Iterable[tuple[str, str]]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    @classmethod
    def needs(cls, what: str, value: object) -> Misfit:
        """A misfit of one value. Its callers put the path before it."""
        return cls([("", f"needs {what}, got {type(value).__name__} {shortened(repr(value), _SHOWN_CHARACTERS)}")])

    def under(self, label: str) -> Iterable[tuple[str, str]]:
        """The same findings, with the path from one level up."""
        return ((f"{label}{path}", sentence) for path, sentence in self.findings)

    def group(self) -> ExceptionGroup[EncodeError]:
        """The findings as exceptions, one for each. The group is the cause of the error of `encode_error`."""
        return ExceptionGroup("fields that do not fit", [EncodeError(line) for line in self.lines()])

    def lines(self) -> list[str]:
        """The findings as sentences without a full stop."""
        return [f"{path_words(path, 'the row')} {sentence}" for path, sentence in self.findings]


def encode_error(misfit: Misfit) -> EncodeError:
    """The error for a row: one message for all its bad fields, their paths in `.paths`."""
    lines = misfit.lines()
    more = f"; and {len(lines) - _SHOWN_FIELDS} more" if len(lines) > _SHOWN_FIELDS else ""
    count = "1 field does" if len(lines) == 1 else f"{len(lines)} fields do"
    return EncodeError(
        f"{count} not fit: {'; '.join(lines[:_SHOWN_FIELDS])}{more}.",
        paths=tuple(path for path, _ in misfit.findings),
    )


MISSING: Final = object()
"""Means "no default"; None is a default."""
Convert: TypeAlias = Callable[[object], object]
NULL: Final = ("null", None)
"""The null branch, in fastavro's tuple notation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """The check for values of one type, which also prepares them for the writer."""

    fast: Convert
    """The conversion for a correct row. Its `Misfit` has no path: `careful` finds the message."""
    careful: Convert
    """The same, but it continues after a bad field, and names all bad fields with their paths."""
    exact: type | None = None
    """A value of exactly this Python type needs no further check; None if each value needs one."""
    is_narrow: bool = False
    """True if `exact` is int and the value must also fit 32 bits, because fastavro's writer would write any int."""
    tag: str | None = None
    """The name of the union's branch; None outside of a nullable union."""

    def within(self, wrap: Callable[[Convert], Convert]) -> ValueCheck:
        """Wraps both ways in a function that sees every value first."""
        return ValueCheck(fast=wrap(self.fast), careful=wrap(self.careful))


def checked_by(convert: Convert) -> ValueCheck:
    return ValueCheck(fast=convert, careful=convert)


def or_none(check: ValueCheck) -> ValueCheck:
    made = check.within(lambda convert: lambda value: None if value is None else convert(value))
    return replace(made, exact=check.exact, is_narrow=check.is_narrow)


def nullable(check: ValueCheck, tag: str) -> ValueCheck:
    made = check.within(lambda convert: lambda value: NULL if value is None else (tag, convert(value)))
    return replace(made, exact=check.exact, is_narrow=check.is_narrow, tag=tag)


def check_json_columns(columns: Columns, *, wrapped: bool) -> None:
    """Refuses columns that cannot be used, keys of a MAP that are not STRING, and several un-wrapped columns."""
    require_string_keys(usable_columns(columns), "JSON")
    if not wrapped:
        only_column(columns)


def bare_value(row: object, name: str) -> object:
    value = row.get(name) if isinstance(row, Mapping) else None
    if value is None:
        why = (
            "is null; values are not wrapped, so the record has no bytes for a null field: pass None for the whole row"
        )
        raise Misfit([(f"->{name}", why)])
    return value


def nests_deeper(value: object, levels: int) -> bool:
    """Whether a value stands within more than this number of nested containers."""
    layer: dict[int, object] = {id(value): value}
    while layer and levels >= 0:
        levels -= 1
        # Containers are compared by identity, so that the work does not double with each level if a value contains
        # itself twice.
        layer = {
            id(part): part
            for one in layer.values()
            if isinstance(one, dict | list | tuple)
            for part in (one.values() if isinstance(one, dict) else one)
        }
    return bool(layer)
