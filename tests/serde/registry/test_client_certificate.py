"""mTLS: the certificate that says who asks, and what is said when it does not help."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from srfix.serde import ClientCertificate, RegistryClient, Secret, UsageError
from srfix.serde.registry.http.tls import client_context
from srfix.serde.schemas.errors import RegistryUnreachableError
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry, everything_shown_of

PASSWORD = "s3cret-of-the-key"


def write_key(leaf: trustme.LeafCert, path: Path, password: str | None) -> None:
    key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
    cipher = (
        serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password.encode())
    )
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, cipher))


@pytest.fixture
def files(authority: trustme.CA, tmp_path: Path) -> Path:
    """A folder of ca.pem, client.pem (certificate), key.pem, locked.pem (the key under `PASSWORD`), both.pem."""
    leaf = authority.issue_cert("client@example.com")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    leaf.cert_chain_pems[0].write_to_path(tmp_path / "client.pem")
    leaf.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    write_key(leaf, tmp_path / "key.pem", None)
    write_key(leaf, tmp_path / "locked.pem", PASSWORD)
    return tmp_path


def certificate(files: Path, key: str | None = "key.pem", password: Secret | None = None) -> ClientCertificate:
    return ClientCertificate(
        certificate_file=str(files / ("both.pem" if key is None else "client.pem")),
        key_file=None if key is None else str(files / key),
        key_password=password,
    )


class TestOverHttp:
    @pytest.mark.parametrize(("key", "password"), [("key.pem", None), ("locked.pem", Secret(PASSWORD)), (None, None)])
    def test_a_registry_that_asks_for_a_certificate_is_shown_it(
        self,
        key: str | None,
        password: Secret | None,
        files: Path,
        mutual_tls_server: ScriptedRegistry,
        make_client: MakeClient,
    ) -> None:
        mutual_tls_server.always(["a-value"])
        client = make_client(
            mutual_tls_server.url,
            ca_file=str(files / "ca.pem"),
            client_certificate=certificate(files, key, password),
        )
        assert client.subjects() == ("a-value",)

    def test_a_client_without_one_is_told_so_or_cut_off(
        self, files: Path, mutual_tls_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        with pytest.raises(
            RegistryUnreachableError, match=r"does not accept the client certificate|the connection was cut"
        ):
            make_client(mutual_tls_server.url, ca_file=str(files / "ca.pem"), attempts=1).subjects()
        assert mutual_tls_server.seen == []

    def test_the_registrys_own_certificate_is_still_checked(
        self, files: Path, mutual_tls_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        with pytest.raises(RegistryUnreachableError, match=r" its TLS certificate is not accepted "):
            make_client(mutual_tls_server.url, client_certificate=certificate(files)).subjects()

    def test_a_copy_in_another_process_reads_the_files_for_itself(
        self, files: Path, mutual_tls_server: ScriptedRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mutual_tls_server.always(["a-value"])
        monkeypatch.setenv("KEY_PASSWORD", PASSWORD)
        client = RegistryClient(
            mutual_tls_server.url,
            ca_file=str(files / "ca.pem"),
            client_certificate=certificate(files, "locked.pem", Secret.parse("env:KEY_PASSWORD")),
        )
        pickled = pickle.dumps(client)
        assert PASSWORD.encode() not in pickled
        with pickle.loads(pickled) as copy:
            assert copy.subjects() == ("a-value",)


class TestClientContext:
    def test_an_encrypted_key_without_a_password_asks_for_it_and_not_at_the_terminal(self, files: Path) -> None:
        with pytest.raises(UsageError, match=r"the private key in '.*locked\.pem' is encrypted"):
            RegistryClient("https://a:8081", client_certificate=certificate(files, "locked.pem"))

    def test_a_wrong_password_is_not_shown(self, files: Path) -> None:
        with pytest.raises(UsageError, match=r" is encrypted and has another password\. ") as caught:
            client_context(certificate(files, "locked.pem", Secret(PASSWORD[::-1])))
        shown = everything_shown_of(caught.value)
        assert PASSWORD[::-1] not in shown

    def test_a_key_of_another_certificate_is_refused(self, authority: trustme.CA, files: Path) -> None:
        write_key(authority.issue_cert("other@example.com"), files / "other.pem", None)
        with pytest.raises(UsageError, match=r"certificate '.*client\.pem', key '.*other\.pem': KEY_VALUES_MISMATCH"):
            client_context(certificate(files, "other.pem"))

    def test_a_file_that_is_not_there_is_named(self, files: Path) -> None:
        with pytest.raises(UsageError, match=r"none\.pem': No such file or directory\. "):
            client_context(certificate(files, "none.pem"))
