"""JSON read by the standard library, strictly: what the fuzz tests hold ours against."""

from __future__ import annotations

import decimal
import json
import math


class Refused(Exception):
    """It is no JSON."""


class Beyond(Exception):
    """It is, but beyond a documented bound: half a surrogate pair, a number beyond a double, nested too deep."""


def plain(body: bytes) -> object:
    """The value, fractions as doubles.

    :raises Refused: if there is none.
    :raises Beyond: if it is one that we do not hold.
    """
    return _parsed(body, float)


def exact(body: bytes) -> object:
    """The value, fractions as Decimals; otherwise as `plain`."""
    return _parsed(body, decimal.Decimal)


def _parsed(body: bytes, parse_float: type[float] | type[decimal.Decimal]) -> object:
    shadowed: list[object] = []

    def last_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) < len(pairs):
            shadowed.extend(value for _, value in pairs)  # they are read, although others count
        return made

    try:
        text = body.decode(json.detect_encoding(body))
        value = json.loads(text, parse_constant=_refused, parse_float=parse_float, object_pairs_hook=last_of)
    except RecursionError as error:
        raise Beyond("too deep") from error
    except ArithmeticError as error:
        raise Beyond("beyond a Decimal") from error
    except ValueError as error:
        raise Refused(str(error)) from error
    _check([value, *shadowed])
    return value


def _check(values: list[object]) -> None:
    levels = [values]
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


def _refused(constant: str) -> object:
    raise Refused(constant)
