"""SRF010: an internal schema under the source's own subject that no record carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from parts.damage import source_subject_polluted_by_internal_schema as damage
from srfix.recovery import CensusRequest, CheckContext, Finding, Severity
from srfix.recovery.checks import srf010
from srfix.recovery.facts.stores import StoreRows
from srfix.serde import Role, Schema
from srfix.serde.wire import SchemaId
from tests.recovery.checks.staged import examined, noted, of_topology, wrong
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2
from tests.recovery.world import World, value, world_fixture

ALIKE = '{"type":"record","name":"User","fields":[{"name":"userid","type":"long"}]}'
"""An internal schema without any mark."""


empty = world_fixture(damage.TOPICS)


plain = world_fixture({"users": 1})
"""`users` of one partition; what stands under the subjects, the test says."""


def seed(world: World, subject: str, *texts: str) -> list[int]:
    client = world.client()
    client.set_config(subject, {"compatibility": "NONE"})
    ids = [int(client.register(subject, Schema(text=text))) for text in texts]
    client.delete_config(subject)
    return ids


def marked(text: str) -> str:
    """With a mark of Connect's converter."""
    return text.replace('"name":"User"', '"name":"User","connect.name":"User"')


def stand(world: World, source: list[str], phantom: Sequence[str] = (), *, carried: int = 1) -> None:
    """These stand under the two subjects, and the one record carries this id."""
    seed(world, SOURCE_SUBJECT, *source)
    if phantom:
        seed(world, PHANTOM, *phantom)
    world.live(("a", value(carried, b"\x02\x00" if carried == 2 else b"\x02")))


def found(world: World, rows: StoreRows | None = None, **how: object) -> list[Finding]:
    """What the check itself finds, with what rows on disk carry."""
    world.sources = {"users-store": "users"}  # type: ignore[dict-item]
    (facts,) = world.examine(application="shop", store="users-store", **how).facts  # type: ignore[arg-type]
    return list(srf010.check(replace(facts, rows=rows), CheckContext(registry=world.client())))


def rows_with(*ids: int) -> StoreRows:
    return StoreRows(rows=len(ids), schema_ids={Role.VALUE: {SchemaId(i): 1 for i in ids}})


class TestTheDamage:
    def test_is_litter_under_its_code_and_no_other(self, empty: World) -> None:
        internal = damage.stage(empty.broker, empty.client())
        diagnosis = examined(empty, of_topology(damage.TOPOLOGY), streams_version=damage.STREAMS_VERSION).diagnosis
        assert (wrong(diagnosis), noted(diagnosis)) == (["SRF010"], ["SRF003"])
        finding = diagnosis.findings[0]
        assert (finding.severity, finding.repairable) == (Severity.LITTER, False)
        assert finding.subject == damage.SOURCE_SUBJECT
        assert ([fault.schema_id for fault in finding.schema_ids], finding.registered_ids) == ([internal], (1, 2))
        assert "schema id 2: shop-users-store-changelog-value holds it" in finding.explanation
        assert "Keep schema id 2 as long as a store" in finding.next
        empty.sources = {"users-store": "users"}  # type: ignore[dict-item]
        assert empty.plan(streams_version="2.7").actions == ()


class TestWhatShowsIt:
    def test_a_first_version_that_no_copy_can_be(self, plain: World) -> None:
        """The records' own schema is older, and a serde that writes the writer's schemas back would have copied it."""
        stand(plain, [W1, ALIKE], [ALIKE])
        assert [fault.schema_id for finding in found(plain) for fault in finding.schema_ids] == [2]

    def test_a_mark_of_connect_that_the_records_own_schemas_have_not(self, plain: World) -> None:
        stand(plain, [W1, marked(ALIKE)], [W1, marked(ALIKE)])
        (finding,) = found(plain)
        assert f"{PHANTOM} holds it, too, and the schema has a mark of Connect's converter" in finding.explanation

    def test_rows_on_disk_where_no_phantom_subject_stands(self, plain: World) -> None:
        stand(plain, [W1, ALIKE])
        assert found(plain, streams_version="2.7") == []
        (finding,) = found(plain, rows_with(1, 2), streams_version="2.7")
        assert "schema id 2: 1 row of the store" in finding.explanation

    @pytest.mark.parametrize(("own", "is_sure"), [(ALIKE, True), (W2, False)])
    def test_what_may_be_the_producers_next_is_not_said_to_be_none_of_theirs(
        self, plain: World, own: str, is_sure: bool
    ) -> None:
        """Seen wrong: an application that writes with the schema to which its producers have not turned yet."""
        stand(plain, [W1, own], [W1, own])
        (finding,) = found(plain, rows_with(2), streams_version="2.7")
        assert ("and not a producer, registered" in finding.explanation) is is_sure

    def test_a_key_schema_likewise(self, plain: World) -> None:
        key = '{"type":"record","name":"K","fields":[{"name":"id","type":"long"}]}'
        seed(plain, SOURCE_SUBJECT, W1)
        seed(plain, "users-key", key, key.replace('"id"', '"ID"'))
        seed(plain, PHANTOM, W1)
        seed(plain, "shop-users-store-changelog-key", key.replace('"id"', '"ID"'))
        plain.live((value(2), value(1)))
        assert [(finding.role, finding.subject) for finding in found(plain)] == [(Role.KEY, "users-key")]


