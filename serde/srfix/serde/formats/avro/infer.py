"""Columns inferred from an Avro schema, as ksqlDB infers them: through Connect's schema (`AvroSchemaTranslator`,
`ConnectKsqlSchemaTranslator`)."""

from __future__ import annotations

from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import Inferred, NameRule, columns_of
from srfix.serde.formats.avro.connect import connect_schema
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.subjects.names import Role


def map_entry_types(node: AvroNode) -> tuple[AvroNode, AvroNode] | None:
    """Key and value types of an array that stands for a map; None if it is an array of anything else."""
    if node.kind != "array" or node.items is None or not node.items.is_map_entry:
        return None
    fields = {part.name: part.node for part in node.items.fields}
    return (fields["key"], fields["value"]) if fields.keys() == {"key", "value"} else None


def infer_avro(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
) -> Inferred:
    """The columns of an Avro schema, and the fields that no column type holds.

    Nullable or not makes no difference: every column may be null. A union of several types is a STRUCT of its branches,
    an enum a STRING, a fixed type BYTES; a logical type that Connect does not know (timestamp-micros, uuid, …) is its
    underlying type. What is left out is in maps whose keys are floating-point numbers, bytes or have parts.

    :param names: `upper` names columns as unquoted identifiers would, `keep` as the fields are named.
    :param references: the texts that the schema refers to, in the order of registration.
    :param role: names the one column of an un-wrapped schema: ROWKEY or ROWVAL.
    :param wrapped: False takes the whole schema as the type of one column. None is ksqlDB's default: it does so for every
        key, a record's too, and for no value.
    """
    return columns_of(connect_schema(text, references), names=names, role=role, wrapped=wrapped)


def columns_from_avro(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a record schema, without a word about the fields that are left out: see `infer_avro`.

    :raises SchemaError: if the text is not an Avro schema, or one that Connect refuses.
    :raises ColumnError: if it gives no columns.
    """
    return infer_avro(text, names=names, references=references).columns
