"""How hypothesis runs: never by the clock; the same few examples each time, unless the profile is `everything`."""

from __future__ import annotations

import gc
import signal

import pytest
from hypothesis import HealthCheck, settings

from parts.protobuf import RegistryTexts
from srfix.fixtures.registry.http.server import FixtureRegistry

# Machines are shared: how long an example takes says nothing.
_shared = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("test", _shared, max_examples=25, derandomize=True)
settings.register_profile("everything", _shared, max_examples=100)
settings.load_profile("test")

FixtureRegistry.protobuf = RegistryTexts()


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive() -> None:
    """Who runs the tests in the background of a shell has SIGINT ignored, and what they start would ignore it too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
