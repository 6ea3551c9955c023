"""What the runtime would drop of a dict without an error: all but the last field of a oneof, and the size of a float.

Rows under columns need no such check, because their columns' types are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from srfix.serde.formats.protobuf.descriptors import message_of
from srfix.serde.formats.rows.value_check import Misfit

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

Check: TypeAlias = Callable[[Mapping[Any, object], str], None]
_FLOAT: Final = 2
"""The value of `FieldDescriptor.TYPE_FLOAT`."""
_INFINITE: Final = 2.0**128 - 2.0**103
"""The smallest number that a float holds as infinity."""
_FREE: Final = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
"""The runtime takes any dict for these, and keeps all of it."""


def kept_check(message: Descriptor) -> Check | None:
    """A check of dicts for a message, which takes the dict and its path; None if the runtime keeps whatever it accepts.

    The check raises `Misfit`, and expects what the runtime accepts.
    """
    return _check_of(message, {}) if _may_drop(message) else None


def _reachable(message: Descriptor) -> Iterable[Descriptor]:
    reached, left = {message.full_name: message}, [message]
    while left:
        for field in left.pop().fields:
            part = field.message_type
            if part is not None and part.full_name not in reached and part.full_name not in _FREE:
                reached[part.full_name] = part
                left.append(part)
    return reached.values()


def _may_drop(message: Descriptor) -> bool:
    return any(
        any(len(oneof.fields) > 1 for oneof in part.oneofs) or any(field.type == _FLOAT for field in part.fields)
        for part in _reachable(message)
    )


def _check_of(message: Descriptor, checks: dict[str, Check]) -> Check:
    if message.full_name in checks:
        return checks[message.full_name]
    oneofs = [(oneof.name, [field.name for field in oneof.fields]) for oneof in message.oneofs if len(oneof.fields) > 1]
    floats: list[FieldDescriptor] = []
    parts: list[tuple[FieldDescriptor, Check]] = []

    def check(row: Mapping[Any, object], path: str) -> None:
        for oneof, names in oneofs:
            chosen = [name for name in names if row.get(name) is not None]
            if len(chosen) > 1:
                raise Misfit([(path, f"has the fields {' and '.join(chosen)}, but the oneof {oneof} holds only one")])
        for field in floats:
            for where, number in _values(field, row.get(field.name), path):
                if isinstance(number, int | float) and abs(number) >= _INFINITE and not math.isinf(number):
                    raise Misfit([(where, f"is {number!r}, but a float holds less than {_INFINITE:.3g}")])
        for field, check_part in parts:
            for where, part in _values(field, row.get(field.name), path):
                if isinstance(part, Mapping):
                    check_part(part, where)

    checks[message.full_name] = check
    for field in message.fields:
        held = _held(field)
        if held.type == _FLOAT:
            floats.append(field)
        elif (inner := held.message_type) is not None and inner.full_name not in _FREE and _may_drop(inner):
            parts.append((field, _check_of(inner, checks)))
    return check


def _held(field: FieldDescriptor) -> FieldDescriptor:
    """The field, or the value's field of a map."""
    return message_of(field).fields_by_name["value"] if _is_map(field) else field


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _values(field: FieldDescriptor, value: object, path: str) -> Iterator[tuple[str, object]]:
    where = f"{path}->{field.name}"
    if value is None:
        return
    if not field.is_repeated:
        yield where, value
    elif isinstance(value, Mapping):
        yield from ((f"{where}[{key!r}]", part) for key, part in value.items())
    else:
        yield from ((f"{where}[{number}]", part) for number, part in enumerate(cast("Iterable[object]", value)))
