"""Messages → rows under columns, through Connect: `ProtobufData.toConnectData`, then `ConnectDataTranslator`.

| in the body | a column's value |
|---|---|
| an absent scalar | its default, 0 or empty; null if it is `optional` or in a oneof |
| an absent message | null |
| an absent repeated field or map | an empty ARRAY or MAP |
| an absent required field | the body is refused |
| an enum | the value's name; `UNKNOWN_ENUM_VALUE_<enum>_<number>` for a number without a name, as in Java |
| a proto2 string that is not UTF-8 | with U+FFFD, as in Java, under ksqlDB's own case rules; in maps and otherwise refused |
| a uint64 or fixed64 of 2⁶³ or more | a negative number, like a Java long, under ksqlDB's own case rules; otherwise refused |
| `confluent.type.Decimal` | the number, with the scale in the message |
| one with more digits than its own precision | rounded, as in Java, under ksqlDB's own case rules; otherwise refused |
| `google.type.Date` before 1582-10-15 | a Julian day, as in Java, under ksqlDB's own case rules; otherwise refused |
| `google.type.TimeOfDay`, `google.protobuf.Timestamp` | cut to milliseconds under ksqlDB's own case rules; otherwise exact |

In a payload, the message's indexes stand before the body (`MessageIndexes.readFrom`): zigzag varints, or a single 0 byte for
the schema's first message. The runtime parses the body: it limits the depth, and checks the strings of proto3. Fields that the
schema lacks are ignored.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from functools import lru_cache
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Array, Decimal, Map, ScalarType
from srfix.serde.connect.coercions import Coercion, coercion
from srfix.serde.connect.schema import DECIMAL_NAME, ConnectType
from srfix.serde.connect.time_units import NANOS, reads_units
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, OutOfRangeError, SchemaError
from srfix.serde.formats.avro.read.finish import decimal_of_bytes, decimal_of_unscaled
from srfix.serde.formats.json.budget import Budget, cost_of_default
from srfix.serde.formats.protobuf.connect import STRING, UNSIGNED_64, ProtoType
from srfix.serde.formats.protobuf.descriptors import class_of, message_of
from srfix.serde.formats.protobuf.indexes import FIRST, read_indexes
from srfix.serde.formats.protobuf.room import FEWEST_BYTES, has_required, room_check
from srfix.serde.interface import Row, Value
from srfix.serde.java_ints import LONG_MAX
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor

Read: TypeAlias = Callable[[Any], Value]
"""The runtime's value → the column's value."""
_GREGORIAN: Final = (1582, 10, 15)
_GREGORIAN_DAY: Final = "1582-10-15"
"""The first day on which Java uses the Gregorian calendar. google.type.Date uses it for all days."""
_LAST_JULIAN: Final = (1582, 10, 4)
_NANO: Final = 1_000_000_000
_MILLI: Final = 1_000_000
_FIRST_SECOND: Final = -62_135_596_800
_LAST_SECOND: Final = 253_402_300_799
_EMPTY: Final = cost_of_default([])
_DIGITS_PER_BYTE: Final = 2.41
"""log₁₀ 256, rounded up."""
_BITS: Final = {ConnectType.INT8: 8, ConnectType.INT16: 16}
_SAME: Final = {
    (ConnectType.BOOLEAN, ScalarType.BOOLEAN),
    (ConnectType.INT32, ScalarType.INTEGER),
    (ConnectType.INT32, ScalarType.BIGINT),
    (ConnectType.INT64, ScalarType.BIGINT),
    (ConnectType.FLOAT32, ScalarType.DOUBLE),
    (ConnectType.FLOAT64, ScalarType.DOUBLE),
    (ConnectType.STRING, ScalarType.STRING),
    (ConnectType.BYTES, ScalarType.BYTES),
}
"""The pairs of types for which the runtime's value already is the column's value."""


def body_decoder(make: Callable[[tuple[int, ...]], Callable[[bytes], Value]], *, framed: bool) -> Decode:
    """A decoder of payloads, with message indexes if `framed`. `make` gives the reader of a message's bodies."""
    first = make((0,))
    if not framed:
        return lambda payload, offset: first(payload[offset:] if offset else payload)
    others: dict[tuple[int, ...], Callable[[bytes], Value]] = {(0,): first}

    def decode(payload: bytes, body_offset: int) -> Value:
        start = body_offset + 1
        if payload[body_offset:start] == FIRST:
            return first(payload[start:])
        indexes, start = read_indexes(payload, body_offset)
        read = others.get(indexes)
        if read is None:
            try:
                read = make(indexes)
            except IndexError:
                raise DecodeError(
                    f"The payload's message indexes {list(indexes)} name no message of the writer's schema. It is corrupt, or "
                    "its producer is not a Protobuf serializer with a registry."
                ) from None
            except SchemaError as error:  # only of this payload: others can hold other messages of the schema
                raise DecodeError(
                    f"The payload's message indexes {list(indexes)} name an unusable message: {error}"
                ) from error
            others[indexes] = read  # at most one entry for each message of the schema
        return read(payload[start:])

    return decode


