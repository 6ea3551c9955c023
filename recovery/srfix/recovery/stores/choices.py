"""What a person chooses of a rebuild, and of an export."""

from __future__ import annotations

from enum import Enum
from typing import Final


class OnError(Enum):
    """What becomes of a row that cannot be written anew."""

    FAIL = "fail"
    """No directory is completed; all such rows are counted first, and some listed."""
    KEEP_RAW = "keep-raw"
    """Its bytes stay as they are, and it is counted."""


class Until(Enum):
    """Up to where a topic is read."""

    COMMITTED = "committed"
    """To what the application's group has committed: a reused source topic."""
    END = "end"
    """To the end of the log: a changelog, or the source topic of a global table."""


class ExportFormat(Enum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


HOLDS_TYPES: Final = (ExportFormat.PARQUET, ExportFormat.ARROW)
"""The forms that hold typed columns."""
