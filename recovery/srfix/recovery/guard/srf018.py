"""SRF018: retention deletes records of a topic that is a store's only copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.checks.srf018 import limits as retention_limits
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment
from srfix.serde.subjects.names import Role

CODE: Final = "SRF018"


def loses_rows(judged: JudgedStore) -> Iterator[Foretold]:
    """What the topic's configuration says; nothing without a cluster."""
    store, restores = judged.store, judged.restores_source_bytes(judged.running)
    if restores is Certainty.EXCLUDED or store.topic is None:
        return
    configs = judged.sight.configs(store.topic)
    if configs is None:
        return
    if configs.values is None or configs.is_compacted is None:
        why = configs.problem or "the cluster does not name it"
        what = f"cleanup.policy of topic {store.topic} (SRF018)"
        judged.sight.skip(Skipped(what=what, reason=why, could_hide=False))
        return
    limits = retention_limits(configs.values)
    if not limits:
        return
    policy = f"cleanup.policy={configs.values['cleanup.policy']}, {', '.join(limits)}"
    yield judged.foretold(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        certainty=restores,
        moment=Moment.RESTORE,
        subject=store.source_subject(Role.VALUE),
        explanation=f"Store {store.name} restores from topic {store.topic}, whose retention deletes records ({policy}): after "
        "a restore the keys whose latest record it has deleted are missing, without any error.",
        first=(
            "Before a restore turn the reuse off with a seeded changelog of the store's own; or, if nobody needs a key's older "
            f"records, set cleanup.policy=compact on topic {store.topic}.",
        ),
    )
