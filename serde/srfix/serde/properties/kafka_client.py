"""Client properties for Kafka, under librdkafka's names and Java's, and a client that cannot write.

| Java | librdkafka |
|---|---|
| `security.protocol`, `sasl.mechanism`, `client.id`, `ssl.key.password`, … | the same name |
| `request.timeout.ms` | `socket.timeout.ms` |
| `send.buffer.bytes`, `receive.buffer.bytes` | `socket.send.buffer.bytes`, `socket.receive.buffer.bytes` |
| `ssl.endpoint.identification.algorithm=` (empty) | `none` |
| `sasl.jaas.config` | `sasl.username`, `sasl.password`, `sasl.oauthbearer.…` (`java.sasl`) |
| `ssl.truststore.…`, `ssl.keystore.…` | `ssl.ca.…`, `ssl.certificate.…`, `ssl.key.…` (`java.tls`) |
| Java classes, and settings that OpenSSL negotiates | refused by name |

All code that reads topics uses `ReadOnlyClient`. Whatever the user's configuration says, it joins no group, commits
nothing and creates no topic, and librdkafka prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.casing import is_same
from srfix.serde.errors import AccessDeniedError, ClusterError, UsageError
from srfix.serde.properties.java.sasl import LOGIN_HANDLER, from_jaas
from srfix.serde.properties.java.tls import OWN_KEY_NAMES, OWN_TRUST_NAMES, from_stores
from srfix.serde.property_names import NOT_SHOWN, is_known, is_librdkafkas, is_plain, names_servers, pieces, shown

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError
    from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo


JAVA_NAMES: Final = {
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.timeout.ms": "request.timeout.ms",
}
"""librdkafka's name → Java's name, if librdkafka does not know Java's."""
_OWN_NAMES: Final = {java: librdkafka for librdkafka, java in JAVA_NAMES.items()} | {
    "fetch.max.wait.ms": "fetch.wait.max.ms"
}
_ITEM: Final = "\n- "
_JAAS: Final = "sasl.jaas.config"
_REFUSED: Final = (
    (
        re.compile(r"ssl\.(?:protocol|provider|enabled\.protocols|(?:key|trust)manager\.algorithm)"),
        "Leave it out: OpenSSL negotiates the protocol.",
    ),
    (
        re.compile(r".+\.(?:class|classes|serializer|deserializer)|.+\.serde|interceptor\.classes"),
        "It names a Java class; leave it out.",
    ),
)
_OAUTHBEARER: Final = ("client.id", "client.secret", "scope", "extensions", "method", "config")
_CREDENTIALS: Final = frozenset(
    {"sasl.username", "sasl.password", *(f"sasl.oauthbearer.{part}" for part in _OAUTHBEARER)}
)
"""The properties that `sasl.jaas.config` replaces."""
_SYNONYMS: Final = (("sasl.mechanism", "sasl.mechanisms"), ("bootstrap.servers", "metadata.broker.list"))
_STANDS_FOR: Final = (
    *((frozenset({one}), frozenset(names) - {one}) for names in _SYNONYMS for one in names),
    (frozenset({_JAAS}), _CREDENTIALS),
    (frozenset({"ssl.truststore.location", "ssl.truststore.certificates"}), OWN_TRUST_NAMES),
    (frozenset({"ssl.keystore.location", "ssl.keystore.key"}), OWN_KEY_NAMES),
)
"""Names, and librdkafka's other names with the same meaning, which they replace."""


def laid_over(below: Mapping[str, str], above: Mapping[str, str]) -> dict[str, str]:
    """Both sets, for `to_librdkafka` or `registry_settings`. The upper set wins, whether a name is Java's or librdkafka's."""
    overriding = {_OWN_NAMES.get(name, name): value for name, value in above.items()}
    hidden = {name for names, others in _STANDS_FOR if overriding.keys() & names for name in others}
    return {name: value for name, value in below.items() if name not in hidden} | overriding


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties under librdkafka's names, which count if a setting has both. Keys of stores are among the values."""
    renamed = {_OWN_NAMES[name]: value for name, value in properties.items() if name in _OWN_NAMES}
    translated, wrong = from_stores(renamed | {n: value for n, value in properties.items() if n not in _OWN_NAMES})
    if _JAAS in translated:
        try:
            translated = from_jaas(translated) | translated
        except UsageError as error:
            wrong.append(error.message)
        del translated[_JAAS]
        translated.pop(LOGIN_HANDLER, None)
    wrong += _refusals(translated)
    if wrong:
        raise UsageError(together("The Kafka configuration", wrong))
    if translated.get("ssl.endpoint.identification.algorithm") == "":
        translated["ssl.endpoint.identification.algorithm"] = "none"
    return translated


