"""Parts that several test modules of the command run against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.schemas.models import Json
from srfix.serde.wire import frame_id
from tests.cli.damaged_stores import ROW, WRITER
from tests.cli.kept_demo import Parts, registry_like, srfix, staged_parts


@pytest.fixture(scope="session")
def shared_parts() -> Iterator[Parts]:
    """The damage, staged once; `parts` hands it out."""
    with staged_parts() as parts:
        yield parts


@pytest.fixture
def parts(shared_parts: Parts) -> Iterator[Parts]:
    """The damage, for a test that repairs nothing, or takes back what it repaired."""
    before = shared_parts.registry.dump()
    shared_parts.registry.forget_requests()
    yield shared_parts
    assert shared_parts.registry.dump() == before, "the test left the registry changed for those that follow"


@pytest.fixture(scope="module")
def plan(shared_parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a plan for the staged damage."""
    path = tmp_path_factory.mktemp("plan") / "p.json"
    assert shared_parts.srfix("plan", "-o", path).returncode == 0
    return path.read_text()


@pytest.fixture
def directory(plan: str, tmp_path: Path) -> Path:
    """Where the plan lies, and the journals go."""
    (tmp_path / "p.json").write_text(plan)
    return tmp_path


@pytest.fixture(scope="module")
def repaired(shared_parts: Parts, plan: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """The registry after one undisturbed run of the plan."""
    directory = tmp_path_factory.mktemp("undisturbed")
    (directory / "p.json").write_text(plan)
    with registry_like(shared_parts.registry) as copy:
        done = srfix("apply", "p.json", "--yes", "--registry", copy.url, cwd=directory)
        assert done.returncode == 0, done.stderr
        return copy.dump()


@pytest.fixture
def registry(shared_parts: Parts) -> Iterator[FixtureRegistry]:
    """A copy of the damaged registry, to be changed."""
    with registry_like(shared_parts.registry) as copy:
        yield copy


@pytest.fixture
def schemas() -> Iterator[FixtureRegistry]:
    """A registry with the producer's schema as id 1."""
    with FixtureRegistry() as running:
        running.seed("users-value", WRITER)
        yield running


@pytest.fixture
def where(schemas: FixtureRegistry) -> Iterator[dict[str, str]]:
    """The variables that lead there, and to a topic that the application `shop` has read; nothing is wrong yet."""
    with EmbeddedBroker(topics={"users": 1, "shop-kept-changelog": 1}) as broker:
        broker.produce([ProducedRecord(topic="users", partition=0, key=b"k", value=frame_id(1, ROW))])
        broker.commit("shop", {("users", 0): 1})
        yield {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": schemas.url}


@pytest.fixture
def own_parts() -> Iterator[Parts]:
    """The damage, for a test that keeps what it changes."""
    with staged_parts() as parts:
        yield parts


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a registry's client was made of, once one is."""
    arguments: dict[str, Any] = {}

    class Recorder:
        def __init__(self, urls: str, **given: Any) -> None:
            arguments.update(given, urls=urls)

    monkeypatch.setattr("srfix.serde.registry.client.RegistryClient", Recorder)
    return arguments
