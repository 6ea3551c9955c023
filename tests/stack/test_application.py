"""The process of a Kafka Streams application says why it cannot, and never outlives its owner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parts.streams.application import StreamsApplication
from parts.streams.model import ProjectedColumn, StreamsError, StreamsSetup
from srfix.fixtures.fetching import cache_folder

pytestmark = pytest.mark.stack

COLUMNS = (ProjectedColumn(name="NAME", field="name"),)
# Nobody listens there: the application starts and waits for a broker.
NOWHERE = "127.0.0.1:9"

_START_AND_HANG = f"""
import sys
import tempfile
from pathlib import Path
from parts.streams import ProjectedColumn, StreamsApplication, StreamsSetup
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
    def test_maps_the_classes_that_the_one_before_left(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cache, jars = tmp_path / "cache", cache_folder(os.environ) / "jars"
        cache.mkdir()
        (cache / "jars").symlink_to(jars)
        monkeypatch.setenv("SRFIX_CACHE", str(cache))
        for is_left in (False, True):
            with StreamsApplication(_setup(tmp_path), columns=COLUMNS) as application:
                mapped = Path(f"/proc/{application.process_id}/maps").read_text()
                assert (f"{cache}/classes/" in mapped) is is_left

    def test_tells_the_java_exception_that_kept_it_from_starting(self, tmp_path: Path) -> None:
        with pytest.raises(StreamsError, match=r"^app \(Streams 2\.6\.3\) answers 'start' with") as caught:
            StreamsApplication(_setup(tmp_path, bootstrap_servers="nonsense"), columns=COLUMNS)
        assert caught.value.causes[-1].class_name == "org.apache.kafka.common.config.ConfigException"
        assert "bootstrap.servers" in caught.value.message

    def test_says_so_when_its_process_is_gone(self, tmp_path: Path) -> None:
        with StreamsApplication(_setup(tmp_path), columns=COLUMNS) as application:
            application.kill()
            with pytest.raises(
                StreamsError,
                match=r"^The process of app \(Streams 2\.6\.3\) does not answer 'state';"
                r" its log is .*app\.log\.$",
            ):
                _ = application.state

    def test_says_in_which_state_it_is_when_the_wanted_one_does_not_come(self, tmp_path: Path) -> None:
        with (
            StreamsApplication(_setup(tmp_path), columns=COLUMNS) as application,
            pytest.raises(StreamsError, match=r"^app \(Streams 2\.6\.3\) is \w+ and not RUNNING\.$"),
        ):
            application.wait_for_state("RUNNING", timeout_s=0.1)

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


def _setup(tmp_path: Path, *, bootstrap_servers: str = NOWHERE) -> StreamsSetup:
    return StreamsSetup(
        application="app",
        bootstrap_servers=bootstrap_servers,
        registry=f"http://{NOWHERE}",
        state_directory=tmp_path,
    )
