"""What the files of an export may be."""

from __future__ import annotations

from enum import Enum
from typing import Final


class ExportFormat(Enum):
    """What the files are."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


HOLDS_TYPES: Final = (ExportFormat.PARQUET, ExportFormat.ARROW)
"""The forms that hold typed columns."""
