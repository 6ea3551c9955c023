"""SRF001, the incident: which ids are at fault, in which role, how bad it is and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.state_directory import write_application, write_task
from srfix.recovery import Finding, Reader, Severity, StreamsVersion
from srfix.serde import Role, UsageError
from srfix.serde.subjects.names import subject_for
from srfix.serde.wire import frame_id
from tests.recovery.staging import APPLICATION, PHANTOM, PHANTOM_KEY, SOURCE_SUBJECT, STORE, W1, R
from tests.recovery.world import V1, V2, World, world_of

KEY_SCHEMA = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'


def incident(world: World, **how: object) -> Finding:
    finding = world.findings(**how)["SRF001"]
    assert (finding.application, finding.store) == (APPLICATION, STORE)
    return finding


def ids(finding: Finding) -> dict[int, tuple[int | None, int]]:
    """Per id at fault its live and pending keys."""
    return {
        int(fault.schema_id): (fault.live_keys, sum(p.pending_keys for p in fault.partitions))
        for fault in finding.schema_ids
    }


class TestWhatARestoreLoads:
    @pytest.mark.parametrize(
        ("rows", "committed", "at_fault"),
        [
            pytest.param(
                [("a", V1), ("b", V1), ("a", V2), ("c", V1)], 3, {1: (1, 1), 2: (1, 0)}, id="the-latest-of-each-key"
            ),
            pytest.param([("a", V1)], 1000, {1: (1, 0)}, id="all-there-is-up-to-an-offset-beyond-the-end"),
            pytest.param([("a", V1)], 0, {1: (0, 1)}, id="nothing-where-all-keys-are-pending"),
            pytest.param([("a", V1), ("a", V2)], 2, {2: (1, 0)}, id="no-superseded-id"),
            pytest.param([("a", V1), ("a", V2)], None, {2: (None, 1)}, id="no-superseded-id-without-an-offset-either"),
            pytest.param([("a", V1), ("b", V1)], None, {1: (None, 2)}, id="nothing-without-an-offset"),
            pytest.param([("a", V1), ("a", None), ("b", V2)], 3, {2: (1, 0)}, id="no-key-that-a-tombstone-removed"),
            pytest.param([(None, V1), ("b", V2)], 2, {2: (1, 0)}, id="no-null-key"),
        ],
    )
    def test_its_ids_are_at_fault_with_their_live_and_pending_keys(
        self,
        world: World,
        rows: list[tuple[str | None, bytes | None]],
        committed: int | None,
        at_fault: dict[int, tuple[int | None, int]],
    ) -> None:
        world.put("users", *rows)
        if committed is None:
            world.listing("shop")
        else:
            world.commit("shop", users=committed)
        assert ids(incident(world)) == at_fault

    def test_the_keys_are_told_by_id_and_partition(self, world: World) -> None:
        world.put("users", ("a", V1), ("b", V1), ("a", V2), ("c", V1))
        world.commit("shop", users=3)
        assert "(1 live key: 1 in partition 0; 1 key not yet committed); schema id 2" in incident(world).explanation

    def test_a_group_without_an_offset_says_that_nothing_is_restored_yet(self, world: World) -> None:
        world.put("users", ("a", V1), ("b", V1))
        world.listing("shop")
        said = incident(world).explanation
        assert "the group has no committed offset there; 2 records in the log" in said
        assert "rows with these ids could not be read" in said

    def test_a_group_without_offset_in_one_partition_says_so_for_that_partition(self) -> None:
        with world_of({"users": 2}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.registry.seed(PHANTOM, R)
            world.put("users", ("a", V1), partition=0)
            world.put("users", ("b", V1), partition=1)
            world.commit("shop", users=1)
            (fault,) = incident(world).schema_ids
            assert fault.live_keys == 1
            assert [(p.partition, p.live_keys, p.pending_keys) for p in fault.partitions] == [(0, 1, 0), (1, None, 1)]

    def test_an_empty_topic_is_no_finding(self, world: World) -> None:
        world.commit("shop", users=0)
        assert world.findings() == {}


class TestTheSubject:
    def test_one_that_holds_something_else_answers_40403(self, world: World) -> None:
        world.live(("a", V1))
        finding = incident(world)
        assert finding.registered_ids == (3,)
        assert f"{PHANTOM}, holds schema id 3, but not 1 (40403)." in finding.explanation

    def test_live_and_soft_deleted_versions_are_told_apart(self, world: World) -> None:
        world.registry.seed(PHANTOM, R.replace("USERID", "ID"))
        world.client().delete_version(PHANTOM, 1)
        world.live(("a", V1), ("b", V2))
        finding = incident(world)
        assert ", holds schema ids 3 and 4 (3 soft-deleted), but not 1 and 2 (40403)." in finding.explanation

    def test_of_many_versions_the_first_are_named(self, world: World) -> None:
        for number in range(22):
            world.registry.seed(PHANTOM, R.replace("USERID", f"ID{number}"))
        world.live(("a", V1))
        assert "21, 22 and 3 more, but not 1" in incident(world).explanation

    def test_one_that_does_not_exist_answers_40401(self, world: World) -> None:
        world.put("users", ("a", V1))
        world.commit("tills", users=1)
        findings = world.findings(application="tills", store="users-store")
        assert findings["SRF001"].registered_ids == ()
        assert "tills-users-store-changelog-value, does not exist (40401)" in findings["SRF001"].explanation
        assert findings["SRF001"].explanation.endswith("say so with --streams-version.")
        older = world.findings(application="tills", store="users-store", streams_version="2.6")["SRF001"]
        assert "--streams-version" not in older.explanation

    def test_a_soft_deleted_registration_satisfies_the_reader(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.client().delete_version(PHANTOM, 2)
        world.live(("a", V1))
        assert set(world.findings()) == {"SRF003"}

    def test_a_phantom_whose_versions_are_all_soft_deleted_is_examined(self, world: World) -> None:
        world.client().delete_version(PHANTOM, 1)
        world.live(("a", V1))
        finding = incident(world)
        assert finding.registered_ids == (3,)
        assert "holds schema id 3 (soft-deleted), but not 1 (40403)." in finding.explanation


class TestWhereNothingShowsThatTheSubjectIsAsked:
    """A state directory names its stores on every Kafka Streams alike, and 2.7.0 leaves what 2.6.1 leaves: without a phantom
    subject nothing tells whether one is ever asked for. A foreign-key join on 2.7.0 was called broken so.
    """

    @pytest.fixture
    def healthy(self, world: World, tmp_path: Path) -> World:
        """A table of an application without a phantom subject, and the pseudo-topic's subject of its foreign-key join."""
        world.sources = {}
        world.put("users", ("a", V1))
        world.commit("tills", users=1)
        join = "tills-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"
        for topic in (join, join.replace("REGISTRATION", "RESPONSE")):
            world.broker.create_topic(topic, 1)
        world.registry.seed(f"{join}-vh-value", W1)
        self.hand_over(world, tmp_path)
        return world

    def hand_over(self, world: World, folder: Path, payload: bytes = V1) -> None:
        application = write_application(folder, "tills")
        write_task(application, "0_0", STORE, {b"a": payload}, checkpoint={("users", 0): 0})
        (application / "kafka-streams-process-metadata").unlink()  # 2.7.0 writes none, nor do 2.6.1 and older
        world.hand_over(folder)

    def test_it_is_undecided_and_said(self, healthy: World) -> None:
        diagnosis = healthy.examine().diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.is_inconclusive
        (skipped,) = [each for each in diagnosis.skipped if each.what.startswith("which subjects")]
        assert skipped.what == "which subjects the serdes of store users-store of application tills ask"
        assert skipped.subjects == ("tills-users-store-changelog-value",)
        assert (
            "Up to 2.6 the store's serdes ask tills-users-store-changelog-value; there is no such subject"
            in skipped.reason
        )
        assert "From 2.7 on they ask users-value" in skipped.reason
        assert skipped.reason.endswith("`srfix diagnose --application tills --streams-version 2.6.3`")

    def test_the_version_decides_it(self, healthy: World) -> None:
        assert set(healthy.findings(streams_version="2.6.3")) == {"SRF001"}
        fixed = healthy.examine(application="tills", streams_version="2.7").diagnosis
        assert fixed.findings == ()
        assert [each for each in fixed.skipped if each.could_hide] == []

    def test_a_reader_that_needs_no_version_is_fine_either_way(self, healthy: World) -> None:
        diagnosis = healthy.examine(application="tills", reader=Reader.PLAIN).diagnosis
        assert diagnosis.findings == ()
        assert [each for each in diagnosis.skipped if each.could_hide] == []

    def test_a_phantom_of_the_other_role_shows_that_it_is(self, healthy: World) -> None:
        healthy.registry.seed("tills-users-store-changelog-key", KEY_SCHEMA)
        assert "SRF001" in {finding.code for finding in healthy.examine().diagnosis.findings}


