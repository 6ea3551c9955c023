"""A world for each finding code: the smallest that the staged damages and the tests of the checks have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from parts.damage import (
    global_store_restored_untransformed,
    global_table_on_an_affected_version,
    kept_rows_after_upgrade,
    phantom_subject_may_not_be_written,
    restored_rows_not_yet_on_disk,
    source_subject_polluted_by_internal_schema,
    store_rows_lost_their_schema,
    store_without_logging,
    upgrade_refused_by_source_subject,
)
from srfix.fixtures.damage import phantom_subject_lacks_writer_id
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.reader import Reader
from srfix.recovery.facts.supplied import GivenTopology, Supplied
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.topology import parse_topologies
from srfix.serde.subjects.names import Topic
from srfix.serde.wire import frame_id
from tests.recovery.checks.staged import examined, of_state, of_topology
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of

KEY: Final = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'
READERS_KEY: Final = KEY.replace('"Key"', '"ROWKEY"').replace('"id"', '"ID"')
FOREIGN_KEY_JOIN: Final = "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic-pk-key"


class ConfiguredCluster(Cluster):
    """A cluster that says how its topics are configured, as a real one does and the embedded one cannot."""

    def topic_configs(self, topic: str, *, timeout_s: float = 5.0) -> TopicConfigs:
        values = {"cleanup.policy": "delete", "retention.ms": "86400000", "retention.bytes": "-1"}
        return TopicConfigs(topic=Topic(topic), values=values, problem=None)


def _users(world: World, *rows: bytes, phantom: Iterable[str] = (R,)) -> None:
    """Two versions of the source's schema, and these rows of store users-store, all committed."""
    for text in (W1, W2):
        world.registry.seed(SOURCE_SUBJECT, text)
    for text in phantom:
        world.registry.seed(PHANTOM, text)
    world.sources = {"users-store": Topic("users")}
    world.put("users", *((f"u{number}", row) for number, row in enumerate(rows)))
    world.commit("shop", users=len(rows))


def _incident(world: World, _folder: Path) -> Examination:
    phantom_subject_lacks_writer_id.stage(world.broker, world.client())
    return examined(world)


def _not_yet_on_disk(world: World, folder: Path) -> Examination:
    restored_rows_not_yet_on_disk.stage(world.broker, world.client(), folder)
    return examined(world, of_state(folder))


def _masked(world: World, _folder: Path) -> Examination:
    _users(world, value(1), phantom=(R, W1))
    return examined(world)


def _kept_rows(world: World, folder: Path) -> Examination:
    kept_rows_after_upgrade.stage(world.broker, world.client(), folder)
    return examined(world, of_state(folder), streams_version=kept_rows_after_upgrade.STREAMS_VERSION)


def _keys(world: World, _folder: Path) -> Examination:
    producers = world.registry.seed("users-key", KEY)
    world.registry.seed(PHANTOM.replace("-value", "-key"), READERS_KEY)
    _users(world, phantom=(R, W1))
    world.put("users", (frame_id(producers, b"\x02"), value(3)))
    world.commit("shop", users=1)
    return examined(world)


def _global_table(world: World, _folder: Path) -> Examination:
    global_table_on_an_affected_version.stage(world.broker, world.client())
    return examined(world, of_topology(global_table_on_an_affected_version.TOPOLOGY))


def _without_logging(world: World, _folder: Path) -> Examination:
    store_without_logging.stage(world.broker, world.client())
    return examined(world, of_topology(store_without_logging.TOPOLOGY))


def _join_left_over(world: World, _folder: Path) -> Examination:
    world.registry.seed(FOREIGN_KEY_JOIN, W1)
    world.commit("shop", users=0)
    world.listing("shop")
    return examined(world)


def _orphan(world: World, _folder: Path) -> Examination:
    world.registry.seed("shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog-value", R)
    world.listing("tills")
    return examined(world)


def _polluted(world: World, _folder: Path) -> Examination:
    damage = source_subject_polluted_by_internal_schema
    damage.stage(world.broker, world.client())
    return examined(world, of_topology(damage.TOPOLOGY), streams_version=damage.STREAMS_VERSION)


