"""The main pages of the site that `make docs` builds, in a real browser."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.violations import violations

pytestmark = pytest.mark.browser

SITE: Final = Path(__file__).parents[2] / "build" / "site"
PAGES: Final = (
    "index.html",
    "404.html",
    "start/install.html",
    "start/first-repair.html",
    "repair/kafka-10179.html",
    "findings/index.html",
    "findings/SRF001.html",
    "commands/plan.html",
    "serde/confluent.html",
    "spark/read.html",
    "DESIGN.html",
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (its name in the standard library)
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it is served, under the path that its `site_url` has: the page for what there is not names its files so."""
    assert SITE.joinpath("index.html").exists(), "make docs builds the site"
    folder = tmp_path_factory.mktemp("served")
    folder.joinpath("srfix").symlink_to(SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/srfix"
        server.shutdown()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A tab that reaches the site alone: fonts and the like from elsewhere are left out."""
    with browser.new_context() as context:
        context.route(lambda url: not url.startswith(address), lambda route: route.abort())
        yield context.new_page()


@pytest.mark.parametrize("path", PAGES)
class TestEveryMainPage:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, page: Page, address: str, path: str, scheme: Any) -> None:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto(f"{address}/{path}", wait_until="load")
        assert violations(page) == []

    @pytest.mark.parametrize("width", [1280, 400])
    def test_nothing_is_wider_than_the_window(self, page: Page, address: str, path: str, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{address}/{path}", wait_until="load")
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
