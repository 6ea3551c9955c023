"""The serde's values in a row of each form of store, and the row with others in their places.

| form | values in a row |
|---|---|
| key-value, windows, sessions | one, behind timestamp and headers |
| time first | one; the rows of the index have none |
| versioned | the latest one; in a segment each version that is no tombstone |
| list value | each of the list |
| subscription | none: it holds the hash of a value |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from srfix.recovery.errors import FormatError
from srfix.recovery.rebuild.reserialise import Change
from srfix.recovery.state.formats.lists import decode_list, decode_sided_value, encode_list, encode_sided_value
from srfix.recovery.state.formats.values import decode_aggregate_with_headers, decode_timestamped, decode_with_headers
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
    encode_versioned_segment,
)
from srfix.recovery.state.stored_rows import PLAIN
from srfix.recovery.state.stores.detection import StoreFormat

_INDEX: Final = b"\1"

_Rewrite: TypeAlias = Callable[[str, bytes, bytes, Change], bytes]


def rewritten(form: StoreFormat, family: str, key: bytes, value: bytes, change: Change) -> bytes:
    """The value of a row with other values of the serde in it.

    :param family: the column family that the row is in.
    :raises FormatError: if the row has not the form that its store promises.
    :raises SrfixError: whatever the change raises.
    """
    return _REWRITES[form](family, key, value, change)


def _behind_prefix(value: bytes, payload: bytes, change: Change) -> bytes:
    return value[: len(value) - len(payload)] + change(payload)


def _time_first_window(family: str, key: bytes, value: bytes, change: Change) -> bytes:
    if key.startswith(_INDEX):
        return value
    found = decode_timestamped(value) if family == PLAIN else decode_with_headers(value)
    return _behind_prefix(value, found.payload, change)


def _time_first_session(_family: str, key: bytes, value: bytes, change: Change) -> bytes:
    return value if key.startswith(_INDEX) else change(value)


def _session_with_headers(_family: str, _key: bytes, value: bytes, change: Change) -> bytes:
    return _behind_prefix(value, decode_aggregate_with_headers(value).payload, change)


def _versioned(_family: str, key: bytes, value: bytes, change: Change) -> bytes:
    if decode_versioned_key(key).segment == LATEST_SEGMENT:
        return _behind_prefix(value, decode_latest(value).payload or b"", change)
    return encode_versioned_segment(
        [
            each if each.payload is None else replace(each, payload=change(each.payload))
            for each in decode_versioned_segment(value).records
        ]
    )


def _listed(_family: str, _key: bytes, value: bytes, change: Change) -> bytes:
    entries: list[bytes] = []
    for entry in decode_list(value):
        if entry is None:
            raise FormatError("an entry of a join's list is null")
        sided = decode_sided_value(entry)
        entries.append(encode_sided_value(replace(sided, payload=change(sided.payload))))
    return encode_list(entries)


_REWRITES: Final[Mapping[StoreFormat, _Rewrite]] = {
    StoreFormat.TIME_FIRST_WINDOW: _time_first_window,
    StoreFormat.TIME_FIRST_SESSION: _time_first_session,
    StoreFormat.HEADERS_SESSION: _session_with_headers,
    StoreFormat.VERSIONED: _versioned,
    StoreFormat.LIST_VALUE: _listed,
}
REWRITTEN: Final = frozenset(_REWRITES)
"""The forms that `rewritten` knows: rows of the others are one value behind what their column family says."""
