"""What a server that calls itself ksqlDB may make a diagnosis hold, read and wait for."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterable, Iterator

import pytest

from srfix.recovery import KsqldbError
from srfix.recovery.ksqldb.answers import read_answer
from srfix.recovery.ksqldb.client import KsqldbClient, ksqldb_bounds
from srfix.serde import UsageError
from srfix.serde.bounds import AnswerBounds
from tests.recovery.ksqldb.server import ksqldb_server
from tests.serde.registry.hostile import answer, hostile_server, without_end

SMALL = AnswerBounds(body_bytes=100_000, head_bytes=10_000, json_parts=5_000, deadline_s=20.0)
BOMB, ZIPPED = gzip.compress(b" " * 10**7), "Content-Encoding: gzip"
Pieces = Callable[[], Iterable[bytes]]


def once(*pieces: bytes) -> Pieces:
    return lambda: pieces


def said(pieces: Pieces, bounds: AnswerBounds, *, pause_s: float = 0.0) -> str:
    with (
        hostile_server(pieces, pause_s=pause_s) as server,
        KsqldbClient(server.url.replace("://", "://user:s3cret@"), bounds=bounds) as client,
    ):
        with pytest.raises(KsqldbError) as caught:
            client.survey()
        assert caught.value.message.startswith(f"GET /info at {server.url} failed: ")
        assert "--ksqldb-config NAME=VALUE" in caught.value.message
        assert "--ksqldb-text" in caught.value.message
        assert "s3cret" not in caught.value.message
        assert server.requests == 1
    return caught.value.message


class TestSurvey:
    @pytest.mark.parametrize(
        ("pieces", "bound"),
        [
            (without_end(b"HTTP/1.1 200 OK\r\n\r\n", b"[" * 65_536), "http.answer.max.bytes"),
            (without_end(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 5000 + b"\r\n"), "http.answer.max.head.bytes"),
            *(
                pytest.param(once(whole), bound, marks=pytest.mark.slow)  # the server waits for one more request
                for whole, bound in (
                    (answer(BOMB, ZIPPED), "http.answer.max.bytes"),
                    (answer(BOMB, ZIPPED, "Location: /x", status="302 Found"), "http.answer.max.bytes"),
                    (answer(b"[" + b"{}," * 9000 + b"{}]"), "http.answer.max.parts"),
                )
            ),
        ],
    )
    def test_an_answer_beyond_a_bound_is_not_read_on(self, pieces: Pieces, bound: str) -> None:
        assert f"({bound})" in said(pieces, SMALL)

    def test_an_answer_that_drips_is_given_up(self) -> None:
        drips = without_end(answer(b"[", length=10**6), b" ")
        assert "not complete after 0.3 s" in said(drips, AnswerBounds(deadline_s=0.3), pause_s=0.05)

    @pytest.mark.parametrize(
        ("whole", "says"),
        [
            (answer(b"{}", "Location: /info", status="302 Found"), "refused GET /info: HTTP 302"),
            (answer(b"[" * 50_000), "with HTTP 200, but not with JSON"),  # deeper than Python reads
        ],
    )
    def test_a_redirect_is_not_followed_nor_deep_json_read(self, whole: bytes, says: str) -> None:
        with hostile_server(once(whole)) as server, KsqldbClient(server.url) as client:
            with pytest.raises(KsqldbError, match=says):
                client.survey()
            assert server.requests == 1


class TestAll:
    def test_a_question_asked_late_has_what_is_left_of_the_time(self) -> None:
        """Version and queries come at once; the description of the first source drips."""
        with ksqldb_server() as good:
            times = iter([0.0, 59.7])

            def pieces() -> Iterator[bytes]:
                number = server.requests
                if number == 1:
                    yield answer(json.dumps(good.info).encode())
                elif number == 2:
                    yield answer(json.dumps(good.answers["SHOW QUERIES EXTENDED;"]).encode())
                else:
                    yield answer(b"[", length=10**6)
                    while True:
                        time.sleep(0.02)  # a server that drips: nothing is waited for here
                        yield b" "

            with (
                hostile_server(pieces) as server,
                KsqldbClient(server.url, deadline_s=60, clock=lambda: next(times, 61.0)) as client,
            ):
                answers = client.survey()
        assert server.requests == 3
        assert "not complete after 0.3 s" in answers.problems[0]
        assert "60 s were not enough to ask ksqlDB for everything" in answers.problems[1]


class TestReadAnswer:
    @pytest.mark.slow
    def test_a_wide_answer_takes_as_long_as_it_is(self) -> None:
        """A million objects; taken from the front of a list each, they took minutes."""
        document = json.loads("[" + "{}," * 1_000_000 + "{}]")
        assert read_answer(document, origin="x").queries == ()


def test_each_bound_can_be_changed_and_no_other() -> None:
    bounds = ksqldb_bounds({"http.answer.max.bytes": "7", "http.answer.deadline.ms": "1500"})
    assert (bounds.body_bytes, bounds.deadline_s, bounds.json_parts) == (7, 1.5, 1_000_000)
    with pytest.raises(UsageError, match=r"^Unknown property http\.max of the ksqlDB client"):
        ksqldb_bounds({"http.max": "7"})
