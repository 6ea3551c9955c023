"""What issue 12 and the generated worlds say was seen wrong, each as a world written by hand, and what must come out of it.

Every world is judged whole as well (`judging`): diagnosed, repaired, verified, diagnosed again and rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from srfix.fixtures.broker.client import STREAMS_METADATA
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Examination, Finding, Severity
from srfix.recovery.repair.planning.plan import make_plan
from srfix.serde import UsageError
from tests.recovery.worlds.cases import (
    CLICK,
    LOGIN,
    USER,
    USER_ROW,
    incident,
    plain_group,
    streams_group,
    subject,
    topic,
)
from tests.recovery.worlds.judging import clock, judge
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import (
    GUID,
    METADATA_FROM_3_3,
    UNFRAMED,
    DiskRow,
    Group,
    Key,
    Kind,
    StoreDisk,
    TrueStore,
    World,
    group_of_streams,
)


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def registry(running: FixtureRegistry) -> FixtureRegistry:
    running.clear()
    return running


def examined(world: World, registry: FixtureRegistry) -> Examination:
    """The diagnosis of a world, whose other properties hold too."""
    assert judge(world, registry).wrong == []
    registry.clear()
    staged = StagedWorld(world, registry)
    with staged.client() as client:
        return staged.examine(staged.survey(client))


def sources(examination: Examination) -> dict[str, str]:
    """Per store that has a source its topic."""
    return {
        f"{facts.store.application}/{facts.store.name}": str(facts.source.topic)
        for facts in examination.facts
        if facts.source is not None
    }


def is_fine(examination: Examination) -> bool:
    diagnosis = examination.diagnosis
    return not diagnosis.has_findings and not diagnosis.is_inconclusive


def of(examination: Examination, code: str) -> list[Finding]:
    return [finding for finding in examination.diagnosis.findings if finding.code == code]


LOGINS = {"logins": topic(LOGIN, LOGIN)}
ONE_SOURCE: dict[str, tuple[World, dict[str, str]]] = {
    "the plain incident": (incident(), {"my-app/users-store": "users"}),
    "a global table beside a stream": (
        incident(
            store="users-global",
            kind=Kind.GLOBAL,
            topics=LOGINS,
            groups={"my-app": streams_group("my-app", {"logins": 2}, is_live=True)},
            subjects={"logins-value": subject(LOGIN)},
        ),
        {"my-app/users-global": "users"},
    ),
    "a plain group with a longer name": (
        incident(groups={"my-app": streams_group("my-app", {"users": 3}), "my-app-users": plain_group({"users": 3})}),
        {"my-app/users-store": "users"},
    ),
    "a topic that is unframed and has no subject": (
        incident(
            store="t",
            topics={"raw": topic(UNFRAMED, UNFRAMED)},
            groups={"my-app": streams_group("my-app", {"users": 3, "raw": 2})},
        ),
        {"my-app/t": "users"},
    ),
    "a group without any sign of Kafka Streams": (
        replace(incident(groups={"my-app": plain_group({"users": 3})}), truth=()),
        {},
    ),
}
"""What stands beside the store, and the sources that are named."""


class TestTheSource:
    """From the verdict alone: evidence/test_hypotheses.py."""

    @pytest.mark.parametrize("case", ONE_SOURCE)
    def test_is_named(self, case: str, registry: FixtureRegistry) -> None:
        world, named = ONE_SOURCE[case]
        assert sources(examined(world, registry)) == named

    def test_that_is_deleted_is_no_other_topic(self, registry: FixtureRegistry) -> None:
        world = incident(
            topics={"clicks": topic(CLICK, CLICK), "logins": topic(LOGIN)},
            groups={"my-app": streams_group("my-app", {"clicks": 2, "logins": 1})},
            subjects={"clicks-value": subject(CLICK), "logins-value": subject(LOGIN)},
        )
        world = replace(world, topics={name: of for name, of in world.topics.items() if name != "users"})
        examination = examined(world, registry)
        assert sources(examination).get("my-app/users-store") in ("users", None)
        assert not any(finding.repairable for finding in of(examination, "SRF001"))

    def test_is_not_known_where_one_that_cannot_be_compared_is_left_and_a_person_alone_names_the_application(
        self, registry: FixtureRegistry
    ) -> None:
        row = subject("KsqlDataSourceSchema(USERID long?)")
        world = incident("shop", "t", groups={}, topics={"audits": topic()}, phantom=row)
        truth = replace(world.truth[0], topic="audits")
        assert sources(examined(replace(world, application="shop", truth=(truth,)), registry)) == {}

    @pytest.mark.parametrize("row", ["KsqlDataSourceSchema(USERID long?)", "Row(userId long, name string)"])
    def test_is_not_known_where_one_that_cannot_be_compared_is_left_and_the_application_has_committed_nothing(
        self, row: str, registry: FixtureRegistry
    ) -> None:
        alive = streams_group("shop", {}, is_live=True)
        world = incident("shop", "t", groups={"shop": alive}, topics={"audits": topic(None)}, phantom=subject(row))
        truth = replace(world.truth[0], topic="audits")
        assert sources(examined(replace(world, truth=(truth,)), registry)) == {}


def test_the_stores_own_schema_may_be_that_of_an_application_with_global_tables_alone(
    registry: FixtureRegistry,
) -> None:
    """Which commits nothing; else it would show that 2.7 or later runs, on which nothing is broken."""
    other = Group(client_ids=("other-1-StreamThread-1-consumer",), assignor="stream")
    world = incident(subjects={"users-value": subject(USER, USER_ROW)})
    examination = examined(replace(world, groups={**world.groups, "other": other}), registry)
    assert [finding.severity for finding in of(examination, "SRF001")] == [Severity.BROKEN]


def test_the_stores_own_schema_may_be_that_of_an_application_of_which_a_subject_alone_is_left(
    registry: FixtureRegistry,
) -> None:
    left = {"users-value": subject(USER, USER_ROW), "other-t-changelog-value": subject(USER_ROW)}
    examination = examined(incident(subjects=left), registry)
    assert [finding.severity for finding in of(examination, "SRF001")] == [Severity.BROKEN]


def test_of_two_applications_that_a_name_allows_each_is_judged_by_what_it_runs(registry: FixtureRegistry) -> None:
    """Seen wrong: a note of `shop`, which runs 3.3 or later, hid what is broken if the store is that of `shop-eu`."""
    older, newer = (
        group_of_streams(name, {("users", 0): 3}, metadata, is_live=True)
        for name, metadata in (("shop-eu", STREAMS_METADATA), ("shop", METADATA_FROM_3_3))
    )
    examination = examined(incident("shop-eu", "t", groups={"shop": newer, "shop-eu": older}), registry)
    assert [finding.severity for finding in of(examination, "SRF001")] == [Severity.BROKEN]


class TestAStoreThatRestoresFromNowhere:
    """Every operator's name: diagnosis/test_candidates.py."""

    def test_is_never_broken_after_an_application_reset(self, registry: FixtureRegistry) -> None:
        world = incident(
            users=topic(USER, USER, policy="delete"), groups={"my-app": streams_group("my-app", {"users": 2})}
        )
        truth = TrueStore("my-app", "KSTREAM-AGGREGATE-STATE-STORE-0000000003", Kind.AGGREGATE)
        subjects = {"users-value": subject(USER), f"{truth.changelog}-value": subject(USER_ROW)}
        examination = examined(replace(world, truth=(truth,), subjects=subjects), registry)
        assert sources(examination) == {}
        assert not any(finding.severity is Severity.BROKEN for finding in examination.diagnosis.findings)
        assert not any("cleanup.policy" in finding.next for finding in examination.diagnosis.findings)

    def test_is_its_topologys_though_another_application_has_the_better_signs(self, registry: FixtureRegistry) -> None:
        """Seen wrong: `my-app` runs, and its store could be called users-KSTREAM-AGGREGATE-STATE-STORE-0000000003."""
        counts = "Counts(userId long, hits long)"
        truth = TrueStore("my-app-users", "KSTREAM-AGGREGATE-STATE-STORE-0000000003", Kind.UNLOGGED)
        groups = {
            "my-app": group_of_streams("my-app", {("users", 0): 2}, METADATA_FROM_3_3, is_live=True),
            "my-app-users": group_of_streams("my-app-users", {("users", 0): 2}, STREAMS_METADATA, is_live=False),
        }
        world = incident(users=topic(USER, USER), groups=groups)
        subjects = {"users-value": subject(USER), f"{truth.changelog}-value": subject(counts)}
        world = replace(world, truth=(truth,), subjects=subjects, topology_of=("my-app-users",))
        assert not any(finding.severity is Severity.BROKEN for finding in examined(world, registry).diagnosis.findings)

    def test_has_had_a_put_where_a_record_names_its_schema_by_guid(self, registry: FixtureRegistry) -> None:
        """On 3.3 or later, which would have registered the store's schema under the source's subject."""
        groups = {"my-app": group_of_streams("my-app", {("users", 0): 1}, METADATA_FROM_3_3, is_live=False)}
        world = incident(store="cache", users=topic(GUID), groups=groups)
        truth = TrueStore("my-app", "cache", Kind.UNLOGGED, fed_by="users")
        examination = examined(replace(world, truth=(truth,), renewed=("my-app",)), registry)
        assert [finding.code for finding in examination.diagnosis.findings] == ["SRF007"]

    @pytest.mark.parametrize("is_running", [True, False])
    def test_is_that_of_a_transient_query(self, is_running: bool, registry: FixtureRegistry) -> None:
        application = "_confluent-ksql-default_transient_transient_USERS_4711_1592300000000"
        world = incident(application=application, store="KafkaTopic_Right-Reduce", kind=Kind.TRANSIENT)
        truth = replace(world.truth[0], topic=None)
        groups = world.groups if is_running else {}
        examination = examined(replace(world, truth=(truth,), groups=groups), registry)
        assert not any(finding.severity is Severity.BROKEN for finding in examination.diagnosis.findings)


