"""A real browser, for the pages of `--output html`. Where there is none the tests fail: they are asked for by name, and a skip
would say that all is well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.reports import all_reports

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""What keeps a browser from asking anybody but the page."""


@pytest.fixture(scope="session")
def browser(reports: dict[str, Path]) -> Iterator[Browser]:
    """Headless, with a profile of its own, which goes with it. Commands are forked before it runs."""
    assert reports
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    assert path is not None, "There is no Chromium here. Run make test-browser, which installs one where it may."
    with sync_playwright() as playwright:
        # As root its sandbox does not start.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path=path, args=[*_QUIET, *sandbox])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages by name, as files."""
    folder = tmp_path_factory.mktemp("reports")
    paths = {}
    for name, page in all_reports(folder).items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(page, encoding="utf-8")
    return paths
