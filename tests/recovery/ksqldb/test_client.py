"""Asking ksqlDB, over real HTTP."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from srfix.recovery import KsqldbError
from srfix.recovery.ksqldb.client import KsqldbClient
from srfix.recovery.ksqldb.models import ServerInfo, is_at_least
from srfix.serde import BasicAuth, UsageError
from tests.recovery.ksqldb.server import APPLICATION, KsqldbServer, assert_is_the_incident, ksqldb_server, query


@pytest.fixture
def server() -> Iterator[KsqldbServer]:
    with ksqldb_server() as running:
        yield running


@pytest.fixture
def client(server: KsqldbServer) -> Iterator[KsqldbClient]:
    with KsqldbClient(server.url) as opened:
        yield opened


class TestSurvey:
    @pytest.mark.core
    def test_a_query_comes_with_its_topology_state_error_and_the_topics_of_what_it_reads(
        self, client: KsqldbClient, server: KsqldbServer
    ) -> None:
        answers = client.survey()
        assert answers.server == ServerInfo(version="0.10.1", service_id="default_")
        assert_is_the_incident(answers)
        assert answers.application_of(answers.queries[0]) == APPLICATION
        # Nothing that changes anything.
        assert server.statements == ["SHOW QUERIES EXTENDED;", "DESCRIBE `S` EXTENDED;", "DESCRIBE `T` EXTENDED;"]

    def test_a_server_without_show_queries_extended_is_asked_to_explain(
        self, client: KsqldbClient, server: KsqldbServer
    ) -> None:
        del server.answers["SHOW QUERIES EXTENDED;"]
        answers = client.survey()
        assert answers.queries[0].topology is not None
        assert answers.queries[0].sources == ("S", "T")
        assert "EXPLAIN CSAS_J_0;" in server.statements
        (problem,) = answers.problems
        assert f"{server.url} refused POST /ksql: HTTP 400" in problem

    def test_a_source_that_is_refused_is_a_problem_and_the_others_are_asked(
        self, client: KsqldbClient, server: KsqldbServer
    ) -> None:
        del server.answers["DESCRIBE `S` EXTENDED;"]
        answers = client.survey()
        assert [found.name for found in answers.sources] == ["T"]
        assert [problem.partition(" http")[0] for problem in answers.problems] == ["DESCRIBE `S` EXTENDED;"]

    def test_no_name_becomes_a_statement(self, client: KsqldbClient, server: KsqldbServer) -> None:
        described = query(id="X; DROP TABLE T;", topology="", sources=["a`; DROP TABLE T; --"])
        server.answers["SHOW QUERIES EXTENDED;"] = [{"queryDescriptions": [described]}]
        client.survey()
        assert server.statements[1:] == ["DESCRIBE `a``; DROP TABLE T; --` EXTENDED;"]

    def test_what_does_not_fit_in_the_time_is_one_problem(self, server: KsqldbServer) -> None:
        ticks = iter(range(0, 1000, 40))
        with KsqldbClient(server.url, deadline_s=60, clock=lambda: next(ticks)) as client:
            answers = client.survey()
        assert [found.name for found in answers.sources] == ["S"]
        (problem,) = answers.problems
        assert "60 s were not enough to ask ksqlDB for everything" in problem

    def test_a_garbled_topology_is_a_problem_of_that_query(self, client: KsqldbClient, server: KsqldbServer) -> None:
        server.answers["SHOW QUERIES EXTENDED;"] = [{"queryDescriptions": [query(topology="none", sources=[])]}]
        del server.answers["EXPLAIN CSAS_J_0;"]
        answers = client.survey()
        assert answers.queries[0].topology is None
        assert "query CSAS_J_0 holds no printed topology" in answers.problems[0]

    def test_credentials_may_stand_in_the_url_and_are_in_no_message(self, server: KsqldbServer) -> None:
        server.password = "tr0ub4dor"
        with KsqldbClient(server.url.replace("://", "://reader:tr0ub4dor@")) as client:
            assert client.survey().server is not None
            assert "tr0ub4dor" not in repr(client) + client.url
            server.body = b'{"message": "you sent tr0ub4dor"}'
            server.info = None
            with pytest.raises(KsqldbError, match=r"HTTP 400, you sent \*\*\*$"):
                client.survey()

    def test_a_reference_to_a_password_is_read(self, server: KsqldbServer, monkeypatch: pytest.MonkeyPatch) -> None:
        server.password = "tr0ub4dor"
        monkeypatch.setenv("KSQLDB_PASSWORD", "tr0ub4dor")
        with KsqldbClient(server.url, auth=BasicAuth.parse("reader:env:KSQLDB_PASSWORD")) as client:
            assert client.survey().server is not None

    @pytest.mark.parametrize(
        ("answers", "said"),
        [
            ({"password": "tr0ub4dor"}, r"GET /info: HTTP 401\. Check the user and the password"),
            ({"info": {"hello": "world"}}, "so this is not a ksqlDB server"),
            ({"body": b"<html>"}, "with HTTP 200, but not with JSON"),
        ],
    )
    def test_another_answer_is_an_error_with_what_to_check(
        self, client: KsqldbClient, server: KsqldbServer, answers: dict[str, object], said: str
    ) -> None:
        for name, answer in answers.items():
            setattr(server, name, answer)
        with pytest.raises(KsqldbError, match=said):
            client.survey()

    @pytest.mark.parametrize(
        ("listens", "said"), [(False, "did not answer GET /info: no connection"), (True, "no answer in time")]
    )
    def test_nobody_there_and_silence_are_errors(self, listens: bool, said: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            if listens:
                taken.listen()
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            with KsqldbClient(url, read_timeout_s=0.1) as client, pytest.raises(KsqldbError, match=said):
                client.survey()

    def test_any_other_scheme_is_refused(self) -> None:
        with pytest.raises(UsageError, match="http://HOST:PORT or https://HOST:PORT"):
            KsqldbClient("ftp://x")


@pytest.mark.parametrize(
    ("version", "says"),
    [
        *((version, False) for version in ("0.12.9", "5.5.3", "6.0.9")),
        *((version, True) for version in ("0.13.0", "0.13", "v6.1.0-ccs")),
        *((version, None) for version in ("unknown", "")),
    ],
)
def test_ksqldbs_versions_and_confluent_platforms_are_compared_each_by_its_own(version: str, says: bool | None) -> None:
    assert is_at_least(version, ksqldb=(0, 13, 0), platform=(6, 1, 0)) is says
