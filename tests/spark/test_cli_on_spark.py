"""The command line with `--engine spark`: the installed command with a Spark of its own, twice, and else with this one."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.cli.on_spark import SessionOfCommand
from srfix.cli.options.engine import SPARK, CensusEngineChoice
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.subjects.names import Role, changelog_topic, subject_for
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import SRFIX, environment
from tests.recovery.staging import W1, R

TIMEOUT_S: Final = 300.0
STORE: Final = "users-store"


class Staged:
    """A topic whose id 1 is not under the phantom subject of an application that has read it."""

    def __init__(self, broker: KraftBroker, registry: FixtureRegistry) -> None:
        name = str(uuid4())
        self.topic, self.application = f"users-{name}", f"shop-{name}"
        self.phantom = subject_for(changelog_topic(self.application, STORE), Role.VALUE)
        self.broker, self.registry = broker, registry
        broker.create_topic(self.topic, 2)
        broker.produce(
            ProducedRecord(topic=self.topic, partition=n % 2, key=b"k%d" % (n % 6), value=frame_id(1, b"\x02"))
            for n in range(20)
        )
        broker.commit(self.application, {(self.topic, 0): 10, (self.topic, 1): 10})
        registry.seed(subject_for(self.topic, Role.VALUE), W1)
        registry.seed(self.phantom, R)

    def cluster(self) -> tuple[str, ...]:
        return ("--bootstrap-servers", self.broker.bootstrap_servers, "--registry", self.registry.url)

    def store(self) -> tuple[str, ...]:
        return ("--application", self.application, "--store", STORE, "--source", f"{STORE}={self.topic}")


@pytest.fixture
def staged(broker: KraftBroker, registry: FixtureRegistry) -> Staged:
    return Staged(broker, registry)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: ExitCode = ExitCode.OK) -> dict[str, Any]:
    """The report of a command that runs here."""
    done = main([*arguments, "--output", "json"])
    said = capsys.readouterr()
    assert done == code, said.err
    document: dict[str, Any] = json.loads(said.out)
    return document


class KeptOpen:
    """The session of the tests, which no command may stop."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@pytest.fixture
def sparks(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[KeptOpen]]:
    """The sessions that commands have started."""
    started: list[KeptOpen] = []

    def start_session(*_: object, **__: object) -> KeptOpen:
        started.append(KeptOpen(spark))
        return started[-1]

    monkeypatch.setattr("srfix.serde.spark.session.start_session", start_session)
    yield started
    assert [session.stops for session in started] == [1] * len(started)


class TestInAProcessOfItsOwn:
    def test_a_scan_reports_on_standard_output_what_the_local_engine_reports(
        self, staged: Staged, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ("scan", staged.topic, *staged.cluster())
        spark = ("--engine", "spark", "--master", "local[2]")  # it brings its jars itself
        done = subprocess.run(
            [SRFIX, *arguments, *spark, "--output", "json"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env=environment(),
        )
        assert done.returncode == 0, done.stderr
        counted, here = json.loads(done.stdout), told(capsys, *arguments)
        assert counted | {"generated_at": None} == here | {"generated_at": None}
        assert "Starting Spark (local[2]) …" in done.stderr

    def test_control_c_ends_it_with_130(self, staged: Staged) -> None:
        command = [SRFIX, "scan", staged.topic, *staged.cluster(), "--engine", "spark", "--master", "local[2]"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        ) as running:
            assert running.stderr is not None
            while "Starting Spark" not in (line := running.stderr.readline()):
                assert line, "it ended without starting Spark"
            running.send_signal(signal.SIGINT)
            out, said = running.communicate(timeout=TIMEOUT_S)
        assert (running.returncode, out) == (ExitCode.INTERRUPTED, ""), said


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_sparks_start_leaves_the_handler_of_interrupts_alone(
    before: signal.Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_arguments: object, **_options: object) -> KeptOpen:
        signal.signal(signal.SIGINT, lambda _number, _frame: None)  # as SparkContext does
        return KeptOpen(None)  # type: ignore[arg-type]

    monkeypatch.setattr("srfix.serde.spark.session.start_session", start)
    kept = signal.signal(signal.SIGINT, before)
    try:
        with ExitStack() as stack:
            SessionOfCommand(CensusEngineChoice(engine=SPARK), stack).session()
            assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, kept)


class TestOnOneSession:
    def test_the_incident_is_diagnosed_repaired_and_verified(
        self, staged: Staged, sparks: list[KeptOpen], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        spark = ("--engine", "spark", "--master", "local[2]")
        looking = (*staged.cluster(), *staged.store())
        found = told(capsys, "diagnose", *looking, *spark, code=ExitCode.FINDINGS)
        here = told(capsys, "diagnose", *looking, code=ExitCode.FINDINGS)
        # The commands to run next name the engine that was given.
        assert [each | {"next": ""} for each in found["findings"]] == [each | {"next": ""} for each in here["findings"]]
        plan = tmp_path / "plan.json"
        assert main(["plan", *looking, "-o", str(plan)]) == ExitCode.OK
        capsys.readouterr()
        every_row = f"live rows of {staged.topic}"

        if lacks_arrow() is not None:
            assert main(["verify", str(plan), *staged.cluster(), *spark]) == ExitCode.REFUSED
            assert "needs Spark 4.1 or newer" in capsys.readouterr().err
            assert told(capsys, "verify", str(plan), *staged.cluster(), code=ExitCode.FINDINGS)["checks"]
            return
        before = told(capsys, "verify", str(plan), *staged.cluster(), *spark, code=ExitCode.FINDINGS)
        (broken,) = [check["what"] for check in before["checks"] if every_row in check["what"] and not check["ok"]]
        assert broken.startswith(f"6 of 6 {every_row} cannot be read under this subject alone, on Spark: 6 NOT_UNDER_")

        assert main(["apply", str(plan), *staged.cluster(), "--yes"]) == ExitCode.OK
        capsys.readouterr()
        after = told(capsys, "verify", str(plan), *staged.cluster(), *spark)
        assert after["verified"]
        assert f"all 6 {every_row} can be read under this subject alone, on Spark" in [
            c["what"] for c in after["checks"]
        ]
        assert len(sparks) == 3
