"""Evidence, census and checks put together: what is found, what is not, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import c_void_p
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from parts.state_directory import write_application, write_task
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import load_librdkafka
from srfix.recovery import (
    Census,
    CensusRequest,
    CheckContext,
    Cluster,
    Finding,
    LocalCensus,
    diagnosis_document,
)
from srfix.recovery.checks import srf001
from srfix.recovery.facts.stores import StoreFacts
from srfix.serde import AccessDeniedError, ClusterError, Role, Topic, UsageError
from srfix.serde.wire import frame_guid, schema_id_header
from tests.recovery.checks.staged import of_topology
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, graph
from tests.recovery.world import World, value, world_of

GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")


@pytest.fixture
def world() -> Iterator[World]:
    """`users` with one live row under W1 (id 1), a phantom subject with R (id 2), and the group."""
    with world_of({"users": 1, "orders": 1}) as made:
        made.registry.seed(SOURCE_SUBJECT, W1)
        made.registry.seed(PHANTOM, R)
        made.live(("u1", value(1)))
        yield made


class TestTheSource:
    def test_undecided_evidence_gives_a_finding_that_asks_for_it(self, world: World) -> None:
        world.registry.seed("orders-value", W1)
        world.commit("shop", orders=0)
        finding = world.findings()["SRF001"]
        assert finding.source is None
        assert not finding.repairable
        assert finding.schema_ids == ()
        assert finding.next == (
            "Name the topic: `srfix diagnose --source shop/users-store=users` or `srfix diagnose --source "
            "shop/users-store=orders`."
        )
        assert [(each.application, each.store, each.topic) for each in finding.considered] == [
            ("shop", "users-store", "users"),
            ("shop", "users-store", "orders"),
        ]
        assert "restores from one of orders, users" in finding.explanation
        assert world.plan().actions == ()

    def test_topics_that_are_alike_are_checked_and_told_as_one(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(6):
            world.broker.create_topic(f"copy{number}", 1)
            world.registry.seed(f"copy{number}-value", W1)
            world.put(f"copy{number}", ("u1", value(1)))
            world.commit("shop", **{f"copy{number}": 1})
        checked: list[StoreFacts] = []
        find = srf001.findings_of

        def noting(code: str, facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
            checked.append(facts)
            return find(code, facts, context)

        monkeypatch.setattr(srf001, "findings_of", noting)
        diagnosis = world.examine().diagnosis
        (finding,) = (each for each in diagnosis.findings if each.code == "SRF001")
        assert (len(finding.considered), len(checked)) == (7, 1)
        document = diagnosis_document(diagnosis, srfix_version="0", generated_at="")
        (told,) = (each for each in cast("Any", document["findings"]) if each["code"] == "SRF001")
        assert [each.get("topics", each["topic"]) for each in told["hypotheses"]] == [
            "users",
            [f"copy{n}" for n in range(6)],
        ]

    def test_a_source_that_is_named_resolves_it(self, world: World) -> None:
        world.registry.seed("orders-value", W1)
        world.commit("shop", orders=0)
        world.sources = {"users-store": "users"}  # type: ignore[dict-item]
        finding = world.findings()["SRF001"]
        assert finding.source is not None
        assert finding.source.topic == "users"
        assert finding.repairable

    def test_a_source_that_does_not_exist_is_refused(self, world: World) -> None:
        with pytest.raises(UsageError, match=r"^--source users-store=nowhere: there is no topic 'nowhere'"):
            world.examine(survey=world.survey(**{"users-store": "nowhere"}))

    def test_candidates_that_cannot_be_judged_are_no_clean_bill_of_health(self, world: World) -> None:
        for topic in ("users", "orders"):
            world.put(topic, ("u1", value(77)))
        world.registry.seed("orders-value", W1)
        world.registry.seed(PHANTOM, W1)
        world.commit("shop", users=2, orders=1)
        diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.is_inconclusive
        assert "Name the topic: `srfix diagnose --source shop/users-store=users` or" in diagnosis.skipped[-1].reason

    def test_candidates_that_are_all_fine_are_healthy(self, world: World) -> None:
        world.registry.seed("orders-value", W1)
        world.registry.seed(PHANTOM, W1)
        world.commit("shop", orders=0)
        diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()
        assert not diagnosis.is_inconclusive

    def test_a_topic_of_the_same_fields_that_nobody_commits_is_no_rival(self, world: World) -> None:
        world.registry.seed("orders-value", W1.replace("User", "Order"))
        finding = world.findings()["SRF001"]
        assert finding.source is not None
        assert finding.source.topic == "users"
        assert finding.repairable

    def test_but_no_clean_bill_of_health_is_given_if_a_global_table_of_it_could_not_be_read(self) -> None:
        with world_of({"users": 1, "orders": 1}) as world:
            for subject in (SOURCE_SUBJECT, "shop-t-changelog-value"):
                world.registry.seed(subject, W1.replace("User", "KsqlDataSourceSchema"))
            other = world.registry.seed("orders-value", W1.replace("User", "Order"))
            world.live(("u1", value(1)))
            assert not world.examine().diagnosis.is_inconclusive
            world.put("orders", ("o1", value(other)))
            diagnosis = world.examine().diagnosis
        assert not diagnosis.has_findings
        assert diagnosis.is_inconclusive
        assert "`srfix diagnose --source shop/t=orders`" in diagnosis.skipped[-1].reason

    def test_a_store_without_any_evidence_is_no_clean_bill_of_health(self) -> None:
        with world_of({"orders": 1}) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            diagnosis = world.examine(application="shop").diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.is_inconclusive
        assert "Name the topic: `srfix diagnose --source shop/users-store=TOPIC`." in diagnosis.skipped[-1].reason


class TestAStoreThatLeftNoSchema:
    """From Kafka Streams 2.7 on, and before its first flush: no schema and no row tells which topic it is made from."""

    @pytest.fixture
    def seen(self, tmp_path: Path) -> Iterator[World]:
        with world_of({"users": 1, "orders": 1}) as world:
            for topic, name in (("users", "User"), ("orders", "Order")):
                world.put(topic, ("a", value(world.registry.seed(f"{topic}-value", W1.replace("User", name)))))
            world.commit("shop", users=1, orders=1)
            write_task(write_application(tmp_path, "shop"), "0_0", "t", {}, checkpoint=None)
            world.hand_over(tmp_path)
            yield world

    def test_it_is_fine_if_it_is_as_a_table_of_each_topic_that_its_group_reads(self, seen: World) -> None:
        diagnosis = seen.examine(streams_version="3.7").diagnosis
        assert (diagnosis.findings, diagnosis.is_inconclusive) == ((), False)

    def test_it_is_open_if_it_is_not_of_one_of_them(self, seen: World) -> None:
        seen.purge("orders-value")
        assert seen.examine(streams_version="3.7").diagnosis.is_inconclusive

    def test_which_version_runs_leaves_it_open_too(self, seen: World) -> None:
        assert seen.examine().diagnosis.is_inconclusive


class TestTheWholeCluster:
    def test_an_empty_one_is_healthy(self) -> None:
        with world_of({}) as world:
            diagnosis = world.examine().diagnosis
            world.registry.seed("users-value", W1)
            assert world.examine().diagnosis.is_inconclusive  # it may be another cluster, or all topics are hidden
        assert (diagnosis.findings, diagnosis.examined) == ((), ())
        assert not diagnosis.is_inconclusive

    def test_several_stores_and_applications_are_examined(self, world: World) -> None:
        world.registry.seed("orders-value", W2)
        world.registry.seed("tills-orders-changelog-value", R.replace("USERID", "TIER").replace("long", "string"))
        world.put("orders", ("o1", value(3, b"\x02\x00")))
        world.commit("tills", orders=1)
        found = world.examine().diagnosis
        assert [(f.application, f.store, f.code, [note.code for note in f.notes]) for f in found.findings] == [
            ("shop", "users-store", "SRF001", ["SRF012"]),
            ("tills", "orders", "SRF001", ["SRF012"]),
        ]
        assert all(note.application == f.application for f in found.findings for note in f.notes)
        assert found.examined == ("shop/users-store", "tills/orders")

    def test_a_topic_is_counted_once_for_groups_that_have_committed_the_same(self, world: World) -> None:
        counted: list[CensusRequest] = []

        class Counting:
            def count(self, request: CensusRequest, *, on_progress: object = None) -> Census:
                counted.append(request)
                return world.engine.count(request)

        world.registry.seed("shop-other-changelog-value", R)
        world.registry.seed("tills-users-store-changelog-value", R)
        world.commit("tills", users=1)
        world.examine(engine=Counting())
        assert [(request.topic, request.committed) for request in counted] == [("users", {0: 1})]

    def test_a_name_that_allows_another_application_is_said_to(self, world: World) -> None:
        world.registry.seed("shop-eu-kept-changelog-value", W1)
        world.consume("shop-eu", orders=0)
        finding = world.findings()["SRF003"]
        assert (finding.application, finding.store) == ("shop", "eu-kept")  # which alone is an application
        assert finding.other_splits == ("shop-eu/kept",)


class TestAnApplicationThatIsNamed:
    def test_the_subjects_of_a_longer_application_are_not_taken_for_its_own(self, world: World) -> None:
        world.registry.seed("shop-eu-kept-changelog-value", R.replace("USERID", "TIER").replace("long", "string"))
        world.registry.seed("orders-value", W2.replace("userId", "orderId"))
        world.commit("shop-eu", orders=0)
        diagnosis = world.examine(application="shop").diagnosis
        assert "shop/eu-kept" not in diagnosis.examined
        (skipped,) = [s for s in diagnosis.skipped if s.what == "the subjects of shop-eu-kept-changelog"]
        assert skipped.could_hide
        assert "To examine them there: `srfix diagnose --application shop-eu`" in skipped.reason

    def test_those_that_a_plain_consumer_groups_name_begins_are_its_own(self, world: World) -> None:
        world.registry.seed("shop-users-kept-changelog-value", R)
        world.consume("shop-users", users=0)
        assert "shop/users-kept" in world.examine(application="shop").diagnosis.examined


class TestASourceThatIsGone:
    def test_beside_a_topic_that_cannot_be_compared_it_is_no_clean_bill_of_health(self) -> None:
        """Seen by a user: `users` was deleted, the group reads an empty topic, and nothing was said to be wrong."""
        with world_of({"other": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W2)
            world.registry.seed("shop-t-changelog-value", R)
            world.commit("shop", other=0)
            diagnosis = world.examine().diagnosis
        assert diagnosis.is_inconclusive
        (reason,) = [s.reason for s in diagnosis.skipped if s.could_hide]
        assert "users (gone)" in reason or "but this topic is gone from this cluster" in reason


class TestGarbage:
    """What does not decode is counted and said; it never hides, and is never taken for, something else."""

    @pytest.mark.parametrize(
        "body", [b'{"id":1}', b"\xff\xfe\x9c", b"", b"\x00\x00\x01"], ids=["json", "bytes", "empty", "short"]
    )
    def test_unframed_values_beside_the_incident_do_not_hide_it(self, world: World, body: bytes) -> None:
        world.put("users", ("u2", body))
        world.commit("shop", users=2)
        diagnosis = world.examine().diagnosis
        assert {f.code for f in diagnosis.findings} == {"SRF001", "SRF013"}
        assert [s.what for s in diagnosis.skipped if s.could_hide] == []

    def test_they_are_none_for_a_store_without_a_phantom_subject_either(self, world: World) -> None:
        world.put("orders", ("o1", b'{"id":1}'))
        world.commit("tills", orders=1)
        diagnosis = world.examine(application="tills", store="orders-store").diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.is_inconclusive

    @pytest.mark.parametrize("where", ["payload", "header"])
    def test_values_that_name_their_schema_by_guid_are_no_clean_bill_of_health(self, world: World, where: str) -> None:
        framed = frame_guid(GUID, b"\x02")
        in_header = where == "header"
        world.broker.produce(
            [
                ProducedRecord(
                    topic="orders",
                    partition=0,
                    key=b"o1",
                    value=b"\x02" if in_header else framed,
                    headers=((schema_id_header(Role.VALUE), frame_guid(GUID)),) if in_header else (),
                )
            ]
        )
        world.commit("tills", orders=1)
        diagnosis = world.examine(application="tills", store="orders-store").diagnosis
        assert diagnosis.findings == ()
        assert diagnosis.is_inconclusive
        assert "1 value of topic orders, partition 0" in [s.what for s in diagnosis.skipped]

    def test_a_partition_that_was_not_read_to_its_end_is_no_clean_bill_of_health(self, world: World) -> None:
        class Stopping:
            def count(self, request: CensusRequest, *, on_progress: object = None) -> Census:
                census = world.engine.count(request)
                stopped = [replace(p, stopped_early="an open transaction") for p in census.partitions]
                return replace(census, partitions=tuple(stopped))

        world.registry.seed(PHANTOM, W1)
        diagnosis = world.examine(engine=Stopping()).diagnosis
        assert [f.code for f in diagnosis.findings] == ["SRF003"]
        assert diagnosis.is_inconclusive


class TestWhatMayNotBeAsked:
    """On a real broker with ACLs: tests/stack/test_denied_by_acls.py."""

    @pytest.fixture(autouse=True)
    def _another_application(self, world: World) -> None:
        world.registry.seed("desk-store-changelog-value", R)
        world.registry.seed("orders-value", W1)
        world.put("orders", ("o1", value(1)))
        world.commit("desk", orders=1)

    def test_a_group_leaves_its_own_stores_unexamined(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        ask = Cluster.committed_by

        def committed_by(cluster: Cluster, groups: Iterable[str], partitions: Iterable[tuple[str, int]]) -> object:
            refused = AccessDeniedError("Ask for Describe on group 'desk'.", acl="Describe on group 'desk'")
            return {**ask(cluster, groups, partitions), "desk": refused}

        monkeypatch.setattr(Cluster, "committed_by", committed_by)
        world.listing("desk", "shop")
        diagnosis = world.examine().diagnosis
        assert [finding.application for finding in diagnosis.findings if finding.code == "SRF001"] == ["shop"]
        (skipped,) = [skipped for skipped in diagnosis.skipped if skipped.could_hide]
        assert skipped.what == "store store of application desk"
        assert skipped.reason.startswith("Ask for Describe on group 'desk'.")
        assert world.examine(application="desk").diagnosis.is_inconclusive
        world.listing("shop")  # it lists only groups that the user may describe
        (unlisted,) = [each for each in world.examine().diagnosis.skipped if "desk-store" in each.what]
        assert "srfix could not ask for the offsets of group desk, which may be its group" in unlisted.reason

    @pytest.mark.parametrize("sources", [{}, {"store": Topic("orders")}], ids=["undecided", "decided"])
    def test_a_topic_leaves_the_stores_on_it_unexamined(
        self, world: World, monkeypatch: pytest.MonkeyPatch, sources: dict[str, Topic]
    ) -> None:
        world.sources = sources
        world.commit("desk", users=0)  # so that nothing decides but a name
        world.listing("desk", "shop")
        count = LocalCensus.count

        def denied(engine: LocalCensus, request: CensusRequest, **how: object) -> Census:
            if request.topic == "orders":
                raise AccessDeniedError("Ask for Read on topic 'orders'.", acl="Read on topic 'orders'")
            return count(engine, request, **how)  # type: ignore[arg-type]

        monkeypatch.setattr(LocalCensus, "count", denied)
        diagnosis = world.examine().diagnosis
        assert "shop" in [finding.application for finding in diagnosis.findings if finding.code == "SRF001"]
        reasons = [skipped.reason for skipped in diagnosis.skipped if skipped.could_hide]
        assert any(reason.startswith("Ask for Read on topic 'orders'.") for reason in reasons)

    def test_a_topic_without_a_leader_leaves_the_stores_on_it_unexamined(self, world: World) -> None:
        library = load_librdkafka()
        assert library is not None
        assert world.broker._mock is not None
        library.rd_kafka_mock_partition_set_leader(c_void_p(world.broker._mock._cluster), b"orders", 0, -1)
        servers = {"bootstrap.servers": world.broker.bootstrap_servers}
        world.cluster = world.stack.enter_context(Cluster(servers, timeout_s=0.5))
        world.engine = LocalCensus(servers, timeout_s=0.5)
        diagnosis = world.examine().diagnosis
        assert [finding.application for finding in diagnosis.findings if finding.code == "SRF001"] == ["shop"]
        (skipped,) = [skipped for skipped in diagnosis.skipped if "'orders' has no leader" in skipped.reason]
        assert (skipped.what, skipped.could_hide) == ("store store of application desk", True)
        world.broker.close()
        with pytest.raises(ClusterError):
            world.examine()


class TestWhatTheRegistryIsAsked:
    def test_of_a_subject_that_is_not_listed_and_that_no_finding_needs_nothing(self, world: World) -> None:
        world.put("users", (value(1), value(1)))  # the keys carry an id, the key serde asks no registry
        world.commit("shop", users=2)
        world.registry.forget_requests()
        assert "SRF001" in world.findings()
        asked = [seen.path for seen in world.registry.requests]
        assert not any(PHANTOM.removesuffix("value") + "key" in path for path in asked)
        assert any(PHANTOM in path for path in asked)


class TestAnApplicationWhoseStoresHaveChangelogs:
    TOPOLOGY = graph("KSTREAM-SOURCE-0000000000", "KSTREAM-REDUCE-0000000001", stores="latest")

    @pytest.mark.parametrize(("topics", "is_healthy"), [({"shop-latest-changelog": 1}, True), ({}, False)])
    def test_it_is_healthy_if_the_topology_names_no_other(self, topics: dict[str, int], is_healthy: bool) -> None:
        with world_of({"users": 1, **topics}) as world:
            world.commit("shop", users=0)
            survey = world.survey()
            survey.supplied = of_topology(self.TOPOLOGY)
            found = world.examine(survey=survey, application="shop").diagnosis
        assert (found.findings, found.is_inconclusive) == ((), not is_healthy)

    def test_one_that_nothing_but_the_topology_bears_is_refused(self) -> None:
        printed = self.TOPOLOGY.replace("KSTREAM-REDUCE", "KTABLE-SOURCE")
        with world_of({"users": 1}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.live(("a", value(1)))
            world.listing("shop")
            survey = world.survey()
            survey.supplied = of_topology(printed, "shopp")
            with pytest.raises(UsageError, match=r"^There is no application 'shopp': .* Did you mean 'shop'\?"):
                world.examine(survey=survey, application="shopp")

    def test_one_with_global_stores_alone_is_not_for_it_has_no_group(self) -> None:
        with world_of({"users": 1}) as world:
            world.put("users", ("a", value(99)))
            survey = world.survey()
            survey.supplied = of_topology(
                graph("KSTREAM-SOURCE-0000000000", "KTABLE-SOURCE-0000000001", stores="g", is_global=True), "maps"
            )
            found = world.examine(survey=survey, application="maps").diagnosis
        assert {finding.code for finding in found.findings} == {"SRF011"}