class TestKeys:
    """Iterating a store reads its keys."""

    def test_ids_in_the_keys_are_asked_under_the_phantom_key_subject(self, world: World) -> None:
        key_id = world.registry.seed("users-key", KEY_SCHEMA)
        world.registry.seed(PHANTOM_KEY, R)
        world.registry.seed(PHANTOM, W1)
        world.live((frame_id(key_id, b"\x02"), V1), (frame_id(key_id, b"\x04"), V1))
        finding = incident(world)
        assert (finding.role, finding.subject) == (Role.KEY, PHANTOM_KEY)
        assert finding.source is not None
        assert finding.source.subject == subject_for("users", Role.KEY)
        assert ids(finding) == {key_id: (2, 0)}
        assert "Error retrieving Avro key schema version" in finding.explanation

    def test_a_store_whose_key_serde_asks_no_registry_has_no_finding_on_keys(self, world: World) -> None:
        key_id = world.registry.seed("users-key", KEY_SCHEMA)
        world.registry.seed(PHANTOM, W1)
        world.live((frame_id(key_id, b"\x02"), V1))
        assert set(world.findings()) == {"SRF003"}

    def test_where_neither_subject_exists_both_roles_are_at_fault(self, world: World) -> None:
        key_id = world.registry.seed("users-key", KEY_SCHEMA)
        world.put("users", (frame_id(key_id, b"\x02"), V1))
        world.commit("tills", users=1)
        found = world.examine(application="tills", store="users-store").diagnosis.findings
        assert [(f.code, f.role) for f in found] == [("SRF001", Role.KEY), ("SRF001", Role.VALUE)]


