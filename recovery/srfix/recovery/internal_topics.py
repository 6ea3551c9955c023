"""Internal topic names of Kafka Streams and ksqlDB: only this module splits them.

| kind | form |
|---|---|
| `CHANGELOG` | `<application>-<store>-changelog` |
| `REPARTITION` | `<application>-<name>-repartition` |
| `SUBSCRIPTION_REGISTRATION` | `<application>-<name>-subscription-registration-topic`; unnamed, |
| | `<application>-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-<digits>-topic` |
| `SUBSCRIPTION_RESPONSE` | the same with `response` |
| `PSEUDO` | a registration topic and `-pk`, `-fk` or `-vh`: a name that only serdes see, never a topic |

The recogniser is that of `StreamsResetter.matchesInternalTopicFormat`; the pseudo-topics are those of
`KTableImpl` (`decoratePseudoTopic`, KAFKA-9390). An `application.id` may contain `-` and be the prefix of
another one, so a name cannot be split without the application: `parse` takes it as an argument, `application_prefixes`
lists the possible ones.

With a named topology (ksqlDB's shared runtimes) the prefix is `<application>-<topology>`: pass that as the
application.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.serde.subjects.names import CHANGELOG_SUFFIX, Topic, split_subject


class InternalTopicKind(Enum):
    CHANGELOG = "changelog"
    REPARTITION = "repartition"
    SUBSCRIPTION_REGISTRATION = "subscription registration"
    SUBSCRIPTION_RESPONSE = "subscription response"
    PSEUDO = "pseudo-topic"


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalTopic:
    topic: Topic
    kind: InternalTopicKind
    application: str
    name: str
    """The part between application and suffix; for an unnamed join and a pseudo-topic, all after the application."""
    store: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KsqldbQuery:
    application: str
    query_id: str
    """The query's id, such as `CSAS_J_0`; for a transient query with its time stamp."""
    is_transient: bool
    """True for a push query or another one that leaves no state to restore."""


_SUFFIXES: Final = {
    CHANGELOG_SUFFIX: InternalTopicKind.CHANGELOG,
    "-repartition": InternalTopicKind.REPARTITION,
    "-subscription-registration-topic": InternalTopicKind.SUBSCRIPTION_REGISTRATION,
    "-subscription-response-topic": InternalTopicKind.SUBSCRIPTION_RESPONSE,
}
_UNNAMED_JOIN: Final = re.compile(r"(?:.+-)?KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic", re.DOTALL)
_PSEUDO_SUFFIXES: Final = ("-pk", "-fk", "-vh")

_AUTOMATIC_STORE: Final = re.compile(r"(?P<owner>.+)-STATE-STORE-\d{10}", re.DOTALL)
_OPERATORS: Final = frozenset(
    {
        "COGROUPKSTREAM-AGGREGATE",
        "KSTREAM-AGGREGATE",
        "KSTREAM-REDUCE",
        "KSTREAM-TOTABLE",
        "KTABLE-AGGREGATE",
        "KTABLE-FK-JOIN-SUBSCRIPTION",
        "KTABLE-MERGE",
        "KTABLE-REDUCE",
        "KTABLE-SUPPRESS",
    }
)

_OPERATORS_ENDS: Final = tuple(f"-{operator}" for operator in _OPERATORS)

_GENERATED_NAME: Final = re.compile(
    r"(?P<application>.+?)-(?:KSTREAM|KTABLE|COGROUPKSTREAM)-[A-Z-]+-\d{10}(?:-store)?"
    r"-(?:changelog|repartition|topic(?:-pk|-fk|-vh)?)",
    re.DOTALL,
)
_OPERATORS_STORES: Final = tuple(
    (re.compile(rf"(?:.+-)?{pattern}", re.DOTALL), what)
    for pattern, what in (
        (rf"(?:{'|'.join(sorted(_OPERATORS))})-STATE-STORE-\d{{10}}", "an operator's (aggregation, join, suppression)"),
        (r"KSTREAM-(?:JOINTHIS|JOINOTHER|OUTERTHIS|OUTEROTHER|OUTERSHARED)-\d{10}-store", "a join's window"),
        (r"(?:this|other|outer-this|outer-other)-join-store", "a join's window"),
        (r"(?:left|outer)-shared-join-store", "a join's window"),
        (r"Aggregate-(?:.+-)?Materialize", "a ksqlDB aggregation's"),
        (r"(?:Left|Right)SourceKeyed-Materialize", "a ksqlDB join's"),
        (r"Aggregate-Prepare-Last|Project-Last", "a ksqlDB projection's"),
    )
)
"""`InternalStreamsBuilder.newStoreName`, `StreamJoinedStoreFactory`, `OuterStreamJoinStoreFactory`; ksqlDB's plan nodes."""


class JoinStore(Enum):
    WINDOW = "window"
    """The records of one side of a stream-stream join, by time."""
    LIST = "list"
    """The records of an outer or left join that have not been joined yet."""
    SUBSCRIPTIONS = "subscriptions"
    """Which rows of one table point to which rows of another table (foreign-key join)."""


_JOIN_STORES: Final = {
    JoinStore.WINDOW: r"KSTREAM-(?:JOINTHIS|JOINOTHER|OUTERTHIS|OUTEROTHER)-\d{10}-store|(?:outer-)?(?:this|other)-join-store",
    JoinStore.LIST: r"KSTREAM-OUTERSHARED-\d{10}-store|(?:left|outer)-shared-join-store",
    JoinStore.SUBSCRIPTIONS: r"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-\d{10}|subscription-store",
}
_SUPPRESSION: Final = r"KTABLE-SUPPRESS-STATE-STORE-\d{10}"
_OWN_FORMATS: Final = re.compile(rf"(?:.+-)?(?:{'|'.join((_SUPPRESSION, *_JOIN_STORES.values()))})", re.DOTALL)
_NAMES_OF_JOINS: Final = {kind: re.compile(rf"(?:.+-)?(?:{names})", re.DOTALL) for kind, names in _JOIN_STORES.items()}

