"""What Avro's front answers for the table of formats (`formats.interface`)."""

from __future__ import annotations

from typing import Final

from srfix.serde.connect.columns import Dropped
from srfix.serde.connect.schema import ConnectField, ConnectSchema, struct
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.connect import to_connect
from srfix.serde.formats.avro.infer import infer_avro
from srfix.serde.formats.avro.java_text import java_schema
from srfix.serde.formats.avro.schema import every_node, load
from srfix.serde.formats.rows.value_check import MISSING

EMPTY_SCHEMA: Final = '{"type":"record","name":"R","fields":[]}'
HAS_LOCAL_TIMES: Final = True
"""Avro has `local-timestamp-millis` and `-micros`."""
infer_columns = infer_avro
validator: None = None
"""An Avro body that can be read is valid."""


def check_schema(schema_text: str, references: tuple[str, ...] = ()) -> None:
    """:raises SchemaError: if the text is not an Avro schema."""
    load(schema_text, references)


def as_connect(
    schema_text: str, references: tuple[str, ...] = (), *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """What AvroData makes of a schema. What it refuses is a null by itself, two branches of one name."""
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

    confluent-kafka for Python takes the name of a type such as `string` for a record's, too; here that is none.
    """
    root = load(schema_text, references)
    return root.name if root.kind == "record" else None
