"""SRF019: the processor of a global store transforms records, but a restore does not (KAFKA-7663, before 3.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, Rules, keep_the_state
from srfix.recovery.findings import Finding, Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import ProcessedRows, StoreFacts
    from srfix.recovery.guard.judged import JudgedStore, Prospect

CODE = "SRF019"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per store, in the role `value`; from 3.8 on a restore runs the processor: nothing is compared."""
    processed_rows = facts.processed
    if processed_rows is None or not processed_rows.transformed or facts.source is None:
        return
    yield facts.finding(
        CODE,
        Role.VALUE,
        severity=Severity.SILENT,
        subject=facts.source.subject,
        registered_ids=context.state_of(facts.source.subject).schema_ids,
        explanation=_explanation(facts, processed_rows),
        next_step=(
            "Keep the state directories: do not wipe them. Upgrade to Kafka Streams 3.8 or later (KIP-1024): there "
            "a restore runs the processor. After the upgrade rebuild the state once, because rows from an earlier "
            "restore stay untransformed. Or fill the topic with rows that need no transformation, and let the "
            "processor copy them. No registration helps."
        ),
    )


def _explanation(facts: StoreFacts, processed_rows: ProcessedRows) -> str:
    topic = facts.source.topic if facts.source is not None else None
    example = ""
    if processed_rows.example is not None:
        partition, offset = processed_rows.example
        example = f", for example from the record in partition {partition} at offset {offset}"
    happened = (
        f" srfix also compared {counted(processed_rows.untransformed, 'row')} that "
        f"{'is' if processed_rows.untransformed == 1 else 'are'} the same in the store and in the topic. Either a restore "
        "has loaded such rows, and they are wrong now, or the processor does not change such records."
        if processed_rows.untransformed
        else ""
    )
    rows = counted(processed_rows.transformed, "row")
    filler = (
        "a processor"
        if processed_rows.processor is None
        else f"processor {processed_rows.processor} ({processed_rows.origin})"
    )
    return (
        f"Global store {facts.store.name} of application {facts.store.application} is filled by {filler}. The "
        f"processor does not store the records of topic {topic} unchanged: {rows} on disk "
        f"{'differs' if processed_rows.transformed == 1 else 'differ'} from the topic's latest record of the same "
        f"key{example}. Before Kafka Streams 3.8, a restore copies the records without that processor, at every "
        "start without state and on every new instance. The store then holds the topic's values, without any "
        f"error.{happened}"
    )


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """Whether a restore bypasses a processor: known from the rows on disk, or because a person named the processor."""
    judged, store, running = prospect.judged, prospect.judged.store, prospect.judged.running
    runs_processors = running is not None and running.restores_through_processors
    if prospect.moment is not Moment.RESTORE or not store.is_global or runs_processors:
        return
    facts = judged.facts()
    processed_rows = None if facts is None else facts.processed
    if processed_rows is not None and processed_rows.transformed:
        rows = counted(processed_rows.transformed, "row")
        differ = "differs" if processed_rows.transformed == 1 else "differ"
        yield _foretold(
            judged,
            Certainty.UNTOLD if running is None else judged.of_version(running),
            f"{rows} of global store {store.name} on disk {differ} from the record of the "
            f"same key in topic {store.topic}. So a processor fills the store. A restore before Kafka Streams 3.8 "
            "does not run the processor, and stores the records unchanged.",
            "Keep the state directories, and upgrade to Kafka Streams 3.8 or later.",
        )
        return
    if processed_rows is not None and processed_rows.untold and processed_rows.not_compared is not None:
        whose = f"global store {store.name} of application {store.application}"
        judged.sight.skip(
            Skipped(
                what=f"whether a processor changes the rows of {whose} ({CODE})",
                reason=processed_rows.not_compared,
                could_hide=True,
                subjects=(store.changelog_subject(Role.VALUE),),
            )
        )
    if store.may_have_own_processor:
        yield _foretold(
            judged,
            Certainty.UNTOLD,
            f"A person named the processor of global store {store.name}. If the processor changes the records, a "
            f"restore before Kafka Streams 3.8 does not do so: it stores the records of topic {store.topic} "
            "unchanged.",
            f"Look in the code whether the processor of {store.name} stores the records unchanged.",
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
    code=CODE,
    title="A restore fills a global store without its processor, so the rows are not transformed",
    severity="silent wrong results",
    meaning="A custom processor of addGlobalStore runs while the application processes records, and not while it "
    "restores. So after a restore the store holds the topic's records, not the processor's rows.",
    cause="KAFKA-7663, Kafka Streams before 3.8.0.",
    detection=(
        "srfix compares the rows of a global store on disk (--state-dir) with the topic's latest record of the same "
        "key, up to the offset in the checkpoint. A row and a record count as equal if only their encoding differs: "
        "fewer fields, names in another letter case, or another schema id.\nThe processor's name is no evidence, "
        "because Kafka Streams names a processor KTABLE-SOURCE-… in both cases, for addGlobalStore and for "
        "globalTable. A row of a globalTable may have a field that the record lacks, because the table's own serde "
        "added the field. So srfix decides as follows:\n- In Avro, the field is evidence of a custom processor if the "
        "row's schema has no default for the field, or if the row's value is not that default.\n- In JSON, or if "
        "srfix cannot decode the bytes, srfix does not decide, and says so.\n- If a printed topology (--topology) "
        "shows a name of your own for the processor, such fields and bytes are evidence, too.\nWithout rows on disk, "
        "srfix says that it did not look."
    ),
    remedy="Upgrade to 3.8.0 or later (KIP-1024). Or fill the topic with rows that need no transformation.",
    find=check,
    foretell=foretell,
    advice=Advice(
        rules=Rules(wiping=f"do not wipe it, because a restore loads a global store's rows untransformed ({CODE})"),
        do_not=keep_the_state,
    ),
    data="a restore brings rows that the processor has not seen",
)
