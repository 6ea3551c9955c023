"""`srfix guard` and the real thing: what it foretells of a topology of each Kafka Streams, and what running it then does.

What it calls certain must hold, what it excludes must not happen, and nothing may happen that it did not name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest

from parts.jars import STREAMS_VERSIONS
from parts.streams.application import StreamsApplication, lose_state
from parts.streams.model import SerdeKind, StreamsError, TopologyKind
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.internal_topics import recognise
from srfix.serde.subjects.names import split_subject
from tests.stack.command import run_srfix
from tests.stack.scene import WRITER_SCHEMA, Scene, srfix
from tests.stack.streams_world import ANN, ANN_ROW, World, new_world

pytestmark = pytest.mark.stack

KINDS: Final = tuple(kind for kind in TopologyKind if kind is not TopologyKind.GLOBAL_STORE)
"""That one has no serde of a registry."""
WITHOUT_LOGGING: Final = (
    TopologyKind.LOGGING_DISABLED,
    TopologyKind.LOGGING_DISABLED_BESIDE_AGGREGATION,
    TopologyKind.AGGREGATION_WITHOUT_LOGGING,
)
AGGREGATIONS: Final = (TopologyKind.WINDOWED_AGGREGATION, TopologyKind.SESSION_AGGREGATION)
RESTORES_THE_SOURCE: Final = (TopologyKind.TABLE_JOIN, TopologyKind.GLOBAL_TABLE, TopologyKind.FOREIGN_KEY_JOIN)
OF_RESTORES: Final = {"SRF001", "SRF006"}
CEM: Final[dict[str, object]] = {"userId": 3, "fullName": "Cem", "homeCountry": "TR"}


@dataclass(frozen=True, kw_only=True)
class Guarded:
    """A world with its printed topology."""

    world: World
    topology: Path
    version: str

    def foretell(self, *arguments: str, is_connected: bool, code: int | None = None) -> dict[str, Any]:
        """What the installed command foretells; `is_connected` lets it see cluster and registry."""
        world = self.world
        kind = world.setup.topology
        environment = {name: text for name, text in os.environ.items() if not name.startswith("SRFIX_")}
        if is_connected:
            environment["SRFIX_BOOTSTRAP_SERVERS"] = world.broker.bootstrap_servers
            environment["SRFIX_REGISTRY"] = world.registry.url
        before = world.registry.dump()
        command = [
            *("guard", "--output", "json"),
            *("--topology", str(self.topology), "--application", world.setup.application),
            *("--streams-version", self.version),
            *("--optimization", "none" if kind in WITHOUT_LOGGING else "all"),
            *arguments,
        ]
        ran = run_srfix(*command, env=environment)
        assert ran.returncode in (0, 1, 2), ran.stderr
        assert ran.stdout, ran.stderr
        assert code is None or ran.returncode == code, ran.stdout + ran.stderr
        assert world.registry.dump() == before
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    def without_topic(self) -> set[str]:
        """The subjects that are named after an internal topic, or one like it, that does not exist."""
        subjects: Any = self.world.registry.dump()["subjects"]
        split = {name: parts[0] for name in subjects if (parts := split_subject(name)) is not None}
        return {name for name, topic in split.items() if recognise(topic) and topic not in self.world.broker.topics}

    def read(self, application: StreamsApplication) -> None:
        if self.world.setup.topology in AGGREGATIONS:
            assert [window.row for window in application.windows("ann")] == [ANN_ROW]
        elif self.world.setup.topology in WITHOUT_LOGGING and not application.count():
            assert application.query("ann") is None
        else:
            assert application.query("ann") == ANN_ROW

    def read_fails(self, application: StreamsApplication) -> bool:
        """Whether reading what the store has fails as the incident does."""
        try:
            self.read(application)
        except StreamsError as error:
            if any("Error retrieving Avro" in cause.message for cause in error.causes):
                return True
            raise
        return False


def of_store(document: dict[str, Any], store: str, *codes: str, role: str = "value") -> dict[str, dict[str, Any]]:
    """The serious forecasts of a store with these codes."""
    return {
        each["code"]: each
        for each in document["foretold"]
        if (each["store"], each["role"]) == (store, role) and each["code"] in codes and each["severity"] != "note"
    }


def of_state(document: dict[str, Any], certainty: str) -> set[str]:
    """The subjects of which that is said."""
    return {each["subject"] for each in document["subjects"] if each["certainty"] == certainty}


def assert_subjects_hold(document: dict[str, Any], actual: set[str]) -> None:
    assert actual <= {each["subject"] for each in document["subjects"]}
    assert of_state(document, "certain") <= actual
    assert not of_state(document, "excluded") & actual


@contextmanager
def guarded(
    broker: KraftBroker,
    folder: Path,
    version: str,
    kind: TopologyKind,
    *,
    serde: SerdeKind = SerdeKind.CONNECT_PROJECTED,
    compatibility: str = "NONE",
) -> Iterator[tuple[Guarded, StreamsApplication]]:
    """The application, running, with its topology printed and no record of its table yet."""
    with new_world(
        broker,
        folder,
        version=version,
        topology=kind,
        serde=serde,
        foreign_key="HOMECOUNTRY" if kind is TopologyKind.FOREIGN_KEY_JOIN else "",
        compatibility=compatibility,
    ) as world:
        topology = folder / "topology.txt"
        with world.running() as application:
            topology.write_text(application.topology, encoding="utf-8")
            yield Guarded(world=world, topology=topology, version=version), application


def put_ann(world: World, application: StreamsApplication) -> None:
    world.produce(("ann", ANN))
    if world.setup.topology is TopologyKind.GLOBAL_TABLE:
        application.wait_for_row("ann", ANN_ROW)
    else:
        application.wait_for_commit(world.setup.users)
    application.close()


CASES: Final = (
    *(("2.6.3", kind) for kind in KINDS),
    *((version, kind) for version in STREAMS_VERSIONS[1:] for kind in RESTORES_THE_SOURCE),
    *(("4.3.1", kind) for kind in KINDS if kind not in RESTORES_THE_SOURCE),
)
"""Every topology on the affected release and on the newest; on those between, those that the fix of KAFKA-10179 concerns."""


@pytest.mark.parametrize(("version", "kind"), CASES)
def test_what_it_foretells_of_a_topology_is_what_running_it_does(
    version: str, kind: TopologyKind, broker: KraftBroker, tmp_path: Path
) -> None:
    with guarded(broker, tmp_path, version, kind) as (scene, application):
        world, store = scene.world, scene.world.setup.store
        by_names = scene.foretell("--reader", "connect", is_connected=False)
        named = scene.foretell("--reader", "connect", "--store", store, is_connected=False)
        put_ann(world, application)

        # Which subjects come about.
        actual = scene.without_topic()
        assert_subjects_hold(by_names, actual)
        assert of_state(named, "certain") <= actual
        assert not of_state(named, "excluded") & actual
        is_affected = version == "2.6.3" and kind in RESTORES_THE_SOURCE
        assert (world.phantom in of_state(named, "certain")) == is_affected
        assert (world.phantom in actual) == (is_affected or kind in WITHOUT_LOGGING)

        # Whether the restored store can be read.
        seen = scene.foretell("--reader", "connect", is_connected=True, code=1 if is_affected else 0)
        assert_subjects_hold(seen, actual)
        lose_state(world.setup)
        with world.running() as restored:
            fails = scene.read_fails(restored)
        assert fails == is_affected
        breaks = of_store(seen, store, *OF_RESTORES)
        assert {each["certainty"] for each in breaks.values()} == ({"certain"} if fails else set())
        if fails:
            (broken,) = breaks.values()
            assert broken["code"] == ("SRF006" if kind is TopologyKind.GLOBAL_TABLE else "SRF001")
            assert (broken["subject"], broken["schema_ids"]) == (world.phantom, [world.writer_id])
            assert of_store(by_names, store, *OF_RESTORES)[broken["code"]]["certainty"] == "possible"
        else:
            assert not [
                each for each in by_names["foretold"] if each["store"] == store and each["certainty"] == "certain"
            ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_foretells_of_the_upgrade_to_2_7_is_what_the_upgrade_in_place_does(
    kind: TopologyKind, broker: KraftBroker, tmp_path: Path
) -> None:
    with guarded(broker, tmp_path, "2.6.3", kind, compatibility="BACKWARD") as (scene, application):
        world, store = scene.world, scene.world.setup.store
        put_ann(world, application)
        crosses = kind in RESTORES_THE_SOURCE
        seen = scene.foretell("--reader", "connect", "--to", "2.7", is_connected=True, code=1 if crosses else 0)
        breaks = of_store(seen, store, "SRF004", "SRF016")
        assert {code: each["certainty"] for code, each in breaks.items()} == (
            {"SRF004": "possible", "SRF016": "certain"} if crosses else {}
        )
        upgraded = replace(world.setup, version="2.7.0")
        with world.running(upgraded) as application:
            assert scene.read_fails(application) == crosses
            # A key that the store does not have: nothing is read before it is put.
            world.produce(("cem", CEM))
            if crosses:
                causes = application.wait_for_failure()
                # A foreign-key join may have a response left to join with a kept row, which it dies of first.
                codes = ("409", "40403") if kind is TopologyKind.FOREIGN_KEY_JOIN else ("409",)
                assert causes[-1].message.endswith(tuple(f"error code: {code}" for code in codes)), causes
            elif kind is not TopologyKind.GLOBAL_TABLE:
                application.wait_for_commit(world.setup.users)


@pytest.mark.parametrize(
    ("serde", "reader"),
    [(SerdeKind.CONNECT, "connect"), (SerdeKind.PLAIN_PROJECTED, "plain"), (SerdeKind.PLAIN, "plain")],
)
def test_it_does_not_cry_where_a_serde_writes_the_producers_schema_or_asks_by_the_id_alone(
    serde: SerdeKind, reader: str, broker: KraftBroker, tmp_path: Path
) -> None:
    with guarded(broker, tmp_path, "2.6.3", TopologyKind.TABLE_JOIN, serde=serde) as (scene, application):
        world = scene.world
        before = scene.foretell("--reader", reader, is_connected=True)
        # Whether it writes its own schema has not been seen yet.
        assert not [
            each for each in before["foretold"] if each["certainty"] == "certain" and each["severity"] != "note"
        ]
        world.produce(("ann", ANN))
        application.wait_for_commit(world.setup.users)
        row = application.query("ann")
        application.close()
        scene.foretell("--reader", reader, is_connected=True, code=0)
        lose_state(world.setup)
        with world.running() as restored:
            assert restored.query("ann") == row


def test_what_it_foretells_of_a_new_schema_is_what_its_first_record_and_a_restore_do(
    scene: Scene, tmp_path: Path
) -> None:
    fields = [*WRITER_SCHEMA["fields"], {"name": "nickname", "type": ["null", "string"], "default": None}]
    text = json.dumps({**WRITER_SCHEMA, "fields": fields}, separators=(",", ":"))
    schema, topology = tmp_path / "new.avsc", tmp_path / "topology.txt"
    schema.write_text(text, encoding="utf-8")
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        topology.write_text(application.topology, encoding="utf-8")
    said = (
        *("--topology", str(topology), "--application", scene.setup.application, "--streams-version", "2.6.3"),
        *("--optimization", "all", "--reader", "connect"),
    )
    about = (*said, "--subject", scene.source_subject, "--schema", str(schema), "--output", "json")
    found = json.loads(srfix(scene, "guard", *about, code=1))
    (breaks,) = [each for each in found["foretold"] if each["severity"] != "note"]
    assert (breaks["code"], breaks["certainty"], breaks["subject"]) == ("SRF001", "certain", scene.phantom)

    # The first record with it, while the phantom subject lacks it.
    new_id = scene.registry.seed(scene.source_subject, text)
    scene.produce(("bob", {**ANN, "nickname": "B"}), schema=json.loads(text), schema_id=new_id)
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("bob") == {"USERID": 1, "FULLNAME": "Ann"}
    lose_state(scene.setup)
    with scene.running() as application:
        with pytest.raises(StreamsError, match=f"for id {new_id}"):
            application.query("bob")
        # What it says to do first mends it afterwards too.
        for words in (shlex.split(text) for each in breaks["first"] for text in re.findall("`srfix (.*?)`", each)):
            srfix(scene, *own_plan(words, tmp_path))
        assert application.query("bob") == {"USERID": 1, "FULLNAME": "Ann"}
    assert json.loads(srfix(scene, "guard", *about, code=0))["foretold"] == []


def own_plan(words: list[str], folder: Path) -> list[str]:
    """The command with its plan in a folder, and nobody to ask."""
    return [str(folder / word) if word == "plan.json" else word for word in words] + ["--yes"] * (words[0] == "apply")
