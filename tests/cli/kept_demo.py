"""The installed command against parts that run: `srfix demo --keep` as a process of its own, or parts in this one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from parts.counted_broker import CountedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.cli.forked import run_forked
from tests.documents import check_printed

SRFIX = str(Path(sys.executable).with_name("srfix"))
TIMEOUT_S = 60.0


def environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would reach the command by accident, and with `settings`.

    Nor is it told to leave its streams unbuffered: a person's is not, and then order is a matter of flushing.
    """
    ours = ("SRFIX_", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **(settings or {})}


def srfix(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs the command without a terminal, `env` added to the environment, `stdin` piped in; see `forked`.

    A document that it prints must be as its published schema says.
    """
    command = [SRFIX, *map(str, arguments)]
    done = run_forked(command, stdin=stdin, timeout_s=timeout_s, env=environment(env), cwd=cwd)
    check_printed(done.stdout)
    return done


def started(
    *arguments: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """The same by starting the installed command."""
    return subprocess.run(
        [SRFIX, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env=environment(env),
        cwd=cwd,
    )


def document(text: str) -> dict[str, Any]:
    """What a command printed, parsed."""
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def wait_for(condition: Callable[[], bool], *, timeout_s: float = TIMEOUT_S) -> None:
    """Returns once it holds; fails when it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.01)


def dump_over_http(url: str) -> dict[str, Any]:
    """Everything that a registry answers about itself: subjects, soft-deleted versions, configs, modes."""
    with requests.Session() as session:

        def get(path: str) -> Any:
            answer = session.get(f"{url}{path}", timeout=10)
            return answer.json() if answer.ok else answer.json()["error_code"]

        def subject(name: str) -> dict[str, Any]:
            versions = f"/subjects/{name}/versions"
            return {
                "live": get(versions),
                "versions": [get(f"{versions}/{n}?deleted=true") for n in get(f"{versions}?deleted=true")],
                "config": get(f"/config/{name}"),
                "mode": get(f"/mode/{name}"),
            }

        return {
            "live": get("/subjects"),
            "config": get("/config"),
            "mode": get("/mode"),
            "subjects": {name: subject(quote(name, safe="")) for name in get("/subjects?deleted=true")},
        }


@dataclass(frozen=True, kw_only=True)
class KeptDemo:
    """A running `srfix demo --keep`."""

    process: subprocess.Popen[str]
    ready: Mapping[str, Any]
    """What the ready file says."""

    @property
    def environment(self) -> dict[str, str]:
        """The SRFIX_ variables that it prints."""
        return dict(self.ready["environment"])

    def dump(self) -> dict[str, Any]:
        """Its registry, as HTTP shows it."""
        return dump_over_http(self.ready["registry"])

    def stop(self, number: signal.Signals) -> tuple[int, str, str]:
        """Sends the signal; exit code, stdout and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err


@contextmanager
def kept_demo(directory: Path, *options: str) -> Iterator[KeptDemo]:
    """Starts `srfix demo --keep` and waits for its ready file; ends it whatever happens."""
    ready_file = directory / "ready.json"
    with subprocess.Popen(
        [SRFIX, "demo", "--keep", *options, "--ready-file", str(ready_file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            wait_for(lambda: ready_file.exists() or process.poll() is not None)
            # Written whole or not at all: what is there can be read at once.
            yield KeptDemo(process=process, ready=json.loads(ready_file.read_text()))
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The damage on a broker and a registry in this process, whose writes can be counted and faults set up."""

    broker: CountedBroker
    registry: FixtureRegistry
    client: RegistryClient
    staged: damage.Staged = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The SRFIX_ variables that lead there."""
        return {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}

    def srfix(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command against these parts."""
        return srfix(*arguments, cwd=cwd, env={**self.environment, **(env or {})})


@contextmanager
def staged_parts() -> Iterator[Parts]:
    """Parts with the staged damage; nothing is counted as a write yet."""
    with (
        CountedBroker(topics=damage.TOPICS) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        staged = damage.stage(broker, client)
        registry.forget_requests()
        yield Parts(broker=broker, registry=registry, client=client, staged=staged)


@contextmanager
def registry_like(original: FixtureRegistry, copy: FixtureRegistry | None = None) -> Iterator[FixtureRegistry]:
    """A registry of its own, or `copy`, with the same content, ids included."""
    subjects: Any = original.dump()["subjects"]
    versions = sorted((version["id"], subject, version["schema"]) for subject, of in subjects.items() for version in of)
    with FixtureRegistry() if copy is None else copy as copy:
        for _schema_id, subject, text in versions:
            copy.seed(subject, text)
        assert copy.dump() == original.dump()
        yield copy
