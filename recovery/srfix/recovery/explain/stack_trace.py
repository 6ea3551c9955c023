"""Reads a pasted stack trace or log, and says what it is, by the message, the registry's error code and the name of the
topic. It never quotes the text, because a pasted text may hold credentials.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from msgspec import UNSET, UnsetType, field

from srfix.recovery.commands import positional, srfix_command
from srfix.recovery.documents import VersionedDocument
from srfix.recovery.explain.log_text import clean, entries, unwrap
from srfix.recovery.explain.trace_patterns import (
    SOURCE_NODE,
    UNNAMED_SUBJECT,
    WITHOUT_CAUSE,
    WORDS,
    Anchor,
    AnchorKind,
    Symptom,
    connect_task,
    find_anchor,
    near,
    role_near,
    streams_versions,
    topic_near,
)
from srfix.recovery.internal_topics import InternalTopicKind, application_prefixes, ksqldb_query, parse, recognise
from srfix.serde.subjects.names import Role, Subject, Topic, subject_for

_WINDOW = 24 * 1024
"""How many characters on each side of the message are read for its details: a chain of causes fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackTraceReading:
    """The facts that a pasted text shows. A fact that the text does not show is None."""

    symptom: Symptom
    finding: str | None
    """The finding code that explains it; None if the failure is no finding (credentials, network)."""
    title: str
    explanation: str
    schema_id: int | None = None
    """The schema id in the last such message."""
    other_schema_ids: tuple[int, ...] = ()
    """Ids in other messages of the same wording, ascending, at most 100."""
    role: Role | None = None
    topic: Topic | None = None
    """The topic name that the failing serde got."""
    topic_kind: InternalTopicKind | None = None
    subject: Subject | None = None
    """The subject of that topic; for values if the text does not show the role."""
    error_code: int | None = None
    application: str | None = None
    """The application.id, if the thread's name, a ksqlDB name or the topic's name decides it."""
    store: str | None = None
    possible_applications: tuple[str, ...] = ()
    """All application ids that the topic's name allows, longest first, if nothing decides."""
    streams_versions: tuple[str, ...] = ()
    """The Kafka Streams versions that the frames allow, ascending."""
    clues: tuple[str, ...] = ()
    next_command: str
    """The command to run next; TOPIC and USER in it stand for names that the text does not show."""
    is_cut: bool = False

    @property
    def is_recognised(self) -> bool:
        return self.symptom is not Symptom.NOT_RECOGNISED


class Explanation(VersionedDocument, tag="srfix.explanation/1", kw_only=True):
    """The facts that a pasted text shows: `srfix explain -`."""

    is_recognised: bool = field(name="recognised")
    symptom: Symptom
    finding: str | None = field(name="code")
    """The finding code that explains it."""
    title: str
    explanation: str
    schema_id: int | None
    other_schema_ids: list[int]
    role: Role | None
    topic: str | None
    topic_kind: InternalTopicKind | None
    subject: str | None
    error_code: int | None
    application: str | None
    store: str | None
    possible_applications: list[str]
    streams_versions: list[str]
    clues: list[str]
    next_command: str = field(name="next")
    """The command to run next."""
    set_first: list[str] | UnsetType = UNSET
    """Commands that set variables before that command runs; empty if it runs as it is."""
    is_cut: bool = field(name="only_the_end_was_read")


