"""The house: who may import whom, what is exported, where decisions are made."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from srfix.recovery.catalogue import CATALOGUE
from srfix.recovery.checks import ALL

ROOT = Path(__file__).parent.parent
ROOMS = {
    "serde": set[str](),
    "recovery": {"serde"},
    "fixtures": {"serde"},
    "cli": {"serde", "recovery", "fixtures"},
}
"""Room → the rooms that it may import."""

DECISIONS = {
    "framing": (r"payload\[\s*1\s*:\s*5\s*\]|\[1:5\]", {"wire.py", "wire_peek.py"}),
    "letter case": (r"(?<!\[0\])\.(upper|lower|casefold)\(\)", {"casing.py"}),
    "subject names": (r"""["'f]-(key|value)["']""", {"subjects.py"}),
    "internal topic names": (r"""endswith\(["']-(changelog|repartition)""", {"internal_topics.py"}),
}
"""What is decided → how it looks in code → the only modules that may."""


INNOCENT = (
    "logical.lower()",
    "node.kind.upper()",
    '"Transfer-Encoding", "").lower()',
    "branch.type.upper()",
    "[0].lower()",
    "coding.strip().lower()",
)
"""What looks like a decision on letter case and is none: the word of a type, a word in a path, an HTTP header, a
sentence's first letter."""


def sources(room: str) -> Iterator[Path]:
    yield from sorted((ROOT / room / "srfix" / room).rglob("*.py"))


def imported_rooms(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
    return {parts[1] for name in names if (parts := name.split("."))[0] == "srfix" and len(parts) > 1}


def modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        package = importlib.import_module(f"srfix.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"srfix.{room}."):
            if not found.name.endswith("__main__") and not any(
                part in found.name for part in (".streams.driver", "._pyspark.")
            ):
                yield importlib.import_module(found.name)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_below_it(room: str) -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports {sorted(other)}"
        for path in sources(room)
        if (other := imported_rooms(path) - ROOMS[room] - {room})
    }
    assert not wrong


@pytest.mark.parametrize("room", ROOMS)
def test_the_namespace_package_has_no_module_of_its_own(room: str) -> None:
    assert not (ROOT / room / "srfix" / "__init__.py").exists()
    assert (ROOT / room / "srfix" / room / "py.typed").exists()


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_is_made_in_one_place(decision: str) -> None:
    pattern, homes = DECISIONS[decision]
    elsewhere = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for room in ROOMS
        for path in sources(room)
        if path.name not in homes
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(pattern, line) and not any(innocent in line for innocent in INNOCENT)
    ]
    assert elsewhere == []


def test_every_list_of_public_names_is_sorted_and_true() -> None:
    for module in modules():
        names = getattr(module, "__all__", None)
        if names is None:
            assert module.__name__.rpartition(".")[2].startswith("_") or not _has_public_code(module), module.__name__
            continue
        assert list(names) == sorted(names), module.__name__
        assert [name for name in names if not hasattr(module, name)] == [], module.__name__


def _has_public_code(module: ModuleType) -> bool:
    return any(
        getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        for name, value in vars(module).items()
    )


@pytest.mark.parametrize("room", ROOMS)
def test_package_files_hold_nothing_but_re_exports(room: str) -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign)
    for path in sources(room):
        if path.name == "__init__.py":
            tree = ast.parse(path.read_text())
            assert all(isinstance(node, allowed) for node in tree.body), path


def test_the_catalogue_says_checked_of_exactly_the_codes_that_are_checked() -> None:
    assert {entry.code for entry in CATALOGUE if entry.checked_since} == set(ALL)


def test_importing_the_serde_loads_neither_kafka_nor_click_nor_rich_nor_spark() -> None:
    names = ", ".join(
        f"'srfix.{'.'.join(p.relative_to(ROOT / 'serde/srfix').with_suffix('').parts)}'"
        for p in sources("serde")
        if "_pyspark" not in p.parts
    )
    heavy = "{'confluent_kafka', 'click', 'rich', 'pyspark', 'pandas', 'avro'}"
    code = (
        "import importlib, sys\n"
        f"for name in [{names}]: importlib.import_module(name.removesuffix('.__init__'))\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"