def _unknown_id(world: World, _folder: Path) -> Examination:
    _users(world, value(99))
    return examined(world)


def _refused(world: World, _folder: Path) -> Examination:
    _users(world, value(1), value(2, ONE_LONG_AND_NULL))
    world.client().set_mode(PHANTOM, "READONLY", force=True)
    return examined(world)


def _unframed(world: World, _folder: Path) -> Examination:
    _users(world, value(1), b"{}", phantom=(W1,))
    return examined(world)


def _lost_schema(world: World, folder: Path) -> Examination:
    store_rows_lost_their_schema.stage(world.broker, world.client(), folder)
    return examined(world, of_state(folder))


def _may_not_be_written(world: World, _folder: Path) -> Examination:
    damage = phantom_subject_may_not_be_written
    damage.stage(world.broker, world.client())
    return examined(world, of_topology(damage.TOPOLOGY), reader=Reader(damage.READER))


def _upgrade_refused(world: World, _folder: Path) -> Examination:
    damage = upgrade_refused_by_source_subject
    damage.stage(world.broker, world.client())
    how = {"reader": Reader(damage.READER), "streams_version": damage.STREAMS_VERSION}
    return examined(world, of_topology(damage.TOPOLOGY), **how)


def _elsewhere(world: World, _folder: Path) -> Examination:
    schema_id = world.registry.seed("com.example.Elsewhere", W1.replace("User", "Elsewhere"))
    _users(world, value(2), value(schema_id), phantom=(W1, W1.replace("User", "Elsewhere")))
    return examined(world)


def _retention(world: World, _folder: Path) -> Examination:
    _users(world, value(1), phantom=(W1,))
    world.cluster = world.stack.enter_context(ConfiguredCluster({"bootstrap.servers": world.broker.bootstrap_servers}))
    return examined(world)


def _untransformed(world: World, folder: Path) -> Examination:
    damage = global_store_restored_untransformed
    made = damage.stage(world.broker, folder / "state", folder / "topology.txt")
    (topology,) = parse_topologies(made.topology.read_text(), origin="topology.txt")
    given = GivenTopology(topology=topology, origin="topology.txt", application=damage.APPLICATION)
    supplied = Supplied(state=read_state_directory(made.state_dir), topologies=(given,))
    return examined(world, supplied, streams_version=damage.STREAMS_VERSION)


_Staged = Callable[[World, Path], Examination]
_ONE: Final[Mapping[str, int]] = {"users": 1}
_WORLDS: Final[Mapping[str, tuple[Mapping[str, int], _Staged]]] = {
    "SRF001": (phantom_subject_lacks_writer_id.TOPICS, _incident),
    "SRF002": (restored_rows_not_yet_on_disk.TOPICS, _not_yet_on_disk),
    "SRF003": (_ONE, _masked),
    "SRF004": (kept_rows_after_upgrade.TOPICS, _kept_rows),
    "SRF005": (_ONE, _keys),
    "SRF006": (global_table_on_an_affected_version.TOPICS, _global_table),
    "SRF007": (store_without_logging.TOPICS, _without_logging),
    "SRF008": (_ONE, _join_left_over),
    "SRF009": (_ONE, _orphan),
    "SRF010": (source_subject_polluted_by_internal_schema.TOPICS, _polluted),
    "SRF011": (_ONE, _unknown_id),
    "SRF012": (_ONE, _refused),
    "SRF013": (_ONE, _unframed),
    "SRF014": (store_rows_lost_their_schema.TOPICS, _lost_schema),
    "SRF015": (phantom_subject_may_not_be_written.TOPICS, _may_not_be_written),
    "SRF016": (upgrade_refused_by_source_subject.TOPICS, _upgrade_refused),
    "SRF017": (_ONE, _elsewhere),
    "SRF018": (_ONE, _retention),
    "SRF019": (global_store_restored_untransformed.TOPICS, _untransformed),
}

OF_STORES: Final = tuple(_WORLDS)
"""The codes that a diagnosis of stores finds: all but SRF020."""


def examination_with(code: str, folder: Path) -> Examination:
    """What is seen of a world that has this finding."""
    topics, stage = _WORLDS[code]
    with world_of(topics) as world:
        return stage(world, folder)