_CODE: Final = re.compile(
    r"error\s+code:\s+(\d{3,5})|HTTP\s+status\s+code\s+\d{3},\s+SR\s+code\s+(\d{3,5})|HTTP\s+status\s+code\s+(\d{3})"
    r"|HTTP\s+\d{3},\s+error\s+(\d{3,5})|HTTP\s+(\d{3})\b|[\"']error_code[\"']\s*:\s*(\d{3,5})|\(code\s+(\d{3,5})\)"
    r"|\((4\d{4}|50\d{3})\)|HTTP\s+response\s+code:\s+(\d{3})\b"
)
_NO_CONNECTION: Final = re.compile(
    r"(?:Connect|UnknownHost|NoRouteToHost|SocketTimeout|SSLHandshake|ConnectTimeout|HttpTimeout|java\.net\.Socket)Exception"
    r"|Connection\s+refused|Unexpected\s+end\s+of\s+file\s+from\s+server"
)
_NO_SUCH_PATH: Final = re.compile(r"HTTP\s+404\s+Not\s+Found")
"""The answer of a registry to an unknown path; for an unknown subject, version or id it has codes of its own."""
_NOT_FOUND: Final = re.compile(r"(?i)(?:subject|schema|version)[^\n]{0,500}?not[\s_]+found")
_SOURCE_NODE: Final = re.compile(r"\b(?:SourceNode|RecordDeserializer|RecordQueue)\b")
_VERSION_FRAME: Final = re.compile(
    r"lookUpSubjectVersion|\.getVersion\(|getVersionFromRegistry|\.schemaVersion\(|POST\s+/subjects/"
)
_ID_FRAME: Final = re.compile(
    r"RestService\.getId\(|getSchemaById\(|getSchemaBySubjectAndId\(|getByI[Dd]\(|getSchemaByIdFromRegistry\("
)
_NAMED_CONTEXT: Final = re.compile(r"/contexts/[^/\s]|%3A\.[^%\s]+%3A|:\.[^:\s.]+:")
"""A URL that leads into a context, or a subject that names one."""
_THREAD: Final = re.compile(r"([A-Za-z0-9._-]{1,200}?)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-StreamThread-\d+")
_VERSION_READER: Final = re.compile(r"AvroConverter|deserializeWithSchemaAndVersion|KsqlConnectDeserializer")
_KAFKA_NEARBY: Final = re.compile(r"(?i)schema.?registry|RestService|kafka|bootstrap|broker")

_GENERATED_STORE: Final = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-")
_NOT_OF_A_TASK = frozenset(
    {Symptom.UNAUTHORIZED, Symptom.REGISTRY_FAILED, Symptom.UNREACHABLE, Symptom.NOT_A_REGISTRY, Symptom.NOT_RECOGNISED}
)
"""Symptoms that mean the same for every client."""
_OF_AN_ANSWER = frozenset({Symptom.PHANTOM_LOOKUP, Symptom.SUBJECT_LOOKUP, Symptom.UNKNOWN_ID})
"""Symptoms that need an answer of a registry."""
_MOST_ENTRIES = 1_000
"""How many entries of a log are read in addition to the one that decides."""
_ABSENT = frozenset({404, 40401, 40403})
_INCOMPATIBLE = frozenset({409, 40901})
_NOT_OF_SCHEMAS = frozenset({405, 408, 422, 429})
"""HTTP statuses about the request itself, not about a schema."""
_OF_STATUS_ALONE = frozenset({401, 403, 405, 408, 429})
"""Statuses whose error codes (40301, 42901) say no more than the status; the codes of 404, 409 and 422 say more."""


def read(text: str) -> StackTraceReading:
    """Reads a text of any length and says what it shows. It never fails: if it does not know the text, it says so."""
    cleaned = clean(text)
    window, anchor = _locate(cleaned.text)
    if anchor is None:
        return _not_recognised(is_cut=cleaned.is_cut)
    code = _error_code(window, anchor)
    named = topic_near(window, anchor)
    topic, role = named if named is not None else (None, None)
    role = anchor.role or role or role_near(window, anchor)
    symptom = _symptom(window, anchor, code=code, topic=topic)
    if symptom is Symptom.NOT_RECOGNISED:
        return _not_recognised(is_cut=cleaned.is_cut)
    kind = recognise(topic) if topic is not None else None
    task = None if symptom in _NOT_OF_A_TASK else connect_task(window, anchor, topic)
    if task is not None:
        symptom = Symptom.CONNECT_TASK
    application, store = (None, None) if task is not None else _owner(window, anchor, topic)
    versions = streams_versions(window, anchor)
    reads_versions = anchor.kind is AnchorKind.VERSION_LOOKUP or _VERSION_READER.search(window) is not None
    finding, title, explanation = WORDS[symptom]
    if symptom is Symptom.SUBJECT_LOOKUP and topic is None:
        finding, title, explanation = UNNAMED_SUBJECT
    elif symptom is Symptom.SUBJECT_LOOKUP and _SOURCE_NODE.search(window) and "Metered" not in window:
        finding, title, explanation = SOURCE_NODE
    if symptom in _OF_AN_ANSWER and code is None and not _NOT_FOUND.search(window):
        title, explanation = f"Most likely: {title}", f"{explanation} {WITHOUT_CAUSE}"
    reading = StackTraceReading(
        symptom=symptom,
        finding=finding,
        title=title,
        explanation=explanation,
        schema_id=anchor.schema_id,
        other_schema_ids=anchor.other_ids,
        role=role,
        topic=topic,
        topic_kind=kind,
        subject=None if topic is None else subject_for(topic, role or Role.VALUE),
        error_code=code,
        application=application,
        store=store,
        possible_applications=() if application or topic is None or task is not None else application_prefixes(topic),
        streams_versions=versions,
        next_command=_next_command(
            symptom, topic=topic, application=application, store=store, versions=versions, reads_versions=reads_versions
        ),
        is_cut=cleaned.is_cut,
    )
    return replace(reading, clues=(*_clues(reading, anchor, window, task), *_beside(cleaned.text, symptom)))


