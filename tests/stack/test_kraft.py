"""A real Kafka broker starts, answers, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.errors import ClusterError

pytestmark = pytest.mark.stack

_START_AND_HANG = """
import sys
from srfix.fixtures.broker.kraft import KraftBroker
broker = KraftBroker()
print(broker.process_id, broker._service.folder, flush=True)
sys.stdin.read()
"""


class TestKraftBroker:
    def test_creates_the_topics_that_were_asked_for_and_stops_with_its_block(self) -> None:
        with KraftBroker(topics={"users": 3}) as broker:
            broker.create_topic("logins", 2, {"cleanup.policy": "compact"})
            process_id = broker.process_id
            assert broker.topics == {"logins": 2, "users": 3}
            with pytest.raises(ClusterError, match=r"^The Kafka broker did not create the topic 'users': .*exist"):
                broker.create_topic("users")
        assert not _is_running(process_id)
        with pytest.raises(ClusterError, match=r"^The Kafka broker is closed; start another one\.$"):
            _ = broker.topics

    def test_ends_with_the_process_that_started_it_even_when_that_is_killed(self) -> None:
        with subprocess.Popen(
            (sys.executable, "-c", _START_AND_HANG), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as owner:
            assert owner.stdout is not None
            process_id, folder = owner.stdout.readline().split()
            assert _is_running(int(process_id))
            owner.kill()
        _eventually(lambda: not _is_running(int(process_id)) and not Path(folder).exists())

    def test_keeps_its_log_when_it_does_not_start(self) -> None:
        with pytest.raises(ClusterError, match=r"process\.roles") as caught:
            KraftBroker(properties={"process.roles": "nonsense"})
        (note,) = caught.value.__notes__
        kept = Path(note.removeprefix("The broker's log is kept in ").removesuffix("."))
        assert "process.roles" in kept.read_text(encoding="utf-8")
        assert not kept.with_suffix("").exists()
        kept.unlink()


def _is_running(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def _eventually(condition: Callable[[], bool], *, timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
