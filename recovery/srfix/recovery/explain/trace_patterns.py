"""How clients of all generations word a failed look-up, and where in the text the particulars stand.

| clients | words |
|---|---|
| Confluent Java 5.0 to 5.3 | `Error retrieving Avro schema for id N`, for the id and for the version alike |
| Confluent Java 5.4 | `Error retrieving Avro schema version for id N` |
| Confluent Java 5.5 and later | `Error retrieving Avro value schema version for id N` |
| Confluent Java 8.x | `… for id SchemaId{schemaType='AVRO', id=N, guid='null', messageIndexes=null}` |

The text with `version` comes only from `AbstractKafkaAvroDeserializer.schemaVersion()`: a look-up by content
under the subject, which is what the incident fails at. Protobuf and JSON Schema word it alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import unquote

from srfix.recovery.internal_topics import InternalTopicKind, recognise
from srfix.serde.subjects.names import Role, Topic, split_subject
from srfix.serde.wire import is_schema_id


class AnchorKind(Enum):
    """What the wording of the message itself says."""

    VERSION_LOOKUP = "the version was looked up under a subject"
    ID_LOOKUP = "the id was looked up"
    ID_OR_VERSION_LOOKUP = "the id or the version was looked up"
    REGISTERING = "a schema was being registered"
    WRITER_LOOKUP = "a writer looked its schema up, without registering it"
    UNFRAMED = "a payload was not framed"
    DECODING = "a body was being decoded"
    REGISTRY_ANSWER = "a registry answered with an error"
    NO_CONNECTION = "a connection failed"
    NOT_A_REGISTRY = "something else than a registry answered"
    STATE = "the state on disk is damaged, or is to be made anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The message that decides what a text is about."""

    kind: AnchorKind
    start: int
    end: int
    """Where it ends, exclusive."""
    schema_id: int | None
    role: Role | None
    """Key or value, where it says so."""
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
"""What Confluent's deserializer says where it had not got as far as the id."""

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
    """The last message of the most telling wording; None if there is none."""
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
            kind = AnchorKind.UNFRAMED  # four bytes of something else: no registry gives such an id
        role = last["role"] if "role" in pattern.groupindex else None
        return Anchor(
            kind=kind,
            start=last.start(),
            end=last.end(),
            schema_id=schema_id if schema_id is not None and is_schema_id(schema_id) else None,
            role=Role(role) if role in {"key", "value"} else None,
            other_ids=tuple(sorted(found for found in ids - {schema_id} if is_schema_id(found))),
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
    """The topic that the failing serde was handed, and the role where a subject names it; None if not there.

    A wrapper's message stands before its cause's; an internal-looking name wins over another one.
    """
    found = list(_topics_near(text, anchor))
    for topic, role in found:
        if recognise(topic) in {InternalTopicKind.CHANGELOG, InternalTopicKind.PSEUDO, InternalTopicKind.REPARTITION}:
            return topic, role
    return found[0] if found else None


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
    """Key or value, where something other than the message itself says so."""
    match = near(_ROLES, text, anchor, before=True)
    if match is None:
        return None
    return Role.KEY if "Key" in (match[1], match[2]) or match[2] == "key" else Role.VALUE


def connect_task(text: str, anchor: Anchor, topic: Topic | None) -> str | None:
    """What tells that a Kafka Connect task failed, in words; None if it is no such task's trace.

    ksqlDB's server may run connectors in its own process and log: of Connect's frames and those of Kafka Streams the
    nearer ones decide. Connect's converter alone proves nothing, for ksqlDB reads with it too: but then the topic is an
    internal one, or frames of Kafka Streams stand there.
    """
    task = _distance(_CONNECT_TASKS, text, anchor)
    streams = _distance(_STREAMS_FRAMES, text, anchor)
    if task is not None:
        return "The frames are those of a Kafka Connect task." if streams is None or task < streams else None
    if streams is None and topic is not None and recognise(topic) is None and _CONVERTER.search(text):
        return "Connect's converter was handed an ordinary topic, and no frame of Kafka Streams stands there."
    return None


def _distance(pattern: re.Pattern[str], text: str, anchor: Anchor) -> int | None:
    """Characters between the message and the nearest match."""
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