def test_a_global_table_on_streams_2_7_whose_ids_are_not_under_the_sources_subject_has_no_clean_bill(
    registry: FixtureRegistry,
) -> None:
    world = incident(
        store="users-global",
        kind=Kind.GLOBAL,
        has_source_subject=False,
        groups={"my-app": Group(client_ids=("my-app-1-StreamThread-1-consumer",), assignor="stream")},
        subjects={"User": subject(USER)},
    )
    assert not is_fine(examined(replace(world, is_upgraded=True), registry))


def test_a_store_that_was_not_looked_into_is_left_out_of_the_plan_by_name(registry: FixtureRegistry) -> None:
    """What a verification makes of an omission: repair/verify/test_verify.py."""
    order = "Order(orderId long, total long)"
    world = incident(topics={"orders": topic(order)}, subjects={"orders-value": subject(order)})
    unseen = TrueStore("ledger", "g", Kind.GLOBAL, "orders")
    subjects = {**world.subjects, f"{unseen.changelog}-value": subject("Row(total long)")}
    staged = StagedWorld(replace(world, truth=(*world.truth, unseen), subjects=subjects), registry)
    with staged.client() as client:
        survey = staged.survey(client)
        plan = make_plan(staged.examine(survey), survey, clock=clock)
    assert {finding.store for finding in plan.findings} == {"users-store"}
    assert [(omission.subject, omission.is_unseen) for omission in plan.omissions] == [
        (f"{unseen.changelog}-value", True)
    ]


