"""One client in many threads, in other processes, and after it was closed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import BasicAuth, RegistryClient, RetryPolicy
from srfix.serde.registry.base import SingleFlight
from srfix.serde.schemas.errors import RegistryAnswerError
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry

THREADS = 16


class TestThreads:
    def test_many_threads_get_each_its_own_answer_over_its_own_connection(
        self, server: ScriptedRegistry, make_client: MakeClient
    ) -> None:
        client = make_client(cache_capacity=50)
        server.always({"schema": '"string"'})
        together = threading.Barrier(THREADS)

        def work(number: int) -> set[int]:
            together.wait(10)
            assert client.gives_id_to("s", number)  # never cached, never shared
            return {client.schema_by_id(schema_id).schema_id - schema_id for schema_id in range(number, number + 80)}

        with ThreadPoolExecutor(THREADS) as pool:
            assert set().union(*pool.map(work, range(1, THREADS + 1))) == {0}
        assert server.connections == THREADS


class TestClose:
    def test_it_closes_the_connections_of_all_threads(self, server: ScriptedRegistry, client: RegistryClient) -> None:
        server.always([])
        asked, closed = threading.Event(), threading.Event()

        def work() -> None:
            client.subjects()
            asked.set()
            closed.wait(10)
            client.subjects()

        thread = threading.Thread(target=work)
        thread.start()
        assert asked.wait(10)
        client.close()
        closed.set()
        thread.join(10)
        assert server.connections == 2


class TestPickle:
    def test_a_copy_works_and_knows_the_settings(
        self, server: ScriptedRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REGISTRY_PASSWORD", "s3cret")
        server.always({"schema": '"string"'})
        client = RegistryClient(
            [server.url, "http://b:8081"],
            auth=BasicAuth.parse("reader:env:REGISTRY_PASSWORD"),
            read_timeout_s=3.0,
            cache_capacity=7,
            retry=RetryPolicy(max_attempts=2),
        )
        with client:
            client.schema_by_id(7)
            pickled = pickle.dumps(client)
        assert b"s3cret" not in pickled
        with pickle.loads(pickled) as copy:
            assert (copy.url, copy._cache_capacity) == (client.url, 7)
            assert copy.schema_by_id(7).schema.text == '"string"'
        assert len(server.seen) == 2, "the copy must not bring the cache along"
        assert server.seen[1].headers["Authorization"] == server.seen[0].headers["Authorization"]


class TestSingleFlight:
    def threads(self, work: Callable[[int], object]) -> list[object]:
        together = threading.Barrier(THREADS)

        def one(number: int) -> object:
            together.wait(10)
            return work(number)

        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(one, range(THREADS)))

    def test_threads_that_ask_for_the_same_id_ask_once(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            schema_id = server.seed("t-value", '"string"')
            server.intercept(Fault(delay_s=0.3))
            assert self.threads(lambda _: client.schema_by_id(schema_id).schema.text) == ['"string"'] * THREADS
            assert len(server.requests) == 1

    def test_an_error_is_for_those_who_wait_and_for_nobody_later(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url, retry=RetryPolicy(max_attempts=1)) as client:
            handle = server.intercept(
                Fault(delay_s=0.3, action=Answer(status=500, body='{"error_code": 50001, "message": "no"}'))
            )

            def status(_: int) -> object:
                with pytest.raises(RegistryAnswerError) as caught:
                    client.schema_by_id(1)
                return caught.value.status

            assert self.threads(status) == [500] * THREADS
            assert len(server.requests) == 1
            handle.close()
            server.seed("t-value", '"string"')
            assert client.schema_by_id(1).schema.text == '"string"'

    def test_one_that_is_interrupted_leaves_it_to_another(self) -> None:
        flights = SingleFlight[str]()
        begun, go = threading.Event(), threading.Event()

        def interrupted() -> str:
            begun.set()
            assert go.wait(10)
            raise KeyboardInterrupt

        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(flights.once, "k", interrupted)
            assert begun.wait(10)
            second = pool.submit(flights.once, "k", lambda: "yes")
            assert not wait([second], timeout=0.3).done
            go.set()
            assert second.result(10) == "yes"
            assert isinstance(first.exception(10), KeyboardInterrupt)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    @pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
    def test_a_forked_child_waits_for_no_thread_of_its_parent(self) -> None:
        flights = SingleFlight[str]()
        begun, go = threading.Event(), threading.Event()

        def slow() -> str:
            begun.set()
            assert go.wait(30)
            return "late"

        with ThreadPoolExecutor(1) as pool:
            pool.submit(flights.once, "k", slow)
            assert begun.wait(10)
            child = multiprocessing.get_context("fork").Process(target=flights.once, args=("k", str))
            child.start()
            child.join(10)
            code = child.exitcode
            child.kill()
            go.set()
        assert code == 0
