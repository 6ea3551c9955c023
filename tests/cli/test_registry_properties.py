"""Properties for the registry: which are taken, what they become, what is refused and with which way out."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from srfix.cli.options.connecting import Connection
from srfix.serde import BearerAuth, ClientCertificate, RetryPolicy, Secret, UsageError
from srfix.serde.properties.registry import registry_settings

URL = "http://registry:8081"


def connect(**properties: str) -> Connection:
    """A connection by properties whose dots are written as two underscores."""
    given = {name.replace("__", "."): value for name, value in properties.items()}
    return Connection(kafka={}, registry=registry_settings({"url": URL, **given}))


class TestBearer:
    def test_a_token_becomes_bearer_authentication(self, made: dict[str, object]) -> None:
        connect(
            bearer__auth__credentials__source="STATIC_TOKEN",
            bearer__auth__token="abc",
            bearer__auth__logical__cluster="lsrc-1",
            bearer__auth__identity__pool__id="pool-1",
        ).registry_client()
        assert made["auth"] == BearerAuth(Secret("abc"), logical_cluster="lsrc-1", identity_pool="pool-1")

    @pytest.mark.parametrize("reference", ["env:TOKEN", "file:/run/secrets/token"])
    def test_a_reference_is_handed_over_as_one_to_be_read_for_each_request(
        self, reference: str, made: dict[str, object]
    ) -> None:
        connect(bearer__auth__token=reference).registry_client()
        assert made["auth"] == BearerAuth(Secret.parse(reference))

    @pytest.mark.parametrize("name", ["bearer.auth.credentials.source", "bearer.auth.logical.cluster"])
    def test_a_source_or_a_cluster_without_a_token_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match=r" need bearer\.auth\.token; it may be env:NAME or file:PATH\.$"):
            registry_settings({name: "STATIC_TOKEN"})


class TestTls:
    def test_certificate_key_and_its_password_become_a_client_certificate(self, made: dict[str, object]) -> None:
        connect(
            ssl__certificate__location="/c.pem", ssl__key__location="/k.pem", ssl__key__password="env:KEY_PASSWORD"
        ).registry_client()
        assert made["client_certificate"] == ClientCertificate(
            certificate_file="/c.pem", key_file="/k.pem", key_password=Secret.parse("env:KEY_PASSWORD")
        )

    def test_a_certificate_file_may_hold_the_key(self, made: dict[str, object]) -> None:
        connect(ssl__certificate__location="/c.pem").registry_client()
        assert made["client_certificate"] == ClientCertificate(certificate_file="/c.pem")

    def test_a_client_is_made_of_real_files(self, tmp_path: Path) -> None:
        certificate = trustme.CA().issue_cert("client@example.com").private_key_and_cert_chain_pem
        certificate.write_to_path(tmp_path / "client.pem")
        connect(ssl__certificate__location=str(tmp_path / "client.pem")).registry_client().close()


class TestProxy:
    def test_it_is_handed_over_and_not_shown(self, made: dict[str, object]) -> None:
        connection = connect(proxy="http://u:topsecret@proxy:3128")
        connection.registry_client()
        assert made["proxy"] == "http://u:topsecret@proxy:3128"
        assert "topsecret" not in repr(connection)

    def test_the_whole_may_be_a_reference(self, made: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PROXY", "http://proxy:3128")
        connect(proxy="env:PROXY").registry_client()
        assert made["proxy"] == "http://proxy:3128"

    @pytest.mark.parametrize("name", ["proxy.host", "proxy.port", "http.proxyHost", "http.proxy"])
    def test_javas_spellings_are_refused_with_ours(self, name: str) -> None:
        with pytest.raises(UsageError, match=r" is not supported\. Give proxy=http://HOST:PORT\.$"):
            registry_settings({name: "x"})


class TestRetries:
    def test_waits_are_milliseconds(self, made: dict[str, object]) -> None:
        connect(max__retries="7", retries__wait__ms="250", retries__max__wait__ms="5000").registry_client()
        assert made["retry"] == RetryPolicy(max_attempts=8, initial_wait_s=0.25, max_wait_s=5.0)

    def test_what_is_not_given_is_the_clients_own(self, made: dict[str, object]) -> None:
        connect().registry_client()
        assert made["retry"] == RetryPolicy()
        assert (made["auth"], made["client_certificate"], made["proxy"]) == (None, None, None)