def reader(message: Descriptor, read: Callable[[Any], Value], budget: Budget | None = None) -> Callable[[bytes], Value]:
    """The reader of a message's bodies. Without a `budget`, required fields may be missing, as with the runtime."""
    from google.protobuf.message import DecodeError as ParseError

    made = class_of(message)
    parse, measured = made.FromString, room_check(message)
    lacking = made.FindInitializationErrors if budget is not None and has_required(message) else None

    def read_body(body: bytes) -> Value:
        try:
            parsed = parse(body)
        except ParseError as error:
            raise _no_message(message, body, error) from error
        return read(parsed)

    if measured is None and lacking is None and (budget is None or not budget.is_needed):
        return read_body

    def read_checked(body: bytes) -> Value:
        try:
            if measured is not None:
                measured(body)
            parsed = parse(body)
        except ParseError as error:
            raise _no_message(message, body, error) from error
        if lacking is not None and (names := lacking(parsed)):
            raise DecodeError(f"The body lacks fields that its schema requires: {', '.join(names)}.")
        if budget is not None:
            budget.begin(len(body))
        return read(parsed)

    return read_checked


def _no_message(message: Descriptor, body: bytes, error: Exception) -> DecodeError:
    return DecodeError(
        f"The {len(body)} bytes of the body are not a message {message.full_name} ({error}). They are corrupt or cut off, or "
        "were written under another schema."
    )


def column_reader(
    message: Descriptor, projection: Projection[ProtoType], case_rule: CaseRule
) -> Callable[[bytes], Value]:
    """Makes the reader of a message's bodies that returns rows with the columns."""
    plan = _Plan(is_exact=reads_units(case_rule))
    read = plan.read(projection.root)
    if projection.unfed is not None:
        read = projection.unfed.refuse
    elif not projection.is_wrapped:
        name, value = projection.columns[0].name, read
        read = lambda parsed: {name: value(parsed)}  # noqa: E731
    return reader(message, read, plan.budget)


