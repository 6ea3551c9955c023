"""A command imports what it uses, when it runs. Held by lists of modules: a clock would tell how busy the machine is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from srfix.cli.command_table import every_command
from tests.cli.kept_demo import environment
from tests.telling import slow_but

STORES: Final = Path(__file__).parents[1] / "recovery" / "state" / "data" / "kinds" / "2.6.3" / "state"
TAKES_LONG: Final = {
    *("confluent_kafka", "requests", "urllib3", "fastavro", "orjson", "tenacity", "portalocker", "javaproperties"),
    *("rich", "pyarrow", "jinja2", "prometheus_client", "rocksdict", "pyspark", "cryptography", "asyncio"),
}
NOBODY: Final = (
    *("--bootstrap-servers", "localhost:1", "--registry", "http://localhost:1"),
    *("-X", "socket.timeout.ms=100"),
)
_LAST: Final = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from srfix.cli.main import main
main(sys.argv[1:])
"""
_COLLECTOR: Final = """
import atexit, gc, sys
collections = []
atexit.register(lambda: print(len(collections), gc.get_freeze_count() > len(gc.get_objects())))
from srfix.cli.main import main
gc.collect()
gc.callbacks.append(lambda phase, _info: collections.append(phase))
sys.exit(main())
"""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that are there when the command ends. It finds no views of another test's to sweep, with a lock each."""
    command = [sys.executable, "-c", _LAST, *arguments]
    with TemporaryDirectory() as folder:
        of_its_own = environment({"TMPDIR": folder})
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=of_its_own)
    return set(json.loads(done.stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "srfix"}


def of_rooms(modules: set[str], *rooms: str) -> set[str]:
    return {name for name in modules if name.startswith(tuple(f"srfix.recovery.{room}." for room in rooms))}


@pytest.mark.parametrize("name", slow_but(every_command(), "plan", "state get"))
def test_help_loads_options_and_nothing_that_takes_long(name: str) -> None:
    modules = loaded_by(*name.split(), "--help")
    assert TAKES_LONG & modules == set()
    assert 20 < len(ours(modules)) < 150


def test_a_row_is_read_without_kafka_a_registry_or_a_codec() -> None:
    modules = loaded_by("state", "get", str(STORES), "t1", "--store", "ts", "--output", "json")
    assert "rocksdict" in modules
    assert not (TAKES_LONG - {"rocksdict", "portalocker"}) & modules
    assert not of_rooms(modules, "checks", "diagnosis", "guard", "rebuild", "repair", "topic_plan", "watch")
    assert len(ours(modules)) < 160


@pytest.mark.parametrize("arguments", [("--version",), ("explain", "SRF001", "--output", "json")])
def test_explaining_itself_takes_neither_kafka_nor_an_http_client(arguments: tuple[str, ...]) -> None:
    assert (TAKES_LONG - {"rich"}) & loaded_by(*arguments) == set()


def test_a_diagnosis_asks_the_cluster_before_it_loads_what_its_report_takes() -> None:
    modules = loaded_by("diagnose", *NOBODY)
    assert "srfix.recovery.diagnosis.diagnose" in modules
    assert not {"fastavro", "jinja2", "prometheus_client", "pyarrow", "rich", "rocksdict", "tenacity"} & modules
    assert not of_rooms(modules, "guard", "rebuild", "repair", "report", "topic_plan", "watch")
    assert len(ours(modules)) < 272


def test_the_garbage_collector_never_looks_at_what_a_command_imports() -> None:
    command = [sys.executable, "-c", _COLLECTOR, "diagnose", *NOBODY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment({}))
    assert (done.returncode, done.stdout) == (2, "0 True\n"), done.stderr
