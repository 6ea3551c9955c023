"""Rows → messages under a schema: the columns' own schema, or an existing one (`ProtobufSRSchemaDataTranslator`, then
`ProtobufData.fromConnectData`).

A column is written to the field with exactly its name, which must have its Connect type. A null is not written, so a
field without presence is read as its default, 0 or empty, also by ksqlDB (but see `nullable_representation`). A null in
an ARRAY is refused, as in Java. A STRUCT for a oneof must have exactly one field that is not null. Times keep their
nanoseconds; ksqlDB writes only milliseconds. A DATE before 1582-10-15 is written as a Julian day, as in Java, under
ksqlDB's own case rules; otherwise it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from srfix.serde.columns.types import Array, Column, ColumnType, Decimal, Map, Struct, type_name
from srfix.serde.connect.columns import connect_schema_of
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import reads_units
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError, SchemaError
from srfix.serde.formats.avro import AvroNode
from srfix.serde.formats.avro.write.scalars import integer, scalar
from srfix.serde.formats.protobuf.bodies import LEVELS
from srfix.serde.formats.protobuf.connect import WRAPPERS, ProtoType, is_registered_map
from srfix.serde.formats.protobuf.descriptors import Compiled, class_of, message_of
from srfix.serde.formats.protobuf.indexes import written_indexes
from srfix.serde.formats.protobuf.logical import decimal_writer, time_writer
from srfix.serde.formats.protobuf.plain import runtime_form
from srfix.serde.formats.rows.checks import array_check, entries_check, map_check, record_of
from srfix.serde.formats.rows.value_check import (
    Convert,
    Misfit,
    ValueCheck,
    bare_value,
    checked_by,
    encode_error,
    nests_deeper,
    or_none,
)
from srfix.serde.printable import path_words, shortened
from srfix.serde.specs import WriteSpec

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

_SHALLOW: Final = LEVELS // 3 - 1
"""Nested dicts and lists that every reader takes: a dict for `google.protobuf.Struct` is three messages."""
_REFUSALS: Final = (TypeError, ValueError, OverflowError, AttributeError)
"""What the runtime raises for a value that does not fit."""
_UNSIGNED: Final = {13: 32, 7: 32, 4: 63, 6: 63}
"""Field type → the most bits of a value: for uint32 and fixed32, and for uint64 and fixed64, which a Java long must hold."""


def message_encoder(message: Descriptor, indexes: tuple[int, ...] | None, check: ValueCheck | None = None) -> Encode:
    """An encoder of dicts by field names, in the runtime's form; of rows, if `check` converts them to this form. `indexes`
    stand before the body; None for none."""
    from google.protobuf.message import DecodeError as NotReadError
    from google.protobuf.message import EncodeError as NotWrittenError

    made = class_of(message)
    serialize, read = made.SerializeToString, made.FromString  # from the class, because a field can have such a name
    before = b"" if indexes is None else written_indexes(indexes)
    convert = runtime_form(message) if check is None else check.fast
    layer = {message.full_name: message} if check is None else {}
    for _ in range(_SHALLOW):
        parts = (field.message_type for one in layer.values() for field in one.fields)
        layer = {part.full_name: part for part in parts if part is not None}
    may_nest = bool(layer)  # only dicts of types that hold themselves, or many others

    def encode(row: object, prefix: bytes) -> bytes:
        nested = may_nest and nests_deeper(row, _SHALLOW)
        if nested and nests_deeper(row, 2 * LEVELS):  # the runtime would end the process
            raise _explained(message, row, check, RecursionError())
        try:
            fields = convert(row)
            if type(fields) is not dict and not isinstance(fields, Mapping):
                raise Misfit.needs("a mapping", fields)
            body = serialize(made(**cast("Mapping[Any, object]", fields)))
            if nested:
                read(body)
            return b"".join((prefix, before, body))
        except NotReadError as error:  # no reader takes what the runtime has written
            raise _explained(message, row, check, RecursionError()) from error
        except (Misfit, *_REFUSALS, RecursionError, NotWrittenError) as error:
            raise _explained(message, row, check, error) from error

    return encode


def column_encoder(schema: Compiled, message: Descriptor, spec: WriteSpec, *, framed: bool = True) -> Encode:
    """An encoder of rows with the columns; if they are un-wrapped, of the bare value of the only column."""
    root, plan = ProtoType.of_message(schema, message, is_bare=not spec.wrapped), _Plan(spec)
    indexes = schema.indexes(message) if framed else None
    if spec.wrapped:
        return message_encoder(message, indexes, plan.value(root, Struct(spec.known_columns), ""))
    (column,) = spec.known_columns
    if root.connect is ConnectType.STRUCT and not isinstance(column.type, Struct):
        raise SchemaError(
            f"A message has fields, so the column {column.name!r} cannot be written bare. Leave out wrap=False (--unwrapped)."
        )
    record = record_of(spec.case_rule, {column.name: or_none(plan.value(root, column.type, ""))})

    def bare(convert: Convert, row: object) -> object:
        value = bare_value(convert(row), column.name)
        return value if root.holds is not None else {"value": value}

    return message_encoder(message, indexes, record.check.within(lambda convert: partial(bare, convert)))


def _explained(message: Descriptor, row: object, check: ValueCheck | None, error: Exception) -> EncodeError:
    why: str | None
    try:
        if check is not None:
            check.careful(row)
    except (Misfit, RecursionError) as careful:
        error = careful
    match error:
        case Misfit():
            return encode_error(error)
        case UnicodeEncodeError():
            return EncodeError("A string of the row contains half a surrogate pair, which cannot be encoded.")
        case RecursionError():
            where, why = "", f"it nests deeper than {LEVELS} messages, which no reader accepts"
        case _:
            is_plain = check is None and isinstance(row, Mapping)
            where, why = _refused(message, cast("Mapping[Any, object]", row)) if is_plain else ("", None)
    at = f" at {path_words(where)}" if where else ""
    return EncodeError(f"The row does not fit its Protobuf schema{at} ({why or error}).")


def _refused(message: Descriptor, row: Mapping[Any, object]) -> tuple[str, str | None]:
    """The path of the first field that the runtime refuses, which it does not always name, and our reason if the field is a
    message; empty if the runtime takes each field alone."""
    made, convert = class_of(message), runtime_form(message)
    for name, value in row.items():
        try:
            made(**cast("Mapping[Any, object]", convert({name: value})))
        except (*_REFUSALS, Misfit):
            # Half a surrogate pair, which no name has, becomes a question mark: the runtime's look-up would be a SystemError.
            field = message.fields_by_name.get(name.encode(errors="replace").decode() if isinstance(name, str) else "")
            part = None if field is None or field.is_repeated else field.message_type
            if part is None:
                return f"->{name}", None
            if isinstance(value, Mapping):
                where, why = _refused(part, value)
                return f"->{name}{where}", why
            example = f", such as {{'value': {shortened(repr(value), 60)}}}" if part.full_name in WRAPPERS else ""
            form = f"is written as a dict of its fields{example}; got {type(value).__name__}"
            return f"->{name}", f"the message {part.full_name} {form}"
    return "", None


class _Plan:
    def __init__(self, spec: WriteSpec) -> None:
        self._spec = spec

    def value(self, writer: ProtoType, column: ColumnType, path: str) -> ValueCheck:
        """The check of values that are not null. It also converts them to the form that the runtime takes."""
        writer = writer.under(column)
        # Under its own case rules, ksqlDB writes two types under a schema that says another type.
        if writer.field is not None and not reads_units(self._spec.case_rule) and is_registered_map(writer.field):
            match column:
                case Map(Array() | Map() as parts, keys) if writer.connect is ConnectType.ARRAY:
                    return self._map(writer, keys, parts, path)
                case Array(Map()):
                    return checked_by(_no_items)
        wanted = connect_schema_of(column)
        name = writer.name if writer.is_logical else None
        if writer.connect is not wanted.type or name != wanted.name:
            advice = "Declare the column with the schema's type."
            if writer.connect is ConnectType.FLOAT32:
                advice = "No column is written to a float. Leave the column out, or make the field a double."
            raise SchemaError(
                f"The schema has the type {writer.word} at {path_words(path)}, but the column is {type_name(column)}. "
                f"{advice}"
            )
        match column:
            case Struct(fields):
                return self._struct(writer, fields, path)
            case Array(items):
                return array_check(self._held(writer.items(), items, f"{path}->ARRAY"))
            case Map(values, keys):
                return self._map(writer, keys, values, path)
            case _:
                return _scalar(writer, column, self._spec)

    def _held(self, writer: ProtoType, column: ColumnType, path: str) -> ValueCheck:
        """The check of `value`. If the field is a message of `google/protobuf/wrappers.proto`, the value is put into it."""
        check = self.value(writer, column, path)
        if isinstance(column, Struct | Array | Map) or not writer.is_held:
            return check
        return check.within(lambda convert: lambda value: {"value": convert(value)})

    def _map(self, writer: ProtoType, keys: ColumnType, values: ColumnType, path: str) -> ValueCheck:
        is_array = writer.connect is ConnectType.ARRAY  # a MAP of ARRAYs or of MAPs
        key, value = (one.type for one in writer.items().fields(path)) if is_array else writer.entries(path)
        assert writer.field is not None
        written = self._held(value, values, f"{path}->MAP_VAL")
        if message_of(writer.field).GetOptions().map_entry:
            return map_check(written)
        return entries_check(self._held(key, keys, f"{path}->MAP_KEY"), or_none(written))

    def _struct(self, writer: ProtoType, columns: tuple[Column, ...], path: str) -> ValueCheck:
        fields = {field.name: field for field in writer.fields(path)}
        if lacking := [column.name for column in columns if column.name not in fields]:
            raise SchemaError(
                f"The schema has no field for the columns {', '.join(map(repr, lacking))} at {path_words(path)}; it has "
                f"{', '.join(map(repr, fields))}. Names are compared exactly here."
            )
        types = {column.name: fields[column.name].type for column in columns}
        checks = {
            column.name: or_none(self._held(types[column.name], column.type, f"{path}->{column.name}"))
            for column in columns
        }
        record = record_of(self._spec.case_rule, checks)
        if writer.is_union:
            return record.check.within(lambda convert: partial(_one_of, convert))
        unions = tuple(name for name, type_ in types.items() if type_.is_union)
        return record.check.within(lambda convert: partial(_without, unions, convert)) if unions else record.check


def _one_of(convert: Convert, value: object) -> object:
    fields = cast("Mapping[str, object]", convert(value))
    chosen = {name: part for name, part in fields.items() if part is not None}
    if len(chosen) != 1:
        raise Misfit([("", f"has {len(chosen)} fields that are not null, but a oneof can have only one")])
    return chosen


def _no_items(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise Misfit.needs("a list", value)
    if value:
        why = "is an ARRAY of MAPs that is not empty, which ksqlDB cannot write in Protobuf. Declare a STRUCT between"
        raise Misfit([("", why)])
    return value


def _without(unions: tuple[str, ...], convert: Convert, value: object) -> object:
    """Moves the fields of oneofs' STRUCTs into the message, where Protobuf has them."""
    fields = dict(cast("Mapping[str, object]", convert(value)))
    for name in unions:
        fields.update(cast("Mapping[str, object]", fields.pop(name) or {}))
    return fields


