"""How hypothesis runs: never by the clock, and on CI with the same examples each time; and which cases run (`one_in`)."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.one_in import runs_all, those_that_run

settings.register_profile(
    "srfix",
    # `make test` gives the serde's properties these with the kernel, and fewer once more without; `make fuzz` gives more.
    max_examples=100 if runs_all() else 25 if os.environ.get("SRFIX_ENGINE") == "python" else 50,
    deadline=None,  # machines are shared: how long an example takes says nothing
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("srfix")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = those_that_run(items)
    if len(kept) < len(items):
        run = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in run])
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what came of the generated worlds (`recovery/test_worlds.py`), whichever worker judged them."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    told = {
        (report.nodeid, str(said))
        for report in reports
        for name, said in getattr(report, "user_properties", ())
        if name == "worlds"
    }
    for node, said in sorted(told):
        terminalreporter.write_line(f"{node.rpartition('::')[2]}: {said}")
