"""The servers and data that this machine and this user can reach and read, question by question. It writes and creates
nothing.

Kafka's rights are its ACLs. A registry's rights are the operations of Confluent's security plugin (with the same names
in ACLs and RBAC), https://docs.confluent.io/platform/current/confluent-security-plugins/schema-registry/authorization/.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.documents import Count, DatedDocument, Part
from srfix.recovery.facts.refusals import WRITABLE_MODES
from srfix.recovery.facts.subject_state import look_up
from srfix.recovery.internal_topics import is_internal
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.printable import counted
from srfix.serde.registry.probe import RegistryProbe
from srfix.serde.schemas.errors import EndpointNotSupportedError, ForbiddenError, UnauthorizedError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Subject

_Answer = TypeVar("_Answer")
_DENIED: Final = re.compile(r"(?i)authorization failed|not authorized")
_UNSUPPORTED: Final = re.compile(r"(?i)not supported")
_AT_ONCE: Final = 8
_SKEW_WORTH_A_WORD_S: Final = 5.0


class Outcome(Enum):
    OK = "ok"
    DENIED = "denied"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionCheck:
    part: str
    """`kafka` or `registry`."""
    what: str
    outcome: Outcome
    detail: str
    advice: str | None = None
    """The right to ask for, or another thing to do; None if there is nothing to do."""
    needed: bool = False
    """True if a diagnosis needs it."""
    elapsed_s: float | None = None
    """Seconds until the answer; None if no question was sent."""

    @property
    def is_missing(self) -> bool:
        return self.needed and self.outcome is not Outcome.OK

    @property
    def elapsed_ms(self) -> int | None:
        return None if self.elapsed_s is None else round(1000 * self.elapsed_s)


class AnsweredCheck(Part):
    """One question and its answer."""

    part: Literal["kafka", "registry"]
    what: str
    outcome: Outcome
    detail: str
    advice: str | None
    needed: bool
    elapsed_ms: Count | None


class Doctor(DatedDocument, tag="srfix.doctor/1"):
    """What srfix can reach, and what this user may do: `srfix doctor`."""

    versions: dict[str, str]
    checks: list[AnsweredCheck]
    healthy: bool


def not_asked(part: str, what: str, detail: str, advice: str | None = None) -> ConnectionCheck:
    return ConnectionCheck(part=part, what=what, outcome=Outcome.NOT_ASKED, detail=detail, advice=advice, needed=True)


def check_servers(config: Mapping[str, str], *, timeout_s: float = 5.0) -> Iterator[ConnectionCheck]:
    """Each bootstrap server by itself, asked for the topics, several at once. A client needs only one that answers."""
    servers = [server.strip() for server in config["bootstrap.servers"].split(",") if server.strip()]

    def ask(server: str) -> ConnectionCheck:
        began = time.monotonic()
        try:
            with Cluster({**config, "bootstrap.servers": server}, timeout_s=timeout_s) as cluster:
                cluster.topics()
        except ClusterError as error:
            outcome, detail = Outcome.FAILED, error.message
        else:
            outcome, detail = Outcome.OK, "answers"
        return ConnectionCheck(
            part="kafka",
            what=f"bootstrap server {server}",
            outcome=outcome,
            detail=detail,
            elapsed_s=time.monotonic() - began,
        )

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        yield from pool.map(ask, servers)


def check_cluster(cluster: Cluster, *, application: str | None = None) -> Iterator[ConnectionCheck]:
    listing = _asked(
        "kafka",
        "list the topics",
        cluster.topics,
        lambda topics: counted(len(topics), "topic"),
        right="the ACL Describe on the topics",
        needed=True,
    )
    if listing.check.outcome is Outcome.OK and not listing.answer:
        yield replace(
            listing.check,
            outcome=Outcome.DENIED,
            detail="the cluster shows no topics: it has none, or this user is not allowed to describe any",
            advice="Ask for the ACL Describe on the topics.",
        )
    else:
        yield listing.check
    if listing.answer is None:
        return
    yield _groups(cluster)
    if application is None:
        yield ConnectionCheck(
            part="kafka",
            what="read committed offsets",
            outcome=Outcome.NOT_ASKED,
            detail="no application was named",
            advice="Give --application to see whether its committed offsets may be read.",
        )
        return
    partitions = [
        (topic, partition)
        for topic, count in listing.answer.items()
        if not is_internal(topic)
        for partition in range(count)
    ]
    yield _asked(
        "kafka",
        f"read the committed offsets of {application}",
        lambda: cluster.committed(application, partitions),
        lambda offsets: (
            f"found for {sum(offset is not None for offset in offsets.values())} of {counted(len(offsets), 'partition')}"
        ),
        right=f"the ACL Describe on the group {application!r}, and Describe on its topics",
        needed=True,
    ).check


def _groups(cluster: Cluster) -> ConnectionCheck:
    answer = _asked(
        "kafka",
        "list the consumer groups",
        cluster.groups,
        lambda listing: counted(len(listing.groups), "group"),
        right="the ACL Describe on the cluster, or on the groups",
    )
    if answer.answer is None or answer.answer.problem is None:
        return answer.check
    outcome = _outcome_of(answer.answer.problem)
    ask_for = " Or ask for the ACL Describe on the cluster." if outcome is Outcome.DENIED else ""
    advice = (
        f"srfix works without this list, but then guesses applications from names; --application avoids that.{ask_for}"
    )
    return replace(answer.check, outcome=outcome, detail=answer.answer.problem, advice=advice)


def check_registry_urls(probes: Iterable[RegistryProbe]) -> Iterator[ConnectionCheck]:
    """Each URL of the registry, asked for its version. A client needs only one that answers."""
    for probe in probes:
        yield ConnectionCheck(
            part="registry",
            what=f"registry {probe.url}",
            outcome=_outcome_of_error(probe.error),
            detail=_answer_of(probe) if probe.error is None else probe.error.message,
            advice=_advice_for_clock(probe),
            elapsed_s=probe.elapsed_s,
        )


def _answer_of(probe: RegistryProbe) -> str:
    version = "answers, but does not show its version" if probe.version is None else f"answers as {probe.version}"
    if probe.clock_skew_s is None:
        return version
    ahead = "ahead of" if probe.clock_skew_s >= 0 else "behind"
    skewed = abs(probe.clock_skew_s) > 1
    return f"{version}; its clock is {abs(probe.clock_skew_s):.0f} s {ahead} this one" if skewed else version


def _advice_for_clock(probe: RegistryProbe) -> str | None:
    if probe.clock_skew_s is None or abs(probe.clock_skew_s) < _SKEW_WORTH_A_WORD_S:
        return None
    return (
        "Set this machine's clock or the registry's: the validity of tokens and certificates depends on it, and "
        "people compare logs."
    )


def check_registry(registry: ReadableRegistry) -> Iterator[ConnectionCheck]:
    """A diagnosis's questions to a registry, each kind once."""
    listing = _asked(
        "registry",
        "list the subjects",
        lambda: registry.subjects(deleted=True),
        lambda subjects: f"{counted(len(subjects), 'subject')}, soft-deleted ones included",
        right="the right GLOBAL_READ (GLOBAL_SUBJECTS_READ before 6.1)",
        needed=True,
    )
    yield listing.check
    if listing.answer:
        subject = listing.answer[0]
        version = _asked(
            "registry",
            "read a subject's versions",
            lambda: registry.version(subject, max(registry.versions(subject, deleted=True)), deleted=True),
            lambda found_version: f"version {found_version.version} of {subject}",
            right=f"the right SUBJECT_READ on the subjects, such as {subject}",
            needed=True,
        )
        yield version.check
        if version.answer is not None:
            schema = version.answer.schema
            yield _asked(
                "registry",
                "look a schema up by content",
                lambda: registry.lookup(subject, schema, deleted=True),
                lambda found_version: f"found as version {found_version.version} of {subject}",
                right=f"the right SUBJECT_READ (SUBJECT_WRITE before 6.1) on the subjects, such as {subject}",
                needed=True,
            ).check
            kind = _asked(
                "registry",
                "find a schema by the text that Java's readers send",
                lambda: _finds_readers_text(registry, subject, schema),
                lambda finds: _KIND[finds].format(
                    subject=subject, whose="Redpanda's, " if registry.is_redpanda() else ""
                ),
                right=f"the right SUBJECT_READ on the subjects, such as {subject}",
            )
            misses = replace(kind.check, outcome=Outcome.UNSUPPORTED, advice=_READERS_MISS)
            yield misses if kind.answer is False else kind.check
    yield _asked(
        "registry",
        "read the global compatibility",
        lambda: _global_level(registry),
        lambda level: level,
        right="the right GLOBAL_COMPATIBILITY_READ",
    ).check
    mode = _asked(
        "registry",
        "read the global mode",
        lambda: registry.mode() or "",
        lambda mode: mode or "the registry has no modes",
        right="the right GLOBAL_COMPATIBILITY_READ",
    )
    closed = bool(mode.answer) and mode.answer not in WRITABLE_MODES
    yield (
        replace(mode.check, advice="In this mode a repair cannot register anything (42205).") if closed else mode.check
    )


