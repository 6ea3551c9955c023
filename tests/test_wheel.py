"""What the wheel holds: what users need, and nothing that only the tests use."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Sequence
from email import message_from_string
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from markdown_it import MarkdownIt
from markdown_it.token import Token

import srfix.serde

ROOT = Path(__file__).parents[1]
FIXTURES = "srfix/fixtures/"


@pytest.fixture(scope="module")
def wheel() -> dict[str, Path]:
    """The files of the wheel, by their path in it."""
    found = WheelBuilder(str(ROOT)).recurse_included_files()
    return {file.distribution_path: Path(file.path) for file in found if "__pycache__" not in file.path}


def test_of_the_fixtures_it_holds_the_brokers_the_registry_the_damage_and_the_captured_topic(
    wheel: dict[str, Path],
) -> None:
    rooms = {path.removeprefix(FIXTURES).rpartition("/")[0] for path in wheel if path.startswith(FIXTURES)}
    assert rooms == {
        "",
        "broker",
        "captured",
        "damage",
        "registry",
        "registry/http",
        "registry/schemas",
    }
    assert {f"{FIXTURES}captured/users.parquet", f"{FIXTURES}captured/users.schemas.json"} <= set(wheel)
    assert [path for path in wheel if path.endswith(".xml")] == [f"{FIXTURES}broker/kraft.pom.xml"]


def test_it_holds_all_of_the_other_three_and_what_says_that_they_are_typed(wheel: dict[str, Path]) -> None:
    for room in ("serde", "recovery", "cli"):
        files = {
            path for path in (ROOT / room / "srfix").rglob("*") if path.is_file() and "__pycache__" not in path.parts
        }
        assert files <= set(wheel.values())
    assert {f"srfix/{room}/py.typed" for room in ("serde", "recovery", "cli", "fixtures")} <= set(wheel)
    assert "pyspark_srfix.py" in wheel


def test_its_version_is_that_of_the_metadata_and_the_kernels() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    crate = tomllib.loads((ROOT / "serde/kernel/Cargo.toml").read_text())["package"]
    assert srfix.serde.__version__ == project["version"] == crate["version"]


def test_the_kernels_wheel_says_what_srfixs_does() -> None:
    project, kernel = (
        tomllib.loads((ROOT / path / "pyproject.toml").read_text())["project"] for path in ("", "serde/kernel")
    )
    assert {"readme", "license", "license-files", "authors", "keywords", "urls"} <= set(kernel)
    assert kernel["authors"] == project["authors"]
    pythons = [each for each in project["classifiers"] if each.startswith("Programming Language :: Python :: 3.")]
    assert set(pythons) <= set(kernel["classifiers"])
    assert (ROOT / "serde/kernel/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_its_man_pages_go_where_man_looks() -> None:
    shared = WheelBuilder(str(ROOT)).config.shared_data
    assert {Path(here).name: there for here, there in shared.items()} == {"man": "share/man/man1"}
    assert "srfix.1" in {path.name for path in (ROOT / "cli" / "man").iterdir()}


@pytest.mark.slow
def test_nothing_in_it_imports_what_it_leaves_out(wheel: dict[str, Path]) -> None:
    here = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in wheel if path.endswith(".py")
    }
    missing = [
        f"{path} imports {node.module}"
        for path, file in wheel.items()
        if path.endswith(".py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").partition(".")[0] in ("parts", "srfix", "tests")
        and node.module not in here
    ]
    assert missing == []


def test_its_description_has_only_links_that_hold_on_pypi() -> None:
    builder = WheelBuilder(str(ROOT))
    metadata = message_from_string(builder.config.core_metadata_constructor(builder.metadata))
    assert metadata["Description-Content-Type"] == "text/markdown"
    source = next(url for url in metadata.get_all("Project-URL", []) if url.startswith("Source, ")).removeprefix(
        "Source, "
    )
    shown, here = links(metadata.get_payload()), links((ROOT / "README.md").read_text(encoding="utf-8"))
    at_repository = f"{source}/blob/main/"
    pictures = source.replace("github.com", "raw.githubusercontent.com") + "/main/"
    for link, written in zip(shown, here, strict=True):
        if written.startswith("https://"):
            assert link == written
        elif written.endswith(".svg"):
            assert link == pictures + written
            assert (ROOT / written).is_file()
        else:
            assert link == at_repository + (f"README.md{written}" if written.startswith("#") else written)
            assert (ROOT / link.removeprefix(at_repository).partition("#")[0]).is_file()
    assert any(link.startswith(at_repository) for link in shown)


def links(text: object) -> Sequence[str]:
    """Where the links and pictures of a Markdown text lead."""
    assert isinstance(text, str)
    return [
        str(address)
        for token in flat(MarkdownIt("commonmark").enable("table").parse(text))
        for name in ("href", "src")
        if (address := token.attrGet(name)) is not None
    ]


def flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from flat(token.children or ())
