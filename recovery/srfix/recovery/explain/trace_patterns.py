"""The messages of all generations of clients about a failed look-up, and the places of the details in the text.

| clients | words |
|---|---|
| Confluent Java 5.0 to 5.3 | `Error retrieving Avro schema for id N`, for the id and for the version alike |
| Confluent Java 5.4 | `Error retrieving Avro schema version for id N` |
| Confluent Java 5.5 and later | `Error retrieving Avro value schema version for id N` |
| Confluent Java 8.x | `… for id SchemaId{schemaType='AVRO', id=N, guid='null', messageIndexes=null}` |

The text with `version` comes only from `AbstractKafkaAvroDeserializer.schemaVersion()`: this is a look-up by content
under the subject, the one that fails in the incident.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import unquote

from srfix.recovery.checks import srf001, srf004, srf011, srf012, srf013, srf015, srf017
from srfix.recovery.internal_topics import InternalTopicKind, recognise
from srfix.serde.subjects.names import Role, Topic, split_subject
from srfix.serde.wire import is_schema_id


class AnchorKind(Enum):
    VERSION_LOOKUP = "a reader looked up a version under a subject"
    ID_LOOKUP = "a reader looked up a schema by its id"
    ID_OR_VERSION_LOOKUP = "a reader looked up a schema by its id, or a version under a subject"
    REGISTERING = "a writer was registering a schema"
    WRITER_LOOKUP = "a writer looked up its schema, without registering it"
    UNFRAMED = "a payload was not framed"
    DECODING = "a reader was decoding a body"
    REGISTRY_ANSWER = "a registry answered with an error"
    NO_CONNECTION = "a connection failed"
    NOT_A_REGISTRY = "the answer did not come from a registry"
    STATE = "the state on disk is damaged, or must be built again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    kind: AnchorKind
    start: int
    end: int
    schema_id: int | None
    role: Role | None
    other_ids: tuple[int, ...] = ()
    """Other ids in messages of this wording, ascending."""


_FORMAT = r"(?:Avro|JSON|Protobuf)"
_ID = r"(?:SchemaId\{[^}\n]{0,100}?\bid=)?(?P<id>-?\d{1,10})\b"
_ANCHORS: Final[tuple[tuple[AnchorKind, str], ...]] = (
    (
        AnchorKind.VERSION_LOOKUP,
        rf"Error\s+retrieving\s+{_FORMAT}\s+(?:(?P<role>key|value|unknown)\s+)?schema\s+version\s+for\s+id\s+{_ID}",
    ),
    (
        AnchorKind.ID_LOOKUP,
        rf"Error\s+retrieving\s+{_FORMAT}\s+(?P<role>key|value|unknown)\s+schema\s+for\s+id\s+{_ID}",
    ),
    (AnchorKind.ID_OR_VERSION_LOOKUP, rf"Error\s+retrieving\s+{_FORMAT}\s+schema\s+for\s+id\s+{_ID}"),
    (AnchorKind.REGISTERING, rf"Error\s+registering\s+{_FORMAT}\s+schema"),
    (AnchorKind.REGISTERING, r"Schema\s+being\s+registered\s+is\s+incompatible"),
    (AnchorKind.WRITER_LOOKUP, rf"Error\s+retrieving\s+{_FORMAT}\s+schema(?!\s+(?:version\s+)?for\s+id)"),
    (AnchorKind.UNFRAMED, r"(?:Unknown|Unexpected|Invalid)\s+magic\s+byte"),
    (AnchorKind.UNFRAMED, r"did\s+not\s+start\s+with\s+the\s+magic\s+byte|Expecting\s+data\s+framing\s+of\s+length"),
    (
        AnchorKind.UNFRAMED,
        r"The\s+payload\s+(?:starts\s+with\s+the\s+byte|begins\s+as\s+a\s+framed\s+one\s+does|is\s+empty\s+\(0\s+bytes\))",
    ),
    (AnchorKind.ID_LOOKUP, rf"\bSCHEMA_ID_NOT_FOUND\b(?:[^\n]{{0,200}}?\bid\b\D{{0,10}}{_ID})?"),
    (AnchorKind.ID_LOOKUP, rf"\bSchema\s+(?:with\s+id\s+)?{_ID}\s+not\s+found"),
    (AnchorKind.DECODING, rf"Error\s+deserializing\s+{_FORMAT}\s+message\s+for\s+id\s+{_ID}"),
    (
        AnchorKind.DECODING,
        r"Trailing\s+data\s+found|\bFound\s+[\w.]{1,200},\s+expecting\s+[\w.]"
        r"|Size\s+of\s+data\s+received\s+by\s+\w{1,40}\s+is\s+not|Converting\s+byte\[\]\s+to\s+Kafka\s+Connect\s+data\s+failed",
    ),
    (AnchorKind.NOT_A_REGISTRY, r"Unexpected\s+character\s+\('<'|error\s+code:\s+50005"),
    (
        AnchorKind.REGISTRY_ANSWER,
        r"RestClientException|SchemaRegistryError|schema\s+registry\s+request\s+failed|REST\s+request\s+failed"
        r"|[\"']error_code[\"']\s*:|\bSR\s+code\s+\d|error\s+code:\s+\d{3}|Subject\s+not\s+found",
    ),
    (AnchorKind.STATE, r"TaskCorruptedException|RocksDBException:\s+(?:Corruption|IO\s+error)|\bCorruption:\s+\w"),
    (
        AnchorKind.NO_CONNECTION,
        r"(?:ConnectException|UnknownHostException|NoRouteToHostException|SocketTimeoutException|SSLHandshakeException"
        r"|ConnectTimeoutException|NewConnectionError|ConnectTimeoutError|NameResolutionError|SSLCertVerificationError"
        r"|Connection\s+refused|Max\s+retries\s+exceeded|no\s+such\s+host|i/o\s+timeout|Broker\s+may\s+not\s+be\s+available"
        r"|brokers?\s+(?:are\s+)?down)",
    ),
)
_COMPILED: Final = tuple((kind, re.compile(pattern)) for kind, pattern in _ANCHORS)
_MOST_IDS = 100
_NO_ID_YET: Final = -1
"""The messages of Confluent's deserializer for a failure before it read the id."""

