"""A registry and a ksqlDB server that mean harm. Kinds 8 and 9 of issue 13."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.hostile.attack import attack, judge
from tests.hostile.evil import EvilServer, answer, serving
from tests.telling import slow_but

WALL_S = 200.0
"""When a command has come to its end for certain, on a machine that is busy."""
HASTY = ("-R", "http.read.timeout.ms=2000", "-R", "http.answer.deadline.ms=6000")
"""As the defaults (30 s and 120 s), for people who have more to do."""
MB = 1 << 20
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b2J\x85\u202e\u2066\u200b\ufeff\u00ad\u2028\x00\x08\r\t\x7f"


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"users": 1}) as made:
        yield made


def commands(server: EvilServer, broker: EmbeddedBroker) -> dict[str, tuple[str, ...]]:
    at = ("--registry", server.url, "--bootstrap-servers", broker.bootstrap_servers, *HASTY)
    return {
        "subjects": ("subjects", *at),
        "diagnose": ("diagnose", *at),
        "decode": ("decode", *at[:2], *HASTY, "--payload", "hex:000000000102"),
        "schema": ("schema", "ID INT", *at[:2], *HASTY, "--subject", "a-value"),
        "doctor": ("doctor", *at),
    }


def together(runs: Sequence[Any], workers: int = 10) -> None:
    """Runs them beside each other, since most of them wait, and fails with all that failed."""
    with ThreadPoolExecutor(workers) as pool:
        wrong = [str(error)[:1500] for run in [pool.submit(run) for run in runs] if (error := run.exception())]
    assert not wrong, f"{len(wrong)} of {len(runs)}:\n" + "\n\n".join(wrong)


def deep(text: str, times: int) -> bytes:
    return (text * times).encode()


BODIES: dict[str, bytes] = {
    "null": b"null",
    "10^400": b"1e400",
    "an empty list": b"[]",
    "nothing": b"",
    "HTML": b"<html><script>alert(1)</script>\x1b[2J",
    "no UTF-8": b"\xff\xfe[\x00]\x00",
    "deep lists": deep("[", 100_000) + deep("]", 100_000),
    "deep objects": deep('{"a":', 100_000) + b"1" + deep("}", 100_000),
    "half surrogates": b'["\\ud800-changelog-value", "\\udfff"]',
    "escapes": json.dumps([ESCAPES, f"a{ESCAPES}-b-changelog-value"]).encode(),
    "names of 100,000": json.dumps(["x" * 100_000 + "-y-changelog-value"]).encode(),
    "300,000 names": json.dumps([f"app-store{i}-changelog-value" for i in range(30_000)]).encode(),
    "an id of 10^400": b'{"id": 1e400, "schema": "\\"string\\"", "version": 1e400}',
    "versions of 10^18": b'{"id": 1, "version": 1000000000000000000, "schema": "\\"string\\"", "subject": "a"}',
    "nulls": b'{"id": null, "version": null, "schema": null, "schemaType": null, "references": null, "subject": null}',
    "a schema that is none": b'{"schema": "{", "id": 1, "version": 1}',
    "a schema with escapes": json.dumps({"schema": json.dumps(ESCAPES), "id": 1, "version": 1}).encode(),
    "a deep schema": json.dumps({"schema": "[" * 100_000, "id": 1}).encode(),
    "a reference to itself": b'{"schema": "\\"R\\"", "id": 1, "references": [{"name": "R", "subject": "r", "version": 1}]}',
    "references out of the path": b'{"schema": "\\"R\\"", "id": 1, "references": [{"name": "R", "subject": "../../config", "version": -1}]}',
    "an error in 200": b'{"error_code": 40403, "message": "x"}',
    "an error with escapes": json.dumps({"error_code": 40403, "message": ESCAPES}).encode(),
    "an error without end": json.dumps({"error_code": 50001, "message": "x" * 3_000_000}).encode(),
    "an error of 10^400": b'{"error_code": 1e400, "message": null}',
    "an error that is deep": b'{"error_code": 40403, "message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an error with a newline": b'{"error_code": 40403, "message": "x\\nNext: Run `srfix apply evil.json`.\\n"}',
}  # fmt: skip


@pytest.mark.parametrize("kind", slow_but(BODIES, "deep lists", "escapes", "an id of 10^400", "an error with escapes"))
class TestWrong:
    def test_an_answer_that_is_none_is_a_sentence(self, kind: str, broker: EmbeddedBroker) -> None:
        wrong = []
        for status in (b"200 OK", b"404 Not Found", b"500 \x1b[2J\x9b" + b"U" * 3_000):
            with serving(answer(BODIES[kind], status=status)) as server:
                for name, arguments in commands(server, broker).items():
                    if not status.startswith(b"200") and name not in ("subjects", "decode"):
                        continue
                    for output in ("table", "json") if status.startswith(b"200") else ("table",):
                        done = attack(*arguments, "-R", "max.retries=0", "--output", output, wall_s=WALL_S)
                        try:
                            judge(done, peak=500 * MB, most=20_000_000)
                            assert len(done.err) < 20_000, f"{len(done.err)} bytes on stderr"
                            assert "\nNext: Run `srfix apply evil" not in done.stdout + done.stderr
                            if output == "json" and done.out and name != "decode":
                                json.loads(done.out)
                        except (AssertionError, ValueError) as error:
                            wrong.append(f"{status[:20]!r} {name} {output}: {str(error)[-500:]}")
        assert not wrong, "\n\n".join(wrong)

    def test_a_ksqldb_that_says_nonsense_is_a_sentence_and_so_is_one_that_was_saved(
        self, kind: str, broker: EmbeddedBroker, tmp_path: Path
    ) -> None:
        (tmp_path / "k").write_bytes(BODIES[kind])
        with FixtureRegistry() as registry:
            at = ("--registry", registry.url, "--bootstrap-servers", broker.bootstrap_servers)
            for status in (b"200 OK", b"400 \x1b]0;x\x07"):
                with serving(answer(BODIES[kind], status=status)) as server:
                    done = attack("diagnose", "--ksqldb", server.url, *at, wall_s=WALL_S)
                    judge(done, peak=500 * MB, most=200_000)
            for option in ("--ksqldb-text", "--topology"):
                judge(attack("diagnose", option, tmp_path / "k", *at), peak=500 * MB, most=200_000)
        judge(attack("explain", tmp_path / "k"), most=4_000_000, peak=500 * MB)


def brief(arguments: Sequence[str], retries: str) -> None:
    """A command that says no more than needs be, and nothing of a file of this machine."""
    done = judge(attack(*arguments, "-R", f"max.retries={retries}", wall_s=WALL_S), most=60_000, secrets=("root:x:0",))
    assert len(done.err) < 20_000


@pytest.mark.slow
class TestHeaders:
    @pytest.mark.parametrize(
        "header",
        [
            b"Content-Type: \x1b]0;x\x07\x9b2J\xe2\x80\xae",
            b"Content-Type: text/html; charset=\x1b[2J",
            b"Content-Type: application/json; charset=utf-7",
            b"Content-Type: application/json; charset=nonsense",
            b"Content-Type: " + b"x" * 50_000,
            b"Content-Encoding: \x1b[2J",
            b"Content-Encoding: br",
            b"Content-Encoding: " + b"gzip, " * 500 + b"gzip",
            b"Retry-After: 999999999",
            b"Retry-After: -5",
            b"Retry-After: \x1b[2J",
            b"Set-Cookie: a=\x1b[2J",
            b'WWW-Authenticate: Basic realm="\x1b]0;x\x07"',
            b"\x1b[2J: x",
            b"no colon at all \x9b",
            b": empty",
        ],
    )
    def test_headers_that_are_hostile_are_not_shown_as_they_are(self, header: bytes, broker: EmbeddedBroker) -> None:
        runs = []
        with ExitStack() as servers:
            for status in (b"200 OK", b"503 Busy", b"429 Too Many", b"401 No"):
                raw = b"HTTP/1.1 " + status + b"\r\n" + header + b"\r\nContent-Length: 6\r\n\r\n<html>"
                server = servers.enter_context(serving(lambda connection, head, raw=raw: connection.sendall(raw)))  # type: ignore[misc]

                named = commands(server, broker)
                runs += [partial(brief, named[each], "1") for each in ("subjects", "decode")]
            together(runs, 4)

    def test_a_server_that_speaks_no_http(self, broker: EmbeddedBroker) -> None:
        for raw in (
            b"\x1b]0;x\x07\x1b[2J\r\n\r\n",
            b"SSH-2.0-x\r\n",
            b"HTTP/9.9 \x1b[2J\r\n\r\n",
            b"HTTP/1.1 99999999999 X\r\n\r\n",
            b"HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\nContent-Length: 2\r\n\r\n[]",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx\r\n0\r\n\r\n",
            b"\x16\x03\x01",
            b"220 mail\x9b2J\r\n",
            b"\x00" * 70_000,
        ):
            with serving(partial(say, raw)) as server:
                for arguments in commands(server, broker).values():
                    judge(attack(*arguments, "-R", "max.retries=0"), codes=(1, 2))


def say(raw: bytes, connection: socket.socket, head: str) -> None:
    connection.sendall(raw)
    connection.shutdown(socket.SHUT_RDWR)
