"""Messages as dicts of their fields, without columns: the reader, and what the runtime would drop of a dict without an
error (all but the last field of a oneof, digits of a number, and what a container of the wrong kind holds)."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from srfix.serde.formats.json.budget import Budget
from srfix.serde.formats.protobuf.bodies import FEWEST_BYTES, reader
from srfix.serde.formats.protobuf.connect import STRING
from srfix.serde.formats.protobuf.decode import EMPTY_COST, enum_names, has_text, list_reader, map_reader, same, text_of
from srfix.serde.formats.protobuf.descriptors import class_of, message_of, messages_in
from srfix.serde.formats.protobuf.logical import Read
from srfix.serde.formats.rows.value_check import Convert, Misfit
from srfix.serde.interface import Row, Value

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_INFINITE: Final = 2.0**128 - 2.0**103
"""The smallest number that a float holds as infinity."""
_ZERO: Final = 2.0**-150
"""The largest number that a float holds as 0."""
_DOUBLE: Final = 1
_FLOAT: Final = 2
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,19}")
_KEYS: Final = {STRING: None, 8: re.compile("true|false")}
"""The type of a map's keys → the texts in JSON that stand for keys; `_INTEGER` for all other types."""
_TIMESTAMP: Final = "google.protobuf.Timestamp"
_STRUCT: Final = "google.protobuf.Struct"
_EXAMPLE: Final = "{'fields': {'name': {'string_value': 'text'}}}"


def plain_reader(message: Descriptor) -> Callable[[bytes], Value]:
    """The reader of dicts in the encoder's form: enums as names, every message as a dict. An absent field is None, but in
    a oneof of several fields it is left out."""
    budget = Budget(FEWEST_BYTES)
    budget.is_needed = True  # always, because the prices are known only when messages are read

    @cache
    def known(message: Descriptor) -> tuple[list[tuple[str, Read, bool, bool]], Callable[[Any, str], bool], int]:
        price = budget.price_of_row(EMPTY_COST if field.is_repeated else 1 for field in message.fields)
        return [reader_of(field) for field in message.fields], class_of(message).HasField, price

    def reader_of(field: FieldDescriptor) -> tuple[str, Read, bool, bool]:
        oneof, may_lack = field.containing_oneof, field.has_presence and not field.is_repeated
        if _is_map(field):
            read = map_reader(field, *map(value_reader, message_of(field).fields))
        else:
            value_read = value_reader(field)
            read = list_reader(value_read) if field.is_repeated else value_read or same
        return field.name, read, may_lack, oneof is not None and len(oneof.fields) > 1

    def value_reader(field: FieldDescriptor) -> Read | None:
        if field.enum_type is not None:
            return enum_names(field.enum_type, budget)
        if field.type == STRING and not has_text(field):
            return lambda text: text_of(text, field.name, is_exact=True)
        return None if field.message_type is None else read_message

    def read_message(message: Any) -> Row:
        # `DESCRIPTOR` comes from the class, because a field of the message can have this name.
        fields, has, price = known(type(message).DESCRIPTOR)
        if price:
            budget.spend(price)
        row: Row = {}
        for name, read, may_lack, is_in_oneof in fields:
            if not may_lack or has(message, name):
                row[name] = read(getattr(message, name))
            elif not is_in_oneof:
                row[name] = None
        return row

    return reader(message, read_message, budget)


def runtime_form(message: Descriptor) -> Convert:
    """Converts a dict of a message to the form that the runtime takes; a Misfit if the runtime would drop a part of it.

    Keys of maps become numbers and booleans from text, which JSON has. A `google.protobuf.Struct` becomes a message, because
    the runtime would take the dict's key `fields` as a key of the Struct's JSON. A datetime without a time zone is refused,
    as in Avro: the runtime would take it as UTC.
    """

    @cache
    def parts_of(message: Descriptor) -> tuple[bool, list[tuple[str, list[str]]], list[_Part]]:
        oneofs = [(one.name, [field.name for field in one.fields]) for one in message.oneofs if len(one.fields) > 1]
        parts = [part for field in message.fields if (part := _part(field, of_message)) is not None]
        return message.full_name == _STRUCT, oneofs, parts

    def of_message(row: Any, message: Descriptor = message) -> object:
        if type(row) is not dict and (not isinstance(row, Mapping) or hasattr(row, "DESCRIPTOR")):
            if message.full_name == _TIMESTAMP and isinstance(row, datetime.datetime) and row.tzinfo is None:
                raise Misfit.needs("a datetime with a time zone", row)
            return row
        is_struct, oneofs, parts = parts_of(message)
        if is_struct and (unknown := [name for name in row if name != "fields"]):
            raise ValueError(f"a {_STRUCT} is written as {_EXAMPLE}, but the dict has the key {unknown[0]!r}")
        for oneof, names in oneofs:
            chosen = [name for name in names if row.get(name) is not None]
            if len(chosen) > 1:
                raise Misfit([("", f"has the fields {' and '.join(chosen)}, but the oneof {oneof} holds only one")])
        changed: dict[str, object] = {}
        for name, kept, convert in parts:
            value = row.get(name)
            if value is None or type(value) is kept:
                continue
            try:
                part = convert(value)
            except Misfit as misfit:
                raise Misfit(misfit.under(f"->{name}")) from None
            if part is not value:
                changed[name] = part
        # The runtime wants a dict. Of another mapping, a ListValue would get the keys as its values.
        made: Mapping[Any, object] = {**row, **changed} if changed or type(row) is not dict else row
        return class_of(message)(**made) if is_struct else made

    return of_message if _is_converted(message) else lambda row: row


