"""Rows of columns → the JSON that ksqlDB writes (Connect's `JsonConverter`, `schemas.enable=false`).

| column | JSON |
|---|---|
| BOOLEAN, INTEGER, BIGINT | the same value |
| DOUBLE | Java's text: `1.0E10`; NaN and the infinities as strings |
| STRING | a string, escaped like Jackson's |
| DECIMAL(p, s) | a number with s digits after the point, in BigDecimal's form: `1.50`, `1E-9` |
| BYTES | a string of base64 |
| DATE, TIME, TIMESTAMP | days, milliseconds of the day, milliseconds since the epoch |
| ARRAY, MAP, STRUCT | an array, objects |

All columns are written, in their order, with nulls as `null`. Rows are checked as strictly as in Avro's encoder.
"""

from __future__ import annotations

import base64
import decimal
import json as stdlib_json
import math
import re
from collections.abc import Callable, Iterable
from typing import Final

import orjson

from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde.connect.coercions import NOT_FITTING, decimal_fit
from srfix.serde.connect.java_text import Raw, compact_bytes, decimal_text, double_text
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError
from srfix.serde.formats.avro import AvroNode
from srfix.serde.formats.avro.write.scalars import scalar
from srfix.serde.formats.rows.checks import array_check, entries_check, map_check, record_of
from srfix.serde.formats.rows.value_check import (
    Convert,
    Misfit,
    ValueCheck,
    bare_value,
    check_json_columns,
    checked_by,
    encode_error,
    or_none,
)
from srfix.serde.specs import WriteSpec

# Characters that orjson and Jackson write differently: control characters without a short escape, and characters beyond
# U+FFFF.
_CONTROL: Final = b"\\u00"
_BEYOND: Final = re.compile(rb"[\xf0-\xf4]")
# Used only for its error message about NaN and the infinities.
_strict: Final = stdlib_json.JSONEncoder(allow_nan=False, check_circular=False, default=lambda _: None).encode
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """Missing columns are written as null. Without columns, any value with an unambiguous JSON form is written."""
    if spec.columns is None:
        return _encode_plain
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_encoder(spec)


def _encode_plain(value: object, prefix: bytes) -> bytes:
    """Writes every value with an unambiguous JSON form, in orjson's bytes."""
    try:
        body = orjson.dumps(value, _default, _OPTIONS)
        # orjson silently writes NaN as null.
        if b"null" in body and _has_non_finite(value):
            _strict(value)
    except orjson.JSONEncodeError:
        body = _carefully(value)
    except (ValueError, RecursionError) as error:
        raise _no_json(error) from error
    return prefix + body


def _has_non_finite(value: object) -> bool:
    """Only for values that orjson has already written, so the recursion ends."""
    parts: Iterable[object]
    if isinstance(value, dict):
        parts = value.values()
    else:
        parts = value if isinstance(value, list | tuple) else (value,)
    for part in parts:
        kind = type(part)
        if kind is float:
            if not math.isfinite(part):
                return True
        elif (kind is dict or kind is list or kind is tuple) and _has_non_finite(part):
            return True
    return False


def _default(value: object) -> object:
    if isinstance(value, Raw):
        return orjson.Fragment(value.text)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return orjson.Fragment(decimal_text(value))
    raise TypeError


