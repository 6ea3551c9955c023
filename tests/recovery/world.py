"""A small cluster and a registry for each test, with the topics, groups and subjects that the test names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.emulation import Habits, Release
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.checks.interface import Width
from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.diagnosis.diagnose import diagnose
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.reader import CheckContext, Reader, StreamsVersion
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.repair.planning.repairs import Keep
from srfix.recovery.repair.rollback import Event as RollbackEvent
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.repair.verify.events import Event as VerifyEvent
from srfix.recovery.repair.verify.verify import verify
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.subjects.names import Topic
from srfix.serde.wire import frame_id

ONE_LONG = b"\x02"
"""An Avro body of a record with one long, the number 1."""
ONE_LONG_AND_NULL = b"\x02\x00"
"""The same, and a null of a nullable field."""
V1, V2 = frame_id(1, ONE_LONG), frame_id(2, ONE_LONG_AND_NULL)
"""Values under W1 and W2, where these are ids 1 and 2."""
NO_RETRY = RetryPolicy(max_attempts=1)


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


def value(schema_id: int, body: bytes = ONE_LONG) -> bytes:
    return frame_id(schema_id, body)


def said(
    survey: Survey, reader: Reader, streams_version: str | None, *, no_auto_register: bool = False
) -> CheckContext:
    """What the person said of reader and version."""
    return CheckContext(
        registry=survey.registry,
        reader=reader,
        streams_version=None if streams_version is None else StreamsVersion.parse(streams_version),
        no_auto_register=no_auto_register,
    )


def put(url: str, target: str, sent: Mapping[str, object]) -> None:
    """Sets what the client does not set, as no repair does: the configuration or the mode of all subjects."""
    answer = requests.put(f"{url}/{target}", json=sent, timeout=10)
    assert answer.ok, answer.text


class ListingCluster(Cluster):
    """A cluster that lists groups, as a real one does and the embedded one cannot."""

    listed: tuple[str, ...] = ()

    def groups(self) -> GroupListing:
        return GroupListing(groups=self.listed, problem=None)


@dataclass
class World:
    """The cluster and the registry of a test, and the questions that the test asks."""

    broker: EmbeddedBroker
    registry: FixtureRegistry
    cluster: Cluster
    engine: LocalCensus
    stack: ExitStack
    sources: dict[str, Topic] = field(default_factory=dict)
    supplied: Supplied = field(default_factory=Supplied)
    """State directories and topologies that the person gives."""
    path: str = ""
    """The end of the registry's URL: `/contexts/.eu` leads into that context."""

    def client(self) -> RegistryClient:
        """A fresh client: it remembers nothing of an earlier one."""
        return self.stack.enter_context(RegistryClient(self.registry.url + self.path, retry=NO_RETRY))

    def survey(self, **sources: str) -> Survey:
        named = self.sources | {store: Topic(topic) for store, topic in sources.items()}
        return Survey(cluster=self.cluster, registry=self.client(), sources=named, supplied=self.supplied)

    def listing(self, *groups: str) -> None:
        """From now on the cluster lists these groups."""
        cluster = self.stack.enter_context(ListingCluster({"bootstrap.servers": self.broker.bootstrap_servers}))
        cluster.listed = groups
        self.cluster = cluster

    def put(self, topic: str, *rows: tuple[str | bytes | None, bytes | None], partition: int = 0) -> None:
        self.broker.produce(
            ProducedRecord(
                topic=topic, partition=partition, key=key.encode() if isinstance(key, str) else key, value=payload
            )
            for key, payload in rows
        )

    def commit(self, group: str, **topics: int) -> None:
        """Commits an offset for partition 0 of each topic, as a Kafka Streams application does."""
        self.broker.commit(group, {(topic, 0): offset for topic, offset in topics.items()})

    def live(self, *rows: tuple[str | bytes | None, bytes | None]) -> None:
        """The first records of `users`, all of which a restore of `shop` loads."""
        self.put("users", *rows)
        self.commit("shop", users=len(rows))

    def consume(self, group: str, **topics: int) -> None:
        """Commits an offset for partition 0 of each topic, as a plain consumer does: without metadata."""
        self.broker.commit(group, {(topic, 0): offset for topic, offset in topics.items()}, metadata="")

    def purge(self, subject: str, *versions: int) -> None:
        """Deletes versions of a subject for good, as somebody else does; without versions the subject."""
        client = self.client()
        for permanent in (False, True):
            for version in versions:
                client.delete_version(subject, version, permanent=permanent)
            if not versions:
                client.delete_subject(subject, permanent=permanent)

    def hand_over(self, folder: Path) -> None:
        """From now on the person gives `--state-dir`, and nothing else."""
        self.supplied = Supplied(state=read_state_directory(folder))

    def examine(
        self,
        *,
        reader: Reader = Reader.UNKNOWN,
        streams_version: str | None = None,
        no_auto_register: bool = False,
        survey: Survey | None = None,
        engine: CensusEngine | None = None,
        **how: Any,
    ) -> Examination:
        """:param how: what else `diagnose` takes."""
        asked = survey or self.survey()
        context = said(asked, reader, streams_version, no_auto_register=no_auto_register)
        return diagnose(asked, engine or self.engine, context, **how)

    def findings(self, **how: Any) -> dict[str, Finding]:
        """The findings and the notes on their repairs, by code; a test that expects one per code relies on it."""
        diagnosis = self.examine(**how).diagnosis
        found = [each for finding in diagnosis.findings for each in (finding, *finding.notes)]
        by_code = {finding.code: finding for finding in found}
        assert len(by_code) == len(found)
        return by_code

    def plan(
        self,
        *,
        keep: Keep = Keep.AUTO,
        width: Width = Width.WIDE,
        exact_ids: bool = False,
        engine: CensusEngine | None = None,
        application: str | None = None,
        store: str | None = None,
        reader: Reader = Reader.UNKNOWN,
        streams_version: str | None = None,
        also: tuple[str, ...] = (),
        version_limit: int | None = None,
    ) -> Plan:
        """A plan. In every test it also checks that the plan only writes to subjects that a finding or the plan itself
        names.
        """
        survey = self.survey()
        examination = self.examine(
            application=application,
            store=store,
            survey=survey,
            engine=engine,
            reader=reader,
            streams_version=streams_version,
        )
        plan = make_plan(
            examination,
            survey,
            keep=keep,
            width=width,
            exact_ids=exact_ids,
            also=also,
            context=said(survey, reader, streams_version),
            clock=clock,
            version_limit=version_limit,
        )
        written_to = {action.subject for action in plan.actions}
        assert written_to <= {finding.subject for finding in plan.findings}
        if width is not Width.ALL_VERSIONS:  # then srfix counted nothing, and found nothing
            assert written_to <= {finding.subject for finding in examination.diagnosis.findings}
        assert set(plan.expects) == written_to
        return plan

    def apply(self, plan: Plan, journal: Path) -> None:
        list(apply_plan(plan, self.client(), journal, clock=clock))

    def verify(self, plan: Plan) -> list[VerifyEvent]:
        return list(verify(plan, self.cluster, self.engine, self.client()))

    def roll_back(self, journal: Path) -> list[RollbackEvent]:
        return list(roll_back(journal, self.client(), clock=clock))


