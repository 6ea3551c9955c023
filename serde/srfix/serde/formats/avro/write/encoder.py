"""The encode plan of a schema: made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one
pass checks the row strictly, says which branch each value takes (fastavro's tuple notation), and names every
bad field with its path. Only a union of several types beside null is left to fastavro to choose from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from srfix.serde.casing import CaseRule
from srfix.serde.columns.halves import only_column, struct_of
from srfix.serde.columns.types import ColumnType
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError, SchemaError
from srfix.serde.formats.avro.engine import ParsedSchema, fastavro_encoder
from srfix.serde.formats.avro.plain_times import with_plain_times
from srfix.serde.formats.avro.schema import AvroNode, load
from srfix.serde.formats.avro.write.checks import Checks
from srfix.serde.formats.avro.write.kernel import native_encoder
from srfix.serde.formats.avro.write.schema import WriteSchema
from srfix.serde.formats.avro.write.tree import written
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck
from srfix.serde.formats.rows.misfit import Misfit, encode_error
from srfix.serde.formats.rows.value_check import MISSING, Convert, ValueCheck
from srfix.serde.projection.written import Written
from srfix.serde.specs import WriteSpec

_BARE: Final = "\0"
"""Where the bare value stands until it is taken out."""


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows under a schema.

    With columns, the schema is their internal schema, column for field, and a row's keys are matched to them by the case
    rule; without, the row's keys are the schema's field names, exactly. A root of the Avro type bytes, a decimal too, is
    the whole body, without Avro's length: so Confluent's serializers write it (`AbstractKafkaAvroSerializer`,
    confluent-kafka). Of the only column's bare value, null has no bytes: the engine's payload is null
    (`KsqlConnectSerializer`), which is for the caller to write.
    """
    if schema_text is None:
        raise SchemaError("Avro rows cannot be written without a schema.")
    root = load(schema_text, references)
    if spec.columns is None:
        root = with_plain_times(root) if spec.times == "integers" else root
        return encoder_of(written(root, None), replace(spec, case_rule=CaseRule.EXACT))
    return encoder_of(written(root, written_type(spec)), spec)


def written_type(spec: WriteSpec) -> ColumnType:
    """What the root of a schema is written from: the row, or the bare value of the only column."""
    return struct_of(spec.known_columns) if spec.wrapped else only_column(spec.known_columns).type


def encoder_of(value: Written[AvroType], spec: WriteSpec, *, is_free: bool = True) -> Encode:
    """An encoder for what a tree says.

    :param is_free: whether the tree may leave it to fastavro which branch of a union of several types a value takes.
    """
    check, root = Checks(spec).of(value), value.writer.node
    if not spec.wrapped:
        check = _bare(check, spec.known_columns[0].name, spec.case_rule)
    return native_encoder(value, _encode_checked(root, WriteSchema(is_free=is_free).root(root), check), spec)


def _bare(check: ValueCheck, name: str, case_rule: CaseRule) -> ValueCheck:
    """A row of one column → what is written of it: its value."""
    row = RecordCheck(case_rule)
    value = check if check.tag is not None else ValueCheck(fast=check.fast, careful=_unless_none(check.careful))
    row.set_fields([FieldCheck(name=name, field=_BARE, check=value, when_missing=MISSING)])

    def fast(given: object) -> object:
        return cast("dict[str, object]", row.fast(given))[_BARE]

    def careful(given: object) -> object:
        return cast("dict[str, object]", row.careful(given))[_BARE]

    return ValueCheck(fast=fast, careful=careful)


def _unless_none(careful: Convert) -> Convert:
    def check(value: object) -> object:
        if value is None:
            raise Misfit(
                [("", "is null, and un-wrapped there are no bytes for that: the payload is null, a tombstone")]
            )
        return careful(value)

    return check


def _encode_checked(root: AvroNode, schema: ParsedSchema | list[ParsedSchema], check: ValueCheck) -> Encode:
    """An encoder of values that a check makes ready."""

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
