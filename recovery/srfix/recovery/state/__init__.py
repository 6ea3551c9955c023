"""What Kafka Streams keeps on disk: state directories, checkpoints, RocksDB stores."""

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
