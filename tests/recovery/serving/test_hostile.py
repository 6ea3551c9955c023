"""Requests that are odd, huge, slow or many: each gets an answer in words or is cut off, and others are answered."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from srfix.recovery.serving import guarding, starting
from srfix.recovery.serving.starting import Place
from tests.recovery.serving.conftest import Member


@pytest.fixture(scope="module")
def member(start_shared: Callable[..., Member]) -> Member:
    member = start_shared()
    member.produce(
        ("k1", '{"NAME": "one"}'), ("21", '{"NAME": "number"}'), ("[1", '{"NAME": "bracket"}'), (b"\xff", "x")
    )
    member.produce(("a/b", '{"NAME": "slash"}'), ("null", '{"NAME": "null"}'))
    member.catch_up()
    return member


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("k%31", "one"),
        ("21", "number"),
        ("%5B1", "bracket"),
        ("a/b", "slash"),
        ("a%2Fb", "slash"),
        ("null", "null"),
        ("text:21", "number"),
        ("hex:6b31", "one"),
    ],
)
def test_odd_keys_are_found(member: Member, key: str, name: str) -> None:
    response = member.http.get(f"/stores/users/keys/{key}")
    assert response.status_code == 200, response.text
    assert [row["value"]["NAME"] for row in response.json()["rows"]] == [name]


def test_a_client_that_goes_away_in_the_middle_of_its_request_is_no_fault(member: Member) -> None:
    sent: list[object] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/pieces", "headers": [], "query_string": b""}
    asyncio.run(member.http.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent


def test_an_encoded_slash_before_the_key_is_a_slash(member: Member) -> None:
    odd, plain = (member.http.get(path).json() for path in ("/stores/users%2Fkeys/a/b", "/stores/users/keys/a/b"))
    assert odd["rows"] == plain["rows"] != []


def test_a_key_of_bytes_that_are_no_text_is_found(member: Member) -> None:
    (row,) = member.http.get("/stores/users/keys/%FF").json()["rows"]
    assert row["key"] == {"$raw": "/w==", "text": None} or row["errors"]
    assert member.http.get("/stores/users/keys?prefix=%FF").json()["rows"] == [row]


@pytest.mark.parametrize(
    "path",
    [
        "/stores/users/keys/" + "%5B" * 5_000,
        "/stores/users/keys/" + "%7B%22a%22%3A" * 2_000,
        "/stores/users/keys/%00%01",
        "/stores/users/keys/" + "x" * 20_000,
        "/stores/%2e%2e/keys/k",
        "/stores/users%2Fkeys/k1",
        "/stores/users/keys%2Fk1",
        "/stores/users/keys/",
        "/stores/users/keys//",
        "//stores/users/keys/k1",
        "/stores/users/keys/k?min_position=" + "A" * 9_000,
        "/stores/users/all?limit=99999999999999999999",
        "/stores/users/keys/k?timeout=nan",
        "/stores/users/keys/k?timeout=inf",
        "/stores/users/keys/k?at=" + "9" * 5_000,
        "/stores/users/keys/k?max_lag=99999999999999999s",
        "/stores/users/keys?prefix=%ED%A0%80",
        "/look?store=users&key=%00",
    ],
)
def test_odd_paths_have_an_answer(member: Member, path: str) -> None:
    assert member.http.get(path).status_code in (200, 400, 404)


@pytest.mark.parametrize("path", ["/query", "/query-stream", "/heartbeat", "/lag", "/pieces"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"null",
        b"[" * 50_000,
        b'{"ksql":"x","streamsProperties":' + b"[" * 50_000,
        b'{"ksql": 5}',
        b'{"hostInfo": "x", "timestamp": 1e400}',
        b'{"member": "x", "lags": {"users": {"99999999999999999999999": null}}}',
        b'{"store":"users","question":{},"freshness":{},"partitions":[],"deadline":-1e999}',
    ],
)
def test_odd_bodies_have_an_answer(member: Member, path: str, body: bytes) -> None:
    assert member.http.post(path, content=body).status_code in (200, 400)


def test_what_one_asks_for_in_bytes_does_not_change_a_pull_query(member: Member) -> None:
    sql = {"ksql": "SELECT NAME FROM users WHERE ID = 'k1';"}
    answer = member.http.post("/query", json=sql, headers={"accept": "application/octet-stream"})
    assert answer.json()[1]["row"]["columns"] == ["one"]


@contextmanager
def listening(member: Member, tls: str | None = None, idle_s: int = 5) -> Iterator[tuple[str, int]]:
    """The member on a real socket; with TLS by a file with a certificate and its key."""
    place = Place(listen=("127.0.0.1", 0), tls_certificate=tls, tls_key=tls)
    taken = starting._listening(place)
    server: uvicorn.Server = starting._server(member.api, place)
    server.config.lifespan = "off"
    server.config.timeout_keep_alive = idle_s
    thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
    thread.start()
    try:
        yield taken.getsockname()[:2]
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def _until_closed(client: socket.socket, send: bytes = b"", *, within_s: float = 8) -> bytes:
    """What comes until the server closes; `send` is repeated meanwhile."""
    client.settimeout(0.1)
    received, until_s = b"", time.monotonic() + within_s
    while time.monotonic() < until_s:
        try:
            if send:
                client.sendall(send)
            data = client.recv(65_536)
        except TimeoutError:
            continue
        except OSError:
            return received
        if not data:
            return received
        received += data
    raise AssertionError(f"it was not cut off: {received[:200]!r}")


def test_slow_and_huge_clients_are_cut_off_while_others_are_answered(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarding, "_HEAD_S", 1.0)
    monkeypatch.setattr(guarding, "_BODY_S", 1.0)
    with listening(member) as address, httpx.Client(base_url=f"http://{address[0]}:{address[1]}") as http:
        assert http.get("/stores/users/keys/k1").status_code == 200
        clients = {
            "says nothing": (b"", b""),
            "slow head": (b"GET /stores HTTP/1.1\r\n", b"x: y\r\n"),
            "one endless header": (b"GET /stores HTTP/1.1\r\nx: ", b"y" * 60_000),
            "slow second head": (b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /stores HTTP/1.1\r\n", b"x: y\r\n"),
            "slow body": (b"POST /query HTTP/1.1\r\ncontent-length: 9999\r\n\r\n", b"x"),
        }
        for name, (first, then) in clients.items():
            with socket.create_connection(address) as client:
                client.sendall(first)
                answer = _until_closed(client, then) if name != "slow body" else _answered(client, then)
                assert b" 200 OK" in answer or b" 408 " in answer or not answer, name
        assert http.get("/stores/users/keys/k1").status_code == 200


@pytest.mark.parametrize("is_slow", [True, False], ids=["reads no more", "goes away"])
def test_an_answer_that_nobody_reads_ends_and_lets_go_what_it_holds(
    monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    monkeypatch.setattr(guarding, "_GRACE_S", 0.1)
    closed = []

    async def body() -> AsyncGenerator[bytes]:
        try:
            while True:
                yield b"row"
        finally:
            closed.append(1)

    async def answer() -> None:
        sent = 0

        async def send(_message: object) -> None:
            nonlocal sent
            sent += 1
            if sent > 3:
                await asyncio.sleep(60)

        async def receive() -> dict[str, object]:
            if is_slow:
                await asyncio.sleep(60)
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        response = guarding.Streamed(body(), media_type="text/plain", most_s=0.2)
        await asyncio.wait_for(response({"type": "http"}, receive, send), 5)

    asyncio.run(answer())
    assert closed == [1]


def test_headers_have_an_end(member: Member) -> None:
    with listening(member) as address, socket.create_connection(address) as client:
        client.sendall(b"GET /stores HTTP/1.1\r\nx: ")
        _until_closed(client, b"y" * 60_000, within_s=5)


def _answered(client: socket.socket, send: bytes) -> bytes:
    client.settimeout(0.1)
    until_s = time.monotonic() + 8
    while time.monotonic() < until_s:
        try:
            client.sendall(send)
            return client.recv(65_536)
        except TimeoutError:
            continue
    raise AssertionError("there was no answer")
