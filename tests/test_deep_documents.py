"""JSON of others may nest as deep as it likes: where it is parsed, Python's recursion limit is one of its errors."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cli.kept_demo import srfix

ROOT = Path(__file__).parents[1]
BARE = {
    "serde/srfix/serde/spark/_pyspark/sessions.py": "the partitions of assign=, which srfix wrote",
    "serde/srfix/serde/spark/read/decisions.py": "what srfix made of columns, which have a limit",
    "serde/srfix/serde/spark/write/column.py": "what srfix made of columns, which have a limit",
    "serde/srfix/serde/spark/_pyspark/strict.py": "what srfix made of columns, which have a limit",
    "serde/srfix/serde/spark/source/frame.py": "the same",
    "serde/srfix/serde/spark/frame_types.py": "the schema of a frame, which Spark made",
    "serde/srfix/serde/spark/avro_limits.py": "the schema of a shape, which srfix made: a hundred levels at most",
    "serde/srfix/serde/spark/progress.py": "the progress of a stream, which Spark made",
    "serde/srfix/serde/confluent/avro_codec.py": "what fastavro has parsed, and references whose errors `_parse` catches",
    "serde/srfix/serde/formats/protobuf/plain.py": "a map's key, which its pattern says to be a number or a boolean",
    "recovery/srfix/recovery/repair/planning/own_schemas.py": "its callers catch it",
}
"""Files in which it may stand bare → why."""


def uncaught(source: str) -> list[int]:
    """The lines that parse JSON where nothing catches `RecursionError`, in a file whose functions all stand for themselves."""
    found: list[int] = []

    def visit(node: ast.AST, caught: bool) -> None:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "json.loads" and not caught:
            found.append(node.lineno)
        if isinstance(node, ast.Try):
            names = {ast.unparse(handler.type) if handler.type else "" for handler in node.handlers}
            here = any("RecursionError" in name or name in ("Exception", "_FAILURES") for name in names)
            for inside in node.body:
                visit(inside, caught or here)
            for outside in [*node.handlers, *node.orelse, *node.finalbody]:
                visit(outside, caught)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, caught)

    visit(ast.parse(source), False)
    return found


@pytest.mark.slow  # and by `make lint`
@pytest.mark.parametrize("room", ["serde", "recovery", "cli"])
def test_no_json_is_parsed_where_its_depth_is_no_error(room: str) -> None:
    files = {str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / room).rglob("*.py"))}
    assert files
    bare = {name: lines for name, text in files.items() if (lines := uncaught(text))}
    assert bare.keys() == {name for name in BARE if name.startswith(f"{room}/")}, bare


def test_the_look_finds_what_is_bare() -> None:
    assert uncaught("try:\n    json.loads(x)\nexcept ValueError:\n    pass\n") == [2]
    assert uncaught("try:\n    json.loads(x)\nexcept (ValueError, RecursionError):\n    json.loads(y)\n") == [4]


@pytest.mark.parametrize(
    "row", ["[" * 100_000, '{"A": ' * 600 + "1" + "}" * 600, '{"A": {"$object": ' * 30_000 + "1" + "}}" * 30_000]
)
@pytest.mark.parametrize("more", [("--columns", "A STRING"), ("--schema", '{"type":"array","items":"int"}')])
def test_a_row_to_encode(row: str, more: tuple[str, ...]) -> None:
    done = srfix("encode", "--format", "avro", *more, stdin=f"{row}\n")
    assert done.returncode in (0, 1, 2), done.stderr  # 0: an object is a text where a column asks for one
    # For later versions of Python than 3.11, 600 levels are not too deep.
    assert done.returncode == 0 or "deep" in done.stderr or "does not fit" in done.stderr, done.stderr
