"""A report as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, TextIO

from srfix.cli.output.interface import Report
from srfix.serde.printable import printable_json

if TYPE_CHECKING:
    from srfix.serde.schemas.models import Json

_LINE: Final = 100
"""A list or an object with at most this number of characters stands on one line."""

_MANY: Final = 100
"""From this number on, names share lines."""


def render(report: Report, stream: TextIO) -> None:
    """Writes the document, indented, in the order of its keys, in pure ASCII, so that it survives every pipe."""
    stream.write(printable_json("".join(_pieces(dict(report.document), ""))) + "\n")


def _pieces(value: Json | Mapping[str, Json], indent: str) -> Iterator[str]:
    inner = f"{indent}  "
    if isinstance(value, Mapping) and value and not _is_short(value):
        for number, (name, item) in enumerate(value.items()):
            yield f"{',' if number else '{'}\n{inner}{json.dumps(name)}: "
            yield from _pieces(item, inner)
        yield f"\n{indent}}}"
    elif isinstance(value, list) and value and not _is_short(value):
        for number, item in enumerate(value):
            yield f"{',' if number else '['}\n{inner}"
            yield from _pieces(item, inner)
        yield f"\n{indent}]"
    else:
        yield json.dumps(value, allow_nan=False)


def _is_short(value: Mapping[str, Json] | list[Json]) -> bool:
    """True if it fits on a line. Looks only at its own items, so that a deep document takes no longer than a flat one."""
    items = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(value, list) and all(isinstance(item, int) for item in items):
        return True
    if (
        isinstance(value, list)
        and len(items) >= _MANY
        and all(isinstance(item, str) and " " not in item for item in items)
    ):
        return True
    if any(isinstance(item, dict) and item for item in items):
        return False
    if any(isinstance(item, list) and not all(isinstance(one, int) for one in item) for item in items):
        return False
    return len(json.dumps(value, allow_nan=False)) <= _LINE
