"""Avro's implementation of the format interface (`formats.interface`)."""

from __future__ import annotations

from typing import Final

from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import Dropped, Inferred, NameRule, columns_of
from srfix.serde.connect.schema import ConnectField, ConnectSchema, struct
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.connect import connect_schema, to_connect
from srfix.serde.formats.avro.java_text import java_schema
from srfix.serde.formats.avro.schema import every_node, load
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.subjects.names import Role

EMPTY_SCHEMA: Final = '{"type":"record","name":"R","fields":[]}'
HAS_LOCAL_TIMES: Final = True
"""Avro has `local-timestamp-millis` and `-micros`."""
validator: None = None
"""An Avro body that can be read is valid."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    """:raises SchemaError: if the text is not an Avro schema."""
    load(schema_text, references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """AvroData's conversion of a schema. AvroData refuses, for example, a standalone null, and two branches with the
    same name."""
    root = load(schema_text, references)
    try:
        return to_connect(root, by_units=by_units), ()
    except SchemaError:
        if root.kind != "record":
            raise
    fields: list[ConnectField] = []
    dropped: list[Dropped] = []
    for part in root.fields:
        try:
            fields.append(ConnectField(part.name, to_connect(part.node, by_units=by_units)))
        except SchemaError as error:
            dropped.append(Dropped(f"->{part.name}", error.message.rstrip(".")))
    return struct(fields, name=root.name), tuple(dropped)


def infer_columns(
    text: str,
    *,
    names: NameRule = "upper",
    references: tuple[str, ...] = (),
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
) -> Inferred:
    """The columns of an Avro schema as ksqlDB infers them, through Connect's (`AvroSchemaTranslator`,
    `ConnectKsqlSchemaTranslator`), and the fields that no column type holds.

    Nullability makes no difference: every column may be null. A union of several types is a STRUCT of its branches, an
    enum a STRING, a fixed type BYTES; a logical type that Connect does not know (timestamp-micros, uuid, …) is its
    underlying type. Left out are only maps whose keys are floating-point numbers or bytes, or have parts.

    :param names: `upper` gives columns upper-case names, like unquoted identifiers; `keep` keeps the fields' names.
    :param references: the texts to which the schema refers, in the order of registration.
    :param role: gives the name of the only column of an un-wrapped schema: ROWKEY or ROWVAL.
    :param wrapped: False treats the whole schema as the type of one column. None is ksqlDB's default, which does so for
        every key, even a record, and for no value.
    """
    return columns_of(connect_schema(text, references), names=names, role=role, wrapped=wrapped)


def columns_from_avro(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a record schema. Unlike `infer_columns`, this does not report the fields that it leaves out.

    :raises SchemaError: if the text is not an Avro schema, or Connect refuses it.
    :raises ColumnError: if the schema gives no columns.
    """
    return infer_columns(text, names=names, references=references).columns


def has_hints(schema_text: str, references: tuple[str, ...] = ()) -> bool:
    """True if a schema has aliases or defaults."""
    return any(
        (node.kind == "enum" and "default" in node.props)
        or any(part.aliases or part.default is not MISSING for part in node.fields)
        for node in every_node(load(schema_text, references))
    )


def java_text(schema_text: str, *, has_references: bool) -> str:
    """`AvroSchema.canonicalString`."""
    return java_schema(schema_text, None if has_references else ())


def record_name(schema_text: str, references: tuple[str, ...] = ()) -> str | None:
    """The full name of a root that is a record (`AvroSchema.name`); None for any other type.

    confluent-kafka for Python also treats the name of a type such as `string` as a record name; this function does not.
    """
    root = load(schema_text, references)
    return root.name if root.kind == "record" else None
