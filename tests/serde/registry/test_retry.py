"""Attempts, waits, fail-over: what happens when a URL does not answer, or says to come back later."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import RegistryClient, RetryPolicy, Schema, UsageError
from srfix.serde.registry.http.retry import retry_after_s
from srfix.serde.schemas.errors import (
    ForwardingError,
    OperationNotPermittedError,
    RegistryAnswerError,
    RegistryProtocolError,
    RegistryUnreachableError,
    StoreError,
    SubjectNotFoundError,
    UnknownLeaderError,
)
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry


class TestRetryPolicy:
    @pytest.mark.parametrize(
        "wrong", [{"max_attempts": 0}, {"initial_wait_s": -1.0}, {"max_wait_s": -0.5}, {"leader_patience_s": -1.0}]
    )
    def test_numbers_that_make_no_sense_are_refused(self, wrong: dict[str, float]) -> None:
        with pytest.raises(UsageError, match="A retry policy needs at least one attempt and"):
            RetryPolicy(**wrong)  # type: ignore[arg-type]


class TestAttempts:
    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 507])
    def test_a_status_that_may_pass_is_repeated(
        self, status: int, server: ScriptedRegistry, client: RegistryClient, waits: list[float]
    ) -> None:
        server.fails(status, status)
        server.answers(["a-value"])
        assert client.subjects() == ("a-value",)
        assert len(waits) == 1

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 406, 409, 413, 422])
    def test_a_status_that_stays_is_not_repeated(
        self, status: int, server: ScriptedRegistry, client: RegistryClient, waits: list[float]
    ) -> None:
        server.fails(status, status)
        with pytest.raises(RegistryAnswerError):
            client.subjects()
        assert (len(server.seen), waits) == (1, [])

    def test_a_cut_connection_is_repeated(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.cuts()
        server.answers(["a-val"], cut="within")
        server.answers(["a-value"])
        assert client.subjects() == ("a-value",)
        assert len(server.seen) == 3

    def test_the_wait_is_random_up_to_a_doubling_limit(
        self, server: ScriptedRegistry, make_client: MakeClient, waits: list[float]
    ) -> None:
        server.always({"error_code": 50001, "message": "no"}, status=500)
        client = make_client(attempts=6, max_wait_s=5.0)
        for _ in range(20):
            with pytest.raises(StoreError):
                client.subjects()
        for repetition, limit in enumerate([1, 2, 4, 5, 5]):
            drawn = waits[repetition::5]
            assert all(0 <= wait <= limit for wait in drawn)
            assert max(drawn) > 0.6 * limit, "waits do not use the window"
            assert min(drawn) < 0.4 * limit, "waits have no full jitter"


@pytest.mark.core
class TestRetryAfter:
    @pytest.mark.parametrize(("header", "wait"), [("3", 3.0), ("0", 0.0), ("86400", 20.0)])
    def test_seconds_replace_the_random_wait_up_to_the_longest(
        self, header: str, wait: float, server: ScriptedRegistry, client: RegistryClient, waits: list[float]
    ) -> None:
        server.fails(429, 429, headers={"Retry-After": header})
        server.answers([])
        client.subjects()
        assert waits == [wait]

    def test_a_date_is_measured_from_the_answers_own_date_or_from_the_clock(self) -> None:
        headers = {"Date": "Wed, 21 Oct 2015 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2015 07:28:07 GMT"}
        assert retry_after_s(headers, clock=lambda: 0.0) == 7.0
        headers = {"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}
        assert retry_after_s(headers, clock=lambda: 90.0) == 10.0
        assert retry_after_s(headers, clock=lambda: 900.0) == 0.0

    @given(header=st.text(alphabet=st.characters(codec="latin-1"), max_size=30))
    def test_whatever_a_server_sends_is_a_wait_or_nothing(self, header: str) -> None:
        asked = retry_after_s({"Retry-After": header}, clock=lambda: 0.0)
        assert asked is None or asked >= 0


class TestPatience:
    """A registry that is up before it can write: Karapace needs 15 s, an election takes its time."""

    @pytest.mark.parametrize(("status", "code"), [(500, 50003), (503, 50004), (500, 50004)])
    def test_a_write_waits_for_a_leader_beyond_the_attempts(
        self, status: int, code: int, server: ScriptedRegistry, make_client: MakeClient, waits: list[float]
    ) -> None:
        for _ in range(12):
            server.fails(status, code)
        server.answers({"id": 7})
        assert make_client(attempts=2, max_wait_s=2.0, patience_s=30.0).register("s", Schema(text='"int"')) == 7
        assert all(0.25 <= wait <= 2.0 for wait in waits)

    def test_it_gives_up_when_the_waits_add_up_to_its_patience(
        self, server: ScriptedRegistry, make_client: MakeClient, waits: list[float]
    ) -> None:
        server.always({"error_code": 50003, "message": "no master"}, status=500)
        with pytest.raises(ForwardingError):
            make_client(attempts=2, patience_s=15.0).register("s", Schema(text='"int"'))
        assert sum(waits) == pytest.approx(15.0)
        waits.clear()
        server.always({"error_code": 50004, "message": "no"}, status=503)
        for _ in range(200):
            server.fails(503, 50004, headers={"Retry-After": "0"})
        with pytest.raises(UnknownLeaderError):
            make_client(patience_s=5.0).register("s", Schema(text='"int"'))
        assert waits == [0.25] * 20
        assert RetryPolicy().leader_patience_s == 30

    def test_a_read_and_another_error_are_not_waited_for(
        self, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.always({"error_code": 50004, "message": "no"}, status=503)
        with pytest.raises(UnknownLeaderError):
            make_client(attempts=2, patience_s=30.0).subjects()
        assert len(server.seen) == 2
        server.always({"error_code": 50001, "message": "no"}, status=500)
        with pytest.raises(StoreError):
            make_client(attempts=2, patience_s=30.0).delete_config("s")
        assert len(server.seen) == 4


class TestFailOver:
    @pytest.mark.parametrize(("status", "code"), [(422, 42205), (500, 50003), (503, 50004)])
    def test_a_write_that_a_follower_refuses_goes_to_the_leader_and_so_do_later_requests(
        self,
        status: int,
        code: int,
        server: ScriptedRegistry,
        other_server: ScriptedRegistry,
        make_client: MakeClient,
        waits: list[float],
    ) -> None:
        server.fails(status, code)
        other_server.answers({"id": 7})
        other_server.answers(["a-value"])
        client = make_client(server.url, other_server.url)
        assert client.register("s", Schema(text='"int"')) == 7
        assert client.subjects() == ("a-value",)
        assert (len(server.seen), waits) == (1, [])

    def test_what_every_node_refuses_is_refused_at_once(
        self, server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        for node in (server, other_server):
            node.always({"error_code": 42205, "message": "no"}, status=422)
        with pytest.raises(OperationNotPermittedError):
            make_client(server.url, other_server.url).register("s", Schema(text='"int"'))
        assert (len(server.seen), len(other_server.seen)) == (1, 1)

    def test_a_leader_that_is_being_elected_is_waited_for_beside_a_follower(
        self, server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.fails(500, 50003)
        other_server.always({"error_code": 42205, "message": "no"}, status=422)
        server.answers({"id": 7})
        client = make_client(server.url, other_server.url)
        assert client.register("s", Schema(text='"int"')) == 7
        server.fails(404, 40401)
        with pytest.raises(SubjectNotFoundError):  # an answer, and no reason to ask another
            client.versions("a-value")
        assert len(other_server.seen) == 1

    @pytest.mark.parametrize("status", [502, 503, 504])
    def test_the_next_url_is_asked_at_once_when_one_refuses_or_is_out_of_work(
        self,
        status: int,
        closed_port: int,
        server: ScriptedRegistry,
        other_server: ScriptedRegistry,
        make_client: MakeClient,
        waits: list[float],
    ) -> None:
        server.answers(b"<html>Bad Gateway</html>", status=status, content_type="text/html")
        other_server.answers(["a-value"])
        urls = f"http://127.0.0.1:{closed_port}", server.url, other_server.url
        assert make_client(*urls).subjects() == ("a-value",)
        assert waits == []

    def test_it_stays_with_the_url_that_answered_last(
        self, server: ScriptedRegistry, other_server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        client = make_client(server.url, other_server.url)
        server.cuts()
        other_server.always([])
        client.subjects()
        client.subjects()
        assert (len(server.seen), len(other_server.seen)) == (1, 2)
        other_server.cuts()
        server.always([])
        client.subjects()
        client.subjects()
        assert (len(server.seen), len(other_server.seen)) == (3, 3)

    def test_every_url_is_listed_with_its_reason_when_none_answers(
        self,
        closed_port: int,
        server: ScriptedRegistry,
        other_server: ScriptedRegistry,
        make_client: MakeClient,
    ) -> None:
        server.fails(503, 50004, "Unknown leader.")
        other_server.answers(b"<html>", status=502, content_type="text/html")
        urls = f"http://127.0.0.1:{closed_port}", server.url, other_server.url, "http://registry.invalid:8081"
        with pytest.raises(RegistryUnreachableError) as caught:
            make_client(*urls, attempts=1).subjects()
        for words in ("connection refused", "HTTP 503, error 50004", "HTTP 502, not a schema registry's", "(DNS)"):
            assert words in str(caught.value)
        assert [url for url, _ in caught.value.failures] == list(urls)


class TestUnreachable:
    def test_a_refused_connection_says_so(self, closed_port: int, make_client: MakeClient, waits: list[float]) -> None:
        with pytest.raises(RegistryUnreachableError, match=r"in 4 attempts: .*: connection refused") as caught:
            make_client(f"http://127.0.0.1:{closed_port}").subjects()
        assert len(waits) == 3
        assert not caught.value.outcome_unknown
        with pytest.raises(RegistryUnreachableError) as caught:
            make_client(f"http://127.0.0.1:{closed_port}").delete_config("a-value")
        assert "may have taken effect" not in str(caught.value)

    def test_silence_is_a_time_out(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        server.answers([], held_until=threading.Event())
        with pytest.raises(RegistryUnreachableError, match=r": no answer within 0\.2 s \(time-out\)\. ") as caught:
            make_client(attempts=1, read_timeout_s=0.2).subjects()
        assert caught.value.outcome_unknown

    def test_a_write_without_an_answer_says_that_it_may_have_taken_effect(
        self, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        server.answers([], cut="within")
        with pytest.raises(RegistryUnreachableError, match=r"connection was cut .* write may have taken effect"):
            make_client(attempts=1).delete_config("a-value")


class TestTls:
    def test_an_unknown_certificate_is_named_and_not_tried_again(
        self, tls_server: ScriptedRegistry, make_client: MakeClient, waits: list[float]
    ) -> None:
        with pytest.raises(RegistryUnreachableError, match=r": its TLS certificate is not accepted \(unable"):
            make_client(tls_server.url).subjects()
        assert waits == []

    def test_https_to_a_plain_port_asks_for_http(self, server: ScriptedRegistry, make_client: MakeClient) -> None:
        with pytest.raises(
            RegistryUnreachableError, match=r": TLS failed \(.+\); maybe the URL must begin with http:// instead of"
        ):
            make_client(server.url.replace("http:", "https:")).subjects()

    def test_a_connection_that_is_cut_within_tls_is_repeated_as_any_other(
        self, tls_server: ScriptedRegistry, ca_file: str, make_client: MakeClient
    ) -> None:
        tls_server.cuts()
        tls_server.answers(["a-val"], cut="within")
        tls_server.answers(["a-value"])
        assert make_client(tls_server.url, ca_file=ca_file).subjects() == ("a-value",)

    def test_a_ca_file_that_went_away_is_named(
        self, tls_server: ScriptedRegistry, ca_file: str, make_client: MakeClient, waits: list[float]
    ) -> None:
        client = make_client(tls_server.url, ca_file=ca_file)
        Path(ca_file).unlink()
        with pytest.raises(RegistryUnreachableError, match=re.escape(ca_file)):
            client.subjects()
        assert waits == []


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_not_followed_and_its_target_is_named(
        self, status: int, server: ScriptedRegistry, other_server: ScriptedRegistry, client: RegistryClient
    ) -> None:
        server.answers(b"", status=status, content_type=None, headers={"Location": f"{other_server.url}/subjects"})
        with pytest.raises(RegistryProtocolError, match=rf"it redirects to {re.escape(other_server.url)}/subjects"):
            client.subjects()
        assert other_server.seen == []
