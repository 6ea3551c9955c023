"""Avro schemas in short, and bodies as fastavro writes them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import fastavro


def record(name: str = "R", /, **fields: Any) -> dict[str, Any]:
    """A record; fields by name."""
    return {"type": "record", "name": name, "fields": [{"name": each, "type": type_} for each, type_ in fields.items()]}


def field(name: str, type_: Any = "string", **more: Any) -> dict[str, Any]:
    """A field that has more than a name and a type."""
    return {"name": name, "type": type_, **more}


def record_of(name: str, *fields: Any, **more: Any) -> dict[str, Any]:
    """A record; fields as they are."""
    return {"type": "record", "name": name, "fields": list(fields), **more}


def numbered(*types: Any) -> dict[str, Any]:
    """A record R of the fields f0, f1, …"""
    return record(**{f"f{number}": type_ for number, type_ in enumerate(types)})


def logical(type_: Any, logical_type: str, **properties: Any) -> dict[str, Any]:
    """A type with a logical type."""
    head = dict(type_) if isinstance(type_, dict) else {"type": type_}
    return {**head, "logicalType": logical_type, **properties}


def decimal(precision: int, scale: int, type_: Any = "bytes") -> dict[str, Any]:
    """A decimal in bytes, or in a fixed type."""
    return logical(type_, "decimal", precision=precision, scale=scale)


def fixed(size: int, name: str = "F") -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


def enum(*symbols: str, name: str = "E") -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def entries(key: Any, value: Any, name: str = "MapEntry") -> dict[str, Any]:
    """Connect's map as an array of entries."""
    return array(record(name, key=key, value=value) | {"connect.internal.type": "MapEntry"})


DATE = logical("int", "date")
TIME_MILLIS = logical("int", "time-millis")
MILLIS = logical("long", "timestamp-millis")
MICROS = logical("long", "timestamp-micros")
UUID = logical("string", "uuid")


def body(schema: Any, value: object) -> bytes:
    """A value as fastavro writes it."""
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()
