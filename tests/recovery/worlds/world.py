"""A world as data: the contents of the cluster and of the registry, the truth about them, and the person's words.
Nothing here knows the code under test. Schemas are named by their lines (`schemas`): the registry gives the ids when a
world is staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from srfix.fixtures.broker.client import STREAMS_METADATA

WHOLE = "whole"
"""A body that its schema's writer wrote."""
CUT = "cut"
"""The same without its last byte."""
GARBAGE = "garbage"
"""Bytes that no schema of these worlds begins with."""

METADATA_FROM_3_3 = "Ag" + STREAMS_METADATA[2:]
"""The metadata that Kafka Streams writes beside its commits; from 3.3 on, the same with magic byte 2."""

UNFRAMED = "JSON"
"""A value that no registry serializer wrote."""
GUID = "guid"
"""A value that names its schema by GUID."""


class KeyFormat(Enum):
    """The serde that wrote the keys of a topic, and reads those of a store."""

    STRING = "string"
    BIGINT = "bigint"
    """Eight bytes, big-endian: some look framed."""
    UUID = "uuid"
    """Sixteen bytes: some look framed."""
    AVRO = "avro"
    """Framed, with the id of a schema."""


@dataclass(frozen=True, slots=True)
class Key:
    number: int
    """A number that distinguishes keys, 0 to 5."""
    format: KeyFormat = KeyFormat.STRING
    schema: str | None = None
    """The schema that an Avro key carries the id of."""
    window: int = 0
    """How many bytes of a window follow the key: 0, 8 (its start) or 16 (its end and start)."""
    body: str = WHOLE
    """`WHOLE` or `CUT`, for an Avro key."""


@dataclass(frozen=True, slots=True)
class Record:
    offset: int
    key: Key | None
    value: str | None
    """A schema's line, a key of `LOST`, `UNFRAMED` or `GUID`; None for a tombstone."""
    body: str = WHOLE
    """`WHOLE`, `CUT` or `GARBAGE`, if it carries an id."""

    @property
    def is_healthy(self) -> bool:
        """True if its key and value are what their writers wrote, under ids that the registry knows."""
        whole_key = self.key is None or self.key.body == WHOLE
        return whole_key and (self.value is None or ("(" in self.value and self.body == WHOLE))


@dataclass(frozen=True, slots=True)
class Log:
    start: int
    end: int
    """The end, exclusive; it is beyond the last record if compaction or a marker took the last offsets."""
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class TopicSetup:
    logs: tuple[Log, ...]
    policy: str | None = "compact"
    """Its `cleanup.policy`; `kept` for `delete` without limits; None if the cluster does not say."""


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group that the coordinator knows."""

    commits: Mapping[tuple[str, int], int] = field(default_factory=dict)
    metadata: str = ""
    """The metadata beside each offset: base64 by Kafka Streams from 2.4 on, else nothing."""
    client_ids: tuple[str, ...] = ()
    assignor: str = ""
    """The assignor that they agreed on, `stream` for Kafka Streams."""

    @property
    def has_signs_of_streams(self) -> bool:
        """True if a question about the group shows that Kafka Streams runs, or ran, as this group."""
        return (
            bool(self.metadata and self.commits)
            or bool(self.client_ids and self.assignor == "stream")
            or any("-StreamThread-" in c for c in self.client_ids)
        )


def group_of_streams(
    application: str, commits: Mapping[tuple[str, int], int], metadata: str = STREAMS_METADATA, *, is_live: bool
) -> Group:
    """The commits and the member of Kafka Streams 2.4 or later."""
    return Group(
        commits=commits,
        metadata=metadata,
        client_ids=(f"{application}-0e6c0b9f-77c5-4b83-8e35-1a7a2b3c4d5e-StreamThread-1-consumer",) if is_live else (),
        assignor="stream" if is_live else "",
    )


@dataclass(frozen=True, slots=True)
class Version:
    schema: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class SubjectSetup:
    versions: tuple[Version, ...]
    level: str | None = None
    mode: str | None = None
    normalize: bool = False


class Kind(Enum):
    TABLE = "table"
    """`builder.table()` with its source topic as changelog: restored up to the committed offsets."""
    GLOBAL = "global table"
    """Restored from its whole topic, which nobody commits."""
    AGGREGATE = "aggregate"
    """Has a changelog of its own, or had one."""
    JOIN_WINDOW = "join window"
    """Likewise."""
    UNLOGGED = "store without logging"
    """Has no changelog: restored from nowhere."""
    TRANSIENT = "table of a transient query"
    """Its state is never restored: each query has another application.id."""


@dataclass(frozen=True, slots=True)
class TrueStore:
    """A store that really exists, or existed."""

    application: str
    name: str
    kind: Kind
    topic: str | None = None
    """The topic that it restores from; None where nothing ever restores it from a source."""
    fed_by: str | None = None
    """The topic whose records a store without logging holds, although it is never restored from it; None if it holds
    other records.
    """
    reader: str = "connect"
    """Its reader: `connect` looks versions up under the subject, `plain` asks only by id."""
    key_format: KeyFormat = KeyFormat.STRING
    window: int = 0
    has_own_processor: bool = False
    """True for a global store that a processor of the user's own fills (`addGlobalStore`), skipped by a restore before 3.8."""

    @property
    def changelog(self) -> str:
        """The topic name that its serdes get before 2.7."""
        return f"{self.application}-{self.name}-changelog"

    @property
    def is_told_by_its_name(self) -> bool:
        """True if its name alone says that it cannot be restored from a source (Streams' and ksqlDB's own names)."""
        marks = (
            "-AGGREGATE-STATE-STORE-",
            "-REDUCE-STATE-STORE-",
            "-JOINTHIS-",
            "-JOINOTHER-",
            "-this-join-store",
            "-other-join-store",
            "Aggregate-Aggregate-Materialize",
        )
        return any(mark in f"-{self.name}" for mark in marks) or "_transient_" in self.application


