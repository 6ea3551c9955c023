"""What Kafka Streams keeps on disk: state directories, checkpoints, RocksDB stores."""
