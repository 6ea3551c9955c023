"""The internal schema's fields among those of the writers."""

from __future__ import annotations

import pytest

from srfix.recovery.evidence import schema_similarity
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Evidence
from tests.recovery.evidence.test_hypotheses import record
from tests.recovery.world import World, value, world_of

PHANTOM = "shop-users-store-changelog-value"


def gathered(world: World) -> list[tuple[str | None, str, str]]:
    suspect = SuspectStore(application="shop", name="users-store")
    return [said(piece) for piece in schema_similarity.gather(suspect, world.survey())]


def by_ids(world: World) -> list[tuple[str | None, str, str]]:
    suspect = SuspectStore(application="shop", name="users-store")
    survey = world.survey()
    topics = schema_similarity.topics_without_subject(suspect, survey)
    return [said(piece) for piece in schema_similarity.compare_by_ids(suspect, survey, topics)]


def said(piece: Evidence) -> tuple[str | None, str, str]:
    return piece.topic, piece.kind, f"{piece.weight.value}{' against' if piece.against else ''}"


ALL = ("users", "schema-similarity", "strong")
SAME = ("users", "same-fields", "weak")
SOME = ("users", "schema-similarity", "weak against")
RECORD = ("users", "record-name", "strong")


class TestGather:
    def test_all_fields_ignoring_case_are_strong_and_none_is_out(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("users-value", record("userId", "name", "email"))
        world.registry.seed("orders-value", record("orderId"))
        assert gathered(world) == [("orders", "schema-similarity", "conclusive against"), ALL]

    def test_the_same_fields_and_no_other_are_worth_more(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("users-value", record("userId", "name"))
        assert gathered(world) == [ALL, SAME]

    @pytest.mark.parametrize("fields", [("userId", "name"), ("userId",)], ids=["half", "a quarter"])
    def test_some_of_them_speak_against_it(self, world: World, fields: tuple[str, ...]) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME", "A", "B"))
        world.registry.seed("users-value", record(*fields))
        assert gathered(world) == [SOME]

    def test_every_topic_counts_whoever_reads_it(self, world: World) -> None:
        """Seen wrong: a global table's topic is committed by nobody, so a stream's was taken for it."""
        world.registry.seed(PHANTOM, record("USERID"))
        world.registry.seed("users-value", record("userId"))
        world.registry.seed("orders-value", record("orderId"))
        world.commit("shop", orders=0)
        assert gathered(world) == [("orders", "schema-similarity", "conclusive against"), ALL, SAME]

    def test_every_version_counts(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))
        world.registry.seed("users-value", record("userId", "name"))
        world.registry.seed("users-value", record("userId", "fullName"))
        assert gathered(world) == [ALL, SAME]

    def test_a_record_that_a_person_named_alike_is_strong(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("id", "tier", name="com.example.User"))
        world.registry.seed("users-value", record("id", name="com.example.User"))
        assert gathered(world) == [SOME, RECORD]

    def test_so_it_is_under_a_version_that_the_serde_of_a_store_has_added(self, world: World) -> None:
        """Seen wrong: a copy of the topic, whose subject was clean, was named as the source."""
        world.registry.seed(PHANTOM, record("id", name="com.example.User"))
        world.registry.configure("users-value", {"compatibility": "NONE"})
        world.registry.seed("users-value", record("id", name="com.example.User"))
        world.registry.seed("users-value", record("ID"))
        assert RECORD in gathered(world)

    def test_a_repairs_copy_is_none_of_a_derived_topic_where_the_source_has_the_stores_own_too(
        self, world: World
    ) -> None:
        own, copied = record("id", name="com.example.UserRow"), record("id", name="com.example.User")
        for schema in (own, copied):
            world.registry.seed(PHANTOM, schema)
        for schema in (copied, own):
            world.registry.seed("users-value", schema)
        world.registry.seed("orders-value", copied)
        assert [of for of in gathered(world) if of[1] == "record-name"] == [RECORD]

    def test_a_record_name_that_ksqldb_gives_to_all_says_nothing(self, world: World) -> None:
        name = "io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"
        world.registry.seed(PHANTOM, record("ID", name=name))
        world.registry.seed("users-value", record("ID", name=name))
        assert gathered(world) == [ALL, SAME]

    def test_topics_named_as_an_applications_own_count_only_where_this_one_reads_them(self, world: World) -> None:
        world.broker.create_topic("tills-kept-changelog", 1)
        world.registry.seed(PHANTOM, record("ID"))
        world.registry.seed("tills-kept-changelog-value", record("id"))
        world.commit("tills", users=0)
        assert gathered(world) == []
        world.commit("shop", **{"tills-kept-changelog": 0})
        assert [topic for topic, _kind, _worth in gathered(world)] == ["tills-kept-changelog"] * 2

    def test_a_changelog_of_its_own_is_no_source_where_no_group_is_left(self) -> None:
        """Seen wrong: of an application that a person named."""
        with world_of({"shop-kept-changelog": 1}) as world:
            world.registry.seed(PHANTOM, record("id", name="com.example.User"))
            world.registry.seed("shop-kept-changelog-value", record("id", name="com.example.User"))
            assert gathered(world) == []

    def test_a_soft_deleted_phantom_subject_still_tells(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID"))
        world.registry.seed("users-value", record("userId"))
        world.client().delete_version(PHANTOM, 1)
        assert gathered(world) == [ALL, SAME]

    def test_what_is_no_record_says_nothing(self, world: World) -> None:
        world.registry.seed(PHANTOM, '"string"')
        world.registry.seed("users-value", record("userId"))
        assert gathered(world) == []

    def test_keys_are_compared_where_the_values_cannot_be(self, world: World) -> None:
        world.registry.seed(PHANTOM.removesuffix("value") + "key", record("USERID"))
        world.registry.seed("users-key", record("userId"))
        world.registry.seed("orders-key", record("orderId"))
        world.registry.seed("users-value", record("name"))
        assert gathered(world) == [("orders", "key-similarity", "strong against"), ("users", "key-similarity", "weak")]

    def test_fields_that_differ_in_case_alone_feed_a_column_as_the_engine_has_it(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("ID"))
        world.registry.seed("users-value", record("Id", "iD"))
        assert gathered(world) == [ALL]


class TestCompareByIds:
    """Seen wrong: a source whose producer names subjects after the record has no `<topic>-value`."""

    @pytest.fixture(autouse=True)
    def _phantom(self, world: World) -> None:
        world.registry.seed(PHANTOM, record("USERID", "NAME"))

    def test_the_ids_in_the_records_tell(self, world: World) -> None:
        schema_id = world.registry.seed("com.example.User", record("userId", "name"))
        world.put("users", ("u1", value(schema_id)), ("u2", None))
        assert by_ids(world) == [ALL, SAME]

    def test_the_best_of_several_counts(self, world: World) -> None:
        ids = [world.registry.seed("com.example.User", record(*fields)) for fields in (("a",), ("userId",))]
        world.put("users", *((f"u{schema_id}", value(schema_id)) for schema_id in ids))
        assert by_ids(world) == [SOME]

    def test_an_id_that_the_registry_does_not_know_says_nothing(self, world: World) -> None:
        world.put("users", ("u1", value(77)))
        assert by_ids(world) == []

    @pytest.mark.parametrize("subject", [None, "users-Other"])
    def test_of_a_topic_that_is_read_and_has_no_subject_lost_ids_speak_for_it(
        self, world: World, subject: str | None
    ) -> None:
        """Seen wrong: it had one named after topic and record, of other columns."""
        world.put("users", ("u1", value(77)))
        world.commit("shop", users=1)
        if subject is not None:
            world.registry.seed(subject, record("other", name="Other"))
        assert by_ids(world) == ([("users", "record-ids", "strong")] if subject is None else [])

    def test_values_without_any_id_speak_against_a_topic_without_a_subject(self, world: World) -> None:
        world.put("users", ("u1", b'{"userId":1}'))
        assert by_ids(world) == [("users", "record-ids", "strong against")]

    def test_an_empty_topic_says_nothing(self, world: World) -> None:
        assert by_ids(world) == []
