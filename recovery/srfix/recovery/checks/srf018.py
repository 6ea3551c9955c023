"""SRF018: a reused source topic that is not compacted. Its retention deletes the only copy of the table's rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.stores import StoreFacts
from srfix.serde.subjects import Role

__all__ = ["CODE", "check"]

CODE = "SRF018"

_UNLIMITED = "-1"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store, in the role `value`: it is the rows that vanish, whatever their serdes."""
    configs = facts.source_configs
    if facts.source is None or configs is None or configs.values is None or configs.is_compacted is not False:
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
        explanation=f"Store {facts.store.name} of application {facts.store.application} restores from topic {topic}, which "
        f"is not compacted (cleanup.policy={configs.values['cleanup.policy']}, {', '.join(limits)}). Retention deletes "
        "records that may be the only copy of a row: after a restore such keys are missing, without any error.",
        next=f"Set cleanup.policy=compact on topic {topic}, which brings nothing back; what is gone must be produced anew. "
        "Or give the store a changelog of its own (topology.optimization=none) while its local state is whole.",
        repairable=False,
    )


def _limits(values: Mapping[str, str]) -> tuple[str, ...]:
    """What deletes records: nothing does where `delete` is not in the policy, or both limits are lifted.

    A limit that the broker does not name is taken for one (`retention.ms` is a week by default).
    """
    if "delete" not in values["cleanup.policy"].split(","):
        return ()
    return tuple(
        f"{name}={values.get(name, default)}"
        for name, default in (("retention.ms", "604800000"), ("retention.bytes", _UNLIMITED))
        if values.get(name, default) != _UNLIMITED
    )
