"""The table of bounds: whole, true, and the one in SECURITY.md."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from srfix.serde import bounds

SECURITY = Path(__file__).parents[2] / "SECURITY.md"


def constants() -> list[str]:
    single = [name for name, value in vars(bounds).items() if name.isupper() and isinstance(value, int | float)]
    groups = (bounds.PayloadBounds, bounds.AnswerBounds, bounds.UnknownIdBounds)
    return [*single, *(f"{group.__name__}.{each.name}" for group in groups for each in fields(group))]


def test_each_bound_is_a_row_and_each_row_a_bound() -> None:
    assert sorted(bound.name for bound in bounds.BOUNDS) == sorted(constants())


def test_a_bound_is_positive_and_its_row_says_all() -> None:
    for bound in bounds.BOUNDS:
        assert bound.default > 0
        assert bound.unit
        assert bound.protects_from
        assert bound.how_to_change


def test_the_table_of_bounds_is_the_one_in_security_md() -> None:
    assert bounds.as_markdown() in SECURITY.read_text()


def test_a_bound_that_is_assigned_before_anything_else_is_imported_counts() -> None:
    code = (
        "import srfix.serde.bounds\n"
        "srfix.serde.bounds.AVRO_SCHEMA_LEVELS = 3\n"
        "from srfix.serde.errors import SchemaError\n"
        'text = \'{"type": "array", "items": \' * 5 + \'"int"\' + \'}\' * 5\n'
        "from srfix.serde.formats._avro_schema import load\n"
        "try:\n    load(text)\nexcept SchemaError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.startswith("The schema text nests deeper than 3 levels: ")
