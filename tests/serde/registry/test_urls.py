"""The URL list, and subjects in paths."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from srfix.serde import BasicAuth, RegistryClient, Schema, Secret, Subject, UsageError
from srfix.serde.schemas.models import SubjectVersion, answered_elsewhere
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

subject_names = st.text(min_size=1, max_size=40)
awkward_names = st.text(alphabet="./\\%:?#+ &=;@~é\x00\n日", min_size=1, max_size=12)


class TestSubjectsInPaths:
    @given(subject=subject_names | awkward_names)
    @example(subject=".")
    @example(subject="..")
    @example(subject="../config")
    @example(subject="a/b-value")
    @example(subject=":.ctx:orders-value")
    @example(subject="100%25-value")
    @example(subject="a+b c?d#e-value")
    @example(subject="größe-日本-value")
    @example(subject="%2e%2e")
    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_a_subject_arrives_as_one_segment_that_decodes_to_itself(
        self, subject: str, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.always([1])
        client.versions(subject)
        empty, subjects, segment, versions = server.seen[-1].target.split("/")
        assert (empty, subjects, versions) == ("", "subjects", "versions")
        assert unquote(segment, errors="strict") == subject
        assert segment not in (".", "..")
        assert re.fullmatch(r"(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2})+", segment)

    @given(subject=awkward_names)
    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_a_subject_in_the_query_decodes_to_itself_too(
        self, subject: str, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.always({"schema": '"string"'})
        client.gives_id_to(subject, 1)
        assert unquote(server.seen[-1].target.partition("?subject=")[2]) == subject

    def test_a_base_path_is_kept(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.always([])
        make_client(f"{server.url}/apis/ccompat/v7/").subjects()
        assert server.targets == ["GET /apis/ccompat/v7/subjects"]

    @pytest.mark.parametrize("subject", ["", "\udc80-value"])
    def test_what_no_url_can_carry_is_refused_before_anything_is_sent(
        self, subject: str, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        with pytest.raises(UsageError, match=r"The name '.*' cannot be part of a registry URL:"):
            client.versions(subject)
        assert server.seen == []


class TestUrlList:
    def test_a_comma_separated_text_and_a_sequence_mean_the_same(self) -> None:
        assert RegistryClient("http://bücher.example:8081").url == "http://xn--bcher-kva.example:8081"
        assert RegistryClient("http://a:8081, https://b/base/ ,").url == "http://a:8081,https://b/base"
        assert RegistryClient(["http://a:8081", "https://b/base/"]).url == "http://a:8081,https://b/base"

    def test_user_name_and_password_are_stripped(self) -> None:
        client = RegistryClient("http://reader:pa%40ss%2Cword@a:8081,http://b:8081")
        assert client.url == "http://a:8081,http://b:8081"
        assert repr(client) == "RegistryClient('http://a:8081,http://b:8081')"

    @pytest.mark.parametrize("urls", ["", " , ", []])
    def test_no_url_at_all_is_refused(self, urls: str | list[str]) -> None:
        with pytest.raises(UsageError, match=r"No registry URL was given\. Give one"):
            RegistryClient(urls)

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            *(
                (url, "needs the form http://host:port")
                for url in ("localhost:8081", "ftp://registry", "http://registry:")
            ),
            ("http://registry:port", "its host or port cannot be read"),
            ("http://registry:8081/?a=b", "it has a query or a fragment"),
            ("http://registry:8081#x", "it has a query or a fragment"),
            ("http://.registry", "its host name is not valid"),
        ],
    )
    def test_a_url_that_is_none_is_named_with_what_is_wrong(self, url: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            RegistryClient(url)

    @pytest.mark.parametrize(
        "urls",
        [
            "http://reader:s3cret,x@registry:8081",
            "http://reader:s3c/ret@registry:8081",
            "http://reader:s3cret:",
            "http://registry:8081/?s3cret",
            "http://reader:s3cret@registry:port",
            "http://reader%3Ax:s3cret@registry:8081",
            "reader:s3cret@registry:8081",
        ],
    )
    def test_a_url_that_may_hold_a_password_is_not_shown(self, urls: str) -> None:
        with pytest.raises(UsageError) as caught:
            RegistryClient(urls)
        assert "s3c" not in str(caught.value)
        assert "(not shown, because it may contain a password)" in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None

    def test_credentials_given_twice_are_refused(self) -> None:
        with pytest.raises(UsageError, match="it has a user name, but credentials are also given"):
            RegistryClient("http://u:p@a:8081", auth=BasicAuth("u", Secret("p")))


class TestOptions:
    def test_a_time_out_of_nothing_is_refused(self) -> None:
        with pytest.raises(UsageError, match="The registry's time-outs must be longer than 0"):
            RegistryClient("http://a", read_timeout_s=0)

    def test_a_ca_file_that_is_not_there_or_holds_no_certificate_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "ca.pem").write_text("not PEM")
        with pytest.raises(UsageError, match=r"ca\.pem' for the registry cannot be used \(NO_CERTIFICATE"):
            RegistryClient("https://a", ca_file=str(tmp_path / "ca.pem"))
        with pytest.raises(UsageError, match=r"The CA file '/no/such\.pem' for the registry"):
            RegistryClient("https://a", ca_file="/no/such.pem")


class TestContextUrl:
    """`http://host/contexts/.ctx` (Confluent's `ContextFilter`, 7.0 on): what names no context is in that one."""

    @pytest.mark.parametrize("path", ["contexts/.ctx", "contexts/.ctx/", "base/contexts/ctx", "contexts/:.ctx:"])
    def test_its_own_subjects_are_called_as_they_are_asked_for(
        self, path: str, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        client = make_client(f"{server.url}/{path}")
        server.answers([":.ctx:a-value", ":.other:a-value", ":.ctx:"])
        assert client.subjects() == ("a-value", ":.other:a-value", ":.ctx:")
        version = {"subject": ":.ctx:a-value", "version": 1, "id": 1, "schema": '"int"'}
        server.answers(version)
        found = client.lookup("a-value", Schema(text='"int"'))
        assert not answered_elsewhere("a-value", found)
        server.answers([version])
        assert [one.subject for one in client.schemas()] == ["a-value"]
        server.answers([version])
        assert client.versions_of_id(1) == (SubjectVersion(subject=Subject("a-value"), version=1),)

    @pytest.mark.parametrize("path", ["", "contexts", "contexts/.", "contexts/:.:", "apis/ccompat/v7"])
    def test_elsewhere_a_qualified_name_stays_one(self, path: str, server: ScriptedRegistry) -> None:
        server.answers([":.ctx:a-value", ":.:a-value", "a-value"])
        assert RegistryClient(f"{server.url}/{path}").subjects() == (":.ctx:a-value", ":.:a-value", "a-value")

    def test_what_holds_for_all_is_asked_with_what_it_inherits(
        self, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        client = make_client(f"{server.url}/contexts/.ctx")
        server.answers({"compatibilityLevel": "BACKWARD"})
        server.answers({"mode": "READWRITE"})
        client.config()
        client.mode()
        assert server.targets == [
            "GET /contexts/.ctx/config?defaultToGlobal=true",
            "GET /contexts/.ctx/mode?defaultToGlobal=true",
        ]
