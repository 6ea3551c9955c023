"""The name of a schema's record, which some subjects are made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from srfix.serde.errors import SchemaError

if TYPE_CHECKING:
    from srfix.serde.registry.models import Schema

__all__ = ["record_name"]

_RECORD: Final = "record"


def record_name(schema: Schema, references: tuple[str, ...] = ()) -> str | None:
    """The name as Confluent's RecordNameStrategy has it (`ParsedSchema.name`); None if the schema has none.

    | type | name |
    |---|---|
    | AVRO | the full name of a root that is a record (`AvroSchema.name`) |
    | JSON | the `title` (`JsonSchema.name`) |
    | PROTOBUF | not told: None |

    confluent-kafka for Python also takes the name of a type such as `string` for one; that is no record's.

    :raises SchemaError: if the text is not a schema of its type.
    """
    if schema.schema_type == "AVRO":
        # fastavro is loaded only where an Avro name is asked for.
        from srfix.serde.formats._avro_schema import load

        root = load(schema.text, references)
        return root.name if root.kind == _RECORD else None
    if schema.schema_type == "JSON":
        return _title(schema.text)
    return None


def _title(text: str) -> str | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    title = document.get("title") if isinstance(document, dict) else None
    return title if isinstance(title, str) else None