def _locate(text: str) -> tuple[str, Anchor | None]:
    anchor = find_anchor(text)
    if anchor is not None:
        text = text[max(0, anchor.start - _WINDOW) : anchor.end + _WINDOW]
    else:
        # If a terminal broke a line within a word, even the message cannot be found.
        text = text[-2 * _WINDOW :]
    text = unwrap(text)
    nearest_anchor = find_anchor(text)
    if nearest_anchor is not None:
        # Keeps only the entry with the anchor: another entry is about another error.
        pieces = entries(text)
        ends = accumulate(map(len, pieces))
        text = next(piece for piece, end in zip(pieces, ends, strict=True) if nearest_anchor.start < end)
        nearest_anchor = find_anchor(text)
    if anchor is not None and nearest_anchor is not None and nearest_anchor.kind is anchor.kind:
        # The window may hold fewer of the ids than the whole text.
        nearest_anchor = replace(nearest_anchor, other_ids=anchor.other_ids)
    return text, nearest_anchor


def _beside(text: str, read: Symptom) -> Iterator[str]:
    """Says which other failures the last entries of a log show."""
    names: dict[str, None] = {}
    for entry in entries(text)[-_MOST_ENTRIES:]:
        anchor = find_anchor(entry)
        if anchor is not None:
            named = topic_near(entry, anchor)
            topic = None if named is None else named[0]
            symptom = _symptom(entry, anchor, code=_error_code(entry, anchor), topic=topic)
            if symptom not in (read, Symptom.NOT_RECOGNISED) and connect_task(entry, anchor, topic) is None:
                names[WORDS[symptom][1]] = None
    if names:
        yield f"The text contains other errors, too. srfix explain can explain each of them alone. {'. '.join(names)}."


def _error_code(text: str, anchor: Anchor) -> int | None:
    """The registry's code for this message: a cause follows its wrapper in Java, but not in Python."""
    match = near(_CODE, text, anchor, before=False)
    if match is None:
        return None
    failure = near(_NO_CONNECTION, text, anchor, before=False)
    if failure is not None and anchor.start < failure.start() < match.start():
        return None
    return int(next(group for group in match.groups() if group))


def _symptom(text: str, anchor: Anchor, *, code: int | None, topic: Topic | None) -> Symptom:
    lookup = Symptom.PHANTOM_LOOKUP if topic is not None and recognise(topic) else Symptom.SUBJECT_LOOKUP
    by_kind = {
        AnchorKind.UNFRAMED: Symptom.UNFRAMED,
        AnchorKind.NOT_A_REGISTRY: Symptom.NOT_A_REGISTRY,
        AnchorKind.STATE: Symptom.STATE_ON_DISK,
        AnchorKind.NO_CONNECTION: Symptom.UNREACHABLE if _KAFKA_NEARBY.search(text) else Symptom.NOT_RECOGNISED,
    }
    if anchor.kind in by_kind:
        return by_kind[anchor.kind]
    if code == 404 and near(_NO_SUCH_PATH, text, anchor, before=False) is not None:
        return Symptom.NOT_A_REGISTRY
    if code is not None and code // 100 in _OF_STATUS_ALONE:
        code //= 100
    is_write = anchor.kind in {AnchorKind.REGISTERING, AnchorKind.WRITER_LOOKUP}
    if code in _INCOMPATIBLE or (code is None and text.startswith("Schema being registered", anchor.start)):
        return Symptom.INCOMPATIBLE_WRITE
    if code == 401 or (code == 403 and not is_write):
        return Symptom.UNAUTHORIZED
    failure = near(_NO_CONNECTION, text, anchor, before=False)
    if code is None and failure is not None and anchor.kind is not AnchorKind.DECODING:
        return Symptom.UNREACHABLE
    if code in _NOT_OF_SCHEMAS:
        return Symptom.REGISTRY_FAILED
    if code is not None and code >= 500 and not 40000 <= code < 43000:
        return Symptom.REGISTRY_FAILED
    if is_write or (code is not None and 42200 < code < 42300):
        return Symptom.REFUSED_WRITE
    if anchor.kind is AnchorKind.VERSION_LOOKUP:
        return lookup
    if anchor.kind is AnchorKind.ID_LOOKUP:
        return _of_id(text, topic)
    if anchor.kind is AnchorKind.DECODING and code not in _ABSENT:
        return Symptom.UNDECODABLE
    if code == 40401 or _VERSION_FRAME.search(text):
        return lookup
    if _ID_FRAME.search(text):
        return _of_id(text, topic)
    if anchor.kind is AnchorKind.ID_OR_VERSION_LOOKUP or code in _ABSENT:
        return Symptom.ID_OR_SUBJECT
    return Symptom.NOT_RECOGNISED


