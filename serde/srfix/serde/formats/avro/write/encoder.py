"""The encode plan of a schema: made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one
pass checks the row strictly, says which branch each value takes (fastavro's tuple notation), and names every
bad field with its path. Only a union of several types beside null is left to fastavro to choose from.
"""

from __future__ import annotations

from typing import Final, cast

from srfix.serde.casing import CaseRule
from srfix.serde.columns.halves import only_column, struct_of
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Column, Columns
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

_BARE: Final = "\0"
"""Where the bare value stands until it is taken out."""


def encoder(
    schema_text: str | None,
    *,
    columns: Columns | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    wrapped: bool = True,
    cut_times: bool = False,
    times: Times = "datetimes",
) -> Encode:
    """An encoder for rows under a schema.

    With columns, the schema is their internal schema, column for field, and a row's keys are matched to them by the case
    rule; without, the row's keys are the schema's field names, exactly. A root of the Avro type bytes, a decimal too, is
    the whole body, without Avro's length: so Confluent's serializers write it (`AbstractKafkaAvroSerializer`,
    confluent-kafka).

    :param references: the texts that the schema refers to, in the order of registration.
    :param wrapped: False writes the bare value of the only column. Null has no bytes then: the engine's payload is null
        (`KsqlConnectSerializer`), which is for the caller to write.
    :param cut_times: times finer than the schema's are cut down; refused otherwise.
    :param times: `"integers"` takes times as the integers that are written.
    :raises SchemaError: if the text is not an Avro schema, or not the one of the columns.
    :raises ColumnError: if there are several columns, or none, and `wrapped` is False.
    """
    if schema_text is None:
        raise SchemaError("Avro rows cannot be written without a schema.")
    root = load(schema_text, references)
    if columns is None and times == "integers":
        root = with_plain_times(root)
    rule = CaseRule.EXACT if columns is None else case_rule
    bare = None if columns is None or wrapped else only_column(columns)
    type_ = bare.type if bare is not None else None if columns is None else struct_of(columns)
    return encoder_of(written(root, type_), rule, bare=bare, cut_times=cut_times, times=times)


def encoder_of(
    value: Written[AvroType],
    case_rule: CaseRule,
    *,
    bare: Column | None,
    cut_times: bool,
    is_free: bool = True,
    times: Times = "datetimes",
) -> Encode:
    """An encoder for what a tree says.

    :param bare: the only column, if its value is what the tree is about.
    :param is_free: whether the tree may leave it to fastavro which branch of a union of several types a value takes.
    """
    check = Checks(case_rule, cut_times=cut_times, times=times).of(value)
    root = value.writer.node
    encode = _encode_checked(
        root, WriteSchema(is_free=is_free).root(root), check if bare is None else _bare(check, bare.name, case_rule)
    )
    return native_encoder(value, encode, case_rule, bare=bare, cut_times=cut_times, times=times)


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
