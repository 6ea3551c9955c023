"""Secrets and credentials: read when used, shown nowhere, literals stay at home."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import SecretError, UsageError
from srfix.serde.registry import BasicAuth, RegistryClient, Secret

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serde.registry.conftest import MakeClient, ScriptedRegistry


class TestSecret:
    def test_a_reference_to_the_environment_is_read_at_each_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        secret = Secret.parse("env:REGISTRY_PASSWORD")
        monkeypatch.setenv("REGISTRY_PASSWORD", "first")
        assert secret.reveal() == "first"
        monkeypatch.setenv("REGISTRY_PASSWORD", "second")
        assert secret.reveal() == "second"

    @pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
    def test_a_reference_to_a_file_is_its_content_without_the_last_line_break(
        self, ending: str, tmp_path: Path
    ) -> None:
        (tmp_path / "password").write_bytes(f" pässword \n{ending}".encode())
        expected = " pässword \n" if ending else " pässword "
        assert Secret.parse(f"file:{tmp_path / 'password'}").reveal() == expected

    @given(text=st.text().filter(lambda text: not text.startswith(("env:", "file:"))))
    def test_anything_else_is_the_secret_itself_and_is_never_shown(self, text: str) -> None:
        secret = Secret.parse(text)
        assert secret.reveal() == text
        assert (str(secret), repr(secret), f"{secret}") == ("***", "Secret('***')", "***")

    def test_a_reference_shows_where_it_points(self) -> None:
        assert repr(Secret.parse("env:NAME")) == "Secret('env:NAME')"
        assert str(Secret.parse("file:/run/secrets/p")) == "file:/run/secrets/p"

    @pytest.mark.parametrize("reference", ["env:", "file:"])
    def test_a_reference_to_nothing_is_refused(self, reference: str) -> None:
        with pytest.raises(
            UsageError, match=rf"^The secret '{reference}' names nothing: write env:NAME or file:PATH\.$"
        ):
            Secret.parse(reference)

    def test_a_variable_that_is_not_set_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("REGISTRY_PASSWORD", raising=False)
        with pytest.raises(
            SecretError,
            match=r"^The secret env:REGISTRY_PASSWORD cannot be read: the environment variable "
            r"REGISTRY_PASSWORD is not set\. Set it in the environment of this process\.$",
        ):
            Secret.parse("env:REGISTRY_PASSWORD").reveal()

    def test_a_file_that_cannot_be_read_is_named(self) -> None:
        with pytest.raises(
            SecretError,
            match=r"^The secret file:/no/such cannot be read: No such file or directory\. Check the path "
            r"and its permissions\.$",
        ):
            Secret.parse("file:/no/such").reveal()

    def test_a_file_that_is_no_text_does_not_show_its_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "p").write_bytes(b"s3cret\xff")
        with pytest.raises(SecretError, match=r" cannot be read: it is not UTF-8 text\. ") as caught:
            Secret.parse(f"file:{tmp_path / 'p'}").reveal()
        assert caught.value.__context__ is None

    @pytest.mark.parametrize("reference", ["env:NAME", "file:/run/secrets/p"])
    def test_a_reference_pickles(self, reference: str) -> None:
        secret = Secret.parse(reference)
        assert pickle.loads(pickle.dumps(secret)) == secret

    def test_a_literal_refuses_to_be_pickled(self) -> None:
        with pytest.raises(
            SecretError,
            match=r"^A literal secret is not pickled: it would travel to other processes in clear\. "
            r"Give it as env:NAME or file:PATH, which each process reads for itself\.$",
        ):
            pickle.dumps(Secret("s3cret"))

    def test_a_literal_can_be_copied_at_home(self) -> None:
        secret = Secret("s3cret")
        assert copy.copy(secret) is secret
        assert copy.deepcopy([secret])[0] is secret

    def test_equal_secrets_are_equal_and_a_reference_is_not_its_text(self) -> None:
        assert Secret.parse("env:A") == Secret.parse("env:A")
        assert hash(Secret.parse("env:A")) == hash(Secret.parse("env:A"))
        assert Secret.parse("env:A") != Secret("A")
        assert Secret("A") != "A"


class TestBasicAuth:
    def test_the_password_is_what_follows_the_first_colon(self) -> None:
        auth = BasicAuth.parse("reader:a:b")
        assert auth.username == "reader"
        assert auth.password.reveal() == "a:b"

    def test_the_password_may_be_a_reference(self) -> None:
        assert BasicAuth.parse("reader:env:REGISTRY_PASSWORD").password == Secret.parse("env:REGISTRY_PASSWORD")

    def test_text_without_a_colon_is_refused_and_not_shown(self) -> None:
        with pytest.raises(
            UsageError,
            match=r"^Credentials for the registry are USER:PASSWORD, and this has no colon\. "
            r"The password may be env:NAME or file:PATH\.$",
        ):
            BasicAuth.parse("s3cret")

    def test_a_user_name_with_a_colon_is_refused(self) -> None:
        with pytest.raises(
            UsageError, match=r"^A user name for basic authentication cannot hold a colon \(RFC 7617\)\.$"
        ):
            BasicAuth("a:b", Secret("c"))

    def test_its_renderings_hide_the_password(self) -> None:
        auth = BasicAuth("reader", Secret("s3cret"))
        assert repr(auth) == "BasicAuth(username='reader', password=Secret('***'))"
        assert "s3cret" not in repr(dataclasses.asdict(auth))

    @given(username=st.text().filter(lambda text: ":" not in text), password=st.text())
    def test_the_header_is_rfc_7617_in_utf_8(self, username: str, password: str) -> None:
        kind, _, token = BasicAuth(username, Secret(password)).header().partition(" ")
        assert kind == "Basic"
        assert b64decode(token).decode() == f"{username}:{password}"


class TestOverHttp:
    def test_credentials_are_sent(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.answers([])
        make_client(auth=BasicAuth("reader", Secret("s3cret"))).subjects()
        assert server.seen[0].headers["Authorization"] == "Basic cmVhZGVyOnMzY3JldA=="

    def test_user_info_in_a_url_is_sent_decoded_to_that_url_alone(
        self, server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.cuts()
        other_server.answers([])
        make_client(server.url.replace("http://", "http://reader:p%40ss@"), other_server.url).subjects()
        assert b64decode(server.seen[0].headers["Authorization"].removeprefix("Basic ")) == b"reader:p@ss"
        assert "Authorization" not in other_server.seen[0].headers

    def test_a_secret_that_cannot_be_read_stops_the_request(
        self, server: ScriptedRegistry, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("REGISTRY_PASSWORD", raising=False)
        with pytest.raises(SecretError, match=r"^The secret env:REGISTRY_PASSWORD cannot be read: "):
            make_client(auth=BasicAuth.parse("reader:env:REGISTRY_PASSWORD")).subjects()
        assert server.seen == []

    def test_a_client_with_a_literal_password_refuses_to_be_pickled(self) -> None:
        with pytest.raises(SecretError, match=r"^A literal secret is not pickled: "):
            pickle.dumps(RegistryClient("http://reader:s3cret@a:8081"))
