"""Recovers srfix's errors from Spark's errors on the driver.

A task's error reaches the driver as Spark's own error, with stack traces of two languages around it. This module turns
it back: a bad row is a `BadRowError` with its place, an unreachable registry a `RegistryUnreachableError`, and so on.
`kafka_error_of` converts errors of Kafka's client.

    with clear_errors():
        spark.read… .transform(from_registry(plan)).write…
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from srfix.serde import errors
from srfix.serde.printable import capitalized, foreign
from srfix.serde.schemas import errors as registry_errors
from srfix.serde.spark.releases import lacks_source, missing_jar

_KAFKAS: Final = r"org\.apache\.kafka\.common\.errors\."
_CONFIG: Final = r"org\.apache\.kafka\.common\.config\.ConfigException"
_DENIED: Final = re.compile(_KAFKAS + r"(Topic|Group|Cluster|TransactionalId)AuthorizationException\b")
_ACLS: Final = {
    "Group": "Read on the groups whose names begin with spark-kafka- (or on the group that the option kafka.group.id names)",
    "Cluster": "IdempotentWrite on the cluster",
    "TransactionalId": "Write on the transactional id",
}
_UNKNOWN_USER: Final = re.compile(_KAFKAS + r"(Sasl|Ssl)AuthenticationException\b|javax\.net\.ssl\.SSL\w*Exception\b")
_REFUSED: Final = (
    ", which srfix does not show, because it may be a secret. Compare it with the manual of Kafka's Java client; "
    "librdkafka's spellings differ."
)
_OFFSETS_ARE: Final = (
    "Give earliest, latest, or an offset for each partition of the topic: {{0: 23, 1: -2}}; -2 is the earliest, -1 the "
    "latest."
)
OTHER_PARTITIONS: Final = r"Partitions specified for Kafka \w+ offsets don't match|you must specify all TopicPartitions"
"""Since 4.0, or as 3.5 says it."""
_SAID: Final[tuple[tuple[str, type[errors.ClusterError | errors.UsageError], str], ...]] = (
    (
        r"No resolvable bootstrap urls|BootstrapResolutionException",
        errors.ClusterError,
        "Spark does not find {where}: its driver cannot resolve a host name, or a port is missing. Check "
        "bootstrap_servers (HOST:PORT,…).",
    ),
    (
        _CONFIG + r": [^\n]*?configuration \"?(?P<name>[a-z][a-z.]*[a-z])\b",
        errors.UsageError,
        "Kafka's client refuses the value of kafka.{name}" + _REFUSED,
    ),
    (
        r"javax\.security\.auth\.login\.LoginException|in the JAAS configuration|JAAS config entry",
        errors.UsageError,
        "Kafka's client refuses the value of kafka.sasl.jaas.config or kafka.sasl.mechanism" + _REFUSED,
    ),
    (_CONFIG + r"\b", errors.UsageError, "Kafka's client refuses one of the options kafka.…" + _REFUSED),
    (
        _KAFKAS + r"UnknownTopicOrPartitionException\b",
        errors.ClusterError,
        "{Topic} is not in {where}, or this user is not allowed to see it. Check its spelling (letter case counts) "
        "and the cluster; Spark does not create topics.",
    ),
    (
        OTHER_PARTITIONS,
        errors.UsageError,
        "The given offsets name other partitions than {topic} has. " + _OFFSETS_ARE,
    ),
    (r'Expected e\.g\. \{"topicA"', errors.UsageError, "Spark does not know these offsets. " + _OFFSETS_ARE),
    (
        _KAFKAS + r"TimeoutException: Partition (?P<partition>\d+) of topic (?P<named>\S+) with partition count "
        r"(?P<count>\d+) is not present in metadata",
        errors.ClusterError,
        "A row names partition {partition} of the topic {named!r}, which has {has}. Leave the column partition out, "
        "so that Kafka chooses by the key; or give the topic more partitions.",
    ),
    (
        _KAFKAS + r"TimeoutException: Topic (?P<named>\S+) not present in metadata",
        errors.ClusterError,
        "{Where} gave no information about the topic {named!r} in time: the topic does not exist and is not created "
        "automatically; or this user is not allowed to see it; or no broker answered. Check its spelling, and "
        "bootstrap_servers.",
    ),
    (
        _KAFKAS + r"(?:TimeoutException|DisconnectException)\b",
        errors.ClusterError,
        "No broker of {where} answered about {topic} in time. Check bootstrap_servers, and that Spark's driver and "
        "executors reach every broker under its advertised name (advertised.listeners). Also check "
        "kafka.security.protocol: a broker with TLS does not answer a client without TLS.",
    ),
)
"""The first match counts. Java's words are repeated only if they cannot contain an option's value."""


def kafka_error_of(
    text: str,
    *,
    of_topic: str = "the topic",
    servers: str | None = None,
    writes: bool = False,
) -> errors.SrfixError | None:
    """None if the text is not about Kafka. `of_topic` names the topic in a sentence."""
    where = "the Kafka cluster" if servers is None else f"the Kafka cluster at {foreign(servers)}"
    if (match := _DENIED.search(text)) is not None:
        verb = "write" if writes else "read"
        acl = f"Describe and {verb.capitalize()} on {of_topic}" if match[1] == "Topic" else _ACLS[match[1]]
        return errors.AccessDeniedError(
            f"Spark is not allowed to {verb} {of_topic} in {where}. The ACL to ask for is {acl}.", acl=acl
        )
    if (match := _UNKNOWN_USER.search(text)) is not None:
        what, names = "TLS with it failed", "kafka.security.protocol and kafka.ssl.…"
        if match[1] == "Sasl":
            what, names = "it refused the credentials", "kafka.sasl.mechanism and kafka.sasl.jaas.config"
        return errors.ClusterError(f"Spark reached {where}, but {what}. Check the options {names}.")
    for pattern, kind, words in _SAID:
        if (match := re.search(pattern, text)) is not None:
            parts = {name: foreign(part) for name, part in match.groupdict().items()}
            count = int(parts.get("count", 0))
            has = "one partition, 0" if count == 1 else f"{count} partitions, 0 to {count - 1}"
            places = {"topic": of_topic, "Topic": capitalized(of_topic), "where": where, "Where": capitalized(where)}
            return kind(words.format(**places, **parts, has=has))
    return None


BAD_ROW_END: Final = " To keep such rows apart, read with on_error='quarantine'."
"""Ends the message with which a bad row fails a job; `_pyspark.frames` writes the rest, and `_BAD_ROW` parses it."""
UNWRITTEN_END: Final = " To keep such rows apart, write with on_error='quarantine'."
"""The same for a row that cannot be written: `write.decisions` writes the rest, and `_UNWRITTEN` parses it."""


_BAD_ROW: Final = re.compile(
    r"srfix: the (?P<role>key|value)(?: of topic '(?P<topic>[^']*)')?(?:, partition (?P<partition>\d+))?"
    r"(?:, offset (?P<offset>\d+))? cannot be read\. (?P<reason>[A-Z_]+): .*?(?=" + re.escape(BAD_ROW_END) + ")",
    re.DOTALL,
)
_UNWRITTEN: Final = re.compile(
    r"srfix: a (?:key|value) for topic '(?P<topic>[^']*)'.*? cannot be written\. (?P<reason>[A-Z_]+): .*?(?="
    + re.escape(UNWRITTEN_END)
    + ")",
    re.DOTALL,
)
_RAISED: Final = re.compile(
    r"^(?:srfix\.[\w.]+\.(?P<kind>\w+Error): |ModuleNotFoundError: (?=The Spark worker ))(?P<message>.+?)$",
    re.MULTILINE,
)
_NO_SOURCE: Final = re.compile(r"Failed to find (?:the )?data source: srfix\b")
_KINDS: Final = {
    kind.__name__: kind
    for module in (errors, registry_errors)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, errors.SrfixError)
}


def is_sparks(error: BaseException) -> bool:
    """Whether Spark raised the error: PySpark itself, or its link to the JVM (a failed job) or to a Connect server."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"}


