"""`srfix serve` on a real broker, beside the least that could do the same: filling, look-ups over HTTP, and memory.

    python -m tests.bench.bench_serve [--records 1000000] [--rounds R]

| what | beside |
|---|---|
| a cold member, from when it listens until /readyz | a loop over `consume()`, in a process of its own |
| look-ups of random keys by 16 connections, as rows and as bytes | uvicorn and starlette, with one route and the same answer |
| 1,000 look-ups a second, each due at its time, while the topic is written | the same handler |
| the member's memory while it fills, and while it answers all rows | itself, after a quarter of that |

The store has a row for each of `--records` keys, and its topic half as many records again: those of a hundredth of the keys,
between the others. A round's turns follow each other, and a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import socket
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from string import ascii_letters
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final, cast

import uvicorn
import uvloop
from confluent_kafka import Consumer, Producer, TopicPartition
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.bench.measuring import gate
from tests.bench.peers import bare_encoding

TOPIC: Final = "shop-users-changelog"
PARTITIONS: Final = 6
SCHEMA: Final = (
    '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}, '
    '{"name": "active", "type": "boolean"}, {"name": "balance", "type": "double"}, {"name": "note", "type": "string"}]}'
)
CONNECTIONS: Final = 16
TURN_S: Final = 3.0
LOAD_A_SECOND: Final = 1_000
LOAD_S: Final = 15.0
WRITTEN_A_SECOND: Final = 3_000
JSON: Final = "application/json"
RAW: Final = "application/octet-stream"
LEAST_FILL: Final = 0.5
LEAST_A_SECOND: Final = 3_000
MOST_CPU: Final = 8.0
"""How many times the bare handler's CPU time a look-up may take."""
MOST_P99_MS: Final = 8.0
FLAT_MB: Final = 64
_PAYLOADS: Final = 5_000
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_SLICES: Final = 50
_DEADLINE_S: Final = 600.0


def key(number: int) -> bytes:
    return b"user-%07d" % number


def payloads() -> list[bytes]:
    """Framed Avro of 100 to 1,000 bytes, which does not compress well."""
    chance, encode = Random(35), bare_encoding(SCHEMA)
    text = "".join(chance.choices(ascii_letters, k=100_000))
    made = []
    for number in range(_PAYLOADS):
        at, size = chance.randrange(len(text) - 1_000), chance.randrange(60, 960)
        row = {"id": number, "name": f"user {number}", "active": True, "balance": number / 7}
        made.append(encode({**row, "note": text[at : at + size]}))
    return made


def records(rows: int) -> Iterator[tuple[bytes, bytes]]:
    """Every key once, in no order, and after every second one a record of one of the hundredth that is written often."""
    chance, values = Random(35), payloads()
    order = list(range(rows))
    chance.shuffle(order)
    for place, number in enumerate(order):
        yield key(number), values[number % _PAYLOADS]
        if place % 2:
            yield key(chance.randrange(max(rows // 100, 1))), values[place % _PAYLOADS]


def produce(servers: str, rows: Iterator[tuple[bytes, bytes]], *, a_second: int | None = None) -> None:
    """Writes records, with the partitions that Kafka Streams would choose; at a steady rate if one is given."""
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 5})
    began = time.monotonic()
    for number, (of_key, value) in enumerate(rows):
        if a_second is not None and number % 30 == 0:
            time.sleep(max(began + number / a_second - time.monotonic(), 0))
        while True:
            try:
                producer.produce(TOPIC, key=of_key, value=value)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()


def write_on(servers: str, rows: int) -> None:
    """Writes the keys again and again, until it is killed."""

    def written() -> Iterator[tuple[bytes, bytes]]:
        chance, values = Random(1), payloads()
        while True:
            number = chance.randrange(rows)
            yield key(number), values[chance.randrange(_PAYLOADS)]

    produce(servers, written(), a_second=WRITTEN_A_SECOND)


def consume(servers: str, count: int) -> None:
    """The peer of filling: takes the key and the value of all records. Prints its seconds, on the clock and of CPU."""
    began, spent = time.perf_counter(), time.process_time()
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bare", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    while count > 0:
        for message in consumer.consume(500, 1.0):
            if message.error() is None:
                message.key(), message.value()
                count -= 1
    print(time.perf_counter() - began, time.process_time() - spent)
    os._exit(0)  # closing is no part of it


def answer_bare(port: int, answer: Path) -> None:
    """The peer of a look-up: one route, and the answer that a member gave."""
    body = answer.read_bytes()

    async def handle(_request: Request) -> Response:
        return Response(body, media_type=JSON)

    app = Starlette(routes=[Route("/stores/{store}/keys/{key:path}", handle)])
    uvicorn.run(app, port=port, loop="uvloop", http="httptools", ws="none", log_level="warning", access_log=False)


@dataclass(slots=True)
class Watched:
    """A process that is measured from outside."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def answers(self, path: str) -> bool:
        """True for 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while not ready():
            assert self.process.poll() is None, "the process has ended"
            assert time.monotonic() < deadline, "it is not ready"
            time.sleep(0.02)


@contextmanager
def running(*command: str, port: int = 0) -> Iterator[Watched]:
    """A process, ended with the block."""
    with subprocess.Popen((sys.executable, "-m", *command), stdout=subprocess.DEVNULL) as process:
        try:
            yield Watched(process, port)
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def alone(name: str, *values: object) -> tuple[str, ...]:
    return ("tests.bench.bench_serve", "--alone", name, *(f"--value={value}" for value in values))


@contextmanager
def member(broker: KraftBroker, registry: FixtureRegistry, folder: str) -> Iterator[Watched]:
    port = free_port()
    served = ("--application", "shop", "--store", "users", "--value-format", "schema", "--data-dir", folder)
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url)
    with running("srfix", "serve", *served, *where, "--listen", f"127.0.0.1:{port}", port=port) as process:
        yield process


