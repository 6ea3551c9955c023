"""The incident, and the upgrade mirror, repaired on disk alone: the registry stays as it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from parts.streams.application import lose_state
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import ANN, ANN_ROW, BOB, BOB_ROW, BOTH, Scene, assert_join_kills, assert_query_fails, srfix

pytestmark = pytest.mark.stack

EVE: Final[dict[str, object]] = {"userId": 3, "fullName": "Eve", "homeCountry": None}


@BOTH
def test_the_incident_is_repaired_on_disk_alone(scene: Scene, registry: FixtureRegistry, tmp_path: Path) -> None:
    scene.produce(("ann", ANN), ("bob", BOB), ("eve", EVE), ("eve", None))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
        assert_join_kills(scene, application)
    before = registry.dump()
    registry.forget_requests()

    arguments = ("--from-topic", scene.setup.users, "--until", "committed", "--application", scene.setup.application)
    store = (
        "--store",
        scene.setup.store,
        "--kind",
        "timestamped-kv",
        "--subtopology",
        "0",
        "--streams-version",
        "2.6.3",
    )
    written = ("--subject", scene.phantom, "--out", str(tmp_path / "new"), "--output", "json")
    report = json.loads(srfix(scene, "state", "rebuild", *arguments, *store, *written))
    assert sum(store["rewritten"] for store in report["stores"]) == 2
    assert registry.writes == 0

    setup = replace(scene.setup, state_directory=tmp_path / "new")
    with scene.running(setup=setup) as application:
        assert application.restored == {}
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": BOB_ROW}
        assert application.join("ann") == ANN_ROW
        scene.produce(("bob", ANN), ("eve", BOB))
        application.wait_for_row("bob", ANN_ROW)
        application.wait_for_row("eve", BOB_ROW)
        application.wait_for_commit(scene.setup.users)
    with scene.running(setup=setup) as application:
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": ANN_ROW, "eve": BOB_ROW}
        assert application.join("bob") == ANN_ROW
    assert registry.dump() == before


@BOTH
def test_rows_of_2_6_3_are_migrated_for_2_7_0(scene: Scene, registry: FixtureRegistry, tmp_path: Path) -> None:
    registry.configure(scene.source_subject, {"compatibility": "NONE"})  # else the next put is refused (SRF016)
    scene.produce(("ann", ANN), ("bob", BOB))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    upgraded = replace(scene.setup, version="2.7.0")
    old = scene.setup.state_directory / scene.setup.application
    before = {path: path.read_bytes() for path in sorted(old.rglob("*")) if path.is_file()}

    registry.forget_requests()
    wanted = ("--store", scene.setup.store, "--subject", scene.source_subject, "--streams-version", "2.7.0")
    srfix(scene, "state", "migrate", str(old), *wanted, "--out", str(tmp_path / "new"))
    assert registry.writes == 0
    assert {path: path.read_bytes() for path in sorted(old.rglob("*")) if path.is_file()} == before

    # That 2.7.0 cannot read the old directory is in case 3.
    setup = replace(upgraded, state_directory=tmp_path / "new")
    with scene.running(setup=setup) as application:
        assert application.restored == {}
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": BOB_ROW}
        assert application.join("ann") == ANN_ROW
        scene.produce(("bob", ANN))
        application.wait_for_row("bob", ANN_ROW)