class TestItsHealthyTwins:
    @pytest.mark.parametrize(
        ("source", "phantom"),
        [
            pytest.param([W1, W2], [W1, W2], id="an-old-one-of-the-producers-that-the-serde-copied"),
            pytest.param([W1, W2], [ALIKE, W1, W2], id="one-that-a-repair-registered-under-the-phantom"),
            pytest.param([W2, marked(ALIKE), W1], [W1, marked(ALIKE)], id="one-before-all-that-records-carry"),
            # Debezium's schemas have `connect.name` themselves.
            pytest.param(*[[marked(W1), marked(W2)]] * 2, id="one-whose-mark-the-records-own-schemas-have-too"),
        ],
    )
    def test_a_schema_of_the_producers_whose_records_compaction_took(
        self, plain: World, source: list[str], phantom: list[str]
    ) -> None:
        """A generic serde writes the writer's schemas back."""
        stand(plain, source, phantom, carried=len(source))
        assert found(plain) == []

    def test_the_producers_first_schema_in_rows_that_are_older_than_the_log(self, plain: World) -> None:
        stand(plain, [W1, W2], carried=2)
        assert found(plain, rows_with(1), streams_version="2.7") == []

    def test_one_that_is_soft_deleted_under_the_source(self, empty: World) -> None:
        damage.stage(empty.broker, empty.client())
        empty.client().delete_version(damage.SOURCE_SUBJECT, 2)
        empty.sources = {"users-store": "users"}  # type: ignore[dict-item]
        assert "SRF010" not in empty.findings(streams_version="2.7")

    def test_one_that_a_record_carries(self, empty: World) -> None:
        internal = damage.stage(empty.broker, empty.client())
        empty.put("users", ("z", value(int(internal), b"\x02\x02")))
        empty.sources = {"users-store": "users"}  # type: ignore[dict-item]
        assert "SRF010" not in empty.findings(streams_version="2.7")

    def test_nothing_is_said_while_the_log_was_not_read_to_its_end(self, empty: World) -> None:
        damage.stage(empty.broker, empty.client())
        survey = empty.survey(**{"users-store": "users"})

        class InPart:
            def count(self, request: CensusRequest, *, on_progress: object = None) -> object:
                return empty.engine.count(replace(request, max_records=1))

        diagnosis = empty.examine(survey=survey, streams_version="2.7", engine=InPart()).diagnosis  # type: ignore[arg-type]
        assert "SRF010" not in {finding.code for finding in diagnosis.findings}


def test_it_shows_that_2_7_or_later_writes_so_that_nothing_is_asked_of_the_phantom_subject(plain: World) -> None:
    """Seen wrong: SRF001 was called broken beside it, of an application that was upgraded the right way."""
    stand(plain, [W1, marked(ALIKE)], [marked(ALIKE)])
    plain.listing("shop")
    diagnosis = plain.examine().diagnosis
    assert (wrong(diagnosis), noted(diagnosis)) == (["SRF010"], ["SRF001"])
    (told,) = [skipped for skipped in diagnosis.skipped if skipped.could_hide]
    assert "--streams-version 2.6.3" in told.reason
    assert "SRF001" in wrong(plain.examine(streams_version="2.6.3").diagnosis)
    plain.commit("other", users=1)
    plain.listing("shop", "other")
    assert "SRF001" in wrong(plain.examine().diagnosis), "another application may have the same serde"


def test_a_later_schema_under_the_phantom_subject_alone_shows_that_an_older_one_has_written_since(plain: World) -> None:
    """Seen wrong by a generated world: SRF001 was called a note."""
    later = marked(ALIKE).replace('"fields":[', '"fields":[{"name":"LATER","type":["null","int"],"default":null},')
    stand(plain, [W1, marked(ALIKE)], [marked(ALIKE), later])
    plain.listing("shop")
    assert {"SRF001", "SRF010"} <= {*wrong(plain.examine().diagnosis)}


def test_a_subject_that_begins_with_it_may_be_a_producers_of_the_same_kind(plain: World) -> None:
    """Seen wrong by a generated world: SRF001 was called a note."""
    stand(plain, [marked(ALIKE)], [marked(ALIKE)], carried=2)
    seed(plain, "elsewhere-value", W2)
    plain.listing("shop")
    assert {"SRF001", "SRF010"} <= {*wrong(plain.examine().diagnosis)}


def test_the_keys_schema_alone_does_not_show_it_where_the_values_have_one(plain: World) -> None:
    """Seen wrong: the store of another application, a global table's, had the same key, and SRF001 was called a note."""
    key = '{"type":"record","name":"K","fields":[{"name":"id","type":"long"}]}'
    own_key = key.replace('"id"', '"ID"')
    seed(plain, SOURCE_SUBJECT, W1)
    seed(plain, "users-key", key, own_key)
    seed(plain, PHANTOM, marked(ALIKE))
    seed(plain, "shop-users-store-changelog-key", own_key)
    plain.live((value(2), value(1)))
    plain.listing("shop")
    diagnosis = plain.examine().diagnosis
    assert "SRF010" in wrong(diagnosis)
    assert "SRF001" in wrong(diagnosis)