@contextmanager
def sampled(watched: Watched) -> Iterator[list[float]]:
    """Its memory, every 50 ms, in MB."""
    samples, is_over = [watched.mb], Event()

    def sample() -> None:
        while not is_over.wait(0.05):
            samples.append(watched.mb)

    thread = Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        is_over.set()
        thread.join()


class Connection(asyncio.Protocol):
    """Asks one thing at a time, and reads of an answer only where it ends, so that it is not what is measured."""

    def __init__(self) -> None:
        self._taken = bytearray()
        self._done: Callable[[Connection], None]
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def ask(self, request: bytes, done: Callable[[Connection], None]) -> None:
        self._done = done
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        taken = self._taken
        taken += data
        end = taken.find(b"\r\n\r\n")
        if end < 0:
            return
        at = taken.find(b"content-length: ", 0, end) + len("content-length: ")
        if len(taken) >= end + 4 + int(taken[at : taken.find(b"\r", at)]):
            assert taken.startswith(b"HTTP/1.1 200"), bytes(taken)
            taken.clear()
            self.answered += 1
            self._done(self)


async def connected(port: int) -> list[Connection]:
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Connection, "127.0.0.1", port) for _ in range(CONNECTIONS)]
    return [connection for _transport, connection in made]


def requests(rows: int, accept: str) -> Iterator[bytes]:
    """Look-ups of random keys."""
    chance = Random(7)
    while True:
        path = b"/stores/users/keys/" + key(chance.randrange(rows))
        yield b"GET " + path + b" HTTP/1.1\r\nhost: bench\r\naccept: " + accept.encode() + b"\r\n\r\n"


async def look_ups(port: int, asked: Iterator[bytes], seconds: float) -> float:
    """Each connection asks as soon as it was answered. How many look-ups a second."""
    connections = await connected(port)
    until = time.monotonic() + seconds

    def go_on(connection: Connection) -> None:
        if time.monotonic() < until:
            connection.ask(next(asked), go_on)

    for connection in connections:
        go_on(connection)
    await asyncio.sleep(seconds)
    answered = sum(connection.answered for connection in connections)
    await asyncio.sleep(0.1)
    for connection in connections:
        connection.transport.close()
    return answered / seconds


