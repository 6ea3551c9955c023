"""Each topology on the releases between which it differs: the topics that the serdes are handed, what is left in the
registry and on the broker, what is readable after the state was lost.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from parts.jars import STREAMS_VERSIONS
from parts.streams.application import lose_state
from parts.streams.model import SerdeKind, StreamsError, TopologyKind, WindowedRow
from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.serde.subjects.names import Role, subject_for
from tests.stack.streams_world import ANN, ANN_ROW, deserialize, new_world, serialize

pytestmark = pytest.mark.stack

BOB: dict[str, object] = {"userId": 2, "fullName": "Bob", "homeCountry": "BE"}
BOB_ROW = {"USERID": 2, "FULLNAME": "Bob", "HOMECOUNTRY": "BE"}
HOUR_MS = 3_600_000


class TestTableJoin:
    @pytest.mark.parametrize("version", STREAMS_VERSIONS)
    def test_2_6_hands_the_serde_a_changelog_that_does_not_exist_and_2_7_the_source_topic(
        self, version: str, broker: KraftBroker, tmp_path: Path
    ) -> None:
        # Fixed releases register the internal schema under the source's subject: see below.
        with new_world(broker, tmp_path, version=version, compatibility="NONE") as world:
            world.produce(("ann", ANN), ("bob", BOB))
            handed = world.changelog if version == "2.6.3" else world.setup.users
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.count() == 2
                assert application.rows() == (("ann", ANN_ROW), ("bob", BOB_ROW))
                assert application.query("cem") is None
                assert application.join("bob") == BOB_ROW
                assert application.join("cem") is None
                assert set(application.serde_calls) == {
                    deserialize(world.setup.users),
                    serialize(handed),
                    deserialize(handed),
                }
            assert world.changelog not in broker.topics
            assert bool(world.ids(world.phantom)) == (version == "2.6.3")
            assert (world.ids(world.source) == {world.writer_id}) == (version == "2.6.3")

            assert world.diagnose() == ([("SRF001", "broken", world.phantom)] if version == "2.6.3" else [])
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.serde_calls == ()
                if version == "2.6.3":
                    with pytest.raises(StreamsError, match="Error retrieving Avro value schema version"):
                        application.rows()
                else:
                    assert application.rows() == (("ann", ANN_ROW), ("bob", BOB_ROW))
                assert application.count() == 2

    @pytest.mark.parametrize("version", ["2.7.0", "4.3.1"])
    def test_since_2_7_the_source_s_subject_may_refuse_the_internal_schema_and_kill_the_thread(
        self, version: str, broker: KraftBroker, tmp_path: Path
    ) -> None:
        with new_world(broker, tmp_path, version=version) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                refusal = application.wait_for_failure()[-1]
                application.wait_for_state("ERROR")
            assert refusal.message.endswith("error code: 409")
            assert f'incompatible with an earlier schema for subject "{world.source}"' in refusal.message

    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_its_topology_is_printed(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path, version=version) as world, world.start() as application:
            printed = application.topology
        assert printed.startswith("Topologies:\n   Sub-topology: 0\n")
        assert f"(topics: [{world.setup.users}])" in printed
        assert f"(stores: [{world.setup.store}])" in printed


class TestTableJoinWithChangelog:
    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_the_changelog_is_real_and_restored_from(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        topology = TopologyKind.TABLE_JOIN_WITH_CHANGELOG
        with new_world(broker, tmp_path, version=version, topology=topology) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.join("ann") == ANN_ROW
                assert serialize(world.changelog) in application.serde_calls
            assert broker.topics[world.changelog] == 1
            assert world.diagnose() == []
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") == ANN_ROW
                assert set(application.serde_calls) == {deserialize(world.changelog)}

    def test_optimisation_turned_off_has_the_same_effect(self, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path, config={"topology.optimization": "none"}) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
            assert broker.topics[world.changelog] == 1


class TestLoggingDisabled:
    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_every_release_makes_the_phantom_subject(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(broker, tmp_path, version=version, topology=TopologyKind.LOGGING_DISABLED) as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.join("ann") == ANN_ROW
            assert world.ids(world.phantom)
            assert world.changelog not in broker.topics
            # Nothing restores it: it is harmless. Alone in its task it leaves no checkpoint that would say so.
            assert not list(world.setup.state_directory.rglob(".checkpoint*"))
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.query("ann") is None


class TestGlobalTable:
    @pytest.mark.parametrize("version", STREAMS_VERSIONS)
    def test_it_makes_the_phantom_subject_before_2_7(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(
            broker, tmp_path, version=version, topology=TopologyKind.GLOBAL_TABLE, compatibility="NONE"
        ) as world:
            with world.start() as application:
                application.wait_for_state("RUNNING")
                world.produce(("ann", ANN))
                application.wait_for_row("ann", ANN_ROW)
                assert application.join("ann") == ANN_ROW
            assert bool(world.ids(world.phantom)) == (version == "2.6.3")
            # No offsets of it are committed, only those of the joined stream.
            if version == "2.6.3":
                assert world.diagnose() == [("SRF006", "broken", world.phantom)]
                source = f"{world.setup.store}={world.setup.users}"
                assert world.diagnose("--source", source) == [("SRF006", "broken", world.phantom)]
            lose_state(world.setup)
            # It is restored before the application runs.
            with world.start() as application:
                application.wait_for_state("RUNNING")
                if version == "2.6.3":
                    with pytest.raises(StreamsError, match="Error retrieving Avro value schema version"):
                        application.query("ann")
                else:
                    assert application.query("ann") == ANN_ROW


class TestKeysFromTheRegistry:
    @pytest.mark.parametrize("version", ["2.6.3", "2.7.0"])
    @pytest.mark.parametrize("kind", [SerdeKind.CONNECT_PROJECTED, SerdeKind.SRFIX_BY_ID])
    def test_a_restored_row_is_missed_without_a_word(
        self, version: str, kind: SerdeKind, broker: KraftBroker, tmp_path: Path
    ) -> None:
        serde = SerdeKind.SRFIX_BY_ID
        with new_world(broker, tmp_path, version=version, serde=serde, key_serde=kind, compatibility="NONE") as world:
            ann = world.key("ann")
            world.produce((ann, ANN))
            handed = world.changelog if version == "2.6.3" else world.setup.users
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.query({"LOGIN": "ann"}) == ANN_ROW
                assert application.join(ann) == ANN_ROW
                assert serialize(handed) in application.key_serde_calls
                assert deserialize(world.setup.users) in application.key_serde_calls
                application.wait_for_commit(world.setup.logins)
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.count() == 1
                assert application.query({"LOGIN": "ann"}) is None
                assert application.join(ann) is None
                # The next update makes a second row for the same key.
                world.produce((ann, ANN))
                application.wait_for_commit(world.setup.users)
                assert application.query({"LOGIN": "ann"}) == ANN_ROW
                assert application.count() == 2


class TestWindowedAggregation:
    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_it_has_a_real_changelog_and_a_row_for_each_window(
        self, version: str, broker: KraftBroker, tmp_path: Path
    ) -> None:
        now = int(time.time() * 1000)
        with new_world(broker, tmp_path, version=version, topology=TopologyKind.WINDOWED_AGGREGATION) as world:
            world.produce(("ann", ANN | {"fullName": "Ann One"}), timestamp_ms=now - HOUR_MS)
            world.produce(("ann", ANN), ("bob", BOB), timestamp_ms=now)
            start = now - now % HOUR_MS
            rows = (
                WindowedRow(start_ms=start - HOUR_MS, end_ms=start, row=ANN_ROW | {"FULLNAME": "Ann One"}),
                WindowedRow(start_ms=start, end_ms=start + HOUR_MS, row=ANN_ROW),
            )
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.windows("ann") == rows
                assert set(application.serde_calls) == {
                    deserialize(world.setup.users),
                    serialize(world.changelog),
                    deserialize(world.changelog),
                }
            assert world.changelog in broker.topics
            assert world.diagnose() == []
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.windows("ann") == rows


class TestSessionAggregation:
    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_it_has_a_real_changelog_and_a_row_for_each_session(
        self, version: str, broker: KraftBroker, tmp_path: Path
    ) -> None:
        now = int(time.time() * 1000)
        with new_world(broker, tmp_path, version=version, topology=TopologyKind.SESSION_AGGREGATION) as world:
            world.produce(("ann", ANN | {"fullName": "Ann One"}), timestamp_ms=now - 1000)
            world.produce(("ann", ANN), timestamp_ms=now)
            rows = (WindowedRow(start_ms=now - 1000, end_ms=now, row=ANN_ROW),)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.windows("ann") == rows
            assert world.changelog in broker.topics
            assert world.diagnose() == []
            lose_state(world.setup)
            with world.start() as application:
                application.wait_for_state("RUNNING")
                assert application.windows("ann") == rows


class TestForeignKeyJoin:
    @pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
    def test_its_serdes_are_handed_pseudo_topics(self, version: str, broker: KraftBroker, tmp_path: Path) -> None:
        with new_world(
            broker,
            tmp_path,
            version=version,
            topology=TopologyKind.FOREIGN_KEY_JOIN,
            key_serde=SerdeKind.CONNECT_PROJECTED,
            foreign_key="HOMECOUNTRY",
            compatibility="NONE",
        ) as world:
            world.produce((world.key("ann"), ANN), (world.key("bob"), BOB))
            with world.start() as application:
                application.wait_for_state("RUNNING")
                application.wait_for_commit(world.setup.users)
                assert application.join("BE") == BOB_ROW
                assert application.rows() == (({"LOGIN": "ann"}, ANN_ROW), ({"LOGIN": "bob"}, BOB_ROW))
                values, keys = set(application.serde_calls), set(application.key_serde_calls)
            (pseudo,) = {call.topic for call in values if call.topic.endswith("-topic-vh")}
            registration = pseudo.removesuffix("-vh")
            assert registration.startswith(f"{world.setup.application}-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-")
            assert serialize(pseudo) in values
            assert {serialize(f"{registration}-pk"), deserialize(f"{registration}-pk")} <= keys
            assert world.ids(subject_for(pseudo, Role.VALUE))
            assert world.ids(subject_for(f"{registration}-pk", Role.KEY))
            assert registration in broker.topics
            assert pseudo not in broker.topics
            assert world.changelog not in broker.topics
            assert bool(world.ids(world.phantom)) == (version == "2.6.3")
            # Nothing is said of the pseudo-topics' subjects.
            keys_subject, values_subject = (subject_for(world.changelog, role) for role in (Role.KEY, Role.VALUE))
            affected = {
                ("SRF001", "broken", keys_subject),
                ("SRF001", "broken", values_subject),
                ("SRF005", "silent wrong results", keys_subject),
            }
            assert set(world.diagnose()) == (affected if version == "2.6.3" else set())
