"""The strict checks for Avro types without parts: a finer time is refused, or cut (`cut_times`). They give fastavro raw
values, because it would build a string for every value to look up a logical type's converter.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Final, TypeAlias, cast

import fastavro

from srfix.serde.columns.times import WrittenTimes
from srfix.serde.connect.coercions import EPOCH, EPOCH_DAY, NOT_FITTING, decimal_fit
from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.connect.time_units import MICROS
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.engine import WriteSchema
from srfix.serde.formats.avro.schema import TIMES, AvroNode, describe
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.value_check import MISSING, NULL, Convert, Misfit, ValueCheck
from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from srfix.serde.projection.tree import Constant, WriterField

_Scalar: TypeAlias = Callable[[AvroNode, object], object]

_SECOND: Final = datetime.timedelta(seconds=1)
WHOLE_MILLISECONDS: Final = (
    "whole milliseconds (cut the time first; a serializer or plan_write cuts it with cut_times=True)"
)
"""The requirement that a finer time does not meet. Who writes with `format("srfix")` or asks `srfix serve` for a key has no
`cut_times`."""
_FLOAT_MAX = 3.4028235677973366e38


def scalar(node: AvroNode, *, cut_times: bool = False, times: WrittenTimes = "datetimes") -> ValueCheck:
    """The check of a type without parts. With `times="integers"`, times are given as the integers to write."""
    if times == "integers" and node.kind in ("int", "long"):
        node = AvroNode(kind=node.kind)  # the integer is written unchanged, whatever its unit is
    convert, exact = _scalar(node, cut_times=cut_times)
    return ValueCheck(fast=convert, careful=convert, exact=exact, is_narrow=convert is _int)


def _scalar(node: AvroNode, *, cut_times: bool) -> tuple[Convert, type | None]:
    match TIMES.get((node.kind, node.logical or "")):
        case ("date", _):
            return _date, None
        case ("time", per_second):
            return _time(per_second, cut=cut_times), None
        case (word, per_second):
            epoch = EPOCH if word == "timestamp" else EPOCH.replace(tzinfo=None)
            return _timestamp(epoch, per_second, cut=cut_times), None
    match (node.kind, node.logical):
        case ("bytes" | "fixed", "decimal"):
            return _decimal(node), None
        case ("string", "uuid"):
            return _uuid, None
        case ("int", _):
            return _int, int
        case ("long", _):
            return _long, int  # fastavro itself refuses what does not fit 64 bits
        case ("string", _):
            return _of_type(str, "a string"), str
        case ("boolean", _):
            return _of_type(bool, "a boolean"), bool
        case ("bytes", _):
            return _of_type(bytes, "bytes"), bytes
        case ("double", _):
            return _double, float
        case ("float", _):
            return _float, None
        case ("enum", _):
            return _enum(node), None
        case ("fixed", _):
            return _fixed(node.size), None
        case _:
            return _null, None


def _of_type(kind: type, what: str) -> Convert:
    def convert(value: object) -> object:
        if isinstance(value, kind):
            return value
        raise Misfit.needs(what, value)

    return convert


def integer(low: int, high: int) -> Convert:
    def convert(value: object) -> object:
        if isinstance(value, int) and low <= value <= high and not isinstance(value, bool):
            return value
        raise Misfit.needs(f"an integer from {low} to {high}", value)

    return convert


_int = integer(INT_MIN, INT_MAX)
_long = integer(LONG_MIN, LONG_MAX)


def _double(value: object) -> object:
    if isinstance(value, float):
        return value
    # 2**53 + 1 is not a double: an integer is accepted only if the conversion is exact.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return float(value)
    raise Misfit.needs("a float", value)


def _float(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**24:
        return float(value)
    if isinstance(value, float) and not _FLOAT_MAX <= abs(value) < float("inf"):
        return value
    raise Misfit.needs("a float of 32 bits", value)


def _date(value: object) -> object:
    # For Python a datetime is a date; as a DATE it would lose its time.
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.toordinal() - EPOCH_DAY
    raise Misfit.needs("a date", value)


def _time(per_second: int, *, cut: bool) -> Convert:
    unit, is_exact = _SECOND // per_second, cut or per_second == MICROS

    def convert(value: object) -> object:
        if isinstance(value, datetime.time) and value.tzinfo is None:
            since_midnight = datetime.timedelta(
                hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
            )
            if is_exact or not value.microsecond % 1000:
                return since_midnight // unit
            raise Misfit.needs(WHOLE_MILLISECONDS, value)
        raise Misfit.needs("a time without zone", value)

    return convert


def _timestamp(epoch: datetime.datetime, per_second: int, *, cut: bool) -> Convert:
    unit, is_exact = _SECOND // per_second, cut or per_second == MICROS
    is_aware = epoch.tzinfo is not None
    what = "a datetime with a time zone" if is_aware else "a datetime without time zone"

    def convert(value: object) -> object:
        # A naive datetime is not an instant; fastavro would read it in the machine's own zone.
        if isinstance(value, datetime.datetime) and (value.tzinfo is not None) is is_aware:
            since = value - epoch
            # The microseconds of the difference, because an offset from UTC may also have microseconds.
            if is_exact or not since.microseconds % 1000:
                return since // unit
            raise Misfit.needs(WHOLE_MILLISECONDS, value)
        raise Misfit.needs(what, value)

    return convert


def _uuid(value: object) -> object:
    if isinstance(value, uuid.UUID | str):
        return str(value)
    raise Misfit.needs("a UUID", value)


def _decimal(node: AvroNode) -> Convert:
    precision, scale = node.precision or NO_PRECISION, node.scale
    unit, exact, low, bound = decimal_fit(precision, scale)

    def convert(value: object) -> object:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            raise Misfit.needs(f"a finite decimal.Decimal for DECIMAL({precision}, {scale})", value)
        if not low < value < bound:
            raise Misfit.needs(f"a number that fits DECIMAL({precision}, {scale}) without rounding", value)
        try:
            fitted = value if value.same_quantum(unit) else value.quantize(unit, None, exact)
        except NOT_FITTING:
            raise Misfit.needs(f"a number that fits DECIMAL({precision}, {scale}) without rounding", value) from None
        unscaled = int(fitted.scaleb(scale, exact)) if fitted else 0
        # `BigInteger.toByteArray`: the fewest bytes that hold the number with its sign, one byte for -128.
        bits = unscaled.bit_length() if unscaled >= 0 else (~unscaled).bit_length()
        size = node.size or bits // 8 + 1
        if bits >= size * 8:
            raise Misfit.needs(f"a number that fits DECIMAL({precision}, {scale}) in {size} bytes", value)
        return unscaled.to_bytes(size, "big", signed=True)

    return convert


def _enum(node: AvroNode) -> Convert:
    symbols = frozenset(node.symbols)

    def convert(value: object) -> object:
        if isinstance(value, str) and value in symbols:
            return value
        raise Misfit.needs(f"one of {', '.join(node.symbols)}", value)

    return convert


def _fixed(size: int) -> Convert:
    def convert(value: object) -> object:
        if isinstance(value, bytes) and len(value) == size:
            return value
        raise Misfit.needs(f"{size} bytes", value)

    return convert


def _null(value: object) -> object:
    if value is None:
        return None
    raise Misfit.needs("None", value)


def tagged(constant: Constant | None, field: WriterField[AvroType]) -> object:
    """A field's constant; `MISSING` if there is none. Whether it fits is only known when a row needs it."""
    return MISSING if constant is None else _written(field.type.node, constant.json, field.name, _as_it_is)


