"""The steps after fastavro has read a value: the closures of a decode plan."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from operator import itemgetter
from typing import Any, Final, NoReturn, TypeAlias

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import MAX_DIGITS, Decimal
from srfix.serde.connect.coercions import ensure_fit, overflow
from srfix.serde.errors import DecodeError, PayloadBoundError, SchemaError
from srfix.serde.formats.avro.schema import Analysis, AvroNode, nullable_branch
from srfix.serde.formats.rows.checks import picker
from srfix.serde.interface import Row, Value
from srfix.serde.java_ints import INT_MAX, INT_MIN
from srfix.serde.printable import path_words

# fastavro's values have the schema's shape. A cast or an isinstance would take as much time as the work itself here.
Read: TypeAlias = Any
Finish: TypeAlias = Callable[[Read], Any]
"""fastavro's value → the row's value. Raises a DecodeError if that is impossible."""

Target: TypeAlias = tuple[tuple[str, ...], Finish | None]
"""The columns that get one value (none if it does not count), and the function that makes the value."""

_READ_AS_OTHER = frozenset({"date", "time-millis"})
"""With these logical types, fastavro itself fails if the value does not fit 32 bits."""
_MAX_SCALE: Final = 100_000
_FLOAT_BITS: Final = 24
"""The number of digits of a float."""
_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def unless_none(finish: Finish) -> Finish:
    return lambda value: None if value is None else finish(value)


def null_as(default: Value, finish: Finish | None) -> Finish:
    """Connect's `Struct.get`: if a field's schema has a default, null becomes the default."""
    if finish is None:
        return lambda value: default if value is None else value
    return lambda value: default if value is None else finish(value)


def chain(first: Finish, then: Finish | None) -> Finish:
    return first if then is None else lambda value: then(first(value))


def check_int(path: str) -> Finish:
    """Refuses a number that does not fit the 32 bits of an int, because fastavro reads up to 64. Null passes."""

    def finish(value: Read) -> Read:
        if value is None or INT_MIN <= value <= INT_MAX:
            return value
        raise int_error(value, path)

    return finish


def int_error(value: object, path: str) -> DecodeError:
    return DecodeError(f"At {path_words(path)}, the body has an int of {value}, which needs more than 32 bits.")


def promotion(writer: str, reader: str, path: str) -> Finish:
    """Converts a writer's value to the type of the reader's schema (`avro.read.resolution`); null stays null."""
    match writer, reader:
        case (("int" | "long"), "float"):
            return unless_none(float32_of)
        case (("int" | "long"), "double"):
            return unless_none(float)
        case (("int" | "float"), ("long" | "double")):
            return lambda value: value
        case "string", "bytes":
            return unless_none(lambda value: value.encode())
        case _:
            return unless_none(lambda value: _text(value, path))


def float32_of(number: int) -> float:
    """The nearest 32-bit float (ties to even), as in Java's cast. A conversion through 64 bits would round twice."""
    cut = max(abs(number).bit_length() - _FLOAT_BITS, 0)
    mantissa, rest = divmod(abs(number), 1 << cut)
    half = (1 << cut) >> 1
    mantissa += cut > 0 and (rest > half or (rest == half and mantissa & 1 == 1))
    return math.copysign(float(mantissa << cut), number)


def _text(value: bytes, path: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"At {path_words(path)}, the reader's schema says string, but the bytes are not UTF-8: {error}."
        ) from None


def decimal_of_unscaled(value: bytes, scale: int, most_bytes: int, path: str) -> decimal.Decimal:
    """Unscaled bytes → a decimal of any size that converts quickly."""
    if len(value) > most_bytes:
        raise PayloadBoundError(
            f"{f'At {path_words(path)}, the' if path else 'The'} body has a decimal of {len(value):,} bytes; srfix converts at "
            f"most {most_bytes:,}. It is hostile or corrupt, or you must raise the limit (srfix.serde.bounds: "
            "decimal_bytes).",
            bound="decimal_bytes",
        )
    return decimal.Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)


