"""How values of one type are checked before they are written, and those that do not fit: collected with their paths, and
turned into sentences in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from srfix.serde.columns.half import only_column, require_string_keys
from srfix.serde.columns.types import Columns, usable_columns
from srfix.serde.errors import EncodeError

_SHOWN_FIELDS = 10
_SHOWN_CHARACTERS = 60


class Misfit(Exception):
    """Values that do not fit, each as path and sentence. It never leaves this room: see `encode_error`."""

    def __init__(self, findings: Iterable[tuple[str, str]]) -> None:
        self.findings = tuple(findings)
        super().__init__(self.findings)

    @classmethod
    def needs(cls, what: str, value: object) -> Misfit:
        """One value, at the path that its callers will put before it."""
        shown = repr(value)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = f"{shown[:_SHOWN_CHARACTERS]}…"
        return cls([("", f"needs {what}, got {type(value).__name__} {shown}")])

    def under(self, label: str) -> Iterable[tuple[str, str]]:
        """The same findings, seen from one level up."""
        return ((f"{label}{path}", sentence) for path, sentence in self.findings)

    def group(self) -> ExceptionGroup[EncodeError]:
        """The findings as exceptions, one each: the cause of what `encode_error` makes."""
        return ExceptionGroup("fields that do not fit", [EncodeError(line) for line in self.lines()])

    def lines(self) -> list[str]:
        """The findings as sentences without their stop."""
        return [f"{path or 'the row'} {sentence}" for path, sentence in self.findings]


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
"""Stands for "no default"; None is a default."""
Convert: TypeAlias = Callable[[object], object]
NULL: Final = ("null", None)
"""The null branch, in fastavro's tuple notation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCheck:
    """How values of one type are checked and handed to the writer."""

    fast: Convert
    """For a row that is as it should be. Its `Misfit` has no path: `careful` finds the words."""
    careful: Convert
    """The same, but it goes on behind a bad field, and names them all with their paths."""
    exact: type | None = None
    """A value of exactly this Python type needs no further look; None where each value does."""
    is_narrow: bool = False
    """`exact` is int, and the value must fit 32 bits besides: fastavro's writer would write any."""
    tag: str | None = None
    """The name of the union's branch; None outside of a nullable union."""

    def within(self, wrap: Callable[[Convert], Convert]) -> ValueCheck:
        """Both ways, each with something around it that sees every value first."""
        return ValueCheck(fast=wrap(self.fast), careful=wrap(self.careful))


def or_none(check: ValueCheck) -> ValueCheck:
    """The check for values beside None, which stays None."""
    made = check.within(lambda convert: lambda value: None if value is None else convert(value))
    return replace(made, exact=check.exact, is_narrow=check.is_narrow)


def nullable(check: ValueCheck, tag: str) -> ValueCheck:
    """The check for a union of null and that type."""
    made = check.within(lambda convert: lambda value: NULL if value is None else (tag, convert(value)))
    return replace(made, exact=check.exact, is_narrow=check.is_narrow, tag=tag)


def check_json_columns(columns: Columns, *, wrapped: bool) -> None:
    """:raises ColumnError: if the columns cannot be used, a MAP's keys are not STRING, or there are several un-wrapped."""
    require_string_keys(usable_columns(columns), "JSON")
    if not wrapped:
        only_column(columns)


def bare_value(row: object, name: str) -> object:
    """The value of the only column."""
    value = row.get(name) if isinstance(row, Mapping) else None
    if value is None:
        raise Misfit(
            [
                (
                    f"->{name}",
                    "is null; values are not wrapped, so the record has no bytes for a null field: pass None for the whole row",
                )
            ]
        )
    return value


def nests_deeper(value: object, levels: int) -> bool:
    """True if something stands in more than so many containers, one in the other; false for a value in none."""
    layer: dict[int, object] = {id(value): value}
    while layer and levels >= 0:
        levels -= 1
        # By identity, so that a value which contains itself twice does not double with each level.
        layer = {
            id(part): part
            for one in layer.values()
            if isinstance(one, dict | list | tuple)
            for part in (one.values() if isinstance(one, dict) else one)
        }
    return bool(layer)
