"""Writes rows with one plan per topic and field: the part of each serializer with a registry for the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.interface import Context
from srfix.serde.native import kernel, native_encoder_of

if TYPE_CHECKING:

    class _Base:
        def _put(self, topic: str, field: str, prefix: bytes, encoder: object, most: int, /) -> None: ...

else:
    # Its calls write, without Python, the dicts for which it has an encoder; `_call` writes all other rows.
    _Base = object if kernel() is None else kernel().Framer


class FramedWriter(_Base):
    """A serializer whose calls go to the kernel, topic by topic. Without a kernel, `_call` is the call."""

    IS_NATIVE: Final = not TYPE_CHECKING and _Base is not object
    """Whether a call goes to the kernel, which calls `_call` for the rows that it does not write."""

    def _put_native(self, ctx: Context, prefix: bytes, encode: object) -> None:
        """From now on the kernel writes the dicts of this topic and field, if `encode` belongs to it."""
        native = native_encoder_of(encode)
        if native is not None and isinstance(ctx.topic, str) and isinstance(ctx.field, str):
            self._put(ctx.topic, ctx.field, prefix, native, payload_bounds().plans)
