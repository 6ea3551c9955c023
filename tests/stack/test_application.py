"""The process of a Kafka Streams application never outlives its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.stack

# Nobody listens there: the application starts and waits for a broker.
NOWHERE = "127.0.0.1:9"

_START_AND_HANG = f"""
import sys
import tempfile
from pathlib import Path
from parts.streams.application import StreamsApplication; from parts.streams.model import ProjectedColumn, StreamsSetup
setup = StreamsSetup(
    application="app",
    bootstrap_servers="{NOWHERE}",
    registry="http://{NOWHERE}",
    state_directory=Path(sys.argv[1]),
)
application = StreamsApplication(setup, columns=(ProjectedColumn(name="NAME", field="name"),))
Path(tempfile.gettempdir(), "here").touch()
print(application.process_id, application.state, flush=True)
sys.stdin.read()
"""


class TestStreamsApplication:
    def test_ends_with_the_process_that_started_it_even_when_that_is_killed(self, tmp_path: Path) -> None:
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        with subprocess.Popen(
            (sys.executable, "-c", _START_AND_HANG, str(tmp_path / "state")),
            env=os.environ | {"TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as owner:
            assert owner.stdout is not None
            process_id, state = owner.stdout.readline().split()
            assert state in ("CREATED", "REBALANCING")
            owner.kill()
        deadline = time.monotonic() + 30
        while Path(f"/proc/{process_id}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert [path.name for path in temporary.iterdir()] == ["here"]
