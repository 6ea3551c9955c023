"""How the restore of an application reads: with what aborted transactions wrote, or without.

Exactly-once forces `read_committed` on the restore consumer; otherwise Java's default holds, `read_uncommitted`
(`StreamsConfig`). The application's own transactional ids tell: `<application>-<task>` (`exactly_once`), and
`<application>-<process>-<thread>` (`exactly_once_beta`, `exactly_once_v2`), as `StreamsProducer` forms them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from srfix.recovery.findings import Weight
from srfix.serde.properties.kafka_client import Isolation

_TASK: Final = r"(?:.+__)?\d+_\d+"
_THREAD: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+"
_OF_STREAMS: Final = re.compile(rf"(?:{_TASK}|{_THREAD})", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreIsolation:
    """How a restore reads, and how that is known."""

    isolation: Isolation
    weight: Weight | None
    """How sure it is; None if nothing tells, and Java's default is taken."""
    detail: str | None
    """Why, in words; None where it makes no difference, as nobody ever wrote in a transaction here."""


SAID_BY_DEFAULT: Final = RestoreIsolation(isolation=Isolation.READ_UNCOMMITTED, weight=None, detail=None)
"""Without any transaction on the cluster both ways of reading are one."""


def said(isolation: Isolation) -> RestoreIsolation:
    """As the person said."""
    return RestoreIsolation(isolation=isolation, weight=Weight.CONCLUSIVE, detail="--isolation says so")


def not_known(why: str) -> RestoreIsolation:
    """Where nobody may look.

    :param why: what kept it from being known, in a clause.
    """
    return RestoreIsolation(
        isolation=Isolation.READ_UNCOMMITTED,
        weight=None,
        detail=f"whether the application runs exactly-once is not known ({why}), so records are counted as without it, those "
        "of aborted transactions too; say --isolation read_committed if it does",
    )


def by_transactional_ids(application: str, ids: Iterable[str]) -> RestoreIsolation:
    """As all transactional ids of the cluster tell."""
    own = sorted(transactional_id for transactional_id in ids if is_of(transactional_id, application))
    if own:
        return RestoreIsolation(
            isolation=Isolation.READ_COMMITTED,
            weight=Weight.STRONG,
            detail=f"it writes in transactions ({own[0]}), so it runs exactly-once, and what aborted transactions wrote is "
            "neither restored nor counted",
        )
    return RestoreIsolation(
        isolation=Isolation.READ_UNCOMMITTED,
        weight=Weight.WEAK,
        detail="the cluster knows no transactional id of it (one that was not used for a week is forgotten), so records of "
        "aborted transactions are restored and counted too; --isolation read_committed counts without them",
    )


def is_of(transactional_id: str, application: str) -> bool:
    """True if Kafka Streams forms such an id for this application."""
    prefix = f"{application}-"
    return transactional_id.startswith(prefix) and bool(_OF_STREAMS.fullmatch(transactional_id[len(prefix) :]))
