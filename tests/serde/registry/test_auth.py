"""Secrets and credentials: read when used, shown nowhere, literals stay at home."""

from __future__ import annotations

import dataclasses
import functools
import pickle
from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import BasicAuth, BearerAuth, RegistryClient, Secret, SecretError, UsageError
from srfix.serde.registry.secret import Credentials
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry, everything_shown_of


class TestSecret:
    def test_a_reference_to_the_environment_is_read_at_each_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        secret = Secret.parse("env:REGISTRY_PASSWORD")
        monkeypatch.setenv("REGISTRY_PASSWORD", "first")
        assert secret.reveal() == "first"
        monkeypatch.setenv("REGISTRY_PASSWORD", "second")
        assert secret.reveal() == "second"

    @pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
    def test_a_reference_to_a_file_is_its_text_without_the_last_line_break(self, ending: str, tmp_path: Path) -> None:
        (tmp_path / "password").write_bytes(f" pässword \n{ending}".encode())
        expected = " pässword \n" if ending else " pässword "
        assert Secret.parse(f"file:{tmp_path / 'password'}").reveal() == expected

    @given(text=st.text().filter(lambda text: not text.startswith(("env:", "file:"))))
    def test_anything_else_is_the_secret_itself_and_is_never_shown(self, text: str) -> None:
        secret = Secret.parse(text)
        assert secret.reveal() == text
        assert (str(secret), repr(secret), f"{secret}") == ("***", "Secret('***')", "***")

    @pytest.mark.parametrize("reference", ["env:", "file:"])
    def test_a_reference_to_nothing_is_refused(self, reference: str) -> None:
        with pytest.raises(UsageError, match=rf"The secret '{reference}' names nothing: write"):
            Secret.parse(reference)

    def test_a_file_that_cannot_be_read_is_named(self) -> None:
        with pytest.raises(SecretError, match="The secret file:/no/such cannot be read: No such"):
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
        assert (repr(secret), str(secret)) == (f"Secret('{reference}')", reference)

    def test_a_literal_refuses_to_be_pickled(self) -> None:
        for holder in (Secret("s3cret"), RegistryClient("http://a:8081", auth=BearerAuth(Secret("s3cret")))):
            with pytest.raises(SecretError, match="srfix does not pickle a literal secret"):
                pickle.dumps(holder)


class TestBasicAuth:
    def test_the_password_is_what_follows_the_first_colon(self) -> None:
        assert BasicAuth.parse("reader:a:b") == BasicAuth("reader", Secret("a:b"))
        assert BasicAuth.parse("reader:env:PASSWORD").password == Secret.parse("env:PASSWORD") != Secret("env:PASSWORD")

    def test_text_without_a_colon_and_a_name_with_one_are_refused(self) -> None:
        with pytest.raises(UsageError, match="Credentials must be USER:PASSWORD,"):
            BasicAuth.parse("s3cret")
        with pytest.raises(UsageError, match="A user name for basic authentication cannot hold"):
            BasicAuth("a:b", Secret("c"))

    def test_its_renderings_hide_the_password(self) -> None:
        auth = BasicAuth("reader", Secret("s3cret"))
        assert repr(auth) == "BasicAuth(username='reader', password=Secret('***'))"
        assert "s3cret" not in repr(dataclasses.asdict(auth))
        assert "s3cret" not in repr(BearerAuth(Secret("s3cret"))) + repr(
            BearerAuth(functools.partial(give_token, "s3cret"))
        )

    @given(username=st.text().filter(lambda text: ":" not in text), password=st.text())
    def test_the_header_is_rfc_7617_in_utf_8(self, username: str, password: str) -> None:
        kind, _, token = BasicAuth(username, Secret(password)).header().partition(" ")
        assert kind == "Basic"
        assert b64decode(token).decode() == f"{username}:{password}"
        undecodable = BasicAuth("reader", Secret(b"p\xff".decode(errors="surrogateescape"))).header()
        assert b64decode(undecodable.removeprefix("Basic ")) == b"reader:p\xff"


SECRET = "s3cret"
BAD_TOKENS: dict[str, object] = {
    "it is empty": "",
    "it contains blanks, line breaks or characters beyond ASCII": f"{SECRET}\nX-Other: 1",
    "it contains blanks": f"{SECRET} {SECRET}",
    "it contains .* characters beyond ASCII": f"{SECRET}ä",
    "it is a bytes, not a text": SECRET.encode(),
    "it is a NoneType, not a text": None,
}
"""Problem → the token that has it; not a parameter, for a traceback with locals shows those."""


def give_token(token: str = "abc") -> str:
    """At module level, for pickle to find it."""
    return token


def burst(secret: str) -> str:
    raise ValueError(f"no token for {secret}")


