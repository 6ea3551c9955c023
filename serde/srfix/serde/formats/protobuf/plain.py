"""Messages as dicts of their fields, without columns: the reader, and what the runtime would drop of a dict without an
error (all but the last field of a oneof, digits of a number, and what a container of the wrong kind holds)."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from srfix.serde.formats.json.budget import Budget
from srfix.serde.formats.protobuf.bodies import FEWEST_BYTES, reader
from srfix.serde.formats.protobuf.connect import STRING
from srfix.serde.formats.protobuf.decode import EMPTY_COST, enum_names, has_text, list_reader, map_reader, text_of
from srfix.serde.formats.protobuf.descriptors import class_of, message_of, messages_in
from srfix.serde.formats.protobuf.logical import Read
from srfix.serde.formats.rows.value_check import Misfit
from srfix.serde.interface import Row, Value

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

Check: TypeAlias = Callable[[Mapping[Any, object], str], None]
_INFINITE: Final = 2.0**128 - 2.0**103
"""The smallest number that a float holds as infinity."""
_ZERO: Final = 2.0**-150
"""The largest number that a float holds as 0."""
_DOUBLE: Final = 1
_FLOAT: Final = 2
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,19}")
_KEYS: Final = {STRING: None, 8: re.compile("true|false")}
"""The type of a map's keys → the texts in JSON that stand for keys; `_INTEGER` for all other types."""
_STRUCT: Final = "google.protobuf.Struct"
_EXAMPLE: Final = "{'fields': {'name': {'string_value': 'text'}}}"


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
        price = self.budget.price_of_row(EMPTY_COST if field.is_repeated else 1 for field in message.fields)
        return [self._field(field) for field in message.fields], class_of(message).HasField, price

    def _field(self, field: FieldDescriptor) -> tuple[str, Read, bool, bool]:
        oneof = field.containing_oneof
        is_in_oneof = oneof is not None and len(oneof.fields) > 1
        if _is_map(field):
            read = map_reader(field, *map(self._value, message_of(field).fields))
        elif field.is_repeated:
            read = list_reader(self._value(field), is_same=False)
        else:
            read = self._value(field)
        return field.name, read, field.has_presence and not field.is_repeated, is_in_oneof

    def _value(self, field: FieldDescriptor) -> Read:
        if field.enum_type is not None:
            return enum_names(field.enum_type, self.budget)
        if field.type == STRING and not has_text(field):
            return lambda text: text_of(text, field.name, is_exact=True)
        return self.message if field.message_type is not None else lambda value: value


def runtime_form(message: Descriptor) -> Callable[[object, Descriptor], object] | None:
    """Converts a dict of a message to the form that the runtime takes; None if it takes the reader's form. Keys of maps
    become numbers and booleans from text, which JSON has. A `google.protobuf.Struct` becomes a message, because the runtime
    would take the dict's key `fields` as a key of the Struct's JSON."""
    parts = [*messages_in(message)]
    if not any(part.full_name == _STRUCT for part in parts) and not any(
        _is_map(field) and _key_type(field) != STRING for part in parts for field in part.fields
    ):
        return None

    def fields_of(row: Mapping[Any, object], message: Descriptor) -> dict[Any, object]:
        return {name: part(field_named(message, name), value) for name, value in row.items()}

    def part(field: FieldDescriptor | None, value: object) -> object:
        inner = None if field is None else _held(field).message_type
        if field is None or (inner is None and not _is_map(field)):
            return value
        if _is_map(field) and isinstance(value, Mapping):
            texts = _KEYS.get(_key_type(field), _INTEGER)
            made = {_typed_key(key, texts): held(one, inner) for key, one in value.items()}
            return made if len(made) == len(value) else value  # the runtime refuses 1 and "1" beside each other
        if field.is_repeated:
            return [held(one, inner) for one in value] if isinstance(value, list | tuple) else value
        return held(value, inner)

    def held(value: object, inner: Descriptor | None) -> object:
        if inner is None or not isinstance(value, Mapping) or hasattr(value, "DESCRIPTOR"):
            return value
        if inner.full_name != _STRUCT:
            return fields_of(value, inner)
        if unknown := [name for name in value if name != "fields"]:
            raise ValueError(f"a {_STRUCT} is written as {_EXAMPLE}, but the dict has the key {unknown[0]!r}")
        return class_of(inner)(**fields_of(value, inner))

    return held


