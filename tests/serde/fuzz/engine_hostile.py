"""Rows that fit nowhere, or hardly: of the wrong type, out of range, subclasses, keys more and keys less."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
from random import Random
from typing import Any, Final

from tests.serde.fuzz.engine_values import Value

_Int, _Float, _Bytes, _Dict, _List = (type("_Own", (kind,), {}) for kind in (int, float, bytes, dict, list))


class _Text(str):
    __slots__ = ()


class _Zone(datetime.tzinfo):
    def utcoffset(self, at: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=1)

    def dst(self, at: datetime.datetime | None) -> None:
        return None

    def tzname(self, at: datetime.datetime | None) -> None:
        return None


_EAST: Final = datetime.timezone(datetime.timedelta(hours=14))
_WEST: Final = datetime.timezone(-datetime.timedelta(hours=23, minutes=59, microseconds=1))
_D: Final = decimal.Decimal
_At: Final = datetime.datetime
_HOSTILE: Final[tuple[Value, ...]] = (
    None, True, False, 0, 1, -1, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 10**400, _Int(7),
    1.0, -0.0, math.nan, math.inf, 1e39, 3.4028235677973366e38, 3.4028235677973362e38, 1.5, _Float(1.5), 1j,
    "", "A", "a", "\ud800", "x\udc00", "é\0", "2020-01-01", _Text("A"),
    b"", b"x", b"\xff" * 20, _Bytes(b"x"), bytearray(b"ab"), memoryview(b"ab"),
    (), (1,), ("n.s.R1", {}), ("string", "x"), set(), frozenset("a"), object, Ellipsis, uuid.UUID(int=7),
    [], [None], [[]], _List(), _List([1]),
    {}, {"a": 1}, {1: 2}, {None: None}, {"\ud800": 1}, {"key": "k", "value": None}, {"-type": "n.s.R1"}, _Dict(), _Dict(A=1),
    _D("NaN"), _D("sNaN"), _D("Infinity"), _D("-0"), _D("-0.00"), _D("1E+3"), _D("1E+999999"), _D("1E-999999"), _D("1.10"),
    _D(10**75), _D("0.1234567890123456789"), _D(2**127 - 1), _D(-(2**127)), _D(-(2**255)), _D("9" * 76), _D("-" + "9" * 38),
    _D("0E+500"), _D("0E-500"), _D("12345678901234567890123456789012345678E-20"),
    datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.timedelta(1),
    _At(1, 1, 1), _At(1, 1, 1, tzinfo=_EAST), _At(9999, 12, 31, 23, 59, 59, 999_999), _At(9999, 12, 31, 23, 59, tzinfo=_WEST),
    _At(2020, 1, 1, tzinfo=_EAST), _At(2020, 1, 1, tzinfo=_WEST), _At(2020, 1, 1, tzinfo=_Zone()), _At(2020, 1, 1, 1, 2, 3, 4),
    _At(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=datetime.UTC), _At(2020, 6, 1, fold=1, tzinfo=datetime.UTC),
    datetime.time(), datetime.time(23, 59, 59, 999_999), datetime.time(1, tzinfo=datetime.UTC),
    datetime.time(1, tzinfo=_Zone()), datetime.time(1, fold=1),
)  # fmt: skip
_ALIKE: Final[tuple[tuple[type, tuple[Value, ...]], ...]] = tuple(
    (kind, tuple(each for each in _HOSTILE if isinstance(each, kind)))
    for kind in (int, float, str, bytes, decimal.Decimal, datetime.datetime, datetime.date, datetime.time)
)


def hostile(random: Random, instead_of: Value = None) -> Value:
    """Something that fits nowhere, or hardly: most often of the other value's kind."""
    alike = next((values for kind, values in _ALIKE if isinstance(instead_of, kind)), _HOSTILE)
    return random.choice(alike if random.randrange(5) < 3 else _HOSTILE)


def spoilt(random: Random, whole: Value) -> Value:
    """A copy of a value in which one part is another one: anywhere, of any kind; or a key more, or one less."""
    places: list[tuple[Any, Any]] = []
    copy = _copied(whole, places)
    if not places or random.randrange(12) == 0:
        return hostile(random)
    holder, key = random.choice(places)
    if not isinstance(holder, dict):
        holder[key] = hostile(random, holder[key])
        return copy
    match random.randrange(9):
        case 0:
            del holder[key]
        case 1:
            extra = random.choice(("extra", "A", "a", "ID", "NEXT", 7, None, _Text("b"), "key", "\ud800"))
            holder[extra] = hostile(random)
        case 2 if isinstance(key, str):
            holder[random.choice((key.lower(), key.upper(), key.title(), _Text(key)))] = holder.pop(key)
        case _:
            holder[key] = hostile(random, holder[key])
    return copy


def _copied(whole: Value, places: list[tuple[Any, Any]]) -> Value:
    if isinstance(whole, dict):
        copy: Any = {key: _copied(part, places) for key, part in whole.items()}
        places.extend((copy, key) for key in copy)
        return copy
    if isinstance(whole, list):
        items: Any = [_copied(part, places) for part in whole]
        places.extend((items, number) for number in range(len(items)))
        return items
    return whole
