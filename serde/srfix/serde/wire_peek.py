"""The schema ids of many payloads, for counting: each distinct beginning is parsed once by `wire`, and remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, cast

from srfix.serde.errors import PayloadTooShortError, WireError
from srfix.serde.subjects.names import Role
from srfix.serde.wire import PREFIX_ID_SIZE, Frame, Headers, SchemaId, header_guid, parse, prefix_of

PeekedId = SchemaId
"""A schema id that a registry can have assigned (`wire.is_schema_id`), or one of the three marks below."""

NO_PAYLOAD: Final = SchemaId(-1)
"""The payload is null: a tombstone, or a null key."""
BY_GUID: Final = SchemaId(-2)
"""A GUID names the schema, in the payload or in a header."""
UNFRAMED: Final = SchemaId(-3)
"""The payload is not framed, or names an id that no registry assigns, or its schema id header cannot be read."""

_MOST_BEGINNINGS: Final = 65_536
_MOST_SKIPPED: Final = 31


class SchemaIdPeek:
    """Payloads → their schema ids and marks, in order. It remembers up to 65,536 beginnings (about 8 MB)."""

    __slots__ = ("_beginnings", "_differed", "_has_met_null", "_not_now")

    def __init__(self) -> None:
        self._beginnings = _Beginnings()
        self._has_met_null = False
        self._differed = 0
        self._not_now = 0

    def __call__(self, payloads: Sequence[bytes | None]) -> list[PeekedId]:
        beginnings = self._beginnings
        beginnings.undecided = False
        peeked_ids: list[PeekedId] | None = None
        if not self._has_met_null:
            try:
                peeked_ids = list(map(beginnings.__getitem__, map(prefix_of, cast("Sequence[bytes]", payloads))))
            except TypeError:  # a null cannot be sliced; if there is one, more will follow
                self._has_met_null = True
        if peeked_ids is None:
            peeked_ids = [
                NO_PAYLOAD if payload is None else beginnings[payload[:PREFIX_ID_SIZE]] for payload in payloads
            ]
        if beginnings.undecided:
            for index, peeked in enumerate(peeked_ids):
                payload = payloads[index]
                if peeked == UNFRAMED and payload is not None:
                    peeked_ids[index] = _whole(payload)
        return peeked_ids

    def alike(self, payloads: Sequence[bytes]) -> PeekedId | None:
        """The id or mark that all payloads share, as the smallest and largest do; None if they differ or unchecked."""
        if not payloads:
            return None
        if self._not_now:
            self._not_now -= 1
            return None
        beginning = prefix_of(min(payloads))
        if prefix_of(max(payloads)) != beginning:
            self._not_now, self._differed = self._differed, min(2 * self._differed + 1, _MOST_SKIPPED)
            return None
        self._differed = 0
        self._beginnings.undecided = False
        only = self._beginnings[beginning]
        return None if self._beginnings.undecided else only


class _Beginnings(dict[bytes, PeekedId]):
    """A payload's first bytes → its schema id or mark. Misses are parsed."""

    undecided = False
    """Set if a beginning needs the rest of its payload for a decision; such a beginning is never remembered."""

    def __missing__(self, beginning: bytes) -> PeekedId:
        try:
            frame = parse(beginning)
        except PayloadTooShortError:
            if len(beginning) == PREFIX_ID_SIZE:
                self.undecided = True
                return UNFRAMED
            peeked = UNFRAMED
        except WireError:
            peeked = UNFRAMED
        else:
            peeked = _mark(frame)
        if len(self) < _MOST_BEGINNINGS:
            self[beginning] = peeked
        return peeked


def _whole(payload: bytes) -> PeekedId:
    try:
        frame = parse(payload)
    except WireError:
        return UNFRAMED
    return _mark(frame)


def _mark(frame: Frame | None) -> PeekedId:
    if frame is None:
        return UNFRAMED
    if frame.schema_id is None:
        return BY_GUID
    return frame.schema_id


def peek_headers(headers: Iterable[Headers], peeked: list[PeekedId], role: Role) -> list[PeekedId]:
    """The payloads' results, corrected by their records' headers: a header wins, except over a null."""
    corrected = list(peeked)
    for index, record_headers in enumerate(headers):
        if not record_headers or corrected[index] == NO_PAYLOAD:
            continue
        try:
            if header_guid(record_headers, role) is not None:
                corrected[index] = BY_GUID
        except WireError:
            corrected[index] = UNFRAMED
    return corrected
