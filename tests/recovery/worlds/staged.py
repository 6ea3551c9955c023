"""A world that can answer: a cluster and a census in memory, and the registry's real answers without sockets."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import UUID

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.census.counting import ColumnReader, PartitionCounter
from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest, PartitionCensus
from srfix.recovery.cluster.answers import Commit, GroupListing, GroupState, TopicConfigs
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.cluster.streams_members import StreamsMembers
from srfix.recovery.diagnosis.diagnose import diagnose
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.reader import CheckContext, Reader, StreamsVersion
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.facts.survey import Survey
from srfix.recovery.state.directory import ApplicationState
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.answer import Answer
from srfix.serde.registry.http.transport import Transport
from srfix.serde.registry.http.urls import request_url
from srfix.serde.registry.secret import NO_CREDENTIALS
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Topic
from srfix.serde.wire import frame_guid, frame_id
from tests.recovery.worlds.on_disk import state_of
from tests.recovery.worlds.printed import topologies
from tests.recovery.worlds.schemas import LOST, body, text
from tests.recovery.worlds.world import (
    CUT,
    GARBAGE,
    GUID,
    UNFRAMED,
    DiskRow,
    Group,
    Key,
    KeyFormat,
    Log,
    Record,
    World,
)

_GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
_BATCH = 3
"""How many records the census gets at a time: enough for more than one run per partition, and for runs of one id."""
_BIGINTS: Final = (1, 2, 3, (1 << 24) + 5, (2 << 24) + 7, (3 << 24) + 1)
"""The last three look framed, with the ids 1 to 3."""
_UUIDS: Final = (
    bytes.fromhex("0000000000" + "11" * 11),
    bytes.fromhex("0000000001" + "22" * 11),
    bytes.fromhex("0000000002" + "33" * 11),
    *(UUID(int=_GUID.int + n).bytes for n in range(3)),
)
"""The first three look framed."""
_WINDOW_START: Final = 1_592_300_000_000


class _Cluster(Cluster):
    """Answers from a world."""

    def __init__(self, staged: StagedWorld) -> None:
        self._world = staged.world
        self._staged = staged

    def topics(self) -> Mapping[Topic, int]:
        return {Topic(topic): len(setup.logs) for topic, setup in sorted(self._world.topics.items())}

    def hidden_topics(self, topics: Iterable[str]) -> frozenset[Topic]:
        return frozenset()

    def groups(self) -> GroupListing:
        if not self._world.lists_groups:
            return GroupListing(groups=(), problem="it lists none")
        return GroupListing(groups=tuple(sorted(self._world.groups)), problem=None)

    def streams_members(self, group: str, *, timeout_s: float = 5.0) -> StreamsMembers:
        return StreamsMembers(group=group, members=(), problem="the model knows no version but by the marks of commits")

    def committed(
        self, group: str, topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[tuple[Topic, int], int | None]:
        known = self._group(group).commits
        return {(Topic(topic), partition): known.get((topic, partition)) for topic, partition in topic_partitions}

    def committed_by(
        self, groups: Iterable[str], topic_partitions: Iterable[tuple[str, int]]
    ) -> Mapping[str, Mapping[tuple[Topic, int], Commit]]:
        wanted = tuple(topic_partitions)
        return {
            group: {
                where: Commit(offset=offset, metadata=self._group(group).metadata)
                for where, offset in self.committed(group, wanted).items()
                if offset is not None
            }
            for group in groups
        }

    def group_state(self, group: str, *, timeout_s: float = 5.0) -> GroupState:
        known = self._group(group)
        state = "Stable" if known.client_ids else "Empty" if group in self._world.groups else "Dead"
        return GroupState(
            group=group,
            state=state,
            members=len(known.client_ids),
            problem=None,
            assignor=known.assignor,
            client_ids=tuple(sorted(known.client_ids)),
        )

    def _group(self, group: str) -> Group:
        return self._world.groups.get(group, Group())

    def topic_configs(self, topic: str, *, timeout_s: float = 5.0) -> TopicConfigs:
        setup = self._world.topics.get(topic)
        if setup is None or setup.policy is None:
            return TopicConfigs(topic=Topic(topic), values=None, problem="the cluster does not say")
        values = {"cleanup.policy": setup.policy, "retention.ms": "604800000", "retention.bytes": "-1"}
        if setup.policy == "kept":
            values |= {"cleanup.policy": "delete", "retention.ms": "-1"}
        return TopicConfigs(topic=Topic(topic), values=values, problem=None)

    def watermarks(self, topic: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
        logs = self._world.topics[topic].logs
        return {partition: (logs[partition].start, logs[partition].end) for partition in partitions}

    def stable_ends(self, topic: str, partitions: Iterable[int]) -> Mapping[int, int]:
        return {partition: end for partition, (_, end) in self.watermarks(topic, partitions).items()}

    def records_at(
        self, topic: str, places: Iterable[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], RawRecord | None]]:
        for partition, offset in places:
            yield (partition, offset), next(self.read(topic, partition, offset, offset + 1), None)

    def read(
        self,
        topic: str,
        partition: int,
        begin: int,
        end: int,
        *,
        give_up_at: float | None = None,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> Iterator[RawRecord]:
        for record in self._world.topics[topic].logs[partition].records:
            if begin <= record.offset < end:
                yield RawRecord(
                    partition=partition,
                    offset=record.offset,
                    key=self._staged.key_bytes(record),
                    value=self._staged.value_bytes(record),
                )


class _WithoutSockets(Transport):
    """Hands requests to the registry in this thread, without HTTP: a tenth of the time, and a world takes 150 of them."""

    registry: FixtureRegistry

    @classmethod
    def take_over(cls, client: RegistryClient, registry: FixtureRegistry) -> None:
        """Replaces a client's transport, also in its caches."""
        transport = client._transport
        transport.__class__ = cls
        assert isinstance(transport, cls)
        transport.registry = registry

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | Sequence[str]] | None = None,
        body: Json = None,
        write: bool = False,
    ) -> Answer:
        endpoint = self.settings.endpoints[0]
        url = request_url(endpoint, path, query or {})
        content = b"" if body is None else json.dumps(body).encode()
        given = self.registry._answer(method, url.removeprefix(self.registry.url), content, None)
        assert given is not None
        answer = Answer(
            method=method,
            url=url,
            context=endpoint.context,
            credentials=NO_CREDENTIALS,
            status=given.status,
            content_type=given.content_type,
            location="",
            retry_after_s=None,
            body=given.body.encode(),
        )
        if answer.is_good:
            return answer
        raise answer.error(earlier_attempt_lost=False)


