"""A registry with contexts: a store whose serdes work in one is found, repaired and verified there, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.recovery import PlanError, Reader, Severity
from srfix.recovery.actions.actions import Register
from srfix.recovery.facts.reader import circumstances_of, known_application
from srfix.recovery.facts.survey import ask_membership
from srfix.recovery.repair.preflight import preflight
from srfix.recovery.repair.verify.events import Confirmed, Problem
from srfix.serde import Schema, Subject, Topic
from srfix.serde.wire import SchemaId
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import World, value, world_of

IN_CONTEXT = f":.eu:{PHANTOM}"
KEY = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'


@pytest.fixture
def world() -> Iterator[World]:
    """Id 2 is W1 in context `.eu`, where the phantom lacks it, and W2 in the default context."""
    with world_of({"users": 1}) as made:
        made.registry.seed("elsewhere-value", KEY)
        made.registry.seed("another-value", W2)
        made.registry.seed(":.eu:elsewhere-value", KEY)
        assert made.registry.seed(f":.eu:{SOURCE_SUBJECT}", W1) == 2
        made.registry.seed(IN_CONTEXT, R)
        made.live(("u1", value(2)))
        yield made


class TestDiagnose:
    def test_the_store_is_found_in_its_context(self, world: World) -> None:
        examination = world.examine()
        (finding,) = [found for found in examination.diagnosis.findings if found.code == "SRF001"]
        assert (finding.application, finding.store, finding.subject) == ("shop", "users-store", IN_CONTEXT)
        assert finding.source is not None
        assert (finding.source.topic, finding.source.subject) == ("users", f":.eu:{SOURCE_SUBJECT}")
        assert [fault.schema_id for fault in finding.schema_ids] == [2]
        assert examination.diagnosis.examined == ("shop/users-store in context .eu",)
        assert not [skipped for skipped in examination.diagnosis.skipped if skipped.could_hide]

    def test_what_the_registry_lists_of_one_context_is_asked_of_the_others(self, world: World) -> None:
        """`GET /schemas`, which what is left of gone applications takes, lists the default context alone."""
        left = ":.eu:retired-by-key-repartition-value"
        world.registry.seed(left, KEY)
        world.registry.seed(f":.eu:{SOURCE_SUBJECT}", KEY)  # the newest version, which has no field of the store's
        world.listing("shop")
        findings = world.findings()
        assert findings["SRF001"].source is not None
        assert findings["SRF001"].source.topic == "users"
        assert (findings["SRF009"].subject, len(findings["SRF009"].registered_ids or ())) == (left, 1)

    def test_one_store_in_two_contexts_is_two(self, world: World) -> None:
        world.registry.seed(PHANTOM, W2)  # which is id 2 here, and so complete
        examination = world.examine()
        assert examination.diagnosis.examined == ("shop/users-store", "shop/users-store in context .eu")
        assert [f.subject for f in examination.diagnosis.findings if f.code == "SRF001"] == [IN_CONTEXT]

    def test_a_store_that_is_named_is_looked_for_in_every_context(self, world: World) -> None:
        diagnosis = world.examine(application="shop", store="users-store").diagnosis
        assert diagnosis.examined == ("shop/users-store in context .eu",)

    def test_schemas_are_compared_within_the_context(self, world: World) -> None:
        world.broker.create_topic("orders", 1)
        world.commit("shop", orders=0)
        world.registry.seed(":.eu:orders-value", KEY)
        world.registry.seed("orders-value", W1)  # alike, and in another context
        (finding,) = [found for found in world.examine().diagnosis.findings if found.code == "SRF001"]
        assert finding.source is not None
        assert finding.source.topic == "users"
        assert [e.topic for e in finding.evidence if e.kind == "schema-similarity" and not e.against] == [
            Topic("users")
        ]


class TestTheWholeWay:
    def test_the_repair_is_planned_carried_out_and_verified_in_the_context(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(f":.eu:{SOURCE_SUBJECT}", W2)
        elsewhere = world.client().subjects()
        plan = world.plan()
        registered = [action for action in plan.actions if isinstance(action, Register)]
        assert [(action.subject, action.schema_id) for action in registered] == [(IN_CONTEXT, 2), (IN_CONTEXT, 4)]
        assert {action.subject for action in plan.actions} == set(plan.expects) == {IN_CONTEXT}
        world.apply(plan, tmp_path / "journal")
        events = world.verify(plan)
        assert not [event for event in events if isinstance(event, Problem)]
        assert any(isinstance(event, Confirmed) for event in events)
        assert "SRF001" not in world.findings()
        assert world.client().subjects() == elsewhere

    def test_two_contexts_are_repaired_in_one_plan(self, world: World, tmp_path: Path) -> None:
        world.registry.seed(PHANTOM, KEY)
        world.registry.seed(SOURCE_SUBJECT, W2)
        world.sources = {"users-store": Topic("users")}
        plan = world.plan()
        registered = {(a.subject, a.schema_id, a.schema.text) for a in plan.actions if isinstance(a, Register)}
        assert registered == {(PHANTOM, 2, W2), (IN_CONTEXT, 2, W1)}
        world.apply(plan, tmp_path / "journal")
        assert "SRF001" not in [finding.code for finding in world.examine().diagnosis.findings]
        events = world.verify(plan)
        confirmed = {
            event.subject for event in events if isinstance(event, Confirmed) and "is registered" in event.what
        }
        assert confirmed == {PHANTOM, IN_CONTEXT}
        # The row was written for .eu: read as the default context's id 2, it ends too early.
        assert {event.subject for event in events if isinstance(event, Problem)} == {PHANTOM}

    def test_a_holder_in_another_context_keeps_nothing(self, world: World, tmp_path: Path) -> None:
        """The same content under the same id in the default context: there, the records of `.eu` do not look."""
        schema = Schema(text=W1)
        world.apply(world.plan(), tmp_path / "journal")
        client = world.client()
        for subject in (f":.eu:{SOURCE_SUBJECT}", "another-value"):
            world.purge(subject, 1)
        client.set_mode("twin-value", "IMPORT")
        client.register_with_id("twin-value", schema, 2)
        world.roll_back(tmp_path / "journal")
        assert client.lookup(IN_CONTEXT, schema, deleted=True).schema_id == 2


class TestTheContextsMode:
    def test_a_read_only_context_takes_no_repair_and_is_named(self, world: World) -> None:
        world.client().set_mode(":.eu:", "READONLY")
        with pytest.raises(PlanError, match=r"\(schema id 2: the context \.eu's mode is READONLY \(42205\)\)"):
            world.plan()

    def test_the_subjects_own_mode_goes_before_it(self, world: World) -> None:
        world.client().set_mode(":.eu:", "READONLY")
        world.client().set_mode(IN_CONTEXT, "READWRITE")
        assert [action.kind for action in world.plan().actions].count("register") == 1


@pytest.fixture(params=["", "/contexts/.eu"], ids=["default URL", "the context's URL"])
def reached(request: pytest.FixtureRequest, world: World) -> World:
    """The store of `world`, from the default URL with qualified subjects or from the context's URL with plain ones."""
    world.path = request.param
    return world


