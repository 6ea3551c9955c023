"""The table of tests that run one case in a few: each is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.one_in import ONE_IN, those_that_run

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("test", ONE_IN)
def test_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name] == [name]
    assert ONE_IN[test] > 1


class _Item:
    def __init__(self, nodeid: str) -> None:
        self.nodeid, self.name = nodeid, nodeid.rpartition("::")[2]
        self.originalname = self.name.partition("[")[0]


def test_the_first_of_a_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    test, few = next(iter(ONE_IN.items()))
    other = "tests/test_one_in.py::test_is_there[a]"
    items = [_Item(f"{test}[{number}]") for number in range(2 * few)] + [_Item(other)]
    monkeypatch.delenv("SRFIX_ATTACKS", raising=False)
    kept = [item.nodeid for item in those_that_run(items)]  # type: ignore[arg-type]
    assert kept == [f"{test}[0]", f"{test}[{few}]", other]
    monkeypatch.setenv("SRFIX_ATTACKS", "all")
    assert those_that_run(items) == items  # type: ignore[arg-type,comparison-overlap]
