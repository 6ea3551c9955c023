"""Converts Java's properties for key and trust stores to librdkafka's, for Kafka's clients and the registry's.

| Java | librdkafka |
|---|---|
| `ssl.truststore.location` (PEM) | `ssl.ca.location` |
| `ssl.truststore.location` (JKS, PKCS#12), `ssl.truststore.certificates` | `ssl.ca.pem` |
| `ssl.keystore.location` (PEM) | `ssl.certificate.location`, `ssl.key.location` |
| `ssl.keystore.location` (JKS, PKCS#12) | `ssl.certificate.pem`, `ssl.key.pem` |
| `ssl.keystore.certificate.chain`, `ssl.keystore.key` | `ssl.certificate.pem`, `ssl.key.pem` |
| `ssl.truststore.type`, `ssl.keystore.type` | nothing: the file's first bytes decide |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from srfix.serde.errors import UsageError

_T = TypeVar("_T")
STORE_NAMES: Final = frozenset(
    {f"ssl.truststore.{part}" for part in ("certificates", "location", "password", "type")}
    | {f"ssl.keystore.{part}" for part in ("certificate.chain", "key", "location", "password", "type")}
)
"""Java's names, which `from_stores` converts."""
OWN_TRUST_NAMES: Final = frozenset({"ssl.ca.location", "ssl.ca.pem"})
"""librdkafka's names for trusted certificates; they win over Java's."""
OWN_KEY_NAMES: Final = frozenset({"ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"})
"""librdkafka's names for a client certificate; they win over Java's."""
_KEY_PASSWORD: Final = "ssl.key.password"  # noqa: S105 - a property's name
_TRUST_ADVICE: Final = "You can also give PEM: keytool -list -rfc -keystore STORE > ca.pem, and ssl.ca.location=ca.pem."
_KEY_ADVICE: Final = (
    "You can also give PEM. Run openssl pkcs12 -in STORE.p12 -nodes -out client.pem, and set ssl.certificate.location "
    "and ssl.key.location to client.pem."
)


def from_stores(config: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The stores' properties with librdkafka's names, and the problems as sentences."""
    taken = {name: value for name, value in config.items() if name not in STORE_NAMES}
    stores = {name: value for name, value in config.items() if name in STORE_NAMES and value}
    wrong: list[str] = []
    for own_names, convert, advice in ((OWN_TRUST_NAMES, _trust, _TRUST_ADVICE), (OWN_KEY_NAMES, _key, _KEY_ADVICE)):
        if own_names & config.keys():
            continue
        try:
            convert(stores, taken)
        except UsageError as error:
            wrong.append(f"{error.message} {advice}")
    return taken, wrong


def _trust(stores: Mapping[str, str], taken: dict[str, str]) -> None:
    location, inline = stores.get("ssl.truststore.location"), stores.get("ssl.truststore.certificates")
    if location is None and inline is None:
        _refuse_without_store(stores, "ssl.truststore.")
        return
    from srfix.serde.properties.java.stores import is_pem, pem_blocks, read_store, trusted_certificates  # takes long

    if inline is not None:
        taken["ssl.ca.pem"] = _convert_property(
            "ssl.truststore.certificates", lambda: pem_blocks(inline, "CERTIFICATE")
        )
    elif location is not None:
        content = read_store(location, "ssl.truststore.location")
        if is_pem(content):
            taken["ssl.ca.location"] = location
        else:
            password = _password(stores, "ssl.truststore.password")
            taken["ssl.ca.pem"] = _convert_property(
                f"The trust store {location!r}", lambda: trusted_certificates(content, password)
            )


def _key(stores: Mapping[str, str], taken: dict[str, str]) -> None:
    location = stores.get("ssl.keystore.location")
    key, chain = stores.get("ssl.keystore.key"), stores.get("ssl.keystore.certificate.chain")
    if location is None and key is None and chain is None:
        _refuse_without_store(stores, "ssl.keystore.")
        return
    from srfix.serde.properties.java.stores import is_pem, pem_blocks, private_key_and_chain, read_store  # takes long

    if location is None or key is not None or chain is not None:
        if key is None or chain is None:
            raise UsageError("ssl.keystore.key and ssl.keystore.certificate.chain belong together; one is missing.")
        taken["ssl.certificate.pem"] = _convert_property(
            "ssl.keystore.certificate.chain", lambda: pem_blocks(chain, "CERTIFICATE")
        )
        taken["ssl.key.pem"] = _convert_property("ssl.keystore.key", lambda: pem_blocks(key, "PRIVATE KEY"))
        return
    content = read_store(location, "ssl.keystore.location")
    if is_pem(content):
        taken |= {"ssl.certificate.location": location, "ssl.key.location": location}
        return
    password, key_password = _password(stores, "ssl.keystore.password"), _password(taken, _KEY_PASSWORD)
    taken["ssl.key.pem"], taken["ssl.certificate.pem"] = _convert_property(
        f"The key store {location!r}", lambda: private_key_and_chain(content, password, key_password)
    )
    taken.pop(_KEY_PASSWORD, None)  # the key is already decrypted


def _refuse_without_store(stores: Mapping[str, str], prefix: str) -> None:
    if f"{prefix}password" in stores:
        raise UsageError(f"{prefix}password is given without {prefix}location, to which it belongs.")


def _password(config: Mapping[str, str], name: str) -> str | None:
    from srfix.serde.registry.secret import revealed

    return revealed(config[name]) if name in config else None


def _convert_property(what: str, convert: Callable[[], _T]) -> _T:
    try:
        return convert()
    except ValueError as error:
        why = str(error).rstrip(".")
    # Raised outside of the handler, because a library's error may hold the content.
    raise UsageError(f"{what} cannot be used: {why}.")
