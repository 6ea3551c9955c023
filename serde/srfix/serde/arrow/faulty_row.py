"""A bad row whose error is made when somebody asks for it: of a batch's thousand bad rows most are written down and counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from srfix.serde.batches import BadRow, Reason
from srfix.serde.errors import DecodeError, SrfixError, TrailingBytesError, TruncatedBodyError
from srfix.serde.interface import Context
from srfix.serde.serdes import read_from
from srfix.serde.wire import identity_of

_KINDS: Final[dict[str, tuple[type[DecodeError], Reason]]] = {
    "truncated": (TruncatedBodyError, Reason.TRUNCATED),
    "trailing": (TrailingBytesError, Reason.TRAILING_BYTES),
    "malformed": (DecodeError, Reason.DECODE_FAILED),
}
"""By the kernel's word."""
_SHORT: Final = 1_000
"""Characters: no part of such a message is cut."""


class FaultyRow(BadRow):
    """A row whose bytes are no value of their schema, in the kernel's words."""

    __slots__ = ("_about", "_ctx", "_error", "_kind", "_words")
    _about: str
    _ctx: Context
    _error: SrfixError | None
    _kind: type[DecodeError]
    _words: str

    def __init__(self, position: int, kind: str, words: str, payload: bytes, ctx: Context, *, about: str) -> None:
        """
        :param kind: the kernel's word for the reason.
        :param about: what stands before the words in the error's sentence.
        """
        put = object.__setattr__
        put(self, "position", position)
        put(self, "payload", payload)
        put(self, "_words", words)
        put(self, "_about", about)
        put(self, "_ctx", ctx)
        put(self, "_error", None)
        put(self, "_kind", _KINDS[kind][0])
        put(self, "reason", _KINDS[kind][1])

    @property
    def error(self) -> SrfixError:
        """Why, in full."""
        if self._error is None:
            assert self.payload is not None
            cause = self._kind(self._words)
            error = read_from(cause, self._ctx, identity_of(self.payload))
            error.__cause__ = cause
            object.__setattr__(self, "_error", error)
        assert self._error is not None
        return self._error

    @property
    def message(self) -> str:
        """The error's sentence."""
        words = self._about + self._words
        # What is short and printable as a whole is so in its parts.
        return words if words.isascii() and words.isprintable() and len(words) < _SHORT else self.error.message

    def __reduce__(self) -> tuple[Callable[[], BadRow], tuple[()]]:
        make = partial(BadRow, position=self.position, reason=self.reason, error=self.error, payload=self.payload)
        return make, ()