@contextmanager
def world_of(topics: Mapping[str, int], *, emulate: Release = "7.9", habits: Habits | None = None) -> Iterator[World]:
    """Topics with their numbers of partitions, no group, no subject.

    :param emulate: the release whose answers the registry gives. :param habits: its other habits.
    """
    with ExitStack() as stack:
        # A small topic's census waits for its batch to fill: a whole second, which tests need not.
        stack.enter_context(pytest.MonkeyPatch.context()).setattr("srfix.recovery.census.local._POLL_S", 0.02)
        broker = stack.enter_context(EmbeddedBroker(topics=topics))
        registry = stack.enter_context(FixtureRegistry(emulate=emulate, habits=habits))
        config = {"bootstrap.servers": broker.bootstrap_servers}
        cluster = stack.enter_context(Cluster(config))
        yield World(broker=broker, registry=registry, cluster=cluster, engine=LocalCensus(config), stack=stack)


def world_fixture(
    topics: Mapping[str, int], stage: Callable[[EmbeddedBroker, RegistryClient], object] | None = None
) -> Any:
    """A fixture: a world for each test, with these topics, and what `stage` makes of them."""

    @pytest.fixture
    def world() -> Iterator[World]:
        with world_of(topics) as made:
            if stage is not None:
                stage(made.broker, made.client())
            yield made

    return world
