"""Each page in a real browser: nothing overflows, nothing is asked of anybody, everybody can read it, names stay text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page
from pypdf import PdfReader

from tests.browser.reports import NAMES, REPORTS, WORLDS
from tests.browser.violations import violations

pytestmark = pytest.mark.browser

WIDTHS = (1280, 400)
STICKS_OUT = """
() => [...document.body.querySelectorAll('*')].filter(element => {
    const box = element.getBoundingClientRect();
    const scrolls = element.parentElement.closest('.scroll') !== null;
    return box.width && !scrolls && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(element => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`)
"""
CUT_OFF = """
() => [...document.body.querySelectorAll('*')].filter(element =>
    element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0
    && getComputedStyle(element).overflowX !== 'visible' && !element.matches('.scroll')
).map(element => element.outerHTML.slice(0, 80))
"""
UNFOLD = "() => document.querySelectorAll('details').forEach(each => { each.open = true; })"


class Sight:
    """One tab that opens page after page, and what it asked for since the last was opened: only that file is answered."""

    def __init__(self, context: BrowserContext) -> None:
        self.asked: list[str] = []
        self._file = ""
        context.route(lambda url: url != self._file, lambda route: route.abort())
        context.on("request", lambda request: self._note(request.url))
        self.page = context.new_page()
        self.page.on("dialog", self._dismiss)
        self.page.on("pageerror", lambda error: self._note(f"error {error}"))

    def open(self, path: Path, *, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> Page:
        """Opens a page, all of it folded as it is written."""
        self.asked.clear()
        self._file = path.as_uri()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme, media="screen")
        self.page.goto(self._file, wait_until="load")
        return self.page

    def _note(self, what: str) -> None:
        self.asked.append(what)

    def _dismiss(self, dialog: Dialog) -> None:
        self._note(f"dialog {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="module")
def sight(browser: Browser) -> Iterator[Sight]:
    """With scripts."""
    with browser.new_context() as context:
        yield Sight(context)


@pytest.fixture(scope="module")
def scriptless(browser: Browser) -> Iterator[Sight]:
    """Without."""
    with browser.new_context(java_script_enabled=False) as context:
        yield Sight(context)


@pytest.mark.parametrize("name", REPORTS)
class TestEveryPage:
    @pytest.mark.parametrize("width", WIDTHS)
    def test_nothing_overflows_folded_and_unfolded(
        self, sight: Sight, reports: dict[str, Path], name: str, width: int
    ) -> None:
        page = sight.open(reports[name], width=width)
        for _each in range(2):
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert page.evaluate(STICKS_OUT) == []
            assert page.evaluate(CUT_OFF) == []
            page.evaluate(UNFOLD)

    def test_it_asks_for_nothing_but_itself(self, sight: Sight, reports: dict[str, Path], name: str) -> None:
        page = sight.open(reports[name])
        page.evaluate(UNFOLD)
        page.emulate_media(media="print")
        assert sight.asked == [reports[name].as_uri()]

    def test_it_reads_the_same_without_scripts(
        self, sight: Sight, scriptless: Sight, reports: dict[str, Path], name: str
    ) -> None:
        with_scripts = sight.open(reports[name]).inner_text("body")
        assert scriptless.open(reports[name]).inner_text("body") == with_scripts
        assert with_scripts.strip()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(
        self, sight: Sight, reports: dict[str, Path], name: str, scheme: Literal["light", "dark"]
    ) -> None:
        page = sight.open(reports[name], scheme=scheme)
        if name not in WORLDS:  # what is folded there is of the same kinds, and axe takes seconds for it
            page.evaluate(UNFOLD)
        assert violations(page) == []


@pytest.mark.parametrize("name", ["diagnose", "three findings", "plan", "verify", "scan", "nothing found"])
def test_it_takes_two_sheets_of_paper_at_most(sight: Sight, reports: dict[str, Path], name: str) -> None:
    page = sight.open(reports[name])
    page.emulate_media(media="print")
    sheets = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    assert 1 <= len(sheets) <= 2
    width, height = (round(float(side) / 72 * 25.4) for side in (sheets[0].mediabox.width, sheets[0].mediabox.height))
    assert (width, height) == (210, 297)


@pytest.mark.parametrize("name", NAMES)
def test_names_that_want_to_be_markup_stay_text(sight: Sight, reports: dict[str, Path], name: str) -> None:
    page = sight.open(reports[name])
    assert page.locator("script, img, a, iframe, form, object, embed, link, [onerror], [onload], [style]").count() == 0
    assert page.locator("style").count() == 1
    text = page.locator("body").text_content() or ""
    assert "<script>alert(1)</script>" in text
    assert '"><img src=x onerror=alert(1)>' in text
    assert "\\u202e" in text
    assert "\u202e" not in text
    assert sight.asked == [reports[name].as_uri()]


class TestTheTests:
    """What is looked for above is found where it is."""

    @pytest.fixture
    def bad(self, tmp_path: Path) -> Path:
        path = tmp_path / "bad.html"
        path.write_text(
            "<!DOCTYPE html><title>bad</title><body><p style='width:3000px'>wide</p><p style='color:#ccc'>pale</p>"
            "<img src='http://127.0.0.1:9/x.png'><script>document.body.append('added')</script>"
        )
        return path

    def test_an_overflow_and_a_request(self, sight: Sight, bad: Path) -> None:
        page = sight.open(bad)
        assert page.evaluate("document.scrollingElement.scrollWidth") > 1280
        assert page.evaluate(STICKS_OUT) == ["P.: wide"]
        assert sight.asked == [bad.as_uri(), "http://127.0.0.1:9/x.png"]

    def test_a_script_and_what_axe_knows(self, sight: Sight, scriptless: Sight, bad: Path) -> None:
        page = sight.open(bad)
        assert "added" in page.inner_text("body")
        assert {"color-contrast", "html-has-lang", "image-alt"} <= {rule for rule, _where in violations(page)}
        assert "added" not in scriptless.open(bad).inner_text("body")
