"""`--engine`, `--master`, `--spark-conf`: what is understood, and what is refused before any Spark starts."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.cli.options.connecting import connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.serde.errors import UsageError
from srfix.serde.native import CODEC_ENGINES, ENGINE_VARIABLE, kernel

SPARK = ("--engine", "spark")
REGISTRY = ("--registry", "http://127.0.0.1:9")
STATE = Path(__file__).parents[1] / "recovery" / "state" / "data" / "kinds" / "2.6.3" / "state"
COMMANDS = {"scan": ("users",), "diagnose": REGISTRY, "plan": REGISTRY}


@click.command("scan")
@connection_options
@engine_options
def probe(**values: Any) -> CensusEngineChoice:
    """Hands back what it was handed."""
    choice = values["engine"]
    assert isinstance(choice, CensusEngineChoice)
    return choice


def ask(*arguments: str, **environment: str) -> CensusEngineChoice:
    result = CliRunner().invoke(probe, arguments, env=environment, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, CensusEngineChoice)
    return result.return_value


class TestEngineOptions:
    def test_this_process_reads_unless_told_otherwise(self) -> None:
        assert ask() == CensusEngineChoice(engine="local", master=None, spark_conf={})

    def test_spark_is_told_where_it_is_and_how_it_is_configured(self) -> None:
        conf = ("--spark-conf", "spark.executor.memory=4g", "--spark-conf", "spark.x=a=b")
        assert ask(*SPARK, "--master", "sc://spark:15002", *conf) == CensusEngineChoice(
            engine="spark", master="sc://spark:15002", spark_conf={"spark.executor.memory": "4g", "spark.x": "a=b"}
        )

    @pytest.mark.parametrize("codec", CODEC_ENGINES)
    def test_the_serdes_engine_in_the_same_variable_says_nothing_of_the_census(self, codec: str) -> None:
        assert ask(SRFIX_ENGINE=codec) == CensusEngineChoice()
        with pytest.raises(click.BadParameter):
            ask("--engine", codec)

    def test_the_censuss_engine_in_the_same_variable_says_nothing_of_the_serde(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        named = kernel.__wrapped__()
        for engine in ("local", "spark"):
            monkeypatch.setenv(ENGINE_VARIABLE, engine)
            assert kernel.__wrapped__() is named

    def test_processes_are_the_local_engines(self) -> None:
        assert ask("--processes", "4") == CensusEngineChoice(processes=4)
        assert ask(*SPARK, SRFIX_PROCESSES="4").engine == "spark"
        with pytest.raises(UsageError, match="--processes needs --engine local"):
            ask(*SPARK, "--processes", "4")

    def test_the_environment_says_the_same(self) -> None:
        environment = {
            "SRFIX_ENGINE": "spark",
            "SRFIX_MASTER": "local[3]",
            "SRFIX_SPARK_CONF": "spark.a=1 2\nspark.b=3",
        }
        assert ask(**environment) == CensusEngineChoice(
            engine="spark", master="local[3]", spark_conf={"spark.a": "1 2", "spark.b": "3"}
        )
        assert ask("--engine", "local", **environment).engine == "local"

    def test_a_configuration_without_a_key_is_refused_and_not_shown(self) -> None:
        with pytest.raises(UsageError, match=r"^--spark-conf needs key=value as one word") as refused:
            ask(*SPARK, "--spark-conf", "hush")
        assert "hush" not in str(refused.value)

    @pytest.mark.parametrize("option", [("--master", "local[*]"), ("--spark-conf", "a=b")])
    def test_what_is_sparks_is_refused_without_spark(self, option: tuple[str, str]) -> None:
        with pytest.raises(UsageError, match=rf"^{option[0]} needs --engine spark\.$"):
            ask(*option)


class TestWithoutSpark:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_a_missing_pyspark_is_named_with_the_extra_that_brings_it(
        self, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyspark", None)
        code = main([command, *COMMANDS[command], "--bootstrap-servers", "127.0.0.1:9", *SPARK])
        said = capsys.readouterr()
        assert (code, said.out) == (ExitCode.REFUSED, "")
        assert said.err.startswith("srfix: --engine spark needs PySpark, which is not installed.")
        assert "pip install 'srfix[spark]'" in said.err

    @pytest.mark.parametrize("command", [("scan",), ("export", "--out", "exported")])
    def test_so_it_is_where_tasks_of_a_directory_are_worked_on(
        self,
        command: tuple[str, ...],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyspark", None)
        monkeypatch.chdir(tmp_path)
        state = str(STATE)
        assert main(["state", command[0], state, "--store", "ts", *command[1:], *SPARK]) == ExitCode.REFUSED
        assert capsys.readouterr().err.startswith("srfix: --engine spark needs PySpark, which is not installed.")

    def test_a_property_that_java_lacks_is_refused_before_spark_starts(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        session = importlib.import_module("srfix.cli.on_spark")
        monkeypatch.setattr(session, "find_spec", lambda name: object())
        kafka = ("--bootstrap-servers", "127.0.0.1:9", "-X", "queued.min.messages=1")
        assert main(["scan", "users", *kafka, *SPARK]) == ExitCode.REFUSED
        assert "The Kafka property queued.min.messages belongs to librdkafka" in capsys.readouterr().err
