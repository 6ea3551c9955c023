"""HTTP/2, which is all that ksqlDB's Java client speaks: on the same port, with the same limits."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import trustme
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, Event, ResponseReceived, StreamEnded, StreamReset
from h2.settings import SettingCodes
from hyperframe.frame import ContinuationFrame, Frame, HeadersFrame, PingFrame

from srfix.recovery.serving import guarding, http2, starting
from srfix.recovery.serving.guarding import MOST_BODY, Credentials
from srfix.recovery.serving.questions import Piece
from tests.recovery.serving.conftest import Member
from tests.recovery.serving.test_hostile import listening
from tests.recovery.serving.test_ksql import _with_people

Address = tuple[str, int]
SQL = {
    "sql": "SELECT * FROM users WHERE ID = 'ann';",
    "properties": {},
    "sessionVariables": {},
    "requestProperties": {},
}
HEADERS = [(":method", "GET"), (":path", "/stores/users/keys/ann"), (":scheme", "http"), (":authority", "x")]


POST = [(":method", "POST"), (":path", "/query"), *HEADERS[2:]]


@pytest.fixture(scope="module")
def member(start_shared: Callable[..., Member]) -> Member:
    return _with_people(start_shared)


@pytest.fixture
def address(member: Member) -> Iterator[Address]:
    with listening(member, idle_s=1) as address:
        yield address
        with httpx.Client() as http:  # whatever was done
            assert http.get(f"http://{address[0]}:{address[1]}/stores/users/keys/ann").status_code == 200


def _client(address: Address) -> httpx.Client:
    return httpx.Client(http1=False, http2=True, base_url=f"http://{address[0]}:{address[1]}")


def _until(condition: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 8
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@dataclass
class Odd:
    """A client that does what a good one does not."""

    socket: socket.socket
    frames: H2Connection = field(default_factory=lambda: H2Connection(H2Configuration(validate_outbound_headers=False)))

    def send(self, *frames: Frame) -> None:
        self.socket.sendall(self.frames.data_to_send() + b"".join(frame.serialize() for frame in frames))

    def ask(self, headers: Sequence[tuple[str, str]] = HEADERS, *, ends: bool = True) -> int:
        number = self.frames.get_next_available_stream_id()
        self.frames.send_headers(number, headers, end_stream=ends)
        return number

    def hear(self, until: type[Event], within_s: float = 8.0) -> list[Event]:
        """What comes until something does, or the server closes."""
        self.socket.settimeout(within_s)
        heard: list[Event] = []
        try:
            while not any(isinstance(event, until) for event in heard):
                data = self.socket.recv(65_536)
                if not data:
                    return [*heard, ConnectionTerminated()]
                heard += self.frames.receive_data(data)
                self.socket.sendall(self.frames.data_to_send())
        except ConnectionError:
            heard.append(ConnectionTerminated())
        return heard


@contextmanager
def odd(address: Address) -> Iterator[Odd]:
    with socket.create_connection(address) as connected:
        client = Odd(connected)
        client.frames.initiate_connection()
        client.send()
        yield client


def test_a_pull_query(address: Address) -> None:
    with _client(address) as client:
        for _ in range(3):
            answer = client.post("/query-stream", content=json.dumps(SQL))
            assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
            assert json.loads(answer.text.splitlines()[1]) == ["ann", "ANN", 30]
        assert client.request("GET", "/info", content=b"{}").json()["KsqlServerInfo"]["ksqlServiceId"] == "srfix"


def test_a_long_answer_is_that_of_http_1(start: Callable[..., Member]) -> None:
    member = start()
    member.produce(*((f"k{number}", json.dumps({"NAME": "x" * 9_000})) for number in range(200)))
    member.catch_up()
    with listening(member) as address, _client(address) as client:
        for path in ("/stores/users/all", "/stores/users/keys/k7"):
            answer = client.get(path)
            assert answer.json()["rows"] == member.http.get(path).json()["rows"]
            assert (client.head(path).status_code, client.head(path).content) == (200, b"")


def test_a_request_is_no_larger(address: Address) -> None:
    with _client(address) as client:
        assert client.post("/query-stream", content=b"x" * (MOST_BODY + 1)).status_code == 413


def test_credentials_are_asked_for(start: Callable[..., Member]) -> None:
    with listening(start(credentials=Credentials("Bearer secret"))) as address, _client(address) as client:
        assert client.get("/stores").status_code == 401
        assert client.get("/stores", headers={"authorization": "Bearer secret"}).status_code == 200


def test_a_connection_too_many_is_answered_so(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "_MOST_CONNECTIONS", 2)
    with listening(member) as address, _client(address) as client:
        assert client.get("/healthz").status_code == 200
        with httpx.Client(base_url=f"http://{address[0]}:{address[1]}") as http1, _client(address) as another:
            assert http1.get("/healthz").status_code == 503
            assert another.get("/healthz").status_code == 503
        _until(lambda: client.get("/healthz").status_code == 200)


def test_with_tls_the_client_may_choose(member: Member, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with listening(member, str(tmp_path / "server.pem")) as address:
        for version in ("HTTP/2", "HTTP/1.1"):
            with httpx.Client(http2=version == "HTTP/2", verify=trusting) as client:
                answer = client.post(f"https://{address[0]}:{address[1]}/query-stream", json=SQL)
                assert (answer.status_code, answer.http_version) == (200, version)


def test_both_versions_have_one_port(address: Address) -> None:
    assert httpx.post(f"http://{address[0]}:{address[1]}/query-stream", json=SQL).http_version == "HTTP/1.1"


def test_a_slow_request_is_refused(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "_BODY_S", 0.2)
    with odd(address) as client:
        client.ask(POST, ends=False)
        client.send()
        (answer,) = (event for event in client.hear(ResponseReceived) if isinstance(event, ResponseReceived))
        assert dict(answer.headers or ())[b":status"] == b"408"


def test_what_is_taken_back_harms_nothing_else(address: Address) -> None:
    with odd(address) as client:
        for _ in range(50):
            client.frames.reset_stream(client.ask(POST, ends=False))
            client.send()
        number = client.ask()
        client.send()
        assert [event.stream_id for event in client.hear(StreamEnded) if isinstance(event, StreamEnded)] == [number]


def test_an_answer_that_nobody_reads_ends(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2, "_ANSWER_S", 0.5)
    with odd(address) as client:
        client.frames.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
        client.ask()
        client.send()
        heard = client.hear(StreamReset)
        assert not any(isinstance(event, DataReceived | StreamEnded) for event in heard)
        assert isinstance(heard[-1], StreamReset)


def test_a_broken_off_answer_is_not_taken_for_a_whole_one(
    address: Address, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pieces(*_: object) -> AsyncGenerator[Piece]:
        yield Piece(partition=0, done=False)
        await asyncio.sleep(60)

    monkeypatch.setattr(member.api.gathering, "pieces", pieces)
    monkeypatch.setattr(guarding, "_GRACE_S", 0.1)
    with _client(address) as client, pytest.raises(httpx.RemoteProtocolError):
        client.get("/stores/users/all?timeout=0.2")
    monkeypatch.undo()


@pytest.mark.parametrize("is_asking", [False, True])
def test_the_end_of_the_server_is_that_of_the_connection(
    member: Member, monkeypatch: pytest.MonkeyPatch, is_asking: bool
) -> None:
    monkeypatch.setattr(starting, "_GRACE_S", 1)
    with ExitStack() as after:
        with listening(member) as address:
            client = after.enter_context(odd(address))
            client.ask()
            client.send()
            client.hear(StreamEnded)
            if is_asking:
                client.ask(POST, ends=False)
                client.send()
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 4
        assert isinstance(client.hear(ConnectionTerminated)[-1], ConnectionTerminated)


def _asks_nothing(client: Odd) -> None:
    """It has sent its settings."""


def _sends_rubbish(client: Odd) -> None:
    client.socket.sendall(b"\xff" * 100)


def _sends_a_frame_of_16_mib(client: Odd) -> None:
    client.ask(POST, ends=False)
    client.send()
    client.socket.sendall(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * (2 << 20))


def _sends_a_head_without_end(client: Odd) -> None:
    client.send(HeadersFrame(1, b"\x82", flags=["END_STREAM"]))


def _sends_headers_without_end(client: Odd) -> None:
    field = b"\x00\x01x\x7f\xa9\x45" + b"y" * 9_000
    client.send(HeadersFrame(1, b"\x82"), *(ContinuationFrame(1, field) for _ in range(99)))


def _sends_huge_headers(client: Odd) -> None:
    client.ask([*HEADERS, *((f"x-{number}", "y" * 9_000) for number in range(20))])
    client.send()


def _asks_for_too_much_at_once(client: Odd) -> None:
    client.frames.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 1_000
    for _ in range(101):
        client.ask(POST, ends=False)
    client.send()


def _takes_back_what_it_asked_for(client: Odd) -> None:
    client.frames.remote_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 100_000
    client.ask(POST, ends=False)
    for _ in range(50):
        for _ in range(100):
            client.frames.reset_stream(client.ask(POST, ends=False))
        client.send()


def _only_pings(client: Odd) -> None:
    client.ask(POST, ends=False)
    client.send(*(PingFrame(0, b"12345678") for _ in range(100_000)))


@pytest.mark.parametrize(
    "act",
    [
        _asks_nothing,
        _sends_rubbish,
        _sends_a_frame_of_16_mib,
        _sends_a_head_without_end,
        _sends_headers_without_end,
        _sends_huge_headers,
        _asks_for_too_much_at_once,
        _takes_back_what_it_asked_for,
        _only_pings,
    ],
)
def test_odd_clients_are_cut_off(address: Address, act: Callable[[Odd], None]) -> None:
    with odd(address) as client:
        with suppress(ConnectionError):  # it may be cut off in the middle
            act(client)
        assert isinstance(client.hear(ConnectionTerminated)[-1], ConnectionTerminated)
