"""The common code of the serdes of formats without schemas: no registry, no framing, a plan for each half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from srfix.serde.arguments import flag, flag_or_none, member, plain_row, usable_context, usable_payload
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import Times, given_times
from srfix.serde.connect.columns import NameRule
from srfix.serde.engine import Decode
from srfix.serde.formats.table import Format
from srfix.serde.interface import Context, SerdeContext, Value
from srfix.serde.native import native_codec_of
from srfix.serde.serdes.located_errors import ABOUT_THE_PAYLOAD, ABOUT_THE_ROW, read_from, written_to
from srfix.serde.serdes.plans import EncodeOrNone, decode_plan, encode_plan
from srfix.serde.serdes.row_reader import RowReader
from srfix.serde.specs import HasColumns, NullableRepresentation, ReadSpec, WriteSpec, given_representation
from srfix.serde.subjects.names import Role, role_of

_Plan = TypeVar("_Plan")
_Spec = TypeVar("_Spec", ReadSpec, WriteSpec)


class _Schemaless(HasColumns, Generic[_Plan, _Spec]):
    _format: ClassVar[Format]
    _spec: _Spec

    def _checked(
        self,
        columns: GivenColumns | None,
        names: NameRule,
        case_rule: object,
        wrap: object,
        times: Times,
        nulls: object,
    ) -> dict[str, Any]:
        return {
            "times": given_times(times),
            "nullable_representation": given_representation(nulls, is_protobuf=self._format is Format.PROTOBUF_NOSR),
            "columns": None if columns is None else given_columns(columns, names=names),
            "case_rule": member("case_rule", CaseRule, case_rule),
            "wrap": flag_or_none("wrap", wrap),
        }

    @classmethod
    def of_spec(cls, spec: _Spec) -> Self:
        made = cls.__new__(cls)
        made._set(spec)
        return made

    def _set(self, spec: _Spec) -> None:
        self._spec = spec = self._format.settled(spec)
        self._plans: dict[str, _Plan] = {}
        roles = () if spec.columns is None else roles_of(spec.columns)
        # If it is known which halves there will be, columns that the format cannot hold raise an error at once.
        for role in roles if spec.wrap is None or len(roles) == 1 else ():
            self._plan(role)

    def _plan(self, role: Role) -> _Plan:
        plan = self._plans[role.value] = self._made(self._spec.half(role, self._format.wraps))
        return plan

    def _made(self, spec: _Spec) -> _Plan:
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).of_spec, (self._spec,)


class SchemalessSerializer(_Schemaless[EncodeOrNone, WriteSpec]):
    """Writes rows without a schema. Thread-safe and picklable."""

    def __init__(
        self,
        columns: GivenColumns | None = None,
        *,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        cut_times: bool = False,
        times: Times = "datetimes",
        nullable_representation: NullableRepresentation | None = None,
    ) -> None:
        """
        :param cut_times: True to cut times to milliseconds; otherwise finer times are refused.
        :param times: `"integers"` takes a DATE, TIME or TIMESTAMP as the integer to write.
        :param nullable_representation: for PROTOBUF_NOSR, how a null differs from a default value
            (`srfix.serde.specs`).
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        """
        cut_times = flag("cut_times", cut_times)
        given = self._checked(columns, "upper", case_rule, wrap, times, nullable_representation)
        self._set(WriteSpec(cut_times=cut_times, **given))

    def __call__(self, row: object, ctx: Context | str) -> bytes | None:
        """The payload; None for None (a tombstone), and for a bare null.

        :raises EncodeError: if the row does not fit.
        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        """
        if row is None:
            return None
        if row.__class__ is not dict:
            row = plain_row(row)
        if ctx.__class__ is not SerdeContext:
            ctx = usable_context(ctx)
        try:
            return (self._plans.get(ctx.field) or self._plan(role_of(ctx.field)))(row, b"")
        except ABOUT_THE_ROW as error:
            raise written_to(error, ctx) from error

    def _made(self, spec: WriteSpec) -> EncodeOrNone:
        return encode_plan(self._format, None, spec)


class SchemalessDeserializer(_Schemaless[Decode, ReadSpec], RowReader):
    """Reads payloads without a schema. Thread-safe and picklable."""

    def __init__(
        self,
        columns: GivenColumns | None = None,
        *,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        strict: bool = False,
        times: Times = "datetimes",
        nullable_representation: NullableRepresentation | None = None,
    ) -> None:
        """
        :param strict: refuses a record that leaves any column unfed (`ColumnNotFedError`).
        :param times: `"integers"` gives a DATE, TIME or TIMESTAMP as the integer in the record
            (`srfix.serde.columns.times`).
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        :raises UsageError: if `times` is an unknown word.
        """
        strict = flag("strict", strict)
        given = self._checked(columns, "keep", case_rule, wrap, times, nullable_representation)
        self._set(ReadSpec(strict=strict, **given))

    def __call__(self, payload: bytes | None, ctx: Context | str) -> Value:
        """The row; None for a null payload.

        :raises DecodeError: if the payload does not have the format, or a value cannot feed its column.
        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        :raises CasingError: if letter case makes the match between fields and columns ambiguous.
        """
        if payload is None:
            return None
        if not isinstance(payload, bytes):
            payload = usable_payload(payload)
        if isinstance(ctx, str):
            ctx = usable_context(ctx)
        try:
            decode, _, _ = self._plans.get(ctx.field), ctx.topic, ctx.headers
        except (AttributeError, TypeError):
            decode = None
        try:
            if decode is None:
                ctx = usable_context(ctx)
                decode = self._plan(role_of(ctx.field))
            return decode(payload, 0)
        except ABOUT_THE_PAYLOAD as error:
            raise read_from(error, ctx) from error

    def native_bare_decode(self, ctx: Context) -> object:
        """For typed arrays: the kernel's decoder for all payloads; None if Python reads them."""
        return native_codec_of(self._plans.get(ctx.field) or self._plan(role_of(ctx.field)))

    def _read_ahead(self, payloads: Sequence[bytes | None], first: int, ctx: Context) -> list[Value]:
        """The rows of the payloads from `first` on, up to the first payload that the kernel or the format does not read."""
        plan = self._plans.get(ctx.field) or self._plan(role_of(ctx.field))
        read_ahead: Any = getattr(getattr(plan, "__self__", None), "read_ahead", None)
        rows: list[Value] = [] if read_ahead is None or payloads[first] is None else read_ahead(payloads, first)
        return rows

    def _made(self, spec: ReadSpec) -> Decode:
        return decode_plan(self._format, None, spec)
