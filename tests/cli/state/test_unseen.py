"""What `srfix state` says of rows that it cannot see: shut folders, an application that runs, a store that cannot be read."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.kept_demo import SRFIX, Parts, environment, srfix
from tests.telling import slow_but

KINDS = Path(__file__).parents[2] / "recovery" / "state" / "data" / "kinds"
NO_OVERRIDE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
"""Root reads whatever is shut; without these two capabilities it is as anybody."""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A copy of an application's folder."""
    return Path(shutil.copytree(KINDS / "3.9.2" / "state", tmp_path / "app"))


def as_anybody(*arguments: str) -> subprocess.CompletedProcess[str]:
    return started_as_anybody("state", *arguments, env=environment())


def started_as_anybody(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    prefix = NO_OVERRIDE if os.geteuid() == 0 else ()
    command = [*prefix, SRFIX, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=60)


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """A file or folder that nobody may read within the block."""
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)


class TestPermission:
    def test_the_only_task_that_there_is_was_not_looked_at(self, app: Path) -> None:
        for task in app.iterdir():
            if task.is_dir() and task.name != "1_0":
                shutil.rmtree(task)
        with closed(app / "1_0"):
            done = as_anybody("size", str(app), "--quiet")
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert "Not looked at: " in done.stderr

    def test_a_named_topology_alone_hides_no_application(self, app: Path) -> None:
        topology = app / "__CSAS_J_0__"
        topology.mkdir()
        for entry in app.iterdir():
            if entry != topology:
                shutil.move(entry, topology / entry.name)
        with closed(topology):
            done = as_anybody("ls", str(app.parent), "--output", "json")
        (problem,) = json.loads(done.stdout)["applications"][0]["problems"]
        assert problem["path"] == str(topology)
        assert "not permitted" in problem["reason"]

    @pytest.mark.parametrize(
        ("shut", "command"),
        slow_but(
            [
                ("ts", "scan"),
                ("ts/CURRENT", "get"),
                ("ts/000004.log", "where"),
                ("ts/MANIFEST-000005", "size"),
                ("ts", "export"),
            ],
            ("ts", "scan"),
            in_parts=True,
        ),
    )
    def test_what_may_not_be_read_is_not_called_damaged(
        self, app: Path, shut: str, command: str, tmp_path: Path
    ) -> None:
        key = ("t1",) if command in ("get", "where") else ()
        more = ("--to", "jsonl", "--out", str(tmp_path / "out")) if command == "export" else ()
        with closed(app / "1_0" / "rocksdb" / shut):
            done = as_anybody(command, str(app), *key, "--store", "ts", *more)
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert "Not looked at: store ts of task 1_0: " in done.stderr
        assert "cannot be read: this user is not permitted to read it; run srfix as the user that runs" in done.stderr
        assert "amaged" not in done.stdout + done.stderr
        assert "To repair the store" not in done.stderr

    @pytest.mark.slow
    def test_diagnose_names_them_too_or_the_one_that_it_is_asked_about(
        self, app: Path, tmp_path: Path, parts: Parts
    ) -> None:
        own, other = tmp_path / parts.staged.application, tmp_path / "other"
        for folder in (own, other):
            folder.mkdir(mode=0)
        for application, named in (((), {own, other}), (("--application", own.name), {own})):
            options = ("--state-dir", str(tmp_path), "--output", "json", *application)
            done = started_as_anybody("diagnose", *options, env=environment(parts.environment))
            assert done.returncode == 1, done.stderr
            reasons = {each["what"]: each["reason"] for each in json.loads(done.stdout)["skipped"]}
            assert {path for path in (own, other) if "not permitted" in reasons.get(str(path), "")} == named

    @pytest.mark.slow
    def test_a_shut_task_may_hold_the_store_that_is_not_found(self, app: Path) -> None:
        with closed(app / "4_0"):
            unknown = as_anybody("scan", str(app), "--store", "fka")
            known = as_anybody("get", str(app), "t1", "--store", "ts")
        assert unknown.returncode == 2
        assert f"{app / '4_0'} was not looked at: this user is not permitted to read it" in unknown.stderr
        assert (known.returncode, "tv1" in known.stdout) == (2, True)
        assert f"Not looked at: {app / '4_0'}: this user is not permitted to read it; run srfix as" in known.stderr


