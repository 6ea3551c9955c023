"""A bad row whose error is made when somebody asks for it: of a batch's thousand bad rows most are written down and counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from srfix.serde.errors import DecodeError, Reason, SrfixError, TrailingBytesError, TruncatedBodyError
from srfix.serde.interface import BadRow, Context
from srfix.serde.serdes.located_errors import read_from
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

    __slots__ = ("_error", "_told")
    _told: tuple[type[DecodeError], str, Context, str]
    """The error's class and words, the payload's context, and what stands before the words in the error's sentence."""

    def __init__(self, position: int, kind: str, words: str, payload: bytes, ctx: Context, *, about: str) -> None:
        """
        :param kind: the kernel's word for the reason.
        :param about: what stands before the words in the error's sentence.
        """
        error, reason = _KINDS[kind]
        # A field of its own each would cost as much as the row's reading.
        put = object.__setattr__
        put(self, "position", position)
        put(self, "reason", reason)
        put(self, "payload", payload)
        put(self, "_told", (error, words, ctx, about))

    @property
    def error(self) -> SrfixError:
        """Why, in full."""
        made: SrfixError | None = getattr(self, "_error", None)
        if made is None:
            assert self.payload is not None
            kind, words, ctx, _ = self._told
            cause = kind(words)
            made = read_from(cause, ctx, identity_of(self.payload))
            made.__cause__ = cause
            object.__setattr__(self, "_error", made)
        return made

    @property
    def message(self) -> str:
        """The error's sentence."""
        _, words, _, about = self._told
        whole = about + words
        # What is short and printable as a whole is so in its parts.
        return whole if whole.isascii() and whole.isprintable() and len(whole) < _SHORT else self.error.message

    def __reduce__(self) -> tuple[Callable[[], BadRow], tuple[()]]:
        make = partial(BadRow, position=self.position, reason=self.reason, error=self.error, payload=self.payload)
        return make, ()
