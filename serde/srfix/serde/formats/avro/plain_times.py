"""The schema for `times="integers"`: days, times and instants are the integers in the body. Also the error for a time
that a datetime cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.coercions import coercion
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import MILLIS, TimeUnit, column_of, time_unit
from srfix.serde.engine import Decode
from srfix.serde.errors import OutOfRangeError
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.interface import Value

_CONNECT_TYPES: Final = {"int": ConnectType.INT32, "long": ConnectType.INT64}
"""The Avro types that carry times."""


@lru_cache(maxsize=256)
def with_plain_times(root: AvroNode) -> AvroNode:
    """The schema without the logical types of days, times and instants, so that their integers are read and written."""
    return _copied(root, {})


def _copied(node: AvroNode, copies: dict[AvroNode, AvroNode]) -> AvroNode:
    if node in copies:
        return copies[node]
    # Stored before its parts are converted, because a recursive type refers to itself.
    copy = copies[node] = replace(node, logical=node.logical if _time_of(node) is None else None)
    copy.fields = tuple(replace(part, node=_copied(part.node, copies)) for part in node.fields)
    copy.defaults = tuple(replace(part, node=_copied(part.node, copies)) for part in node.defaults)
    copy.branches = tuple(_copied(branch, copies) for branch in node.branches)
    copy.items = None if node.items is None else _copied(node.items, copies)
    return copy


def _time_of(node: AvroNode) -> tuple[ScalarType, TimeUnit] | None:
    """The column type for a day, a time of day or an instant, local or not, and its unit; None for any other type."""
    unit = time_unit(_CONNECT_TYPES[node.kind], node.logical, None) if node.kind in _CONNECT_TYPES else None
    column = None if unit is None else column_of(unit)
    return None if unit is None or column is None else (column, unit)


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "long": (int,),
    "record": (dict,),
    "map": (dict,),
    "array": (list,),
}


def far_time_check(root: AvroNode, plain: Callable[[], Decode]) -> Callable[[bytes, int], None]:
    """Raises the error for a well-formed body's first time that a datetime cannot hold. `plain` gives integers."""

    def check(payload: bytes, body_offset: int) -> None:
        for error in _far(root, plain()(payload, body_offset), ""):
            raise error

    return check


def _far(node: AvroNode, value: Value, path: str) -> Iterator[OutOfRangeError]:
    if node.kind == "union":
        for branch in node.branches:
            # The value does not show its branch, so only unambiguous values are checked.
            if isinstance(value, _KINDS.get(branch.kind, ())):
                yield from _far(branch, value, path)
        return
    if isinstance(value, dict):
        for part in node.fields:
            if part.name in value:
                yield from _far(part.node, value[part.name], f"{path}->{part.name}")
        if node.kind == "map" and node.items is not None:
            for key, item in value.items():
                yield from _far(node.items, item, f"{path}->{key}")
    elif isinstance(value, list) and node.items is not None:
        for number, item in enumerate(value):
            yield from _far(node.items, item, f"{path}[{number}]")
    elif isinstance(value, int) and (time := _time_of(node)) is not None:
        column, unit = time
        coerce = coercion(_CONNECT_TYPES[node.kind], None, column, path, per_second=unit.per_second or MILLIS)
        assert coerce is not None
        try:
            coerce(value)
        except OutOfRangeError as error:
            yield error
