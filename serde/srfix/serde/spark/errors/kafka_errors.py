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
from collections.abc import Callable
from typing import Final

from srfix.serde.errors import AccessDeniedError, ClusterError, SrfixError, UsageError
from srfix.serde.printable import capitalized, foreign

_KAFKAS: Final = r"org\.apache\.kafka\.common\.errors\."
_TIMEOUT: Final = re.compile(_KAFKAS + r"(?:TimeoutException|DisconnectException)\b")
_NO_PARTITION: Final = re.compile(
    _KAFKAS + r"TimeoutException: Partition (\d+) of topic (\S+) with partition count (\d+) is not present in metadata"
)
_NO_METADATA: Final = re.compile(_KAFKAS + r"TimeoutException: Topic (\S+) not present in metadata")
_NO_URL: Final = re.compile(r"No resolvable bootstrap urls|BootstrapResolutionException")
_NO_TOPIC: Final = re.compile(_KAFKAS + r"UnknownTopicOrPartitionException\b")
_DENIED: Final = re.compile(_KAFKAS + r"(Topic|Group|Cluster|TransactionalId)AuthorizationException\b")
_UNKNOWN_USER: Final = re.compile(
    _KAFKAS + r"(Sasl|Ssl)AuthenticationException\b|(?P<tls>javax\.net\.ssl\.SSL\w*Exception)\b"
)
_BAD_OPTION: Final = re.compile(
    r"org\.apache\.kafka\.common\.config\.ConfigException: [^\n]*?configuration \"?(?P<name>[a-z][a-z.]*[a-z])\b"
)
_SOME_OPTION: Final = re.compile(r"org\.apache\.kafka\.common\.config\.ConfigException\b")
_LOGIN: Final = re.compile(r"javax\.security\.auth\.login\.LoginException|in the JAAS configuration|JAAS config entry")
_OFFSETS: Final = re.compile(r"Partitions specified for Kafka \w+ offsets don't match")
_WORD: Final = re.compile(r'Expected e\.g\. \{"topicA"')
_ACLS: Final = {
    "Group": "Read on the groups whose names begin with spark-kafka- (or the option kafka.group.id)",
    "Cluster": "IdempotentWrite on the cluster",
    "TransactionalId": "Write on the transactional id",
}
_OFFSETS_ARE: Final = (
    "Give earliest, latest, or an offset for each partition of the topic: {0: 23, 1: -2}; -2 is the earliest, -1 the "
    "latest."
)


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
    makers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], SrfixError]], ...] = (
        (_DENIED, lambda found: _denied(found[1], of_topic, where, writes=writes)),
        (_UNKNOWN_USER, lambda found: _unknown_user(where, is_tls=found[1] != "Sasl")),
        (_NO_URL, lambda _: _no_host(where)),
        (_BAD_OPTION, lambda found: _bad_option(f"the value of kafka.{found['name']}")),
        (_LOGIN, lambda _: _bad_option("what kafka.sasl.jaas.config or kafka.sasl.mechanism says")),
        (_SOME_OPTION, lambda _: _bad_option("one of the options kafka.…")),
        (_NO_TOPIC, lambda _: _no_topic(of_topic, where)),
        (_OFFSETS, lambda _: _bad_offsets(of_topic)),
        (_WORD, lambda _: UsageError(f"Spark does not know these offsets. {_OFFSETS_ARE}")),
        (_NO_PARTITION, lambda found: _no_partition(int(found[1]), found[2], int(found[3]))),
        (_NO_METADATA, lambda found: _no_metadata(found[1], where)),
        (_TIMEOUT, lambda _: _silent(of_topic, where)),
    )
    for said, make in makers:
        if (found := said.search(text)) is not None:
            return make(found)
    return None


def _denied(kind: str, of_topic: str, where: str, *, writes: bool) -> AccessDeniedError:
    verb = "write" if writes else "read"
    acl = f"Describe and {verb.capitalize()} on {of_topic}" if kind == "Topic" else _ACLS[kind]
    return AccessDeniedError(f"Spark may not {verb} {of_topic} in {where}. The ACL to ask for is {acl}.", acl=acl)


def _unknown_user(where: str, *, is_tls: bool) -> ClusterError:
    what = "TLS with it failed" if is_tls else "it refused the credentials"
    names = "kafka.security.protocol and kafka.ssl.…" if is_tls else "kafka.sasl.mechanism and kafka.sasl.jaas.config"
    return ClusterError(f"Spark reached {where}, but {what}. Check the options {names}.")


def _no_host(where: str) -> ClusterError:
    return ClusterError(
        f"Spark does not find {where}: no host of that name is known where its driver runs, or there is no port. Check "
        "bootstrap_servers (HOST:PORT,…)."
    )


def _bad_option(what: str) -> UsageError:
    return UsageError(
        f"Kafka's client refuses {what}, which is not repeated here, for it may be a secret. Compare it with the manual of "
        "Kafka's Java client; librdkafka's spellings are others."
    )


def _no_topic(of_topic: str, where: str) -> ClusterError:
    return ClusterError(
        f"{capitalized(of_topic)} is not in {where}, or this user may not know of it. Check its spelling (letter "
        "case counts) and the cluster; Spark creates no topic."
    )


def _no_partition(partition: int, topic: str, count: int) -> ClusterError:
    has = "one partition, 0" if count == 1 else f"{count} partitions, 0 to {count - 1}"
    return ClusterError(
        f"A row is to go to partition {partition} of the topic {foreign(topic)!r}, which has {has}. Leave the column partition "
        "out, and Kafka chooses by the key; or give the topic more partitions."
    )


def _no_metadata(topic: str, where: str) -> ClusterError:
    return ClusterError(
        f"{capitalized(where)} said nothing of the topic {foreign(topic)!r} in time: it is not there, and is not created by "
        "itself; or this user may not know of it; or no broker answered. Check its spelling, and bootstrap_servers."
    )


def _bad_offsets(of_topic: str) -> UsageError:
    return UsageError(f"The offsets that were given name other partitions than {of_topic} has. {_OFFSETS_ARE}")


def _silent(of_topic: str, where: str) -> ClusterError:
    return ClusterError(
        f"No broker of {where} answered about {of_topic} in time. Check bootstrap_servers, and that Spark's driver and "
        "executors reach every broker under the name that it advertises (advertised.listeners); and "
        "kafka.security.protocol: a broker that speaks TLS is silent to who does not."
    )
