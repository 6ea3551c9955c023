"""MkDocs' side of the site: adds the pages that are made, and the menu."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from site_pages import MENU, made_pages

_PAGES = made_pages(runs_notebooks=True)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The menu: what each entry of `MENU` holds, in the order of the pages."""
    config.nav = [{title: entries} for title, place in MENU.items() if (entries := _entries(place))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages that are made, beside those that are written."""
    for path, text in _PAGES.items():
        files.append(File.generated(config, path, content=text))
    return files


def _entries(place: str) -> str | list[str]:
    if not place.endswith("/"):
        return place
    return sorted((path for path in _PAGES if path.startswith(place)), key=lambda path: path != f"{place}index.md")
