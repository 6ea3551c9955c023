"""The transactional ids that a cluster knows: the keys of the topic in which its coordinators keep transactions.

No admin call of librdkafka lists transactions. The topic is internal: who may not read it learns nothing.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Final

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.serde.subjects.names import Topic

TRANSACTIONS: Final = Topic("__transaction_state")
"""It is there from the first transaction on."""

_LENGTH: Final = struct.Struct(">hh")
_KEY_VERSION: Final = 0


def transactional_ids(cluster: Cluster, partitions: int, *, deadline_s: float) -> Iterator[str]:
    """Every transactional id, once or more often, from the newest log of each partition; expired ones too, until compaction.

    :param partitions: how many partitions the topic has.
    """
    give_up_at = time.monotonic() + deadline_s
    for partition, (start, end) in cluster.watermarks(TRANSACTIONS, range(partitions)).items():
        if time.monotonic() >= give_up_at:
            raise GaveUp
        for record in cluster.read(TRANSACTIONS, partition, start, end, give_up_at=give_up_at):
            transactional_id = parse_key(record.key)
            if transactional_id is not None:
                yield transactional_id


def parse_key(key: bytes | None) -> str | None:
    """The transactional id in a key (`TransactionLogKey`, version 0: a 16-bit version, and a string behind its 16-bit length).

    None for anything else.
    """
    if key is None or len(key) < _LENGTH.size:
        return None
    version, length = _LENGTH.unpack_from(key)
    text = key[_LENGTH.size :]
    if version != _KEY_VERSION or length != len(text):
        return None
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None
