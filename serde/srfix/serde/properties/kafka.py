"""Client properties for Kafka: librdkafka's names, and Java's names with the same meaning.

| Java | librdkafka |
|---|---|
| `security.protocol`, `sasl.mechanism`, `client.id`, `ssl.key.password`, … | the same name |
| `request.timeout.ms` | `socket.timeout.ms` |
| `send.buffer.bytes`, `receive.buffer.bytes` | `socket.send.buffer.bytes`, `socket.receive.buffer.bytes` |
| `ssl.endpoint.identification.algorithm=` (empty) | `none` |
| `sasl.jaas.config` | `sasl.username`, `sasl.password`, `sasl.oauthbearer.…` (`java.sasl`) |
| `ssl.truststore.…`, `ssl.keystore.…` | `ssl.ca.…`, `ssl.certificate.…`, `ssl.key.…` (`java.tls`) |
| Java classes, and settings that OpenSSL negotiates | refused by name |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from srfix.serde.casing import is_same
from srfix.serde.errors import UsageError
from srfix.serde.properties.java.sasl import from_jaas
from srfix.serde.properties.java.tls import OWN_KEY_NAMES, OWN_TRUST_NAMES, from_stores
from srfix.serde.property_names import is_librdkafkas, shown

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
_HANDLER: Final = "sasl.login.callback.handler.class"
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
_CREDENTIALS: Final = frozenset(
    {
        "sasl.username",
        "sasl.password",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.config",
    }
)
"""The properties that `sasl.jaas.config` replaces."""
_STANDS_FOR: Final = (
    (frozenset({_JAAS}), _CREDENTIALS),
    (frozenset({"ssl.truststore.location", "ssl.truststore.certificates"}), OWN_TRUST_NAMES),
    (frozenset({"ssl.keystore.location", "ssl.keystore.key"}), OWN_KEY_NAMES),
)
"""Java's names, and librdkafka's names with the same meaning."""


def laid_over(below: Mapping[str, str], above: Mapping[str, str]) -> dict[str, str]:
    """Both sets of properties. The upper set wins, whether a name is Java's or librdkafka's. The result is for
    `to_librdkafka`."""
    overriding = {_OWN_NAMES.get(name, name): value for name, value in above.items()}
    hidden: set[str] = set()
    for java, librdkafka in _STANDS_FOR:
        if overriding.keys() & java:
            hidden |= librdkafka
    return {name: value for name, value in below.items() if name not in hidden} | overriding


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties under librdkafka's names. Stores are read, so their keys and certificates are among the values.

    If a setting is given under both names, librdkafka's counts.
    """
    renamed = {_OWN_NAMES.get(name, name): value for name, value in properties.items()}
    translated, wrong = from_stores(renamed)
    if _JAAS in translated:
        try:
            sasl = from_jaas(translated)
        except UsageError as error:
            wrong.append(error.message)
        else:
            translated = sasl | {name: value for name, value in translated.items() if name != _HANDLER}
        del translated[_JAAS]
        translated.pop(_HANDLER, None)
    wrong += _refusals(translated)
    if wrong:
        raise UsageError(together("The Kafka configuration", wrong))
    if translated.get("ssl.endpoint.identification.algorithm") == "":
        translated["ssl.endpoint.identification.algorithm"] = "none"
    return translated


def taken_by_librdkafka(name: str) -> bool:
    """True if `to_librdkafka` accepts a property with this name: librdkafka knows it, or it is translated."""
    return name in _OWN_NAMES or name in (_JAAS, _HANDLER) or is_librdkafkas(name)


def together(what: str, wrong: list[str]) -> str:
    """One message about all problems."""
    if len(wrong) == 1:
        return wrong[0]
    return f"{what} has {len(wrong)} entries that srfix cannot use:" + "".join(f"{_ITEM}{problem}" for problem in wrong)


def apart(message: str) -> list[str]:
    """The problems in a message of `together`, or the only problem of another message."""
    return message.split(_ITEM)[1:] or [message]


def _refusals(properties: Mapping[str, str]) -> list[str]:
    refused: list[str] = []
    for name in properties:
        advice = next((advice for pattern, advice in _REFUSED if pattern.fullmatch(name)), None)
        if advice is not None:
            refused.append(
                f"The Kafka property {shown(name)} belongs to Java, and librdkafka does not know it. {advice}"
            )
    return refused


def refuse_without_mechanism(config: Mapping[str, str]) -> None:
    """:raises UsageError: if SASL is wanted but no mechanism is given: librdkafka would use Kerberos, without a
    principal."""
    protocol = config.get("security.protocol", "")
    asking = next(
        (sasl_protocol for sasl_protocol in ("SASL_SSL", "SASL_PLAINTEXT") if is_same(sasl_protocol, protocol)), None
    )
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