def decimal_of_bytes(scale: int, column: Decimal, path: str) -> Finish:
    """Unscaled bytes → a column's decimal: Connect's `Decimal.toLogical`, then `ensureFit`. No bytes are refused."""
    if abs(scale) > _MAX_SCALE:
        raise SchemaError(f"The decimal at {path_words(path)} has an impossible scale, {scale}.")
    fit = ensure_fit(column, path)
    # The integer is compared first, so that a decimal of a megabyte is never made.
    bound = 10 ** min(max(column.precision - column.scale + scale, 0), MAX_DIGITS)
    same_scale = scale == column.scale
    most_bytes = payload_bounds().decimal_bytes
    may_be_long = bound.bit_length() > 8 * most_bytes

    def finish(value: Read) -> Value:
        if not value:
            raise DecodeError(f"At {path_words(path)}, the body has a decimal without bytes.")
        unscaled = int.from_bytes(value, "big", signed=True)
        if not -bound < unscaled < bound:
            raise overflow(unscaled, scale, column, path)
        if may_be_long and len(value) > most_bytes:
            return decimal_of_unscaled(value, scale, most_bytes, path)
        number = decimal.Decimal(unscaled).scaleb(-scale, _EXACT)
        return number if same_scale else fit(number)

    return finish


def unscaled_decimal(scale: int) -> Finish:
    most_bytes = payload_bounds().decimal_bytes

    def finish(value: Read) -> Value:
        if not value:
            raise DecodeError("The body is a decimal without bytes.")
        return decimal_of_unscaled(value, scale, most_bytes, "")

    return finish


def each_item(finish: Finish) -> Finish:
    return lambda values: [finish(value) for value in values]


def each_value(finish: Finish) -> Finish:
    return lambda values: {key: finish(value) for key, value in values.items()}


def entries_to_dict(key: Finish | None, value: Finish | None) -> Finish:
    """Map entries → a dict. If a key occurs twice, the last entry counts, as in AvroData's map."""
    if key is None and value is None:
        return lambda entries: {entry["key"]: entry["value"] for entry in entries}

    def finish(entries: Read) -> Value:
        made: dict[str, Value] = {}
        for entry in entries:
            name, part = entry["key"], entry["value"]
            if key is not None:
                name = key(name)
            made[name] = part if value is None else value(part)
        return made

    return finish


def refusal(error: DecodeError) -> Finish:
    def refuse(_: Read) -> NoReturn:
        # An exception that is raised twice collects tracebacks.
        raise copy(error)

    return refuse


def finish_row(
    *,
    ints: tuple[tuple[str, str], ...],
    finishes: tuple[tuple[str, Finish], ...],
    shared: tuple[tuple[str, tuple[Target, ...]], ...],
    absent: Mapping[str, Value],
    picks: tuple[str, ...] | None,
    as_values: bool = False,
) -> Finish | None:
    """A record → a row, or (`as_values`) the row's values in the columns' order."""
    nothing: Row = dict(absent)
    # A value with parts is copied, because the row's owner may change it.
    has_parts = any(isinstance(value, list | dict) for value in nothing.values())
    take: Finish | None = None
    if as_values:
        take = dict.values if picks is None else picker(picks)
    if not ints and not finishes and (picks is None or (as_values and not shared and not nothing)):
        return take
    pick = itemgetter(*picks) if picks is not None and len(picks) > 1 else None

    def finish(row: Read) -> Read:
        for name, path in ints:
            number = row[name]
            if number is not None and not INT_MIN <= number <= INT_MAX:
                raise int_error(number, path)
        for name, finish_field in finishes:
            row[name] = finish_field(row[name])
        if picks is None:
            return row if take is None else take(row)
        for name, targets in shared:
            read = row[name]
            for columns, finish_target in targets:
                made = read if finish_target is None else finish_target(read)
                for column in columns:
                    row[column] = made
        if nothing:
            row.update(deepcopy(nothing) if has_parts else nothing)
        if take is not None:
            return take(row)
        if pick is None:
            return {name: row[name] for name in picks}
        return dict(zip(picks, pick(row), strict=True))

    return finish


