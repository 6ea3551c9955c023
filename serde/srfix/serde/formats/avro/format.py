"""Avro's implementation of the format interface (`formats.interface`)."""

from __future__ import annotations

import json
from typing import Final, Unpack

from srfix.serde.columns.types import Columns
from srfix.serde.connect.columns import ColumnOptions, Dropped, Inferred, NameRule, columns_of
from srfix.serde.connect.schema import ConnectField, ConnectSchema, struct
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.connect import connect_schema, to_connect
from srfix.serde.formats.avro.java_text import java_schema
from srfix.serde.formats.avro.schema import every_node, load
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.schemas.models import Json

EMPTY_SCHEMA: Final = '{"type":"record","name":"R","fields":[]}'
HAS_LOCAL_TIMES: Final = True
"""Avro has `local-timestamp-millis` and `-micros`."""
validator: None = None
"""An Avro body that can be read is valid."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    load(schema_text, references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """AvroData's schema. It refuses, for example, a standalone null, and two branches with the same name."""
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


def infer_columns(text: str, references: tuple[str, ...] = (), **options: Unpack[ColumnOptions]) -> Inferred:
    """The columns as ksqlDB infers them (`AvroSchemaTranslator`, `ConnectKsqlSchemaTranslator`), all nullable. A union
    of several types is a STRUCT; a logical type that Connect does not know (timestamp-micros, uuid, …) is its
    underlying type. Maps whose keys are floating-point numbers or bytes, or have parts, are left out."""
    return columns_of(connect_schema(text, references), **options)


def columns_from_avro(text: str, *, names: NameRule = "upper", references: tuple[str, ...] = ()) -> Columns:
    """The columns of a record schema. Unlike `infer_columns`, this does not report the fields that it leaves out.

    :raises SchemaError: if the text is not an Avro schema, or Connect refuses it.
    :raises ColumnError: if the schema gives no columns.
    """
    return infer_columns(text, names=names, references=references).columns


def field_names(schema_text: str) -> tuple[str, ...]:
    try:
        schema: Json = json.loads(schema_text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema is not JSON ({error}).") from error
    match schema:
        case {"type": "record", "fields": list(fields)}:
            return tuple(str(field["name"]) for field in fields if isinstance(field, dict) and "name" in field)
    raise SchemaError("The schema is not an Avro record, so it has no fields.")


def has_hints(schema_text: str, references: tuple[str, ...] = ()) -> bool:
    return any(
        (node.kind == "enum" and "default" in node.props)
        or any(part.aliases or part.default is not MISSING for part in node.fields)
        for node in every_node(load(schema_text, references))
    )


def java_text(schema_text: str, *, has_references: bool) -> str:
    """`AvroSchema.canonicalString`."""
    return java_schema(schema_text, None if has_references else ())


def record_name(schema_text: str, references: tuple[str, ...] = ()) -> str | None:
    """The full name of a root that is a record (`AvroSchema.name`). confluent-kafka also takes a type's word."""
    root = load(schema_text, references)
    return root.name if root.kind == "record" else None