def _scalar(writer: ProtoType, column: ColumnType, spec: WriteSpec) -> ValueCheck:
    if isinstance(column, Decimal):
        return checked_by(decimal_writer(column))
    of_integers = spec.times == "integers"
    if (write := time_writer(column, of_integers=of_integers, is_exact=reads_units(spec.case_rule))) is not None:
        return checked_by(write)
    field = writer.value_field
    if field.enum_type is not None:
        return scalar(AvroNode(kind="enum", symbols=tuple(sorted(field.enum_type.values_by_name))))
    if field.type in _UNSIGNED:
        return checked_by(integer(0, (1 << _UNSIGNED[field.type]) - 1))
    return _SCALARS[writer.connect]


# Protobuf accepts the same values for such a column as Avro.
_SCALARS: Final = {
    ConnectType.BOOLEAN: scalar(AvroNode(kind="boolean")),
    # The runtime refuses an int that does not fit; the careful way then names the column.
    ConnectType.INT32: replace(scalar(AvroNode(kind="int")), is_narrow=False),
    ConnectType.INT64: scalar(AvroNode(kind="long")),
    ConnectType.FLOAT64: scalar(AvroNode(kind="double")),
    ConnectType.STRING: scalar(AvroNode(kind="string")),
    ConnectType.BYTES: scalar(AvroNode(kind="bytes")),
}
