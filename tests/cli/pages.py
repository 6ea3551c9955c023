"""What holds for every page that `--output html` writes, as an HTML parser sees it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element

import html5lib

_ELEMENTS = """
html head meta title style body header main section footer h1 h2 h3 h4 h5 h6 p div span strong b code pre ul ol li dl dt dd
table caption thead tbody tr th td details summary figure figcaption time svg rect
"""
_ATTRIBUTES = """
lang charset http-equiv content name class scope role tabindex aria-label aria-hidden open datetime viewBox
preserveAspectRatio width height
"""
ELEMENTS = frozenset(_ELEMENTS.split())
"""All that a page is made of; none runs, loads or sends anything."""
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""All that they have; no link, no event, no style."""


def tree_of(page: str) -> Element:
    """The page as a strict parser reads it: any error of its markup fails."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    root: Any = parser.parse(page)
    assert isinstance(root, Element)
    return root


def elements(root: Element) -> Iterator[tuple[str, Element]]:
    """Every element with its name, SVG's without their namespace."""
    for each in root.iter():
        if isinstance(each.tag, str):
            yield each.tag.rpartition("}")[2], each


def text_of(root: Element) -> str:
    """The text of the page, without its style sheet."""
    body = root.find("body")
    assert body is not None
    return "".join(body.itertext())


def assert_is_a_page(page: str) -> Element:
    """One page, well formed, of nothing but text and what lays it out; its policy allows its own style sheet alone."""
    root = tree_of(page)
    found = list(elements(root))
    assert {name for name, _each in found} <= ELEMENTS
    assert {attribute for _name, each in found for attribute in each.attrib} <= ATTRIBUTES
    assert root.get("lang") == "en"
    (style,) = (each for name, each in found if name == "style")
    assert style.text is not None
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    policies = [each.get("content") for name, each in found if each.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert "url(" not in style.text
    assert "@import" not in style.text
    levels = [int(name[1]) for name, _each in found if name in {"h1", "h2", "h3", "h4", "h5", "h6"}]
    assert levels[:1] == [1]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    assert [name for name, _each in found if name in {"header", "main", "footer"}] == ["header", "main", "footer"]
    assert all(each.get("scope") in {"col", "row"} for name, each in found if name == "th")
    return root
