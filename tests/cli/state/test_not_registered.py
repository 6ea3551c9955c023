"""`srfix state scan --not-registered`: the rows that a reader fails on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import srfix

USER = '{"type":"record","name":"U","fields":[{"name":"a","type":"long"}]}'
INTERNAL = '{"type":"record","name":"R","fields":[{"name":"A","type":"long"}]}'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    store = tmp_path / "shop" / "0_0" / "rocksdb" / "users"
    store.parent.mkdir(parents=True)
    rows = {b"raw": frame_id(1, b"\x02"), b"own": frame_id(2, b"\x02"), b"lost": frame_id(9, b"\x02"), b"text": b"{}"}
    database = Rdict(str(store), Options(raw_mode=True))
    for key, value in rows.items():
        database[key] = value
    database.flush()
    database.close()
    return tmp_path / "shop"


def test_the_rows_whose_id_the_subject_lacks_are_listed(directory: Path) -> None:
    with FixtureRegistry() as registry:
        registry.seed("users-value", USER)
        registry.seed("phantom-value", INTERNAL)
        for subject, code, found, without_id in (
            ("phantom-value", 1, ["lost", "raw"], "1 row"),
            ("users-value", 1, ["lost", "own"], "1 row"),
            ("phantom-key", 0, [], "4 rows"),
        ):
            done = srfix(
                *("state", "scan", directory, "--store", "users", "--not-registered", subject),
                *("--registry", registry.url, "--output", "json"),
            )
            assert done.returncode == code, done.stderr
            assert [json.loads(line)["key"]["text"] for line in done.stdout.splitlines()] == found
            assert f"srfix did not ask {subject} for {without_id} without a schema id." in done.stderr


def test_not_beside_spark(directory: Path) -> None:
    done = srfix("state", "scan", directory, "--store", "users", "--not-registered", "s", "--engine", "spark")
    assert (done.returncode, "give only one of them" in done.stderr) == (2, True)
