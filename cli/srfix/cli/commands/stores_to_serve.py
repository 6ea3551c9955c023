"""What `srfix serve` finds out before it serves: where a store's rows come from, and how they are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from srfix.cli.commands.state.reading import RowReading
from srfix.cli.options.connecting import Connection
from srfix.cli.options.options import isolation_of
from srfix.cli.options.values import DUAL_SUBJECT
from srfix.cli.output.speaking import say_aside
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import Format
from srfix.serde.subjects.names import Role, Subject, Topic, changelog_topic, subject_for

if TYPE_CHECKING:
    from srfix.recovery.cluster.cluster import Cluster
    from srfix.recovery.serving.partition import ServedStore
    from srfix.recovery.serving.questions import KeyBytes, Partitioner, Served
    from srfix.serde.columns.types import Columns
    from srfix.serde.registry.client import RegistryClient

_Write: TypeAlias = Callable[..., bytes | None]
_KV: Final = "timestamped-kv"
_DELETE: Final = "delete"
_ADDITIONAL_RETENTION_MS: Final = 86_400_000
"""`windowstore.changelog.additional.retention.ms`: so much longer the changelog keeps rows than the store."""
_TOMBSTONES_MS: Final = 86_400_000
"""The default of `delete.retention.ms`."""
_VERSIONS_COUNT_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLayout:
    kind: str | None
    retention_ms: int | None
    segment_interval_ms: int | None
    window_size_ms: int | None
    partitioner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresToServe:
    """What srfix finds out about stores before it serves them."""

    application: str
    cluster: Cluster
    connection: Connection
    layout: StoreLayout
    isolation: str
    stack: ExitStack
    wrong_ids: dict[str, dict[str, Sequence[int]]] = field(default_factory=dict)
    """By store and subject."""

    def store(self, named: str, from_topic: str | None, until: Until | None, reading: RowReading) -> Served:
        """
        :param named: a store, or `STORE=TABLE`.
        """
        from srfix.recovery.serving.questions import Served
        from srfix.serde.formats.table import SCHEMA_FORMATS

        name, _, table = named.partition("=")
        spec = self._spec(name, from_topic, until)
        if reading.policy is None and spec.topic != changelog_topic(self.application, name):
            # What the application wrote is under the phantom subject, what a restore loads under the source's.
            source = subject_for(spec.topic, Role.VALUE)
            reading = replace(reading, policy=DUAL_SUBJECT, second_subject=reading.second_subject or source)
        decoder = self.stack.enter_context(reading.decoder(self.connection, application=self.application, store=name))
        keys, values = decoder.columns_of(Role.KEY), decoder.columns_of(Role.VALUE)
        return Served(
            spec=spec,
            decoder=decoder,
            key_bytes=self._key_bytes(reading, spec),
            columns=None if keys is None or values is None else (_sql(keys), _sql(values)),
            table=table or None,
            window_size_ms=self.layout.window_size_ms,
            partitioner=partitioner_of(self.layout.partitioner),
            wrong_ids=self.wrong_ids.get(name, {}),
            has_framed_keys=reading.key_format in ("schema", *(form.value for form in SCHEMA_FORMATS)),
        )

    def _spec(self, name: str, from_topic: str | None, until: Until | None) -> ServedStore:
        from srfix.recovery.facts.isolation import restore_isolation
        from srfix.recovery.serving.partition import ServedStore
        from srfix.recovery.state.writing.kinds import WrittenKind
        from srfix.recovery.state.writing.stores import StoreToWrite

        topics = self.cluster.topics()
        changelog = changelog_topic(self.application, name)
        topic = Topic(from_topic) if from_topic is not None else changelog
        if topic not in topics and from_topic is None:
            topic = self._source(name)
        if topic not in topics:
            raise UsageError(f"This user sees no topic {topic!r}. Check --from-topic.")
        configs = self.cluster.topic_configs(topic).values or {}
        policy = configs.get("cleanup.policy", "")
        kind = WrittenKind(self.layout.kind or _KV)
        if self.layout.kind is None and topic == changelog and _DELETE in policy:
            raise UsageError(f"{topic} has cleanup.policy={policy}, as those of windows and sessions: give --kind.")
        retention_ms = self.layout.retention_ms
        config = "min.compaction.lag.ms" if kind is WrittenKind.VERSIONED else "retention.ms"
        if kind.has_retention and retention_ms is None and int(configs.get(config, -1)) > _ADDITIONAL_RETENTION_MS:
            retention_ms = int(configs[config]) - _ADDITIONAL_RETENTION_MS
            say_aside(f"{name}: the retention is {retention_ms:,} ms, {config} of {topic} less a day.")
        reads = isolation_of(self.isolation)
        if reads is None:
            reads = restore_isolation(self.cluster, self.application).isolation
        return ServedStore(
            application=self.application,
            store=StoreToWrite(
                name=name, kind=kind, retention_ms=retention_ms, segment_interval_ms=self.layout.segment_interval_ms
            ),
            topic=topic,
            partitions=topics[topic],
            until=until or (Until.END if topic == changelog else Until.COMMITTED),
            isolation=reads,
            tombstones_kept_ms=int(configs.get("delete.retention.ms", _TOMBSTONES_MS)) if "compact" in policy else None,
            origin=self.cluster.cluster_id,
        )

    def _source(self, name: str) -> Topic:
        """The topic that the store restores from, by a diagnosis, which also finds ids under wrong subjects."""
        from srfix.cli.options.options import READERS, Selection
        from srfix.cli.session import open_session
        from srfix.recovery.findings import Severity

        selection = Selection(
            application=self.application, store=name, sources={}, reader=READERS[-1], streams_version=None
        )
        say_aside(f"{changelog_topic(self.application, name)} does not exist: looking for the source topic of {name}.")
        with open_session(self.connection, selection, quiet=True) as session:
            examination = session.examine()
        for finding in examination.diagnosis.findings:
            if finding.store == name and finding.severity is not Severity.NOTE and finding.schema_ids:
                ids = sorted(int(fault.schema_id) for fault in finding.schema_ids)
                self.wrong_ids.setdefault(name, {})[finding.subject] = ids
                say_aside(
                    f"{name}: {finding.subject} lacks the schema ids {', '.join(map(str, ids))} ({finding.code})."
                )
        for facts in examination.facts:
            if (facts.store.application, facts.store.name) == (self.application, name) and facts.source is not None:
                return facts.source.topic
        raise UsageError(
            f"The evidence does not decide from which topic {name} restores: name it with --from-topic. `srfix diagnose` "
            "says what it knows."
        )

    def _key_bytes(self, reading: RowReading, spec: ServedStore) -> KeyBytes | None:
        """How a key is written: by the format and the columns that were given, or under each version of the subject."""
        from srfix.serde.column_sources.given import given_columns
        from srfix.serde.interface import SerdeContext
        from srfix.serde.serializer import SCHEMALESS

        form = reading.key_format
        if form is None:
            return None
        if form == Format.NONE.value:
            raise UsageError("Keys of the format none hold nothing, so none can be looked up: leave out --key-format.")
        columns = None if reading.key_columns is None else given_columns(reading.key_columns)
        context = SerdeContext(spec.topic, Role.KEY)
        given: list[_Write] = []
        versions: _Writers | None = None
        if form != "schema" and Format(form) in SCHEMALESS:
            options: dict[str, Any] = {} if reading.key_delimiter is None else {"delimiter": reading.key_delimiter}
            given = [SCHEMALESS[Format(form)](columns, **options)]
        else:
            registry = self.stack.enter_context(self.connection.registry_client())
            versions = _Writers(registry, Subject(subject_for(spec.topic, Role.KEY)), columns)

        def key_bytes(key: Any) -> Sequence[bytes]:
            row = key if columns is None or isinstance(key, dict) else {columns[0].name: key}
            return [
                written
                for write in (given if versions is None else versions())
                if (written := write(row, context)) is not None
            ]

        return key_bytes


def partitioner_of(name: str) -> Partitioner:
    """
    :raises UsageError: if there is none of this name.
    """
    from pkgutil import resolve_name
    from zlib import crc32

    from srfix.recovery.stores.whereabouts import partition_of

    if ":" not in name:
        known: dict[str, Partitioner] = {"murmur2": partition_of, "crc32": lambda key, count: crc32(key) % count}
        if name not in known:
            raise UsageError(f"--partitioner {name}: give murmur2, crc32 or MODULE:FUNCTION.")
        return known[name]
    try:
        found: Partitioner = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"--partitioner {name} cannot be loaded ({type(error).__name__}: {error}).") from None
    return found


class _Writers:
    """What writes a key under each version of its subject. A version that is registered later is seen within a minute."""

    def __init__(self, registry: RegistryClient, subject: Subject, columns: Columns | None) -> None:
        self._registry = registry
        self._subject = subject
        self._columns = columns
        self._by_version: dict[int, _Write] = {}
        self._asked_s = 0.0

    def __call__(self) -> Sequence[_Write]:
        from srfix.serde.formats.table import format_of
        from srfix.serde.serializer import FRAMED
        from srfix.serde.subjects.strategies import FixedSubject

        if not self._by_version or time.monotonic() - self._asked_s > _VERSIONS_COUNT_S:
            for number in self._registry.versions(self._subject):
                if number not in self._by_version:
                    make = FRAMED[format_of(self._registry.version(self._subject, number).schema.schema_type)]
                    subjects = FixedSubject(key=self._subject)
                    self._by_version[number] = make(
                        self._registry, self._columns, version=number, subjects=subjects, register=False
                    )
            self._asked_s = time.monotonic()
        return list(self._by_version.values())


def _sql(columns: Columns) -> dict[str, str]:
    from srfix.serde.columns.text import print_type

    return {column.name: print_type(column.type) for column in columns}