_KSQLDB_KNOWN_QUERY: Final = r"(?:CSAS|CTAS|CST|INSERTQUERY|transient)_"
_KSQLDB_QUERIES: Final = tuple(
    re.compile(rf"(_confluent-ksql-.*?(query_|transient_)({start}[A-Za-z0-9_]+))(?=-|\Z)", re.DOTALL)
    # A service id may itself contain "query_", so the forms of generated query ids are tried first.
    for start in (_KSQLDB_KNOWN_QUERY, "")
)


def recognise(topic: str) -> InternalTopicKind | None:
    first = topic.find("-", 1)
    return None if first < 0 else _kind_behind_prefix(topic, first)


def parse(topic: str, *, application: str) -> InternalTopic | None:
    if not application or not topic.startswith(f"{application}-"):
        return None
    kind = _kind_behind_prefix(topic, len(application))
    if kind is None:
        return None
    rest = topic[len(application) + 1 :]
    name = next(
        (rest.removesuffix(suffix) for suffix, of in _SUFFIXES.items() if of is kind and rest.endswith(suffix)), rest
    )
    return InternalTopic(
        topic=Topic(topic),
        kind=kind,
        application=application,
        name=name,
        store=name if kind is InternalTopicKind.CHANGELOG else None,
    )


def application_prefixes(topic: str) -> tuple[str, ...]:
    """Every application that an internal topic's name allows (`parse` succeeds for it), longest first."""
    return tuple(
        topic[:end]
        for end in range(len(topic) - 1, 0, -1)
        if topic[end] == "-" and _kind_behind_prefix(topic, end) is not None
    )


def record_name_subject(subject: str) -> Topic | None:
    """The internal topic in a TopicRecordNameStrategy subject, `<topic>-<record full name>`; full names hold no `-`."""
    topic, dash, _record = subject.rpartition("-")
    if not dash or split_subject(subject) is not None or recognise(topic) is None:
        return None
    return None if recognise(subject) is not None else Topic(topic)


def is_internal(topic: str) -> bool:
    """True for topics of brokers and registries; not for Streams topics, because a user's topic may look like one."""
    return topic.startswith("__") or topic == "_schemas"


def automatic_store_source(store: str) -> Topic | None:
    """The topic in the store name of an unnamed `table(topic)`: `…-STATE-STORE-<10 digits>` (`newStoreName`)."""
    match = _AUTOMATIC_STORE.fullmatch(store)
    return None if match is None or f"-{match['owner']}".endswith(_OPERATORS_ENDS) else Topic(match["owner"])


def operator_behind(topic: str) -> str | None:
    """The operator whose store a changelog's name belongs to, by its end; such a store has no source topic."""
    name = topic.removesuffix(CHANGELOG_SUFFIX)
    return next((what for pattern, what in _OPERATORS_STORES if name != topic and pattern.fullmatch(name)), None)


def is_in_own_format(changelog: str) -> bool:
    """True for changelogs whose rows Kafka Streams wraps in its own format: they do not begin with a framing."""
    name = changelog.removesuffix(CHANGELOG_SUFFIX)
    return name != changelog and _OWN_FORMATS.fullmatch(name) is not None


def join_store(name: str) -> JoinStore | None:
    """What a store of that name holds for a join, unless a person has chosen the name; None for all other names."""
    return next((kind for kind, names in _NAMES_OF_JOINS.items() if names.fullmatch(name)), None)


def registration_topic(pseudo: str) -> Topic | None:
    if recognise(pseudo) is not InternalTopicKind.PSEUDO:
        return None
    return Topic(next(pseudo.removesuffix(suffix) for suffix in _PSEUDO_SUFFIXES if pseudo.endswith(suffix)))


def generated_owner(topic: str) -> str | None:
    """The application in an internal topic's name, if all behind it is generated: else a person chose a part."""
    query = ksqldb_query(topic)
    if query is not None:
        return query.application
    match = _GENERATED_NAME.fullmatch(topic)
    return None if match is None else match["application"]


def ksqldb_query(name: str) -> KsqldbQuery | None:
    """The query of a ksqlDB application id, or of a name that starts with one. A query id ends at the next `-`."""
    for pattern in _KSQLDB_QUERIES:
        match = pattern.match(name)
        if match is not None:
            return KsqldbQuery(application=match[1], query_id=match[3], is_transient=match[2] == "transient_")
    return None


def _kind_behind_prefix(topic: str, end: int) -> InternalTopicKind | None:
    """The kind if `topic[:end]` is the application and `topic[end]` the `-` behind it."""
    rest = topic[end + 1 :]
    for pseudo in _PSEUDO_SUFFIXES:
        if rest.endswith(pseudo):
            registration = _kind_of_rest(rest.removesuffix(pseudo)) is InternalTopicKind.SUBSCRIPTION_REGISTRATION
            return InternalTopicKind.PSEUDO if registration else None
    return _kind_of_rest(rest)


def _kind_of_rest(rest: str) -> InternalTopicKind | None:
    for suffix, kind in _SUFFIXES.items():
        if rest.endswith(suffix):
            return kind if len(rest) > len(suffix) else None
    match = _UNNAMED_JOIN.fullmatch(rest)
    return None if match is None else InternalTopicKind[f"SUBSCRIPTION_{match[1]}"]