_NAME = r"([A-Za-z0-9._-]{1,249})"
_TOPIC: Final = re.compile(
    rf"for\s+topic\s+{_NAME}\s+to\s+{_FORMAT}|serialization\s+error\s+of\s+topic\s+{_NAME}"
    rf"|(?:from|to)\s+topic:?\s+{_NAME}|for\s+partition\s+{_NAME}-\d+\s+at\s+offset"
)
_SUBJECTS: Final = tuple(
    re.compile(pattern)
    for pattern in (r"[Ss]ubject\s+[\"'“]([^\"'”\n]{1,500})[\"'”]", r"/subjects/([^/?\s\"'<>]{1,1000})")
)
_ROLES: Final = re.compile(r"(Value|Key)(?:De)?serializationError|(?:de)?serialize\s+(value|key)\s+(?:from|to)\s+topic")
_VERSIONS: Final = re.compile(
    r"kafka-streams-(\d+\.\d+\.\d+)[\w.-]{0,30}\.jar|Kafka\s+Streams\s+version:\s+(\d+\.\d+\.\d+)"
)
_CONNECT_TASKS: Final = re.compile(r"org\.apache\.kafka\.connect\.runtime\.|\bWorker(?:Sink|Source)Task\b")
_STREAMS_FRAMES: Final = re.compile(
    r"org\.apache\.kafka\.streams\.|\bMetered\w*Store\b|-StreamThread-\d|io\.confluent\.ksql\.|_confluent-ksql-"
    r"|KSQL_PROCESSING_LOG|\bkafkaStreamsThreadError\b|\bdeserializationError\b|\bprocessing\.[CI][ST]AS_"
)
_CONVERTER: Final = re.compile(r"Failed\s+to\s+(?:de)?serialize\s+(?:Avro\s+)?data\s+(?:for|from)\s+topic")
_FRAMES: Final = re.compile(r"\.get\((MeteredKeyValueStore\.java:\d+)\)")
_FRAME_VERSIONS: Final = {
    # The line of `get()` in the released sources.
    "MeteredKeyValueStore.java:133": ("2.5.0", "2.5.1", "2.6.0"),
    "MeteredKeyValueStore.java:139": ("2.6.3",),
}


