"""Client properties for Kafka: librdkafka's names, and Java's where they mean the same.

| Java | librdkafka |
|---|---|
| `security.protocol`, `sasl.mechanism`, `client.id`, `ssl.key.password`, … | the same name |
| `request.timeout.ms` | `socket.timeout.ms` |
| `send.buffer.bytes`, `receive.buffer.bytes` | `socket.send.buffer.bytes`, `socket.receive.buffer.bytes` |
| `ssl.endpoint.identification.algorithm=` (empty) | `none` |
| key stores, trust stores, JAAS, Java classes | refused by name |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from srfix.serde.errors import UsageError
from srfix.serde.property_names import shown

JAVA_NAMES: Final = {
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.timeout.ms": "request.timeout.ms",
}
"""librdkafka's name → Java's, where librdkafka does not know that one."""
_OWN_NAMES: Final = {java: own for own, java in JAVA_NAMES.items()}
_REFUSED: Final = (
    (
        re.compile(r"ssl\.truststore\..+"),
        "Use ssl.ca.location with a PEM file: `keytool -exportcert -rfc` writes one from a trust store.",
    ),
    (
        re.compile(r"ssl\.keystore\..+"),
        "Use ssl.certificate.location and ssl.key.location with PEM files (ssl.key.password opens the key); "
        "a PKCS#12 store is taken apart by `openssl pkcs12`.",
    ),
    (re.compile(r"sasl\.jaas\.config"), "Use sasl.mechanism, sasl.username and sasl.password."),
    (
        re.compile(r"ssl\.(?:protocol|provider|enabled\.protocols|(?:key|trust)manager\.algorithm)"),
        "Leave it out: OpenSSL negotiates the protocol.",
    ),
    (
        re.compile(r".+\.(?:class|classes|serializer|deserializer)|.+\.serde|interceptor\.classes"),
        "It names a Java class; leave it out.",
    ),
)


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties under librdkafka's names.

    :raises UsageError: if one has no counterpart; the message names it, says what to use, and shows no value.
    """
    translated: dict[str, str] = {}
    for name, value in properties.items():
        for pattern, advice in _REFUSED:
            if pattern.fullmatch(name):
                raise UsageError(
                    f"The Kafka property {shown(name)} is one of Java's and means nothing to librdkafka. {advice}"
                )
        if name == "ssl.endpoint.identification.algorithm" and not value:
            value = "none"
        translated[_OWN_NAMES.get(name, name)] = value
    return translated
