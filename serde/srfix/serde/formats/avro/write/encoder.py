"""The encode plan of a schema. It is made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one pass
checks the row strictly, chooses the branch of each value (fastavro's tuple notation), and names every bad field with
its path. fastavro only chooses the branch of a union of several types beside null.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from srfix.serde.casing import CaseRule
from srfix.serde.columns.half import only_column, struct_of
from srfix.serde.columns.types import Array, ColumnType, Map, Struct
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError, SchemaError
from srfix.serde.formats.avro.connect import map_entry_types
from srfix.serde.formats.avro.engine import ParsedSchema, WriteSchema, fastavro_encoder
from srfix.serde.formats.avro.plain_times import with_plain_times
from srfix.serde.formats.avro.schema import AvroNode, load
from srfix.serde.formats.avro.write.checks import Checks
from srfix.serde.formats.avro.write.kernel import native_encoder
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck
from srfix.serde.formats.rows.value_check import MISSING, Convert, Misfit, ValueCheck, encode_error
from srfix.serde.projection.tree import (
    Constant,
    Entries,
    Free,
    Items,
    WriteField,
    WriteFields,
    WriteHow,
    WriterField,
    WriteScalar,
    Written,
)
from srfix.serde.specs import WriteSpec


def written(root: AvroNode, column: ColumnType | None) -> Written[AvroType]:
    """How values are written under a schema; for columns, under their internal schema."""
    return _Walk().value(AvroType(root), column)


class _Walk:
    def __init__(self) -> None:
        self._records: dict[AvroNode, WriteFields[AvroType]] = {}

    def value(self, writer: AvroType, column: ColumnType | None) -> Written[AvroType]:
        return Written(writer=writer, column=column, how=self._how(writer, column))

    def _how(self, writer: AvroType, column: ColumnType | None) -> WriteHow[AvroType]:
        node = writer.value
        if node.kind == "union" and node is writer.node:
            return Free()
        if node.kind == "record":
            return self._record(writer, column)
        if node.items is None:
            return WriteScalar(logical=node.logical)
        if node.kind == "map" or map_entry_types(node) is not None:
            keys, values = writer.entries("")
            inner = column.values if isinstance(column, Map) else None
            return Entries(self.value(keys, None), self.value(values, inner))
        return Items(self.value(writer.items(), column.items if isinstance(column, Array) else None))

    def _record(self, writer: AvroType, column: ColumnType | None) -> WriteFields[AvroType]:
        node = writer.value
        if node in self._records:
            return self._records[node]
        # Known before its fields are looked at: a recursive record finds itself here.
        record = self._records[node] = WriteFields()
        columns = column.fields if isinstance(column, Struct) else (None,) * len(node.fields)
        if len(columns) != len(node.fields):
            raise SchemaError(
                f"The record {node.name} has {len(node.fields)} fields, but there are {len(columns)} columns, so it is "
                "not the schema of these columns. Use `encoder_under` to write columns under an existing schema."
            )
        return record.complete(
            tuple(
                WriteField(
                    field=field,
                    column=one,
                    value=self.value(field.type, None if one is None else one.type),
                    missing=_missing(field),
                )
                for field, one in zip(writer.fields(""), columns, strict=True)
            )
        )


def _missing(field: WriterField[AvroType]) -> Constant | None:
    if field.default is not MISSING:
        return Constant(field.default)
    return Constant(None) if field.type.node.kind == "union" and field.type.is_nullable else None


_BARE: Final = "\0"
"""The key that holds the bare value until it is taken out."""


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows under a schema: with columns their internal schema, otherwise by its exact field names.

    Bytes as the root (also a decimal) are the whole body, without a length: so Confluent's serializers write them
    (`AbstractKafkaAvroSerializer`). A bare null has no bytes: the engine's payload is then null
    (`KsqlConnectSerializer`), and the caller must write it.
    """
    if schema_text is None:
        raise SchemaError("Avro rows cannot be written without a schema.")
    root = load(schema_text, references)
    if spec.columns is None:
        root = with_plain_times(root) if spec.times == "integers" else root
        return encoder_of(written(root, None), replace(spec, case_rule=CaseRule.EXACT))
    return encoder_of(written(root, written_type(spec)), spec)


def written_type(spec: WriteSpec) -> ColumnType:
    """The source of a schema's root: the row, or the bare value of the only column."""
    return struct_of(spec.known_columns) if spec.wrapped else only_column(spec.known_columns).type


def encoder_of(value: Written[AvroType], spec: WriteSpec, *, is_free: bool = True) -> Encode:
    """An encoder for a tree. `is_free` says whether fastavro may choose the branch in a union of several types."""
    check, root = Checks(spec).of(value), value.writer.node
    if not spec.wrapped:
        check = _bare(check, spec.known_columns[0].name, spec.case_rule)
    return native_encoder(value, _encode_checked(root, WriteSchema(is_free=is_free).root(root), check), spec)


def _bare(check: ValueCheck, name: str, case_rule: CaseRule) -> ValueCheck:
    """A row of one column → its value, which is written."""
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
    """An encoder for values that a check has prepared."""

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