def taken_by_librdkafka(name: str) -> bool:
    """True if `to_librdkafka` accepts a property with this name: librdkafka knows it, or it is translated."""
    return name in _OWN_NAMES or name in (_JAAS, LOGIN_HANDLER) or is_librdkafkas(name)


def together(what: str, wrong: list[str]) -> str:
    if len(wrong) == 1:
        return wrong[0]
    return f"{what} has {len(wrong)} entries that srfix cannot use:" + "".join(f"{_ITEM}{problem}" for problem in wrong)


def apart(message: str) -> list[str]:
    """The problems in a message of `together`, or the only problem of another message."""
    return message.split(_ITEM)[1:] or [message]


def _refusals(properties: Mapping[str, str]) -> list[str]:
    return [
        f"The Kafka property {shown(name)} belongs to Java, and librdkafka does not know it. {advice}"
        for name in properties
        for pattern, advice in _REFUSED
        if pattern.fullmatch(name)
    ]


def refuse_without_mechanism(config: Mapping[str, str]) -> None:
    """If SASL is wanted without a mechanism, librdkafka would use Kerberos, without a principal."""
    protocol = config.get("security.protocol", "")
    asking = next((name for name in ("SASL_SSL", "SASL_PLAINTEXT") if is_same(name, protocol)), None)
    if asking is None or any(name in config for name in ("sasl.mechanism", "sasl.mechanisms")):
        return
    if any(name.startswith("sasl.kerberos.") for name in config):
        return
    raise UsageError(
        f"security.protocol={asking} needs a log-in, but sasl.mechanism is missing. Give the mechanism that the "
        "brokers accept. PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512: -X sasl.mechanism=PLAIN (for example) -X "
        "sasl.username=NAME -X sasl.password=env:VARIABLE (in a file also sasl.jaas.config=…). OAUTHBEARER: also "
        "sasl.oauthbearer.method=oidc, sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id and "
        "sasl.oauthbearer.client.secret. For Confluent Cloud, use PLAIN, with the API key as name and its secret as "
        "password."
    )


class Isolation(Enum):
    """How a read treats records of aborted or open transactions; set on every consumer, never left to a default."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


UNUSED_GROUP: Final = "srfix-reads-only"
"""librdkafka requires a group.id for every consumer. srfix never joins this group, and never commits to it."""

DECIDED_HERE: Final = frozenset(
    {
        # group membership and its offsets
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "partition.assignment.strategy",
        "enable.auto.commit",
        "auto.commit.enable",
        "auto.commit.interval.ms",
        "enable.auto.offset.store",
        "offset.store.method",
        # settings that srfix decides
        "allow.auto.create.topics",
        "auto.offset.reset",
        "isolation.level",
        "enable.partition.eof",
        # settings for writing, and for a cluster that is not the user's
        "transactional.id",
        "test.mock.num.brokers",
        "test.mock.broker.rtt",
        # noise on stderr
        "debug",
        "log_level",
        "log.queue",
        "statistics.interval.ms",
    }
)
"""Properties under librdkafka's names that are left out, because a client that only reads decides them itself."""
_FORCED: Final[Mapping[str, str]] = {
    "group.id": UNUSED_GROUP,
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "allow.auto.create.topics": "false",
    # If all brokers were away, a client that bootstraps again asks for committed offsets in vain (librdkafka's issue 5511).
    "metadata.recovery.strategy": "none",
    "log_level": "0",
}
_SECRET_WORDS: Final = (
    "password",
    "secret",
    "passphrase",
    "private.key",
    "key.pem",
    "keystore.key",
    "oauthbearer.config",
    "jaas",
)
_MOST_REASONS: Final = 3
_SHORTEST: Final = 4
"""If srfix also hid shorter pieces, half of every message would be hidden."""
_SERVERS: Final = ("bootstrap.servers", "metadata.broker.list")
_NO_SUCH: Final = re.compile(r'No such configuration property: "(.*)"', re.DOTALL)
_ABOUT_ONE: Final = re.compile(r'(?:[Cc]onfiguration property|Expected bool value for) "([^"]*)"')
_RANGE: Final = re.compile(r"outside allowed range (-?\d+\.\.-?\d+)")


