"""The source that a person names with `--source`."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.commands import shell_words
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight
from srfix.serde.errors import UsageError

KIND = "explicit"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """:raises UsageError: if the named topic does not exist."""
    named = survey.named_source(store)
    if named is None:
        return
    if named.topic not in survey.topics():
        raise UsageError(
            f"{shell_words('--source', named.argument)}: there is no topic {named.topic!r} on this cluster."
            f"{did_you_mean(named.topic, survey.topics())} Check its spelling and --bootstrap-servers."
        )
    yield Evidence(
        kind=KIND,
        topic=named.topic,
        weight=Weight.CONCLUSIVE,
        detail=f"named with {shell_words('--source', named.argument)}",
    )
