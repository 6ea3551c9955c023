"""What a stack trace can show, and what is said about it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from srfix.recovery.checks import srf001, srf004, srf011, srf012, srf013, srf015, srf017


class Symptom(Enum):
    """What a text shows; `WORDS` says what that is."""

    PHANTOM_LOOKUP = "phantom-lookup"
    SUBJECT_LOOKUP = "subject-lookup"
    UNKNOWN_ID = "unknown-id"
    ID_OR_SUBJECT = "id-or-subject"
    INCOMPATIBLE_WRITE = "incompatible-write"
    REFUSED_WRITE = "refused-write"
    UNFRAMED = "unframed"
    UNDECODABLE = "undecodable"
    CONNECT_TASK = "connect-task"
    UNAUTHORIZED = "unauthorized"
    REGISTRY_FAILED = "registry-failed"
    UNREACHABLE = "unreachable"
    NOT_A_REGISTRY = "not-a-registry"
    STATE_ON_DISK = "state-on-disk"
    NOT_RECOGNISED = "not-recognised"


UNNAMED_SUBJECT: Final = (
    srf001.CODE,
    "A schema is not registered under the subject that the reader asked; most likely the incident",
    "The record decoded, but its schema is not registered under the reader's subject. The text does not name the topic; under "
    "the subject of a changelog that does not exist this is SRF001, under the source topic's own it is SRF004 or SRF017.",
)
SOURCE_NODE: Final = (
    srf017.CODE,
    "A schema is not registered under the topic's own subject, which a source node asks",
    "The record decoded, but its schema is not registered under the subject of the topic that it was read from. No store is "
    "concerned: the producer uses another subject naming strategy, or the topic was mirrored under a new name (SRF017).",
)
WITHOUT_CAUSE: Final = (
    "The text does not hold the cause: a registry that refused or was not reached is worded alike. Paste it down to the last "
    "“Caused by”."
)
WORDS: Final[dict[Symptom, tuple[str | None, str, str]]] = {
    Symptom.PHANTOM_LOOKUP: (
        srf001.CODE,
        "The incident: a restored row whose schema is not registered under the phantom subject",
        "The record decoded, but its schema is not registered under the subject of an internal topic. If no topic of that "
        "name exists, the subject is a phantom (KAFKA-10179): the store was restored from its source topic, whose schema ids "
        "the phantom subject does not know. Nothing is lost, and registering the source's schemas there repairs it. If the "
        "topic does exist, its own subject has lost a schema (SRF014).",
    ),
    Symptom.SUBJECT_LOOKUP: (
        srf004.CODE,
        "A schema is not registered under the subject of an ordinary topic; most likely the upgrade mirror",
        "The record decoded, but its schema is not registered under the topic's own subject. In a state store on Kafka "
        "Streams 2.7.0 or later these are rows that an older version wrote under the phantom subject (SRF004). Elsewhere the "
        "producer uses another subject naming strategy, or the topic was mirrored (SRF017).",
    ),
    Symptom.UNKNOWN_ID: (
        srf011.CODE,
        "A schema id that this registry does not know",
        "The schema itself could not be fetched by its id. In a named context of the registry (a URL that ends in "
        "/contexts/…, or subjects such as :.ctx:…) that is how the incident looks (SRF001): there a registry answers an id "
        "only to a subject that holds it. Elsewhere this is not the incident: there is no schema to register. It was "
        "deleted for good, the registry is another one than the producer's, or the record was mirrored. In a store or a "
        "changelog the code is SRF014.",
    ),
    Symptom.ID_OR_SUBJECT: (
        None,
        "A schema was not found: by its id, or under its subject; the words allow both",
        "Clients before 5.4 word both failures alike, and other clients show only the code. If the reader looks versions up "
        "under a changelog's subject this is SRF001; if the id is unknown to the registry it is SRF011. The diagnosis tells "
        "them apart.",
    ),
    Symptom.INCOMPATIBLE_WRITE: (
        srf012.CODE,
        "A schema was refused as incompatible while it was being registered",
        "Under a phantom subject: a repaired version is its latest, or another schema of the application is, and the next "
        "internal schema does not pass against it (SRF012). Under your own subject, on Kafka Streams 2.7.0 or later: a "
        "store's serde tries to register its internal schema there (SRF016).",
    ),
    Symptom.REFUSED_WRITE: (
        srf015.CODE,
        "A schema could not be registered under the subject that the serde was handed",
        "Registration is turned off (auto.register.schemas=false, and the schema is not there), forbidden by credentials or "
        "by the subject's mode, or the registry takes the schema for invalid. A store's first put fails like this under a "
        "phantom subject.",
    ),
    Symptom.UNFRAMED: (
        srf013.CODE,
        "A payload that no schema registry serializer wrote",
        "It does not start with the magic byte, or what follows is an id that no registry gives (0, negative), so it names no "
        "schema. In a store it came with a restore, which checks nothing (KAFKA-8037). No registration repairs it. A key read "
        "as a value, or the other way round, and JSON read as Avro look the same.",
    ),
    Symptom.UNDECODABLE: (
        srf013.CODE,
        "A payload whose body could not be decoded",
        "The schema was found, but the bytes do not fit it, or not the reader's schema. The record is damaged, or was written "
        "by something that framed it wrongly; or the two schemas cannot be resolved.",
    ),
    Symptom.CONNECT_TASK: (
        None,
        "A Kafka Connect task failed, not a state store: this is not the incident",
        "The converter of a connector (a sink, or a source) could not do its work. It reads or writes the topic itself: no "
        "store is restored. srfix check asks for the ids in the topic as the converter does, and names who holds them. If the "
        "topic's own subject lacks them, producer and connector name subjects differently "
        "(value.converter.value.subject.name.strategy), or the topic was mirrored. If nobody holds them, the connector asks "
        "another registry than the producer's. If the records are not framed, another converter belongs there.",
    ),
    Symptom.UNAUTHORIZED: (
        None,
        "The registry did not accept the credentials",
        "The registry answered 401 or 403. This says nothing about schemas. Give srfix credentials that may "
        "read all subjects; for a repair they must be allowed to register too.",
    ),
    Symptom.REGISTRY_FAILED: (
        None,
        "The registry could not do its work",
        "It answered with an error of its own (5xx), had too many requests (429, 408), or takes none of this kind (405, 422). "
        "This says nothing about schemas; it may pass, or a proxy stands before it.",
    ),
    Symptom.UNREACHABLE: (
        None,
        "Something could not be reached on the network",
        "A connection was refused, timed out, or its TLS handshake or host name failed. This says nothing about schemas. "
        "Check the addresses from the machine that runs the application.",
    ),
    Symptom.NOT_A_REGISTRY: (
        None,
        "Something other than a schema registry answered",
        "The answer was not a registry's JSON, or that it has no such path: a proxy, a login page, the port of something else, "
        "or a path too many in the URL. Check the registry's URL.",
    ),
    Symptom.STATE_ON_DISK: (
        None,
        "A store's files are damaged, or no longer fit what was committed",
        "Kafka Streams throws such a task's state away and restores it (TaskCorruptedException), or dies of it (RocksDB's "
        "Corruption, until somebody moves the task's folder away). It is no matter of schemas by itself; but what is restored "
        "may be unreadable (SRF001): run the diagnosis before you wipe anything, and srfix state size DIR on a copy.",
    ),
    Symptom.NOT_RECOGNISED: (
        None,
        "Not recognised",
        "There is no message in it that srfix knows: neither the incident nor one of its relatives. Paste the whole trace, "
        "down to the last “Caused by”. Without it, srfix diagnose looks at the cluster and the registry instead.",
    ),
}
