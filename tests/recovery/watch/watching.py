"""A watch on embedded parts whose waiting is a script: each wait does the next thing, and the last one ends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Cluster, Keep, LocalCensus, Plan, Survey, diagnose, load_plan, save_plan
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.watch.allowance import allowed_pairs
from srfix.recovery.watch.events import Event, LookEnded
from srfix.recovery.watch.watcher import Pace, Watcher
from srfix.recovery.watch.writing import Writer
from srfix.serde import AvroSerializer, RegistryClient, RetryPolicy, Role, Schema, SerdeContext
from srfix.serde.wire import SchemaId

NEXT_SCHEMA = damage.WRITER_SCHEMA_2.replace(
    '"fields":[', '"fields":[{"name":"nickName","type":["null","string"],"default":null},'
)
"""A third version of the writer's schema."""


@dataclass(kw_only=True)
class Parts:
    """The incident on embedded parts."""

    broker: EmbeddedBroker
    registry: FixtureRegistry
    client: RegistryClient
    cluster: Cluster
    staged: damage.Staged
    folder: Path
    now_s: float = 0.0
    waits: list[float] = field(default_factory=list)

    def survey(self) -> Survey:
        return Survey(cluster=self.cluster, registry=self.client)

    def plan(self, *, keep: Keep = Keep.AUTO) -> Plan:
        """A plan of what is missing now, in its file."""
        survey = self.survey()
        engine = LocalCensus({"bootstrap.servers": self.broker.bootstrap_servers})
        plan = make_plan(diagnose(survey, engine), survey, keep=keep)
        save_plan(plan, self.plan_path)
        return load_plan(self.plan_path)

    def applied(self) -> Plan:
        """A plan that was carried out by hand."""
        plan = self.plan()
        list(apply_plan(plan, self.client, default_journal_path(self.plan_path)))
        return plan

    @property
    def plan_path(self) -> Path:
        return self.folder / "plan.json"

    def writer(self, plan: Plan, name: str = "watch") -> Writer:
        journals = self.folder / name
        journals.mkdir(exist_ok=True)
        return Writer(pairs=allowed_pairs(plan), plan=plan, plan_path=self.plan_path, journals=journals)

    def watch(
        self, *steps: Callable[[], object], writer: Writer | None = None, pace: Pace | None = None
    ) -> list[Event]:
        """What a watch tells whose n-th wait does the n-th step, and that ends at the wait after the last."""
        script = iter(steps)

        def wait(delay_s: float) -> bool:
            self.waits.append(delay_s)
            self.now_s += max(delay_s, 1.0)
            step = next(script, None)
            if step is not None:
                step()
            return step is None

        engine = LocalCensus({"bootstrap.servers": self.broker.bootstrap_servers})
        watcher = Watcher(
            cluster=self.cluster,
            registry=self.client,
            new_survey=self.survey,
            examine=lambda survey: diagnose(survey, engine),
            pace=pace or Pace(),
            writer=writer,
            monotonic=lambda: self.now_s,
            wait=wait,
            jitter=lambda: 1.0,
        )
        return list(watcher.events())

    def new_version(self) -> SchemaId:
        return self.client.register(self.staged.source_subject, Schema(text=NEXT_SCHEMA))

    def new_record(self) -> None:
        """Writes a record under the writer's third schema, which registers it if it is not."""
        row = {"userId": 20, "fullName": "Kay McNulty", "emailAddress": None, "loyaltyTier": None, "nickName": "Kay"}
        value = AvroSerializer.for_schema(self.client, NEXT_SCHEMA)(
            row, SerdeContext(topic=self.staged.source_topic, role=Role.VALUE)
        )
        assert value is not None
        self.raw_record(value)

    def raw_record(self, value: bytes) -> None:
        self.broker.produce([ProducedRecord(topic=self.staged.source_topic, partition=1, key=b"u20", value=value)])

    def phantom(self) -> dict[int, bool]:
        return live_by_id(self.registry, self.staged.phantom_subject)


def live_by_id(registry: FixtureRegistry, subject: str) -> dict[int, bool]:
    """Per id under a subject whether its version is live."""
    subjects = json.loads(json.dumps(registry.dump()["subjects"]))
    return {version["id"]: not version["deleted"] for version in subjects[subject]}


@contextmanager
def staged_incident(folder: Path) -> Iterator[Parts]:
    with (
        EmbeddedBroker(topics=damage.TOPICS) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client,
        Cluster({"bootstrap.servers": broker.bootstrap_servers}, timeout_s=5.0) as cluster,
    ):
        staged = damage.stage(broker, client)
        registry.forget_requests()
        yield Parts(broker=broker, registry=registry, client=client, cluster=cluster, staged=staged, folder=folder)


def without_looks(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, LookEnded)]
