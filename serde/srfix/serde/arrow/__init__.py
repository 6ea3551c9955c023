"""Arrow batches of rows: payloads → typed columns and back. pyarrow is an extra (`srfix[arrow]`), loaded at the first
call."""

from srfix.serde.arrow.decode import BatchEngine, RowWise, to_arrow
from srfix.serde.arrow.encode import EncodedBatch, from_arrow
from srfix.serde.arrow.types import ReasonFields, arrow_schema, arrow_type, columns_from_arrow, reason_fields

__all__ = [
    "BatchEngine",
    "EncodedBatch",
    "ReasonFields",
    "RowWise",
    "arrow_schema",
    "arrow_type",
    "columns_from_arrow",
    "from_arrow",
    "reason_fields",
    "to_arrow",
]
