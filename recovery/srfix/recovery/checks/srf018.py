"""SRF018: a reused source topic whose retention deletes records, which may be the only copy of a table's rows.

With `cleanup.policy=compact,delete` too: compaction keeps the latest record of a key, and retention then deletes the
segment in which it is (Kafka's documentation of `cleanup.policy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from srfix.recovery.checks._certainty import is_certain, make_certain
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.stores import StoreFacts
from srfix.serde.subjects import Role, Topic

__all__ = ["CODE", "check"]

CODE = "SRF018"

_UNLIMITED = "-1"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store, in the role `value`: it is the rows that vanish, whatever their serdes."""
    configs = facts.source_configs
    if facts.source is None or configs is None or configs.values is None or configs.is_compacted is None:
        return
    limits = _limits(configs.values)
    if not limits:
        return
    topic = facts.source.topic
    yield Finding(
        code=CODE,
        severity=Severity.SILENT,
        application=facts.store.application,
        store=facts.store.name,
        role=Role.VALUE,
        subject=facts.source.subject,
        source=facts.source,
        evidence=facts.evidence,
        explanation=_explanation(facts, topic, configs.values["cleanup.policy"], limits, configs.is_compacted),
        next=_next(facts, topic, context),
        repairable=False,
    )


def _explanation(facts: StoreFacts, topic: Topic, policy: str, limits: tuple[str, ...], is_compacted: bool) -> str:
    of_it = f"(cleanup.policy={policy}, {', '.join(limits)})"
    how = (
        f"which is compacted, but by retention as well {of_it}. Compaction keeps the latest record of each key, and "
        "retention deletes that one too when its segment is old or the partition too large"
        if is_compacted
        else f"which is not compacted {of_it}. Retention deletes records that may be the only copy of a row"
    )
    restores = "restores" if is_certain(facts) else "restores, as far as the evidence tells,"
    return (
        f"Store {facts.store.name} of application {facts.store.application} {restores} from topic {topic}, {how}: after a "
        "restore such keys are missing, without any error. Until then the local state still has their rows. Some of those "
        "may carry schema ids that no record of the topic carries any more: no count of the topic shows them, and a plan "
        "covers them only where they are versions of the source's subject."
    )


def _next(facts: StoreFacts, topic: Topic, context: CheckContext) -> str:
    if not is_certain(facts):
        return f"Change nothing on topic {topic} yet: it may be a stream of events. {make_certain(facts, context)}"
    return (
        "Keep the state directories. Either turn the reuse off (topology.optimization=none) with a changelog of the store's "
        "own, seeded first while the local state is whole, or the table starts empty. Or, if nobody needs the older records "
        f"of a key, set cleanup.policy=compact on topic {topic}: that deletes those, and brings back none that is gone; what "
        "is gone must be produced anew."
    )


def _limits(values: Mapping[str, str]) -> tuple[str, ...]:
    """What deletes records: nothing does where `delete` is not in the policy, or both limits are lifted.

    A limit that the broker does not name is taken for one (`retention.ms` is a week by default).
    """
    if "delete" not in [part.strip() for part in values["cleanup.policy"].split(",")]:
        return ()
    return tuple(
        f"{name}={values.get(name, default)}"
        for name, default in (("retention.ms", "604800000"), ("retention.bytes", _UNLIMITED))
        if values.get(name, default) != _UNLIMITED
    )
