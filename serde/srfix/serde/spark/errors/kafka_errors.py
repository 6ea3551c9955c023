"""What Kafka's client said through Spark, as an error of srfix: what, where, what to do next.

| Java's | becomes |
|---|---|
| `UnknownTopicOrPartitionException` | `ClusterError`: there is no such topic |
| `TimeoutException` of a topic or partition that is not in metadata | `ClusterError`: which |
| any other `TimeoutException`, no resolvable URL | `ClusterError`: no broker answers |
| `…AuthorizationException` | `AccessDeniedError`, with the ACL |
| `SaslAuthenticationException`, `Ssl…` | `ClusterError`: the cluster does not know who asks |
| `ConfigException`, `LoginException` | `UsageError`, with the option's name and never its value |
| Spark's own, of offsets | `UsageError` |

Java's words are repeated only where they can hold no option's value.
"""

from __future__ import annotations

import re
from typing import Final

from srfix.serde.errors import AccessDeniedError, ClusterError, SrfixError, UsageError
from srfix.serde.printable import capitalized, foreign

_KAFKAS: Final = r"org\.apache\.kafka\.common\.errors\."
_CONFIG: Final = r"org\.apache\.kafka\.common\.config\.ConfigException"
_DENIED: Final = re.compile(_KAFKAS + r"(Topic|Group|Cluster|TransactionalId)AuthorizationException\b")
_ACLS: Final = {
    "Group": "Read on the groups whose names begin with spark-kafka- (or the option kafka.group.id)",
    "Cluster": "IdempotentWrite on the cluster",
    "TransactionalId": "Write on the transactional id",
}
_UNKNOWN_USER: Final = re.compile(_KAFKAS + r"(Sasl|Ssl)AuthenticationException\b|javax\.net\.ssl\.SSL\w*Exception\b")
_REFUSED: Final = (
    ", which is not repeated here, for it may be a secret. Compare it with the manual of Kafka's Java client; librdkafka's "
    "spellings are others."
)
_OFFSETS_ARE: Final = (
    "Give earliest, latest, or an offset for each partition of the topic: {{0: 23, 1: -2}}; -2 is the earliest, -1 the "
    "latest."
)
_SAID: Final[tuple[tuple[str, type[ClusterError | UsageError], str], ...]] = (
    (
        r"No resolvable bootstrap urls|BootstrapResolutionException",
        ClusterError,
        "Spark does not find {where}: no host of that name is known where its driver runs, or there is no port. Check "
        "bootstrap_servers (HOST:PORT,…).",
    ),
    (
        _CONFIG + r": [^\n]*?configuration \"?(?P<name>[a-z][a-z.]*[a-z])\b",
        UsageError,
        "Kafka's client refuses the value of kafka.{name}" + _REFUSED,
    ),
    (
        r"javax\.security\.auth\.login\.LoginException|in the JAAS configuration|JAAS config entry",
        UsageError,
        "Kafka's client refuses what kafka.sasl.jaas.config or kafka.sasl.mechanism says" + _REFUSED,
    ),
    (_CONFIG + r"\b", UsageError, "Kafka's client refuses one of the options kafka.…" + _REFUSED),
    (
        _KAFKAS + r"UnknownTopicOrPartitionException\b",
        ClusterError,
        "{Topic} is not in {where}, or this user may not know of it. Check its spelling (letter case counts) and the "
        "cluster; Spark creates no topic.",
    ),
    (
        r"Partitions specified for Kafka \w+ offsets don't match",
        UsageError,
        "The offsets that were given name other partitions than {topic} has. " + _OFFSETS_ARE,
    ),
    (r'Expected e\.g\. \{"topicA"', UsageError, "Spark does not know these offsets. " + _OFFSETS_ARE),
    (
        _KAFKAS + r"TimeoutException: Partition (?P<partition>\d+) of topic (?P<named>\S+) with partition count "
        r"(?P<count>\d+) is not present in metadata",
        ClusterError,
        "A row is to go to partition {partition} of the topic {named!r}, which has {has}. Leave the column partition out, "
        "and Kafka chooses by the key; or give the topic more partitions.",
    ),
    (
        _KAFKAS + r"TimeoutException: Topic (?P<named>\S+) not present in metadata",
        ClusterError,
        "{Where} said nothing of the topic {named!r} in time: it is not there, and is not created by itself; or this user "
        "may not know of it; or no broker answered. Check its spelling, and bootstrap_servers.",
    ),
    (
        _KAFKAS + r"(?:TimeoutException|DisconnectException)\b",
        ClusterError,
        "No broker of {where} answered about {topic} in time. Check bootstrap_servers, and that Spark's driver and executors "
        "reach every broker under the name that it advertises (advertised.listeners); and kafka.security.protocol: a broker "
        "that speaks TLS is silent to who does not.",
    ),
)
"""What Spark said → what it is here; the first counts."""


def kafka_error_of(
    text: str,
    *,
    topic: str | None = None,
    of_topic: str | None = None,
    servers: str | None = None,
    writes: bool = False,
) -> SrfixError | None:
    """The error for what Spark said, Java's stack trace with it; None if that is not Kafka's. `of_topic` are words for what
    was asked for, in place of the topic: one of several, say."""
    if of_topic is None:
        of_topic = "the topic" if topic is None else f"the topic {foreign(topic)!r}"
    where = "the Kafka cluster" if servers is None else f"the Kafka cluster at {foreign(servers)}"
    if (found := _DENIED.search(text)) is not None:
        verb = "write" if writes else "read"
        acl = f"Describe and {verb.capitalize()} on {of_topic}" if found[1] == "Topic" else _ACLS[found[1]]
        return AccessDeniedError(f"Spark may not {verb} {of_topic} in {where}. The ACL to ask for is {acl}.", acl=acl)
    if (found := _UNKNOWN_USER.search(text)) is not None:
        is_sasl = found[1] == "Sasl"
        what = "it refused the credentials" if is_sasl else "TLS with it failed"
        names = (
            "kafka.sasl.mechanism and kafka.sasl.jaas.config" if is_sasl else "kafka.security.protocol and kafka.ssl.…"
        )
        return ClusterError(f"Spark reached {where}, but {what}. Check the options {names}.")
    for said, kind, words in _SAID:
        if (found := re.search(said, text)) is not None:
            parts = {name: foreign(part) for name, part in found.groupdict().items()}
            count = int(parts.get("count", 0))
            has = "one partition, 0" if count == 1 else f"{count} partitions, 0 to {count - 1}"
            places = {"topic": of_topic, "Topic": capitalized(of_topic), "where": where, "Where": capitalized(where)}
            return kind(words.format(**places, **parts, has=has))
    return None
