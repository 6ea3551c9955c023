"""A command imports what it uses, when it runs. Held by lists of modules: a clock would tell how busy the machine is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from srfix.cli.command_table import every_command
from tests.cli.kept_demo import environment

STORES: Final = Path(__file__).parents[1] / "recovery" / "state" / "data" / "kinds" / "2.6.3" / "state"
TAKES_LONG: Final = {
    *("confluent_kafka", "requests", "urllib3", "fastavro", "orjson", "tenacity", "portalocker", "javaproperties"),
    *("rich", "pyarrow", "jinja2", "prometheus_client", "rocksdict", "pyspark", "cryptography", "asyncio"),
}
_EACH: Final = """
import json, os, sys
from srfix.cli.command_line import cli  # what every command starts with
for arguments in json.loads(sys.stdin.read()):
    if os.fork() == 0:
        sys.stdout = open(os.devnull, "w")
        try:
            cli.main(arguments, prog_name="srfix")
        except SystemExit:
            os.write(1, json.dumps(sorted(sys.modules)).encode() + b"\\n")
        finally:
            os._exit(0)
    os.wait()
"""
_LAST: Final = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from srfix.cli.main import main
main(sys.argv[1:])
"""


def run(script: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=60, check=True, env=environment()
    )


def loaded_by(*arguments: str) -> set[str]:
    """The modules that are there when the command ends."""
    return set(json.loads(run(_LAST, *arguments).stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "srfix"}


def of_rooms(modules: set[str], *rooms: str) -> set[str]:
    return {name for name in modules if name.startswith(tuple(f"srfix.recovery.{room}." for room in rooms))}


@pytest.fixture(scope="module")
def helps() -> dict[str, set[str]]:
    """What the help of each command loads, in a process of its own."""
    names = list(every_command())
    told = run(_EACH, stdin=json.dumps([[*name.split(), "--help"] for name in names])).stdout.splitlines()
    return {name: set(json.loads(line)) for name, line in zip(names, told, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", every_command())
def test_help_loads_options_and_nothing_that_takes_long(helps: dict[str, set[str]], name: str) -> None:
    assert not TAKES_LONG & helps[name]
    assert 20 < len(ours(helps[name])) < 150


def test_a_row_is_read_without_kafka_a_registry_or_a_codec() -> None:
    modules = loaded_by("state", "get", str(STORES), "t1", "--store", "ts", "--output", "json")
    assert "rocksdict" in modules
    assert not (TAKES_LONG - {"rocksdict", "portalocker"}) & modules
    assert not of_rooms(modules, "checks", "diagnosis", "guard", "rebuild", "repair", "topic_plan", "watch")
    assert len(ours(modules)) < 160


@pytest.mark.parametrize("arguments", [("--version",), ("explain", "SRF001", "--output", "json")])
def test_explaining_itself_takes_neither_kafka_nor_an_http_client(arguments: tuple[str, ...]) -> None:
    assert not (TAKES_LONG - {"rich"}) & loaded_by(*arguments)


def test_a_diagnosis_asks_the_cluster_before_it_loads_what_its_report_takes() -> None:
    nobody = ("--bootstrap-servers", "localhost:1", "--registry", "http://localhost:1", "-X", "socket.timeout.ms=100")
    modules = loaded_by("diagnose", *nobody)
    assert "srfix.recovery.diagnosis.diagnose" in modules
    assert not {"fastavro", "jinja2", "prometheus_client", "pyarrow", "rich", "rocksdict", "tenacity"} & modules
    assert not of_rooms(modules, "guard", "rebuild", "repair", "report", "topic_plan", "watch")
    assert len(ours(modules)) < 270
