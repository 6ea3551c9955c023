"""The registry dies of SIGKILL while `srfix apply` or `rollback` writes to it, and comes back with what it held."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.cli.kept_demo import TIMEOUT_S, Parts, dump_over_http, srfix
from tests.cli.registry_process import Death, RegistryProcess, registry_process

WRITES = (
    ("PUT", "/config/", 1),
    ("POST", "/versions$", 1),
    ("DELETE", "/versions/", 1),
    ("POST", "/versions$", 2),
    ("DELETE", "/versions/", 2),
    ("DELETE", "/config/", 1),
)
"""Method, path, and which of its like: the plan's six writes in order."""
MOMENTS: tuple[Literal["before", "after"], ...] = ("before", "after")
ONE_TRY = ("-R", "max.retries=0")


@pytest.fixture(scope="module")
def damaged(shared_parts: Parts) -> dict[str, Any]:
    """The registry before any repair, as HTTP shows it."""
    return dump_over_http(shared_parts.registry.url)


@pytest.fixture
def directory(plan: str, tmp_path: Path) -> Path:
    """Where the plan lies, and the journal goes."""
    (tmp_path / "p.json").write_text(plan)
    return tmp_path


@pytest.fixture
def registry(shared_parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with registry_process(shared_parts.registry, tmp_path_factory.mktemp("registry") / "state") as process:
        yield process


@pytest.fixture(scope="module")
def repaired(shared_parts: Parts, plan: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The registry after one undisturbed run."""
    directory = tmp_path_factory.mktemp("undisturbed")
    (directory / "p.json").write_text(plan)
    with registry_process(shared_parts.registry, directory / "state") as process:
        process.start()
        assert apply(directory, process).returncode == 0
        return dump_over_http(process.url)


def apply(directory: Path, registry: RegistryProcess, *more: str) -> subprocess.CompletedProcess[str]:
    return srfix("apply", "p.json", "--yes", "--registry", registry.url, *more, cwd=directory)


def rollback(directory: Path, registry: RegistryProcess, *more: str) -> subprocess.CompletedProcess[str]:
    return srfix("rollback", "p.json.journal.jsonl", "--yes", "--registry", registry.url, *more, cwd=directory)


def has_it_die(directory: Path, registry: RegistryProcess, death: Death) -> subprocess.CompletedProcess[str]:
    """A run during which the registry dies; the registry is gone then."""
    registry.start(death)
    done = apply(directory, registry, *ONE_TRY)
    registry.wait_until_dead()
    return done


class TestRegistryKilledDuringApply:
    @pytest.mark.parametrize("moment", MOMENTS)
    def test_at_every_write_the_repair_goes_on_when_it_is_back(
        self, directory: Path, registry: RegistryProcess, repaired: dict[str, Any], moment: Literal["before", "after"]
    ) -> None:
        """One repair, the registry killed at each of its writes: each run takes up the step in flight."""
        for method, path, _call in WRITES:
            done = has_it_die(directory, registry, Death(method=method, path=path, moment=moment))
            assert (done.returncode, done.stdout[:15]) == (3, "Applied in part"), done.stderr
            assert "run the same srfix apply again, or undo it with srfix rollback." in done.stderr
        registry.start()
        done = apply(directory, registry)
        assert done.returncode == 0, done.stderr
        assert dump_over_http(registry.url) == repaired

    @pytest.mark.parametrize(("write", "moment"), [(0, "after"), (1, "before"), (1, "after"), (4, "after")])
    def test_the_rollback_leaves_nothing_of_it(
        self,
        directory: Path,
        registry: RegistryProcess,
        damaged: dict[str, Any],
        write: int,
        moment: Literal["before", "after"],
    ) -> None:
        method, path, call = WRITES[write]
        has_it_die(directory, registry, Death(method=method, path=path, call=call, moment=moment))
        registry.start()
        undone = rollback(directory, registry)
        assert undone.returncode == 0, undone.stderr
        assert dump_over_http(registry.url) == damaged

    def test_between_setting_the_compatibility_and_registering_the_next_diagnosis_would_see_none(
        self, directory: Path, registry: RegistryProcess, damaged: dict[str, Any]
    ) -> None:
        """What is left meanwhile: the level NONE, and nothing registered."""
        method, path, call = WRITES[1]
        has_it_die(directory, registry, Death(method=method, path=path, call=call, moment="before"))
        registry.start()
        left = dump_over_http(registry.url)
        (changed,) = [name for name, held in left["subjects"].items() if held != damaged["subjects"][name]]
        assert left["subjects"][changed] == damaged["subjects"][changed] | {"config": {"compatibilityLevel": "NONE"}}

    @pytest.mark.parametrize("moment", MOMENTS)
    def test_and_back_while_the_client_still_tries_one_run_is_enough(
        self, directory: Path, registry: RegistryProcess, repaired: dict[str, Any], moment: Literal["before", "after"]
    ) -> None:
        registry.start(Death(method="POST", path="/versions$", moment=moment))
        done: list[subprocess.CompletedProcess[str]] = []
        patient = ("-R", "max.retries=30", "-R", "retries.wait.ms=300", "-R", "retries.max.wait.ms=300")
        run = threading.Thread(target=lambda: done.append(apply(directory, registry, *patient)))
        run.start()
        registry.wait_until_dead()
        registry.start()
        run.join(TIMEOUT_S)
        assert done[0].returncode == 0, done[0].stderr
        assert dump_over_http(registry.url) == repaired


class TestRegistryKilledDuringRollback:
    @pytest.mark.parametrize("moment", MOMENTS)
    def test_at_every_write_the_rollback_goes_on_when_it_is_back(
        self, directory: Path, registry: RegistryProcess, damaged: dict[str, Any], moment: Literal["before", "after"]
    ) -> None:
        registry.start()
        assert apply(directory, registry).returncode == 0
        registry.stop()
        for _run in range(3):
            registry.start(Death(method="DELETE", path="permanent=true", moment=moment))
            stopped = rollback(directory, registry, *ONE_TRY)
            if not stopped.returncode:
                break
            registry.wait_until_dead()
            assert (stopped.returncode, stopped.stderr.endswith("run the same srfix rollback again.\n")) == (3, True)
        else:
            registry.start()
            assert rollback(directory, registry).returncode == 0
        assert dump_over_http(registry.url) == damaged
