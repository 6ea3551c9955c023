"""A report as one JSON document."""

from __future__ import annotations

import json
from typing import TextIO

from srfix.cli.output.interface import Report
from srfix.serde.printable import printable_json


def render(report: Report, stream: TextIO) -> None:
    """Writes the document, indented, in the order of its keys. Only ASCII: it survives every pipe."""
    stream.write(printable_json(json.dumps(report.document, indent=2, allow_nan=False)) + "\n")
