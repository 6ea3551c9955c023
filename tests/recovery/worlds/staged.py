"""A generated world made to answer: a cluster and a census in memory, a real registry over HTTP."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from uuid import UUID

from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter

from srfix.fixtures.registry import FixtureRegistry
from srfix.recovery.census.columns import ColumnReader
from srfix.recovery.census.counting import PartitionCounter
from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest, PartitionCensus
from srfix.recovery.checks import CheckContext, Reader, StreamsVersion
from srfix.recovery.cluster import Cluster, GroupListing, RawRecord
from srfix.recovery.cluster_answers import Commit, GroupState, TopicConfigs
from srfix.recovery.diagnosis import Examination, diagnose
from srfix.recovery.state.checkpoints import Checkpoint, CheckpointEntry
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task, Traces
from srfix.recovery.supplied import GivenTopology, Supplied
from srfix.recovery.survey import Survey
from srfix.recovery.topology import parse_topologies
from srfix.serde.registry import RegistryClient, Schema
from srfix.serde.subjects import Topic
from srfix.serde.wire import frame_guid, frame_id
from tests.recovery.worlds.schemas import BODIES, LOST, TEXTS
from tests.recovery.worlds.world import CUT, GARBAGE, GUID, LONG, UNFRAMED, WHOLE, Folder, Key, Log, Record, World

__all__ = ["StagedWorld"]

_GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
_BATCH = 3
"""Records that the census is fed at a time: more than one run per partition, and runs of one id."""


class _Cluster(Cluster):
    """Answers from a world."""

    def __init__(self, world: World, ids: Mapping[str, int]) -> None:
        self._world = world
        self._ids = ids

    def topics(self) -> Mapping[Topic, int]:
        return {Topic(topic): len(logs) for topic, logs in sorted(self._world.topics.items())}

    def hidden_topics(self, topics: Iterable[str]) -> frozenset[Topic]:
        return frozenset()

    def groups(self) -> GroupListing:
        listed = self._world.listed
        return GroupListing(groups=listed or (), problem="it lists none" if listed is None else None)

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        known = self._world.groups.get(group, {})
        return {(Topic(topic), partition): known.get((topic, partition)) for topic, partition in topic_partitions}

    def committed_by(
        self, groups: Iterable[str], topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[str, Mapping[tuple[Topic, int], Commit]]:
        wanted = tuple(topic_partitions)
        return {
            group: {
                where: Commit(offset=offset, metadata="")
                for where, offset in self.committed(group, wanted).items()
                if offset is not None
            }
            for group in groups
        }

    def group_state(self, group: str, *, timeout_s: float = 5.0) -> GroupState:
        return GroupState(group=group, state=None, members=None, problem="not asked")

    def topic_configs(self, topics: Iterable[str], *, timeout_s: float = 5.0) -> Mapping[Topic, TopicConfigs]:
        return {Topic(topic): self._configs(topic) for topic in topics}

    def _configs(self, topic: str) -> TopicConfigs:
        policy = self._world.policies.get(topic, "compact")
        if policy is None:
            return TopicConfigs(topic=Topic(topic), values=None, problem="the cluster does not say")
        values = {"cleanup.policy": policy, "retention.ms": "604800000", "retention.bytes": "-1"}
        if policy == "kept":
            values |= {"cleanup.policy": "delete", "retention.ms": "-1"}
        return TopicConfigs(topic=Topic(topic), values=values, problem=None)

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        logs = self._world.topics[topic]
        return {partition: (logs[partition].start, logs[partition].end) for partition in partitions}

    def records_at(
        self, topic: str, places: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], RawRecord | None]]:
        for partition, offset in places:
            yield (partition, offset), next(self.read(topic, partition, offset, offset + 1), None)

    def read(self, topic: str, partition: int, begin: int, end: int) -> Iterator[RawRecord]:
        for record in self._world.topics[topic][partition].records:
            if begin <= record.offset < end:
                yield RawRecord(
                    partition=partition,
                    offset=record.offset,
                    key=_key(record.key, self._ids),
                    value=_value(record, self._ids),
                )


class _WithoutSockets(BaseAdapter):
    """Hands requests to the registry in this thread: a third of the time, and a world takes a hundred of them."""

    def __init__(self, registry: FixtureRegistry) -> None:
        super().__init__()
        self._registry = registry

    def send(self, request: PreparedRequest, *_args: object, **_options: object) -> Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        target = (request.url or "").removeprefix(self._registry.url)
        answer = self._registry._answer(request.method or "", target, body, None)
        assert answer is not None
        response = Response()
        response.request, response.url, response.status_code = request, request.url or "", answer.status
        response.raw = io.BytesIO(answer.body.encode())
        response.headers["Content-Type"] = answer.content_type
        return response

    def close(self) -> None:
        """There is nothing to close."""


class StagedWorld:
    """A world whose schemas stand in a registry, which must be empty."""

    def __init__(self, world: World, registry: FixtureRegistry) -> None:
        self.world = world
        self.registry = registry
        self.ids: dict[str, int] = dict(LOST)
        for subject, setup in world.subjects.items():
            for version in setup.versions:
                self.ids[version.schema] = registry.seed(subject, TEXTS[version.schema], deleted=version.deleted)
        for schema in sorted(_used(world) - set(self.ids)):
            self.ids[schema] = registry.seed("nowhere-else-value", TEXTS[schema])
        with self.client() as client:
            for subject, setup in world.subjects.items():
                if setup.level is not None:
                    client.set_config(subject, {"compatibility": setup.level})
                if setup.mode is not None:
                    client.set_mode(subject, setup.mode)
        registry.forget_requests()

    def client(self) -> RegistryClient:
        """A fresh client: the whole of it, but for the sockets."""
        client = RegistryClient(self.registry.url)
        client._transport._session().mount(self.registry.url, _WithoutSockets(self.registry))
        return client

    def name_of(self, schema_id: int) -> str:
        """The short name of a schema."""
        return next(name for name, known in self.ids.items() if known == schema_id)

    def survey(self, client: RegistryClient) -> Survey:
        """What the diagnosis asks."""
        return Survey(
            cluster=_Cluster(self.world, self.ids),
            registry=client,
            sources={store: Topic(topic) for store, topic in self.world.sources.items()},
            supplied=Supplied(topologies=tuple(_topologies(self.world)), state=tuple(map(_state, self.world.folders))),
        )

    def examine(self, survey: Survey) -> Examination:
        """The diagnosis, as the world's person asks for it."""
        world = self.world
        said = CheckContext(
            registry=survey.registry,
            reader=Reader(world.reader),
            streams_version=None if world.streams is None else StreamsVersion.parse(world.streams),
        )
        return diagnose(
            survey,
            self,
            said,
            application=world.application,
            store=world.store,
            decode_values=world.decode_values,
        )

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """The census engine: the real counting of records in memory."""
        logs = self.world.topics[request.topic]
        return Census(
            topic=request.topic,
            isolation=request.isolation,
            partitions=tuple(self._counted(logs[partition], partition, request) for partition in request.partitions),
        )

    def _counted(self, log: Log, partition: int, request: CensusRequest) -> PartitionCensus:
        offset = None if request.committed is None else request.committed.get(partition)
        limit = request.restore_limit(partition, log.end)
        counter, columns = PartitionCounter(restore_limit=limit), ColumnReader()
        for at in range(0, len(log.records), _BATCH):
            batch = log.records[at : at + _BATCH]
            run = columns(
                offsets=[record.offset for record in batch],
                keys=[_key(record.key, self.ids) for record in batch],
                values=[_value(record, self.ids) for record in batch],
                one_partition=True,
            )
            counter.add(run, 0, len(batch))
        return counter.result(partition=partition, start_offset=log.start, end_offset=log.end, committed_offset=offset)

    def schema(self, name: str) -> Schema:
        """A schema as it is sent to the registry."""
        return Schema(text=TEXTS[name])