class _Plan:
    def __init__(self, *, is_exact: bool) -> None:
        self.budget = Budget(FEWEST_BYTES)
        self._is_exact = is_exact

    def read(self, value: Projected[ProtoType], *, is_repeated: bool = False) -> Read:
        """Makes the reader of a value that is present."""
        match value.how:
            case Refused():
                return value.how.refuse
            case Fields() if value.writer.is_union:
                return self._oneof(value.how, is_repeated=is_repeated)
            case Fields():
                return self._message(value.writer, value.how, is_repeated=is_repeated)
            case Items(items):
                return _list(self.read(items, is_repeated=True), is_same=_is_same(items))
            case Entries(keys, values):
                assert value.writer.field is not None
                return _map(value.writer.field, self.read(keys, is_repeated=True), self.read(values, is_repeated=True))
            case Scalar():
                read = _leaf(value.writer, value.how, value.path, self.budget, is_exact=self._is_exact)
                is_root = value.writer.field is not None and value.path == ""
                return _held(read) if is_root or is_held(value.writer) else read

    def _message(self, writer: ProtoType, of: Fields[ProtoType], *, is_repeated: bool) -> Read:
        """Makes the reader of a message: one expression, as a person would write it, `{"ID": m.id, "NAME": v1(m.name)}`."""
        # `HasField` comes from the class, because a field of the message can have this name.
        names: dict[str, object] = {
            "spend": self.budget.spend,
            "has": class_of(cast("Descriptor", writer.holds)).HasField,
        }
        values: dict[str, list[str]] = {column.name: [] for column in of.columns}
        for target in of.targets:
            values[target.column.name].append(self._expression(target.value, names, is_repeated=is_repeated))
        # If several fields feed a column, all are read, because each can be refused; the last one counts.
        columns = [
            f"{name!r}: " + (f"({', '.join(reads)})[-1]" if len(reads) > 1 else "".join(reads) or "None")
            for name, reads in values.items()
        ]
        price = self._price(of) if is_repeated else 0
        paid = f"spend({price}) or " if price else ""
        row: Read = eval(f"lambda m: {paid}{{{', '.join(columns)}}}", names)  # noqa: S307 - identifiers, and quoted names
        return row

    def _price(self, of: Fields[ProtoType]) -> int:
        """The price of a row whose message is empty: it has an ARRAY or a MAP all the same."""
        return self.budget.price_of_row(_EMPTY if isinstance(column.type, Array | Map) else 1 for column in of.columns)

    def _expression(self, value: Projected[ProtoType], names: dict[str, object], *, is_repeated: bool) -> str:
        """The expression for a part of the message `m`; it gives None if the part is absent."""
        writer = value.writer
        if isinstance(value.how, Refused) or writer.is_union:
            read = value.how.refuse if isinstance(value.how, Refused) else self.read(value, is_repeated=is_repeated)
            return f"{_named(names, read)}(m)"
        assert writer.field is not None
        name = writer.field.name
        part = f"m.{name}" if name.isidentifier() and not iskeyword(name) else f"getattr(m, {name!r})"
        if not _is_same(value):
            part = f"{_named(names, self.read(value, is_repeated=is_repeated))}({part})"
        return part if _is_always_there(writer) else f"{part} if has(m, {name!r}) else None"

    def _oneof(self, of: Fields[ProtoType], *, is_repeated: bool) -> Read:
        """Makes the reader of a oneof. It takes the message that contains the oneof, and gives null if no field is set."""
        fields = [field.type.field for field in of.fields]
        oneof = cast("FieldDescriptor", fields[0]).containing_oneof
        assert oneof is not None
        chosen_by, which = oneof.name, class_of(oneof.containing_type).WhichOneof
        reads: dict[str, list[tuple[str, Read]]] = {}
        for target in of.targets:
            how = target.value.how
            value_read = how.refuse if isinstance(how, Refused) else self.read(target.value, is_repeated=is_repeated)
            reads.setdefault(target.field.name, []).append((target.column.name, value_read))
        nulls: Row = {column.name: None for column in of.columns}
        price = self._price(of) if is_repeated else 0

        def read(message: Any) -> Value:
            chosen = which(message, chosen_by)
            if chosen is None:
                return None
            if price:
                self.budget.spend(price)
            row = nulls.copy()
            for name, value_of in reads.get(chosen, ()):
                row[name] = value_of(getattr(message, chosen))
            return row

        return read


def _named(names: dict[str, object], value: object) -> str:
    """Gives a value a name that the expression can use."""
    name = f"v{len(names)}"
    names[name] = value
    return name


def _is_always_there(writer: ProtoType) -> bool:
    """Whether a field has a value even if nothing was written (`ProtobufData.setStructField`)."""
    field = writer.field
    if field is None:
        return False
    if writer.connect in (ConnectType.ARRAY, ConnectType.MAP):
        return True
    return field.message_type is None and not is_optional(field)


def is_optional(field: FieldDescriptor) -> bool:
    """Whether null differs from the default: for an `optional` field (in proto2 by `optional.for.proto2`), and in a oneof."""
    return field.containing_oneof is not None or (field.has_presence and not field.is_required)


