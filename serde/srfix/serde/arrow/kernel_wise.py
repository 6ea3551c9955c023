"""Payloads → Arrow with the native kernel. Rows that the kernel does not read are read row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from uuid import UUID

from srfix.serde.arrow.row_wise import RowWise, payload_at, with_odd_rows
from srfix.serde.arrow.types import pyarrow
from srfix.serde.batches.rows import reason_of, without_frames
from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct, nesting
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import DecodeError, Reason, SrfixError, TrailingBytesError, TruncatedBodyError, WireError
from srfix.serde.interface import BadRow, Context, Contexts, Deserializer, Payloads
from srfix.serde.native import kernel
from srfix.serde.serdes.located_errors import read_from, words_of_reading
from srfix.serde.subjects.names import Role
from srfix.serde.wire import identity_of, prefix_of

if TYPE_CHECKING:
    import pyarrow as pa


_Odd: TypeAlias = tuple[int, str, str | None]
"""Position, the kernel's reason, and its message; reason and message are None if Python must find them."""
_LEVELS: Final = 30
"""pyarrow imports 64 levels, of which a map takes two; the kernel's JSON has 128, of which a struct takes three."""


class KernelWise:
    """The `BatchDecode` of the kernel: the same batches as `RowWise`.

    If the kernel does not read a row, because the row is bad or the kernel does not support its schema, the row is read
    row-wise, which finds the error message.
    """

    def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        self._row_wise = RowWise(deserializer, columns, role)
        is_native = kernel() is not None and self._row_wise.is_vouched_for and nesting(columns) <= _LEVELS
        self._native_decode = getattr(deserializer, "native_decode", None) if is_native else None
        # For a format without framing: one decoder for all payloads.
        self._native_bare = getattr(deserializer, "native_bare_decode", None) if is_native else None
        self._columns = json.dumps([[column.name, _type(column.type)] for column in columns]).encode()
        self._decoders: dict[tuple[str, str], Any] = {}

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._row_wise.schema

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        # If the format has schema ids, headers may name another schema.
        if isinstance(ctx, Sequence) or (ctx.headers and self._native_bare is None):
            return self._row_wise(payloads, ctx)
        decoder = self._decoders.get((ctx.topic, ctx.field)) or self._decoder(ctx)
        if decoder is None:
            return self._row_wise(payloads, ctx)
        self._decoders[ctx.topic, ctx.field] = decoder
        refused: dict[int | bytes, SrfixError] = {}
        try:
            batch, odd = self._decoded(decoder, payloads, ctx, refused)
        except (OverflowError, TypeError):
            return self._row_wise(payloads, ctx)  # the row-wise reader finds the error message
        finally:
            # The next batch asks again, because a schema may have been registered in the meantime.
            for identity in refused:
                decoder.forget(identity)
        faulty = [position for position, _, words in odd if words is not None]
        payload_by_position = dict(zip(faulty, _payloads_at(payloads, faulty), strict=True))
        words_by_prefix: dict[bytes, str] = {}
        bad: list[BadRow] = []
        left: list[int] = []
        for position, reason, words in odd:
            if words is not None:
                payload = payload_by_position[position]
                about = _about(payload, ctx, words_by_prefix)
                bad.append(FaultyRow(position, reason, words, payload, ctx, about=about))
                continue
            other = payload_at(payloads, position) if refused else None
            named = identity_of(other) if other and reason == "otherwise" else None
            key = named.bytes if isinstance(named, UUID) else named
            error = None if key is None else refused.get(key)
            why = None if error is None else reason_of(error)
            if error is None or why is None:
                left.append(position)
            else:
                bad.append(BadRow(position=position, reason=why, error=error, payload=other))
        rows = pyarrow().record_batch(batch)
        decoded = with_odd_rows(rows.columns, left, payloads, ctx, self._row_wise)
        return replace(decoded, bad=tuple(sorted((*decoded.bad, *bad), key=attrgetter("position")))) if bad else decoded

    def _decoder(self, ctx: Context) -> Any:
        """The kernel's decoder for one topic's keys or values; None if all payloads are read row by row."""
        bare = None if self._native_bare is None else self._native_bare(ctx)
        if bare is None and self._native_decode is None:
            return None
        decoder = kernel().BatchDecoder(self._columns)
        if bare is not None:
            decoder.plan_bare(bare)
        return decoder

    def _decoded(
        self, decoder: Any, payloads: Payloads, ctx: Context, refused: dict[int | bytes, SrfixError]
    ) -> tuple[Any, list[_Odd]]:
        decode, payload_list = decoder.decode_arrays, [payloads]
        if isinstance(payloads, Sequence):
            decode, payload_list = decoder.decode_list, payloads if isinstance(payloads, list) else list(payloads)
        elif not isinstance(payloads, pyarrow().Array):
            payload_list = list(payloads.chunks)
        batch, unknown, odd = decode(payload_list)
        while batch is None:
            self._plan(decoder, unknown, ctx, refused)
            batch, unknown, odd = decode(payload_list)
        return batch, odd

    def _plan(
        self, decoder: Any, identities: Sequence[int | bytes], ctx: Context, refused: dict[int | bytes, SrfixError]
    ) -> None:
        assert self._native_decode is not None
        if len(identities) > payload_bounds().plans:
            raise OverflowError
        for identity in identities:
            try:
                named = UUID(bytes=identity) if isinstance(identity, bytes) else identity
                decoder.plan(identity, self._native_decode(named, ctx))
            except SrfixError as error:
                if reason_of(error) is None:
                    raise
                if not isinstance(error, WireError):  # for an impossible id, the row-wise reader finds the message
                    refused[identity] = without_frames(error)
                decoder.plan(identity, None)


