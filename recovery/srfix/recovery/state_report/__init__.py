"""What `srfix state` shows of the stores on disk."""

from srfix.recovery.state_report.listing import (
    Generation,
    databases_of,
    generation_of,
    is_task_in_use,
    listing_document,
)
from srfix.recovery.state_report.rocksdb_options import (
    RocksDBOptions,
    newest_options,
    options_that_hurt,
    parse_options,
)
