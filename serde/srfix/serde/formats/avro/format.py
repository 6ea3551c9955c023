"""What Avro's front answers for the table of formats (`formats.interface`)."""

from __future__ import annotations

from typing import Final

from srfix.serde.formats.avro.infer import infer_avro
from srfix.serde.formats.avro.schema import load

SCHEMA_TYPE: Final = "AVRO"
"""The schemaType that registries know the format by."""
HAS_LOCAL_TIMES: Final = True
"""Avro has `local-timestamp-millis` and `-micros`."""
infer_columns = infer_avro
validator: None = None
"""An Avro body that can be read is valid."""


def record_name(schema_text: str, references: tuple[str, ...] = ()) -> str | None:
    """The full name of a root that is a record (`AvroSchema.name`); None for any other type.

    confluent-kafka for Python takes the name of a type such as `string` for a record's, too; here that is none.

    :raises SchemaError: if the text is not an Avro schema.
    """
    root = load(schema_text, references)
    return root.name if root.kind == "record" else None