def find_anchor(text: str) -> Anchor | None:
    """The last message with the most informative wording; None if there is none."""
    for kind, pattern in _COMPILED:
        last: re.Match[str] | None = None
        ids: set[int] = set()
        for match in pattern.finditer(text):
            last = match
            if len(ids) < _MOST_IDS and "id" in pattern.groupindex and match["id"]:
                ids.add(int(match["id"]))
        if last is None:
            continue
        schema_id = int(last["id"]) if "id" in pattern.groupindex and last["id"] else None
        if schema_id is not None and schema_id != _NO_ID_YET and not is_schema_id(schema_id):
            kind = AnchorKind.UNFRAMED  # these four bytes are no id: no registry gives such an id
        role = last["role"] if "role" in pattern.groupindex else None
        return Anchor(
            kind=kind,
            start=last.start(),
            end=last.end(),
            schema_id=schema_id if schema_id is not None and is_schema_id(schema_id) else None,
            role=Role(role) if role in {"key", "value"} else None,
            other_ids=tuple(sorted(other_id for other_id in ids - {schema_id} if is_schema_id(other_id))),
        )
    return None


def near(pattern: re.Pattern[str], text: str, anchor: Anchor, *, before: bool) -> re.Match[str] | None:
    """The match that is nearest to the anchor: on the side that is named, else on the other one."""
    last_before: re.Match[str] | None = None
    for match in pattern.finditer(text):
        if match.start() >= anchor.start:
            return last_before if before and last_before is not None else match
        last_before = match
    return last_before


def topic_near(text: str, anchor: Anchor) -> tuple[Topic, Role | None] | None:
    """The topic that the failing serde got, with the role if a subject names it; an internal name wins."""
    topics = list(_topics_near(text, anchor))
    for topic, role in topics:
        if recognise(topic) in {InternalTopicKind.CHANGELOG, InternalTopicKind.PSEUDO, InternalTopicKind.REPARTITION}:
            return topic, role
    return topics[0] if topics else None


def _topics_near(text: str, anchor: Anchor) -> Iterator[tuple[Topic, Role | None]]:
    named = near(_TOPIC, text, anchor, before=True)
    if named is not None:
        yield Topic(next(name for name in named.groups() if name).rstrip(".")), None
    for pattern in _SUBJECTS:
        match = near(pattern, text, anchor, before=False)
        if match is not None:
            split = split_subject(unquote(match[1]))
            if split is not None:
                yield split


def role_near(text: str, anchor: Anchor) -> Role | None:
    """Key or value, if something other than the message itself shows it."""
    match = near(_ROLES, text, anchor, before=True)
    if match is None:
        return None
    return Role.KEY if "Key" in (match[1], match[2]) or match[2] == "key" else Role.VALUE


def connect_task(text: str, anchor: Anchor, topic: Topic | None) -> str | None:
    """What shows the failure of a Kafka Connect task; None if it is none. ksqlDB's server may run connectors in its own
    process and log, and reads with Connect's converter, too: the nearer frames decide."""
    task = _distance(_CONNECT_TASKS, text, anchor)
    streams = _distance(_STREAMS_FRAMES, text, anchor)
    if task is not None:
        return "The frames are those of a Kafka Connect task." if streams is None or task < streams else None
    if streams is None and topic is not None and recognise(topic) is None and _CONVERTER.search(text):
        return "Connect's converter got the name of an ordinary topic, and the text has no frame of Kafka Streams."
    return None


