"""How values of one type are checked before they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

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


def or_none(check: ValueCheck) -> ValueCheck:
    """The check for values beside None, which stays None."""

    def fast(value: object, convert: Convert = check.fast) -> object:
        return None if value is None else convert(value)

    def careful(value: object, convert: Convert = check.careful) -> object:
        return None if value is None else convert(value)

    return ValueCheck(fast=fast, careful=careful, exact=check.exact, is_narrow=check.is_narrow)


def nullable(check: ValueCheck, tag: str) -> ValueCheck:
    """The check for a union of null and that type."""

    def fast(value: object, check: Convert = check.fast) -> object:
        return NULL if value is None else (tag, check(value))

    def careful(value: object, check: Convert = check.careful) -> object:
        return NULL if value is None else (tag, check(value))

    return ValueCheck(fast=fast, careful=careful, exact=check.exact, is_narrow=check.is_narrow, tag=tag)
