"""What a row has to be, worked out from what a writer wrote: ours, but sharing nothing with the code that is tested.

Only where reader and writer have the same types. Where a value is of another type than its column (in JSON it may be),
it depends on coercions, which have tables of their own: `UNKNOWN` stands there.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
from collections.abc import Iterable, Mapping
from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from tests.serde.fuzz.same import same


class Unfit(Exception):
    """No row: the value is none of the column's, or beyond what can be held."""


class _Unknown:
    pass


UNKNOWN: Final = _Unknown()
"""Anything, or none."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_RANGES: Final = {ScalarType.INTEGER: 2**31, ScalarType.BIGINT: 2**63}


def agrees(expected: object, value: object) -> bool:
    """True if the value is the one expected, as far as that is known."""
    if expected is UNKNOWN:
        return True
    if isinstance(expected, dict) and isinstance(value, dict):
        return list(expected) == list(value) and all(agrees(expected[name], value[name]) for name in expected)
    if isinstance(expected, list) and isinstance(value, list):
        return len(expected) == len(value) and all(map(agrees, expected, value))
    return same(expected, value)


def is_known(expected: object) -> bool:
    """True if nothing in it depends on a coercion."""
    parts = [expected]
    for part in parts:
        if part is UNKNOWN:
            return False
        parts.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
    return True


def _feeds(field: str, column: str, rule: CaseRule, *, has_schema: bool) -> bool:
    match rule:
        case CaseRule.EXACT:
            return field == column
        case CaseRule.UNIQUE:
            return field.lower() == column.lower()
        case CaseRule.KSQLDB_2020 if has_schema:
            return field.upper() == column.upper()
        case CaseRule.KSQLDB | CaseRule.KSQLDB_2020:
            return column in (field, field.upper())


def must_feed(reader: Columns, names: Iterable[str], rule: CaseRule, *, has_schema: bool) -> None:
    """What the root of a row needs.

    :raises Unfit: if none of a writer's fields, or a document's keys, feeds a column; to ksqlDB that is a row of nulls.
    """
    if rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020):
        return
    if not any(_feeds(name, column.name, rule, has_schema=has_schema) for name in names for column in reader):
        raise Unfit("nothing feeds a column")


def avro_row(reader: Columns, writer: Columns, raw: object, rule: CaseRule) -> object:
    """A row out of the values of an internal schema, logical types left alone.

    :raises Unfit: if there is none.
    """
    if not isinstance(raw, dict):
        return None
    made: dict[str, object] = {}
    for column in reader:
        made[column.name] = None
        for field in writer:
            if _feeds(field.name, column.name, rule, has_schema=True):
                made[column.name] = _avro_value(column.type, field.type, raw[field.name], rule)
    return made


def _avro_value(type_: ColumnType, writer: ColumnType, raw: object, rule: CaseRule) -> object:
    match type_, writer, raw:
        case _, _, None:
            return None
        case Struct(columns), Struct(fields), _:
            return avro_row(columns, fields, raw, rule)
        case Array(items), Array(written), list():
            return [_avro_value(items, written, item, rule) for item in raw]
        case Map(values), Map(written), list():
            # A null key is one, as in Java's map.
            return {entry["key"]: _avro_value(values, written, entry["value"], rule) for entry in raw}
        case Decimal(precision, scale), _, bytes():
            if not raw:
                raise Unfit("a number has bytes")
            return _decimal(int.from_bytes(raw, "big", signed=True), precision, scale)
        case ScalarType.INTEGER | ScalarType.DATE | ScalarType.TIME, _, int() if not -(2**31) <= raw < 2**31:
            raise Unfit("an int has 32 bits")
        case ScalarType.DATE | ScalarType.TIME | ScalarType.TIMESTAMP, _, int():
            return _moment(type_, raw)
    return raw


def _decimal(unscaled: int, precision: int, scale: int) -> decimal.Decimal:
    if abs(unscaled) >= 10**precision:
        raise Unfit("too many digits")
    digits = tuple(map(int, str(abs(unscaled))))
    return decimal.Decimal((int(unscaled < 0), digits, -scale))


def _moment(type_: ColumnType, number: int) -> object:
    try:
        match type_:
            case ScalarType.DATE:
                return datetime.date.fromordinal(_EPOCH.toordinal() + number)
            case ScalarType.TIME:
                if not 0 <= number < 86_400_000:
                    raise Unfit("a time is within a day")
                return (_EPOCH + datetime.timedelta(milliseconds=number)).time()
            case _:
                return _EPOCH + datetime.timedelta(milliseconds=number)
    except (ValueError, OverflowError) as error:
        raise Unfit("beyond Python's years") from error


def json_value(type_: ColumnType, value: object, rule: CaseRule, writer: ColumnType | None = None) -> object:
    """A column's value out of parsed JSON, whose fractions are Decimals.

    :param writer: the type under a JSON Schema: names are matched to those of the schema, and a MAP is a list of entries.
        None without a schema.
    :raises Unfit: if there is none.
    """
    match type_, writer:
        case _ if value is None:
            return None
        case Struct(columns), Struct(fields):
            return _object_of(columns, fields, value, rule)
        case Struct(columns), _:
            return _object(columns, value, rule)
        case Array(items), _:
            if not isinstance(value, list):
                raise Unfit("no array")
            written = writer.items if isinstance(writer, Array) else None
            return [json_value(items, item, rule, written) for item in value]
        case Map(values), Map(written):
            return _entries(values, value, rule, written)
        case Map(values), _:
            if not isinstance(value, dict):
                raise Unfit("no object")
            return {key: json_value(values, part, rule) for key, part in value.items()}
        case Decimal(precision, scale), _:
            return _number(value, precision, scale)
        case ScalarType(), _:
            return _scalar(type_, value)
    raise AssertionError(type_)


def _object(columns: Columns, value: object, rule: CaseRule) -> object:
    if not isinstance(value, dict):
        raise Unfit("no object")
    made: dict[str, object] = {}
    for column in columns:
        keys = [key for key in value if _feeds(key, column.name, rule, has_schema=False)]
        if len(keys) > 1:  # what counts then has a table of its own
            made[column.name] = UNKNOWN
        else:
            made[column.name] = json_value(column.type, value[keys[0]] if keys else None, rule)
    return made


def _object_of(columns: Columns, fields: Columns, value: object, rule: CaseRule) -> object:
    if not isinstance(value, dict):
        raise Unfit("no object")
    made: dict[str, object] = {}
    for column in columns:
        made[column.name] = None
        for field in fields:
            if _feeds(field.name, column.name, rule, has_schema=True):
                made[column.name] = json_value(column.type, value.get(field.name), rule, field.type)
    return made


def _entries(values: ColumnType, value: object, rule: CaseRule, written: ColumnType) -> object:
    if not isinstance(value, list):
        raise Unfit("no entries")
    made: dict[str, object] = {}
    for entry in value:
        if not isinstance(entry, Mapping) or entry.keys() != {"key", "value"} or not isinstance(entry["key"], str):
            return UNKNOWN
        made[entry["key"]] = json_value(values, entry["value"], rule, written)
    return made


def _number(value: object, precision: int, scale: int) -> object:
    if isinstance(value, bool | list | dict):
        raise Unfit("no number")
    if not isinstance(value, int | decimal.Decimal):
        return UNKNOWN
    sign, digits, exponent = decimal.Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    unscaled = int("".join(map(str, digits)) or "0")
    if unscaled == 0:
        return decimal.Decimal((0, (0,), -scale))
    if shift > precision or -shift > len(digits):
        raise Unfit("too many digits")
    whole, rest = divmod(unscaled * 10 ** max(shift, 0), 10 ** max(-shift, 0))
    if rest:
        raise Unfit("it would be rounded")
    return _decimal(-whole if sign else whole, precision, scale)


def _scalar(type_: ScalarType, value: object) -> object:
    match type_, value:
        case _, list() | dict() if type_ is not ScalarType.STRING:
            raise Unfit("no scalar")
        case ScalarType.BOOLEAN, bool():
            return value
        case ScalarType.BOOLEAN, _:
            raise Unfit("no boolean")
        case ScalarType.INTEGER | ScalarType.BIGINT, int() if type(value) is int:
            return value if -_RANGES[type_] <= value < _RANGES[type_] else UNKNOWN
        case ScalarType.DOUBLE, decimal.Decimal():
            return float(value) or UNKNOWN  # a zero may keep its sign
        case ScalarType.STRING, str():
            return value
        case ScalarType.BYTES, str():
            try:
                return base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                return UNKNOWN
        case ScalarType.BYTES, _:
            raise Unfit("no base64")
        case ScalarType.DATE | ScalarType.TIME, int() if type(value) is int and -(2**31) <= value < 2**31:
            return _moment(type_, value)
        case ScalarType.TIMESTAMP, int() if type(value) is int and -(2**63) <= value < 2**63:
            return _moment(type_, value)
        case _, bool() if type_ is not ScalarType.STRING:
            raise Unfit("no number")
    return UNKNOWN
