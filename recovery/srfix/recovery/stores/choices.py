"""A person's choices for a rebuild, and for an export."""

from __future__ import annotations

from enum import Enum
from typing import Final


class OnError(Enum):
    """What to do with a row that srfix cannot rewrite."""

    FAIL = "fail"
    """No directory is completed; all such rows are counted first, and some listed."""
    KEEP_RAW = "keep-raw"
    """Its bytes stay as they are, and it is counted."""


class Until(Enum):
    """The end up to which a topic is read."""

    COMMITTED = "committed"
    """To the committed offsets of the application's group: for a reused source topic."""
    END = "end"
    """To the end of the log: for a changelog, or for the source topic of a global table."""


class ExportFormat(Enum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


HOLDS_TYPES: Final = (ExportFormat.PARQUET, ExportFormat.ARROW)
"""The file formats that can hold typed columns."""
