"""The words for a time that no datetime can be, of a body that is read as the writer has it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Final

from srfix.serde.connect.coercions import coercion
from srfix.serde.connect.time_units import time_unit
from srfix.serde.engine import Decode
from srfix.serde.errors import OutOfRangeError
from srfix.serde.formats.avro.plain_times import CONNECT_TYPES, time_column
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.interface import Value

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "int": (int,),
    "long": (int,),
    "record": (dict,),
    "map": (dict,),
    "array": (list,),
}


def far_time_check(root: AvroNode, plain: Callable[[], Decode]) -> Callable[[bytes, int], None]:
    """Raises an `OutOfRangeError` for the first time of a body that no datetime can be, with its path and number; returns if
    there is none. For bodies that are known to be well-formed.

    :param plain: makes what decodes a body with its times as integers.
    """

    def check(payload: bytes, body_offset: int) -> None:
        for error in _far(root, plain()(payload, body_offset), ""):
            raise error

    return check


def _far(node: AvroNode, value: Value, path: str) -> Iterator[OutOfRangeError]:
    if node.kind == "union":
        for branch in node.branches:
            # Which branch it was is not in the value; only what could be read as it is looked at.
            if isinstance(value, _KINDS.get(branch.kind, ())):
                yield from _far(branch, value, path)
        return
    if isinstance(value, dict):
        fields = node.fields if node.kind == "record" else ()
        for part in fields:
            if part.name in value:
                yield from _far(part.node, value[part.name], f"{path}->{part.name}")
        if node.kind == "map" and node.items is not None:
            for key, item in value.items():
                yield from _far(node.items, item, f"{path}->{key}")
    elif isinstance(value, list) and node.items is not None:
        for number, item in enumerate(value):
            yield from _far(node.items, item, f"{path}[{number}]")
    elif isinstance(value, int):
        column = time_column(node)
        unit = None if column is None else time_unit(CONNECT_TYPES[node.kind], node.logical, None)
        if column is None or unit is None:
            return
        coerce = coercion(CONNECT_TYPES[node.kind], None, column, path, per_second=unit.per_second or 1_000)
        try:
            made = None if coerce is None else coerce(value)
        except OutOfRangeError as error:
            yield error
        else:
            assert isinstance(made, datetime.date | datetime.time)
