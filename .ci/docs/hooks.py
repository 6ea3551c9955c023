"""Hooks of MkDocs. They add the pages that are made, the menu, and links from finding codes and commands to their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_pages import downloads, for_the_site, linked, made_pages, menu_titles
from site_tables import MENU

_PAGES = made_pages(runs_notebooks=True)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Sets the menu from the entries of `MENU`."""
    config.nav = [_entry(title, place) for title, place in MENU.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made, and the files to download, to the pages that are written."""
    for path, text in {**_PAGES, **downloads()}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links finding codes and commands to their pages, except on pages that are copied from code."""
    path = page.file.src_uri
    return markdown if path.startswith("api/") else linked(path, for_the_site(markdown))


def _entry(title: str, place: str | Mapping[str, str]) -> dict[str, Any]:
    if isinstance(place, Mapping):
        return {title: [_entry(inner, page) for inner, page in place.items()]}
    if not place.endswith("/"):
        return {title: place}
    return {title: [{name: page} for page, name in menu_titles(place).items()]}