@dataclass(frozen=True, slots=True)
class DiskRow:
    key: Key
    value: str
    """A schema's line, a key of `LOST`, `UNFRAMED` or `GUID`."""
    number: int
    body: str = WHOLE
    """`WHOLE`, `CUT` or `GARBAGE`: a restore does not look at bodies."""


@dataclass(frozen=True, slots=True)
class StoreDisk:
    partitions: Mapping[int, tuple[DiskRow, ...]]
    """The rows of each partition on disk; a global store has one database, 0."""
    is_timestamped: bool = True
    """True for the column family of all tables since 2.3."""


@dataclass(frozen=True, slots=True)
class Join:
    """A foreign-key join: its serdes named themselves after topics that never were (`KTableImpl`, `decoratePseudoTopic`)."""

    application: str
    registration: str
    is_living: bool = True
    """False if the application no longer has it: its topics are gone, its subjects stayed."""

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that it left in the registry."""
        return tuple(f"{self.registration}-{end}" for end in ("pk-key", "fk-key", "vh-value"))


@dataclass(frozen=True, slots=True)
class World:
    topics: Mapping[str, TopicSetup]
    groups: Mapping[str, Group]
    subjects: Mapping[str, SubjectSetup]
    """The subjects of the registry, without the context."""
    truth: tuple[TrueStore, ...] = ()
    """The real stores. If an internal-looking subject belongs to none of them, it belongs to no store."""
    lists_groups: bool = True
    """False if the cluster lists no groups, and says so."""
    context: str = ""
    """The registry context that all the subjects are in, such as `eu`; empty for the default one."""
    by_context_url: bool = False
    """True if srfix is given the context's own base URL."""
    mirror: str = ""
    """A second context that holds a copy of every subject; empty for none."""
    normalize: bool = False
    """True if the registry normalises schemas that are registered from now on."""
    registry: str = ""
    """The registry whose habits it has, such as `redpanda-23.1`; empty for Confluent's."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """`--source STORE=TOPIC`, or `APPLICATION/STORE=TOPIC`."""
    topology_of: tuple[str, ...] = ()
    """The applications whose printed topology is given."""
    state_of: tuple[str, ...] = ()
    """The applications whose state directory is given."""
    decode_values: bool = False
    application: str | None = None
    store: str | None = None
    says_reader: bool = False
    is_upgraded: bool = False
    """True if the applications run Streams 2.7 by now, and `--streams-version` says so: their serdes ask the source's own
    subject. Their state is from an older version."""
    renewed: tuple[str, ...] = ()
    """Applications that run 2.7 or later, without state from an older version: wiped during the upgrade, or new."""
    is_reprocessing: bool = False
    """True if that is 3.8: `addGlobalStore` processes again what it restores (KIP-1024)."""
    disk: Mapping[str, StoreDisk] = field(default_factory=dict)
    """The databases of each `application/store`; the directories of other stores are empty."""
    layouts: Mapping[str, str] = field(default_factory=dict)
    """For each application the writer of its checkpoints: `2.5` writes a position, `2.6.3` the last record's offset;
    `behind` means that rows of records after the first may be missing, `died` that all was restored and then nothing
    committed, so tasks have no checkpoint. The default is 2.5.
    """
    in_use: tuple[str, ...] = ()
    """The applications whose state directory is locked."""
    joins: tuple[Join, ...] = ()
    gone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Applications that are gone for good, and the subjects that they left."""
    says_gone: tuple[str, ...] = ()
    """`--gone`, and it is true."""
    by_design: tuple[str, ...] = ()
    """Subjects that look internal and are as they should be."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Modes of subjects that need not exist; the registry's own under the empty name."""
    registers: bool = True
    """False if the applications run with `auto.register.schemas=false`, and `--no-auto-register` says so."""

    def table_subject(self, store: TrueStore, role: str) -> str:
        """The phantom subject of the keys or values of a store, without the context."""
        return f"{store.changelog}-{role}"

    def asked_subject(self, store: TrueStore, role: str) -> str:
        """The subject that the store's serdes ask (`ProcessorContextUtils.changelogFor` from 2.7 on)."""
        return f"{store.topic}-{role}" if self.runs_newer(store.application) else self.table_subject(store, role)

    def runs_newer(self, application: str) -> bool:
        """True if an application runs Kafka Streams 2.7 or later, even if nothing shows it."""
        return self.is_upgraded or application in self.renewed

    def __repr__(self) -> str:
        return "\n" + "\n".join(_lines(self))


