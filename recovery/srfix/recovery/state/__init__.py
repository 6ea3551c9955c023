"""What Kafka Streams keeps on disk: state directories, checkpoints, RocksDB stores."""

from srfix.recovery.state.directory import ApplicationState, StoreKind, Traces
from srfix.recovery.state.reading import read_state_directory
from srfix.recovery.state.restore_sources import StoreOnDisk, stores_on_disk
from srfix.recovery.state.views import sweep_views
