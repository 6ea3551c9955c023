"""The HTML that notebooks show for a value (`_repr_html_`): tables and lists in which all foreign text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from srfix.serde.printable import printable


def escaped(text: object) -> str:
    """Any text as HTML text, without markup and invisible characters."""
    return escape(printable("" if text is None else str(text)), quote=True)


def heading(text: object) -> str:
    return f"<h4>{escaped(text)}</h4>"


def paragraph(text: object) -> str:
    return f"<p>{escaped(text)}</p>"


def preformatted(text: object) -> str:
    """Text that keeps its line breaks."""
    lines = str(text).split("\n")
    return f"<pre>{chr(10).join(map(escaped, lines))}</pre>"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; nothing if there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escaped(heading)}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def pairs(entries: Iterable[tuple[str, object]]) -> str:
    """Names and values; None is left out."""
    rows = "".join(
        f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in entries if value is not None
    )
    return f"<table><tbody>{rows}</tbody></table>" if rows else ""
