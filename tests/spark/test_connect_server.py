"""A session on a Connect server: whether one answers is looked at before PySpark waits for a minute."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from srfix.serde.errors import SparkError
from srfix.serde.spark import session
from srfix.serde.spark.session import _require_server


class TestConnectServer:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(session, "CONNECT_SECONDS", 1.0)

    @pytest.mark.parametrize("token", ["", "token=hunter2"])
    def test_a_server_that_is_not_there_is_an_error_soon(self, token: str) -> None:
        with pytest.raises(
            SparkError, match=r"^No Spark Connect server answers at 127\.0\.0\.1:1 within 1 sec"
        ) as caught:
            _require_server(f"sc://127.0.0.1:1/;{token}")
        assert "hunter2" not in str(caught.value)

    def test_a_port_that_is_open_and_says_nothing_is_none(self) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            pytest.raises(SparkError, match=r"^No Spark Connect server answers"),
        ):
            _require_server(f"sc://127.0.0.1:{server.getsockname()[1]}")

    def test_one_that_the_environment_names_is_looked_at_too(self) -> None:
        # A process of its own: where a session runs already, PySpark takes that one.
        script = (
            "from srfix.serde.errors import SparkError\n"
            "from srfix.serde.spark import session\n"
            "session.CONNECT_SECONDS = 1.0\n"
            "try:\n"
            "    session.start_session('nobody')\n"
            "except SparkError as error:\n"
            "    print(error)\n"
        )
        environment = os.environ | {"SPARK_REMOTE": "sc://127.0.0.1:1"}
        ran = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.stdout.startswith("No Spark Connect server answers at 127.0.0.1:1 "), ran.stderr

    def test_one_that_speaks_is_found(self) -> None:
        server = grpc.server(ThreadPoolExecutor(1))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            _require_server(f"sc://127.0.0.1:{port}")
        finally:
            server.stop(None)
