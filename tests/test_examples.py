"""What README and the docstrings show is run: README's Python as one session, docstrings by doctest."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import srfix.serde
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient

README = Path(__file__).parents[1] / "README.md"
REGISTRY = "http://registry:8081"
BROKER = "broker:9092"
RECOVERY = "from srfix.recovery import"
SERDES = (
    "deserializer",
    "serializer",
    "confluent.avro",
    "confluent.json_schema",
    "batches.batches",
    "arrow.decode",
    "arrow.encode",
)
"""The modules whose public names a user calls first: each has an example."""


def python_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as server:
        yield server


def test_the_python_of_the_readme_runs_from_top_to_bottom(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in python_blocks() if RECOVERY not in block]
    assert len(blocks) >= 5
    session: dict[str, object] = {}
    for block in blocks:
        exec(compile(block.replace(REGISTRY, registry.url), str(README), "exec"), session)
    assert registry.writes >= 3


def test_the_repair_from_python_finds_mends_and_undoes_the_incident(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = (block for block in python_blocks() if RECOVERY in block)
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(topics=damage.TOPICS) as broker, RegistryClient(registry.url) as client:
        damage.stage(broker, client)
        before = registry.dump()
        here = block.replace(REGISTRY, registry.url).replace(BROKER, broker.bootstrap_servers)
        exec(compile(here, str(README), "exec"), {})
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
