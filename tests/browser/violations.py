"""What axe finds in a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def violations(page: Page) -> list[tuple[str, Any]]:
    """The rules of axe that it breaks, each with where first."""
    found = Axe().run(page).response["violations"]
    return [(each["id"], each["nodes"][0]["target"]) for each in found]