async def load(port: int, asked: Iterator[bytes]) -> list[float]:
    """Look-ups that are due at random moments, `LOAD_A_SECOND`: how long each took from then on, in ms, in order of size."""
    free, waiting, took, chance = deque(await connected(port)), deque[float](), list[float](), Random(5)

    def go_on() -> None:
        while free and waiting:
            due = waiting.popleft()

            def answered(connection: Connection, due: float = due) -> None:
                took.append((time.monotonic() - due) * 1_000)
                free.append(connection)
                go_on()

            free.popleft().ask(next(asked), answered)  # each in its turn: a server closes those that are idle

    due, until = time.monotonic(), time.monotonic() + LOAD_S
    while due < until:
        due += chance.expovariate(LOAD_A_SECOND)
        if due > time.monotonic():
            await asyncio.sleep(due - time.monotonic())
        waiting.append(due)
        go_on()
    while len(free) < CONNECTIONS:
        await asyncio.sleep(0.01)
    return sorted(took)


def filled(watched: Watched, began: float) -> tuple[float, float, float, float]:
    """Waits until a member is ready: the seconds of its start and of the filling, on the clock and of CPU."""
    watched.wait(lambda: watched.answers("/healthz") or watched.answers("/openapi.json"))
    listens, start_cpu = time.perf_counter(), watched.cpu_s
    watched.wait(lambda: watched.answers("/readyz"))
    return listens - began, time.perf_counter() - listens, start_cpu, watched.cpu_s - start_cpu


