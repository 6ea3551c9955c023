"""Spark's own types, out of its JSON."""

from __future__ import annotations

import json

from pyspark.sql.types import StructType


def struct_type(schema: str) -> StructType:
    """The type of a struct's JSON text, as `columns.spark_schema` gives it."""
    return StructType.fromJson(json.loads(schema))