def _of_id(text: str, topic: Topic | None) -> Symptom:
    """An id without an answer; in a named context, which answers a holder only, this may be the incident."""
    in_context = _NAMED_CONTEXT.search(text) is not None
    return Symptom.PHANTOM_LOOKUP if in_context and topic is not None and recognise(topic) else Symptom.UNKNOWN_ID


def _owner(text: str, anchor: Anchor, topic: Topic | None) -> tuple[str | None, str | None]:
    thread = near(_THREAD, text, anchor, before=True)
    from_thread = None if thread is None else thread[1]
    if topic is None or recognise(topic) is None:
        return from_thread, None
    query = ksqldb_query(topic)
    prefixes = application_prefixes(topic)
    guesses = [from_thread, query.application if query else None, prefixes[0] if len(prefixes) == 1 else None]
    # A generated store name starts with its operator: the application ends just before it.
    guesses += [prefix for prefix in prefixes if _GENERATED_STORE.match(topic, len(prefix) + 1)]
    for application in guesses:
        parsed = None if application is None else parse(topic, application=application)
        if parsed is not None:
            return parsed.application, parsed.store
    return None, None


def _clues(reading: StackTraceReading, anchor: Anchor, window: str, task: str | None) -> Iterator[str]:
    code, topic, kind = reading.error_code, reading.topic, reading.topic_kind
    yield f"The message says that {anchor.kind.value}."
    if task is not None:
        yield task
    if code is not None:
        yield f"The registry answered with {code}{_CODE_MEANINGS.get(code, '')}."
    if topic is not None and kind is not None:
        yield f"The serde got the topic name {topic}, which has the form of a {kind.value}'s name."
    elif topic is not None:
        yield f"The serde got the topic name {topic}, which is not the name of an internal topic."
    if topic is not None and reading.role is None:
        yield "The text does not say whether this is a key or a value. srfix assumes a value."
    if reading.streams_versions:
        yield f"The frames are from Kafka Streams {' or '.join(reading.streams_versions)}."
    query = ksqldb_query(topic) if topic is not None else None
    if query is not None:
        yield f"The application is the ksqlDB query {query.query_id}."
    if "Metered" in window:
        yield "The failing serde is a state store's, not a source node's."


_CODE_MEANINGS: Final = {
    401: " (no or wrong credentials)",
    403: " (these credentials may not do this)",
    409: " (incompatible schema)",
    40401: " (it has no such subject)",
    40403: " (it has no such schema there)",
    40901: " (incompatible schema)",
    42201: " (it says that the schema is invalid)",
    42205: " (operation not permitted, for example because the subject is read-only)",
}


def _next_command(
    symptom: Symptom,
    *,
    topic: Topic | None = None,
    application: str | None = None,
    store: str | None = None,
    versions: tuple[str, ...] = (),
    reads_versions: bool = False,
) -> str:
    if symptom is Symptom.CONNECT_TASK:
        return srfix_command("check", "--reader", "connect", *positional(topic or "TOPIC"))
    words = ["diagnose"]
    if symptom is Symptom.UNAUTHORIZED:
        words += ["-R", "basic.auth.user.info=USER:env:REGISTRY_PASSWORD"]
    if application is not None:
        words += ["--application", application]
        words += [] if store is None else ["--store", store]
    if len(versions) == 1:
        words += ["--streams-version", versions[0]]
    if reads_versions and symptom in {Symptom.PHANTOM_LOOKUP, Symptom.SUBJECT_LOOKUP}:
        words += ["--reader", "connect"]
    return srfix_command(*words)


def _not_recognised(*, is_cut: bool) -> StackTraceReading:
    finding, title, explanation = WORDS[Symptom.NOT_RECOGNISED]
    return StackTraceReading(
        symptom=Symptom.NOT_RECOGNISED,
        finding=finding,
        title=title,
        explanation=explanation,
        next_command=_next_command(Symptom.NOT_RECOGNISED),
        is_cut=is_cut,
    )