def default_body(field: WriterField[AvroType]) -> bytes:
    """A field's default as a body of its type, so that it is read like any value of a writer."""
    return body_of(field.type.node, _written(field.type.node, field.default, field.name, _checked))


def body_of(node: AvroNode, value: object) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, cast("dict[object, object]", WriteSchema(is_free=False).root(node)), value)
    return body.getvalue()


def _written(node: AvroNode, json: object, name: str, of_scalar: _Scalar) -> object:
    try:
        return _of_json(node, json, of_scalar)
    except (AttributeError, KeyError, Misfit, RecursionError, StopIteration, TypeError, ValueError) as error:
        raise SchemaError(
            f"The default of the field {name} does not fit its type {describe(node)}: {json!r}."
        ) from error


def _of_json(node: AvroNode, json: object, of_scalar: _Scalar) -> object:
    match node.kind:
        case "union" if json is None and (of_scalar is _as_it_is or AvroType(node).is_nullable):
            return NULL
        case "union":
            # In the specification, a default belongs to the first branch. Schemas in registries also have null first
            # with a default of another branch.
            first = next(branch for branch in node.branches if branch.kind != "null")
            return (first.name or first.kind, _of_json(first, json, of_scalar))
        case "record":
            return _record(node, cast("dict[str, object]", json), of_scalar)
        case "array":
            return [_of_json(cast("AvroNode", node.items), one, of_scalar) for one in cast("list[object]", json)]
        case "map":
            entries = cast("dict[str, object]", json).items()
            return {key: _of_json(cast("AvroNode", node.items), one, of_scalar) for key, one in entries}
        case "bytes" | "fixed":
            return of_scalar(node, cast("str", json).encode("latin-1"))  # the specification's code points 0 to 255
        case _:
            return of_scalar(node, json)


def _record(node: AvroNode, values: dict[str, object], of_scalar: _Scalar) -> dict[str, object]:
    made: dict[str, object] = {}
    for part in node.fields:
        if part.name in values:
            made[part.name] = _of_json(part.node, values[part.name], of_scalar)
        elif part.default is not MISSING:
            made[part.name] = _written(part.node, part.default, part.name, of_scalar)
        elif part.node.kind == "union" and AvroType(part.node).is_nullable:
            made[part.name] = NULL
        else:
            raise KeyError(part.name)
    return made


def _as_it_is(_: AvroNode, json: object) -> object:
    return json


def _checked(node: AvroNode, json: object) -> object:
    if node.kind in ("float", "double") and isinstance(json, str):  # NaN and the infinities, which are not JSON numbers
        json = float(json)
    return scalar(replace(node, logical=None)).careful(json)