def _lines(world: World) -> Iterator[str]:
    for store in world.truth:
        own = ", filled by a processor of the user's own" if store.has_own_processor else ""
        fed = f", fed by {store.fed_by}" if store.fed_by else ""
        yield f"TRUE {store.application}/{store.name}: {store.kind.value} of {store.topic}, {store.reader} reads it{own}{fed}"
    for topic, setup in sorted(world.topics.items()):
        for partition, log in enumerate(setup.logs):
            yield f"topic {topic}[{partition}] {log.start}…{log.end} {setup.policy}"
            for record in log.records:
                bad = "" if record.body == WHOLE else f" ({record.body})"
                yield f"  {record.offset}: {_key(record.key)} → {record.value or 'tombstone'}{bad}"
    for name, group in sorted(world.groups.items()):
        offsets = ", ".join(f"{topic}[{p}]={offset}" for (topic, p), offset in sorted(group.commits.items()))
        metadata = {"": "no metadata", METADATA_FROM_3_3: "metadata of 3.3 or later"}.get(group.metadata, "metadata")
        signs = f"{metadata}, assignor {group.assignor or 'none'}"
        yield f"group {name}: {offsets or 'no commits'}; {signs}, {len(group.client_ids)} members"
    if not world.lists_groups:
        yield "the cluster lists no groups"
    for subject, held in sorted(world.subjects.items()):
        versions = ", ".join(f"{v.schema}{' (soft-deleted)' if v.deleted else ''}" for v in held.versions)
        told = (("level", held.level), ("mode", held.mode), ("normalize", held.normalize))
        yield f"subject {subject}: {versions}" + "".join(f", {name} {said}" for name, said in told if said)
    yield from _relatives(world)
    said = {
        "context": world.context,
        "by the context's URL": world.by_context_url,
        "mirrored in": world.mirror,
        "normalize": world.normalize,
        "registry": world.registry,
        "--source": dict(world.sources),
        "--topology of": world.topology_of,
        "--state-dir of": world.state_of,
        "--decode-values": world.decode_values,
        "--application": world.application,
        "--store": world.store,
        "--reader as it is": world.says_reader,
        "--streams-version 2.7": world.is_upgraded and not world.is_reprocessing,
        "--streams-version 3.8": world.is_reprocessing,
        "on 2.7 or later with new state": world.renewed,
        "--gone": world.says_gone,
        "--no-auto-register": not world.registers,
        "checkpoints": dict(world.layouts),
        "directory in use of": world.in_use,
        "by design": world.by_design,
    }
    yield "; ".join(f"{name} {value}" for name, value in said.items() if value)


def _relatives(world: World) -> Iterator[str]:
    for store, disk in sorted(world.disk.items()):
        for partition, rows in sorted(disk.partitions.items()):
            yield f"on disk {store}[{partition}]{'' if disk.is_timestamped else ' without timestamps'}"
            for row in rows:
                bad = "" if row.body == WHOLE else f" ({row.body})"
                yield f"  {_key(row.key)} → {row.value} with {row.number}{bad}"
    for join in world.joins:
        yield f"foreign-key join {join.registration} of {join.application}{'' if join.is_living else ', gone'}"
    for application, left in sorted(world.gone.items()):
        yield f"gone application {application} left {', '.join(left)}"
    for subject, mode in sorted(world.modes.items()):
        yield f"mode {mode} of {subject or 'the registry'}"


def _key(key: Key | None) -> str:
    if key is None:
        return "null"
    window = f"+{key.window} bytes of window" if key.window else ""
    return f"{key.number}:{key.schema or key.format.value}{window}{'' if key.body == WHOLE else f' ({key.body})'}"
