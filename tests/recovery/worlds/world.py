"""A world as data: topics with records, groups with commits, subjects with versions, and what a person says.

Nothing in here knows the code under test. Schemas are named by their short names (`schemas`): the registry gives the
ids when a world is staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = [
    "CUT",
    "Folder",
    "GARBAGE",
    "GUID",
    "Key",
    "LONG",
    "Log",
    "Record",
    "SubjectSetup",
    "Table",
    "UNFRAMED",
    "Version",
    "WHOLE",
    "World",
]

WHOLE = "whole"
"""A body that its schema's writer wrote."""
CUT = "cut"
"""The same without its last byte."""
LONG = "long"
"""The same and a byte more."""
GARBAGE = "garbage"
"""Bytes that no schema of these worlds begins with."""

UNFRAMED = "unframed"
"""A value that no registry serializer wrote."""
GUID = "guid"
"""A value that names its schema by GUID."""


@dataclass(frozen=True, slots=True)
class Key:
    """A record's key."""

    name: str
    """What tells keys apart."""
    schema: str | None = None
    """The schema that it carries the id of; None for a key without framing."""
    body: str = WHOLE
    """`WHOLE`, `CUT` or `LONG`, if it carries an id."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record of one partition."""

    offset: int
    """Its offset."""
    key: Key | None
    """Its key; None for a null key."""
    value: str | None
    """A schema's short name, `UNFRAMED` or `GUID`; None for a tombstone."""
    body: str = WHOLE
    """`WHOLE`, `CUT`, `LONG` or `GARBAGE`, if it carries an id."""


@dataclass(frozen=True, slots=True)
class Log:
    """One partition."""

    start: int
    """The first offset."""
    end: int
    """The end, exclusive; behind the last record where compaction or a marker took the last offsets."""
    records: tuple[Record, ...]
    """By ascending offset, with gaps."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a subject."""

    schema: str
    """The schema's short name."""
    deleted: bool = False
    """True if it is soft-deleted."""


@dataclass(frozen=True, slots=True)
class SubjectSetup:
    """A subject."""

    versions: tuple[Version, ...]
    """Its versions, in order."""
    level: str | None = None
    """Its own compatibility level; None for none."""
    mode: str | None = None
    """Its own mode; None for none."""


@dataclass(frozen=True, slots=True)
class Table:
    """A printed topology in which a store is the table of a topic."""

    application: str | None
    """Whose topology it is; None if nobody said."""
    store: str
    """The store."""
    topic: str
    """The topic."""
    is_global: bool
    """True for a global table."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The state directory of an application, with one task."""

    application: str
    """Whose it is."""
    stores: tuple[str, ...]
    """Its key-value stores."""
    topics: tuple[str, ...] | None
    """The topics in the task's checkpoint; None if it has none."""


@dataclass(frozen=True, slots=True)
class World:
    """All of it."""

    topics: Mapping[str, tuple[Log, ...]]
    """Per topic its partitions."""
    groups: Mapping[str, Mapping[tuple[str, int], int]]
    """Per group its committed offsets."""
    listed: tuple[str, ...] | None
    """The groups that the cluster lists, at least those with commits; None if it lists none and says so."""
    subjects: Mapping[str, SubjectSetup]
    """What the registry holds."""
    policies: Mapping[str, str | None] = field(default_factory=dict)
    """Per topic its `cleanup.policy`, `compact` if it is not here; `kept` for `delete` without limits; None if unknown."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """`--source STORE=TOPIC`."""
    tables: tuple[Table, ...] = ()
    """`--topology`."""
    folders: tuple[Folder, ...] = ()
    """`--state-dir`."""
    decode_values: bool = False
    """`--decode-values`."""
    application: str | None = None
    """`--application`."""
    store: str | None = None
    """`--store`."""
    reader: str = "unknown"
    """`--reader`."""
    streams: str | None = None
    """`--streams-version`."""

    def __repr__(self) -> str:
        return "\n" + "\n".join(_lines(self))


def _lines(world: World) -> Iterator[str]:
    for topic, logs in sorted(world.topics.items()):
        for partition, log in enumerate(logs):
            yield f"topic {topic}[{partition}] {log.start}…{log.end} {world.policies.get(topic, 'compact')}"
            for record in log.records:
                key = "null" if record.key is None else f"{record.key.name}:{record.key.schema or 'plain'}"
                bad_key = f" ({record.key.body} key)" if record.key is not None and record.key.body != WHOLE else ""
                bad = "" if record.body == WHOLE else f" ({record.body})"
                yield f"  {record.offset}: {key}{bad_key} → {record.value or 'tombstone'}{bad}"
    for group, commits in sorted(world.groups.items()):
        offsets = ", ".join(f"{topic}[{p}]={offset}" for (topic, p), offset in sorted(commits.items()))
        yield f"group {group}: {offsets or 'no commits'}"
    yield f"listed: {'the cluster lists none' if world.listed is None else ', '.join(world.listed) or 'none'}"
    for subject, setup in sorted(world.subjects.items()):
        versions = ", ".join(f"{v.schema}{' (soft-deleted)' if v.deleted else ''}" for v in setup.versions)
        settings = "".join(f", {name} {said}" for name, said in (("level", setup.level), ("mode", setup.mode)) if said)
        yield f"subject {subject}: {versions}{settings}"
    for store, topic in sorted(world.sources.items()):
        yield f"--source {store}={topic}"
    for table in world.tables:
        kind = "global table" if table.is_global else "table"
        yield f"--topology of {table.application or 'nobody named'}: {kind} {table.store} of {table.topic}"
    for folder in world.folders:
        holds = "no checkpoint" if folder.topics is None else f"a checkpoint of {', '.join(folder.topics)}"
        yield f"--state-dir of {folder.application} with {', '.join(folder.stores)} and {holds}"
    if world.decode_values:
        yield "--decode-values"
    yield f"--application {world.application} --store {world.store} --reader {world.reader} --streams {world.streams}"
