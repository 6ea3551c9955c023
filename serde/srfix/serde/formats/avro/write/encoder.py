"""The encode plan of a schema. One pass checks the row strictly, chooses the branch of each value (fastavro's tuple
notation), and names every bad field with its path: fastavro tries the branches of a union on the whole value, at every
level again. It only chooses the branch of a union of several types beside null."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final, assert_never, cast

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Decimal, type_name
from srfix.serde.connect.coercions import ensure_fit
from srfix.serde.engine import Encode
from srfix.serde.errors import CoercionError, EncodeError, SchemaError
from srfix.serde.formats.avro.engine import ParsedSchema, WriteSchema, fastavro_encoder, with_plain_times
from srfix.serde.formats.avro.schema import AvroNode, has_decimals, has_milliseconds, load
from srfix.serde.formats.avro.write.kernel import native_encoder
from srfix.serde.formats.avro.write.scalars import WHOLE_MILLISECONDS, scalar, tagged
from srfix.serde.formats.avro.write.trees import under_existing, written, written_type
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck, array_check, entries_check, map_check, record_of
from srfix.serde.formats.rows.value_check import MISSING, NULL, Convert, Misfit, ValueCheck, encode_error, nullable
from srfix.serde.projection.tree import Entries, Forbidden, Free, Items, WriteField, WriteFields, WriteScalar, Written
from srfix.serde.specs import WriteSpec

_MOST_ZEROS: Final = 1_000
"""The most zeros that a decimal's exponent may mean, if fastavro chooses a union's branch: far beyond any type's digits."""
_BARE: Final = "\0"
"""The key that holds the bare value until it is taken out."""


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows under a schema. Bytes as the root have no length (`AbstractKafkaAvroSerializer`); the payload
    of a bare null is null (`KsqlConnectSerializer`), and the caller must write it."""
    if schema_text is None:
        raise SchemaError("Avro rows cannot be written without a schema.")
    root = load(schema_text, references)
    if spec.columns is None:
        root = with_plain_times(root) if spec.times == "integers" else root
        return encoder_of(written(root, None), replace(spec, case_rule=CaseRule.EXACT))
    return encoder_of(written(root, written_type(spec)), spec)


def encoder_under(schema_text: str, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """Columns have the fields' exact names. The caller itself writes a null that stands bare, as a null payload."""
    value = under_existing(AvroType(load(schema_text, references)), spec)
    return encoder_of(value, spec, is_free=False)


def encoder_of(value: Written[AvroType], spec: WriteSpec, *, is_free: bool = True) -> Encode:
    """An encoder for a tree. `is_free` says whether fastavro may choose the branch in a union of several types."""
    check, root = _Checks(spec).of(value), value.writer.node
    if not spec.wrapped:
        check = _bare(check, spec.known_columns[0].name, spec.case_rule)
    return native_encoder(value, _encode_checked(root, WriteSchema(is_free=is_free).root(root), check), spec)


def _bare(check: ValueCheck, name: str, case_rule: CaseRule) -> ValueCheck:
    row = RecordCheck(case_rule)
    value = check if check.tag is not None else ValueCheck(fast=check.fast, careful=_unless_none(check.careful))
    row.set_fields([FieldCheck(name=name, field=_BARE, check=value, when_missing=MISSING)])
    return row.check.within(lambda convert: lambda bare_value: cast("dict[str, object]", convert(bare_value))[_BARE])


def _unless_none(careful: Convert) -> Convert:
    def check(value: object) -> object:
        if value is None:
            raise Misfit(
                [("", "is null; without wrapping, null has no bytes, so the whole payload would be null, a tombstone")]
            )
        return careful(value)

    return check


def _encode_checked(root: AvroNode, schema: ParsedSchema | list[ParsedSchema], check: ValueCheck) -> Encode:
    def explain(value: object) -> None:
        try:
            check.careful(value)
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        except RecursionError as error:
            raise EncodeError("The row nests too deep to be written.") from error

    if root.kind != "bytes":
        return fastavro_encoder(schema, prepare=check.fast, explain=explain)

    def encode(value: object, prefix: bytes) -> bytes:
        try:
            return prefix + cast("bytes", check.fast(value))
        except Misfit:
            explain(value)
            raise

    return encode


