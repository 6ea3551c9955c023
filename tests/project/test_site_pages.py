"""The site's pages that nobody writes: made of what the code says of itself, none forgotten. `make lint` builds the site."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click
import html5lib
import markdown
import pytest
import site_pages
from site_pages import downloads, for_the_site, linked, menu_titles, shown_names
from site_tables import API, FINDINGS, MENU, RUNS_ALONE

from srfix.cli.command_table import every_command
from srfix.cli.documents import DOCUMENTS, PublishedDocument
from srfix.recovery.explain.catalogue import CATALOGUE
from tests import pages
from tests.pages import name_of

PAGES: Final = site_pages.made_pages()


def places(entries: object) -> Iterator[str]:
    """The pages and folders of a menu."""
    if isinstance(entries, Mapping):
        for inner in entries.values():
            yield from places(inner)
    else:
        assert isinstance(entries, str)
        yield entries


def test_every_page_is_in_the_menu_once() -> None:
    shown = [page for place in places(MENU) for page in (menu_titles(place) if place.endswith("/") else [place])]
    written = [name_of(page) for page in pages.PAGES if page.is_relative_to(pages.SITE)]
    assert sorted(shown) == sorted([*PAGES, *written])


@pytest.mark.parametrize("name", every_command())
def test_a_command_has_a_page_with_all_its_options(name: str) -> None:
    command = pkgutil.resolve_name(every_command()[name].target)
    page = PAGES[f"commands/{name.replace(' ', '-')}.md"]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert max(parameter.opts, key=len) in page
    assert f"| `srfix {name}` |" in PAGES["commands/index.md"]


@pytest.mark.parametrize("name", every_command())
def test_a_command_s_page_opens_with_an_example(name: str) -> None:
    page = PAGES[f"commands/{name.replace(' ', '-')}.md"]
    assert re.match(rf"# srfix {name}\n\n```sh\nsrfix {name}\b", page)


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.code)
def test_a_finding_code_has_a_page_that_says_what_to_do(known: Any) -> None:
    page = PAGES[f"findings/{known.code}.md"]
    assert page.startswith(f"# {known.code}: ")
    for heading in ("What it means", "How it comes about", "How srfix recognises it", "What to do"):
        assert f"\n## {heading}\n\n" in page
    assert f"| {known.code} | {FINDINGS[known.code][0]} | {known.severity} |" in PAGES["findings/index.md"]


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.code)
def test_a_finding_s_page_shows_what_explain_says(known: Any) -> None:
    path = f"findings/{known.code}.md"
    shown = " ".join(text_of(linked(path, PAGES[path])).split())
    for text in (known.title, known.meaning, known.cause, known.detection, known.remedy):
        assert " ".join(text.replace("`", "").replace("\n- ", "\n").split()) in shown


def test_findings_and_the_commands_that_find_them_lead_to_each_other() -> None:
    assert (
        "\n`srfix diagnose` finds it, `srfix guard` predicts it, `srfix plan` repairs it.\n"
        in PAGES["findings/SRF001.md"]
    )
    assert (
        "\n`srfix diagnose` finds it, `srfix check` finds it, `srfix guard` predicts it, `srfix plan` repairs it.\n"
        in PAGES["findings/SRF020.md"]
    )
    assert "SRF007, SRF008, SRF009, SRF010, " in PAGES["commands/diagnose.md"]
    assert "It finds SRF011, SRF013, SRF020." in PAGES["commands/check.md"]


def text_of(markdown_text: str) -> str:
    """What a reader of the page sees."""
    html = markdown.markdown(markdown_text, extensions=["attr_list", "md_in_html", "tables"])
    return "".join(html5lib.parse(html, namespaceHTMLElements=False).itertext())


class TestLinked:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("Read SRF004 first.", "Read [SRF004](../findings/SRF004.md) first."),
            ("`srfix plan -o x`", "[`srfix plan -o x`](../commands/plan.md)"),
            ("`srfix state ls state`", "[`srfix state ls state`](../commands/state-ls.md)"),
            ("Run srfix plan-x, srfix plan.", "Run srfix plan-x, [srfix plan](../commands/plan.md)."),
            ("`srfix state`", "[`srfix state`](../commands/state.md)"),
        ],
    )
    def test_a_code_or_a_command_leads_to_its_page(self, text: str, shown: str) -> None:
        assert linked("repair/a.md", text) == shown

    @pytest.mark.parametrize(
        "text",
        [
            "# SRF001: a heading",
            "[about SRF001](a.md)",
            "[`srfix plan`](a.md)",
            "```\nsrfix plan SRF001\n```",
            "`--also SRF001`",
            "`srfix --version`",
            "SRF999",
        ],
    )
    def test_other_words_stay_as_they_are(self, text: str) -> None:
        assert linked("repair/a.md", text) == text

    def test_no_page_leads_to_itself(self) -> None:
        assert linked("findings/SRF001.md", "SRF001") == "SRF001"


class TestReadme:
    README = pages.README.read_text(encoding="utf-8")
    HOME = "https://srfix.github.io/srfix/"

    def test_it_fits(self) -> None:
        assert len(self.README.encode()) <= 14_336

    def test_its_codes_have_the_titles_of_the_site(self) -> None:
        for code, (title, _) in FINDINGS.items():
            assert f"\n| [{code}]({self.HOME}findings/{code}.html) | {title} |\n" in self.README
            assert len(title.split()) <= 8

    def test_its_links_to_the_site_lead_to_pages(self) -> None:
        there = {*PAGES, *(name_of(page) for page in pages.PAGES)}
        linked = set(re.findall(rf"{self.HOME}([\w./-]*)", self.README)) - {""}
        assert {link for link in linked if link.replace(".html", ".md") not in there} == set()


@pytest.mark.parametrize("front", [front for front in API if ".schemas." not in front])
def test_a_front_door_s_page_has_all_that_it_shows(front: str) -> None:
    shown = {name for name in importlib.import_module(front).__all__ if name != "__version__"}
    assert {name for _, name in shown_names(front)} == shown
    assert len(re.findall(r"^::: srfix\.", PAGES[f"api/{front}.md"], re.MULTILINE)) == len(shown)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_a_document_has_its_keys_in_a_table_and_its_schema_to_download(document: PublishedDocument) -> None:
    part = PAGES["documents.md"].partition(f"\n## {document.name}\n")[2].partition("\n## ")[0]
    file = f"documents/{document.name}.schema.json"
    assert f"({file})" in part
    schema = json.loads(downloads()[file])
    lines = [schema["$defs"][form["$ref"].removeprefix("#/$defs/")] for form in schema.get("anyOf", ())]
    keys = [key for form in (schema, *lines) for key in form.get("properties", {})]
    assert keys
    for key in keys:
        assert f"| `{key}` |" in part


def test_the_options_of_the_spark_source_and_the_drop_in_s_differences_are_there_as_tables() -> None:
    assert "| `startingOffsets` |" in PAGES["spark/options.md"]
    assert PAGES["serde/differences.md"].count("| confluent-kafka |") == 3  # Avro's, JSON's and Protobuf's


def test_a_bar_in_a_table_s_code_has_no_backslash() -> None:
    assert for_the_site("| `a\\|b` | `c` |") == "| `a|b` | `c` |"


def test_the_notebooks_are_there() -> None:
    pages = {page for page in PAGES if page.startswith("notebooks/")}
    assert pages == {"notebooks/incident.md", "notebooks/serde.md", "notebooks/spark.md"}
    assert {"incident", "serde"} == RUNS_ALONE


@pytest.mark.slow
def test_a_notebook_that_needs_only_python_is_run_for_its_page() -> None:
    page = site_pages._notebook_page(pages.ROOT / "fixtures" / "notebooks" / "serde.ipynb", runs=True)
    assert "\n![What the cell draws](data:image/png;base64,iVBOR" in page
    assert "```text\n40\n```" in page


def test_every_fence_names_a_language_at_most() -> None:
    texts = [*PAGES.values(), *(page.read_text(encoding="utf-8") for page in pages.PAGES)]
    fences = {fence for text in texts for fence in re.findall(r"^`{3,}(.*)$", for_the_site(text), re.MULTILINE)}
    assert {fence for fence in fences if not re.fullmatch(r"\w*", fence)} == set()


def test_the_action_s_page_has_its_inputs_and_outputs() -> None:
    assert "| `fail-on` |" in PAGES["github-action.md"]
    assert "| `exit-code` |" in PAGES["github-action.md"]


def test_the_picture_of_the_house_has_the_floors_in_their_order() -> None:
    contracts = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    floors = {contract["name"]: contract["layers"] for contract in contracts if contract["name"].startswith("Floors")}
    order = [
        set(re.findall(r"\w+", floor))
        for name in ("Floors of the command line", "Floors of recovery", "Floors of the serde")
        for floor in floors[name]
    ]
    picture = (pages.SITE / "assets" / "rooms.svg").read_text(encoding="utf-8")
    at = 0
    for shown in re.findall(r'class="rooms"[^>]*>([\w ]+)<', picture):
        for room in shown.split():
            at = next(number for number, floor in enumerate(order) if number >= at and room in floor)
    assert at == len(order) - 1
