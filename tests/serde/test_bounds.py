"""The table of bounds in SECURITY.md: whole and true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from srfix.serde import bounds, printable

SECURITY = Path(__file__).parents[2] / "SECURITY.md"


ROW = re.compile(r"^\| `([\w.]+)` \| ([\d,]+) (\S.*?) \| (\S.*) \| (\S.*) \|$", re.MULTILINE)
"""Name, default, unit, what it protects from, how to change it."""


def constants() -> dict[str, float]:
    single = {name: value for name, value in vars(bounds).items() if name.isupper() and isinstance(value, int | float)}
    of_printable = {
        f"printable.{name}": value
        for name, value in vars(printable).items()
        if name.isupper() and isinstance(value, int)
    }
    groups = (bounds.PayloadBounds(), bounds.AnswerBounds(), bounds.UnknownIdBounds())
    fields = {f"{type(group).__name__}.{each}": getattr(group, each) for group in groups for each in group.__slots__}
    return single | of_printable | fields


def test_each_bound_is_a_row_of_the_table_with_its_default_and_each_row_a_bound() -> None:
    rows = ROW.findall(SECURITY.read_text())
    assert sorted((name, default) for name, default, *_ in rows) == sorted(
        (name, f"{value:,.0f}") for name, value in constants().items()
    )


def test_a_bound_that_is_assigned_before_anything_else_is_imported_counts() -> None:
    code = (
        "import srfix.serde.bounds\n"
        "srfix.serde.bounds.AVRO_SCHEMA_LEVELS = 3\n"
        "from srfix.serde.errors import SchemaError\n"
        'text = \'{"type": "array", "items": \' * 5 + \'"int"\' + \'}\' * 5\n'
        "from srfix.serde.formats.avro.schema import load\n"
        "try:\n    load(text)\nexcept SchemaError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.startswith("The schema text nests deeper than 3 levels: ")
