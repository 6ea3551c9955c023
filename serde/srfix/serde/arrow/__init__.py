"""Arrow batches of rows: payloads → typed columns and back. pyarrow (`srfix[arrow]`) is loaded at the first call."""

from srfix.serde.arrow.decode import BatchEngine, ValueWise, to_arrow
from srfix.serde.arrow.encode import EncodeEngine, EncodeKernelWise, EncodeRowWise, from_arrow
from srfix.serde.arrow.kernel_wise import KernelWise
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.arrow.types import (
    ReasonFields,
    arrow_schema,
    arrow_type,
    columns_from_arrow,
    pyarrow,
    pyarrow_compute,
    reason_fields,
)
from srfix.serde.engine import EncodedBatch

__all__ = [
    "BatchEngine",
    "EncodeEngine",
    "EncodeKernelWise",
    "EncodeRowWise",
    "EncodedBatch",
    "KernelWise",
    "ReasonFields",
    "RowWise",
    "ValueWise",
    "arrow_schema",
    "arrow_type",
    "columns_from_arrow",
    "from_arrow",
    "pyarrow",
    "pyarrow_compute",
    "reason_fields",
    "to_arrow",
]
