"""SRF016: what a put of Kafka Streams 2.7 or later registers under the source's own subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parts.damage import shop
from parts.damage import upgrade_refused_by_source_subject as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import CheckContext, Finding, Reader, Severity, StreamsVersion
from srfix.recovery.checks import srf004, srf016
from srfix.serde import Schema
from tests.recovery.checks.staged import examined, of_topology, wrong
from tests.recovery.world import World, world_fixture, world_of

OWN_2 = shop.INTERNAL_SCHEMA.replace("USERID", "USER_ID")


world = world_fixture(damage.TOPICS, damage.stage)


def found(
    world: World, *, reader: Reader = Reader.UNKNOWN, version: str | None = "2.7", application: str = "shop"
) -> list[Finding]:
    """What the check finds where no row on disk concerns SRF004."""
    world.sources = {"users-store": "users"}  # type: ignore[dict-item]
    (facts,) = world.examine(application=application).facts
    context = CheckContext(
        registry=world.client(),
        reader=reader,
        streams_version=None if version is None else StreamsVersion.parse(version),
    )
    return list(srf016.check(replace(facts), context))


class TestTheDamage:
    def test_is_found_under_its_code_and_no_other(self, world: World) -> None:
        diagnosis = examined(
            world,
            of_topology(damage.TOPOLOGY),
            reader=Reader(damage.READER),
            streams_version=damage.STREAMS_VERSION,
        ).diagnosis
        assert wrong(diagnosis) == ["SRF016"]
        finding = diagnosis.findings[0]
        assert (finding.severity, finding.subject) == (Severity.BREAKS_ON_UPGRADE, damage.SOURCE_SUBJECT)
        assert ([fault.schema_id for fault in finding.schema_ids], finding.registered_ids) == ([2], (1,))
        assert "writes its values under the application's own schema (schema id 2)" in finding.explanation
        assert "not BACKWARD compatible with the versions that the subject holds (409)" in finding.explanation
        assert "Before the upgrade, give the store a filled changelog of its own and stop the reuse" in finding.next
        assert "let the owner of users-value set" in finding.next

    def test_is_not_there_before_2_7(self, world: World) -> None:
        assert found(world, version=None) == []
        assert found(world, version="2.6.3") == []

    def test_forbids_in_other_advice_what_would_meet_it(self, world: World) -> None:
        (application,) = examined(world, of_topology(damage.TOPOLOGY), streams_version="2.7").diagnosis.applications
        assert any("the registry refuses the first put after the wipe (SRF016)" in line for line in application.advice)

    def test_nothing_was_written(self, world: World) -> None:
        world.registry.forget_requests()
        found(world)
        assert world.registry.writes == 0


class TestTheLevelInForce:
    @pytest.mark.parametrize("level", ["BACKWARD", "BACKWARD_TRANSITIVE", "FULL", "FORWARD"])
    def test_a_level_that_refuses_it_breaks_the_upgrade(self, world: World, level: str) -> None:
        world.client().set_config(damage.SOURCE_SUBJECT, {"compatibility": level})
        (finding,) = found(world)
        assert finding.severity is Severity.BREAKS_ON_UPGRADE
        assert f"not {level} compatible" in finding.explanation

    def test_at_none_it_is_accepted_and_srf004_says_the_rest(self, world: World) -> None:
        world.client().set_config(damage.SOURCE_SUBJECT, {"compatibility": "NONE"})
        assert found(world) == []

    def test_where_srf004_says_nothing_an_accepted_one_is_a_note(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(srf004, "check", lambda _facts, _context: iter(()))
        world.client().set_config(damage.SOURCE_SUBJECT, {"compatibility": "NONE"})
        (note,) = found(world)
        assert note.severity is Severity.NOTE
        assert "becomes the latest version" in note.explanation

    def test_a_transitive_level_asks_all_versions(self, world: World) -> None:
        """It reads the latest, and not the first."""
        client = world.client()
        client.set_config(damage.SOURCE_SUBJECT, {"compatibility": "NONE"})
        client.register(damage.SOURCE_SUBJECT, Schema(text=OWN_2))
        client.set_config(damage.SOURCE_SUBJECT, {"compatibility": "BACKWARD"})
        assert found(world) == []
        client.set_config(damage.SOURCE_SUBJECT, {"compatibility": "BACKWARD_TRANSITIVE"})
        assert [finding.severity for finding in found(world)] == [Severity.BREAKS_ON_UPGRADE]

    def test_a_source_subject_whose_versions_are_all_soft_deleted_takes_any(self, world: World) -> None:
        world.client().delete_version(damage.SOURCE_SUBJECT, 1)
        assert not any(finding.severity is Severity.BREAKS_ON_UPGRADE for finding in found(world))


class TestWhichSchemaIsTheApplicationsOwn:
    @pytest.mark.parametrize(
        ("registered", "own"), [(OWN_2, 3), (shop.WRITER_SCHEMA, 2)], ids=["a later one", "a repair's, not"]
    )
    def test_the_latest_that_no_repair_registered_counts(self, world: World, registered: str, own: int) -> None:
        client = world.client()
        client.set_config(damage.PHANTOM_SUBJECT, {"compatibility": "NONE"})
        client.register(damage.PHANTOM_SUBJECT, Schema(text=registered))
        assert [fault.schema_id for finding in found(world) for fault in finding.schema_ids] == [own]

    def test_a_soft_deleted_one_counts_where_no_other_is_live(self, world: World) -> None:
        world.client().delete_version(damage.PHANTOM_SUBJECT, 1)
        assert [fault.schema_id for finding in found(world) for fault in finding.schema_ids] == [2]

    @pytest.mark.parametrize("is_deleted", [False, True])
    def test_one_under_the_source_is_registered_anew_only_if_it_is_soft_deleted(
        self, world: World, is_deleted: bool
    ) -> None:
        """The repair of SRF004 lets rows be read; the put is checked all the same."""
        client = world.client()
        client.set_config(damage.SOURCE_SUBJECT, {"compatibility": "NONE"})
        shop.register_internal(client, damage.SOURCE_SUBJECT)
        if is_deleted:
            client.delete_version(damage.SOURCE_SUBJECT, 2)
        client.delete_config(damage.SOURCE_SUBJECT)
        assert [(each.severity, [fault.schema_id for fault in each.schema_ids]) for each in found(world)] == (
            [(Severity.BREAKS_ON_UPGRADE, [2])] if is_deleted else []
        )

    def test_a_serde_that_writes_the_writers_schemas_back_has_none(self) -> None:
        with world_of(damage.TOPICS) as generic:
            shop.stage_records(generic.broker, generic.client())
            generic.registry.seed(damage.PHANTOM_SUBJECT, shop.WRITER_SCHEMA)
            shop.commit_users(generic.broker)
            assert found(generic) == []

    def test_a_dual_subject_reader_goes_on_writing_under_the_phantom(self, world: World) -> None:
        assert found(world, reader=Reader.DUAL) == []

    def test_a_query_of_ksqldb_does_too(self) -> None:
        """Its StaticTopicSerde is handed the changelog's name on every Kafka Streams."""
        query = "_confluent-ksql-default_query_CSAS_J_0"
        with world_of(damage.TOPICS) as ksqldb:
            shop.stage_records(ksqldb.broker, ksqldb.client())
            ksqldb.registry.seed(f"{query}-users-store-changelog-value", shop.INTERNAL_SCHEMA)
            ksqldb.broker.commit(query, {("users", 0): 2, ("users", 1): 1})
            ksqldb.sources = {"users-store": "users"}  # type: ignore[dict-item]
            assert found(ksqldb, application=query) == []


class TestWhatCannotBeTold:
    @pytest.mark.parametrize("status", [404, 403])
    def test_a_registry_without_the_question_leaves_it_open(self, world: World, status: int) -> None:
        world.registry.intercept(Fault(path="/compatibility/subjects/users-value/", action=Answer(status=status)))
        (note,) = found(world)
        assert note.severity is Severity.NOTE
        assert f"does not answer compatibility checks (HTTP {status})" in note.explanation

    def test_where_nothing_can_be_registered_srf015_says_so(self, world: World) -> None:
        world.client().set_mode(damage.SOURCE_SUBJECT, "READONLY")
        assert found(world) == []
