"""Kafka Streams' data on disk: state directories, checkpoints, RocksDB stores."""
