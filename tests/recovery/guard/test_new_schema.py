"""A schema about to be registered: what its first record and then a restore bring, and whether its subject takes it."""

from __future__ import annotations

import re

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import Reader, Severity, Supplied
from srfix.recovery.diagnosis.forecast import foretell
from srfix.recovery.forecasts import Certainty
from srfix.recovery.guard.models import topic_of
from srfix.serde import Role, Subject, UsageError
from tests.recovery.guard.offline import AGGREGATE, GLOBAL, assumed, only, supplied, told
from tests.recovery.guard.seen import NEXT, OWN, SOURCE, WRITER, new, record, seen, stage
from tests.recovery.staging import TABLE
from tests.recovery.world import World, world_of

BREAKING = record("User", "userId", "age").replace('["null", "long"], "default": null', '"long"')


class TestTopicOf:
    @pytest.mark.parametrize(
        ("subject", "found"),
        [
            ("users-value", ("users", Role.VALUE)),
            ("a-b-key", ("a-b", Role.KEY)),
            (":.eu:users-value", ("users", Role.VALUE)),
        ],
    )
    def test_it_is_what_stands_before_the_half(self, subject: str, found: tuple[str, Role]) -> None:
        assert topic_of(Subject(subject)) == found

    def test_a_records_name_tells_no_topic(self) -> None:
        message = "--subject com.example.User is not of the form TOPIC-key or TOPIC-value."
        with pytest.raises(UsageError, match=rf"^{re.escape(message)}"):
            topic_of(Subject("com.example.User"))


class TestInStores:
    def test_by_names_alone_it_may_break_the_stores_of_its_topic(self) -> None:
        each = only(foretell(supplied(TABLE), assumed(), schema=new()))
        assert (each.code, each.severity, each.certainty) == ("SRF001", Severity.BREAKS_ON_RESTORE, Certainty.POSSIBLE)
        assert "Nobody registers new.avsc under shop-users-store-changelog-value" in each.explanation
        assert "a restore brings rows that cannot be read (40403)" in each.explanation
        first, second, _last = each.first
        assert first == "Register new.avsc under users-value, but let no producer write with this schema yet."
        assert "--source shop/users-store=users --also SRF001 -o plan.json`, read the plan" in second

    @pytest.mark.parametrize("text", [TABLE, GLOBAL])
    def test_it_is_certain_for_a_store_that_writes_a_schema_of_its_own(self, text: str, world: World) -> None:
        stage(world)
        found = seen(world, text=text, schema=new())
        assert [(each.code, each.certainty) for each in found.foretold] == [
            ("SRF001" if text == TABLE else "SRF006", Certainty.CERTAIN),
            ("SRF012", Certainty.CERTAIN),
        ]
        assert found.foretold[1].severity is Severity.NOTE

    def test_one_that_the_phantom_holds_already_breaks_nothing(self, world: World) -> None:
        stage(world, source=(WRITER, NEXT), phantom=(OWN, NEXT))
        found = seen(world, schema=new())
        assert told(found) == []
        assert not found.is_open

    @pytest.mark.parametrize(("text", "running"), [(TABLE, "2.7"), (GLOBAL, "3.9"), (AGGREGATE, "2.6")])
    def test_a_store_that_does_not_ask_the_phantom_is_left_alone(self, text: str, running: str, world: World) -> None:
        stage(world)
        assert told(seen(world, assumed(running), text, schema=new())) == []

    def test_another_topics_schema_is_nothing_to_it_and_a_plain_reader_does_not_notice(self) -> None:
        assert told(foretell(supplied(TABLE), assumed(), schema=new(subject="orders-value"))) == []
        noted = foretell(supplied(TABLE), assumed(reader=Reader.PLAIN), schema=new())
        assert told(noted) == [("SRF001", "note", "possible")]


