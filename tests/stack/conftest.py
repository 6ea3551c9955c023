"""One real broker for the whole session, and for each test a registry and a scene of its own on it.

Topics and applications have random names, so that no test sees another's. When a test fails, the broker's log (and
Apicurio's, where it runs) is kept and its end is in the report; the applications' logs are in the test's `tmp_path`, which
pytest keeps.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from parts.registries.apicurio import ApicurioRegistry
from parts.streams.model import SerdeKind
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import Registry, Scene, new_scene, without_what_is_made

PROPERTIES: Final = {
    # A killed application is missed after its session's time-out, for which the broker has a lower limit.
    "group.min.session.timeout.ms": "1000",
    # What may be compacted is compacted at once.
    "log.cleaner.backoff.ms": "100",
    # A producer of an earlier test that still asks for its topic would make it again once it is deleted.
    "auto.create.topics.enable": "false",
}
LOG_LINES: Final = 40

_broker: Final = pytest.StashKey[KraftBroker]()
_apicurio: Final = pytest.StashKey[ApicurioRegistry]()


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest) -> Iterator[KraftBroker]:
    """The broker of the session; a test that kills one starts its own."""
    with KraftBroker(properties=PROPERTIES) as broker:
        request.config.stash[_broker] = broker
        yield broker
        del request.config.stash[_broker]


@pytest.fixture(scope="session")
def apicurio(request: pytest.FixtureRequest) -> Iterator[ApicurioRegistry]:
    """The Apicurio of the session, started for the first test that asks for it; it may hold what other tests left."""
    with ApicurioRegistry() as registry:
        request.config.stash[_apicurio] = registry
        yield registry
        del request.config.stash[_apicurio]


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def missing() -> str:
    """What the registry says of a schema that a subject, `{subject}`, lacks."""
    return "Schema not found"


@pytest.fixture
def scene(
    broker: KraftBroker, registry: Registry, missing: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Scene]:
    """An application that has met nothing yet, and whose topics go with it; its serde may be the parameter (`BOTH`)."""
    with without_what_is_made(broker):
        serde = getattr(request, "param", SerdeKind.CONNECT_PROJECTED)
        yield new_scene(broker, registry, tmp_path, serde=serde, missing=missing)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Whatever a test started is gone after it, even when it failed."""
    before = _children()
    yield
    left = {pid: command for pid, command in _children().items() if pid not in before and ".streams.driver" in command}
    assert not left


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    running = {"the broker": item.config.stash.get(_broker, None), "Apicurio": item.config.stash.get(_apicurio, None)}
    for name, part in running.items():
        if report.failed and part is not None:
            kept = part.keep_log()
            lines = kept.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
            report.sections.append((f"end of {name}'s log, kept in {kept}", "\n".join(lines)))
    return report


def _children() -> dict[int, str]:
    """The processes that this one started and that are alive, with their command lines."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found[int(stat.parent.name)] = stat.with_name("cmdline").read_text(errors="replace").replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
