"""What becomes of the rows of a store that is written anew."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.rebuild.report import StoreTally, Tally, UnreadableRow
from srfix.recovery.rebuild.reserialise import Change
from srfix.recovery.state import PLAIN, ROW_FAMILIES, TIMESTAMPED, WITH_HEADERS, StoreDirectory, stored_value
from srfix.recovery.state.stores import StoreFormat, detect_format
from srfix.recovery.state.writing import NO_TIMESTAMP, WrittenKind, stored
from srfix.serde.errors import RegistryError, SrfixError, UsageError

_TIME: Final = struct.Struct(">q")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChange:
    """What becomes of the rows of a store."""

    payload: Change | None = None
    """The serde's bytes → others; None leaves them."""
    kind: WrittenKind | None = None
    """The kind that it becomes; None leaves it what it is."""


def check_change(store: StoreDirectory, change: StoreChange) -> None:
    """:raises UsageError: if the store's rows have another form than a value of the serde, or no such form is wanted of it."""
    found = detect_format(store)
    if found.format not in _ONE_VALUE_A_ROW:
        raise UsageError(
            f"{store.path} is a store of the kind {found.format.value} ({found.why}), whose rows srfix does not write anew; it "
            "takes them over as they are."
        )
    is_segmented = found.format not in _KEY_VALUE
    if change.kind is not None and change.kind.is_segmented != is_segmented:
        raise UsageError(
            f"{store.path} is a store of the kind {found.format.value} ({found.why}), which does not become a "
            f"{change.kind.value} one."
        )


_KEY_VALUE: Final = frozenset((StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV))
_ONE_VALUE_A_ROW: Final = _KEY_VALUE | {
    StoreFormat.PLAIN_WINDOW,
    StoreFormat.TIMESTAMPED_WINDOW,
    StoreFormat.HEADERS_WINDOW,
    StoreFormat.JOIN_WINDOW,
    StoreFormat.SESSION,
}


class RowChange:
    """Changes the rows of one store in one task, and counts them.

    :param change: None takes all rows over as they are.
    """

    def __init__(self, change: StoreChange | None, *, task: str, store: str, tally: Tally) -> None:
        self._change = change or StoreChange()
        self._where = (task, store)
        self._tally = tally
        self._counts: StoreTally = tally.store(task, store)

    def family(self, family: str) -> str:
        """The column family in which the rows of one are to be."""
        kind = self._change.kind
        return family if kind is None or family not in ROW_FAMILIES else kind.family

    def values(self, family: str, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """The rows of a column family, changed.

        A row that cannot be changed stays as it is, and is counted as unreadable.

        :raises RegistryError: if the registry does not answer.
        """
        for key, value in rows:
            self._counts.rows += 1
            if family in ROW_FAMILIES and self._change != StoreChange():
                value = self._changed(family, key, value)
            yield key, value

    def _changed(self, family: str, key: bytes, value: bytes) -> bytes:
        try:
            payload = before = stored_value(family, value).payload
        except StateDirectoryError as error:
            self._note(key, error)
            return value
        if self._change.payload is not None:
            try:
                payload = self._change.payload(before)
            except RegistryError:
                raise
            except SrfixError as error:
                self._note(key, error)
        changed = self._wrapped(family, value, before, payload)
        self._counts.rewritten += changed != value
        return changed

    def _wrapped(self, family: str, value: bytes, before: bytes, payload: bytes) -> bytes:
        prefix = value[: len(value) - len(before)]
        kind = self._change.kind
        if kind is None or kind.family == family:
            return prefix + payload
        timestamp_ms = NO_TIMESTAMP if family == PLAIN else int(_TIME.unpack(prefix[-_TIME.size :])[0])
        return stored(kind, payload, timestamp_ms=timestamp_ms, headers=stored_value(family, value).headers)

    def _note(self, key: bytes, error: SrfixError) -> None:
        task, store = self._where
        self._counts.kept_raw += 1
        self._tally.note_unreadable(UnreadableRow(task=task, store=store, key=key, problem=error.message))


def in_order(families: frozenset[str]) -> tuple[str, ...]:
    """Column families in the order in which they are written: of two rows with one key the newer form counts."""
    rank = {PLAIN: 0, TIMESTAMPED: 1, WITH_HEADERS: 2}
    return tuple(sorted(families, key=lambda name: (rank.get(name, 0), name)))
