"""What Kafka Streams itself does: the topics that the serdes are handed, what is left in the registry and on the broker.

Which subjects come about in every topology, and what is readable after the state was lost: `test_guard_foretells`.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from parts.streams.application import lose_state
from parts.streams.model import SerdeKind, TopologyKind, WindowedRow
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.subjects.names import Role, subject_for
from tests.stack.streams_world import ANN, ANN_ROW, deserialize, new_world, serialize

pytestmark = pytest.mark.stack

BOB: dict[str, object] = {"userId": 2, "fullName": "Bob", "homeCountry": "BE"}
BOB_ROW = {"USERID": 2, "FULLNAME": "Bob", "HOMECOUNTRY": "BE"}
HOUR_MS = 3_600_000


class TestTableJoin:
    def test_since_2_7_the_source_s_subject_may_refuse_the_internal_schema_and_kill_the_thread(
        self, broker: KraftBroker, tmp_path: Path
    ) -> None:
        with new_world(broker, tmp_path, version="4.3.1") as world:
            world.produce(("ann", ANN))
            with world.start() as application:
                refusal = application.wait_for_failure()[-1]
                application.wait_for_state("ERROR")
            assert refusal.message.endswith("error code: 409")
            assert f'incompatible with an earlier schema for subject "{world.source}"' in refusal.message


class TestKeysFromTheRegistry:
    @pytest.mark.parametrize(
        ("version", "kind"), [("2.6.3", SerdeKind.SRFIX_BY_ID), ("2.7.0", SerdeKind.CONNECT_PROJECTED)]
    )
    def test_a_restored_row_is_missed_without_a_word(
        self, version: str, kind: SerdeKind, broker: KraftBroker, tmp_path: Path
    ) -> None:
        serde = SerdeKind.SRFIX_BY_ID
        with new_world(broker, tmp_path, version=version, serde=serde, key_serde=kind, compatibility="NONE") as world:
            ann = world.key("ann")
            world.produce((ann, ANN))
            handed = world.changelog if version == "2.6.3" else world.setup.users
            with world.running() as application:
                application.wait_for_commit(world.setup.users)
                assert application.query({"LOGIN": "ann"}) == ANN_ROW
                assert application.join(ann) == ANN_ROW
                assert serialize(handed) in application.key_serde_calls
                assert deserialize(world.setup.users) in application.key_serde_calls
                application.wait_for_commit(world.setup.logins)
            lose_state(world.setup)
            with world.running() as application:
                assert application.count() == 1
                assert application.query({"LOGIN": "ann"}) is None
                assert application.join(ann) is None
                # The next update makes a second row for the same key.
                world.produce((ann, ANN))
                application.wait_for_commit(world.setup.users)
                assert application.query({"LOGIN": "ann"}) == ANN_ROW
                assert application.count() == 2


class TestWindowedAggregation:
    @pytest.mark.parametrize("version", [pytest.param("2.6.3", marks=pytest.mark.smoke), "4.3.1"])
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
            with world.running() as application:
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
            with world.running() as application:
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
            with world.running() as application:
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
