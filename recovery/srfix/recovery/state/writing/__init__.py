"""Writes state directories that a named version of Kafka Streams opens and goes on from."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
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
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "database": ["DatabaseWriter", "new_database"],
            "kinds": ["NO_TIMESTAMP", "WrittenKind", "stored"],
            "progress": ["Progress", "as_written_by", "checkpoint_entries", "checkpoint_text", "offsets_rows"],
            "releases": ["Release"],
            "spilled": ["in_order"],
            "staging": ["Staging", "finished_before", "staged", "unfinished_path"],
            "stores": ["StoreToWrite", "StoreWriter", "store_writer"],
        },
    )
