"""What becomes of the rows of a store that is written anew."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.rebuild.report import StoreTally, Tally, UnreadableRow
from srfix.recovery.rebuild.reserialise import Change
from srfix.recovery.rebuild.row_values import REWRITTEN, rewritten
from srfix.recovery.state.directory import StoreDirectory
from srfix.recovery.state.stored_rows import PLAIN, ROW_FAMILIES, TIMESTAMPED, WITH_HEADERS, stored_value
from srfix.recovery.state.stores.detection import StoreFormat, detect_format
from srfix.recovery.state.writing.kinds import NO_TIMESTAMP, WrittenKind, stored
from srfix.serde.errors import RegistryError, SrfixError, UsageError

_TIME: Final = struct.Struct(">q")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChange:
    """What becomes of the rows of a store."""

    payload: Change | None = None
    """The serde's bytes → others; None leaves them."""
    kind: WrittenKind | None = None
    """The kind that it becomes; None leaves it what it is."""
    form: StoreFormat | None = None
    """The form of its rows as they are, where that is known; None looks at them."""


def form_to_change(store: StoreDirectory, change: StoreChange) -> StoreFormat:
    """The form of a store's rows.

    :raises UsageError: if they hold no value of a serde, or do not become such as are wanted.
    """
    form, why = change.form, "as was said"
    if form is None:
        found = detect_format(store)
        form, why = found.format, found.why
    if form is StoreFormat.SUBSCRIPTION and change.payload is not None:
        raise UsageError(
            f"{store.path} is a store of the kind {form.value} ({why}), whose rows hold no value but its hash; srfix "
            "takes them over as they are."
        )
    if change.kind is not None and change.kind not in _BECOMES.get(form, ()):
        raise UsageError(
            f"{store.path} is a store of the kind {form.value} ({why}), which does not become a {change.kind.value} one."
        )
    return form


_KEY_VALUE: Final = (WrittenKind.PLAIN_KV, WrittenKind.TIMESTAMPED_KV, WrittenKind.HEADERS_KV)
_WINDOW: Final = (WrittenKind.PLAIN_WINDOW, WrittenKind.TIMESTAMPED_WINDOW, WrittenKind.HEADERS_WINDOW)
_BECOMES: Final[Mapping[StoreFormat, tuple[WrittenKind, ...]]] = {
    StoreFormat.PLAIN_KV: _KEY_VALUE,
    StoreFormat.TIMESTAMPED_KV: _KEY_VALUE,
    StoreFormat.HEADERS_KV: _KEY_VALUE,
    StoreFormat.PLAIN_WINDOW: _WINDOW,
    StoreFormat.TIMESTAMPED_WINDOW: _WINDOW,
    StoreFormat.HEADERS_WINDOW: _WINDOW,
    StoreFormat.JOIN_WINDOW: _WINDOW,
}


class RowChange:
    """Changes the rows of one store in one task, and counts them.

    :param change: None takes all rows over as they are.
    :param form: the form of the rows; None where none of them changes.
    """

    def __init__(
        self, change: StoreChange | None, *, form: StoreFormat | None, task: str, store: str, tally: Tally
    ) -> None:
        self._change = change or StoreChange()
        self._form = form
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
        change: Callable[[str, bytes, bytes], bytes] | None = None
        if (self._change.payload, self._change.kind) != (None, None):
            if self._form in REWRITTEN:
                change = self._rewritten
            elif family in ROW_FAMILIES:
                change = self._changed
        for key, value in rows:
            self._counts.rows += 1
            yield key, value if change is None else change(family, key, value)

    def _rewritten(self, family: str, key: bytes, value: bytes) -> bytes:
        assert self._form is not None
        assert self._change.payload is not None
        try:
            changed = rewritten(self._form, family, key, value, self._change.payload)
        except RegistryError:
            raise
        except SrfixError as error:
            self._note(key, error)
            return value
        self._counts.rewritten += changed != value
        return changed

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
