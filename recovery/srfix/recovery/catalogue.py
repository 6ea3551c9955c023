"""What each finding code means: the table behind `srfix explain SRF001`.

The codes are stable. A code whose `checked_since` is None is explained, but not looked for yet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["CATALOGUE", "CatalogueEntry", "entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One finding code, explained."""

    code: str
    """`SRF001` …"""
    title: str
    """What it is, in one line."""
    severity: str
    """How bad it usually is: a value of `srfix.recovery.findings.Severity`."""
    meaning: str
    """What is wrong, and what it does to the application."""
    cause: str
    """How it comes about."""
    detection: str
    """How srfix tells."""
    remedy: str
    """What to do."""
    checked_since: str | None
    """The first version of srfix that looks for it; None if none does yet."""


CATALOGUE: Final[tuple[CatalogueEntry, ...]] = (
    CatalogueEntry(
        code="SRF001",
        title="A restored store cannot be read: its schema ids are not registered under the phantom subject",
        severity="broken",
        meaning=(
            "A restore fills the store with records of the source topic, byte for byte, but the reader "
            "looks their schemas up under the subject of a changelog that does not exist as a topic. That "
            "subject lacks them (40403) or does not exist (40401), so every read of such a row fails with "
            "“Error retrieving Avro value schema version for id …”. An interactive query fails alone; a "
            "join or a table update kills the stream thread, and again after each restart. From cluster "
            "and registry alone it cannot be told whether a restore has happened yet; without one, this is "
            "what the next one brings."
        ),
        cause=(
            "KAFKA-10179, Kafka Streams 2.0 to 2.6.3. With topology.optimization=all the source topic of a "
            "table serves as its changelog, and a global table always does without one; yet the store's "
            "serdes are handed the name <application>-<store>-changelog. While processing, rows are "
            "written again under the reader's own schema, which is registered under that phantom subject. "
            "After a lost state directory, a rebalance to another instance or a standby's take-over, the "
            "rows carry the source's schema ids instead. Readers that look a version up under the subject "
            "(Connect's AvroConverter, hence ksqlDB) refuse them; plain Avro deserializers do not notice."
        ),
        detection=(
            "Subjects that look like a changelog's, whose topic is not in the full topic listing; the "
            "source topic by evidence; a census of the ids that a restore would load (up to the committed "
            "offsets of the group); for each id a look-up of its schema under the phantom subject, by "
            "content and with deleted versions, as the failing reader asks."
        ),
        remedy=(
            "srfix plan, srfix apply, srfix verify: the source's schemas are registered under the phantom "
            "subject, where they keep their ids; a running application reads again at once. Do not wipe "
            "the state directory on 2.6.3 or older: that is what brings the failure. Restart instances "
            "whose thread died. A reader with the dual-subject fallback reads the rows without any repair."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF002",
        title="The next restore will break a store that is still readable",
        severity="breaks on restore",
        meaning=(
            "As SRF001, but the rows in the state directories that were looked at all carry ids that the "
            "phantom subject knows. Nothing fails today; it will after a restore."
        ),
        cause="The same as SRF001, before the state directory was lost.",
        detection=("The checks of SRF001, and the rows of every partition's store read from the state directories."),
        remedy=(
            "Repair as for SRF001 before the next restore. Until then keep the state directories: no wipe, "
            "and no move of partitions that can be avoided."
        ),
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF003",
        title="Masked: the phantom subject exists, and holds every schema that a restore would load",
        severity="note",
        meaning=(
            "The store depends on a phantom subject, and today that subject knows all live ids. This holds "
            "until the source topic is written under its next schema: that one will not be registered "
            "there by anybody. Where an alias or another context answers for the subject, it holds until "
            "that is removed."
        ),
        cause="A repair, or serdes that write the writer's own schema back (a generic Avro serde does).",
        detection="The checks of SRF001; no id at fault is left.",
        remedy=(
            "Nothing is broken. Run srfix diagnose again after each new schema of the source, or remove "
            "the cause: Kafka Streams 2.7.0 or later (after SRF004, SRF016 and SRF017), or a real "
            "changelog."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF004",
        title="Upgrade mirror: rows in local state carry ids that only the phantom subject knows",
        severity="breaks on upgrade",
        meaning=(
            "From 2.7.0 on the store's serdes are handed the source topic. Rows that an older version "
            "wrote carry the id of its internal schema, which is registered under the phantom subject and "
            "not under the source's: after an upgrade in place they cannot be read."
        ),
        cause="An upgrade across 2.7.0 with the state directories kept.",
        detection=(
            "Where Kafka Streams 2.7 or later runs, or is said to (--streams-version): the ids under the phantom subject, "
            "looked up by content under the subject of the source topic. Rows of state directories are not read."
        ),
        remedy=(
            "Register the internal schema under the source subject (srfix plan with --streams-version 2.7 --also SRF004 does, "
            "soft-deleted, for that subject is its producers'; mind SRF016). Or wipe the state when, and only when, the new "
            "version starts: the restore then brings the source's ids. That needs proof from which topic the store restores "
            "(a topology, a state directory, --source), and neither SRF017 nor SRF018 for it."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF005",
        title="Keys carry schema ids that the reader would not write: look-ups miss without an error",
        severity="silent wrong results",
        meaning=(
            "A store compares keys byte for byte, and the schema id is part of the bytes. Restored keys "
            "carry the producer's id, the reader serialises its look-up key under another one: joins find "
            "nothing, and the next update makes a second row for the same key. The two may belong to different "
            "partitions too."
        ),
        cause=("Keys in a registry format whose schema differs between producer and reader, on any Streams version."),
        detection=(
            "The ids in the keys of the source topic, beside the latest version of the phantom key subject that is the "
            "application's own: one that the topic's keys do not carry and the source's key subject does not have. Where the "
            "keys carry several ids, some look-ups miss whichever of them the reader writes, as it writes one only. Without a "
            "phantom key subject nothing tells what the reader writes, and nothing is claimed."
        ),
        remedy=(
            "No registration repairs it, and srfix plan leaves it alone. Let the reader write keys under the producer's "
            "schema, or write the topic anew with keys under the reader's, and let the store be rebuilt."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF006",
        title="A global table on an affected version",
        severity="breaks on restore",
        meaning=(
            "A global store has no changelog: every start without state loads the whole source topic, "
            "whatever topology.optimization says and whatever was committed. Before 2.7.0 its serdes are "
            "handed a phantom name, so it meets SRF001."
        ),
        cause="globalTable or addGlobalStore with a registry serde on Kafka Streams 2.6.3 or older.",
        detection=(
            "global/.checkpoint in a state directory, or the topology; then the checks of SRF001 without a limit."
        ),
        remedy="Repair as for SRF001; upgrade to 2.7.0 or later.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF007",
        title="A changelog subject of a store that logs nothing",
        severity="note",
        meaning=("The subject exists without a topic because the store's logging is off. Nothing is ever restored."),
        cause="withLoggingDisabled() with a registry serde, on any version.",
        detection="A changelog subject without a topic, whose store the topology shows without logging.",
        remedy="None is needed. It only looks like SRF001.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF008",
        title="Subjects of a foreign-key join's pseudo-topics",
        severity="note",
        meaning=(
            "Subjects ending in -pk-key, -fk-key or -vh-value behind a subscription registration topic. No "
            "topic of that name exists or will: the name is only handed to serdes."
        ),
        cause="A foreign-key join (Kafka Streams 2.4 and later) with registry serdes. It is by design.",
        detection="By the name.",
        remedy="Leave them while the application lives.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF009",
        title="Orphans: internal subjects of an application that is gone",
        severity="litter",
        meaning="The subjects were left behind; they count toward limits on schemas and make listings long.",
        cause="The application or query was removed without its subjects; older ksqlDB versions left them.",
        detection=(
            "No topic, no state and no group of that application. A missing group alone is not enough: "
            "committed offsets expire."
        ),
        remedy=(
            "Nothing, if they disturb nobody: --ignore PATTERN acknowledges them. Who knows that the "
            "application is gone for good may soft-delete them, but never the last holder of an id that any topic or store "
            "still uses."
        ),
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF010",
        title="Pollution: the source subject holds an internal schema that no record uses",
        severity="litter",
        meaning="A version of the source subject was registered by a store's serde, not by a producer.",
        cause=(
            "Kafka Streams 2.7.0 and later with a reused source topic or a global table: the side effect "
            "of writing to the store moved from the phantom subject to the source's."
        ),
        detection=("A version that no record of the topic carries, and that a changelog subject or a store knows."),
        remedy="Keep it while a store may hold its id. Turn reuse off before removing it.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF011",
        title="Schema ids in the topic that the registry does not know at all",
        severity="broken",
        meaning=(
            "Records name a schema that cannot be fetched (40403 for the id itself). No reader can decode "
            "them, under whatever subject, and no registration under another subject helps: there is no "
            "schema to register."
        ),
        cause=(
            "A hard delete of the last subject that held the id; a registry set up anew or restored from "
            "an older backup; records mirrored from a cluster with another registry."
        ),
        detection="Each id of the census is fetched from the registry.",
        remedy=(
            "Find the schema (a backup of the _schemas topic, the producer's code, another registry) and "
            "register it under its old id in IMPORT mode. Check first that --registry is the one that the "
            "producers use."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF012",
        title="The registry would refuse the repair as it stands, or an earlier one was interrupted",
        severity="note",
        meaning=(
            "Registering the source's schema under the phantom subject would be refused: it is not "
            "compatible with what the subject holds (409), the subject is read-only, or the credentials "
            "may not write there. Or the subject's own compatibility is NONE, or its own mode IMPORT, which is "
            "what a repair leaves that was interrupted; with IMPORT the application's own registrations are "
            "refused (42205)."
        ),
        cause=(
            "The internal schema and the writer's schema usually differ in more than BACKWARD allows, such "
            "as the record's name."
        ),
        detection=("The subject's level and mode, and a compatibility check of each missing schema, without writing."),
        remedy=(
            "For a refusal by compatibility the plan sets the level of the phantom subject to NONE, "
            "registers, and puts the level back; it says what that costs. For the others: ask whoever owns "
            "the registry. An interrupted repair is finished with srfix apply, or undone with srfix "
            "rollback, before anything is planned anew."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF013",
        title="Live records that are not framed, or do not decode",
        severity="broken",
        meaning=(
            "Values without a magic byte, or with a body that does not fit their schema. While processing "
            "they can be skipped by a deserialization exception handler; a restore copies them into the "
            "store unseen, where the first read fails."
        ),
        cause="A producer without a registry serializer. Restores check nothing (KAFKA-8037, still so).",
        detection=(
            "The census counts live keys with unframed values. The newest live record of each schema id and "
            "partition is decoded with the schema of its id; --decode-values decodes them all."
        ),
        remedy=(
            "No registration helps. Look at such a row (srfix decode) and ask its producer: values of another format may be "
            "right, and the store's serde wrong. Only where a body does not fit the schema that it names, and it is proven "
            "that the store restores from this topic: write the same keys again with valid values, or a tombstone where the "
            "row is not wanted, and let the application commit beyond them."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF014",
        title="Schema ids in a store or a real changelog that the registry has lost",
        severity="broken",
        meaning=("As SRF011, but in the application's own data: rows that the application wrote cannot be read."),
        cause="A hard delete of an internal subject while its rows lived on; a registry set up anew.",
        detection=("Ids in changelog topics and in the stores of state directories, fetched from the registry."),
        remedy="Bring the schema back under its old id, or rebuild the store from its inputs.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF015",
        title="Writing to the store would be refused",
        severity="broken",
        meaning=(
            "The serde may not register its schema under the subject that it is handed, so the first put "
            "fails; with auto.register.schemas=false it looks the schema up there and gets 40401 or 40403."
        ),
        cause=("Registration is turned off or forbidden, and nobody registered the schema under the phantom subject."),
        detection="The subject, its mode, and what the credentials may do.",
        remedy="Register the reader's own schema under the phantom subject.",
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF016",
        title="After an upgrade the internal schema would go under your own subject",
        severity="breaks on upgrade",
        meaning=(
            "From 2.7.0 on the first put registers the reader's schema under the source subject. It is "
            "refused with 409 and the thread dies, or it is accepted and becomes the latest version of a "
            "subject that others use."
        ),
        cause=(
            "An upgrade across 2.7.0 with a reused source topic and a reader whose schema differs from the writer's."
        ),
        detection="A compatibility check of the internal schema against the source subject, without writing.",
        remedy=(
            "Turn the reuse off with a seeded changelog, or let the reader write the writer's schema, then upgrade."
        ),
        checked_since=None,
    ),
    CatalogueEntry(
        code="SRF017",
        title="Live ids are not registered under the topic's own subject either",
        severity="breaks on upgrade",
        meaning=(
            "The subject <source>-value lacks schemas that records of the topic carry. A reader on 2.7.0 "
            "or later, and the second try of a dual-subject reader, would fail as well."
        ),
        cause=("Another subject naming strategy at the producer, or a topic that was mirrored under a new name."),
        detection="Each live id is looked up under the subject of the source topic, by content.",
        remedy="Register them there too, or give the readers the strategy that the producer uses.",
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF018",
        title="A reused source topic whose retention deletes rows",
        severity="silent wrong results",
        meaning=(
            "Retention deletes the only copy of a table's rows: after a restore, old keys are missing. Until "
            "then the local state still has them, with the schema ids of their time."
        ),
        cause="cleanup.policy=delete, or compact,delete, on a topic that serves as changelog.",
        detection="The topic's configuration: cleanup.policy, and whether any retention limit is set.",
        remedy=(
            "First make certain that the store restores from this topic (a topology, a state directory, "
            "--source): compaction of a stream of events deletes events. Then turn the reuse off with a "
            "seeded changelog, or set cleanup.policy=compact on the topic if nobody needs a key's older "
            "records."
        ),
        checked_since="0.1.0",
    ),
    CatalogueEntry(
        code="SRF019",
        title="A global store whose processor transforms is restored untransformed",
        severity="silent wrong results",
        meaning=(
            "A custom processor of addGlobalStore runs while processing but not while restoring: after a "
            "restore the store holds what the topic holds."
        ),
        cause="KAFKA-7663, Kafka Streams before 3.8.0.",
        detection="The topology, and rows of the global store that equal the records of the topic.",
        remedy=("Upgrade to 3.8.0 or later (KIP-1024), or fill the topic with rows that need no transformation."),
        checked_since=None,
    ),
)
"""Every code, in order."""

_CODE = re.compile(r"(?i)srf(\d{3})")
_BY_CODE = {known.code: known for known in CATALOGUE}


def entry(code: str) -> CatalogueEntry | None:
    """The entry of a code, in whatever letter case it was typed; None if there is no such code."""
    match = _CODE.fullmatch(code.strip())
    return None if match is None else _BY_CODE.get(f"SRF{match[1]}")
