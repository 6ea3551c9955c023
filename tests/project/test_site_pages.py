"""The site's pages that nobody writes: made of what the code says of itself, none forgotten. `make lint` builds the site."""

from __future__ import annotations

import importlib
import pkgutil
import re
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from srfix.cli.command_table import every_command
from srfix.cli.documents import DOCUMENTS
from srfix.recovery.explain.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
SITE: dict[str, Any] = runpy.run_path(str(ROOT / ".ci" / "docs" / "site_pages.py"))
PAGES: Mapping[str, str] = SITE["made_pages"]()
shown_names: Callable[[str], Sequence[tuple[str, str]]] = SITE["shown_names"]


def test_every_page_is_in_the_menu() -> None:
    places = tuple(SITE["MENU"].values())
    written = {path.name for path in (ROOT / ".ci" / "docs" / "pages").iterdir()}
    for page in {*PAGES, *written}:
        assert page in places or f"{page.partition('/')[0]}/" in places, page
    for place in set(places) - {"documents/"}:  # see below
        assert any(page.startswith(place) for page in {*PAGES, *written}), place


@pytest.mark.parametrize("name", every_command())
def test_a_command_has_a_page_with_all_its_options(name: str) -> None:
    command = pkgutil.resolve_name(every_command()[name].target)
    page = PAGES[f"commands/{name.replace(' ', '-')}.md"]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert max(parameter.opts, key=len) in page
    assert f"({name.replace(' ', '-')}.md)" in PAGES["commands/index.md"]


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.code)
def test_a_finding_code_has_a_page_that_says_what_to_do(known: Any) -> None:
    page = PAGES[f"findings/{known.code}.md"]
    assert page.startswith(f"# {known.code}: ")
    for heading in ("What it means", "How it comes about", "How srfix tells", "What to do"):
        assert f"\n## {heading}\n\n" in page
    assert f"({known.code}.md)" in PAGES["findings/index.md"]


@pytest.mark.parametrize("front", [front for front in SITE["API"] if ".schemas." not in front])
def test_a_front_door_s_page_has_all_that_it_shows(front: str) -> None:
    shown = set(importlib.import_module(front).__all__)
    assert {name for _, name in shown_names(front)} == shown
    assert len(re.findall(r"^::: srfix\.", PAGES[f"api/{front}.md"], re.MULTILINE)) == len(shown)


def test_every_json_document_has_a_page() -> None:
    assert {page for page in PAGES if page.startswith("documents/") and page != "documents/index.md"} == {
        f"documents/{document.name}.md" for document in DOCUMENTS
    }


def test_the_options_of_the_spark_source_and_the_drop_in_s_differences_are_there_as_tables() -> None:
    assert "| `startingOffsets` |" in PAGES["spark-source.md"]
    assert PAGES["drop-in.md"].count("| confluent-kafka |") == 2  # Avro's and JSON's


def test_a_bar_in_a_table_s_code_has_no_backslash() -> None:
    assert "SRF001\\|SRF002\\|SRF004" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "SRF001|SRF002|SRF004" in PAGES["index.md"]


def test_the_notebooks_are_there() -> None:
    pages = {page for page in PAGES if page.startswith("notebooks/")}
    assert pages == {"notebooks/incident.md", "notebooks/serde.md", "notebooks/spark.md"}
    assert SITE["RUNS_ALONE"] == {"incident", "serde"}


@pytest.mark.slow
def test_a_notebook_that_needs_only_python_is_run_for_its_page() -> None:
    page = SITE["_notebook_page"](ROOT / "fixtures" / "notebooks" / "serde.ipynb", runs=True)
    assert "\n![What the cell draws](data:image/png;base64,iVBOR" in page
    assert "```text\n40\n```" in page


def test_every_fence_names_a_language_at_most() -> None:
    assert "\n```python spark\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    fences = {fence for page in PAGES.values() for fence in re.findall(r"^`{3,}(.*)$", page, re.MULTILINE)}
    assert {fence for fence in fences if not re.fullmatch(r"\w*", fence)} == set()


def test_the_action_s_page_has_its_inputs_and_outputs() -> None:
    assert "| `fail-on` |" in PAGES["github-action.md"]
    assert "| `exit-code` |" in PAGES["github-action.md"]