def _carefully(value: object) -> bytes:
    """Writes values that orjson refuses although they have a JSON form: integers beyond 64 bits, subclasses."""
    try:
        _strict(value)
        return compact_bytes(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(error) from error


def _no_json(error: Exception) -> EncodeError:
    why = "it nests too deep" if isinstance(error, RecursionError) else error
    return EncodeError(
        f"The value cannot be written as JSON ({why}). Declare columns; they define how each value is written."
    )


def column_encoder(spec: WriteSpec, *, maps_as_entries: bool = False) -> Encode:
    """An encoder for rows, or bare values. With `maps_as_entries`, a MAP is an array of `{"key": …}`, as in JSON_SR."""
    plan = _Plan(spec.case_rule, maps_as_entries=maps_as_entries, cut_times=spec.cut_times)
    columns = with_times(spec.known_columns, spec.times)
    return check_encoder(plan.of(Struct(columns)), single=None if spec.wrapped else columns[0].name)


def column_check(type_: ColumnType, *, cut_times: bool, case_rule: CaseRule = CaseRule.EXACT) -> ValueCheck:
    """The check for values of a column's type, which also prepares them for `check_encoder`."""
    return _Plan(case_rule, maps_as_entries=False, cut_times=cut_times).of(type_)


def check_encoder(check: ValueCheck, *, single: str | None = None) -> Encode:
    """An encoder that writes a check's result as JSON; with `single`, only the value of that column."""

    def encode(row: object, prefix: bytes) -> bytes:
        try:
            value = check.fast(row)
            if single is not None:
                value = bare_value(value, single)
            body = orjson.dumps(value, _default)
            if _CONTROL in body or not (body.isascii() or _BEYOND.search(body) is None):
                body = compact_bytes(value)
        except (Misfit, TypeError, ValueError, RecursionError) as error:
            raise _explained(row, check, error) from error
        return prefix + body

    return encode


def _explained(row: object, check: ValueCheck, error: Exception) -> EncodeError:
    try:
        check.careful(row)
    except Misfit as misfit:
        return encode_error(misfit)
    except RecursionError:
        return EncodeError("The row nests too deep to be written.")
    if isinstance(error, Misfit):
        return encode_error(error)
    return EncodeError("A string of the row contains half a surrogate pair, which cannot be encoded.")


class _Plan:
    def __init__(self, case_rule: CaseRule, *, maps_as_entries: bool, cut_times: bool) -> None:
        self._scalars = _SCALARS | _CUT if cut_times else _SCALARS
        self._case_rule = case_rule
        self._maps_as_entries = maps_as_entries

    def of(self, type_: ColumnType) -> ValueCheck:
        """The check for values of a type, which also prepares them for writing. It does not handle null."""
        match type_:
            case Struct(fields):
                return self._struct([(field.name, self.of(field.type)) for field in fields])
            case Array(items):
                return array_check(or_none(self.of(items)))
            case Map(values):
                written = or_none(self.of(values))
                if not self._maps_as_entries:
                    return map_check(written)
                return entries_check(or_none(_SCALARS[ScalarType.STRING]), written, null_keys=True)
            case Decimal():
                return checked_by(_decimal(type_))
            case ScalarType():
                return self._scalars[type_]

    def _struct(self, fields: list[tuple[str, ValueCheck]]) -> ValueCheck:
        record = record_of(self._case_rule, {name: or_none(check) for name, check in fields})
        # The record's own fast way keeps the order of the row's keys; here the order must be that of the columns.
        steps = tuple((name, None if check.is_narrow else check.exact, check.fast) for name, check in fields)
        careful = record.careful

        def fast(row: object) -> object:
            if type(row) is not dict or len(row) != len(steps):
                return careful(row)
            written: dict[str, object] = {}
            try:
                for name, exact, convert in steps:
                    value = row[name]
                    written[name] = value if value is None or type(value) is exact else convert(value)
            except KeyError:
                renamed = record.renamed(row)
                return careful(row) if renamed is None else fast(renamed)
            return written

        return ValueCheck(fast=fast, careful=careful)


def _then(check: ValueCheck, finish: Callable[[object], object]) -> ValueCheck:
    return checked_by(lambda value: finish(check.fast(value)))


def _java_double(value: object) -> object:
    assert isinstance(value, float)
    # In this range orjson and Java write the same text.
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return value
    text = double_text(value)
    # Jackson's QUOTE_NON_NUMERIC_NUMBERS: NaN and the infinities are strings.
    return Raw(text) if math.isfinite(value) else text


def _base64(value: object) -> object:
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()


def _decimal(type_: Decimal) -> Convert:
    unit, exact, _, _ = decimal_fit(type_.precision, type_.scale)
    name = type_name(type_)

    def convert(value: object) -> object:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            raise Misfit.needs(f"a finite decimal.Decimal for {name}", value)
        try:
            return Raw(decimal_text(value.quantize(unit, None, exact)))
        except NOT_FITTING:
            raise Misfit.needs(f"a number that fits {name} without rounding", value) from None

    return convert


_TIMES: Final = {
    ScalarType.DATE: AvroNode(kind="int", logical="date"),
    ScalarType.TIME: AvroNode(kind="int", logical="time-millis"),
    ScalarType.TIMESTAMP: AvroNode(kind="long", logical="timestamp-millis"),
}
_CUT: Final = {column: scalar(node, cut_times=True) for column, node in _TIMES.items()}
# Avro's checks for the same columns. Avro's raw value is the number that JSON needs.
_SCALARS: Final[dict[ScalarType, ValueCheck]] = {
    ScalarType.BOOLEAN: scalar(AvroNode(kind="boolean")),
    ScalarType.INTEGER: scalar(AvroNode(kind="int")),
    # The value is checked, because orjson also writes unsigned integers of 64 bits.
    ScalarType.BIGINT: checked_by(scalar(AvroNode(kind="long")).fast),
    ScalarType.DOUBLE: _then(scalar(AvroNode(kind="double")), _java_double),
    ScalarType.STRING: scalar(AvroNode(kind="string")),
    ScalarType.BYTES: _then(scalar(AvroNode(kind="bytes")), _base64),
    **{column: scalar(node) for column, node in _TIMES.items()},
}
