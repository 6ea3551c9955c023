"""What notebooks show of a value (`_repr_html_`): tables and lists, in which everything that came from elsewhere is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from srfix.serde.printable import printable


def escaped(text: object) -> str:
    """Any text as text of HTML: no markup, no invisible characters."""
    return escape(printable("" if text is None else str(text)), quote=True)


def heading(text: object) -> str:
    """What the value is."""
    return f"<h4>{escaped(text)}</h4>"


def paragraph(text: object) -> str:
    """Sentences."""
    return f"<p>{escaped(text)}</p>"


def preformatted(text: object) -> str:
    """Text whose lines stay as they are."""
    lines = str(text).split("\n")
    return f"<pre>{chr(10).join(map(escaped, lines))}</pre>"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; nothing where there are no rows."""
    body = "".join(f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
    head = "".join(f"<th>{escaped(heading)}</th>" for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def pairs(entries: Iterable[tuple[str, object]]) -> str:
    """Names and values; None is left out."""
    rows = "".join(
        f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in entries if value is not None
    )
    return f"<table><tbody>{rows}</tbody></table>" if rows else ""
