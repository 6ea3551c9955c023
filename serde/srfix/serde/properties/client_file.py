"""Reads an application's properties file: which properties are for Kafka and the registry, and which srfix does not
use.

srfix uses the properties that a reader needs from `client.properties`, `ksql-server.properties`,
`connect-distributed.properties`, and Confluent Cloud's file. A consumer's properties win over those without a prefix.
srfix leaves out and counts the application's own properties.

| prefix | properties |
|---|---|
| none, `ksql.streams.`, `consumer.`, `main.consumer.`, … | Kafka's; after a prefix only servers, log-in and TLS |
| `schema.registry.`, `ksql.schema.registry.`, `value.converter.schema.registry.`, … | the registry's |
| `producer.`, `admin.`, other `ksql.…` and `….converter.…` | left out |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest
from srfix.serde.properties.java.file import read_properties_file, resolve_references
from srfix.serde.properties.java.tls import STORE_NAMES
from srfix.serde.properties.kafka_client import DECIDED_HERE, apart, taken_by_librdkafka, to_librdkafka, together
from srfix.serde.properties.registry import (
    RegistrySettings,
    is_registry_property,
    open_registry,
    registry_settings,
    short_names,
    why_not_of_the_registry,
)
from srfix.serde.property_names import is_known, shown

if TYPE_CHECKING:
    from srfix.serde.registry.client import RegistryClient

_CLIENT_PREFIXES: Final = (
    "",
    "ksql.streams.",
    "consumer.",
    "main.consumer.",
    "ksql.streams.consumer.",
    "ksql.streams.main.consumer.",
)
"""Weakest first, in the order in which Kafka Streams overlays them."""
_REGISTRY_PREFIXES: Final = ("key.converter.", "value.converter.", "", "ksql.")
_CONNECTION: Final = re.compile(r"bootstrap\.servers|security\.protocol|client\.dns\.lookup|(?:sasl|ssl)\..+")
_IDLE: Final = frozenset(
    [
        "acks",
        "batch.num.messages",
        "batch.size",
        "client.software.name",
        "client.software.version",
        "compression.codec",
        "compression.level",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.in.flight",
        "max.in.flight.requests.per.connection",
        "max.poll.interval.ms",
        "max.poll.records",
        "message.timeout.ms",
        "partitioner",
        "plugin.library.paths",
        "request.required.acks",
        "retries",
        "session.timeout.ms",
        "transaction.timeout.ms",
    ]
)
"""librdkafka knows these properties, but a reader without a group does not need them, nor foreign code."""
_CODE: Final = frozenset(
    {
        "sasl.client.callback.handler.class",
        "sasl.login.class",
        "ssl.engine.factory.class",
        "sasl.oauthbearer.jwt.retriever.class",
    }
)
"""Properties that name Java code without which the application could not log in."""
_FAMILIES: Final = (
    "admin.", "config.providers.", "config.storage.", "confluent.", "connector.", "consumer.", "internal.", "key.converter.",
    "ksql.", "listener.name.", "offset.storage.", "plugin.", "producer.", "rest.", "restore.consumer.", "schema.registry.",
    "status.storage.", "streams.", "value.converter.",
)  # fmt: skip
"""The beginnings of an application's own property names. Only this part of an unknown name is shown."""
_MISSPELT: Final = (
    "basic.auth.credentials.source", "basic.auth.user.info", "bootstrap.servers", "sasl.jaas.config", "sasl.mechanism",
    "sasl.password", "sasl.username", "schema.registry.url", "security.protocol", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type",
)  # fmt: skip
"""Properties that are needed to log in. A similar name is therefore a typing mistake, and not the application's own
property."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """The parts of a properties file that srfix uses. Its repr shows no value."""

    path: str
    """The file."""
    kafka: Mapping[str, str] = field(repr=False)
    """Kafka's properties, under Java's or librdkafka's names, for `laid_over` and `to_librdkafka`."""
    registry: Mapping[str, str] = field(repr=False)
    """The registry's properties, for `registry_settings`."""
    left_out: Mapping[str, int] = field(repr=False)
    """Properties that a reader does not need: their name, or the beginning of their names with `…` → their number."""
    texts: tuple[str, ...] = field(repr=False)
    """All `name=value` of the file, with references both unresolved and resolved, for a redactor."""
    problems: tuple[str, ...]
    """Sentences, without any value, about properties that srfix cannot use."""
    in_utf_8: tuple[str, ...] = ()
    """Used properties whose values are not ASCII and look like UTF-8, but were read as ISO 8859-1, as in Java."""

    def encoding_line(self) -> str | None:
        """A line about the properties in `in_utf_8`; None if there are none. It shows no value."""
        if not self.in_utf_8:
            return None
        named = ", ".join(shown(name) for name in self.in_utf_8)
        return (
            f"{self.path}: srfix read these properties as ISO 8859-1, as Java does, although they look like UTF-8: {named}. "
            "If a log-in fails because of that, write characters beyond ASCII as \\uXXXX."
        )

    def left_out_line(self) -> str | None:
        """A line that says which properties were left out; None if there are none."""
        if not self.left_out:
            return None
        count = sum(self.left_out.values())
        named = ", ".join(f"{name} ({times})" if times > 1 else name for name, times in self.left_out.items())
        return (
            f"{self.path}: left out {count} propert{'y' if count == 1 else 'ies'} that a reader does not need: {named}."
        )

    def kafka_config(self) -> dict[str, str]:
        """The configuration for confluent-kafka's clients, and for the parts of srfix that accept one. Its values
        include passwords.

        :raises UsageError: if srfix cannot use a property; the message names all of them.
        :raises SecretError: if a reference (`env:NAME`, `file:PATH`) among the values cannot be read.
        """
        from srfix.serde.registry.secret import revealed

        kafka, _ = settled(self.kafka, self.registry, self.problems)
        return {name: revealed(value) for name, value in kafka.items()}

    def registry_client(self) -> RegistryClient:
        """A client for the registry; close it after use. It sends nothing yet.

        :raises UsageError: if srfix cannot use a property, or the file names no registry.
        :raises SecretError: if a reference among the values cannot be read.
        """
        kafka, registry = settled(self.kafka, self.registry, self.problems)
        if not registry.urls:
            raise UsageError(
                f"The properties file {self.path!r} names no schema registry. Add schema.registry.url=http://HOST:8081."
            )
        return open_registry(registry, registry.urls, kafka=kafka)


