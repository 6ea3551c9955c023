"""How the restore of an application reads: with or without records of aborted transactions.

Exactly-once forces `read_committed` on the restore consumer; otherwise Java's default holds, `read_uncommitted`
(`StreamsConfig`). The application's own transactional ids show which: `<application>-<task>` (`exactly_once`), and
`<application>-<process>-<thread>` (`exactly_once_beta`, `exactly_once_v2`), as `StreamsProducer` forms them. They are
the keys of the topic in which coordinators keep transactions, because no admin call of librdkafka lists them. A user
who may not read this topic learns nothing.
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.findings import Weight
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Topic

_TASK: Final = r"(?:.+__)?\d+_\d+"
_THREAD: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+"
_OF_STREAMS: Final = re.compile(rf"(?:{_TASK}|{_THREAD})", re.DOTALL)
TRANSACTIONS: Final = Topic("__transaction_state")
"""The topic exists from the first transaction on."""

_LENGTH: Final = struct.Struct(">hh")
_KEY_VERSION: Final = 0
_DEADLINE_S: Final = 5.0
"""How long the transactional ids may be read: a cluster with many exactly-once applications keeps many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreIsolation:
    isolation: Isolation
    weight: Weight | None
    """How certain the isolation is; None if nothing shows it, and srfix uses Java's default."""
    detail: str | None
    """Why, in words; None if it makes no difference, because nobody ever wrote in a transaction here."""


def named_isolation(isolation: Isolation) -> RestoreIsolation:
    return RestoreIsolation(isolation=isolation, weight=Weight.CONCLUSIVE, detail="--isolation says so")


def by_transactional_ids(application: str, ids: frozenset[str] | str | None) -> RestoreIsolation:
    """By the ids that `known_transactional_ids` gives: without any transaction, both ways of reading give the same."""
    if ids is None or isinstance(ids, str):
        return RestoreIsolation(
            isolation=Isolation.READ_UNCOMMITTED,
            weight=None,
            detail=None
            if ids is None
            else f"srfix does not know whether the application runs exactly-once ({ids}). So it counts records of "
            "aborted transactions, too. If the application runs exactly-once, say --isolation read_committed",
        )
    own = sorted(transactional_id for transactional_id in ids if is_of(transactional_id, application))
    if own:
        return RestoreIsolation(
            isolation=Isolation.READ_COMMITTED,
            weight=Weight.STRONG,
            detail=f"the application writes in transactions ({own[0]}), so it runs exactly-once: a restore does not "
            "load records of aborted transactions, and srfix does not count them",
        )
    return RestoreIsolation(
        isolation=Isolation.READ_UNCOMMITTED,
        weight=Weight.WEAK,
        detail="the cluster knows no transactional id of the application (it forgets an id that was not used for a "
        "week). So srfix assumes that a restore loads records of aborted transactions, and counts them; "
        "--isolation read_committed counts without them",
    )


def is_of(transactional_id: str, application: str) -> bool:
    """True if Kafka Streams forms such an id for this application."""
    prefix = f"{application}-"
    return transactional_id.startswith(prefix) and bool(_OF_STREAMS.fullmatch(transactional_id[len(prefix) :]))


def transactional_ids(cluster: Cluster, partitions: int, *, deadline_s: float) -> Iterator[str]:
    """Every transactional id in the logs, once or several times; expired ids too, until compaction removes them."""
    give_up_at = time.monotonic() + deadline_s
    for partition, (start, end) in cluster.watermarks(TRANSACTIONS, range(partitions)).items():
        if time.monotonic() >= give_up_at:
            raise GaveUp
        for record in cluster.read(TRANSACTIONS, partition, start, end, give_up_at=give_up_at):
            transactional_id = parse_key(record.key)
            if transactional_id is not None:
                yield transactional_id


def parse_key(key: bytes | None) -> str | None:
    """The transactional id in a key (`TransactionLogKey`, version 0: a 16-bit version, and a string behind its length)."""
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


def known_transactional_ids(cluster: Cluster, partitions: int | None) -> frozenset[str] | str | None:
    """All ids in the topic of transactions, or why they are not known; None if nobody ever wrote in a transaction."""
    if partitions is None:
        return None
    try:
        return frozenset(transactional_ids(cluster, partitions, deadline_s=_DEADLINE_S))
    except GaveUp:
        return f"{TRANSACTIONS} was not read to its end in {_DEADLINE_S:g} s"
    except AccessDeniedError:
        return f"this user may not read {TRANSACTIONS}"
    except ClusterError as error:
        return f"{TRANSACTIONS} could not be read: {error.message.rstrip('.')}"


def restore_isolation(cluster: Cluster, application: str) -> RestoreIsolation:
    ids = known_transactional_ids(cluster, cluster.topics().get(TRANSACTIONS))
    return by_transactional_ids(application, ids)
