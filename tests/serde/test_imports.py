"""What importing the serde room loads: it must live on Spark workers and in small processes."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import srfix.serde

FORBIDDEN = ("confluent_kafka", "click", "rich", "pyspark", "srfix.recovery", "srfix.cli", "srfix.fixtures")


def test_importing_any_module_of_the_room_loads_nothing_heavy_and_nothing_of_the_other_rooms() -> None:
    found = (found.name for found in pkgutil.walk_packages(srfix.serde.__path__, "srfix.serde."))
    # Those that need pyspark, and are loaded when called, and confluent-kafka's drop-in, which is made of its classes.
    apart = ("srfix.serde.spark._pyspark.", "srfix.serde.confluent")
    modules = [name for name in found if not name.startswith(apart)]
    assert "srfix.serde.formats.avro" in modules
    program = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"print(*sorted(name for name in sys.modules if name.startswith({FORBIDDEN!r})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
