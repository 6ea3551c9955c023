"""Words for a Spark that does not start. In pure Python: real ones are in tests/spark/test_packages.py."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from srfix.serde.errors import JarMissingError, SparkError, UsageError
from srfix.serde.spark import session
from srfix.serde.spark.session import _no_gateway, _parts, _require_server, start_session


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a java in it."""
    file = tmp_path / "bin" / "java"
    file.parent.mkdir()
    file.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return file


class TestNoGateway:
    def test_without_java_it_is_java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert _no_gateway({"spark.jars.packages": "a:b:1"}, "4.3.0").message == (
            "Spark needs Java 17 or later, and there is no java on the PATH, and JAVA_HOME is not set. Install it, or set "
            "JAVA_HOME."
        )

    def test_with_packages_it_is_they(self, java: Path) -> None:
        error = _no_gateway({"spark.jars.packages": "a:b:1"}, "4.3.0")
        assert type(error) is JarMissingError
        assert error.message.startswith(
            "Spark ended before it had started. It was to fetch a:b:1: one of these, or one that they need in turn, cannot "
            "be had (the lines above say which)."
        )

    def test_otherwise_it_is_what_stands_above(self, java: Path) -> None:
        error = _no_gateway({}, "4.3.0")
        assert type(error) is SparkError
        assert f" It ran {java}: it needs Java 17 or later" in error.message


class TestCoordinates:
    @pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d", "a::1", "a:b:1'); DROP"])
    def test_what_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(SparkError, match=r"is no Maven coordinate\. Write group:artifact:version\.$"):
            _parts(text)


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

    def test_one_that_the_environment_names_is_looked_at_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
        with pytest.raises(SparkError, match=r"^No Spark Connect server answers at 127\.0\.0\.1:1 "):
            start_session("nobody")

    @pytest.mark.parametrize("master", ["sc://", "sc:///;token=x", "sc://host:port"])
    def test_one_without_a_place_is_refused(self, master: str) -> None:
        with pytest.raises(UsageError, match=r"^A Connect server is sc://HOST:PORT"):
            _require_server(master)

    def test_one_that_speaks_is_found(self) -> None:
        grpc = pytest.importorskip("grpc")
        server = grpc.server(ThreadPoolExecutor(1))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            _require_server(f"sc://127.0.0.1:{port}")
        finally:
            server.stop(None)
