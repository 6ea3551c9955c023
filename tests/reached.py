"""What a change reaches: `python -m tests.reached` runs mypy over the changed files and pytest over the tests that import
them, directly or not.

A change is what differs from the commit that the upstream branch has too (`--since` names another commit), committed or not.
The tests are taken nearest first, by imports in between, up to `MOST_FILES`; how many are left to `make test` is said.
A command that a test starts as a process is reached through `STARTS_PROCESSES`.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).parents[1]
ROOTS: Final = ("srfix.serde", "srfix.recovery", "srfix.cli", "srfix.fixtures", "parts", "tests")
FRONTS: Final = ("srfix.serde", "srfix.serde.arrow", "srfix.serde.confluent", "srfix.serde.spark", "srfix.recovery")
MOST_FILES: Final = 60
NOT_HERE: Final = ("tests/bench/", "tests/browser/", "tests/docker/", "tests/spark/", "tests/stack/")
"""Tests that `make test` does not run either."""

RUN_BY_PROCESS: Final = ("srfix.cli.main", "srfix.cli.commands.")
STARTS_PROCESSES: Final = "tests.cli.forked"
"""Who in the tests starts a command, which names its modules in no import."""

BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "serde/kernel/": ("tests/serde/formats", "tests/serde/test_native.py"),
    "cli/man/": ("tests/cli/test_reference.py",),
    "README.md": ("tests/test_readme_screens.py", "tests/test_examples.py", "tests/project"),
    "Makefile": ("tests/project",),
    ".ci/": ("tests/test_readme_screens.py", "tests/test_examples.py", "tests/project"),
    ".github/": ("tests/project",),
    "pyproject.toml": ("tests/test_wheel.py",),
}
"""Files that nothing imports → the tests that read them."""


def imports() -> grimp.ImportGraph:
    """Who imports whom. A front's user imports what it names, from where that is defined; `import front` imports the room."""
    graph = grimp.build_graph(*ROOTS, cache_dir=str(ROOT / ".import_linter_cache"))
    for front in FRONTS:
        defined = {alias.asname or alias.name: node.module for node, alias in _named_imports(front) if node.module}
        room = graph.find_modules_directly_imported_by(front)
        for user in graph.find_modules_that_directly_import(front):
            named = [alias.name for node, alias in _named_imports(user) if node.module == front]
            for module in {defined[name] for name in named if name in defined} if named else room:
                if module in graph.modules:
                    graph.add_import(importer=user, imported=module)
        for module in room:
            graph.remove_import(importer=front, imported=module)
    return graph


def _named_imports(module: str) -> Iterator[tuple[ast.ImportFrom, ast.alias]]:
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    for node in ast.walk(ast.parse(Path(found.origin).read_bytes())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node, alias) for alias in node.names)


def changed_files(since: str | None) -> list[str]:
    """The files that differ, by their path from the root; those that are gone are left out."""
    base = since or _said("git", "merge-base", "HEAD", "@{upstream}") or "HEAD"
    named = [*_lines("git", "diff", "--name-only", base), *_lines("git", "ls-files", "--others", "--exclude-standard")]
    return [name for name in dict.fromkeys(named) if (ROOT / name).is_file()]


def module_of(path: str) -> str:
    """The module of a Python file: `serde/srfix/serde/wire.py` is `srfix.serde.wire`."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts if parts[0] == "tests" else parts[1:])


def reached_tests(changed: Iterable[str], graph: grimp.ImportGraph) -> list[str]:
    """The test files that a change reaches, nearest first: those that changed, those that import a changed module, …

    A changed `conftest.py` reaches the tests of its folder.
    """
    changed = list(changed)
    reached = {
        test for path in changed for prefix, tests in BESIDE.items() if path.startswith(prefix) for test in tests
    }
    reached |= {
        str(test.relative_to(ROOT))
        for path in changed
        if path.endswith("/conftest.py")
        for test in (ROOT / path).parent.rglob("test_*.py")
    }
    level = {module for path in changed if path.endswith(".py") and (module := module_of(path)) in graph.modules}
    seen = set(level)
    found = sorted(reached)
    while level:
        found += sorted(path for module in level if (path := _test_file(module)) is not None and path not in reached)
        level = {user for module in level for user in _users_of(module, graph)} - seen
        seen |= level
    return [path for path in found if not path.startswith(NOT_HERE)]


def _users_of(module: str, graph: grimp.ImportGraph) -> set[str]:
    users = graph.find_modules_that_directly_import(module)
    return users | {STARTS_PROCESSES} if module.startswith(RUN_BY_PROCESS) else users


def _test_file(module: str) -> str | None:
    path = module.replace(".", "/") + ".py"
    return path if module.startswith("tests.") and path.rpartition("/")[2].startswith("test_") else None


def _said(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def _lines(*command: str) -> list[str]:
    return _said(*command).splitlines()


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description="mypy and the tests, of what changed.")
    parser.add_argument("--since", metavar="COMMIT", help="what to compare with")
    changed = changed_files(parser.parse_args().since)
    checked = [path for path in changed if path.endswith(".py")]
    if find_spec("pyspark") is None and (unchecked := [path for path in checked if "spark" in path]):
        print(f"PySpark is not installed: mypy leaves {', '.join(unchecked)} to `make lint`.", flush=True)
        checked = [path for path in checked if path not in unchecked]
    tests = reached_tests(changed, imports())
    print(f"{len(changed)} files changed; {len(tests)} test files reached.", flush=True)
    if len(tests) > MOST_FILES:
        print(f"The nearest {MOST_FILES} run; `make test` runs the other {len(tests) - MOST_FILES} too.", flush=True)
    code = subprocess.call([sys.executable, "-m", "mypy", *checked], cwd=ROOT) if checked else 0
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    if tests and (ended := subprocess.call([*pytest, *tests[:MOST_FILES]], cwd=ROOT)) != 5:  # 5: all of them are slow
        code = code or ended
    return code


if __name__ == "__main__":
    sys.exit(main())
