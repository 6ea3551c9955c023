"""What Kafka Streams keeps on disk: state directories, checkpoints, RocksDB stores."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.state.checkpoints import CheckpointEntry, OffsetMeaning
    from srfix.recovery.state.directory import (
        ApplicationState,
        StoreDirectory,
        StoreKind,
        Task,
        Traces,
        Unreadable,
    )
    from srfix.recovery.state.formats import StoredValue
    from srfix.recovery.state.locks import is_locked
    from srfix.recovery.state.offsets_column_family import OFFSETS_COLUMN_FAMILY, StoreOffsets, parse_offsets
    from srfix.recovery.state.reading import read_state_directory, shut_folders
    from srfix.recovery.state.restore_sources import StoreOnDisk, stores_on_disk
    from srfix.recovery.state.rocksdb import opened
    from srfix.recovery.state.row_ids import RowIds, count_row_ids
    from srfix.recovery.state.some_rows import some_rows
    from srfix.recovery.state.stored_rows import PLAIN, ROW_FAMILIES, TIMESTAMPED, WITH_HEADERS, stored_value
    from srfix.recovery.state.views import sweep_views
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "checkpoints": ["CheckpointEntry", "OffsetMeaning"],
            "directory": ["ApplicationState", "StoreDirectory", "StoreKind", "Task", "Traces", "Unreadable"],
            "formats": ["StoredValue"],
            "locks": ["is_locked"],
            "offsets_column_family": ["OFFSETS_COLUMN_FAMILY", "StoreOffsets", "parse_offsets"],
            "reading": ["read_state_directory", "shut_folders"],
            "restore_sources": ["StoreOnDisk", "stores_on_disk"],
            "rocksdb": ["opened"],
            "row_ids": ["RowIds", "count_row_ids"],
            "some_rows": ["some_rows"],
            "stored_rows": ["PLAIN", "ROW_FAMILIES", "TIMESTAMPED", "WITH_HEADERS", "stored_value"],
            "views": ["sweep_views"],
        },
    )
