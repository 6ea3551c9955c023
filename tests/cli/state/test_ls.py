"""`srfix state ls` on directories that real Kafka Streams left."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from parts.state_directory import write_database
from srfix.recovery.state.formats.values import PLAIN
from tests.cli.kept_demo import srfix

DATA = Path(__file__).parents[2] / "recovery" / "state" / "data"


def listed(directory: Path) -> Any:
    done = srfix("state", "ls", str(directory), "--output", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestLs:
    def test_it_has_each_task_with_its_stores_and_offsets(self) -> None:
        (application,) = listed(DATA / "kinds" / "2.6.3" / "state")["applications"]
        (task,) = [task for task in application["tasks"] if task["task"] == "1_0"]
        (store,) = task["stores"]
        assert (task["partition"], store["store"], store["kind"], store["databases"]) == (0, "ts", "key-value", 1)
        assert store["changelog"] == f"{application['application']}-ts-changelog"
        assert [(entry["topic"], entry["offset"]) for entry in task["checkpoint"]] == [("xe5dc1e-ts", 1)]

    def test_a_store_of_4_3_has_its_own_offsets(self) -> None:
        (application,) = listed(DATA / "kinds" / "4.3.1" / "state")["applications"]
        assert (application["streams"], application["in_use"]) == ("4.3 or later", False)
        stores = [store for task in application["tasks"] for store in task["stores"]]
        assert any(store["offsets"] and store["closed"] for store in stores)
        of_segments = [store for store in stores if store["kind"] == "segmented"]
        assert {store["store"] for store in of_segments} >= {"win", "sess", "sessemit"}
        for store in of_segments:  # each has a changelog, and was closed
            assert store["closed"], store["store"]
            assert [
                entry["topic"].endswith(store["changelog"].removeprefix("state-")) for entry in store["offsets"]
            ] == [True]

    def test_a_damaged_checkpoint_is_named_and_the_rest_is_listed(self, tmp_path: Path) -> None:
        task = tmp_path / "app" / "0_0"
        (task / "s").mkdir(parents=True)
        (task / ".checkpoint").write_bytes(b"garbage")
        done = srfix("state", "ls", str(tmp_path), "--output", "json")
        assert done.returncode == 2
        assert f"Not looked at: {task}{os.sep}.checkpoint" in done.stderr
        assert json.loads(done.stdout)["applications"][0]["tasks"][0]["stores"][0]["store"] == "s"

    @pytest.mark.parametrize(
        ("version", "forms"),
        [
            ("2.6.3", {"plain": "plain-kv", "ts": "timestamped-kv", "win": "timestamped-window", "sess": "session"}),
            ("3.9.2", {"ver": "versioned", "winplain": "plain-window", "winemit": "time-first-window"}),
            ("4.3.1", {"oj-outer-this-join-store": "join-window", "fkj-subscription-store": "subscription"}),
            ("4.3.1-headers", {"ts": "headers-kv", "win": "headers-window"}),
        ],
    )
    def test_it_names_the_form_of_a_store_s_rows(self, version: str, forms: dict[str, str]) -> None:
        (application,) = listed(DATA / "kinds" / version / "state")["applications"]
        stores = {store["store"]: store for task in application["tasks"] for store in task["stores"]}
        assert {name: stores[name]["form"] for name in forms} == forms
        assert all(store["form_because"] and store["problem"] is None for store in stores.values())

    def test_the_form_of_a_store_without_rows_is_not_certain(self, tmp_path: Path) -> None:
        write_database(tmp_path / "shop" / "0_0" / "rocksdb" / "users", {PLAIN: {}})
        (application,) = listed(tmp_path)["applications"]
        (store,) = application["tasks"][0]["stores"]
        assert (store["form"], store["form_certain"]) == ("plain-kv", False)
        assert store["form_because"] == "it has no rows, so it may also be versioned"
        assert " plain-kv? " in srfix("state", "size", str(tmp_path)).stdout

    @pytest.mark.parametrize(("store", "file"), [("plain", "CURRENT"), ("ts", "MANIFEST-*")])
    def test_a_store_that_cannot_be_opened_is_a_finding_and_the_rest_is_listed(
        self, tmp_path: Path, store: str, file: str
    ) -> None:
        shutil.copytree(DATA / "kinds" / "3.9.2" / "state", tmp_path / "app")
        for path in (tmp_path / "app").glob(f"*/rocksdb/{store}/{file}"):
            path.unlink()
        done = srfix("state", "ls", str(tmp_path), "--output", "json")
        assert done.returncode == 1
        assert f"Damaged: store {store} of task " in done.stderr
        (application,) = json.loads(done.stdout)["applications"]
        problems = {s["store"]: s["problem"] for task in application["tasks"] for s in task["stores"]}
        assert [name for name, problem in problems.items() if problem is not None] == [store]
        assert file.rstrip("-*") in problems[store]

    @pytest.mark.parametrize("command", ["ls", "size"])
    def test_the_configuration_file_is_read(self, tmp_path: Path, command: str) -> None:
        (tmp_path / "srfix.toml").write_text('output = "json"\n')
        done = srfix(
            "state", command, str(DATA / "kinds" / "4.3.1" / "state"), "--config", str(tmp_path / "srfix.toml")
        )
        assert json.loads(done.stdout)["schema"] == f"srfix.state-{command}/1"


class TestTheGroup:
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
