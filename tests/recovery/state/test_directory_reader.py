"""State directories as real Streams left them, copied under other names, damaged, shut and in use."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from srfix.recovery.state.directory import (
    ApplicationState,
    Traces,
    stores_on_disk,
)
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.serde import UsageError

DATA = Path(__file__).parent / "data"


def only(path: Path) -> ApplicationState:
    (application,) = read_state_directory(path)
    return application


def store(root: Path, task: str, name: str) -> None:
    database = root / task / "rocksdb" / name
    database.mkdir(parents=True)


class TestReadStateDirectory:
    @pytest.mark.parametrize(
        ("version", "name", "traces"),
        [
            ("2.6.3", "xe5dc1e-app", (True, True, False, False, False, False)),
            ("3.9.2", "xda9e9e-app", (True, False, True, False, False, False)),
            ("4.3.1", "x3bc6f6-app", (True, False, False, True, False, False)),
        ],
    )
    def test_the_state_dir_and_the_folder_in_it_are_the_same_and_the_layout_betrays_the_version(
        self, version: str, name: str, traces: tuple[bool, ...]
    ) -> None:
        found = only(DATA / version)
        assert found == only(DATA / version / name)
        assert found.traces == Traces(**dict(zip(Traces.__slots__, traces, strict=True)))

    @pytest.mark.parametrize(
        ("versions", "is_since_3_0", "is_up_to_2_5"),
        [
            (["5.18.4"], False, False),
            (["5.18.4", "6.22.1"], True, False),
            (["5.15.10", "5.18.3"], False, True),
            ([], False, False),
        ],
    )
    def test_so_do_the_options_of_the_rocksdb_that_opened_a_store_last(
        self, tmp_path: Path, versions: list[str], is_since_3_0: bool, is_up_to_2_5: bool
    ) -> None:
        store(tmp_path / "shop", "0_0", "t")
        for number, version in enumerate(versions, start=5):
            text = f"# This is a RocksDB option file.\n\n[Version]\n  rocksdb_version={version}\n  options_file_version=1.1\n"
            (tmp_path / f"shop/0_0/rocksdb/t/OPTIONS-{number:06}").write_text(text)
        traces = only(tmp_path).traces
        assert (traces.has_rocksdb_6, traces.has_rocksdb_5_18_3) == (is_since_3_0, is_up_to_2_5)

    @pytest.mark.core
    def test_tasks_stores_and_topics_of_2_6_3(self) -> None:
        found = only(DATA / "2.6.3")
        assert found.application == "xe5dc1e-app"
        assert [(task.name, [s.name for s in task.stores]) for task in found.tasks if task.name != "3_0"] == [
            ("0_0", ["plain"]),
            ("1_0", ["ts"]),
            ("4_0", ["fka", "fkres"]),
            ("5_0", ["fkb", "fkj-subscription-store"]),
            ("global", ["glob"]),
        ]
        assert found.tasks[-1].is_global
        assert found.tasks[-1].topics == ("xe5dc1e-glob",)
        assert not found.problems

    def test_stores_of_4_3_name_their_topics_themselves(self) -> None:
        found = only(DATA / "4.3.1")
        topics = {s.name: s.offsets.topics for task in found.tasks for s in task.stores if s.offsets is not None}
        assert topics == {
            "ts": ("x3bc6f6-ts",),
            "fka": ("x3bc6f6-fka",),
            "fkres": ("x3bc6f6-app-fkres-changelog",),
            "glob": ("x3bc6f6-glob",),
        }

    @pytest.mark.core
    def test_a_copy_under_another_name_is_known_by_its_changelogs(self, tmp_path: Path) -> None:
        shutil.copytree(DATA / "2.6.3" / "xe5dc1e-app", tmp_path / "copy")
        assert only(tmp_path / "copy").application == "xe5dc1e-app"

    def test_a_store_name_that_ends_like_another_one_makes_no_other_application(self, tmp_path: Path) -> None:
        names = ("windows", "plain-windows", "sessions")
        for name in names:
            store(tmp_path / "copy", "0_0", name)
        lines = "".join(f"shop-{name}-changelog 0 4\n" for name in names)
        (tmp_path / "copy/0_0/.checkpoint").write_text(f"0\n{len(names)}\n{lines}")
        assert only(tmp_path / "copy").application == "shop"

    def test_without_changelogs_the_folder_gives_the_name(self, tmp_path: Path) -> None:
        store(tmp_path / "shop", "0_0", "users-store")
        (tmp_path / "shop/0_0/.checkpoint").write_text("0\n1\nusers 0 41\n")
        assert only(tmp_path).application == "shop"

    def test_several_applications_come_by_name(self, tmp_path: Path) -> None:
        for name in ("shop", "billing"):
            store(tmp_path / name, "0_0", "users-store")
        (tmp_path / "lost+found").mkdir()
        assert [found.application for found in read_state_directory(tmp_path)] == ["billing", "shop"]

    def test_named_topologies_have_their_own_tasks_and_changelogs(self, tmp_path: Path) -> None:
        store(tmp_path / "shared/__CSAS_J_0__", "0_1", "KafkaTopic_Right-Reduce")
        found = only(tmp_path)
        (task,) = found.tasks
        assert (task.name, task.topology, task.subtopology, task.partition) == ("CSAS_J_0__0_1", "CSAS_J_0", 0, 1)
        assert found.changelog(task, "KafkaTopic_Right-Reduce") == "shared-CSAS_J_0-KafkaTopic_Right-Reduce-changelog"

    @pytest.mark.parametrize("folder", ["shared", "copy"])
    def test_a_named_topology_is_no_part_of_the_application(self, folder: str, tmp_path: Path) -> None:
        store(tmp_path / folder / "__east__", "0_0", "users-store")
        (tmp_path / folder / "__east__/0_0/.checkpoint").write_text("0\n1\nshared-east-users-store-changelog 0 0\n")
        found = only(tmp_path)
        assert found.application == "shared"
        (on_disk,) = stores_on_disk(found)
        assert (on_disk.prefix, on_disk.own_changelog) == ("shared-east", "shared-east-users-store-changelog")

    @pytest.mark.parametrize(
        ("folder", "rivals"), [("window/window.60000", ()), ("index/index-files", ("index",)), ("index/_0", ("index",))]
    )
    def test_only_a_store_with_segments_restores_from_no_source(
        self, folder: str, rivals: tuple[str, ...], tmp_path: Path
    ) -> None:
        # A user's own kind of store keeps what it likes in its folder, and may restore from a source topic.
        store(tmp_path / "shop", "0_0", "users-store")
        (tmp_path / "shop/0_0" / folder).mkdir(parents=True)
        (tmp_path / "shop/0_0/.checkpoint").write_text("0\n1\nusers 0 41\n")
        (source,) = next(found for found in stores_on_disk(only(tmp_path)) if found.name == "users-store").sources
        assert (source.topic, source.rivals) == ("users", rivals)

    def test_tasks_are_ordered_by_number(self, tmp_path: Path) -> None:
        for task in ("10_0", "2_10", "2_9"):
            store(tmp_path / "shop", task, "s")
        assert [task.name for task in only(tmp_path).tasks] == ["2_9", "2_10", "10_0"]

    def test_a_missing_checkpoint_is_no_problem_but_known_and_a_damaged_one_is_and_the_rest_is_read(
        self, tmp_path: Path
    ) -> None:
        store(tmp_path / "shop", "0_0", "users-store")
        found = only(tmp_path)
        assert [task.name for task in found.without_checkpoint()] == ["0_0"]
        assert found.problems == ()
        (tmp_path / "shop/0_0/.checkpoint").write_text("0\n2\nusers 0 41\n")
        found = only(tmp_path)
        assert found.stores == ("users-store",)
        (problem,) = found.problems
        assert problem.reason.startswith(f"{tmp_path}/shop/0_0/.checkpoint, line 3: the file announces 2 entries")

    def test_damaged_process_metadata_is_a_problem(self, tmp_path: Path) -> None:
        store(tmp_path / "shop", "0_0", "users-store")
        (tmp_path / "shop/kafka-streams-process-metadata").write_text("[1")
        (problem,) = only(tmp_path).problems
        assert problem.reason.startswith('its content is not {"processId": "<uuid>"}')

    def test_a_damaged_store_of_4_3_is_a_problem_and_the_others_are_read(self, tmp_path: Path) -> None:
        shutil.copytree(DATA / "4.3.1", tmp_path / "d")
        for table in (tmp_path / "d/x3bc6f6-app/1_0/rocksdb/ts").glob("*.sst"):
            table.write_bytes(table.read_bytes()[:100])
        found = only(tmp_path / "d")
        (problem,) = found.problems
        assert problem.path.endswith("1_0/rocksdb/ts")
        assert found.tasks[-1].topics == ("x3bc6f6-glob",)

    def test_without_the_library_one_problem_says_what_to_install_unless_checkpoints_say_everything(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "rocksdict", None)
        found = only(DATA / "4.3.1")
        (problem,) = found.problems
        assert "pip install 'srfix[state]'" in problem.reason
        assert found.stores == ("fka", "fkres", "glob", "ts")
        assert only(DATA / "2.6.3").problems == ()

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who holds a lock without taking it")
    @pytest.mark.parametrize("folder", [".", "1_0"])
    def test_a_directory_in_use_is_said_to_be_and_its_stores_are_left_alone(self, tmp_path: Path, folder: str) -> None:
        """Up to 2.6.1, and in 2.7.0, there are locks of tasks alone."""
        shutil.copytree(DATA / "4.3.1", tmp_path / "d")
        lock = tmp_path / "d/x3bc6f6-app" / folder / ".lock"
        lock.touch()
        hold = "import fcntl, sys; file = open(sys.argv[1], 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX)\n"
        hold += "print('held', flush=True); sys.stdin.read()"
        command = [sys.executable, "-c", hold, str(lock)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            found = only(tmp_path / "d")
            holder.communicate()
        assert found.is_in_use
        assert all(s.offsets is None for task in found.tasks for s in task.stores)
        (problem,) = found.problems
        assert problem.reason.startswith("a process holds its lock")
        assert only(tmp_path / "d").is_in_use is False

    def test_what_is_no_state_directory_is_refused_with_what_to_give(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"cannot be read: No such file or directory\. Give"):
            read_state_directory(tmp_path / "nosuch")
        (tmp_path / "music").mkdir()
        with pytest.raises(UsageError, match="is not a state directory"):
            read_state_directory(tmp_path)


DATABASES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    # name: files and folders (/) below the task, its databases, those of them that exist
    "a key-value store": (("rocksdb/t/CURRENT",), ("rocksdb/t",), ("rocksdb/t",)),
    "one without a database": (("rocksdb/t/",), ("rocksdb/t",), ()),
    "segments, by time": (
        ("w/w.9000/CURRENT", "w/w.0/CURRENT", "w/w.10000/CURRENT"),
        ("w/w.0", "w/w.9000", "w/w.10000"),
        ("w/w.0", "w/w.9000", "w/w.10000"),
    ),
    "a segment that lost its CURRENT": (("w/w.0/CURRENT", "w/w.60000/1.sst"), ("w/w.0", "w/w.60000"), ("w/w.0",)),
    "other folders beside segments": (
        ("w/w.0/CURRENT", "w/copy/CURRENT", "w/w.60000.old/CURRENT", "w/v.60000/CURRENT"),
        ("w/w.0",),
        ("w/w.0",),
    ),
    "no segment yet": (("w/",), (), ()),
    "a RocksDB that is no store of Kafka Streams": (("own/CURRENT", "own/1.sst"), (), ()),
}


@pytest.mark.parametrize("layout", DATABASES)
def test_the_databases_of_a_store(layout: str, tmp_path: Path) -> None:
    paths, folders, existing = DATABASES[layout]
    task = tmp_path / "shop" / "0_0"
    for path in paths:
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).mkdir() if path.endswith("/") else (task / path).touch()
    ((directory,),) = (each.stores for each in only(tmp_path / "shop").tasks)
    assert directory.databases() == tuple(task / folder for folder in folders)
    assert directory.existing_databases() == tuple(task / folder for folder in existing)
