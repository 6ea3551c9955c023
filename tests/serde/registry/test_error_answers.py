"""From an error answer to its class, and what is no registry's answer at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import RegistryClient, Schema
from srfix.serde.schemas.errors import (
    ERRORS_BY_CODE,
    ForbiddenError,
    RegistryAnswerError,
    RegistryProtocolError,
    SubjectNotFoundError,
    SubjectNotSoftDeletedError,
    UnauthorizedError,
    answer_error_class,
)
from tests.examples import examples
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

DOCUMENTED = [
    401, 403, 404, 409,
    *range(40401, 40411),
    40901, 40902, 40903, 40904, 40905, 40907, 40908,
    *range(42201, 42213),
    *range(50001, 50005),
]  # fmt: skip


class TestAnswerErrorClass:
    @pytest.mark.parametrize("code", DOCUMENTED)
    def test_every_documented_code_has_a_class_with_advice(self, code: int) -> None:
        kind = answer_error_class(code if code < 1000 else code // 100, code)
        assert kind is not RegistryAnswerError
        assert kind.advice.endswith(".")

    def test_the_table_holds_nothing_else(self) -> None:
        assert sorted(ERRORS_BY_CODE) == DOCUMENTED

    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            (409, 40405, SubjectNotSoftDeletedError),  # Apicurio
            (401, 40101, UnauthorizedError),
            (403, 40301, ForbiddenError),
            *(
                (status, code, RegistryAnswerError)
                for status, code in ((404, 40499), (405, 405), (418, 41801), (500, 0))
            ),
        ],
    )
    def test_the_bodys_code_decides_then_the_status(
        self, status: int, code: int, kind: type[RegistryAnswerError]
    ) -> None:
        assert answer_error_class(status, code) is kind


class TestErrorAnswers:
    def test_the_message_says_what_where_and_what_next(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.fails(404, 40401, "Subject 'a/b-value' not found.")
        with pytest.raises(SubjectNotFoundError) as caught:
            client.versions("a/b-value")
        assert "was answered with error 40401 (HTTP 404): Subject 'a/b-value' not found." in str(caught.value)
        assert caught.value.status == 404
        assert caught.value.error_code == 40401
        assert caught.value.registry_message == "Subject 'a/b-value' not found."
        assert caught.value.url == f"{server.url}/subjects/a%2Fb-value/versions"

    def test_a_message_that_is_a_list_is_shown_as_json(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        """Karapace's 422 for a body that it does not know."""
        server.answers({"error_code": 422, "message": [{"loc": ["body", "schema"], "msg": "Missing"}]}, status=422)
        with pytest.raises(RegistryAnswerError, match=r'\(HTTP 422\): \[\{"loc": \["body", "schema"\],'):
            client.register("s", Schema(text=""))

    @pytest.mark.parametrize(("status", "kind"), [(401, UnauthorizedError), (403, ForbiddenError)])
    @pytest.mark.parametrize("body", [b"", b"<html>Log in</html>", b"null"])
    def test_401_and_403_speak_for_themselves_whatever_the_body(
        self,
        status: int,
        kind: type[Exception],
        body: bytes,
        server: ScriptedRegistry,
        client: RegistryClient,
    ) -> None:
        server.answers(body, status=status, content_type="text/html")
        with pytest.raises(kind, match=rf"/subjects was answered with error {status} \(HTTP {status}\)\. "):
            client.subjects()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=8,
)
ANSWER_KEYS = (
    "subject", "version", "id", "schema", "schemaType", "references", "mode", "is_compatible", "messages",
    "compatibilityLevel", "error_code", "message",
)  # fmt: skip
answer_like = st.fixed_dictionaries({}, optional=dict.fromkeys(ANSWER_KEYS, json_values))
READS: list[Callable[[RegistryClient], object]] = [
    lambda client: client.schema_by_id(1),
    lambda client: client.lookup("s", Schema(text="{}")),
    lambda client: client.subjects(),
    lambda client: client.versions("s"),
    lambda client: client.config("s"),
    lambda client: client.effective_compatibility("s"),
    lambda client: client.mode("s"),
    lambda client: client.check_compatibility("s", Schema(text="{}")),
    lambda client: client.register("s", Schema(text="{}")),
]


@pytest.mark.slow
class TestAnyAnswer:
    @given(
        body=json_values | answer_like | st.binary(max_size=20),
        status=st.sampled_from([200, 204, 302, 400, 401, 404, 409, 422, 500, 503, 599]),
        read=st.sampled_from(READS),
    )
    @settings(deadline=None, max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_it_is_a_value_or_one_of_our_errors(
        self,
        body: object,
        status: int,
        read: Callable[[RegistryClient], object],
        server: ScriptedRegistry,
        make_client: MakeClient,
    ) -> None:
        server.answers(b"" if status == 204 else body, status=status)
        server.answers({"compatibilityLevel": "FULL"})
        ours = contextlib.suppress(RegistryAnswerError, RegistryProtocolError)
        with make_client(attempts=1, cache_capacity=0) as client, ours:
            read(client)
        server.forget()


class TestForeignAnswers:
    def test_a_proxys_page_is_shown_with_status_type_and_beginning(
        self, server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        page = b"<!DOCTYPE html>\r\n<html>\n  <title>Corporate\x00 proxy</title>" + b"x" * 500
        server.answers(page, content_type="text/html; charset=utf-8")
        with pytest.raises(RegistryProtocolError) as caught:
            client.subjects()
        assert "its body is not JSON (HTTP 200, text/html; charset=utf-8)" in str(caught.value)
        assert "'<!DOCTYPE html> <html> <title>Corporate proxy</title>xx" in str(caught.value)
        assert caught.value.status == 200
        assert caught.value.content_type == "text/html; charset=utf-8"
        assert len(caught.value.beginning) == 80

    @pytest.mark.parametrize(
        ("status", "body", "problem"),
        [
            (404, b"", "it is an error without a body"),  # Apicurio's answer to a path that it does not know
            (404, b'"Not Found"', "it is an error without an error_code"),  # Karapace's
            (404, b'{"error_code":"40401","message":"no"}', "it is an error without an error_code"),
            (502, b"<html>Bad Gateway", "it is an error whose body is not JSON"),
            (200, b"\xff\xfe\x00", "its body is not JSON"),
            (200, b"[" * 100_000, "its body is not JSON"),
            (200, b"NaN,", "its body is not JSON"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, status: int, body: bytes, problem: str, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.answers(body, status=status)
        with pytest.raises(RegistryProtocolError, match=rf": {problem} \(HTTP {status}"):
            make_client(attempts=1).subjects()