def finish_union(
    *,
    names: tuple[str, ...],
    refusals: tuple[Finish, ...],
    targets: Mapping[str, tuple[Target, ...]],
) -> Finish:
    """A union's branch, read as a record of one field, → Connect's STRUCT. `refusals` are raised for any branch."""

    def finish(value: Read) -> Value:
        for refuse in refusals:
            refuse(None)
        row: Row = dict.fromkeys(names)
        for name, read in value.items():
            for columns, finish_target in targets.get(name, ()):
                made = read if finish_target is None else finish_target(read)
                for column in columns:
                    row[column] = made
        return row

    return finish


def int_check(root: AvroNode) -> Finish | None:
    """Refuses a value with an int beyond 32 bits; None if there are no ints. Not for a root that `hides_ints`."""
    return _walk(root) if Analysis(root).is_recursive else _of(root, "")


def hides_ints(root: AvroNode) -> bool:
    """Whether an int stands in a union of several types beside null: only the reader knows a value's branch."""
    seen: set[tuple[AvroNode, bool]] = set()
    stack = [(root, False)]
    while stack:
        node, in_union = stack.pop()
        if (node, in_union) in seen:
            continue
        seen.add((node, in_union))
        if in_union and is_plain_int(node):
            return True
        below = in_union or (node.kind == "union" and nullable_branch(node) is None)
        stack.extend((part, below) for part in node.parts)
    return False


def is_plain_int(node: AvroNode) -> bool:
    """True for an int that is read as a number."""
    return node.kind == "int" and node.logical not in _READ_AS_OTHER


def _walk(root: AvroNode) -> Finish:
    """A check without recursion, for recursive schemas, whose values may nest to any depth."""

    def check(value: Read) -> Read:
        stack = [(root, value)]
        while stack:
            node, part = stack.pop()
            branch = nullable_branch(node)
            if part is None or branch is None:
                continue
            kind = branch[0]
            if kind.kind == "record":
                row = part
                stack.extend((field.node, row[field.name]) for field in kind.fields)
            elif kind.items is not None:
                items = part if kind.kind == "array" else part.values()
                stack.extend((kind.items, item) for item in items)
            elif _is_int(kind) and not INT_MIN <= part <= INT_MAX:
                raise int_error(part, "")
        return value

    return check


def _of(node: AvroNode, path: str) -> Finish | None:
    branch = nullable_branch(node)
    if branch is None:
        return None
    value = branch[0]
    check = _of_value(value, path)
    return check if value is node or check is None or _is_int(value) else unless_none(check)


def _of_value(node: AvroNode, path: str) -> Finish | None:
    if _is_int(node):
        return check_int(path)
    if node.kind == "record":
        ints = tuple((part.name, f"{path}->{part.name}") for part in node.fields if _is_int(part.node))
        checks = ((part, _of(part.node, f"{path}->{part.name}")) for part in node.fields if not _is_int(part.node))
        finishes = tuple((part.name, check) for part, check in checks if check is not None)
        return finish_row(ints=ints, finishes=finishes, shared=(), absent={}, picks=None)
    if node.items is None:
        return None
    is_array = node.kind == "array"
    check = _of(node.items, f"{path}->ARRAY" if is_array else f"{path}->MAP_VAL")
    return None if check is None else _check_each(check, iter if is_array else dict.values)


def _is_int(node: AvroNode) -> bool:
    branch = nullable_branch(node)
    return branch is not None and is_plain_int(branch[0])


def _check_each(check: Finish, parts_of: Finish) -> Finish:
    def check_parts(value: Read) -> Read:
        for part in parts_of(value):
            check(part)
        return value

    return check_parts