def fill(
    broker: KraftBroker, registry: FixtureRegistry, rows: int, rounds: int, stack: ExitStack
) -> tuple[Watched, list[float]]:
    """Gives the last round's member, and its memory while it was filled."""
    count = rows + rows // 2
    ratios: list[float] = []
    columns = ("bare", "member", "CPU µs", "CPU µs", "/ bare", "start, s", "CPU s")
    print(f"\n{f'filling, {count:,} records, a second':38}" + "".join(f"{column:>10}" for column in columns))
    for left in reversed(range(rounds)):
        bare = subprocess.run(
            (sys.executable, "-m", *alone("consume", broker.bootstrap_servers, count)),
            check=True,
            stdout=subprocess.PIPE,
        )
        bare_s, bare_cpu_s = map(float, bare.stdout.split())
        with ExitStack() as of_round:
            folder = of_round.enter_context(TemporaryDirectory(prefix="srfix-bench-"))
            began = time.perf_counter()
            watched = of_round.enter_context(member(broker, registry, folder))
            with sampled(watched) as samples:
                start_s, fill_s, start_cpu_s, fill_cpu_s = filled(watched, began)
            if not left:
                stack.push(of_round.pop_all())
        ratios.append(bare_s / fill_s)
        print(
            f"  {f'round {rounds - left}':36}{count / bare_s:10,.0f}{count / fill_s:10,.0f}{bare_cpu_s / count * 1e6:10.2f}"
            f"{fill_cpu_s / count * 1e6:10.2f}{ratios[-1]:10.2f}{start_s:10.2f}{start_cpu_s:10.2f}"
        )
    gate("filling beside a bare consume loop", statistics.median(ratios), at_least=LEAST_FILL)
    return watched, samples[len(samples) // 4 :]


def one_answer(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", f"/stores/users/keys/{key(0).decode()}")
    answer = connection.getresponse()
    assert answer.status == 200
    return answer.read()


def main() -> None:
    """Prints the tables and the gates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000, help="rows of the store")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--value", action="append", help=argparse.SUPPRESS)
    given = parser.parse_args()
    match given.alone:
        case "consume":
            consume(given.value[0], int(given.value[1]))
        case "write":
            write_on(given.value[0], int(given.value[1]))
        case "bare":
            answer_bare(int(given.value[0]), Path(given.value[1]))
        case _:
            measure(given.records, given.rounds)


def measure(rows: int, rounds: int) -> None:
    with ExitStack() as stack:
        broker = stack.enter_context(KraftBroker())
        registry = stack.enter_context(FixtureRegistry())
        broker.create_topic(TOPIC, PARTITIONS, {"cleanup.policy": "compact"})
        registry.seed(f"{TOPIC}-value", SCHEMA)
        produce(broker.bootstrap_servers, records(rows))
        watched, samples = fill(broker, registry, rows, rounds, stack)
        bare = stack.enter_context(bare_handler(watched))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            compare_look_ups(watched, bare, runner, rows, rounds)
            with running(*alone("write", broker.bootstrap_servers, rows)):
                under_load(watched, bare, runner, rows)
        memory(watched, samples, rows)


@contextmanager
def bare_handler(watched: Watched) -> Iterator[Watched]:
    with TemporaryDirectory(prefix="srfix-bench-") as folder:
        answer = Path(folder) / "answer"
        answer.write_bytes(one_answer(watched.port))
        port = free_port()
        with running(*alone("bare", port, answer), port=port) as bare:
            bare.wait(lambda: bare.answers("/stores/users/keys/x"))
            yield bare


def compare_look_ups(watched: Watched, bare: Watched, runner: asyncio.Runner, rows: int, rounds: int) -> None:
    routes = {"bare handler": (bare, JSON), "rows, decoded": (watched, JSON), "bytes": (watched, RAW)}
    rates: dict[str, list[float]] = {name: [] for name in routes}
    spent: dict[str, list[float]] = {name: [] for name in routes}
    for _ in range(rounds):
        for name, (server, accept) in routes.items():
            before = server.cpu_s
            rate = runner.run(look_ups(server.port, requests(rows, accept), TURN_S))
            rates[name].append(rate)
            spent[name].append((server.cpu_s - before) / (rate * TURN_S) * 1e6)
    print(f"\n{f'look-ups by {CONNECTIONS} connections':38}{'a second':>12}{'CPU µs':>9}{'/ bare handler':>16}")
    for name in routes:
        ratio = statistics.median(one / other for one, other in zip(spent[name], spent["bare handler"], strict=True))
        print(f"  {name:36}{statistics.median(rates[name]):12,.0f}{statistics.median(spent[name]):9.0f}{ratio:16.2f}")
        if name != "bare handler":
            gate(f"{name}: look-ups a second", statistics.median(rates[name]), at_least=LEAST_A_SECOND)
            gate(f"{name}: CPU time beside the bare handler's", ratio, at_most=MOST_CPU)


def under_load(watched: Watched, bare: Watched, runner: asyncio.Runner, rows: int) -> None:
    print(f"\n{f'{LOAD_A_SECOND:,} look-ups a second, ms':38}{'p50':>9}{'p99':>9}{'p99.9':>9}{'longest':>9}")
    for name, server in (("bare handler", bare), ("rows, decoded", watched)):
        took = runner.run(load(server.port, requests(rows, JSON)))
        of_all = [took[int(len(took) * part)] for part in (0.5, 0.99, 0.999)]
        print(f"  {name:36}" + "".join(f"{ms:9.2f}" for ms in (*of_all, took[-1])))
    gate(f"p99 while {WRITTEN_A_SECOND:,} records a second are written, ms", of_all[1], at_most=MOST_P99_MS)


def memory(watched: Watched, of_filling: Sequence[float], rows: int) -> None:
    """All rows are asked for in slices, because one answer has a bound."""
    count, began = 0, time.perf_counter()
    width = max(rows // _SLICES, 1)
    with sampled(watched) as samples:
        for first in range(0, rows, width):
            connection = http.client.HTTPConnection("127.0.0.1", watched.port, timeout=60)
            bounds = f"from={key(first).decode()}&to={key(first + width - 1).decode()}"
            connection.request(
                "GET",
                f"/stores/users/keys?{bounds}&limit={width}&timeout=60",
                headers={"accept": "application/x-ndjson"},
            )
            answer = connection.getresponse()
            while chunk := answer.read(1 << 16):
                count += chunk.count(b"\n")
            count -= 1  # the last line is not a row
            connection.close()
    took, of_answers = time.perf_counter() - began, samples[len(samples) // 4 :]
    print(
        f"\nmemory, MB{'':28}{'a quarter':>12}{'the most later':>16}\n"
        f"  {'filling':36}{of_filling[0]:12.0f}{max(of_filling):16.0f}\n"
        f"  {f'{count:,} rows, {count / took:,.0f} a second':36}{of_answers[0]:12.0f}{max(of_answers):16.0f}"
    )
    assert count == rows, count
    gate("MB that it grows by while it fills", max(of_filling) - of_filling[0], at_most=FLAT_MB)
    gate("MB that it grows by while it answers", max(of_answers) - of_answers[0], at_most=FLAT_MB)


if __name__ == "__main__":
    main()
