"""What a repair costs: what it changes for others, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from srfix.serde.subjects import Subject, Topic
from srfix.serde.wire import SchemaId

__all__ = ["price_of"]


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


def _versions(count: int) -> str:
    return "1 version" if count == 1 else f"{count} versions"
