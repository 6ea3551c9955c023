"""Views of state directories after a kill: swept at the next start, and nothing else is."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from srfix.cli.main import main
from srfix.recovery import StateDirectoryError
from srfix.recovery.state import rocksdb as views
from srfix.recovery.state.rocksdb import linked_view, sweep_views, view_directory
from srfix.serde import UsageError

TABLES = ("000004.sst", "000007.sst")
MAKES_ONE = """
import sys
from pathlib import Path
from srfix.recovery.state import rocksdb as views
from srfix.recovery.state.rocksdb import linked_view
with linked_view(Path(sys.argv[1])) as view:
    print(view, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for temporary files, of these tests alone."""
    path = tmp_path / "tmp"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    monkeypatch.setattr("tempfile.tempdir", str(path))
    return path


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """What looks like a RocksDB."""
    path = tmp_path / "state" / "store"
    path.mkdir(parents=True)
    for name in ("CURRENT", "MANIFEST-000001", *TABLES):
        (path / name).write_text(name)
    return path


@contextmanager
def viewing(database: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that has a view open, and the view."""
    with subprocess.Popen(
        [sys.executable, "-c", MAKES_ONE, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def killed_view(database: Path) -> Path:
    """A view whose process was killed."""
    with viewing(database) as (process, view):
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (view / "CURRENT").exists()
    return view


class TestAfterAKill:
    def test_the_next_view_sweeps_it_and_its_lock(self, database: Path) -> None:
        view = killed_view(database)
        # The lock is the kernel's: no number of a process, which may be used again, is written down anywhere.
        assert str(os.getpid()) not in view.name
        assert view.with_name(f"{view.name}.lock").read_bytes() == b""
        with linked_view(database) as own:
            assert not view.exists()
            assert {path.name for path in own.parent.iterdir()} == {own.name, f"{own.name}.lock"}
        assert not own.parent.exists()
        assert {path.name: path.read_text() for path in database.iterdir()} == {
            name: name for name in ("CURRENT", "MANIFEST-000001", *TABLES)
        }

    def test_the_next_start_of_any_command_sweeps_it(self, database: Path) -> None:
        view = killed_view(database)
        assert main(["explain", "SRF001"]) == 0
        assert not view.exists()

    def test_a_view_without_its_lock_is_swept_and_so_is_a_lock_without_a_view(self, database: Path, tmp: Path) -> None:
        view = killed_view(database)
        view.with_name(f"{view.name}.lock").rename(view.with_name("view-abc.lock"))
        assert view in sweep_views()
        assert list(tmp.iterdir()) == []


class TestWhatIsNotSwept:
    def test_the_view_of_a_process_that_lives(self, database: Path) -> None:
        with viewing(database) as (_process, view):
            assert sweep_views() == ()
            with linked_view(database) as own:
                assert own != view
            assert (view / "000004.sst").read_text() == "000004.sst"

    def test_what_links_lead_to_and_what_is_named_otherwise(self, database: Path, tmp_path: Path) -> None:
        view = killed_view(database)
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_text("x")
        (view / "link").symlink_to(precious)
        (view.parent / "view-link").symlink_to(precious)
        (view.parent / "view-other.lock").symlink_to(precious / "file")
        (view.parent / "mine").mkdir()
        (view.parent / "VIEW-x").mkdir()
        sweep_views()
        assert not view.exists()
        assert (precious / "file").read_text() == "x"
        assert {"mine", "VIEW-x"} <= {path.name for path in view.parent.iterdir()}


class TestASharedTemporaryDirectory:
    def test_the_directory_of_views_is_for_its_owner_alone(self, database: Path) -> None:
        with linked_view(database) as view:
            for path in (view, view.parent):
                assert stat.S_IMODE(path.stat().st_mode) == 0o700

    def test_a_link_in_its_place_is_not_followed(self, database: Path, tmp: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "view-abc").mkdir(parents=True, mode=0o700)
        (tmp / f"srfix-views-{os.getuid()}").symlink_to(elsewhere)
        with linked_view(database) as view:
            assert view.parent.name != f"srfix-views-{os.getuid()}"
            assert stat.S_IMODE(view.parent.stat().st_mode) == 0o700
        assert not view.parent.exists()
        assert [path.name for path in elsewhere.iterdir()] == ["view-abc"]

    @pytest.mark.parametrize("whose", ["everybody's", "another user's"])
    def test_one_that_is_not_its_owners_alone_is_not_used_nor_swept(
        self, database: Path, tmp: Path, whose: str
    ) -> None:
        home = tmp / f"srfix-views-{os.getuid()}"
        (home / "view-abc").mkdir(parents=True)
        if whose == "everybody's":
            home.chmod(0o777)
        elif os.getuid() == 0:
            os.chown(home, 12345, 12345)
            home.chmod(0o700)
        else:
            pytest.skip("only root can give a file away")
        with linked_view(database) as view:
            assert view.parent != home
        assert (home / "view-abc").exists()

    def test_a_view_in_a_directory_of_a_random_name_is_swept_after_a_kill_too(self, database: Path, tmp: Path) -> None:
        (tmp / f"srfix-views-{os.getuid()}").symlink_to(tmp)
        view = killed_view(database)
        assert sweep_views() == (view,)
        assert not view.parent.exists()


def test_a_sweep_between_making_a_lock_and_taking_it_costs_no_view(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    takes = views._takes
    swept: list[Path] = []

    def meddles(*arguments: object) -> bool:
        monkeypatch.setattr(views, "_takes", takes)
        swept.extend(sweep_views())
        return takes(*arguments)  # type: ignore[arg-type]

    sweep_views()
    with view_directory():
        pass
    monkeypatch.setattr(views, "_takes", meddles)
    with linked_view(database) as view:
        assert (view / "CURRENT").exists()
        assert sweep_views() == ()
        assert (view / "CURRENT").exists()
    assert len(swept) == 1


class TestWhatIsNoDatabase:
    @pytest.mark.parametrize("name", ["CURRENT", "IDENTITY", "OPTIONS-000009", "MANIFEST-000001", "000011.log"])
    def test_a_file_that_is_larger_than_such_files_are_is_neither_copied_nor_read(
        self, database: Path, tmp: Path, name: str
    ) -> None:
        with (database / name).open("wb") as file:
            file.truncate(3 << 30)  # takes no room
        with pytest.raises(StateDirectoryError, match=rf"{name} has 3,221,225,472 bytes"), linked_view(database):
            pass
        assert list(tmp.iterdir()) == []

    @pytest.mark.slow
    def test_nor_are_many_that_are_too_much_together(self, database: Path, tmp: Path) -> None:
        for number in range(10, 20):
            with (database / f"0000{number}.log").open("wb") as file:
                file.truncate(200 << 20)
        with pytest.raises(StateDirectoryError, match="srfix copies at most"), linked_view(database):
            pass

    @pytest.mark.parametrize("name", ["OPTIONS-000009", "000011.log", "000004.sst"])
    @pytest.mark.parametrize("kind", ["fifo", "device", "directory"])
    def test_what_is_no_file_is_not_opened(self, database: Path, name: str, kind: str) -> None:
        path = database / name
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            path.mkdir()
        with pytest.raises(StateDirectoryError, match=f"{name} is not a file"), linked_view(database):
            pass


def test_nothing_is_left_at_the_end(database: Path, tmp: Path) -> None:
    with linked_view(database), linked_view(database):
        pass
    assert list(tmp.iterdir()) == []


def test_a_directory_that_another_process_removes_meanwhile_is_made_again(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, left = views._home, [True]

    def home() -> Path:
        path = made()
        if left.pop() if left else False:
            path.rmdir()
        return path

    monkeypatch.setattr(views, "_home", home)
    with linked_view(database) as view:
        assert view.is_dir()
    assert not left


@pytest.mark.parametrize(
    "error", [FileNotFoundError(2, "No usable temporary directory found"), OSError(30, "Read-only")]
)
def test_where_none_can_be_made_that_is_said(error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to go on for ever."""

    def refuse(**_: str) -> None:
        raise error

    monkeypatch.setattr("srfix.recovery.state.rocksdb._home", refuse)
    with pytest.raises(UsageError, match="Set TMPDIR"), view_directory():
        pass
