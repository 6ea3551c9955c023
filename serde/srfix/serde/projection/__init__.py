"""Which writer field feeds which column, and which column is written as which field: one frozen tree for every engine."""

from srfix.serde.projection.fed import has_rows_of_nulls, unfed
from srfix.serde.projection.tree import Absent, Entries, Fields, Items, Projected, Projection, Refused, Scalar, Target
from srfix.serde.projection.walk import project
from srfix.serde.projection.writer_type import W, WriterField
from srfix.serde.projection.written import (
    Constant,
    Forbidden,
    Free,
    WriteField,
    WriteFields,
    WriteHow,
    WriteScalar,
    Written,
)
