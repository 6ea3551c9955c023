"""Words for a Spark that does not start. In pure Python: real ones are in tests/spark/test_packages.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.serde.errors import JarMissingError, SparkError, UsageError
from srfix.serde.spark.session import _master, _no_gateway, _parts, _require_server


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
        message = _no_gateway({"spark.jars.packages": "a:b:1"}, "4.3.0").message
        assert "Spark needs Java 17 or later, but there is no java on the" in message

    def test_with_packages_it_is_they(self, java: Path) -> None:
        error = _no_gateway({"spark.jars.packages": "a:b:1"}, "4.3.0")
        assert type(error) is JarMissingError
        assert error.message.startswith("Spark ended during its start. It was to fetch a:b:1.")
        assert 'Without jars, format("srfix")' in error.message

    def test_otherwise_it_is_what_stands_above(self, java: Path) -> None:
        error = _no_gateway({}, "4.3.0")
        assert type(error) is SparkError
        assert f" It ran {java}. Spark needs Java 17 or later" in error.message


class TestCoordinates:
    @pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d", "a::1", "a:b:1'); DROP"])
    def test_what_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(SparkError, match=r"is not a Maven coordinate\. Write group:artifact:version\.$"):
            _parts(text)


class TestConnectServer:
    @pytest.mark.parametrize("master", ["sc://", "sc:///;token=x", "sc://host:port"])
    def test_one_without_a_place_is_refused(self, master: str) -> None:
        with pytest.raises(UsageError, match=r"^The URL of a Connect server is sc://HOST:PORT"):
            _require_server(master)


class TestMaster:
    """Whose workers run this Python: those of a local master."""

    @pytest.mark.parametrize(
        ("given", "config", "env", "defaults", "master"),
        [
            (None, {}, {}, "", "local[*]"),
            ("spark://a:7077", {"spark.master": "local"}, {}, "", "spark://a:7077"),
            (None, {"spark.master": "yarn"}, {}, "spark.master local", "yarn"),
            (None, {}, {"SPARK_REMOTE": "sc://a:15002"}, "", "sc://a:15002"),
            (None, {}, {"PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"}, "spark.master yarn", "local[2]"),
            (None, {}, {"PYSPARK_SUBMIT_ARGS": "--conf spark.master=yarn pyspark-shell"}, "", "yarn"),
            (None, {}, {}, "# spark.master local\nspark.master   yarn\n", "yarn"),
        ],
    )
    def test_it_is_as_asked_else_as_configured(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        given: str | None,
        config: dict[str, str],
        env: dict[str, str],
        defaults: str,
        master: str,
    ) -> None:
        (tmp_path / "spark-defaults.conf").write_text(defaults)
        for name, value in {
            "SPARK_REMOTE": "",
            "PYSPARK_SUBMIT_ARGS": "",
            "SPARK_CONF_DIR": str(tmp_path),
            **env,
        }.items():
            monkeypatch.setenv(name, value)
        assert _master(given, config) == master