class TestInUse:
    def test_the_rows_in_memory_are_said_to_be_missing(self, app: Path) -> None:
        with (app / ".lock").open("r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            done = srfix("state", "scan", str(app), "--store", "ts")
        assert (done.returncode, "tv1" in done.stdout) == (0, True)
        assert "a process holds the lock. Rows that the process has not flushed are only in its memory" in done.stderr

    def test_each_task_is_in_use_with_its_application(self, app: Path) -> None:
        with (app / ".lock").open("r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            done = srfix("state", "ls", str(app), "--output", "json")
        (application,) = json.loads(done.stdout)["applications"]
        assert {application["in_use"], *(task["in_use"] for task in application["tasks"])} == {True}

    @pytest.mark.parametrize(("offset", "is_said"), [("-4", True), ("1", False)])
    def test_a_checkpoint_without_an_offset_is_one_of_a_killed_task(
        self, app: Path, offset: str, is_said: bool
    ) -> None:
        checkpoint = app / "1_0" / ".checkpoint"
        checkpoint.write_text(re.sub(r"(-ts 0) 1\n", rf"\1 {offset}\n", checkpoint.read_text()))
        done = srfix("state", "get", str(app), "t1", "--store", "ts")
        assert done.returncode == 0
        assert ("Rows that were only in memory are missing here." in done.stderr) is is_said

    @pytest.mark.parametrize(("store", "is_said"), [("win", True), ("sess", False)])
    def test_a_checkpoint_without_the_stores_topic_says_no_offset_of_it(
        self, app: Path, store: str, is_said: bool
    ) -> None:
        checkpoint = app / "3_0" / ".checkpoint"
        entries = [line for line in checkpoint.read_text().splitlines()[2:] if "-win-changelog" not in line]
        checkpoint.write_text("\n".join(["0", str(len(entries)), *entries, ""]))
        done = srfix("state", "scan", str(app), "--store", store)
        assert done.returncode == 0
        assert ("Rows that were only in memory are missing here." in done.stderr) is is_said


class TestDamage:
    @pytest.fixture
    def broken(self, app: Path) -> Path:
        for table in (app / "1_0" / "rocksdb" / "ts").glob("*.sst"):
            table.unlink()
        return app

    def test_what_could_be_read_is_not_called_all_and_what_to_do_is_said(self, broken: Path) -> None:
        done = srfix("state", "size", str(broken), "--store", "ts")
        assert done.returncode == 1
        assert "0 (damaged)" in done.stdout
        assert done.stderr.count("To repair the store: `srfix state rebuild` writes the store from its topic.") == 1

    def test_a_store_that_keeps_its_offsets_itself_has_no_checkpoint(self, tmp_path: Path) -> None:
        app = Path(shutil.copytree(KINDS / "4.3.1" / "state", tmp_path / "app"))
        for table in (app / "1_0" / "rocksdb" / "ts").glob("*.sst"):
            table.unlink()
        done = srfix("state", "get", str(app), "t1", "--store", "ts")
        assert ("Damaged: " in done.stderr, "no checkpoint" in done.stderr) == (True, False)

    def test_a_key_is_not_said_to_be_nowhere(self, broken: Path) -> None:
        done = srfix("state", "where", str(broken), "t1", "--store", "ts")
        assert done.returncode == 1
        assert "0 (damaged)" in done.stdout


def test_a_global_store_has_no_partition(app: Path) -> None:
    done = srfix("state", "where", str(app), "g1", "--store", "glob")
    assert done.returncode == 0, done.stderr
    assert "a global store holds all" in done.stdout
    assert "so there may be more" not in done.stdout


def test_a_folder_within_an_application_names_the_application(app: Path) -> None:
    done = srfix("state", "scan", str(app / "1_0" / "rocksdb" / "ts"))
    assert done.returncode == 2
    assert f"is not a state directory, but is inside one. Give {str(app)!r}" in done.stderr


def test_a_migration_that_is_refused_leaves_no_folder(app: Path, tmp_path: Path) -> None:
    (app / "1_0" / "rocksdb" / "ts" / "CURRENT").write_bytes(b"")
    done = srfix("state", "migrate", str(app), "--streams-version", "3.9.2", "--out", str(tmp_path / "new"))
    assert done.returncode == 2
    assert "cannot be read as a RocksDB" in done.stderr
    assert not (tmp_path / "new").exists()
