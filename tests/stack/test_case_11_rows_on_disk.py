"""Case 11: what the rows of a real state directory prove, on Kafka Streams 2.6.3: not yet broken, broken, repaired."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from parts.streams.application import lose_state
from tests.stack.scene import ANN, ANN_ROW, BOB, BOB_ROW, BOTH, Scene, assert_query_fails, diagnose, make_plan, srfix

pytestmark = pytest.mark.stack


def serious(scene: Scene, state: Path) -> list[tuple[str, str, str]]:
    found = diagnose(scene, "--state-dir", str(state), code=1)
    return [(each["code"], each["severity"], each["explanation"]) for each in found if each["severity"] != "note"]


def read(scene: Scene, state: Path, out: Path) -> tuple[list[object], list[tuple[bytes, int, object]]]:
    """Schema id and row of Ann as `state get` reads it, and of each key as `state export` does."""
    store = (
        "--store",
        scene.setup.store,
        "--value-format",
        "schema",
        "--value-columns",
        "USERID BIGINT, FULLNAME STRING",
    )
    got = json.loads(srfix(scene, "state", "get", str(state), "ann", *store, "--output", "json"))
    srfix(scene, "state", "export", str(state), *store, "--to", "parquet", "-o", str(out))
    exported = [row for path in sorted(out.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]
    rows = [(row["key"], row["value_id"], json.loads(row["value_json"])) for row in exported]
    return [got["value_schema"]["id"], got["value"]], sorted(rows)


@BOTH
def test_the_rows_tell_whether_a_restore_has_happened(scene: Scene, tmp_path: Path) -> None:
    state = scene.setup.state_directory / scene.setup.application
    scene.produce(("ann", ANN), ("bob", BOB))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW

        # While it runs, what was flushed proves nothing.
        ((code, _severity, words),) = serious(scene, state)
        assert code == "SRF001"
        assert "a process holds its lock" in words or "whether a restore has already happened" in words

    # Closed: every row is there, and none is foreign.
    ((code, severity, words),) = serious(scene, state)
    assert (code, severity) == ("SRF002", "breaks on restore")
    assert "srfix read all rows of the store (2 rows, of partition" in words
    subjects: Any = scene.registry.dump()["subjects"]
    (own_id,) = {version["id"] for version in subjects[scene.phantom]}
    ann, rows = read(scene, state, tmp_path / "own")
    assert ann == [own_id, ANN_ROW]
    assert rows == [(b"ann", own_id, ANN_ROW), (b"bob", own_id, BOB_ROW)]
    shutil.copytree(state, tmp_path / "before" / scene.setup.application)

    # Lost: the restore puts the writer's bytes in the store, and the rows show it once it is closed.
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
    ((code, severity, words),) = serious(scene, state)
    assert (code, severity) == ("SRF001", "broken")
    assert f"rows on disk carry schema id {scene.writer_id} (2 rows" in words
    ann, rows = read(scene, state, tmp_path / "restored")
    assert ann == [scene.writer_id, ANN_ROW]
    assert rows == [(b"ann", scene.writer_id, ANN_ROW), (b"bob", scene.writer_id, BOB_ROW)]
    (topic,) = json.loads(srfix(scene, "scan", scene.setup.users, "--output", "json"))["topics"]
    counted = [
        (each["id"], each["live_keys"]) for part in topic["roles"]["value"]["partitions"] for each in part["ids"]
    ]
    assert counted == [(scene.writer_id, 1)] * 2

    # The plan of the time before is the same, and repairs it.
    plan = make_plan(scene, "--state-dir", str(tmp_path / "before"))
    srfix(scene, "apply", str(plan), "--yes")
    srfix(scene, "verify", str(plan))
    with scene.running() as application:
        assert application.query("ann") == ANN_ROW
