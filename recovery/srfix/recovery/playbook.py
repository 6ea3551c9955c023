"""What stands around a repair: what to do before and after, for the application at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.stores import SuspectStore

__all__ = ["playbook"]


def playbook(stores: Iterable[SuspectStore]) -> Iterator[str]:
    """What to do, in order, by whom."""
    suspects = list(stores)
    if not suspects:
        return
    applications = sorted({suspect.application for suspect in suspects})
    names = ", ".join(applications)
    yield (
        f"Before: stop clean-up jobs and deployments of {names}. Keep a copy of its state directory and do not wipe it: on "
        "Kafka Streams 2.6.3 and earlier wiping is what causes the incident."
        + (_KSQLDB if any(ksqldb_query(application) is not None for application in applications) else "")
    )
    yield "Repair: srfix apply PLAN, then srfix verify PLAN."
    yield (
        f"After: restart the instances of {names} whose stream thread died (threads are replaced only from Kafka Streams 2.8). "
        "An instance that is up reads at once, without a restart. Standbys hold the source's bytes already and are repaired "
        "with it."
    )
    yield (
        "To prevent the next one: run srfix diagnose after every new schema of the source topic while the store reuses it; "
        "or give the store a changelog of its own, seeded first, or the table starts empty; or upgrade to Kafka Streams 2.7 "
        "or later (the internal schema then goes under the source's own subject, and kept state holds ids that only the "
        "phantom subject knows: wipe the state then, not before)."
    )


_KSQLDB = (
    " No TERMINATE and no DROP: ksqlDB then deletes state, subjects and the group, and the query that is created anew has a "
    "new phantom subject."
)