class _Checks:
    def __init__(self, spec: WriteSpec) -> None:
        self._spec = spec
        self._records: dict[WriteFields[AvroType], RecordCheck] = {}

    def of(self, value: Written[AvroType]) -> ValueCheck:
        writer, how, check = value.writer, value.how, self._beside_null(value)
        if writer.value is not writer.node:
            made = nullable(check, writer.value.name or writer.value.kind)
            return made if writer.is_nullable else _without_null(made)
        is_null_only = isinstance(how, Forbidden) and not how.is_null_too and writer.is_union and writer.is_nullable
        return nullable(check, "null") if is_null_only else check

    def _beside_null(self, value: Written[AvroType]) -> ValueCheck:
        node, how = value.writer.value, value.how
        match how:
            case Forbidden():
                return _refusing(how.why)
            case Free():
                # fastavro chooses the branch, and cuts times.
                cuts = has_milliseconds(node) and not self._spec.cut_times
                convert = _within_reason(is_whole=cuts) if cuts or has_decimals(node) else _as_it_is
                return ValueCheck(fast=convert, careful=convert)
            case WriteScalar():
                check = scalar(
                    node if how.logical == node.logical else replace(node, logical=how.logical),
                    cut_times=self._spec.cut_times,
                    times=self._spec.times,
                )
                return check if how.fits is None else _fitting(check, how.fits)
            case Items(items):
                return array_check(self.of(items))
            case Entries(keys, values):
                return (
                    map_check(self.of(values)) if node.kind == "map" else entries_check(self.of(keys), self.of(values))
                )
            case WriteFields() if value.writer.is_union:
                return self._branches(value.writer, how)
            case WriteFields():
                return self._record(how).check
            case _:
                assert_never(how)

    def _record(self, of: WriteFields[AvroType]) -> RecordCheck:
        if of not in self._records:
            # Stored before its fields are converted, because a recursive record refers to itself.
            self._records[of] = record = RecordCheck(self._spec.case_rule)
            record.set_fields(
                [self._field(field, field.value) for field in of.fields if field.value is not None],
                {field.field.name: tagged(field.missing, field.field) for field in of.fields if field.value is None},
            )
        return self._records[of]

    def _field(self, field: WriteField[AvroType], value: Written[AvroType]) -> FieldCheck:
        check, null = self.of(value), tagged(field.null, field.field)
        return FieldCheck(
            name=field.key,
            field=field.field.name,
            check=check if null is MISSING else _null_is(null, check),
            when_missing=tagged(field.missing, field.field),
        )

    def _branches(self, writer: AvroType, of: WriteFields[AvroType]) -> ValueCheck:
        """A STRUCT of a union's branches, in the form in which a union is read."""
        branches = [
            (branch.key, branch.field.type.node, branch.value) for branch in of.fields if branch.value is not None
        ]
        tags = {name: node.name or node.kind for name, node, _ in branches}
        checks = {name: _null_is(None, self.of(part)) for name, _, part in branches}

        def convert(inner: Convert, value: object) -> object:
            branch_values = cast("dict[str, object]", {} if value is None else inner(value))
            chosen = [(tags[name], part) for name, part in branch_values.items() if part is not None]
            if len(chosen) > 1:
                raise Misfit([("", "has several values, but a union holds only one")])
            if not chosen and not writer.is_nullable:
                raise Misfit([("", "is null, but the schema does not allow that")])
            return chosen[0] if chosen else NULL

        return record_of(CaseRule.EXACT, checks).check.within(lambda inner: partial(convert, inner))


def _null_is(written: object, check: ValueCheck) -> ValueCheck:
    """Connect's `Struct.get`: if the schema has a default, null becomes the default."""
    return check.within(lambda inner: lambda value: written if value is None else inner(value))


def _without_null(check: ValueCheck) -> ValueCheck:
    """A union of one type: it has a branch name, but no null."""

    def convert(inner: Convert, value: object) -> object:
        if value is None:
            raise Misfit([("", "is null, but the schema does not allow that")])
        return inner(value)

    return check.within(lambda inner: partial(convert, inner))


def _refusing(why: str) -> ValueCheck:
    def refuse(_: object) -> object:
        raise Misfit([("", why)])

    return ValueCheck(fast=refuse, careful=refuse)


def _fitting(check: ValueCheck, column: Decimal) -> ValueCheck:
    fit = ensure_fit(column, "")

    def convert(value: object) -> object:
        written = check.careful(value)
        try:
            fit(value)  # type: ignore[arg-type]  # a decimal, as the check has seen
        except CoercionError as error:
            raise Misfit.needs(f"a number that fits {type_name(column)} without rounding", value) from error
        return written

    return ValueCheck(fast=convert, careful=convert)


def _as_it_is(value: object) -> object:
    return value


def _within_reason(*, is_whole: bool) -> Convert:
    """Refuses huge decimals (fastavro would write out 1E+999999 for minutes) and, if `is_whole`, too fine times."""

    def convert(value: object) -> object:
        stack = [value]
        while stack:
            part = stack.pop()
            if isinstance(part, datetime.datetime | datetime.time):
                offset = part.utcoffset() if is_whole else None
                if is_whole and (part.microsecond % 1000 or (offset is not None and offset.microseconds % 1000)):
                    raise Misfit.needs(WHOLE_MILLISECONDS, part)
            elif isinstance(part, decimal.Decimal):
                exponent = part.as_tuple().exponent
                if isinstance(exponent, int) and exponent > _MOST_ZEROS:
                    raise Misfit.needs(f"a number with at most {_MOST_ZEROS:,} zeros at its end", part)
            elif isinstance(part, Mapping):
                stack.extend(part.values())
            elif isinstance(part, list | tuple):
                stack.extend(part)
        return value

    return convert
