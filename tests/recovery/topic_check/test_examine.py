"""A topic asked as its reader would ask, on an embedded broker and registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID, uuid4

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery import Severity, Survey
from srfix.recovery.facts.topics import Lives, Standing, Strategy, TopicReader, Trouble
from srfix.serde import RegistryClient, Role, UsageError
from srfix.serde.schemas.errors import VersionNotFoundError
from srfix.serde.schemas.models import SchemaReference, SchemaVersion
from srfix.serde.wire import frame_guid, frame_id, schema_id_header
from tests.recovery.checks.test_srf018 import ConfiguredCluster
from tests.recovery.topic_check.looking import HOLDER, KEY, SUBJECT, TOPIC, USER, USER_2, look, only
from tests.recovery.world import ONE_LONG, ONE_LONG_AND_NULL, World, value, world_of

BREAKING = (
    '{"type":"record","name":"User","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"country","type":"string"}]}'
)


@pytest.fixture
def world() -> Iterator[World]:
    """A copied topic of two partitions, and the schemas of the original under `users-value`."""
    with world_of({TOPIC: 2}, emulate="8.2") as world:
        assert (world.registry.seed(HOLDER, USER), world.registry.seed(HOLDER, USER_2)) == (1, 2)
        yield world


def compacted(world: World, policy: str = "compact") -> Survey:
    cluster = world.stack.enter_context(ConfiguredCluster({"bootstrap.servers": world.broker.bootstrap_servers}))
    cluster.configs = {"cleanup.policy": policy}
    return Survey(cluster=cluster, registry=world.client())


def standings(world: World, role: Role = Role.VALUE, **how: object) -> dict[int, Standing]:
    answer = look(world, **how).answers.role(role)  # type: ignore[arg-type]
    assert answer is not None
    return {asked.schema_id: asked.standing for asked in answer.ids}


class TestWhatIsLive:
    def test_every_record_is_where_the_topic_is_not_known_to_be_compacted(self, world: World) -> None:
        world.put(TOPIC, ("a", value(1)), ("a", value(2, ONE_LONG_AND_NULL)), (None, value(1)))
        found = look(world)
        assert found.answers.lives is Lives.EVERY_RECORD
        assert {each.schema_id: each.live_keys for each in only(found).schema_ids} == {1: 2, 2: 1}
        assert [skipped.what for skipped in found.skipped] == [f"whether topic {TOPIC} is compacted"]
        assert not any(skipped.could_hide for skipped in found.skipped)

    def test_the_latest_of_each_key_is_in_a_compacted_topic_and_every_record_with_retention_alone(
        self, world: World
    ) -> None:
        world.put(TOPIC, ("a", value(1)), ("a", value(2, ONE_LONG_AND_NULL)))
        found = look(world, survey=compacted(world))
        assert (found.answers.lives, found.answers.cleanup_policy) == (Lives.LATEST_OF_KEY, "compact")
        assert [fault.schema_id for fault in only(found).schema_ids] == [2]
        assert (
            "The same is true for schema id 1, but newer records have replaced all records with this id."
            in only(found).explanation
        )
        assert found.skipped == ()
        assert look(world, survey=compacted(world, "delete")).answers.lives is Lives.EVERY_RECORD

    def test_an_id_of_superseded_records_alone_is_a_note(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER_2)
        world.put(TOPIC, ("a", value(1)), ("a", value(2, ONE_LONG_AND_NULL)))
        note = only(look(world, survey=compacted(world)))
        assert (note.severity, [fault.schema_id for fault in note.schema_ids]) == (Severity.NOTE, [1])
        assert "Newer records of the same keys have replaced these records" in note.explanation

    def test_null_keys_in_a_compacted_topic_are_read_all_the_same(self, world: World) -> None:
        world.put(TOPIC, (None, value(1)), ("a", value(2, ONE_LONG_AND_NULL)))
        assert standings(world, survey=compacted(world)) == {1: Standing.LIVE, 2: Standing.LIVE}

    def test_the_key_of_a_tombstone_is_read_all_the_same(self, world: World) -> None:
        key = world.registry.seed("users-key", KEY)
        world.put(TOPIC, (frame_id(key, ONE_LONG), value(1)), (frame_id(key, ONE_LONG), None))
        assert standings(world, Role.KEY, survey=compacted(world), subject=HOLDER) == {key: Standing.LIVE}

    def test_a_group_meets_what_lies_beyond_its_offsets(self, world: World) -> None:
        world.put(TOPIC, ("a", value(1)), ("b", value(2, ONE_LONG_AND_NULL)))
        world.put(TOPIC, ("c", value(1)), partition=1)
        world.broker.commit("sink", {(TOPIC, 0): 1, (TOPIC, 1): 1}, metadata="")
        assert standings(world, group="sink") == {1: Standing.READ, 2: Standing.PENDING}
        assert [fault.schema_id for fault in only(look(world, group="sink")).schema_ids] == [2]

    def test_a_partition_without_an_offset_counts_as_not_read(self, world: World) -> None:
        world.put(TOPIC, ("a", value(1)))
        world.put(TOPIC, ("c", value(2, ONE_LONG_AND_NULL)), partition=1)
        world.broker.commit("sink", {(TOPIC, 0): 1}, metadata="")
        assert standings(world, group="sink") == {1: Standing.READ, 2: Standing.PENDING}
        skipped = [each.what for each in look(world, group="sink").skipped]
        assert f"where group sink begins in topic {TOPIC} partition 1" in skipped

    def test_an_offset_beyond_the_log_is_no_clean_bill_of_health(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        world.put(TOPIC, ("a", value(1)))
        world.broker.commit("sink", {(TOPIC, 0): 9}, metadata="")
        found = look(world, group="sink")
        assert found.is_inconclusive
        assert any("has committed offset 9 there" in skipped.reason for skipped in found.skipped)

    def test_a_group_without_offsets_is_refused_with_the_near_ones(self, world: World) -> None:
        world.listing("connect-sink")
        with pytest.raises(UsageError, match=r"^The group 'connect-sin' is not among .* Did you mean 'connect-sink'\?"):
            look(world, group="connect-sin")

    def test_a_topic_that_was_not_read_to_its_end_is_no_clean_bill_of_health(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        world.put(TOPIC, ("a", value(1)), ("b", value(1)), ("c", value(1)))
        assert look(world, max_records=1).is_inconclusive


class TestTheSubject:
    def test_keys_are_asked_under_the_twin_of_a_named_subject_of_the_usual_form(self, world: World) -> None:
        key = world.registry.seed("users-key", KEY)
        world.put(TOPIC, *((frame_id(key, bytes([2 * n])), value(1)) for n in range(9)))
        found = look(world, subject=HOLDER)
        assert found.findings == ()
        assert {asked.subject for answer in found.answers.roles for asked in answer.ids} == {"users-value", "users-key"}
        assert {f.subject for f in look(world, subject="users").findings} == {"users", "source.users-key"}

    def test_a_record_name_strategy_asks_each_id_under_its_own_subject(self, world: World) -> None:
        other = world.registry.seed("other-value", KEY)
        world.put(TOPIC, ("a", value(1)), ("b", value(other)))
        assert [
            (f.subject, [fault.schema_id for fault in f.schema_ids])
            for f in look(world, strategy=Strategy.RECORD, roles=(Role.VALUE,)).findings
        ] == [("shop.User", [1]), ("shop.UserKey", [3])]
        world.registry.seed("shop.User", USER)
        world.registry.seed("shop.UserKey", KEY)
        assert look(world, strategy=Strategy.RECORD, roles=(Role.VALUE,)).findings == ()

    def test_a_schema_without_a_records_name_has_no_subject_by_it(self, world: World) -> None:
        text = world.registry.seed("strings-value", '"string"')
        world.put(TOPIC, ("a", value(text, b"\x02a")))
        finding = only(look(world, strategy=Strategy.TOPIC_RECORD))
        assert (finding.severity, finding.repairable) == (Severity.BROKEN, False)
        assert "has no record name, but --strategy topic-record" in finding.explanation

    def test_soft_deleted_versions_satisfy_a_look_up(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        world.client().delete_version(SUBJECT, 1)
        world.put(TOPIC, ("a", value(1)))
        assert look(world).findings == ()

    @pytest.mark.parametrize(
        ("holder", "says", "advises"),
        [
            ("users-value", "this topic looks like a mirror of topic ", "Let the reader ask users-value"),
            ("clients-value", "the topic looks like a copy of another", "Let the reader ask clients-value"),
            ("source.users-value", ", the topic's own subject", "Let the reader ask source.users-value"),
            ("shop.User", "(RecordNameStrategy)", "Give the reader RecordNameStrategy"),
            ("source.users-shop.User", "(TopicRecordNameStrategy)", "Give the reader TopicRecordNameStrategy"),
        ],
    )
    def test_who_holds_the_ids_tells_what_to_configure(self, holder: str, says: str, advises: str) -> None:
        with world_of({TOPIC: 1}) as world:
            world.registry.seed(holder, USER)
            world.put(TOPIC, ("a", value(1)))
            finding = only(look(world, subject="asked-value"))
            assert says in finding.explanation
            assert finding.next.startswith(advises)


class TestTheReader:
    def test_a_plain_reader_fails_in_a_named_context_alone(self) -> None:
        with world_of({TOPIC: 1}) as world:
            world.registry.seed(":.eu:users-value", USER)
            world.put(TOPIC, ("a", value(1)))
            finding = only(look(world, subject=":.eu:source.users-value", reader=TopicReader.PLAIN))
            assert finding.severity is Severity.BROKEN
            assert (
                "In context .eu the registry returns a schema only if the request names a subject that holds its id"
                in finding.explanation
            )
            assert '"Error retrieving Avro value schema for id 1"' in finding.explanation
            assert look(world, subject=":.eu:users-value", reader=TopicReader.PLAIN).findings == ()

    def test_a_reader_of_the_latest_needs_the_version_of_what_was_written_too(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER_2)
        world.put(TOPIC, ("a", value(1)), ("b", value(2, ONE_LONG_AND_NULL)))
        finding = only(look(world, reader=TopicReader.LATEST))
        assert ([fault.schema_id for fault in finding.schema_ids], finding.repairable) == ([1], True)
        assert "A reader with use.latest.version looks up the version of each id there, too" in finding.explanation

    def test_a_latest_that_cannot_read_is_told_before_a_version_that_is_missing(self, world: World) -> None:
        world.registry.seed(SUBJECT, BREAKING)
        world.put(TOPIC, ("a", value(1)))
        finding = only(look(world, reader=TopicReader.LATEST))
        assert not finding.repairable
        assert "The latest version cannot read records of schema id " in finding.explanation
        assert finding.next.startswith("No registration of these ids helps.")

    def test_without_the_metadata_that_is_asked_for_there_is_no_latest(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def none_has_them(_client: RegistryClient, subject: str, properties: Mapping[str, str]) -> SchemaVersion:
            raise VersionNotFoundError(404, 40402, "no such version", "url")

        world.registry.seed(SUBJECT, USER)
        world.put(TOPIC, ("a", value(1)))
        # The registry of the fixtures does not search by metadata, which is said.
        found = look(world, reader=TopicReader.LATEST, with_metadata={"major": "2"})
        assert found.is_inconclusive
        assert any("cannot search by metadata" in skipped.reason for skipped in found.skipped)
        monkeypatch.setattr(RegistryClient, "latest_with_metadata", none_has_them)
        finding = only(look(world, reader=TopicReader.LATEST, with_metadata={"major": "2"}))
        assert f"no live version of {SUBJECT} has the metadata major=2" in finding.explanation

    def test_json_schemas_are_not_compared_which_is_no_clean_bill_and_ksqldb_looks_them_up(self) -> None:
        """JSON_SR since ksqlDB 0.28.2."""
        schema = '{"type":"object","title":"User","properties":{"id":{"type":"integer"}}}'
        with world_of({TOPIC: 1}) as world:
            first = world.registry.seed(HOLDER, schema, schema_type="JSON")
            world.put(TOPIC, ("a", frame_id(first, b'{"id":1}')))
            assert (
                "(From 0.28.2 on, ksqlDB reads JSON_SR in this way."
                in only(look(world, reader=TopicReader.KSQLDB)).explanation
            )
            for text in (schema, schema.replace("integer", "number")):
                world.registry.seed(SUBJECT, text, schema_type="JSON")
            found = look(world, reader=TopicReader.LATEST)
            assert found.is_inconclusive
            assert any("srfix compares two Avro or two Protobuf schemas" in skipped.reason for skipped in found.skipped)
            assert look(world, reader=TopicReader.KSQLDB).findings == ()

    def test_protobuf_schemas_are_compared(self) -> None:
        schema = 'syntax = "proto3"; message User { int64 id = 1; }'
        with world_of({TOPIC: 1}) as world:
            first = world.registry.seed(SUBJECT, schema, schema_type="PROTOBUF")
            world.put(TOPIC, ("a", frame_id(first, b"\x00\x08\x01")))
            world.registry.seed(SUBJECT, schema.replace("}", "string name = 2; }"), schema_type="PROTOBUF")
            assert look(world, reader=TopicReader.LATEST).findings == ()
            world.registry.seed(SUBJECT, schema.replace("int64", "string"), schema_type="PROTOBUF")
            finding = only(look(world, reader=TopicReader.LATEST))
            assert "FIELD_SCALAR_KIND_CHANGED: #/User/1" in finding.explanation

    def test_protobuf_schemas_are_compared_with_what_they_refer_to(self) -> None:
        part = 'syntax = "proto3"; message Part { int64 id = 1; }'
        schema = 'syntax = "proto3"; import "part.proto"; message User { Part part = 1; }'
        with world_of({TOPIC: 1}) as world:
            for text in (part, part.replace("int64", "string")):
                world.registry.seed("part", text, schema_type="PROTOBUF")
            first, latest = (
                world.registry.seed(
                    SUBJECT,
                    schema,
                    schema_type="PROTOBUF",
                    references=[SchemaReference(name="part.proto", subject="part", version=version)],
                )
                for version in (1, 2)
            )
            world.put(TOPIC, ("a", frame_id(first, b"\x00\x0a\x02\x08\x01")))
            finding = only(look(world, reader=TopicReader.LATEST))
            assert f"version 2 (schema id {latest})" in finding.explanation
            assert "FIELD_NAMED_TYPE_CHANGED: #/User/1" in finding.explanation


class TestKeys:
    def test_bigint_keys_are_no_ids(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        rows = [((n << 24).to_bytes(8, "big"), value(1)) for n in range(1, 9)]
        world.put(TOPIC, *rows)
        found = look(world)
        assert found.findings == ()
        keys = found.answers.role(Role.KEY)
        assert keys is not None
        assert (keys.ids, keys.is_looked_at) == ((), False)

    def test_keys_alone_that_name_no_schema_are_not_looked_at(self, world: World) -> None:
        world.put(TOPIC, ("a", value(1)))
        found = look(world, roles=(Role.KEY,))
        assert found.is_inconclusive
        assert any("none of them names a schema" in skipped.reason for skipped in found.skipped)

    def test_framed_keys_are_asked_for_and_missed(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        key = world.registry.seed("users-key", KEY)
        world.put(TOPIC, *((frame_id(key, bytes([2 * n])), value(1)) for n in range(9)))
        finding = only(look(world))
        assert (finding.role, finding.subject) == (Role.KEY, "source.users-key")
        assert '"Error retrieving Avro key schema version for id 3"' in finding.explanation


class TestGuids:
    def _guid(self, world: World, number: int) -> UUID:
        guid = world.client().version(HOLDER, number).guid
        assert guid is not None
        return UUID(guid)

    def test_in_the_payload_they_stand_for_their_ids(self, world: World) -> None:
        world.put(TOPIC, ("a", frame_guid(self._guid(world, 1), ONE_LONG)), ("b", value(2, ONE_LONG_AND_NULL)))
        found = look(world)
        assert [fault.schema_id for fault in only(found).schema_ids] == [1, 2]
        answer = found.answers.role(Role.VALUE)
        assert answer is not None
        assert [len(asked.guids) for asked in answer.ids] == [1, 0]
        assert look(world, subject=HOLDER).findings == ()

    def test_in_a_header_too(self, world: World) -> None:
        header: tuple[str, bytes | None] = (schema_id_header(Role.VALUE), frame_guid(self._guid(world, 1)))
        world.broker.produce([ProducedRecord(topic=TOPIC, partition=0, key=b"a", value=ONE_LONG, headers=(header,))])
        assert [fault.schema_id for fault in only(look(world)).schema_ids] == [1]

    def test_one_that_the_registry_does_not_know_is_srf011(self, world: World) -> None:
        guid = uuid4()
        world.put(TOPIC, ("a", frame_guid(guid, ONE_LONG)))
        finding = only(look(world))
        assert (finding.code, finding.repairable) == ("SRF011", False)
        assert str(guid) in finding.explanation

    def test_a_registry_without_guids_is_said(self) -> None:
        with world_of({TOPIC: 1}, emulate="7.9") as world:
            world.put(TOPIC, ("a", frame_guid(uuid4(), ONE_LONG)))
            found = look(world)
            assert found.is_inconclusive
            assert any("this registry does not know GUIDs" in skipped.reason for skipped in found.skipped)


class TestWhatElseStandsInTheTopic:
    def test_an_id_that_the_registry_does_not_know_is_srf011(self, world: World) -> None:
        world.put(TOPIC, ("a", value(77)))
        found = look(world)
        assert (only(found).code, only(found).severity, only(found).repairable) == ("SRF011", Severity.BROKEN, False)
        answer = found.answers.role(Role.VALUE)
        assert answer is not None
        assert answer.ids[0].trouble is Trouble.UNKNOWN_ID

    def test_unframed_values_among_framed_ones_are_srf013(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        world.put(TOPIC, ("a", value(1)), ("b", b"{}"), ("c", None))
        finding = only(look(world))
        assert finding.code == "SRF013"
        assert finding.explanation.startswith("1 value of topic source.users names no schema: 1 in partition 0 (from")

    def test_a_body_that_does_not_decode_is_srf013(self, world: World) -> None:
        world.registry.seed(SUBJECT, USER)
        world.put(TOPIC, ("a", value(1, b"")))
        finding = only(look(world))
        assert finding.code == "SRF013"
        assert "not decode with the schema of its id: partition 0 offset 0, schema id 1" in finding.explanation

    def test_nothing_to_read_is_no_clean_bill_of_health(self, world: World) -> None:
        assert look(world).is_inconclusive