def settled(
    kafka: Mapping[str, str], registry: Mapping[str, str], problems: Iterable[str]
) -> tuple[dict[str, str], RegistrySettings]:
    """Properties under librdkafka's names, and the registry's settings; `problems` are the errors so far."""
    wrong = list(problems)
    taken: dict[str, str] = {}
    settings = RegistrySettings()
    try:
        taken = to_librdkafka(kafka)
    except UsageError as error:
        wrong += apart(error.message)
    try:
        settings = registry_settings(registry)
    except UsageError as error:
        wrong += apart(error.message)
    if wrong:
        raise UsageError(together("The configuration", wrong))
    return taken, settings


def read_client_file(path: str) -> ClientFile:
    """The properties of a file; `problems` names those that srfix cannot use.

    :raises UsageError: if the file cannot be read, is not a properties file, or has no properties for a reader.
    """
    properties = read_properties_file(path)
    file = sorted_out(path, properties.values, in_utf_8=properties.in_utf_8)
    if file.left_out and not file.kafka and not file.registry and not file.problems:
        raise UsageError(
            f"The properties file {path!r} names neither a cluster nor a registry: no bootstrap.servers, no "
            "security.protocol, no schema.registry.url. Is it the right file?"
        )
    return file


def sorted_out(path: str, properties: Mapping[str, str], *, in_utf_8: Iterable[str] = ()) -> ClientFile:
    """The same for properties that have already been read; `path` is for the messages."""
    placed: list[tuple[_Place, str]] = []
    left_out: list[str] = []
    latin = set(in_utf_8)
    problems: list[str] = []
    texts = [f"{name}={value}" for name, value in properties.items()]
    for name, raw in properties.items():
        place = _place(name)
        if isinstance(place, str):
            problems.append(place)
        elif place is None:
            left_out.append(name)
        else:
            try:
                value = resolve_references(name, raw, properties)
            except UsageError as error:
                problems.append(error.message)
                continue
            texts.append(f"{name}={value}")
            placed.append((place, value))
    placed.sort(key=lambda entry: entry[0].rank)
    kafka = {place.name: value for place, value in placed if not place.registry}
    registry = {place.name: value for place, value in placed if place.registry}
    if any(name.startswith("ksql.schema.registry.") for name in properties):
        # ksqlDB uses its own TLS settings for the registry, unless `ksql.schema.registry.ssl.…` says otherwise.
        tls = {*STORE_NAMES, "ssl.key.password"}
        registry = {name: value for name, value in kafka.items() if name in tls} | registry
    counted = Counter(_shown(name) for name in sorted(left_out))
    return ClientFile(
        path=path,
        kafka=kafka,
        registry=registry,
        left_out=dict(sorted(counted.items(), key=lambda entry: (entry[0] == _OTHERS, entry[0]))),  # unnamed ones last
        texts=tuple(dict.fromkeys(texts)),
        problems=tuple(f"{path}: {problem}" for problem in problems),
        in_utf_8=tuple(name for name in properties if name in latin and name not in left_out),
    )


class _Place(NamedTuple):
    """The owner of a property."""

    registry: bool
    rank: int
    name: str


def _place(name: str) -> _Place | str | None:
    """The owner of the property; a sentence if srfix cannot use it; None if a reader does not need it."""
    for rank, prefix in reversed(list(enumerate(_REGISTRY_PREFIXES))):
        rest = name.removeprefix(prefix)
        if name.startswith(prefix) and is_registry_property(rest):
            (short,) = short_names({rest: ""})
            why_not = why_not_of_the_registry(short)
            if why_not is None:
                return _Place(True, rank, short)
            return f"The registry property {shown(rest)} is not supported. {why_not}" if why_not else _misspelt(rest)
    for rank, prefix in reversed(list(enumerate(_CLIENT_PREFIXES))):
        rest = name.removeprefix(prefix)
        if not name.startswith(prefix) or (prefix and not _CONNECTION.fullmatch(rest)):
            continue
        if rest in _CODE:
            return (
                f"The Kafka property {rest} names Java code, which srfix does not run. If the brokers accept another "
                "way to log in, give that: sasl.mechanism, sasl.username and sasl.password, or PEM certificates."
            )
        if rest in DECIDED_HERE or rest in _IDLE:
            return None
        if rest in STORE_NAMES or taken_by_librdkafka(rest):
            return _Place(False, rank, rest)
    return _misspelt(name)


def _misspelt(name: str) -> str | None:
    if is_known(name) or name.startswith(_FAMILIES):
        return None
    near = nearest(name[:100], _MISSPELT, cutoff=0.9)
    return f"srfix does not use a property whose name looks like a misspelt {near}. Correct the name." if near else None


_OTHERS: Final = "the application's own"


def _shown(name: str) -> str:
    if is_known(name):
        return name
    family = next((family for family in _FAMILIES if name.startswith(family)), None)
    return _OTHERS if family is None else f"{family}…"