def phantom(world: World) -> Subject:
    return Subject(PHANTOM if world.path else IN_CONTEXT)


class TestFromEitherUrl:
    """There the registry gives the schema of an id to no subject that does not hold it (seen on 7.9.9 and 8.3.1)."""

    def test_the_incident_is_diagnosed_and_nothing_else(self, reached: World) -> None:
        found = [finding for finding in reached.examine().diagnosis.findings if finding.severity is not Severity.NOTE]
        assert [(finding.code, finding.subject, finding.severity) for finding in found] == [
            ("SRF001", phantom(reached), Severity.BROKEN)
        ]
        assert '"Error retrieving Avro value schema for id 2"' in found[0].explanation

    def test_it_is_planned_applied_verified_and_rolled_back(self, reached: World, tmp_path: Path) -> None:
        before = reached.registry.dump()
        plan = reached.plan()
        assert not list(preflight(plan, reached.client(), tmp_path / "journal"))
        assert [a.schema_id for a in plan.actions if isinstance(a, Register)] == [2]
        reached.apply(plan, tmp_path / "journal")
        assert {type(event) for event in reached.verify(plan)} == {Confirmed}
        assert not reached.examine().diagnosis.has_findings
        reached.roll_back(tmp_path / "journal")
        assert reached.registry.dump() == before

    def test_a_plain_reader_fails_there_too(self, reached: World) -> None:
        finding = reached.findings(reader=Reader.PLAIN)["SRF001"]
        assert finding.severity is Severity.BROKEN
        assert "even a plain reader asks for the id under this subject. in context .eu" in finding.explanation.lower()
        assert '"Error retrieving Avro value schema for id 2"' in finding.explanation
        assert finding.next.startswith("Do not wipe")
        (known,) = reached.examine(reader=Reader.PLAIN).applications
        assert (known.needs_no_version, known.stores[0].context) == (False, ".eu")
        assert circumstances_of(known_application(known)) == known

    def test_a_dual_subject_reader_reads_and_a_plain_one_fails_after_the_upgrade_too(self, reached: World) -> None:
        assert reached.findings(reader=Reader.DUAL)["SRF001"].severity is Severity.NOTE
        found = reached.findings(reader=Reader.PLAIN, streams_version="2.7")
        assert found["SRF001"].severity is Severity.NOTE
        assert found["SRF004"].severity is Severity.BREAKS_ON_UPGRADE
        assert "a plain reader can read the rows" not in found["SRF004"].explanation

    def test_a_plain_reader_needs_the_ids_under_the_sources_subject(self, reached: World) -> None:
        client = reached.client()
        other = "users-other" if reached.path else ":.eu:users-other"
        source = SOURCE_SUBJECT if reached.path else f":.eu:{SOURCE_SUBJECT}"
        client.register(other, Schema(text=W1))
        reached.purge(source, 1)
        client.register(source, Schema(text=W2))
        finding = reached.findings(reader=Reader.PLAIN, streams_version="2.7")["SRF017"]
        assert finding.severity is Severity.BROKEN
        assert "The subject is in a named context, so a reader that asks for the id there" in finding.explanation

    def test_the_content_under_another_id_is_missing(self, reached: World) -> None:
        """The failing reader never comes to ask by content: the registry does not give it the id."""
        client, subject = reached.client(), phantom(reached)
        client.set_mode(subject, "IMPORT", force=True)
        client.register_with_id(subject, Schema(text=W1), 900)
        client.delete_mode(subject)
        membership = ask_membership(client, subject, SchemaId(2))
        assert (membership.is_missing, membership.error_code, membership.answered_id) == (True, 40403, 900)
        assert ask_membership(client, subject, SchemaId(900)).error_code is None


class TestBodies:
    def test_they_are_decoded_with_the_schemas_of_the_stores_own_context(self, world: World) -> None:
        """Id 2 is another schema in the default context, which this body does not fit."""
        assert "SRF013" not in world.findings()
