"""An application that is killed, and what it leaves: on disk, in its group, on the machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from srfix.fixtures.broker.kraft.broker import KraftBroker
from tests.stack.streams_world import World, new_world

pytestmark = pytest.mark.stack


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, with nothing in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


class TestKill:
    def test_nothing_is_left_of_a_failed_test(self, broker: KraftBroker, tmp_path: Path, temporary: Path) -> None:
        def fail(world: World) -> None:
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert list(temporary.glob("srfix-streams-*/librocksdbjni*"))
                processes.append(Path(f"/proc/{application.process_id}"))
                raise AssertionError

        processes: list[Path] = []
        with new_world(broker, tmp_path) as world, pytest.raises(AssertionError):
            fail(world)
        assert [process.exists() for process in processes] == [False]
        assert not list(temporary.iterdir())

    def test_nothing_is_left_of_one_that_was_killed_from_outside(
        self, broker: KraftBroker, tmp_path: Path, temporary: Path
    ) -> None:
        with new_world(broker, tmp_path) as world:
            with world.start() as application:
                application.kill()
                application.kill()
            assert not list(temporary.iterdir())


class TestClose:
    @pytest.mark.parametrize("version", ["2.6.3", "3.9.2", "4.3.1"])
    def test_the_next_start_does_not_wait_for_the_session_of_the_last(
        self, version: str, broker: KraftBroker, tmp_path: Path
    ) -> None:
        config = {"session.timeout.ms": "120000"}
        with new_world(broker, tmp_path, version=version, config=config, compatibility="NONE") as world:
            for _ in range(2):
                with world.start() as application:
                    application.wait_for_state("RUNNING", timeout_s=60)
