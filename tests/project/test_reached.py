"""What `make check` runs for a change."""

from __future__ import annotations

import grimp
import pytest

from tests.reached import BESIDE, FRONTS, ROOT, STARTS_PROCESSES, imports, module_of, reached_tests

pytestmark = pytest.mark.slow  # the graph of all imports takes a while


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return imports()


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("serde/srfix/serde/wire.py", "srfix.serde.wire"),
        ("recovery/srfix/recovery/checks/__init__.py", "srfix.recovery.checks"),
        ("fixtures/parts/jars.py", "parts.jars"),
        ("tests/serde/test_wire.py", "tests.serde.test_wire"),
    ],
)
def test_a_file_is_found_by_its_module(path: str, module: str, graph: grimp.ImportGraph) -> None:
    assert module_of(path) == module
    assert module in graph.modules


def test_the_nearest_come_first(graph: grimp.ImportGraph) -> None:
    reached = reached_tests(["recovery/srfix/recovery/checks/srf004.py"], graph)
    assert reached.index("tests/recovery/checks/test_srf004.py") < reached.index("tests/recovery/test_worlds.py")
    assert len(set(reached)) == len(reached)


def test_what_comes_through_a_front_is_imported_from_where_it_is_defined(graph: grimp.ImportGraph) -> None:
    assert "tests.serde.confluent.test_asynchronous" in graph.find_modules_that_directly_import("srfix.serde.errors")
    assert not any(graph.find_modules_directly_imported_by(front) for front in FRONTS)


def test_a_changed_front_reaches_who_imports_through_it(graph: grimp.ImportGraph) -> None:
    assert "tests/serde/confluent/test_asynchronous.py" in reached_tests(["serde/srfix/serde/__init__.py"], graph)


@pytest.mark.parametrize("path", ["cli/srfix/cli/main.py", "cli/srfix/cli/commands/plan.py"])
def test_a_command_is_reached_through_its_process(path: str, graph: grimp.ImportGraph) -> None:
    assert "tests/cli/test_verify.py" in reached_tests([path], graph)


def test_a_changed_test_is_reached_and_what_no_circle_of_ours_runs_is_not(graph: grimp.ImportGraph) -> None:
    changed = ["tests/serde/test_wire.py", "tests/stack/test_kraft.py", "tests/serde/registry/conftest.py"]
    reached = reached_tests(changed, graph)
    assert {"tests/serde/test_wire.py", "tests/serde/registry/test_retry.py"} <= set(reached)
    assert "tests/stack/test_kraft.py" not in reached


def test_every_file_that_it_names_is_there() -> None:
    assert [path for path in BESIDE if not (ROOT / path).exists()] == []
    assert [test for tests in BESIDE.values() for test in tests if not (ROOT / test).exists()] == []
    assert (ROOT / f"{STARTS_PROCESSES.replace('.', '/')}.py").is_file()