class TestTheRegistry:
    def test_holds_a_mirror_which_is_no_second_finding(self, registry: FixtureRegistry) -> None:
        examination = examined(replace(incident(), mirror="dr"), registry)
        assert len(of(examination, "SRF001")) == 1

    def test_holds_a_mirror_that_lacks_the_schemas_which_the_rows_on_disk_carry(
        self, registry: FixtureRegistry
    ) -> None:
        disk = StoreDisk({0: (DiskRow(Key(4), "Row(userId long)", 3),)})
        world = replace(incident(), mirror="dr", state_of=("my-app",), disk={"my-app/users-store": disk})
        examination = examined(world, registry)
        assert of(examination, "SRF014") == []
        (omission,) = [skipped for skipped in examination.diagnosis.skipped if "context . knows" in skipped.reason]
        assert omission.could_hide, "if the application uses the mirror, the schema is lost there"

    def test_knows_no_store_of_an_application_that_is_named_and_that_is_no_clean_bill(
        self, registry: FixtureRegistry
    ) -> None:
        staged = StagedWorld(replace(incident(), application="my-other-app"), registry)
        with staged.client() as client, suppress(UsageError):
            assert not is_fine(staged.examine(staged.survey(client)))

    def test_keeps_a_subjects_own_normalize_without_a_level(self, registry: FixtureRegistry) -> None:
        phantom = replace(subject("Row(userId long)"), normalize=True)
        assert judge(incident(phantom=phantom), registry).wrong == []


def codes(world: World, registry: FixtureRegistry) -> set[str]:
    staged = StagedWorld(world, registry)
    with staged.client() as client:
        return {finding.code for finding in staged.examine(staged.survey(client)).diagnosis.findings}


class TestPollution:
    def test_is_not_the_producers_only_version_where_the_records_ids_are_lost(self, registry: FixtureRegistry) -> None:
        world = incident(users=topic("Lost2"), phantom=subject(USER))
        assert "SRF010" not in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []

    def test_shows_no_put_where_the_store_writes_under_the_producers_next_schema(
        self, registry: FixtureRegistry
    ) -> None:
        """SRF001 was called a note, as on 2.7: ksqlDB reads what ksqlDB wrote."""
        following = "KsqlDataSourceSchema(USERID long?, NAME string?, NOTE string?)"
        world = incident(
            rows=(USER_ROW, USER_ROW),
            phantom=subject(following),
            subjects={"users-value": subject(USER_ROW, following)},
        )
        disk = StoreDisk({0: (DiskRow(Key(0), following, 0), DiskRow(Key(1), following, 1))})
        examination = examined(replace(world, state_of=("my-app",), disk={"my-app/users-store": disk}), registry)
        assert [finding.severity for finding in of(examination, "SRF002")] == [Severity.BREAKS_ON_RESTORE]


class TestLostRows:
    @pytest.mark.parametrize("policy", ["compact", "delete"])
    def test_a_wipe_is_advised_only_where_the_topic_keeps_every_row(
        self, registry: FixtureRegistry, policy: str
    ) -> None:
        rows = (DiskRow(Key(0), "LostRow", 0), DiskRow(Key(5), USER_ROW, 5))
        world = incident(users=replace(topic(USER), policy=policy))
        world = replace(
            world, state_of=("my-app",), disk={"my-app/users-store": StoreDisk({0: rows[: 1 + (policy == "delete")]})}
        )
        assert "SRF014" in codes(world, registry)
        registry.clear()
        assert judge(world, registry).wrong == []
