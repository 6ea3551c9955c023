"""MkDocs' side of the site: adds the pages that are made, the menu, and links from codes and commands to their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_pages import MENU, downloads, for_the_site, linked, made_pages, menu_titles

_PAGES = made_pages(runs_notebooks=True)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The menu: what each entry of `MENU` holds."""
    config.nav = [_entry(title, place) for title, place in MENU.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are made, and what can be downloaded, beside the pages that are written."""
    for path, text in {**_PAGES, **downloads()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Codes and commands lead to their pages, but in what is copied from code."""
    path = page.file.src_uri
    return markdown if path.startswith("api/") else linked(path, for_the_site(markdown))


def _entry(title: str, place: str | Mapping[str, str]) -> dict[str, Any]:
    if isinstance(place, Mapping):
        return {title: [_entry(inner, page) for inner, page in place.items()]}
    if not place.endswith("/"):
        return {title: place}
    return {title: [{name: page} for page, name in menu_titles(place).items()]}