def _about(payload: bytes, ctx: Context, words_by_prefix: dict[bytes, str]) -> str:
    """The beginning of an error message; `words_by_prefix` keeps it for each schema id, by the id's bytes."""
    prefix = prefix_of(payload)
    about = words_by_prefix.get(prefix)
    if about is None:
        identity = identity_of(payload)
        about = words_of_reading("", ctx, identity)
        if isinstance(identity, int):
            words_by_prefix[prefix] = about
    return about


def _payloads_at(payloads: Payloads, positions: Sequence[int]) -> list[bytes]:
    """None of them is null."""
    if isinstance(payloads, Sequence):
        return [payload for position in positions if (payload := payloads[position]) is not None]
    return cast("list[bytes]", payloads.take(pyarrow().array(positions, pyarrow().int64())).to_pylist())


_SCALARS: Final = {
    ScalarType.BOOLEAN: "boolean",
    ScalarType.INTEGER: "int32",
    ScalarType.BIGINT: "int64",
    ScalarType.DOUBLE: "float64",
    ScalarType.STRING: "string",
    ScalarType.BYTES: "binary",
    ScalarType.DATE: "date",
    ScalarType.TIME: "time",
    ScalarType.TIMESTAMP: "timestamp",
    ScalarType.TIMESTAMP_NTZ: "local_timestamp",
}


def _type(type_: ColumnType) -> object:
    match type_:
        case ScalarType():
            return _SCALARS[type_]
        case Decimal(precision, scale):
            return {"decimal": [precision, scale]}
        case Array(items):
            return {"list": _type(items)}
        case Map(values, keys):
            return {"map": [_type(keys), _type(values)]}
        case Struct(fields):
            return {"struct": [[field.name, _type(field.type)] for field in fields]}


_KINDS: Final[dict[str, tuple[type[DecodeError], Reason]]] = {
    "truncated": (TruncatedBodyError, Reason.TRUNCATED),
    "trailing": (TrailingBytesError, Reason.TRAILING_BYTES),
    "malformed": (DecodeError, Reason.DECODE_FAILED),
}
_SHORT: Final = 1_000
"""Messages up to this number of characters are never cut."""


class FaultyRow(BadRow):
    __slots__ = ("_error", "_fault")
    _fault: tuple[type[DecodeError], str, Context, str]
    """The error's class and message, the payload's context, and the beginning of the error's sentence."""

    def __init__(self, position: int, kind: str, words: str, payload: bytes, ctx: Context, *, about: str) -> None:
        error, reason = _KINDS[kind]
        # Separate fields would cost as much time as reading the row.
        put = object.__setattr__
        put(self, "position", position)
        put(self, "reason", reason)
        put(self, "payload", payload)
        put(self, "_fault", (error, words, ctx, about))

    @property
    def error(self) -> SrfixError:
        made: SrfixError | None = getattr(self, "_error", None)
        if made is None:
            assert self.payload is not None
            kind, words, ctx, _ = self._fault
            cause = kind(words)
            made = read_from(cause, ctx, identity_of(self.payload))
            made.__cause__ = cause
            object.__setattr__(self, "_error", made)
        return made

    @property
    def message(self) -> str:
        _, words, _, about = self._fault
        whole = about + words
        # If the whole is short and printable, so is each part.
        return whole if whole.isascii() and whole.isprintable() and len(whole) < _SHORT else self.error.message

    def __reduce__(self) -> tuple[Callable[[], BadRow], tuple[()]]:
        make = partial(BadRow, position=self.position, reason=self.reason, error=self.error, payload=self.payload)
        return make, ()
