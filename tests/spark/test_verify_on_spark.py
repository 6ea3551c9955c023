"""Every live row, read on Spark: the incident before and after its repair, and what one row per id and partition misses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Census, CensusRequest, Cluster, Plan, SparkCensus, verify
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.recovery.repair.verify.on_spark import EveryRowOnSpark
from srfix.serde import RegistryClient, RegistryError, RetryPolicy, Role, Subject, Topic, Window, WindowKind
from srfix.serde.subjects.names import subject_for
from srfix.serde.windowed import join
from srfix.serde.wire import SchemaId, frame_id
from tests.recovery.staging import APPLICATION, PHANTOM, STORE, W1, W2, R, clock, plan_of

ONE = frame_id(1, b"\x02")
TWO = frame_id(2, b"\x02\x00")
TRUNCATED = frame_id(1, b"")


@dataclass(frozen=True)
class Incident:
    """A topic whose ids the phantom subject lacks."""

    spark: SparkSession
    broker: KraftBroker
    registry: FixtureRegistry
    client: RegistryClient
    topic: Topic

    @property
    def config(self) -> dict[str, str]:
        return {"bootstrap.servers": self.broker.bootstrap_servers}

    def put(self, partition: int, *rows: tuple[bytes | None, bytes | None]) -> None:
        self.broker.produce(
            ProducedRecord(topic=self.topic, partition=partition, key=key, value=value) for key, value in rows
        )

    def plan(self) -> Plan:
        plan = plan_of(self.client)
        return replace(plan, findings=(replace(plan.findings[0], source_topic=self.topic),))

    def verify(self, plan: Plan) -> list[Event]:
        """With a client that remembers nothing."""
        with Cluster(self.config) as cluster, RegistryClient(self.registry.url) as fresh:
            return list(
                verify(
                    plan,
                    cluster,
                    SparkCensus(self.spark, self.config),
                    fresh,
                    every_row=EveryRowOnSpark(self.spark, self.config),
                )
            )

    def census(self) -> Census:
        request = CensusRequest(topic=self.topic, partitions=(0, 1), committed=None)
        return SparkCensus(self.spark, self.config).count(request)

    def every_row(self, finding: PlannedFinding, census: Census, *, deadline_s: float | None = None) -> list[Event]:
        rows = EveryRowOnSpark(self.spark, self.config)
        return list(rows.events(finding, census, self.client, deadline_s=deadline_s))

    def of_values(self) -> PlannedFinding:
        return PlannedFinding(
            code="SRF001",
            application=APPLICATION,
            store=STORE,
            role=Role.VALUE,
            subject=PHANTOM,
            source_topic=self.topic,
            schema_ids=(SchemaId(1),),
        )


@pytest.fixture
def incident(spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry) -> Iterator[Incident]:
    """W1 and W2 under the source's subject, R alone under the phantom one; rows of both, live and not."""
    topic = Topic(f"users-{uuid4()}")
    broker.create_topic(topic, 2)
    for text in (W1, W2):
        registry.seed(subject_for(topic, Role.VALUE), text)
    registry.seed(PHANTOM, R)
    with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
        made = Incident(spark, broker, registry, client, topic)
        made.put(0, (b"a", ONE), (b"a", TWO), (b"b", ONE), (b"c", ONE), (b"c", None), (None, ONE), (b"late", ONE))
        made.put(1, (b"a", ONE), (b"d", TWO))
        yield made