def _distance(pattern: re.Pattern[str], text: str, anchor: Anchor) -> int | None:
    return min(
        (max(match.start() - anchor.end, anchor.start - match.end(), 0) for match in pattern.finditer(text)),
        default=None,
    )


def streams_versions(text: str, anchor: Anchor) -> tuple[str, ...]:
    """The Kafka Streams versions that the frames allow: by the jar's name, else by the line of `get()`."""
    jar = near(_VERSIONS, text, anchor, before=False)
    if jar is not None:
        return (jar[1] or jar[2],)
    frame = near(_FRAMES, text, anchor, before=False)
    return () if frame is None else _FRAME_VERSIONS.get(frame[1], ())


class Symptom(Enum):
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
    "A schema is not registered under the subject that the reader asked; most likely this is the incident",
    "The record decoded, but its schema is not registered under the reader's subject. The text does not name the "
    "topic. If the subject is named after a changelog that does not exist, the finding is SRF001. If it is the "
    "source topic's own subject, the finding is SRF004 or SRF017.",
)
SOURCE_NODE: Final = (
    srf017.CODE,
    "A schema is not registered under the topic's own subject, and a source node asks that subject",
    "The record decoded, but its schema is not registered under the subject of its topic. The failure is not in a "
    "store. Either the producer uses another subject naming strategy, or the topic was mirrored under a new name "
    "(SRF017).",
)
WITHOUT_CAUSE: Final = (
    "The text does not contain the cause. The message is the same if the registry refused the request, or if "
    "nothing reached the registry. Paste the text down to the last “Caused by”."
)
WORDS: Final[dict[Symptom, tuple[str | None, str, str]]] = {
    Symptom.PHANTOM_LOOKUP: (
        srf001.CODE,
        "The incident: a restored row whose schema is not registered under the phantom subject",
        "The record decoded, but its schema is not registered under the subject of an internal topic. If no topic "
        "of that name exists, the subject is a phantom (KAFKA-10179): the store was restored from its source "
        "topic, and the phantom subject does not know the source's schema ids. Nothing is lost. To repair this, "
        "register the source's schemas under the phantom subject. If the topic does exist, its own subject has "
        "lost a schema (SRF014).",
    ),
    Symptom.SUBJECT_LOOKUP: (
        srf004.CODE,
        "A schema is not registered under the subject of an ordinary topic; most likely an older Kafka Streams wrote the "
        "row before an upgrade",
        "The record decoded, but its schema is not registered under the topic's own subject. If this is a state "
        "store on Kafka Streams 2.7.0 or later, an older version wrote the rows, with a schema under the phantom "
        "subject (SRF004). Otherwise, probably the producer uses another subject naming strategy, the topic was "
        "mirrored (SRF017), or the versions were deleted.",
    ),
    Symptom.UNKNOWN_ID: (
        srf011.CODE,
        "A schema id that this registry does not know",
        "The reader could not fetch the schema by its id. With a named context (a URL that ends in /contexts/…, or "
        "subjects such as :.ctx:…), the incident (SRF001) looks like this: there the registry returns a schema only if "
        "the request names a subject that holds its id. Without a named context this is not SRF001: the registry does "
        "not have the schema at all. Then the schema was deleted for good, this is not the "
        "producer's registry, or the record was mirrored. If the record is in a store or a changelog, the "
        "code is SRF014.",
    ),
    Symptom.ID_OR_SUBJECT: (
        None,
        "A schema was not found, either by its id or under its subject; the message does not say which",
        "Clients before 5.4 use the same message for both failures, and other clients show only the code. If the "
        "reader looks up versions under a changelog's subject, the finding is SRF001. If the registry does not "
        "know the id, the finding is SRF011. srfix diagnose tells the two apart.",
    ),
    Symptom.INCOMPATIBLE_WRITE: (
        srf012.CODE,
        "The registry refused to register a schema, because the schema is incompatible",
        "If the subject is a phantom subject: its latest version comes from a repair, or is another schema of the "
        "application, and the next internal schema is incompatible with this version (SRF012). If the subject is "
        "your own, on Kafka Streams 2.7.0 or later: a store's serde tries to register its internal schema there "
        "(SRF016).",
    ),
    Symptom.REFUSED_WRITE: (
        srf015.CODE,
        "A schema could not be registered under the subject that the serde uses",
        "There are three possible reasons: registration is turned off (auto.register.schemas=false, and the schema "
        "is not there); the credentials or the subject's mode forbid it; or the registry says that the schema is "
        "invalid. A store's first put under a phantom subject fails in this way.",
    ),
    Symptom.UNFRAMED: (
        srf013.CODE,
        "A payload that no schema registry serializer wrote",
        "The payload does not start with the magic byte, or its id is one that no registry gives (0 or negative). "
        "So the payload names no schema. If the payload is in a store, a restore brought it, because a restore "
        "checks nothing (KAFKA-8037). No registration repairs this. The message is the same if a key is read as a "
        "value, a value as a key, or JSON as Avro.",
    ),
    Symptom.UNDECODABLE: (
        srf013.CODE,
        "A payload whose body could not be decoded",
        "The reader found the schema, but the bytes do not fit this schema, or do not fit the reader's schema. "
        "Either the record is damaged, or its writer framed it wrongly, or the reader's schema cannot read data of "
        "the writer's schema.",
    ),
    Symptom.CONNECT_TASK: (
        None,
        "A Kafka Connect task failed, not a state store: this is not the incident",
        "The converter of a connector (a sink, or a source) failed. It reads or writes the topic itself: no store "
        "is restored. srfix check asks for the ids in the topic as the converter does, and names the subjects that "
        "hold the ids. If the topic's own subject lacks the ids, probably producer and connector name subjects "
        "differently (value.converter.value.subject.name.strategy), the topic was mirrored, or the versions were deleted. "
        "If no subject holds the ids, "
        "the connector and the producer use different registries. If the records are not framed, use another "
        "converter.",
    ),
    Symptom.UNAUTHORIZED: (
        None,
        "The registry did not accept the credentials",
        "The registry answered 401 or 403. This says nothing about schemas. Give srfix credentials that may read "
        "all subjects. For a repair the credentials must also be allowed to register schemas.",
    ),
    Symptom.REGISTRY_FAILED: (
        None,
        "The registry could not do its work",
        "The registry answered with an error of its own (5xx), had too many requests (429, 408), or does not "
        "accept such requests (405, 422). This says nothing about schemas. The error may be temporary, or it may "
        "come from a proxy in front of the registry.",
    ),
    Symptom.UNREACHABLE: (
        None,
        "Something could not be reached on the network",
        "A connection was refused, or timed out, or its TLS handshake failed, or its host name is unknown. This "
        "says nothing about schemas. Check the addresses from the machine that runs the application.",
    ),
    Symptom.NOT_A_REGISTRY: (
        None,
        "The answer did not come from a schema registry",
        "The answer was not the JSON that a registry sends, or it said that there is no such path. Possible "
        "reasons: a proxy, a login page, the port of another service, or an extra path in the URL. Check the "
        "registry's URL.",
    ),
    Symptom.STATE_ON_DISK: (
        None,
        "A store's files are damaged, or no longer fit what was committed",
        "With TaskCorruptedException, Kafka Streams deletes the task's state and restores it. With RocksDB's "
        "Corruption, Kafka Streams dies again and again until somebody moves the task's folder away. This has nothing to "
        "do with schemas by itself. But the restored rows may be unreadable (SRF001). So run srfix diagnose before you "
        "wipe anything, and run srfix state size DIR on a copy.",
    ),
    Symptom.NOT_RECOGNISED: (
        None,
        "Not recognised",
        "srfix does not recognise any message of the incident or of a related failure in this text. Paste the whole "
        "trace, down to the last “Caused by”. If you do not have it, run srfix diagnose: it looks at the cluster "
        "and the registry instead.",
    ),
}