class TestTheReader:
    @pytest.fixture
    def staged(self, world: World) -> World:
        world.live(("a", V1))
        return world

    def test_one_that_nobody_knows_keeps_the_severity_and_says_if(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.registry.seed(PHANTOM, R.replace("KsqlDataSourceSchema", "Unmarked"))
            world.live(("a", V1))
            finding = incident(world)
        assert finding.severity is Severity.BROKEN
        assert "If the reader looks up the version under the subject, after a restore" in finding.explanation
        assert finding.next.startswith("Do not wipe the state directory")
        assert finding.explanation.endswith("(SRF007). --state-dir may show whether it is off.")

    def test_the_internal_schema_may_tell_that_it_is_connects_converter(self, staged: World) -> None:
        finding = incident(staged)
        assert "if the reader" not in finding.explanation.lower()
        assert "without logging" not in finding.explanation  # a person has named the source
        assert ("reader", "connect") in {(seen.kind, seen.says) for seen in finding.observations}

    def test_connects_converter_makes_it_broken_without_an_if(self, staged: World) -> None:
        finding = incident(staged, reader=Reader.CONNECT)
        assert finding.severity is Severity.BROKEN
        assert "if the reader" not in finding.explanation.lower()

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_one_that_needs_no_version_makes_it_a_note(self, staged: World, reader: Reader) -> None:
        finding = incident(staged, reader=reader)
        assert finding.severity is Severity.NOTE
        assert (
            f"Nothing fails, because a {reader.value} reader can read the rows without the versions under this subject"
            in finding.explanation
        )
        assert finding.next.startswith("Nothing to do as long as this reader stays")
        assert not staged.examine(reader=reader).diagnosis.has_findings

    @pytest.mark.parametrize("version", ["2.7", "2.7.0", "3.9.2", "4.1"])
    def test_a_streams_with_the_fix_makes_it_a_note(self, staged: World, version: str) -> None:
        finding = incident(staged, streams_version=version, reader=Reader.CONNECT)
        assert finding.severity is Severity.NOTE
        assert "Nothing fails, because this Kafka Streams asks the source's subject" in finding.explanation

    @pytest.mark.parametrize("version", ["2.6.3", "2.0", "2.5.1"])
    def test_one_without_it_does_not(self, staged: World, version: str) -> None:
        assert incident(staged, streams_version=version).severity is Severity.BROKEN


@pytest.mark.core
class TestStreamsVersion:
    @pytest.mark.parametrize("text", ["", "2", "two.six", "2.x", "-2.6"])
    def test_what_is_no_version_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"expected the Kafka Streams version, such as 2\.6\.3 or 2\.7\.$"):
            StreamsVersion.parse(text)

    def test_versions_are_ordered_by_number_and_without_what_a_distribution_appends(self) -> None:
        assert StreamsVersion.parse("2.10").asks_the_source_subject
        assert StreamsVersion.parse("2.6.3-ccs") == StreamsVersion(2, 6)
        assert not StreamsVersion.parse("2.6.3").asks_the_source_subject