class TestEveryRowOnSpark:
    @pytest.mark.smoke
    def test_the_incident_fails_before_its_repair_and_holds_after_it(self, incident: Incident, tmp_path: Path) -> None:
        incident.broker.commit(APPLICATION, {(incident.topic, 0): 6, (incident.topic, 1): 2})
        plan, topic = incident.plan(), incident.topic
        source_subject = subject_for(topic, Role.VALUE)
        before, dual_before = incident.verify(plan)[-2:]
        assert isinstance(before, Problem)
        assert before.what.startswith(
            f"4 of 4 live rows of {topic} cannot be read under this subject alone, on Spark: 4 NOT_UNDER_SUBJECT; the first "
            "ones at partition 0 offset 1, partition 1 offset 0. The first one: "
        )
        assert PHANTOM in before.what.partition("The first one: ")[2]
        read_by_dual = (
            f"all 4 live rows of {topic} can be read under this subject first, then {source_subject}, on Spark"
        )
        assert dual_before == Confirmed(subject=PHANTOM, what=read_by_dual)

        list(apply_plan(plan, incident.client, tmp_path / "journal", clock=clock))
        events = incident.verify(plan)
        assert all(isinstance(event, Confirmed) for event in events)
        assert [event.what for event in events[-2:]] == [
            f"all 4 live rows of {topic} can be read under this subject alone, on Spark",
            read_by_dual,
        ]

    def test_a_broken_row_that_is_not_the_newest_of_its_id_is_found(self, incident: Incident) -> None:
        for text in (W1, W2):
            incident.registry.seed(PHANTOM, text)
        incident.put(1, (b"e", TRUNCATED), (b"f", b"{}"), (b"g", frame_id(99, b"")), (b"h", ONE), (b"g2", TRUNCATED))
        one, dual = incident.every_row(incident.of_values(), incident.census())
        for event, how in ((one, "under this subject alone"), (dual, "under this subject first, then ")):
            assert isinstance(event, Problem)
            said, _, places = event.what.partition("; the first ones at ")
            assert said.startswith(f"4 of 10 live rows of {incident.topic} cannot be read {how}")
            assert said.endswith(": 2 TRUNCATED, 1 BAD_MAGIC, 1 UNKNOWN_ID")
            assert places.startswith(
                "partition 1 offset 2, partition 1 offset 3, partition 1 offset 4. The first one: "
            )

    def test_windowed_keys_are_read_without_their_window(self, incident: Incident) -> None:
        phantom = Subject(PHANTOM.removesuffix("-value") + "-key")
        key_id = incident.registry.seed(phantom, W1)
        topic = Topic(f"windowed-{uuid4()}")
        incident.broker.create_topic(topic, 2)
        windowed = replace(incident, topic=topic)
        for partition, number in ((0, b"\x02"), (1, b"\x04")):
            windowed.put(
                partition, (join(frame_id(key_id, number), Window(1_592_265_600_000), WindowKind.TIME), b"plain")
            )
        finding = replace(incident.of_values(), role=Role.KEY, subject=phantom, source_topic=topic)
        events = list(
            EveryRowOnSpark(incident.spark, incident.config).events(
                finding, windowed.census(), incident.client, window=WindowKind.TIME
            )
        )
        assert [event.what.partition(" can be read ")[0] for event in events] == [f"all 2 live rows of {topic}"] * 2

    def test_what_the_census_did_not_read_is_left_out_and_a_deadline_is_said(self, incident: Incident) -> None:
        finding, whole = incident.of_values(), incident.census()
        partial = replace(whole, partitions=tuple(replace(p, stopped_early="no time") for p in whole.partitions))
        assert incident.every_row(finding, partial) == [
            NotLookedAt(subject=PHANTOM, what=f"every live row of {incident.topic}: Spark found none to read")
        ]
        (unseen,) = incident.every_row(finding, whole, deadline_s=1e-9)
        assert unseen == NotLookedAt(
            subject=PHANTOM,
            what=f"every live row of {incident.topic}: the deadline of 1e-09 s (--deadline) was reached",
        )

    def test_a_registry_that_answers_the_workers_with_an_error_is_no_verdict(self, incident: Incident) -> None:
        census = incident.census()
        fault = Fault(method="GET", action=Answer(status=500, body='{"error_code": 50001, "message": "backend"}'))
        with incident.registry.intercept(fault), pytest.raises(RegistryError, match="50001"):
            incident.every_row(incident.of_values(), census)