class StagedWorld:
    """A world whose schemas stand in a registry, which must be empty."""

    def __init__(self, world: World, registry: FixtureRegistry) -> None:
        self.world = world
        self.registry = registry
        self._states: tuple[ApplicationState, ...] | None = None
        self.ids: dict[str, int] = dict(LOST)
        """Per schema its id in the world's context."""
        for subject, setup in world.subjects.items():
            for version in setup.versions:
                name = self.qualified(subject)
                self.ids[version.schema] = registry.seed(name, text(version.schema), deleted=version.deleted)
                if world.mirror:
                    registry.seed(f":.{world.mirror}:{subject}", text(version.schema), deleted=version.deleted)
        for schema in sorted(_used(world) - set(self.ids)):
            self.ids[schema] = registry.seed(self.qualified("nowhere-else-value"), text(schema))
        for subject, setup in world.subjects.items():
            name = self.qualified(subject)
            config: dict[str, Json] = {"compatibility": setup.level} if setup.level else {}
            if setup.normalize:
                config["normalize"] = True
            if config:
                registry.configure(name, config)
            if setup.mode is not None:
                self.ask("PUT", f"/mode/{name}", {"mode": setup.mode})
        if world.normalize:
            self.ask("PUT", "/config", {"compatibility": "BACKWARD", "normalize": True})
        for subject, mode in world.modes.items():
            self.ask("PUT", f"/mode/{self.qualified(subject)}" if subject else "/mode", {"mode": mode})
        registry.forget_requests()

    def qualified(self, subject: str) -> str:
        """A subject with the world's context."""
        return f":.{self.world.context}:{subject}" if self.world.context else subject

    def ask(self, method: str, target: str, sent: Mapping[str, Json] | None = None) -> tuple[int, dict[str, Json]]:
        """The registry's answer to a reader other than srfix: status and document."""
        answer = self.registry._answer(method, target, json.dumps(sent).encode() if sent else b"", None)
        assert answer is not None
        document = json.loads(answer.body)
        assert isinstance(document, dict)
        return answer.status, document

    def client(self) -> RegistryClient:
        """A complete fresh client, except the sockets."""
        by_context = self.world.by_context_url and self.world.context
        client = RegistryClient(
            f"{self.registry.url}/contexts/.{self.world.context}" if by_context else self.registry.url
        )
        _WithoutSockets.take_over(client, self.registry)
        return client

    def cluster(self) -> Cluster:
        return _Cluster(self)

    def supplied(self) -> Supplied:
        world = self.world
        return Supplied(
            topologies=tuple(topology for app in world.topology_of for topology in topologies(world, app)),
            state=self._state(),
        )

    def _state(self) -> tuple[ApplicationState, ...]:
        if self._states is None:
            world = self.world
            folder = "/state"
            if any(key.rpartition("/")[0] in world.state_of for key in world.disk):
                folder = tempfile.mkdtemp(prefix="srfix-world-")
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._states = tuple(state_of(world, each, Path(folder), self.row_bytes) for each in world.state_of)
        return self._states

    def survey(self, client: RegistryClient) -> Survey:
        """The survey that the diagnosis uses."""
        return Survey(
            cluster=self.cluster(),
            registry=client,
            sources={store: Topic(topic) for store, topic in self.world.sources.items()},
            supplied=self.supplied(),
            gone=frozenset(self.world.says_gone),
        )

    def examine(self, survey: Survey) -> Examination:
        """The diagnosis, as the world's person asks for it."""
        world = self.world
        readers = {store.reader for store in world.truth}
        said = readers.pop() if world.says_reader and len(readers) == 1 else "unknown"
        version = ("3.8" if world.is_reprocessing else "2.7") if world.is_upgraded else None
        context = CheckContext(
            registry=survey.registry,
            reader=Reader(said),
            streams_version=None if version is None else StreamsVersion.parse(version),
        )
        return diagnose(
            survey,
            self,
            context if world.registers else replace(context, no_auto_register=True),
            application=world.application,
            store=world.store,
            decode_values=world.decode_values,
        )

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """The census engine: the real counting of records in memory."""
        logs = self.world.topics[request.topic].logs
        return Census(
            topic=request.topic,
            isolation=request.isolation,
            partitions=tuple(self._counted(logs[partition], partition, request) for partition in request.partitions),
        )

    def _counted(self, log: Log, partition: int, request: CensusRequest) -> PartitionCensus:
        offset = None if request.committed is None else request.committed.get(partition)
        limit = request.restore_limit(partition, log.end)
        counter, columns = PartitionCounter(limit), ColumnReader()
        for at in range(0, len(log.records), _BATCH):
            batch = log.records[at : at + _BATCH]
            run = columns(
                offsets=[record.offset for record in batch],
                keys=[self.key_bytes(record) for record in batch],
                values=[self.value_bytes(record) for record in batch],
                one_partition=True,
            )
            counter.add(run, 0, len(batch))
        records, keys, values = counter.result()
        return PartitionCensus(
            partition=partition,
            start_offset=log.start,
            end_offset=log.end,
            committed_offset=offset,
            restore_limit=limit,
            records=records,
            keys=keys,
            values=values,
        )

    def row_bytes(self, row: DiskRow) -> tuple[bytes, bytes]:
        """Key and value of a row on disk, without a timestamp."""
        return self._inner_key(row.key) + _window(row.key), self._value(row.value, row.number, row.body)

    def key_bytes(self, record: Record) -> bytes | None:
        """A record's key as it is in the topic."""
        key = record.key
        return None if key is None else self._inner_key(key) + _window(key)

    def _inner_key(self, key: Key) -> bytes:
        if key.format is KeyFormat.BIGINT:
            return struct.pack(">q", _BIGINTS[key.number])
        if key.format is KeyFormat.UUID:
            return _UUIDS[key.number]
        if key.schema is None:
            return f"k{key.number}".encode()
        whole = b"\x02" if key.schema in LOST else body(key.schema, key.number)
        return frame_id(self.ids[key.schema], whole[:-1] if key.body == CUT else whole)

    def value_bytes(self, record: Record) -> bytes | None:
        """A record's value as it is in the topic."""
        return None if record.value is None else self._value(record.value, record.offset % 50, record.body)

    def _value(self, schema: str, number: int, state: str) -> bytes:
        if schema == UNFRAMED:
            return b'{"id":1}'
        if schema == GUID:
            return frame_guid(_GUID, b"\x02")
        whole = b"\x02" if schema in LOST else body(schema, number)
        bodies = {CUT: whole[:-1], GARBAGE: b"\xff" * 12}
        return frame_id(self.ids[schema], bodies.get(state, whole))


def _window(key: Key) -> bytes:
    start = struct.pack(">q", _WINDOW_START + 60_000 * key.number)
    return {0: b"", 8: start, 16: struct.pack(">q", _WINDOW_START + 60_000 * key.number + 500) + start}[key.window]


def _used(world: World) -> set[str]:
    records = [record for setup in world.topics.values() for log in setup.logs for record in log.records]
    rows = [row for disk in world.disk.values() for rows in disk.partitions.values() for row in rows]
    values = {record.value for record in records} | {row.value for row in rows}
    keys = {record.key.schema for record in records if record.key is not None} | {row.key.schema for row in rows}
    return {name for name in values | keys if name not in (None, UNFRAMED, GUID)}
