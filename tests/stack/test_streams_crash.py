"""An application that is killed, and what it leaves: on disk, in its group, on the machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from parts.streams.model import StreamsError
from srfix.fixtures.broker.kraft.broker import KraftBroker
from tests.stack.streams_world import ANN, ANN_ROW, World, new_world

pytestmark = pytest.mark.stack


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, with nothing in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def checkpoints(world: World) -> list[Path]:
    return list(world.setup.state_directory.rglob(".checkpoint"))


class TestKill:
    def test_a_2_6_that_is_killed_leaves_no_checkpoint_and_restores_the_whole_store(
        self, broker: KraftBroker, tmp_path: Path
    ) -> None:
        """Nobody loses state here. With a static member's id the next start takes the dead one's place at once."""
        with new_world(broker, tmp_path, config={"group.instance.id": "one"}) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.query("ann") == ANN_ROW
            assert checkpoints(world)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                # Its checkpoint tells where to go on from, and is removed: the store is as it was.
                assert application.query("ann") == ANN_ROW
                assert not checkpoints(world)
                application.kill()
            with world.start() as application:
                application.wait_for_state("RUNNING")
                with pytest.raises(StreamsError, match=f"schema version for id {world.writer_id}"):
                    application.query("ann")

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
