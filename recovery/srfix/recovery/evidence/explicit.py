"""What the person says: `--source STORE=TOPIC`. Conclusive."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.errors import UsageError

__all__ = ["KIND", "gather"]

KIND = "explicit"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """:raises UsageError: if the topic that is named does not exist."""
    topic = survey.sources.get(store.name)
    if topic is None:
        return
    if topic not in survey.topics():
        raise UsageError(
            f"--source {store.name}={topic}: there is no topic {topic!r} on this cluster. Check its spelling and "
            "--bootstrap-servers."
        )
    yield Evidence(kind=KIND, topic=topic, weight=Weight.CONCLUSIVE, detail=f"named with --source {store.name}={topic}")
