"""What stands around a repair: its price for others, and what to do before and after, for the application at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.stores import SuspectStore
from srfix.serde.subjects import Subject, Topic
from srfix.serde.wire import SchemaId

__all__ = ["playbook", "price_of"]


def price_of(
    subject: Subject,
    *,
    ids: Sequence[SchemaId],
    soft_deleted: Collection[SchemaId],
    level: str,
    relaxed: bool,
    unread: Topic | None = None,
) -> Iterator[str]:
    """What the repair of one subject changes for others, in sentences.

    :param unread: the source topic, if its census was partial: the plan may lack ids then.
    """
    live = [schema_id for schema_id in ids if schema_id not in soft_deleted]
    yield (
        f"{subject} gets {_versions(len(ids))} more (schema ids {', '.join(map(str, ids))}); the ids exist already, no new one "
        "is given out. No topic has this subject's name, so only the application's own store serde uses it."
    )
    if soft_deleted:
        yield (
            f"Soft-deleted at once: {', '.join(str(i) for i in ids if i in soft_deleted)}. The failing reader asks with "
            f"deleted=true and finds them; they are neither the subject's latest version nor part of its {level} checks, so "
            "the application's next internal schema is accepted as before. They count towards a registry's limit of schemas."
        )
    if live:
        yield (
            f"Left live: {', '.join(map(str, live))}. The last becomes the latest version of {subject}, and the application's "
            f"next internal schema is checked against it at {level}."
        )
    if unread is not None:
        yield (
            f"Topic {unread} was not read to its end (--deadline, --max-records, or what srfix diagnose names): ids that are "
            "only in what was not read may be missing from this plan. Run srfix diagnose without a limit after the repair."
        )
    if relaxed:
        yield (
            f"While the repair runs (seconds) {subject} accepts any schema: its compatibility is NONE from the first step to "
            "the last. No other subject is touched."
        )


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


def _versions(count: int) -> str:
    return "1 version" if count == 1 else f"{count} versions"
