"""librdkafka's client properties under Java's names, for Kafka clients that run in a JVM: Spark's.

| librdkafka | Java |
|---|---|
| `bootstrap.servers`, `security.protocol`, `client.id`, … | the same name |
| `socket.timeout.ms`, `fetch.wait.max.ms`, `socket.receive.buffer.bytes`, … | `request.timeout.ms`, `fetch.max.wait.ms`, … |
| `sasl.mechanism` PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 with name and password | `sasl.jaas.config` |
| `ssl.ca.location`, `ssl.ca.pem` | `ssl.truststore.certificates` (PEM, KIP-651) |
| `ssl.certificate.…`, `ssl.key.…` | `ssl.keystore.certificate.chain`, `ssl.keystore.key` (PEM, KIP-651) |
| `ssl.endpoint.identification.algorithm=none` | empty |
| settings that a client that only reads decides itself | left out |
| everything else | refused by name |

Certificates are sent as text, so no executor needs their files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from srfix.serde import bounds
from srfix.serde.errors import SecretError, UsageError
from srfix.serde.files import read_file
from srfix.serde.properties.kafka_client import DECIDED_HERE, JAVA_NAMES
from srfix.serde.property_names import NOT_SHOWN, shown

_SAME: Final = frozenset(
    {
        "bootstrap.servers",
        "check.crcs",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "fetch.max.bytes",
        "fetch.min.bytes",
        "max.partition.fetch.bytes",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "ssl.endpoint.identification.algorithm",
    }
)
_RENAMED: Final = {
    **JAVA_NAMES,
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "metadata.broker.list": "bootstrap.servers",
}
_TRUST: Final = ("ssl.ca.location", "ssl.ca.pem")
_CHAIN: Final = ("ssl.certificate.location", "ssl.certificate.pem")
_KEY: Final = ("ssl.key.location", "ssl.key.pem")
_KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105 - a property's name
_SASL: Final = ("sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password")
_LOGIN_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_ELSEWHERE: Final = frozenset({*_TRUST, *_CHAIN, *_KEY, _KEY_PASSWORD, *_SASL})


def to_java(config: Mapping[str, str]) -> dict[str, str]:
    """The properties under Java's names. Passwords are among the values: never show them."""
    java: dict[str, str] = {}
    for name, value in config.items():
        if name in DECIDED_HERE or name in _ELSEWHERE:
            continue
        if name not in _SAME and name not in _RENAMED:
            raise UsageError(
                f"The Kafka property {shown(name)} belongs to librdkafka, and Spark's Java clients do not know it. "
                "Leave it out, or use the local engine (--engine local)."
            )
        java[_RENAMED.get(name, name)] = value
    if java.get("ssl.endpoint.identification.algorithm") == "none":
        java["ssl.endpoint.identification.algorithm"] = ""
    return java | _sasl(config) | _tls(config)


def _sasl(config: Mapping[str, str]) -> dict[str, str]:
    mechanism = config.get("sasl.mechanism", config.get("sasl.mechanisms"))
    if mechanism is None and not any(name in config for name in _SASL):
        return {}
    module = _LOGIN_MODULES.get(mechanism or "")
    if module is None:
        what = "missing" if not mechanism else mechanism if re.fullmatch(r"[\w-]+", mechanism) else NOT_SHOWN
        raise UsageError(
            f"The Kafka property sasl.mechanism is {what}; for Spark's Java clients, srfix can only set up "
            f"{', '.join(_LOGIN_MODULES)}. For another mechanism, give SparkCensus the options of Spark's Kafka source "
            "(kafka.sasl.jaas.config, …)."
        )
    missing = [name for name in ("sasl.username", "sasl.password") if name not in config]
    if missing:
        raise UsageError(f"sasl.mechanism={mechanism} needs the Kafka property {missing[0]}, but it is missing.")
    user, password = _quoted(config["sasl.username"]), _quoted(config["sasl.password"])
    return {
        "sasl.mechanism": mechanism or "",
        "sasl.jaas.config": f"{module} required username={user} password={password};",
    }


def _quoted(text: str) -> str:
    """Quotes a text so that Java's `StreamTokenizer`, which parses JAAS entries, reads it back."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _tls(config: Mapping[str, str]) -> dict[str, str]:
    trusted, chain, key = (_text(config, names) for names in (_TRUST, _CHAIN, _KEY))
    java: dict[str, str] = {}
    if trusted is not None:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": trusted}
    if chain is None and key is None:
        return java
    if chain is None or key is None:
        present, absent = (_KEY, _CHAIN) if chain is None else (_CHAIN, _KEY)
        raise UsageError(f"The Kafka property {_counting(config, present)} also needs {absent[0]}.")
    if "-----BEGIN PRIVATE KEY-----" not in key and "-----BEGIN ENCRYPTED PRIVATE KEY-----" not in key:
        raise UsageError(
            f"The key of {_counting(config, _KEY)} is not in PKCS#8, the only form that Java's PEM key stores read. "
            "Convert it: openssl pkcs8 -topk8 -in KEY -out KEY8."
        )
    java |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}
    if _KEY_PASSWORD in config:
        java[_KEY_PASSWORD] = config[_KEY_PASSWORD]
    return java


def _counting(config: Mapping[str, str], names: tuple[str, str]) -> str:
    """The property that counts: a text before a file."""
    location, pem = names
    return pem if pem in config else location


def _text(config: Mapping[str, str], names: tuple[str, str]) -> str | None:
    location, pem = names
    if pem in config or location not in config:
        return config.get(pem)
    path = config[location]
    try:
        return read_file(path, most_bytes=bounds.MOST_SECRET_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not PEM text"
        raise SecretError(
            f"The file {path!r} of the Kafka property {location} cannot be used: {why}. Spark's Java clients take a PEM "
            "file."
        ) from None