_Part: TypeAlias = "tuple[str, type, Convert]"
"""A field's name, the type of which the runtime takes every value and keeps it whole, and the conversion of other values."""


def _part(field: FieldDescriptor, of_message: Callable[..., object]) -> _Part | None:
    """None if the runtime takes every value, or refuses it."""
    is_map = _is_map(field)
    held = message_of(field).fields_by_name["value"] if is_map else field
    inner, is_number, each = held.message_type, held.type in (_FLOAT, _DOUBLE), None
    kept: type = float if held.type == _DOUBLE else NoneType
    if is_number or (inner is not None and _is_converted(inner)):
        each = partial(_number, is_float=held.type == _FLOAT) if is_number else partial(of_message, message=inner)
    if not field.is_repeated:
        return None if each is None else (field.name, kept, each)
    texts = _KEYS.get(message_of(field).fields_by_name["key"].type, _INTEGER) if is_map else None
    taken = NoneType if each is not None or texts is not None else dict if is_map else list
    convert = partial(_map, texts=texts) if is_map else partial(_list, kept=kept)
    return field.name, taken, partial(convert, each=each or same)


def _list(values: object, *, each: Convert, kept: type) -> object:
    if type(values) is not list and isinstance(values, str | bytes | Mapping):
        raise Misfit.needs("a list", values)
    is_kept = type(values) is list and [*map(type, values)].count(kept) == len(values)
    return values if is_kept or not isinstance(values, Iterable) else [*_converted(enumerate(values), each)]


def _map(entries: object, *, each: Convert, texts: re.Pattern[str] | None) -> object:
    if isinstance(entries, str | bytes):
        raise Misfit.needs("a dict", entries)
    if not isinstance(entries, Mapping):
        return entries
    keys = (json.loads(key) if texts and isinstance(key, str) and texts.fullmatch(key) else key for key in entries)
    made = dict(zip(keys, _converted(entries.items(), each), strict=True))
    return made if len(made) == len(entries) else entries  # the runtime refuses 1 and "1" beside each other


def _converted(values: Iterable[tuple[object, object]], convert: Convert) -> Iterator[object]:
    for place, value in values:
        try:
            yield convert(value)
        except Misfit as misfit:
            raise Misfit(misfit.under(f"[{place!r}]")) from None


def _number(number: object, *, is_float: bool) -> object:
    """The number, if the runtime keeps it, or rounds it as usual: to the digits of a float."""
    if type(number) is float and (not is_float or _ZERO < abs(number) < _INFINITE):
        return number
    if not isinstance(number, float | int | decimal.Decimal):
        return number
    held, loss = float(number), None
    if is_float and abs(held) >= _INFINITE and not (math.isinf(held) and held == number):
        loss = f"but a float must be less than {_INFINITE:.3g}"
    elif is_float and number and abs(held) <= _ZERO:
        loss = "which a float holds as 0"
    elif held != number and not math.isnan(held):
        is_rounded = isinstance(number, decimal.Decimal) and (is_float or decimal.Decimal(repr(held)) == number)
        loss = None if is_rounded else "which a double cannot hold exactly"
    if loss is not None:
        raise Misfit([("", f"is {number!r}, {loss}")])
    return number


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _is_converted(message: Descriptor) -> bool:
    """Whether the runtime would drop a part of some dict of the message, or takes another form than the reader's."""
    return any(
        part.full_name == _TIMESTAMP
        or any(len(oneof.fields) > 1 for oneof in part.oneofs)
        or any(field.is_repeated or field.type in (_FLOAT, _DOUBLE) for field in part.fields)
        for part in messages_in(message)
    )