def _is_same(value: Projected[ProtoType]) -> bool:
    how, field = value.how, value.writer.field
    if not isinstance(how, Scalar) or field is None or field.enum_type is not None or is_held(value.writer):
        return False
    if field.type == STRING and not _has_text(field):
        return False
    if field.type in UNSIGNED_64 or how.refusal is not None or how.coercion is not Coercion.SAME:
        return False
    return (how.connect, how.type) in _SAME and not value.writer.is_logical


def is_held(writer: ProtoType) -> bool:
    """Whether the value stands in one of the wrapper messages. It must not be a STRUCT."""
    field = writer.field
    return field is not None and field.message_type is not None and not writer.is_logical


def _held(read: Read) -> Read:
    return lambda message: read(message.value)


def _list(read: Read, *, is_same: bool) -> Read:
    if is_same:
        return list
    return lambda values: [read(value) for value in values]


def _map(field: FieldDescriptor, key: Read, value: Read) -> Read:
    entry = message_of(field)
    if not entry.GetOptions().map_entry:
        # An entry without a value has its type's default, also if the type is a message.
        return lambda entries: {key(entry.key): value(entry.value) for entry in entries}  # type: ignore[misc]  # a string

    def read(entries: Any) -> Value:
        return {key(name): value(part) for name, part in entries.items()}  # type: ignore[misc]  # a string

    if entry.fields[0].type != STRING or _has_text(entry.fields[0]):
        return read

    def read_texts(entries: Any) -> Value:
        try:
            return read(entries)
        except UnicodeDecodeError:  # the runtime cannot look up such a key
            raise DecodeError(f"A key of the map {field.name} is not UTF-8. It is corrupt.") from None

    return read_texts


def _leaf(writer: ProtoType, how: Scalar, path: str, budget: Budget, *, is_exact: bool) -> Read:
    """Makes the reader of a value without parts, which can be a message that Connect treats as one value."""
    nanos = how.per_second == NANOS and how.coercion in (Coercion.TIME, Coercion.TIMESTAMP)
    raw = _raw(writer, how, path, budget, in_nanos=nanos, is_exact=is_exact)
    if isinstance(how.type, Decimal) and writer.name == DECIMAL_NAME:
        return cast("Read", raw)
    coerce = coercion(how.connect, None if nanos else how.name, how.type, path, per_second=how.per_second)
    if raw is None or coerce is None:
        return raw or coerce or (lambda value: value)
    convert, then = raw, coerce
    return lambda value: then(convert(value))


