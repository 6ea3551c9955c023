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
NOT_FOR_HELP: Final = {
    *("confluent_kafka", "requests", "urllib3", "fastavro", "orjson", "tenacity", "portalocker", "javaproperties"),
    *("rich", "pyarrow", "jinja2", "prometheus_client", "rocksdict", "pyspark", "cryptography", "asyncio"),
}
"""What takes long to import, and no help needs."""
_TELL: Final = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from srfix.cli.main import main
main(sys.argv[1:])
"""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that are there when the command ends."""
    command = [sys.executable, "-c", _TELL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment())
    return set(json.loads(done.stderr.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "srfix"}


@pytest.mark.parametrize("name", every_command())
def test_help_loads_options_and_nothing_that_takes_long(name: str) -> None:
    modules = loaded_by(*name.split(), "--help")
    assert not NOT_FOR_HELP & modules
    assert len(ours(modules)) < 120


def test_a_row_is_read_without_kafka_and_without_the_rooms_of_other_commands() -> None:
    modules = loaded_by("state", "get", str(STORES), "t1", "--store", "ts")
    assert not {"confluent_kafka", "tenacity", "pyarrow", "asyncio"} & modules
    assert len(ours(modules)) < 250
    others = ("diagnosis", "repair", "guard", "watch", "topic_plan", "rebuild", "checks")
    assert not {name for name in modules if name.startswith(tuple(f"srfix.recovery.{room}" for room in others))}


def test_a_diagnosis_asks_the_cluster_before_it_loads_what_its_report_takes() -> None:
    modules = loaded_by("diagnose", "--bootstrap-servers", "localhost:1", "--registry", "http://localhost:1")
    assert "srfix.recovery.diagnosis.diagnose" in modules
    assert not {"fastavro", "tenacity", "pyarrow", "rich", "jinja2", "prometheus_client", "rocksdict"} & modules
    others = ("repair", "guard", "watch", "topic_plan", "rebuild", "report")
    assert not {name for name in modules if name.startswith(tuple(f"srfix.recovery.{room}" for room in others))}
    assert len(ours(modules)) < 270
