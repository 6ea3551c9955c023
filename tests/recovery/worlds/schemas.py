"""The schemas of generated worlds, by short names that read well where a world is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

__all__ = ["BODIES", "FIELDS", "KEYS", "LOST", "TEXTS"]

_RECORDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "User1": ("User", ("userId long",)),
    "User2": ("User", ("userId long", "tier string?")),
    "User3": ("User", ("userId string", "tier string")),
    "UserRow": ("Row", ("USERID long?",)),
    "UserRow2": ("Row", ("USERID long?", "TIER string?")),
    "Order1": ("Order", ("orderId long", "total long")),
    "Order2": ("Order", ("orderId long", "total long", "note string?")),
    "OrderRow": ("Row", ("ORDERID long?", "TOTAL long?")),
    "MixedRow": ("Row", ("USERID long?", "ORDERID long?")),
    "StrangeRow": ("Row", ("WHO long?",)),
    "Key1": ("Key", ("id long",)),
    "Key2": ("Key", ("ID long?",)),
}


def _text(name: str, fields: tuple[str, ...]) -> str:
    def field(said: str) -> dict[str, object]:
        field_name, _, type_ = said.partition(" ")
        if type_.endswith("?"):
            return {"name": field_name, "type": ["null", type_[:-1]], "default": None}
        return {"name": field_name, "type": type_}

    return json.dumps(
        {"type": "record", "name": name, "fields": [field(said) for said in fields]}, separators=(",", ":")
    )


TEXTS: Final[Mapping[str, str]] = {
    **{short: _text(name, fields) for short, (name, fields) in _RECORDS.items()},
    "Text": '"string"',
}
"""Avro text of each schema."""

FIELDS: Final[Mapping[str, frozenset[str]]] = {
    **{short: frozenset(said.split()[0].upper() for said in fields) for short, (_, fields) in _RECORDS.items()},
    "Text": frozenset(),
}
"""Field names in upper case; none for what is no record."""

BODIES: Final[Mapping[str, bytes]] = {
    "User1": b"\x02",
    "User2": b"\x02\x00",
    "User3": b"\x02u\x02t",
    "UserRow": b"\x02\x02",
    "UserRow2": b"\x02\x02\x00",
    "Order1": b"\x02\x04",
    "Order2": b"\x02\x04\x00",
    "OrderRow": b"\x02\x02\x02\x04",
    "MixedRow": b"\x02\x02\x02\x04",
    "StrangeRow": b"\x02\x02",
    "Text": b"\x02t",
}
"""A body of each value's schema, by hand: longs are 1 and 2, what may be null is 1 or null."""

KEYS: Final = ("Key1", "Key2")
"""The schemas of keys."""

LOST: Final[Mapping[str, int]] = {"Lost1": 90_001, "Lost2": 90_002}
"""Ids that the registry does not know."""
