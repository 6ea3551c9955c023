"""SRF019: a global store whose processor transforms what it stores is restored untransformed (KAFKA-7663, before 3.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, CatalogueEntry, Check, Rules, keep_the_state
from srfix.recovery.findings import Finding, Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.recovery.ids_in_words import counted
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import ProcessedRows, StoreFacts
    from srfix.recovery.guard.judged import JudgedStore, Prospect

CODE = "SRF019"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store, in the role `value`, where rows on disk differ from what a restore would put in their place.

    From 3.8 on a restore runs the processor too, and nothing is learned of it.
    """
    found = facts.processed
    if found is None or not found.transformed or facts.source is None:
        return
    yield facts.finding(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        subject=facts.source.subject,
        registered_ids=context.state_of(facts.source.subject).schema_ids,
        explanation=_explanation(facts, found),
        next_step="Keep the state directories: no wipe. Upgrade to Kafka Streams 3.8 or later (KIP-1024), whose restore runs "
        "the processor; let the state be rebuilt once then, for rows that an earlier restore brought stay as they are. Or fill "
        "the topic with rows that need no transformation, and let the processor copy them. No registration helps.",
    )


def _explanation(facts: StoreFacts, found: ProcessedRows) -> str:
    topic = facts.source.topic if facts.source is not None else None
    example = ""
    if found.example is not None:
        partition, offset = found.example
        example = f", such as that of the record in partition {partition} at offset {offset}"
    happened = (
        f" Besides, {counted(found.untransformed, 'row')} of those that were compared hold what the topic holds: either a "
        "restore has brought them, and they are wrong now, or the processor leaves such records as they are."
        if found.untransformed
        else ""
    )
    rows = counted(found.transformed, "row")
    filler = "a processor" if found.processor is None else f"processor {found.processor} ({found.origin})"
    return (
        f"Global store {facts.store.name} of application {facts.store.application} is filled by {filler}, which stores "
        f"something else than the records of topic {topic}: on disk {rows} "
        f"{'differs' if found.transformed == 1 else 'differ'} from the topic's latest record of the same key{example}. Before "
        "Kafka Streams 3.8 a restore copies the records past that processor, at every start without state and on every new "
        f"instance: the store then holds the topic's values, without any error.{happened}"
    )


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """What a restore goes past: by the rows on disk, or where a person named the processor."""
    judged, store, running = prospect.judged, prospect.judged.store, prospect.judged.running
    runs_processors = running is not None and running.restores_through_processors
    if prospect.moment is not Moment.RESTORE or not store.is_global or runs_processors:
        return
    facts = judged.facts()
    found = None if facts is None else facts.processed
    if found is not None and found.transformed:
        rows = counted(found.transformed, "row")
        differ = "differs" if found.transformed == 1 else "differ"
        yield _foretold(
            judged,
            Certainty.UNTOLD if running is None else judged.of_version(running),
            f"On disk {rows} of global store {store.name} {differ} from the record of the same key in topic {store.topic}: a "
            "processor fills it. A restore before Kafka Streams 3.8 goes past it, and stores the records as they are.",
            "Keep the state directories, and upgrade to Kafka Streams 3.8 or later.",
        )
        return
    if found is not None and found.untold and found.not_compared is not None:
        whose = f"global store {store.name} of application {store.application}"
        judged.sight.skip(
            Skipped(
                what=f"whether a processor changes what {whose} holds ({CODE})",
                reason=found.not_compared,
                could_hide=True,
                subjects=(store.changelog_subject(Role.VALUE),),
            )
        )
    if store.may_have_own_processor:
        yield _foretold(
            judged,
            Certainty.UNTOLD,
            f"The processor of global store {store.name} has a name that a person gave it. If it changes what it stores, a "
            f"restore before Kafka Streams 3.8 goes past it, and stores the records of topic {store.topic} as they are.",
            f"Look in the code whether the processor of {store.name} stores what it is given, unchanged.",
        )


def _foretold(judged: JudgedStore, certainty: Certainty, explanation: str, first: str) -> Foretold:
    return judged.foretold(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        certainty=certainty,
        moment=Moment.RESTORE,
        subject=judged.store.changelog_subject(Role.VALUE),
        explanation=explanation,
        first=(first,),
    )


CHECK: Final = Check(
    entry=CatalogueEntry(
        code=CODE,
        title="A global store whose processor transforms is restored untransformed",
        severity="silent wrong results",
        meaning="A custom processor of addGlobalStore runs while the application processes records, and not while it "
        "restores. So after a restore the store holds the topic's records, not the processor's rows.",
        cause="KAFKA-7663, Kafka Streams before 3.8.0.",
        detection="srfix compares the rows of a global store on disk (--state-dir) with the topic's latest record of the same "
        "key, up to the offset in the checkpoint. A row does not differ if it only says the same in another encoding: "
        "fewer fields, names in another letter case, another schema id. The processor's name is no evidence, because "
        "Kafka Streams also names a processor of addGlobalStore KTABLE-SOURCE-…, as globalTable does. If the "
        "processor has such a name, a field that the record lacks shows a processor only if the row's Avro schema has "
        "no default for it, or another default than the row's value. In JSON, or if the bytes cannot be decoded, a "
        "table's serde may have written the field: then srfix does not decide, and says so. If a printed topology "
        "(--topology) shows a name of your own, such fields and bytes count as well. Without rows srfix says that it "
        "did not look.",
        remedy="Upgrade to 3.8.0 or later (KIP-1024). Or fill the topic with rows that need no transformation.",
        checked_since="0.1.0",
    ),
    find=check,
    foretell=foretell,
    advice=Advice(
        rules=Rules(wiping=f"do not wipe it, for a restore brings a global store's rows untransformed ({CODE})"),
        do_not=keep_the_state,
    ),
    data="a restore brings rows that the processor has not seen",
)
