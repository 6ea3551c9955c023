"""The incident, and the upgrade mirror, repaired on disk alone: the registry stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.fixtures.streams.application import lose_state
from srfix.fixtures.streams.model import Row, StreamsError
from srfix.recovery.cluster import Cluster
from srfix.recovery.rebuild import Migration, Rebuild, Reserialiser, StoreChange, Until, migrate, rebuild
from srfix.recovery.state import read_state_directory
from srfix.recovery.state.writing import Release, StoreToWrite, WrittenKind
from srfix.serde.registry import RegistryClient
from srfix.serde.subjects import Subject, Topic
from tests.stack.scene import Scene, assert_join_kills, assert_query_fails

pytestmark = pytest.mark.stack

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann"}
BOB: Final[dict[str, object]] = {"userId": 2, "fullName": "Bob", "homeCountry": None}
BOB_ROW: Final[Row] = {"USERID": 2, "FULLNAME": "Bob"}
EVE: Final[dict[str, object]] = {"userId": 3, "fullName": "Eve", "homeCountry": None}


def test_the_incident_is_repaired_on_disk_alone(scene: Scene, registry: FixtureRegistry, tmp_path: Path) -> None:
    scene.produce(("ann", ANN), ("bob", BOB), ("eve", EVE), ("eve", None))
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)
        assert_join_kills(scene, application)
    before = registry.dump()
    registry.forget_requests()

    asked = Rebuild(
        application=scene.setup.application,
        store=StoreToWrite(name=scene.setup.store, kind=WrittenKind.TIMESTAMPED_KV),
        topic=Topic(scene.setup.users),
        until=Until.COMMITTED,
        release=Release.parse("2.6.3"),
        subtopology=0,
        payload=Reserialiser(RegistryClient(registry.url), scene.phantom),
    )
    with Cluster({"bootstrap.servers": scene.broker.bootstrap_servers}) as cluster:
        rebuild(asked, cluster, tmp_path / "new" / scene.setup.application, request={})
    assert registry.writes == 0

    setup = replace(scene.setup, state_directory=tmp_path / "new")
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": BOB_ROW}
        assert application.join("ann") == ANN_ROW
        scene.produce(("bob", ANN), ("eve", BOB))
        application.wait_for_row("bob", ANN_ROW)
        application.wait_for_row("eve", BOB_ROW)
        application.wait_for_commit(scene.setup.users)
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": ANN_ROW, "eve": BOB_ROW}
        assert application.join("bob") == ANN_ROW
    assert registry.dump() == before


def test_rows_of_2_6_3_are_migrated_for_2_7_0(scene: Scene, registry: FixtureRegistry, tmp_path: Path) -> None:
    registry.configure(scene.source_subject, {"compatibility": "NONE"})  # else the next put is refused (SRF016)
    scene.produce(("ann", ANN), ("bob", BOB))
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    upgraded = replace(scene.setup, version="2.7.0")
    old = scene.setup.state_directory / scene.setup.application
    target = tmp_path / "new" / scene.setup.application
    (state,) = read_state_directory(old)
    before = {path: path.read_bytes() for path in sorted(old.rglob("*")) if path.is_file()}

    payload = Reserialiser(RegistryClient(registry.url), Subject(scene.source_subject))
    migration = Migration(release=Release.parse("2.7.0"), changes={scene.setup.store: StoreChange(payload=payload)})
    migrate(state, target, migration, request={})
    assert {path: path.read_bytes() for path in sorted(old.rglob("*")) if path.is_file()} == before

    with scene.start(setup=upgraded) as application:
        application.wait_for_state("RUNNING")
        with pytest.raises(StreamsError, match="version for id"):
            application.query("ann")
    setup = replace(upgraded, state_directory=tmp_path / "new")
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": BOB_ROW}
        assert application.join("ann") == ANN_ROW
        scene.produce(("bob", ANN))
        application.wait_for_row("bob", ANN_ROW)
        application.wait_for_commit(scene.setup.users)
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": ANN_ROW}
