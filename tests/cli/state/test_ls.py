"""`srfix state ls` on directories that real Kafka Streams left."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kept_demo import srfix

DATA = Path(__file__).parents[2] / "recovery" / "state" / "data"


def listed(directory: Path) -> Any:
    done = srfix("state", "ls", str(directory), "--output", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestLs:
    @pytest.mark.parametrize(
        ("version", "streams"), [("2.6.3", "2.6.2, 2.6.3, 2.7.1, 2.7.2 or 2.8"), ("4.3.1", "4.3 or later")]
    )
    def test_it_tells_the_generation_of_streams(self, version: str, streams: str) -> None:
        (application,) = listed(DATA / version)["applications"]
        assert (application["streams"], application["in_use"]) == (streams, False)

    def test_it_has_each_task_with_its_stores_and_offsets(self) -> None:
        (application,) = listed(DATA / "2.6.3")["applications"]
        tasks = {task["task"]: task for task in application["tasks"]}
        assert set(tasks) >= {"0_0", "1_0", "3_0", "global"}
        (ts,) = [store for store in tasks["1_0"]["stores"] if store["store"] == "ts"]
        assert (ts["kind"], ts["databases"], tasks["1_0"]["partition"]) == ("key-value", 1, 0)
        assert ts["changelog"] == f"{application['application']}-ts-changelog"
        assert {store["kind"] for store in tasks["3_0"]["stores"]} == {"segmented"}
        assert all(entry["offset"] >= 0 for entry in tasks["1_0"]["checkpoint"])

    def test_a_store_of_4_3_has_its_own_offsets(self) -> None:
        (application,) = listed(DATA / "4.3.1")["applications"]
        stores = [store for task in application["tasks"] for store in task["stores"]]
        assert any(store["offsets"] and store["closed"] for store in stores)

    def test_a_person_reads_a_table(self) -> None:
        done = srfix("state", "ls", str(DATA / "2.6.3"))
        assert done.returncode == 0
        assert "key-value" in done.stdout
        assert "Checkpoints" in done.stdout
        assert "1 application, " in done.stderr

    def test_a_damaged_checkpoint_is_named_and_the_rest_is_listed(self, tmp_path: Path) -> None:
        task = tmp_path / "app" / "0_0"
        (task / "rocksdb" / "s").mkdir(parents=True)
        (task / ".checkpoint").write_bytes(b"garbage")
        done = srfix("state", "ls", str(tmp_path), "--output", "json")
        assert done.returncode == 2
        assert f"Not looked at: {task}{os.sep}.checkpoint" in done.stderr
        assert json.loads(done.stdout)["applications"][0]["tasks"][0]["stores"][0]["store"] == "s"

    def test_what_is_no_state_directory_is_refused(self, tmp_path: Path) -> None:
        done = srfix("state", "ls", str(tmp_path))
        assert (done.returncode, done.stdout) == (2, "")
        assert "is no state directory" in done.stderr


class TestTheGroup:
    def test_its_help_lists_its_commands_and_loads_none(self) -> None:
        done = srfix("state", "--help")
        assert done.returncode == 0
        assert "\n  ls  " in done.stdout

    def test_a_misspelt_command_has_a_suggestion(self) -> None:
        done = srfix("state", "lss")
        assert done.returncode == 2
        assert "Did you mean ls?" in done.stderr

    def test_a_command_in_it_has_a_table_in_the_configuration_file(self, tmp_path: Path) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text('[state-ls]\noutput = "json"\n[state-nothing]\na = 1\n')
        done = srfix("subjects", "--config", str(file))
        assert done.returncode == 2
        assert "state-nothing" not in done.stderr
        assert "the key in line 3" in done.stderr