class TestUnderItsSubject:
    def test_its_own_subject_may_refuse_it(self, world: World) -> None:
        stage(world, phantom=())
        each = seen(world, assumed("2.7"), schema=new(BREAKING)).foretold[0]
        assert (each.code, each.severity, each.certainty) == (None, Severity.BROKEN, Certainty.CERTAIN)
        assert each.explanation.startswith(
            "The registry will refuse new.avsc under users-value: it is not BACKWARD compatible"
        )

    @pytest.mark.parametrize("status", [403, 404])
    def test_a_registry_that_may_not_be_asked_is_not_told_to_take_it(self, world: World, status: int) -> None:
        stage(world, phantom=())
        world.registry.intercept(Fault(path="/compatibility/subjects/users-value/", action=Answer(status=status)))
        found = seen(world, assumed("2.7"), schema=new(BREAKING))
        (reason,) = [each.reason for each in found.skipped if each.could_hide]
        assert reason == f"the registry does not answer compatibility checks (HTTP {status})"

    def test_what_refuses_it_may_be_an_applications_own_schema(self, world: World) -> None:
        stage(world, phantom=())
        world.registry.configure(SOURCE, {"compatibility": "NONE"})
        own = world.registry.seed(SOURCE, OWN)
        world.registry.configure(SOURCE, {"compatibility": "BACKWARD"})
        each = seen(world, assumed("2.7"), schema=new()).foretold[0]
        assert (each.code, each.severity, each.schema_ids) == ("SRF016", Severity.BROKEN, (own,))
        assert f"a schema that an application has registered there for its own store (id {own})" in each.explanation

    def test_one_that_stands_there_already_is_not_asked_about(self, world: World) -> None:
        stage(world, source=(WRITER, NEXT), phantom=())
        assert {each.code for each in seen(world, assumed("2.7"), schema=new()).foretold} == set()


class TestStoresOfTheCluster:
    def test_without_a_topology_they_are_found_as_a_diagnosis_finds_them(self, world: World) -> None:
        stage(world)
        found = seen(world, schema=new(), handed_over=Supplied())
        each = found.foretold[0]
        assert (each.code, each.application, each.store) == ("SRF001", "shop", "users-store")
        # It may as well be a store without logging, of which nothing is restored.
        assert each.certainty is Certainty.POSSIBLE

    def test_a_store_whose_application_left_no_group_is_not_looked_at(self, world: World) -> None:
        stage(world, committed=0)
        found = seen(world, schema=new(), handed_over=Supplied())
        (skipped,) = [skip for skip in found.skipped if skip.could_hide]
        assert skipped.what == "the subjects of shop-users-store-changelog"
        assert "it may restore from topic users" in skipped.reason
        world.broker.create_topic("orders", 1)
        of_another = seen(world, schema=new(subject="orders-value"), handed_over=Supplied())
        assert not [skip for skip in of_another.skipped if skip.could_hide]

    def test_nothing_is_said_of_a_topic_that_no_store_restores(self, world: World) -> None:
        stage(world)
        world.broker.create_topic("orders", 1)
        found = seen(world, schema=new(subject="orders-value"), handed_over=Supplied())
        assert told(found) == []

    def test_there_is_nothing_to_judge_by_without_cluster_and_registry(self, world: World) -> None:
        message = "guard does not know which stores restore from the topic. Give --topology or --ksqldb."
        with pytest.raises(UsageError, match=rf"^{message}"):
            seen(world, schema=new(), handed_over=Supplied(), has_registry=False)


@pytest.mark.parametrize(("subject", "hiding"), [("usres-value", ["subject usres-value"]), ("users-value", [])])
def test_a_slip_of_the_pen_in_subject_is_said_not_to_have_been_looked_at(
    world: World, subject: str, hiding: list[str]
) -> None:
    stage(world)
    skipped = seen(world, handed_over=Supplied(), schema=new(subject=subject)).skipped
    assert [each.what for each in skipped if each.could_hide] == hiding


@pytest.mark.parametrize(
    ("has_cluster", "has_registry", "missing"),
    [
        (True, True, "no topic usres in the cluster and no subject usres-value in the registry"),
        (True, False, "no topic usres in the cluster"),
        (False, True, "no subject usres-value in the registry"),
    ],
)
def test_it_is_looked_for_only_where_it_was_said_to_be(
    world: World, has_cluster: bool, has_registry: bool, missing: str
) -> None:
    stage(world)
    found = seen(world, schema=new(subject="usres-value"), has_cluster=has_cluster, has_registry=has_registry)
    (reason,) = [each.reason for each in found.skipped if each.could_hide]
    assert reason.startswith(f"srfix found {missing}. Check the name.")


def test_a_registry_or_a_cluster_that_shows_nothing_may_be_anothers(world: World) -> None:
    world.listing()
    (reason,) = [each.reason for each in seen(world, schema=new(), handed_over=Supplied()).skipped if each.could_hide]
    assert reason.startswith("srfix found no subject users-value in the registry. Check --bootstrap-servers and")
    world.registry.seed(SOURCE, WRITER)
    assert not seen(world, schema=new(), handed_over=Supplied()).is_open
    with world_of({}) as other:
        other.listing()
        world.cluster = other.cluster
        (reason,) = [
            each.reason for each in seen(world, schema=new(), handed_over=Supplied()).skipped if each.could_hide
        ]
        assert reason.startswith("srfix found no topic users in the cluster. Check --bootstrap-servers and")
