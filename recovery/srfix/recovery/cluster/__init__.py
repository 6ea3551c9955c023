"""A read-only look at a Kafka cluster: topics, groups, offsets, records."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from srfix.recovery.cluster.answers import Commit, GroupState, TopicConfigs
    from srfix.recovery.cluster.cluster import Cluster, GroupListing
    from srfix.recovery.cluster.log_reader import GaveUp
    from srfix.recovery.cluster.raw_record import RawRecord
    from srfix.recovery.cluster.records import RecordRange, read_records
    from srfix.recovery.cluster.streams_members import StreamsMember, StreamsMembers
    from srfix.recovery.cluster.streams_protocol import (
        AssignedTasks,
        HostPartitions,
        decode_assignment,
        decode_subscription,
    )
    from srfix.recovery.cluster.topic_lookup import did_you_mean, partitions_of
    from srfix.recovery.cluster.transactional_ids import TRANSACTIONS, transactional_ids
else:
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "answers": ["Commit", "GroupState", "TopicConfigs"],
            "cluster": ["Cluster", "GroupListing"],
            "log_reader": ["GaveUp"],
            "raw_record": ["RawRecord"],
            "records": ["RecordRange", "read_records"],
            "streams_members": ["StreamsMember", "StreamsMembers"],
            "streams_protocol": ["AssignedTasks", "HostPartitions", "decode_assignment", "decode_subscription"],
            "topic_lookup": ["did_you_mean", "partitions_of"],
            "transactional_ids": ["TRANSACTIONS", "transactional_ids"],
        },
    )