class ReadOnlyClient:
    """The user's configuration in a form that cannot write, and librdkafka's complaints so far."""

    def __init__(self, config: Mapping[str, str]) -> None:
        servers = config.get("bootstrap.servers") or config.get("metadata.broker.list")
        if not servers:
            raise UsageError(
                "The Kafka configuration names no bootstrap.servers; give --bootstrap-servers HOST:PORT[,…]."
            )
        refuse_without_mechanism(config)
        self.bootstrap_servers: Final = servers if names_servers(servers) else NOT_SHOWN
        self._config = {name: value for name, value in config.items() if name not in DECIDED_HERE}
        self._secrets = sorted(_secrets(config), key=len, reverse=True)
        self._reasons: dict[str, None] = {}
        self.authentication_failed = False

    def __repr__(self) -> str:
        return f"ReadOnlyClient({self.bootstrap_servers})"

    def config(self, **settings: str) -> dict[str, Any]:
        """For a client's constructor; `settings` are librdkafka's names with `_` for `.`."""
        extra = {name.replace("_", "."): value for name, value in settings.items()}
        return {**self._config, **_FORCED, **extra, "error_cb": self._on_error}

    def consumer(self, **settings: str) -> Consumer:
        """A consumer with this configuration and these settings.

        :raises UsageError: if librdkafka does not take them.
        """
        from confluent_kafka import Consumer, KafkaException

        try:
            return Consumer(self.config(**settings))
        except (KafkaException, TypeError, ValueError) as error:
            raise self.refused_config(error) from None

    def admin(self) -> AdminClient:
        """
        :raises UsageError: if librdkafka does not take the configuration.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            return AdminClient(self.config())
        except (KafkaException, TypeError, ValueError) as error:
            raise self.refused_config(error) from None

    def _on_error(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._AUTHENTICATION:
            self.authentication_failed = True
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            # "(after 12ms in state CONNECT)" differs from one attempt to the next
            self._reasons[error.str().partition(" (after ")[0]] = None

    def refused_config(self, error: Exception) -> UsageError:
        return UsageError(
            f"librdkafka refuses the Kafka configuration: {self._refusal(_text(error).strip())}. "
            "librdkafka's CONFIGURATION.md lists the properties."
        )

    def _refusal(self, text: str) -> str:
        """librdkafka's message quotes names and values, and may cut them off, so srfix builds its own message."""
        unknown = _NO_SUCH.match(text)
        if unknown is not None:
            return f"unknown property {shown(unknown[1])}"
        named = _ABOUT_ONE.search(text)
        if named is None:
            return self._redacted(text)
        if not is_known(named[1]):
            return f"it does not accept this value for {shown(named[1])}"
        allowed = _RANGE.search(text)
        return (
            f"it does not accept this value for {named[1]}{f', which must be one of {allowed[1]}' if allowed else ''}"
        )

    def failed(self, doing: str, error: Exception | KafkaError | str, *, acl: str | None = None) -> ClusterError:
        """The error for a failed request, "listing the topics", which needs `acl`: `Describe on group 'shop'`."""
        where = f"the Kafka cluster at {self.bootstrap_servers}"
        text = error if isinstance(error, str) else _text(error)
        if acl is not None and _is_denial(error):
            return AccessDeniedError(
                f"Not allowed at {where} while {doing}: {self._redacted(text)}. The ACL to ask for is {acl}.", acl=acl
            )
        reasons = self._redacted("; ".join(dict.fromkeys([*list(self._reasons)[-_MOST_REASONS:], text])))
        if self.authentication_failed:
            return ClusterError(
                f"Authentication failed at {where} while {doing}: {reasons}. Check security.protocol, "
                "sasl.mechanism and the credentials."
            )
        return ClusterError(
            f"Failed at {where} while {doing}: {reasons}. Check the addresses (advertised listeners too), "
            "security.protocol, and that this machine may connect and this user may read."
        )

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        return text


def free_aside(clients: list[AdminClient]) -> None:
    """Frees clients of which these are the last references, and waits a second at most: librdkafka may wait for ever for the
    thread of a broker that was restarted.
    """
    thread = Thread(target=clients.clear, daemon=True)
    thread.start()
    thread.join(1)


def answered_offset(answer: ListOffsetsResultInfo) -> int:
    """The offset in an answer of `AdminClient.list_offsets`.

    :raises KafkaException: if the leader did not answer in time. librdkafka then answers without an error.
    """
    from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

    if answer.offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return int(answer.offset)


def _secrets(config: Mapping[str, str]) -> Iterator[str]:
    for name, value in config.items():
        is_known_name = is_known(name)
        if not is_known_name:
            yield from (piece for piece in pieces(name) if len(piece) >= _SHORTEST)
        if value and any(word in name for word in _SECRET_WORDS):
            yield value
        elif is_known_name and (names_servers(value) if name in _SERVERS else is_plain(value)):
            continue
        yield from (piece for piece in pieces(value) if len(piece) >= _SHORTEST)


def _is_denial(error: Exception | KafkaError | str) -> bool:
    from confluent_kafka import KafkaError

    reason = error.args[0] if isinstance(error, Exception) and error.args else error
    return isinstance(reason, KafkaError) and reason.code() in (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    )


def _text(error: Exception | KafkaError) -> str:
    reason: object = error.args[0] if isinstance(error, Exception) and error.args else error
    words = getattr(reason, "str", None)
    text = str(words()) if callable(words) else str(reason)
    return text or type(error).__name__
