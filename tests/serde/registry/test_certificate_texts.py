"""TLS of Java's stores: whom to trust, and the client certificate, as texts in memory."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests.adapters
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from parts.guarded_registry import GuardedRegistry
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, SecretError, UsageError
from srfix.serde.properties.registry import open_registry, registry_settings
from srfix.serde.schemas.errors import RegistryUnreachableError
from tests.serde.properties.java_stores import CA, CA_PEM, CHAIN, KEY, der, jks, key_der, key_store, trust_store

PASSWORD = "store-pass"
LOCKED = load_pem_private_key(KEY, None).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSWORD.encode())
)
STORES = {
    "jks": (
        jks(PASSWORD, trusted=der(CA_PEM)),
        jks(PASSWORD, keys=[(key_der(KEY), PASSWORD, der(CHAIN))]),
    ),
    "p12": (trust_store(CA_PEM, PASSWORD), key_store(CHAIN, KEY, PASSWORD)),
    "pem": (CA_PEM, LOCKED + CHAIN),
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixtureRegistry]:
    folder = tmp_path_factory.mktemp("tls")
    (folder / "ca.pem").write_bytes(CA_PEM)
    server = CA.issue_cert("127.0.0.1")
    (folder / "chain.pem").write_bytes(b"".join(blob.bytes() for blob in server.cert_chain_pems))
    server.private_key_pem.write_to_path(folder / "key.pem")
    with GuardedRegistry(tls=(folder / "chain.pem", folder / "key.pem"), client_ca=folder / "ca.pem") as registry:
        registry.seed("users-value", '"string"')
        yield registry


def client(registry: FixtureRegistry, **properties: str) -> RegistryClient:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return open_registry(registry_settings(given | {"max.retries": "0"}), registry.url, kafka={})


TEXTS = {"ssl_ca_pem": CA_PEM.decode(), "ssl_certificate_pem": CHAIN.decode(), "ssl_key_pem": KEY.decode()}


@pytest.mark.parametrize("kind", STORES)
def test_stores_of_java_open_the_registry(registry: FixtureRegistry, tmp_path: Path, kind: str) -> None:
    for name, content in zip(("trust", "key"), STORES[kind], strict=True):
        (tmp_path / f"{name}.{kind}").write_bytes(content)
    given = {
        "schema_registry_ssl_truststore_location": str(tmp_path / f"trust.{kind}"),
        "schema_registry_ssl_keystore_location": str(tmp_path / f"key.{kind}"),
        "schema_registry_ssl_key_password": PASSWORD,
        "schema_registry_ssl_endpoint_identification_algorithm": "https",
    }
    if kind != "pem":
        given |= {
            "schema_registry_ssl_truststore_password": PASSWORD,
            "schema_registry_ssl_keystore_password": PASSWORD,
        }
    with client(registry, **given) as opened:
        assert [str(subject) for subject in opened.subjects()] == ["users-value"]


def test_nothing_is_left_on_the_disk(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with client(registry, **TEXTS) as opened:
        assert len(list(opened.subjects())) == 1
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_trusted_beside_the_text(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names a trust store means that one: not certifi's bundle as well."""
    (tmp_path / "bundle.pem").write_bytes(CA_PEM)
    monkeypatch.setattr(requests.adapters, "DEFAULT_CA_BUNDLE_PATH", str(tmp_path / "bundle.pem"))
    other = trustme.CA().cert_pem.bytes().decode()
    with (
        client(registry, **(TEXTS | {"ssl_ca_pem": other})) as opened,
        pytest.raises(RegistryUnreachableError, match="its TLS certificate is not accepted"),
    ):
        list(opened.subjects())


def test_a_key_may_be_locked_and_its_texts_are_not_shown(registry: FixtureRegistry) -> None:
    with client(registry, **(TEXTS | {"ssl_key_pem": LOCKED.decode(), "ssl_key_password": PASSWORD})) as opened:
        assert len(list(opened.subjects())) == 1
        shown = repr((opened, opened.__dict__, opened._transport.settings))
        assert "PRIVATE" not in shown
        assert KEY.decode().splitlines()[2] not in shown
        with pytest.raises(SecretError, match="does not pickle"):
            pickle.dumps(opened)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"ssl_key_pem": LOCKED.decode(), "ssl_key_password": "topsecret"}, "ssl.key.password does not open it"),
        ({"ssl_key_pem": CA.issue_cert("x").private_key_pem.bytes().decode()}, "do not belong together"),
        ({"ssl_ca_pem": "topsecret"}, "they are not PEM certificates"),
        ({"ssl_certificate_pem": "topsecret"}, "do not belong together"),
        ({"ssl_endpoint_identification_algorithm": ""}, "srfix always checks that the certificate belongs to the host"),
    ],
)
def test_what_cannot_be_used_is_told_and_not_shown(registry: FixtureRegistry, given: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why) as refusal:
        client(registry, **(TEXTS | given))
    assert "topsecret" not in refusal.value.message
    assert refusal.value.__context__ is None
