"""JSON read by the standard library, strictly: what the fuzz tests hold ours against."""

from __future__ import annotations

import decimal
import json
import math

__all__ = ["Beyond", "Refused", "exact", "plain"]


class Refused(Exception):
    """It is no JSON."""


class Beyond(Exception):
    """It is, but beyond a documented bound: half a surrogate pair, a number beyond a double, nested too deep."""


def plain(body: bytes) -> object:
    """The value, fractions as doubles.

    :raises Refused: if there is none.
    :raises Beyond: if it is one that we do not hold.
    """
    return _checked(_parsed(body, float))


def exact(body: bytes) -> object:
    """The value, fractions as Decimals; otherwise as `plain`."""
    return _checked(_parsed(body, decimal.Decimal))


def _parsed(body: bytes, parse_float: type[float] | type[decimal.Decimal]) -> object:
    try:
        text = body.decode(json.detect_encoding(body))
        return json.loads(text, parse_constant=_refused, parse_float=parse_float)
    except RecursionError as error:
        raise Beyond("too deep") from error
    except (ValueError, ArithmeticError) as error:
        raise Refused(str(error)) from error


def _checked(value: object) -> object:
    levels = [[value]]
    while levels[-1]:
        if len(levels) > 500:
            raise Beyond("too deep")
        below: list[object] = []
        for part in levels[-1]:
            if isinstance(part, dict):
                below += [*part.keys(), *part.values()]
            elif isinstance(part, list):
                below += part
            elif isinstance(part, str) and not part.isascii() and any("\ud800" <= c <= "\udfff" for c in part):
                raise Beyond("half a surrogate pair")
            elif isinstance(part, float) and not math.isfinite(part):
                raise Beyond("beyond a double")
        levels.append(below)
    return value


def _refused(constant: str) -> object:
    raise Refused(constant)