def _raw(writer: ProtoType, how: Scalar, path: str, budget: Budget, *, in_nanos: bool, is_exact: bool) -> Read | None:
    """Converts the runtime's value to Connect's number, text or bytes; None if they are the same."""
    field = writer.field
    assert field is not None
    if is_held(writer):
        (field,) = message_of(field).fields
    where = path or "the root"
    match writer.name if writer.is_logical else None:
        case "org.apache.kafka.connect.data.Decimal":
            return _decimal(how.type, path, is_exact) if isinstance(how.type, Decimal) else lambda _: None
        case "org.apache.kafka.connect.data.Date":
            return lambda message: _days(message.year, message.month, message.day, where, is_exact)
        case "org.apache.kafka.connect.data.Time":
            return lambda message: _of_nanos(_nanos_of_day(message, where), where, in_nanos, is_exact)
        case "org.apache.kafka.connect.data.Timestamp":
            return lambda message: _of_nanos(_nanos_since(message, where), where, in_nanos, is_exact)
    if field.enum_type is not None:
        return _names(field.enum_type, budget)
    if field.type == STRING and not _has_text(field):
        in_map = cast("Descriptor", field.containing_type).GetOptions().map_entry  # Java checks the strings of maps
        return lambda text: _text(text, where, is_exact or in_map)
    if field.type in UNSIGNED_64:
        return lambda number: _long(number, where, is_exact)
    if how.connect in _BITS:
        bits = _BITS[how.connect]
        return lambda number: (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return None


def _names(enum: EnumDescriptor, budget: Budget) -> Read:
    names: dict[int, str] = {value.number: value.name for value in reversed(enum.values)}
    unknown = f"UNKNOWN_ENUM_VALUE_{enum.name}_"
    # One byte of the body becomes a name whose length only the schema limits.
    price = budget.price(cost_of_default(max(unknown, *names.values(), key=len)))
    if price:
        return lambda number: budget.spend(price) or names.get(number, f"{unknown}{number}")  # type: ignore[func-returns-value]
    return lambda number: names.get(number, f"{unknown}{number}")


def _has_text(field: FieldDescriptor) -> bool:
    """Whether the runtime has checked that a string is UTF-8. In proto2 it does not."""
    assert field.containing_type is not None
    return _is_proto3(field.containing_type.file)


@lru_cache(maxsize=256)
def _is_proto3(file: FileDescriptor) -> bool:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto.syntax == "proto3"


def _text(text: str | bytes, where: str, is_exact: bool) -> str:
    """Java replaces bytes that are not UTF-8 with U+FFFD (`ByteString.toStringUtf8`); the runtime returns them."""
    if isinstance(text, str):
        return text
    if is_exact:
        raise DecodeError(f"The string at {where} is not UTF-8. It is corrupt, or its field really holds bytes.")
    return text.decode(errors="replace")


def _long(number: int, where: str, is_exact: bool) -> Value:
    if number <= LONG_MAX:
        return number
    if is_exact:
        raise OutOfRangeError(
            f"The value {number} at {where} is an unsigned number that no column can hold: BIGINT ends at {LONG_MAX}. ksqlDB "
            "reads it as a negative number, and so does srfix with case_rule='ksqldb'.",
            path=where,
            column_type="BIGINT",
        )
    return number - (1 << 64)


def _decimal(column: Decimal, path: str, is_exact: bool) -> Read:
    usual, of_bytes = column.scale, decimal_of_bytes(column.scale, column, path)

    def read(message: Any) -> Value:
        scale: int = message.scale
        try:
            convert = of_bytes if scale == usual else decimal_of_bytes(scale, column, path)
        except SchemaError as error:  # in Avro the scale is in the schema, but here it is in the payload
            raise DecodeError(str(error)) from error
        value: bytes = message.value
        precision: int = message.precision
        if precision >> 31:  # Java has a negative number, which it refuses
            raise DecodeError(f"The decimal at {path or 'the root'} has an impossible precision, {precision}.")
        if 0 < precision < len(value) * _DIGITS_PER_BYTE:
            value = _with_digits(value, precision, path, is_exact)
        return cast("Value", convert(value))

    return read


def _with_digits(value: bytes, precision: int, path: str, is_exact: bool) -> bytes:
    """An unscaled number, rounded to the message's own precision as Java rounds it (`MathContext`)."""
    unscaled = decimal_of_unscaled(value, 0, payload_bounds().decimal_bytes, path)
    if unscaled.adjusted() < precision:
        return value
    if is_exact:
        raise DecodeError(
            f"The decimal at {path or 'the root'} has more digits than its own precision, {precision}. Its producer is wrong, "
            "and ksqlDB would round the number."
        )
    rounded = int(decimal.Context(prec=precision, rounding=decimal.ROUND_HALF_UP).plus(unscaled))
    return rounded.to_bytes(len(value) + 1, "big", signed=True)


def _days(year: int, month: int, day: int, where: str, is_exact: bool) -> int:
    """The days since 1970-01-01 (as in a `GregorianCalendar` that is not lenient)."""
    shown, is_julian = f"{year}-{month:02}-{day:02}", (year, month, day) < _GREGORIAN
    if is_julian and is_exact:
        raise _no_time(shown, where, f"before {_GREGORIAN_DAY}, and ksqlDB would read it as another day")
    is_leap = year % 4 == 0 and (is_julian or year % 100 != 0 or year % 400 == 0)
    most = 0 if not 1 <= month <= 12 else 28 + is_leap if month == 2 else 30 + ((month + month // 8) % 2)
    if not (year >= 1 and 1 <= day <= most) or _LAST_JULIAN < (year, month, day) < _GREGORIAN:
        raise _no_time(shown, where, "not a day of the calendar")
    # Years are counted from March, so that a leap day is the last day of its year.
    years, months = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * years + years // 4 + (153 * months + 2) // 5 + day
    return days - 719_471 if is_julian else days - years // 100 + years // 400 - 719_469


def _nanos_of_day(message: Any, where: str) -> int:
    hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
    if 0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < _NANO:
        return ((hours * 60 + minutes) * 60 + seconds) * _NANO + nanos  # type: ignore[no-any-return]
    raise _no_time(f"{hours}:{minutes}:{seconds} and {nanos} ns", where, "not a time of day")


def _nanos_since(message: Any, where: str) -> int:
    seconds, nanos = message.seconds, message.nanos
    if _FIRST_SECOND <= seconds <= _LAST_SECOND and 0 <= nanos < _NANO:
        return seconds * _NANO + nanos  # type: ignore[no-any-return]
    raise _no_time(f"{seconds} s and {nanos} ns", where, "not an instant of the years 1 to 9999")


def _of_nanos(nanos: int, where: str, in_nanos: bool, is_exact: bool) -> int:
    if in_nanos:
        return nanos
    millis, rest = divmod(nanos, _MILLI)
    if rest and is_exact:
        raise _no_time(
            f"{nanos} ns",
            where,
            "finer than milliseconds, but a time that is read as a number or text has only milliseconds",
        )
    return millis


def _no_time(shown: str, where: str, why: str) -> OutOfRangeError:
    return OutOfRangeError(f"The value {shown} at {where} is {why}.", path=where, column_type="")


def plain_reader(message: Descriptor) -> Callable[[bytes], Value]:
    """The reader of dicts in the encoder's form: enums as names, every message as a dict. An absent field is None, but in
    a oneof of several fields it is left out."""
    plain = _Plain()
    return reader(message, plain.message, plain.budget)


class _Plain:
    def __init__(self) -> None:
        self.budget = Budget(FEWEST_BYTES)
        self.budget.is_needed = True  # always, because the prices are known only when messages are read
        self._messages: dict[str, tuple[list[tuple[str, Read, bool, bool]], Callable[[Any, str], bool], int]] = {}

    def message(self, message: Any) -> Row:
        # `DESCRIPTOR` comes from the class, because a field of the message can have this name.
        descriptor: Descriptor = type(message).DESCRIPTOR
        known = self._messages.get(descriptor.full_name)
        if known is None:
            known = self._messages[descriptor.full_name] = self._known(descriptor)
        fields, has, price = known
        if price:
            self.budget.spend(price)
        row: Row = {}
        for name, read, may_lack, is_in_oneof in fields:
            if not may_lack or has(message, name):
                row[name] = read(getattr(message, name))
            elif not is_in_oneof:
                row[name] = None
        return row

    def _known(self, message: Descriptor) -> tuple[list[tuple[str, Read, bool, bool]], Callable[[Any, str], bool], int]:
        price = self.budget.price_of_row(_EMPTY if field.is_repeated else 1 for field in message.fields)
        return [self._field(field) for field in message.fields], class_of(message).HasField, price

    def _field(self, field: FieldDescriptor) -> tuple[str, Read, bool, bool]:
        oneof = field.containing_oneof
        is_in_oneof = oneof is not None and len(oneof.fields) > 1
        if field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry:
            read = _map(field, *map(self._value, field.message_type.fields))
        elif field.is_repeated:
            read = _list(self._value(field), is_same=False)
        else:
            read = self._value(field)
        return field.name, read, field.has_presence and not field.is_repeated, is_in_oneof

    def _value(self, field: FieldDescriptor) -> Read:
        if field.enum_type is not None:
            return _names(field.enum_type, self.budget)
        if field.type == STRING and not _has_text(field):
            return lambda text: _text(text, field.name, is_exact=True)
        return self.message if field.message_type is not None else lambda value: value
