"""`srfix state migrate`, and `srfix state rebuild` as far as it says no before it asks a cluster."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.kept_demo import srfix

KINDS = Path(__file__).parents[2] / "recovery" / "state" / "data" / "kinds"


class TestMigrate:
    def test_it_writes_a_directory_that_is_listed(self, tmp_path: Path) -> None:
        arguments = ("--streams-version", "4.3.1", "--store", "plain", "--kind", "timestamped-kv")
        directory = str(KINDS / "2.6.3" / "state")
        done = srfix("state", "migrate", directory, *arguments, "--out", str(tmp_path), "--output", "json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["schema"], report["command"], report["ranges"]) == ("srfix.state-written/1", "migrate", None)
        (plain,) = [store for store in report["stores"] if store["store"] == "plain"]
        assert plain["rewritten"] == plain["rows"] > 0
        assert all(not store["rewritten"] for store in report["stores"] if store["store"] != "plain")
        listed = json.loads(srfix("state", "ls", report["directory"], "--output", "json").stdout)
        assert len(listed["applications"]) == 1

        again = srfix("state", "migrate", directory, *arguments, "--out", str(tmp_path))
        assert again.returncode == 2
        assert "exists already, and srfix never writes to an existing directory" in again.stderr

    @pytest.mark.parametrize("place", ["", "new", "shop/new"])
    def test_it_writes_nothing_into_the_directory_that_it_reads(self, tmp_path: Path, place: str) -> None:
        shutil.copytree(KINDS / "2.6.3" / "state" / "0_0", tmp_path / "shop" / "0_0")
        before = sorted(tmp_path.rglob("*"))
        out = str(tmp_path / place)
        done = srfix("state", "migrate", str(tmp_path), "--streams-version", "2.7.0", "--out", out)
        assert done.returncode == 2
        assert "which srfix never writes to. Name another place with --out." in done.stderr
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_subject_is_of_one_store(self, tmp_path: Path) -> None:
        arguments = ("--streams-version", "2.7", "--subject", "users-value", "--out", str(tmp_path))
        done = srfix("state", "migrate", str(KINDS / "2.6.3" / "state"), *arguments)
        assert done.returncode == 2
        assert "name that store with --store" in done.stderr


class TestRebuild:
    GIVEN = ("--from-topic", "users", "--until", "end", "--application", "shop", "--store", "s", "--out", "new")

    def test_the_kind_must_be_said(self) -> None:
        done = srfix("state", "rebuild", *self.GIVEN, "--streams-version", "2.6.3")
        assert done.returncode == 2
        assert "Give the store's kind (--kind)" in done.stderr
