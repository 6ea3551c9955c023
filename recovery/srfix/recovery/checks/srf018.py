"""SRF018: a reused source topic whose retention deletes records, which may be the only copy of a table's rows.

With `cleanup.policy=compact,delete` too: compaction keeps the latest record of a key, and retention then deletes the
segment in which it is (Kafka's documentation of `cleanup.policy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, Rules, keep_the_state
from srfix.recovery.checks.proofs import is_certain, make_certain
from srfix.recovery.findings import Finding, Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import StoreFacts
    from srfix.recovery.guard.judged import Prospect
    from srfix.serde.subjects.names import Topic

CODE = "SRF018"

_UNLIMITED = "-1"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store, in the role `value`: whole rows vanish, whatever their serdes are."""
    configs = facts.source_configs
    if facts.source is None or configs is None or configs.values is None or configs.is_compacted is None:
        return
    settings = limits(configs.values)
    if not settings:
        return
    topic = facts.source.topic
    yield facts.finding(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        subject=facts.source.subject,
        registered_ids=context.state_of(facts.source.subject).schema_ids,
        explanation=_explanation(facts, topic, configs.values["cleanup.policy"], settings, configs.is_compacted),
        next_step=_next(facts, topic, context),
    )


def _explanation(facts: StoreFacts, topic: Topic, policy: str, by: tuple[str, ...], is_compacted: bool) -> str:
    clause = f"(cleanup.policy={policy}, {', '.join(by)})"
    how = (
        f"which has compaction and retention {clause}. Compaction keeps the latest record of each key. But retention "
        "deletes this record, too, if its segment is too old or the partition is too large"
        if is_compacted
        else f"which is not compacted {clause}. Retention deletes records that may be the only copy of a row"
    )
    restores = "restores" if is_certain(facts) else "restores, as far as the evidence shows,"
    return (
        f"Store {facts.store.name} of application {facts.store.application} {restores} from topic {topic}, {how}. "
        "After a restore the keys of deleted records are missing, without any error. Until then the local state "
        "still has their rows. Some of these rows may carry schema ids that no record of the topic carries any "
        "more. No count of the topic shows these ids, and a plan covers such an id only if it belongs to a version "
        "of the source's subject."
    )


def _next(facts: StoreFacts, topic: Topic, context: CheckContext) -> str:
    if not is_certain(facts):
        return f"Change nothing on topic {topic} yet: it may be a stream of events. {make_certain(facts, context)}"
    return (
        "Keep the state directories, and choose one of two ways. (1) Fill a changelog of the store's own while the local "
        "state is whole (otherwise the table starts empty), and then stop the reuse of the topic "
        "(topology.optimization=none). (2) If nobody needs the older records of a key, set cleanup.policy=compact on "
        f"topic {topic}. Compaction deletes the older records. It does not bring back the records that retention deleted, "
        "so produce these records again."
    )


def limits(values: Mapping[str, str]) -> tuple[str, ...]:
    """The settings that delete records; one that the broker does not name counts as set (`retention.ms`: a week)."""
    if "delete" not in [part.strip() for part in values["cleanup.policy"].split(",")]:
        return ()
    return tuple(
        f"{name}={values.get(name, default)}"
        for name, default in (("retention.ms", "604800000"), ("retention.bytes", _UNLIMITED))
        if values.get(name, default) != _UNLIMITED
    )


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    if prospect.moment is not Moment.RESTORE:
        return
    judged, store = prospect.judged, prospect.judged.store
    restores = judged.restores_source_bytes(judged.running)
    if restores is Certainty.EXCLUDED or store.topic is None:
        return
    configs = judged.sight.configs(store.topic)
    if configs is None:
        return
    if configs.values is None or configs.is_compacted is None:
        why = configs.problem or "the cluster does not say"
        what = f"cleanup.policy of topic {store.topic} ({CODE})"
        judged.sight.skip(Skipped(what=what, reason=why, could_hide=False))
        return
    settings = limits(configs.values)
    if not settings:
        return
    policy = f"cleanup.policy={configs.values['cleanup.policy']}, {', '.join(settings)}"
    yield judged.foretold(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        certainty=restores,
        moment=Moment.RESTORE,
        subject=store.source_subject(Role.VALUE),
        explanation=(
            f"Store {store.name} restores from topic {store.topic}, whose retention deletes records ({policy}). If "
            "retention has deleted a key's latest record, the key is missing after a restore, without any error."
        ),
        first=(
            "Before a restore, give the store a filled changelog of its own and stop the reuse of the topic. Or, if "
            f"nobody needs a key's older records, set cleanup.policy=compact on topic {store.topic}.",
        ),
    )


CHECK: Final = Check(
    code=CODE,
    title="A reused source topic whose retention deletes rows",
    severity="silent wrong results",
    meaning="Retention deletes the only copy of a table's rows. After a restore, old keys are missing. Until then the "
    "local state still has the rows, with the schema ids from the time when they were written.",
    cause="cleanup.policy=delete, or compact,delete, on a topic that serves as changelog.",
    detection="srfix reads the topic's configuration: cleanup.policy, and whether a retention limit is set.",
    remedy="First make sure that the store restores from this topic (a topology, a state directory, --source). Do not "
    "compact a topic of events: compaction deletes events. Then fill a changelog of the store's own (srfix state "
    "seed-changelog), and after that stop the reuse of the source topic. Or, if nobody needs older records of a key, "
    "set cleanup.policy=compact on the topic.",
    find=check,
    foretell=foretell,
    advice=Advice(
        rules=Rules(
            wiping=f"do not wipe it, because a restore cannot load the records that retention deleted ({CODE})"
        ),
        do_not=keep_the_state,
    ),
    data="rows that retention deleted from the topic exist only in the stores",
)
