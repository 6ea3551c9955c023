"""A schema whose days, times and instants are the integers that stand in the body (`times="integers"`)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import column_of, time_unit
from srfix.serde.formats.avro.schema import AvroNode

CONNECT_TYPES: Final = {"int": ConnectType.INT32, "long": ConnectType.INT64}
"""Of the kinds that times stand on."""


@lru_cache(maxsize=256)
def with_plain_times(root: AvroNode) -> AvroNode:
    """The schema without the logical types of days, times and instants: their integers are what is read and written."""
    return _copied(root, {})


def _copied(node: AvroNode, known: dict[AvroNode, AvroNode]) -> AvroNode:
    if node in known:
        return known[node]
    # Known before its parts are: a recursive type finds itself.
    copy = known[node] = replace(node, logical=None if is_time(node) else node.logical)
    copy.fields = tuple(replace(part, node=_copied(part.node, known)) for part in node.fields)
    copy.defaults = tuple(replace(part, node=_copied(part.node, known)) for part in node.defaults)
    copy.branches = tuple(_copied(branch, known) for branch in node.branches)
    copy.items = None if node.items is None else _copied(node.items, known)
    return copy


def is_time(node: AvroNode) -> bool:
    """True for an int or a long that is a day, a time of day or an instant, local or not."""
    return time_column(node) is not None


def time_column(node: AvroNode) -> ScalarType | None:
    """The column that holds such times; None if it is none."""
    unit = time_unit(CONNECT_TYPES[node.kind], node.logical, None) if node.kind in CONNECT_TYPES else None
    return None if unit is None else column_of(unit)
