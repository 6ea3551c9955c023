"""`srfix state` with `--engine spark`: what one process does with all tasks, each of Spark's does with one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from parts.guarded_registry import GuardedRegistry
from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.stores.parts import PartsOnSpark
from srfix.serde.errors import ClusterError, SparkError
from tests.cli.kept_demo import environment
from tests.recovery.staging import W1, R
from tests.recovery.stores.here import (
    APPLICATION,
    STORE,
    TOPIC,
    contents,
    rebuilt,
    staged_topic,
)
from tests.spark.test_cli_on_spark import sparks

__all__ = ["sparks"]

SPARK: Final = ("--engine", "spark", "--master", "local[2]")
PASSWORD: Final = "hunter2-of-the-registry"
KAFKA_PASSWORD: Final = "hunter3-of-the-cluster"
TIMEOUT_S: Final = 300.0
SCRIPT: Final = """
import json, sys
from srfix.cli.main import main
for arguments in sys.argv[1:]:
    print(int(main(["state", *json.loads(arguments)])), flush=True)
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with staged_topic() as broker:
        yield broker


@pytest.fixture(scope="module")
def state(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> ApplicationState:
    return rebuilt(broker, tmp_path_factory.mktemp("state"))


@pytest.fixture
def values(registry: FixtureRegistry) -> tuple[str, ...]:
    registry.seed(f"{TOPIC}-value", W1)
    registry.seed(f"{APPLICATION}-{STORE}-changelog-value", R)
    return ("--value-format", "schema", "--registry", registry.url)


def done(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """A command that runs here: its exit code, report and words."""
    code = main(["state", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.usefixtures("sparks")
class TestBothEngines:
    def test_scan(self, state: ApplicationState, values: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
        for more in (("--limit", "100"), ("--limit", "7", "--prefix", "k1", "--output", "table")):
            arguments = ("scan", state.path, *values, "--output", "json", *more)
            here, there = done(capsys, *arguments), done(capsys, *arguments, *SPARK)
            assert there[:2] == here[:2]
            assert here[0] == ExitCode.OK, here[2]
            assert there[2].splitlines()[-1] == here[2].splitlines()[-1]
            assert here[1].count("\n") > 5

    def test_export(
        self,
        state: ApplicationState,
        values: tuple[str, ...],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(tmp_path)  # where no worker is
        arguments = ("export", os.path.relpath(state.path), *values)
        here = done(capsys, *arguments, "--out", "here", "--to", "parquet")
        there = done(capsys, *arguments, "--out", "there", *SPARK)
        assert (here[0], there[0]) == (0, 0), here[2] + there[2]
        names = [f"{STORE}-0_{partition}.parquet" for partition in range(3)]
        assert there[1].splitlines() == [str(tmp_path / "there" / name) for name in names]
        assert sorted(path.name for path in (tmp_path / "there").iterdir()) == names
        for name in names:
            assert pq.read_table(tmp_path / "there" / name).equals(pq.read_table(tmp_path / "here" / name))
        assert there[2].splitlines()[-1] == here[2].splitlines()[-1]
        again = done(capsys, *arguments, "--out", "there", *SPARK)
        assert (again[0], "exists already" in again[2]) == (ExitCode.REFUSED, True)

    def test_diff(self, state: ApplicationState, broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]) -> None:
        for more in ((), ("--until", "committed")):
            arguments = (
                *("diff", state.path, "--bootstrap-servers", broker.bootstrap_servers),
                *("--topic", TOPIC, "--output", "json", *more),
            )
            here, there = done(capsys, *arguments), done(capsys, *arguments, *SPARK)
            assert there[0] == here[0] == (ExitCode.OK if more else ExitCode.FINDINGS)
            assert _timeless(there[1]) == _timeless(here[1])

    def test_rebuild(
        self,
        state: ApplicationState,
        broker: EmbeddedBroker,
        values: tuple[str, ...],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        arguments = (
            *("rebuild", "--from-topic", TOPIC, "--until", "committed", "--application", APPLICATION),
            *("--store", "another", "--kind", "timestamped-kv", "--streams-version", "2.6.3", "--subtopology", "0"),
            *("--beside", state.path, "--subject", f"{APPLICATION}-{STORE}-changelog-value", *values[2:]),
            *("--bootstrap-servers", broker.bootstrap_servers, "--output", "json"),
        )
        here = done(capsys, *arguments, "--out", tmp_path / "here")
        there = done(capsys, *arguments, "--out", tmp_path / "there", *SPARK)
        assert (here[0], there[0]) == (0, 0), here[2] + there[2]
        assert _timeless(there[1]) | {"directory": None} == _timeless(here[1]) | {"directory": None}
        assert contents(tmp_path / "there") == contents(tmp_path / "here")
        assert len(contents(tmp_path / "there")) == 9  # of each task two stores and a checkpoint
        again = done(capsys, *arguments, "--out", tmp_path / "there", *SPARK)
        assert (again[0], "srfix never writes to an existing directory" in again[2]) == (ExitCode.REFUSED, True)

    def test_one_file_is_the_local_engines(self, state: ApplicationState, capsys: pytest.CaptureFixture[str]) -> None:
        code, _, err = done(capsys, "export", state.path, "--out", "x", "--one-file", *SPARK)
        assert (code, "--one-file belongs to --engine local" in err) == (ExitCode.REFUSED, True)
        code, _, err = done(capsys, "export", state.path, "--out", "x")
        assert (code, "--to is needed: parquet, jsonl, csv, arrow" in err) == (ExitCode.REFUSED, True)


def _timeless(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document | {"generated_at": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """Work that fails in its own ways."""

    how: str

    def __call__(self, part: str) -> str:
        if self.how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ClusterError("The cluster is away.") if self.how == "outage" else KeyError("of a bug")

    def places(self, part: str) -> list[Path]:
        return [Path(part)]


class TestAWorkerThatFails:
    """Its error is this process's, with its words."""

    def test_by_an_outage(self, spark: SparkSession, tmp_path: Path) -> None:
        with pytest.raises(ClusterError, match=r"^The cluster is away\.$"):
            PartsOnSpark(spark).run(Failing(how="outage"), [str(tmp_path)] * 2, doing="failing")

    @pytest.mark.parametrize(("how", "said"), [("bug", "KeyError: 'of a bug'"), ("killed", "Python worker exited")])
    def test_by_a_bug_or_a_kill(self, how: str, said: str, spark: SparkSession, tmp_path: Path) -> None:
        with pytest.raises(SparkError, match=rf"^Spark failed while failing: .*{said}"):
            PartsOnSpark(spark).run(Failing(how=how), [str(tmp_path)], doing="failing")


class TestInAProcessOfItsOwn:
    """With a Spark that the commands start, and its event log."""

    def test_no_secret_is_printed_or_logged(
        self, state: ApplicationState, broker: EmbeddedBroker, tmp_path: Path
    ) -> None:
        events = tmp_path / "events"
        events.mkdir()
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.sql.maxPlanStringLength": "1000000",
        }
        spark = (*SPARK, *(word for name, value in conf.items() for word in ("--spark-conf", f"{name}={value}")))
        with GuardedRegistry(basic_auth={"ada": PASSWORD}) as registry:
            registry.seed(f"{TOPIC}-value", W1)
            ran = subprocess.run(
                [
                    *(sys.executable, "-c", SCRIPT),
                    json.dumps(
                        [
                            *("export", state.path, "--out", str(tmp_path / "out"), "--value-format", "schema"),
                            *("--registry", registry.url, "-R", "basic.auth.credentials.source=USER_INFO"),
                            *("-R", f"basic.auth.user.info=ada:{PASSWORD}", *spark),
                        ]
                    ),
                    json.dumps(
                        [
                            *("diff", state.path, "--topic", TOPIC, "--bootstrap-servers", broker.bootstrap_servers),
                            *("-X", f"sasl.password={KAFKA_PASSWORD}", *spark),
                        ]
                    ),
                ],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                env=environment(),
            )
        assert ran.returncode == 0, ran.stderr
        written = [str(tmp_path / "out" / f"{STORE}-0_{partition}.parquet") for partition in range(3)]
        assert ran.stdout.splitlines()[:4] == [*written, "0"]
        assert ran.stdout.splitlines()[-1] == "1"
        (first,) = pq.read_table(written[0]).slice(0, 1).to_pylist()
        assert json.loads(first["value_json"]) == {"userId": 1}
        assert "Starting Spark (local[2]) …" in ran.stderr
        log = "".join(path.read_text(errors="replace") for path in events.rglob("*") if path.is_file())
        assert log.count("SparkListenerSQLExecutionStart") >= 2
        for secret in (PASSWORD, KAFKA_PASSWORD):
            assert secret not in log + ran.stderr + ran.stdout
