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
"""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final, cast

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Array, Decimal, Map
from srfix.serde.connect.coercions import Coercion, coercion
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, NARROW, TIME_NAME, TIMESTAMP_NAME, ConnectType
from srfix.serde.connect.time_units import NANOS, reads_units
from srfix.serde.errors import DecodeError, OutOfRangeError
from srfix.serde.formats.avro.read.leaves import narrowed
from srfix.serde.formats.json.budget import Budget, cost_of_default
from srfix.serde.formats.protobuf.bodies import FEWEST_BYTES, reader
from srfix.serde.formats.protobuf.connect import STRING, UNSIGNED_64, ProtoType
from srfix.serde.formats.protobuf.descriptors import class_of, is_proto3, message_of
from srfix.serde.formats.protobuf.logical import Read, days_of, decimal_reader, nanos_of_day, nanos_since, of_nanos
from srfix.serde.interface import Row, Value
from srfix.serde.java_ints import LONG_MAX
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

EMPTY_COST: Final = cost_of_default([])


def column_reader(
    message: Descriptor, projection: Projection[ProtoType], case_rule: CaseRule
) -> Callable[[bytes], Value]:
    plan = _Plan(is_exact=reads_units(case_rule))
    read = plan.read(projection.root) or same
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

    def read(self, value: Projected[ProtoType], *, is_repeated: bool = False) -> Read | None:
        """Makes the reader of a value that is present; None if the runtime's value already is the column's value."""
        match value.how:
            case Refused():
                return value.how.refuse
            case Fields() if value.writer.is_union:
                return self._oneof(value.writer, value.how, is_repeated=is_repeated)
            case Fields():
                return self._message(value.writer, value.how, is_repeated=is_repeated)
            case Items(items):
                return list_reader(self.read(items, is_repeated=True))
            case Entries(keys, values):
                assert value.writer.field is not None
                return map_reader(
                    value.writer.field, self.read(keys, is_repeated=True), self.read(values, is_repeated=True)
                )
            case Scalar():
                leaf = self._leaf(value.writer, value.how, value.path)
                if not value.writer.is_held and (value.writer.field is None or value.path):
                    return leaf
                read = leaf or same
                return lambda message: read(message.value)

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
        return self.budget.price_of_row(
            EMPTY_COST if isinstance(column.type, Array | Map) else 1 for column in of.columns
        )

    def _expression(self, value: Projected[ProtoType], names: dict[str, object], *, is_repeated: bool) -> str:
        """The expression for a part of the message `m`; it gives None if the part is absent."""
        writer, field = value.writer, value.writer.field
        read = self.read(value, is_repeated=is_repeated)
        if isinstance(value.how, Refused) or writer.is_union:
            return f"{_named(names, read)}(m)"
        assert field is not None
        name = field.name
        part = f"m.{name}" if name.isidentifier() and not iskeyword(name) else f"getattr(m, {name!r})"
        if read is not None:
            part = f"{_named(names, read)}({part})"
        # A field always has a value, even if nothing was written (`ProtobufData.setStructField`), except a message, one in a
        # oneof, and one that is `optional` (in proto2 by `optional.for.proto2`): there null differs from the default.
        may_lack = field.containing_oneof is not None or (field.has_presence and not field.is_required)
        if writer.connect in (ConnectType.ARRAY, ConnectType.MAP) or (field.message_type is None and not may_lack):
            return part
        return f"{part} if has(m, {name!r}) else None"

    def _oneof(self, writer: ProtoType, of: Fields[ProtoType], *, is_repeated: bool) -> Read:
        """Makes the reader of a oneof. It takes the message that contains the oneof, and gives null if no field is set."""
        oneof: Any = writer.holds
        chosen_by, which = oneof.name, class_of(oneof.containing_type).WhichOneof
        reads: dict[str, list[tuple[str, Read]]] = {}
        for target in of.targets:
            value_read = self.read(target.value, is_repeated=is_repeated) or same
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

    def _leaf(self, writer: ProtoType, how: Scalar, path: str) -> Read | None:
        """Makes the reader of a value without parts, which can be a message that Connect treats as one value."""
        in_nanos = how.per_second == NANOS and how.coercion in (Coercion.TIME, Coercion.TIMESTAMP)
        raw = self._raw(writer, how, path, in_nanos=in_nanos)
        if isinstance(how.type, Decimal) and writer.name == DECIMAL_NAME:
            return raw
        coerce = coercion(how.connect, None if in_nanos else how.name, how.type, path, per_second=how.per_second)
        if raw is None or coerce is None:
            return raw or coerce
        convert, then = raw, coerce
        return lambda value: then(convert(value))

    def _raw(self, writer: ProtoType, how: Scalar, path: str, *, in_nanos: bool) -> Read | None:
        """Converts the runtime's value to Connect's number, text or bytes; None if they are the same."""
        field, is_exact, where = writer.value_field, self._is_exact, path or "the root"
        if writer.name == DECIMAL_NAME:
            return decimal_reader(how.type, path, is_exact) if isinstance(how.type, Decimal) else lambda _: None
        if writer.name == DATE_NAME:
            return lambda message: days_of(message.year, message.month, message.day, where, is_exact)
        if writer.name in (TIME_NAME, TIMESTAMP_NAME):
            nanos_in = nanos_of_day if writer.name == TIME_NAME else nanos_since
            return lambda message: of_nanos(nanos_in(message, where), where, in_nanos, is_exact)
        if field.enum_type is not None:
            return enum_names(field.enum_type, self.budget)
        if field.type == STRING and not has_text(field):
            in_map = cast("Descriptor", field.containing_type).GetOptions().map_entry  # Java checks the strings of maps
            return lambda text: text_of(text, where, is_exact or in_map)
        if field.type in UNSIGNED_64:
            return lambda number: _long(number, where, is_exact)
        return narrowed(how.connect.bits) if how.connect in NARROW else None


def _named(names: dict[str, object], value: object) -> str:
    name = f"v{len(names)}"
    names[name] = value
    return name


def same(value: Any) -> Any:
    return value


def list_reader(read: Read | None) -> Read:
    return list if read is None else lambda values: [read(value) for value in values]


def map_reader(field: FieldDescriptor, key_read: Read | None, value_read: Read | None) -> Read:
    entry, value = message_of(field), value_read or same
    key: Callable[[Any], Any] = key_read or same
    if not entry.GetOptions().map_entry:
        # An entry without a value has its type's default, also if the type is a message.
        return lambda entries: {key(entry.key): value(entry.value) for entry in entries}

    def read(entries: Any) -> Value:
        try:
            return {key(name): value(part) for name, part in entries.items()}
        except UnicodeDecodeError:  # the runtime cannot look up a key of proto2 that is not UTF-8
            raise DecodeError(f"A key of the map {field.name} is not UTF-8. It is corrupt.") from None

    return read


def enum_names(enum: EnumDescriptor, budget: Budget) -> Read:
    names: dict[int, str] = {value.number: value.name for value in reversed(enum.values)}
    unknown = f"UNKNOWN_ENUM_VALUE_{enum.name}_"
    # One byte of the body becomes a name whose length only the schema limits.
    price = budget.price(cost_of_default(max(unknown, *names.values(), key=len)))
    if price:
        return lambda number: budget.spend(price) or names.get(number, f"{unknown}{number}")  # type: ignore[func-returns-value]
    return lambda number: names.get(number, f"{unknown}{number}")


def has_text(field: FieldDescriptor) -> bool:
    """Whether the runtime has checked that a string is UTF-8. In proto2 it does not."""
    return is_proto3(cast("Descriptor", field.containing_type).file)


def text_of(text: str | bytes, where: str, is_exact: bool) -> str:
    """Java replaces bytes that are not UTF-8 with U+FFFD (`ByteString.toStringUtf8`); the runtime returns them."""
    if isinstance(text, str):
        return text
    if is_exact:
        raise DecodeError(
            f"The string at {path_words(where)} is not UTF-8. It is corrupt, or the field really holds bytes."
        )
    return text.decode(errors="replace")


def _long(number: int, where: str, is_exact: bool) -> Value:
    if number <= LONG_MAX:
        return number
    if is_exact:
        raise OutOfRangeError(
            f"The value {number} at {path_words(where)} is an unsigned number that no column can hold: BIGINT ends at "
            f"{LONG_MAX}. ksqlDB reads it as a negative number, and so does srfix with case_rule='ksqldb'.",
            path=where,
            column_type="BIGINT",
        )
    return number - (1 << 64)
