"""What pages and docstrings show is run: the Python of a page as one session, docstrings by doctest."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import srfix.serde
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.pages import block_that_begins, code_of, name_of, pages_with

REGISTRY = "http://registry:8081"
BROKER = "broker:9092"
REPAIR = "from pathlib import Path\n\nfrom srfix.recovery import"
"""How the block begins that takes a broker."""
SERDES = (
    "deserializer",
    "serializer",
    "confluent.avro",
    "confluent.json_schema",
    "confluent.protobuf",
    "batches.rows",
    "arrow.decode",
    "arrow.encode",
)
"""The modules whose public names a user calls first: each has an example."""


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as server:
        yield server


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for block in code_of(page, "python"):
        if not block.startswith(REPAIR):
            exec(compile(block.replace(REGISTRY, registry.url), str(page), "exec"), session)


def test_the_repair_from_python_finds_mends_and_undoes_the_incident(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = block_that_begins(REPAIR)
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(topics=damage.TOPICS) as broker, RegistryClient(registry.url) as client:
        damage.stage(broker, client)
        before = registry.dump()
        here = block.replace(REGISTRY, registry.url).replace(BROKER, broker.bootstrap_servers)
        exec(compile(here, "the repair", "exec"), {})
    said = capsys.readouterr().out
    assert said.startswith(f"SRF001 {damage.APPLICATION} ")
    for event in ("StepDone(", "Confirmed(", "Undone("):
        assert event in said
    assert "Problem(" not in said
    assert registry.dump() == before


def modules() -> list[str]:
    found = (found.name for found in pkgutil.walk_packages(srfix.serde.__path__, "srfix.serde."))
    return [name for name in found if "._pyspark." not in name]  # those need pyspark


@pytest.mark.slow
@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_modules_docstrings_hold(name: str, registry: FixtureRegistry) -> None:
    module = importlib.import_module(name)
    with RegistryClient(registry.url) as client:
        failed, tried = doctest.testmod(module, extraglobs={"registry": client})
    assert failed == 0
    if name.removeprefix("srfix.serde.") in SERDES:
        assert tried > 0, "it shows no example"
