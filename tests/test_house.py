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

from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.explain.catalogue import CATALOGUE
from srfix.serde import deserializer, serializer
from srfix.serde.formats.table import Format

# `make lint` runs all of this, whatever its marks.
pytestmark = pytest.mark.slow

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
    "letter case": (r"(?<!F)\.(upper|lower|casefold)\b|IGNORECASE", {"casing.py"}),
    "subject names": (r"""["'f]-(key|value)["']|f"[^"]*-\{[a-z_.]*role""", {"names.py"}),
    "internal topic names": (r"""endswith\(["']-(changelog|repartition)""", {"internal_topics.py"}),
}
"""What is decided → how it looks in code → the only modules that may."""


INNOCENT = (
    "logical.lower()",
    "order.lower()",
    "match[0].upper()",
    "branch.type.upper()",
    'removeprefix("TYPE_").lower()',
    "__name__.lower()",
    "field.cardinality.lower()",
    "text[0].upper()",
    "words[0].lower()",
    "coding.strip().lower()",
    '"Transfer-Encoding", "").lower()',
    '"referenceFormat", "").lower()',
    "text.upper() == level.value",
    "str(value).upper()",
    "licen[cs]e",
)
"""What decides on letter case, and not on a column's, a field's or an option's name: the word of a type or of a protocol, an
escape, a sentence's first letter, a file, what a processor of the tests does to a text."""


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
            if not found.name.endswith("__main__") and "._pyspark." not in found.name:
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
        names = getattr(module, "__all__", ())
        assert list(names) == sorted(names), module.__name__
        assert [name for name in names if not hasattr(module, name)] == [], module.__name__


FRONT_DOORS = ("srfix.recovery", "srfix.serde", "srfix.serde.spark")
DOORS = {*FRONT_DOORS, "srfix.serde.arrow", "srfix.serde.confluent"}
IMPLEMENTATIONS = {
    "srfix.cli.output.html",
    "srfix.serde.formats.avro",
    "srfix.serde.formats.json",
    "srfix.serde.formats.json_schema",
}
"""Folders that are one implementation of an interface: their front has its names, as a sibling's file has."""


@pytest.mark.parametrize("door", FRONT_DOORS)
def test_a_front_door_shows_to_checkers_what_it_loads(door: str) -> None:
    """The names that it imports for type checkers are those that it loads when they are asked for."""
    module = importlib.import_module(door)
    assert module.__file__ is not None
    imported = {
        alias.asname: getattr(importlib.import_module(node.module or ""), alias.name)
        for node in ast.walk(ast.parse(Path(module.__file__).read_text()))
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert {name: getattr(module, name) for name in module.__all__} == imported


@pytest.mark.parametrize("room", ROOMS)
def test_only_doors_show_what_others_define(room: str) -> None:
    """Elsewhere a name is imported from the module that defines it."""
    for path in sources(room):
        module = ".".join(path.parent.relative_to(ROOT).parts[1:])
        if path.name == "__init__.py" and module not in DOORS | IMPLEMENTATIONS:
            tree = ast.parse(path.read_text())
            assert not any(isinstance(node, ast.ImportFrom) and node.level == 0 for node in tree.body), path


@pytest.mark.parametrize("room", ROOMS)
def test_package_files_hold_nothing_but_re_exports(room: str) -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.AnnAssign, ast.If)  # if TYPE_CHECKING
    for path in sources(room):
        if path.name == "__init__.py":
            tree = ast.parse(path.read_text())
            assert all(isinstance(node, allowed) for node in tree.body), path


def test_the_catalogue_says_checked_of_exactly_the_codes_that_are_checked() -> None:
    assert {entry.code for entry in CATALOGUE if entry.checked_since} == set(BY_CODE)


def test_recovery_knows_a_registry_by_its_protocol_alone() -> None:
    assert not [path for path in sources("recovery") if re.search(r"import .*\bRegistryClient\b", path.read_text())]


def test_importing_the_serde_loads_neither_kafka_nor_click_nor_rich_nor_spark() -> None:
    names = ", ".join(
        f"'srfix.{'.'.join(p.relative_to(ROOT / 'serde/srfix').with_suffix('').parts)}'"
        for p in sources("serde")
        if not {"_pyspark", "confluent"} & {*p.parts}  # the drop-in is made of confluent-kafka's classes
    )
    heavy = "{'confluent_kafka', 'click', 'rich', 'pyspark', 'pandas', 'avro'}"
    code = (
        "import importlib, sys\n"
        f"for name in [{names}]: importlib.import_module(name.removesuffix('.__init__'))\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("room", ["recovery", "cli"])
def test_a_finding_code_is_asked_for_by_name_in_its_own_module_alone(room: str) -> None:
    codes = {entry.code for entry in CATALOGUE}
    elsewhere = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sources(room)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in codes
        if (path.parent.name, path.stem) != ("checks", str(node.value).lower())
    ]
    assert elsewhere == []


def test_a_format_without_schemas_has_what_reads_and_what_writes_it() -> None:
    schemaless = {format_ for format_ in Format if format_.schema_type is None}
    assert {*deserializer._SCHEMALESS} == {*serializer.SCHEMALESS} == schemaless


def decided() -> list[str]:
    """What the table of decisions in DESIGN.md names: modules, and names in them."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    table = text[text.index("| decision | module |") : text.index("### Where to add what")]
    return sorted(set(re.findall(r"`((?:serde|recovery|cli)\.[\w.]+)`", table)))


@pytest.mark.parametrize("name", decided())
def test_what_design_says_of_a_decision_exists(name: str) -> None:
    assert pkgutil.resolve_name(f"srfix.{name}") is not None


PREFIXES = ("srfix", "srfix.serde", "srfix.serde.spark", "srfix.recovery", "srfix.cli", "srfix.fixtures")
SETTINGS = ("application.", "connect.", "topology.", "use.")
"""How settings begin that DESIGN.md names and that are written as modules are."""


def named_in_prose() -> list[str]:
    """The modules, and names in them, that DESIGN.md names below its tables."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(_?[a-z]\w*(?:\.\w+)+)`", text[text.index("### Where to add what") :]))
    return sorted(name for name in names if not name.startswith(SETTINGS) and not name.endswith(".py"))


@pytest.mark.parametrize("name", named_in_prose())
def test_what_design_names_exists(name: str) -> None:
    def exists(full_name: str) -> bool:
        try:
            return pkgutil.resolve_name(full_name) is not None
        except (ImportError, AttributeError):
            return False

    assert exists(name) or any(exists(f"{prefix}.{name}") for prefix in PREFIXES)
