"""Writes state directories that a named version of Kafka Streams opens and goes on from."""

from srfix.recovery.state.writing.database import DatabaseWriter, new_database
from srfix.recovery.state.writing.kinds import NO_TIMESTAMP, WrittenKind, stored
from srfix.recovery.state.writing.progress import (
    Progress,
    as_written_by,
    checkpoint_entries,
    checkpoint_text,
    offsets_rows,
)
from srfix.recovery.state.writing.releases import Release
from srfix.recovery.state.writing.spilled import in_order
from srfix.recovery.state.writing.staging import Staging, finished_before, staged, unfinished_path
from srfix.recovery.state.writing.stores import StoreToWrite, StoreWriter, store_writer