def srfix_error_of(error: BaseException, *, of_kafka: bool = True) -> errors.SrfixError | None:
    """srfix's error within an error that Spark raised on the driver (for an action or a stream); None if there is
    none.

    Classes and messages are kept; attributes only for `BadRowError`.

    :param of_kafka: with False, errors of Kafka's client are left to the caller, who knows topic and cluster.
    """
    if isinstance(error, errors.SrfixError):
        return error
    text = str(error)
    for pattern, end in ((_BAD_ROW, BAD_ROW_END), (_UNWRITTEN, UNWRITTEN_END)):
        if match := pattern.search(text):
            place = match.groupdict()
            partition, offset = place.get("partition"), place.get("offset")
            return errors.BadRowError(
                match[0] + end,
                topic=place["topic"],
                partition=None if partition is None else int(partition),
                offset=None if offset is None else int(offset),
                reason=errors.Reason(place["reason"]),
            )
    if raised := _RAISED.findall(text):
        name, message = raised[-1]
        kind = _KINDS.get(name, errors.SrfixError) if name else errors.WorkerPackageError
        revived = kind.__new__(kind)  # the constructor is not called, because some build their message themselves
        revived.args = (message,)
        return revived
    if not _NO_SOURCE.search(text):
        return missing_jar(text) or (kafka_error_of(text) if of_kafka else None)
    if (lacking := lacks_source()) is not None:
        return errors.EngineRefusedError(
            f"{lacking}. Read with srfix.serde.spark.read_topic and write with write_topic, which use Spark's jars "
            "for Avro and Kafka (srfix.serde.spark.packages).",
            reasons=(f"{lacking}.",),
        )
    return errors.SparkError(
        'Spark does not find format("srfix"), because the module pyspark_srfix is not where Spark\'s driver runs. '
        "Install srfix there (for Spark Connect: on the server), and start a new session."
    )


@contextmanager
def clear_errors() -> Iterator[None]:
    """If Spark's error ends the block and contains an error of srfix, raises srfix's error, with Spark's as its cause.

    :raises SrfixError: if Spark's error contains one.
    """
    try:
        yield
    except Exception as error:
        ours = srfix_error_of(error)
        if ours is None or ours is error:
            raise
        raise ours from error
