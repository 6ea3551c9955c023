"""Payloads of writer schemas, as fastavro writes them."""

from __future__ import annotations

import io
from typing import cast

import fastavro

from srfix.serde.wire import frame_id
from tests.serde.spark.read.jvm.plans import Json


def payload_of(schema_id: int, schema: Json, value: object) -> bytes:
    """A framed payload; logical types are left out of the way."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(cast("dict[str, object]", _plain(schema))), value)
    return frame_id(schema_id, out.getvalue())


def _plain(schema: Json) -> Json:
    if isinstance(schema, dict):
        return {name: _plain(part) for name, part in schema.items() if name != "logicalType"}
    return [_plain(part) for part in schema] if isinstance(schema, list) else schema