def field_named(message: Descriptor, name: object) -> FieldDescriptor | None:
    # Half a surrogate pair, which no name has, becomes a question mark: the runtime's look-up would be a SystemError.
    return message.fields_by_name.get(name.encode(errors="replace").decode()) if isinstance(name, str) else None


def _key_type(field: FieldDescriptor) -> int:
    return message_of(field).fields_by_name["key"].type


def _typed_key(key: object, texts: re.Pattern[str] | None) -> object:
    if not (texts and isinstance(key, str) and texts.fullmatch(key)):
        return key
    return key == "true" if key in ("true", "false") else int(key)


def kept_check(message: Descriptor) -> Check | None:
    """A check of a dict and its path, given what the runtime accepts; None if it keeps whatever it accepts."""
    if not any(map(_drops, messages_in(message))):
        return None
    part_of = cache(_part)

    def check(row: Mapping[Any, object], path: str, message: Descriptor = message) -> None:
        oneofs, fields = part_of(message)
        for oneof, names in oneofs:
            chosen = [name for name in names if row.get(name) is not None]
            if len(chosen) > 1:
                raise Misfit([(path, f"has the fields {' and '.join(chosen)}, but the oneof {oneof} holds only one")])
        for field, name, inner, wrong, plain in fields:
            value = row.get(name)
            if value is None or (plain is float and type(value) is float):
                continue
            if type(value) is not list and isinstance(value, wrong):
                raise Misfit(Misfit.needs("a dict" if _is_map(field) else "a list", value).under(f"{path}->{name}"))
            if inner is None and (plain is str or (type(value) is list and {*map(type, value)} <= {plain})):
                continue
            for where, part in _values(field, value, path):
                if inner is not None:
                    if isinstance(part, Mapping) and not hasattr(part, "DESCRIPTOR"):
                        check(part, where, inner)
                elif (loss := _loss(part, is_float=plain is None)) is not None:
                    raise Misfit([(where, f"is {part!r}, {loss}")])

    return check


def _loss(number: object, *, is_float: bool) -> str | None:
    """What the runtime would lose of a number; None if it keeps it, or rounds it as usual: to the digits of a float."""
    if not isinstance(number, float | int | decimal.Decimal):
        return None
    held = float(number)
    if is_float and abs(held) >= _INFINITE and not (math.isinf(held) and held == number):
        return f"but a float must be less than {_INFINITE:.3g}"
    if is_float and number and abs(held) <= _ZERO:
        return "which a float holds as 0"
    if held == number or math.isnan(held):
        return None
    if isinstance(number, decimal.Decimal) and (is_float or decimal.Decimal(repr(held)) == number):
        return None
    return "which a double cannot hold exactly"


def _drops(message: Descriptor) -> bool:
    return any(len(oneof.fields) > 1 for oneof in message.oneofs) or any(
        field.is_repeated or field.type in (_FLOAT, _DOUBLE) for field in message.fields
    )


_Part: TypeAlias = "tuple[FieldDescriptor, str, Descriptor | None, tuple[type, ...], type | None]"


def _part(message: Descriptor) -> tuple[list[tuple[str, list[str]]], list[_Part]]:
    """The oneofs to check, and the fields, each with its name, the message that it holds, the containers that are refused,
    and the type of which nothing is lost: float in a double, str for whatever is no number."""
    oneofs = [(oneof.name, [field.name for field in oneof.fields]) for oneof in message.oneofs if len(oneof.fields) > 1]
    fields: list[_Part] = []
    for field in message.fields:
        held = _held(field)
        inner = held.message_type
        is_number = held.type in (_FLOAT, _DOUBLE)
        if field.is_repeated or is_number or (inner is not None and any(map(_drops, messages_in(inner)))):
            wrong = () if not field.is_repeated else (str, bytes) if _is_map(field) else (str, bytes, Mapping)
            plain = None if inner is not None or held.type == _FLOAT else float if is_number else str
            fields.append((field, field.name, inner, wrong, plain))
    return oneofs, fields


def _held(field: FieldDescriptor) -> FieldDescriptor:
    return message_of(field).fields_by_name["value"] if _is_map(field) else field


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _values(field: FieldDescriptor, value: object, path: str) -> Iterator[tuple[str, object]]:
    where = f"{path}->{field.name}"
    if not field.is_repeated:
        yield where, value
    elif isinstance(value, Mapping):
        yield from ((f"{where}[{key!r}]", part) for key, part in value.items())
    else:
        yield from ((f"{where}[{number}]", part) for number, part in enumerate(cast("Iterable[object]", value)))
