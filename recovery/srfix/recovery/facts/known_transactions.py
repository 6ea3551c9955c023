"""Asks a cluster for its transactional ids, which tell how the restore of an application reads."""

from __future__ import annotations

from typing import Final

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.transactional_ids import TRANSACTIONS, transactional_ids
from srfix.recovery.facts.isolation import SAID_BY_DEFAULT, RestoreIsolation, by_transactional_ids, not_known
from srfix.serde.errors import AccessDeniedError, ClusterError

_DEADLINE_S: Final = 5.0
"""How long the transactional ids may take to read: a cluster of many exactly-once applications keeps many records of them."""


def known_transactional_ids(cluster: Cluster, partitions: int) -> frozenset[str] | str:
    """All ids, or why they are not known, in a clause.

    :param partitions: how many the topic of transactions has.
    """
    try:
        return frozenset(transactional_ids(cluster, partitions, deadline_s=_DEADLINE_S))
    except GaveUp:
        return f"{TRANSACTIONS} was not read to its end in {_DEADLINE_S:g} s"
    except AccessDeniedError:
        return f"this user may not read {TRANSACTIONS}"
    except ClusterError as error:
        return f"{TRANSACTIONS} could not be read: {error.message.rstrip('.')}"


def restore_isolation(cluster: Cluster, application: str) -> RestoreIsolation:
    """How the restore of an application reads, as its transactional ids tell."""
    partitions = cluster.topics().get(TRANSACTIONS)
    if partitions is None:
        return SAID_BY_DEFAULT
    ids = known_transactional_ids(cluster, partitions)
    return not_known(ids) if isinstance(ids, str) else by_transactional_ids(application, ids)