class TestBearerAuth:
    @given(token=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1))
    def test_the_header_is_rfc_6750(self, token: str) -> None:
        assert BearerAuth(Secret(token)).credentials().headers == {"Authorization": f"Bearer {token}"}

    def test_a_token_file_is_read_anew_for_each_request(
        self, server: ScriptedRegistry, make_client: MakeClient, tmp_path: Path
    ) -> None:
        server.always([])
        client = make_client(auth=BearerAuth(Secret.parse(f"file:{tmp_path / 'token'}")))
        for token in ("first", "second"):
            (tmp_path / "token").write_text(f"{token}\n", encoding="utf-8")
            client.subjects()
        assert [one.headers["Authorization"] for one in server.seen] == ["Bearer first", "Bearer second"]

    def test_a_function_is_called_for_each_attempt(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.cuts()
        server.answers([])
        tokens = iter(["first", "second"])
        make_client(auth=BearerAuth(lambda: next(tokens))).subjects()
        assert [one.headers["Authorization"] for one in server.seen] == ["Bearer first", "Bearer second"]

    def test_confluent_clouds_headers_go_along(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.answers([])
        make_client(auth=BearerAuth(Secret("abc"), logical_cluster="lsrc-1", identity_pool="pool-1")).subjects()
        headers = server.seen[0].headers
        assert (headers["target-sr-cluster"], headers["Confluent-Identity-Pool-Id"]) == ("lsrc-1", "pool-1")

    @pytest.mark.parametrize("problem", BAD_TOKENS)
    def test_what_no_header_carries_is_refused_and_not_shown(self, problem: str) -> None:
        auth = BearerAuth(lambda: BAD_TOKENS[problem])  # type: ignore[arg-type, return-value]
        with pytest.raises(SecretError, match=f"<lambda> cannot be used: {problem}") as caught:
            auth.credentials()
        shown = everything_shown_of(caught.value)
        assert SECRET not in shown

    def test_a_function_that_fails_is_named_and_what_it_said_is_not(self) -> None:
        with pytest.raises(SecretError, match="The bearer token is not available: partial raised") as caught:
            BearerAuth(functools.partial(burst, SECRET)).credentials()
        with pytest.raises(SecretError, match="The secret file:/no/such cannot be read"):  # our own errors pass
            BearerAuth(Secret.parse("file:/no/such").reveal).credentials()
        assert caught.value.__context__ is None
        shown = everything_shown_of(caught.value)
        assert SECRET not in shown

    @pytest.mark.parametrize("token", [Secret.parse("env:TOKEN"), Secret.parse("file:/t"), give_token])
    def test_a_reference_and_a_modules_function_pickle(self, token: Secret) -> None:
        auth = BearerAuth(token)
        assert pickle.loads(pickle.dumps(auth)) == auth


class TestCredentials:
    def test_they_are_taken_out_in_every_form(self) -> None:
        credentials = BasicAuth("reader", Secret("p@ss/word")).credentials()
        text = f"p@ss/word p%40ss%2Fword {credentials.headers['Authorization']} reader"
        assert credentials.scrub(text) == "*** *** Basic *** reader"

    def test_the_longest_goes_first(self) -> None:
        assert Credentials({}, ["ab", "abcd"]).scrub("abcd ab") == "*** ***"

    def test_they_show_nothing_and_refuse_to_be_pickled(self) -> None:
        credentials = BasicAuth("reader", Secret("s3cret")).credentials()
        assert repr(credentials) == str(credentials) == "Credentials(***)"
        with pytest.raises(SecretError, match=r"^srfix does not pickle credentials, because they would be sent"):
            pickle.dumps(credentials)


class TestOverHttp:
    def test_user_info_in_a_url_is_sent_decoded_to_that_url_alone(
        self, server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.cuts()
        other_server.answers([])
        make_client(server.url.replace("http://", "http://reader:p%40ss@"), other_server.url).subjects()
        assert b64decode(server.seen[0].headers["Authorization"].removeprefix("Basic ")) == b"reader:p@ss"
        assert "Authorization" not in other_server.seen[0].headers

    def test_no_netrc_is_read(
        self, server: ScriptedRegistry, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login reader password s3cret\n", encoding="utf-8")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        server.answers([])
        make_client().subjects()
        assert "Authorization" not in server.seen[0].headers

    def test_a_secret_that_cannot_be_read_stops_the_request(
        self, server: ScriptedRegistry, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("REGISTRY_PASSWORD", raising=False)
        with pytest.raises(SecretError, match=r"env:REGISTRY_PASSWORD cannot be read: .* is not set"):
            make_client(auth=BasicAuth.parse("reader:env:REGISTRY_PASSWORD")).subjects()
        assert server.seen == []
