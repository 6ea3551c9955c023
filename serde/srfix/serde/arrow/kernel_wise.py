"""Payloads → Arrow with the native kernel. Rows that the kernel does not read are read row by row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload
from uuid import UUID

from srfix.serde.arrow.row_wise import RowWise, payload_at, with_odd_rows
from srfix.serde.arrow.types import pyarrow
from srfix.serde.batches.rows import without_frames
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


_Odd: TypeAlias = tuple[int, str]
"""Position and the kernel's reason; Python reads the row, or finds the message."""
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
            batch, odd, faults = self._decoded(decoder, payloads, ctx, refused)
        except (OverflowError, TypeError):
            return self._row_wise(payloads, ctx)  # the row-wise reader finds the error message
        finally:
            # The next batch asks again, because a schema may have been registered in the meantime.
            for identity in refused:
                decoder.forget(identity)
        bad: list[BadRow] = []
        left: list[int] = []
        for position, reason in odd:
            other = payload_at(payloads, position) if refused else None
            named = identity_of(other) if other and reason == "otherwise" else None
            key = named.bytes if isinstance(named, UUID) else named
            error = None if key is None else refused.get(key)
            why = None if error is None else error.row_reason
            if error is None or why is None:
                left.append(position)
            else:
                bad.append(BadRow(position=position, reason=why, error=error, payload=other))
        rows = pyarrow().record_batch(batch)
        decoded = with_odd_rows(rows.columns, left, payloads, ctx, self._row_wise)
        faulty = FaultyRows(faults, ctx)
        if not bad and not decoded.bad:
            return replace(decoded, bad=faulty)
        return replace(decoded, bad=tuple(sorted((*decoded.bad, *bad, *faulty), key=attrgetter("position"))))

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
    ) -> tuple[Any, list[_Odd], Any]:
        decode, payload_list = decoder.decode_arrays, [payloads]
        if isinstance(payloads, Sequence):
            decode, payload_list = decoder.decode_list, payloads if isinstance(payloads, list) else list(payloads)
        elif not isinstance(payloads, pyarrow().Array):
            payload_list = list(payloads.chunks)
        batch, unknown, odd, faults = decode(payload_list)
        while batch is None:
            self._plan(decoder, unknown, ctx, refused)
            batch, unknown, odd, faults = decode(payload_list)
        return batch, odd, faults

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
                if error.row_reason is None:
                    raise
                if not isinstance(error, WireError):  # for an impossible id, the row-wise reader finds the message
                    refused[identity] = without_frames(error)
                decoder.plan(identity, None)


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
_WORDS: Final = {kind: reason.value for kind, (_, reason) in _KINDS.items()}
_SHORT: Final = 1_000
"""Messages up to this number of characters are never cut."""


class FaultyRows(Sequence[BadRow]):
    """The rows in whose bytes the kernel found a fault. A row is made when somebody asks for it."""

    def __init__(self, faults: Any, ctx: Context) -> None:
        self._faults = faults
        self._ctx = ctx
        self._about_by_prefix: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._faults)

    @overload
    def __getitem__(self, number: int) -> BadRow: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[BadRow]: ...
    def __getitem__(self, number: int | slice) -> BadRow | Sequence[BadRow]:
        numbers = range(len(self))[number]
        return self._row(numbers) if isinstance(numbers, int) else [*map(self._row, numbers)]

    def columns(self) -> list[pa.Array] | None:
        """Reason, message and payload of all rows of the batch, null in good ones; None if the rows have to be made."""
        made = self._faults.columns(_WORDS, self._about)
        return None if made is None else pyarrow().record_batch(made).columns

    def _row(self, number: int) -> BadRow:
        position, kind, words, payload = self._faults.row(number)
        return FaultyRow(position, kind, words, payload, self._ctx, about=self._about(payload))

    def _about(self, payload: bytes) -> str:
        """The beginning of an error message, kept for each schema id, by the id's bytes."""
        prefix = prefix_of(payload)
        about = self._about_by_prefix.get(prefix)
        if about is None:
            identity = identity_of(payload)
            about = words_of_reading("", self._ctx, identity)
            if isinstance(identity, int):
                self._about_by_prefix[prefix] = about
        return about


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