_KIND: Final = {
    True: "{whose}yes: the registry finds the schema by the text of Java's readers, although another text was registered",
    False: "{whose}no: the registry keeps each text as it was sent, so Java's readers, which send their own text, do not find "
    "the schema of {subject}",
    None: "{whose}yes: for {subject}, the registry has the same text as Java's readers",
}
_READERS_MISS: Final = (
    "Java's readers look a schema up by the text that Avro writes for it. In this registry they fail on every "
    "schema that was registered with another text. A repair registers the readers' text, under another id."
)


def _finds_readers_text(registry: ReadableRegistry, subject: Subject, schema: Schema) -> bool | None:
    """Whether the registry finds a schema by the text of Java's readers; None if the registry has the same text."""
    text = as_readers_ask(schema)
    return None if text.text == schema.text else look_up(registry, subject, text) is not None


def _global_level(registry: ReadableRegistry) -> str:
    config = registry.config()
    return (None if config is None else config.compatibility) or "not shown by the registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked(Generic[_Answer]):
    check: ConnectionCheck
    answer: _Answer | None


def _asked(
    part: str,
    what: str,
    question: Callable[[], _Answer],
    describe: Callable[[_Answer], str],
    *,
    right: str,
    needed: bool = False,
) -> _Asked[_Answer]:
    began = time.monotonic()
    answer, outcome, advice = None, Outcome.OK, None
    try:
        answer = question()
        detail = describe(answer)
    except SrfixError as error:
        outcome, detail = _outcome_of_error(error), error.message
        advice = _advice_for(error, outcome, right)
    check = ConnectionCheck(
        part=part,
        what=what,
        outcome=outcome,
        detail=detail,
        advice=advice,
        needed=needed,
        elapsed_s=time.monotonic() - began,
    )
    return _Asked(check=check, answer=answer)


def _outcome_of_error(error: SrfixError | None) -> Outcome:
    match error:
        case None:
            return Outcome.OK
        case UnauthorizedError() | ForbiddenError():
            return Outcome.DENIED
        case EndpointNotSupportedError():
            return Outcome.UNSUPPORTED
        case ClusterError():
            return _outcome_of(error.message)
        case _:
            return Outcome.FAILED


def _outcome_of(words: str) -> Outcome:
    # librdkafka's error strings: the error code is lost before the text arrives.
    if _DENIED.search(words):
        return Outcome.DENIED
    return Outcome.UNSUPPORTED if _UNSUPPORTED.search(words) else Outcome.FAILED


def _advice_for(error: SrfixError, outcome: Outcome, right: str) -> str | None:
    if outcome is not Outcome.DENIED:
        return None
    if isinstance(error, UnauthorizedError):
        return "Check the credentials: the registry does not know this user."
    return f"Ask for {right}."