def _key(key: Key | None, ids: Mapping[str, int]) -> bytes | None:
    if key is None:
        return None
    name = key.name.encode()
    if key.schema is None:
        return name
    body = b"\x02" + name if key.schema == "Key2" else name  # one byte: a small number
    if key.body == CUT:
        body = body[:-1] + bytes([body[-1] | 0x80])  # a number that goes on
    return frame_id(ids[key.schema], body + b"\x00" if key.body == LONG else body)


def _value(record: Record, ids: Mapping[str, int]) -> bytes | None:
    if record.value is None:
        return None
    if record.value == UNFRAMED:
        return b'{"id":1}'
    if record.value == GUID:
        return frame_guid(_GUID, b"\x02")
    whole = BODIES.get(record.value, b"")
    bodies = {WHOLE: whole, CUT: whole[:-1], LONG: whole + b"\x00", GARBAGE: b"\xff" * 12}
    return frame_id(ids[record.value], bodies[record.body])


def _state(folder: Folder) -> ApplicationState:
    path = f"/state/{folder.application}"
    entries = [CheckpointEntry(topic=Topic(topic), partition=0, offset=0) for topic in folder.topics or ()]
    task = Task(
        name="0_0",
        path=f"{path}/0_0",
        subtopology=0,
        partition=0,
        stores=tuple(
            StoreDirectory(name=store, kind=StoreKind.KEY_VALUE, path=f"{path}/0_0/rocksdb/{store}")
            for store in folder.stores
        ),
        checkpoint=None
        if folder.topics is None
        else Checkpoint(path=f"{path}/0_0/.checkpoint", entries=tuple(entries)),
    )
    return ApplicationState(
        application=folder.application,
        path=path,
        tasks=(task,),
        traces=Traces(
            has_process_metadata=False,
            has_task_locks=False,
            has_position_files=False,
            has_offsets_column_families=False,
        ),
        is_in_use=False,
    )


def _used(world: World) -> set[str]:
    records = [record for logs in world.topics.values() for log in logs for record in log.records]
    values = {record.value for record in records if record.value not in (None, UNFRAMED, GUID)}
    keys = {record.key.schema for record in records if record.key is not None}
    return {name for name in values | keys if name is not None}


def _topologies(world: World) -> Iterable[GivenTopology]:
    for table in world.tables:
        heading = " for global store (will not generate tasks)" if table.is_global else ""
        text = (
            f"Topologies:\n   Sub-topology: 0{heading}\n"
            f"    Source: KSTREAM-SOURCE-0000000000 (topics: [{table.topic}])\n"
            "      --> KTABLE-SOURCE-0000000001\n"
            f"    Processor: KTABLE-SOURCE-0000000001 (stores: [{table.store}])\n"
            "      --> none\n      <-- KSTREAM-SOURCE-0000000000\n"
        )
        for topology in parse_topologies(text, origin="topology.txt"):
            yield GivenTopology(topology=topology, origin="topology.txt", application=table.application)
