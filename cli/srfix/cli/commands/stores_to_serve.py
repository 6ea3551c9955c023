"""What `srfix serve` finds out before it serves: where a store's rows come from, and how they are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from srfix.cli.commands.state.reading import BY_SCHEMA, RowReading
from srfix.cli.options.connecting import Connection
from srfix.cli.options.options import isolation_of
from srfix.cli.options.values import DUAL_SUBJECT
from srfix.cli.output.speaking import say_aside
from srfix.recovery.stores.choices import Until
from srfix.serde.bounds import CONNECT_SECONDS, REGISTRY_READ_SECONDS
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.properties.kafka_client import Isolation
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
_PATIENCE_S: Final = 2.0
"""How long a registry may be silent while a client waits for rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the rows of a store come from, and how they are kept."""

    from_topic: str | None
    until: Until | None
    isolation: str
    kind: str | None
    retention_ms: int | None
    segment_interval_ms: int | None
    window_size_ms: int | None
    partitioner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresToServe:
    """What srfix finds out about stores, or topics, before it serves them."""

    application: str
    """Empty for topics."""
    cluster: Cluster
    connection: Connection
    layout: Layout
    stack: ExitStack
    wrong_ids: dict[str, dict[str, Sequence[int]]] = field(default_factory=dict)
    """By store and subject."""

    def store(self, named: str, reading: RowReading) -> Served:
        """
        :param named: a store of the application, or a topic, or `NAME=TABLE` with its name in SQL.
        """
        from srfix.recovery.serving.questions import Served

        name, _, table = named.partition("=")
        changelog = changelog_topic(self.application, name) if self.application else Topic(name)
        spec = self._spec(name, changelog)
        source = subject_for(spec.topic, Role.VALUE)
        if reading.key_format is None and (reading.key_columns or reading.key_delimiter):
            reading = replace(reading, key_format=BY_SCHEMA)
        if not self.application and reading.policy is not None:
            reading = replace(reading, subject=reading.subject or source)
        elif reading.policy is None and spec.topic != changelog:
            # What the application wrote is under the phantom subject, what a restore loads under the source's.
            reading = replace(reading, policy=DUAL_SUBJECT, second_subject=reading.second_subject or source)
        asked = _for_one_answer(self.connection)
        decoder = self.stack.enter_context(reading.decoder(asked, application=self.application, store=name))
        keys, values = decoder.columns_of(Role.KEY), decoder.columns_of(Role.VALUE)
        key_bytes, has_framed_keys = self._key_bytes(reading, spec.topic)
        return Served(
            spec=spec,
            decoder=decoder,
            key_bytes=key_bytes,
            has_framed_keys=has_framed_keys,
            columns=None if keys is None or values is None else (_sql(keys), _sql(values)),
            table=table or None,
            window_size_ms=self.layout.window_size_ms,
            partitioner=partitioner_of(self.layout.partitioner),
            wrong_ids=self.wrong_ids.get(name, {}),
        )

    def _spec(self, name: str, changelog: Topic) -> ServedStore:
        from srfix.recovery.cluster.topic_lookup import partitions_of
        from srfix.recovery.facts.isolation import restore_isolation
        from srfix.recovery.serving.partition import ServedStore
        from srfix.recovery.state.writing.kinds import WrittenKind
        from srfix.recovery.state.writing.stores import StoreToWrite

        topic = Topic(self.layout.from_topic or changelog)
        if self.application and self.layout.from_topic is None and topic not in self.cluster.topics():
            topic = self._source(name)
        partitions = partitions_of(self.cluster, topic)
        known = self.cluster.topic_configs(topic)
        configs = known.values or {}
        if known.problem is not None:
            say_aside(
                f"{name}: srfix takes Kafka's defaults for the configuration of {topic}, because {known.problem}."
            )
        policy = configs.get("cleanup.policy", "")
        kind = WrittenKind(self.layout.kind or _KV)
        if self.application and self.layout.kind is None and topic == changelog and _DELETE in policy:
            raise UsageError(f"{topic} has cleanup.policy={policy}, as those of windows and sessions: give --kind.")
        retention_ms = self.layout.retention_ms
        config = "min.compaction.lag.ms" if kind is WrittenKind.VERSIONED else "retention.ms"
        if kind.has_retention and retention_ms is None and int(configs.get(config, -1)) > _ADDITIONAL_RETENTION_MS:
            retention_ms = int(configs[config]) - _ADDITIONAL_RETENTION_MS
            say_aside(f"{name}: the retention is {retention_ms:,} ms, {config} of {topic} less a day.")
        kept_ms = int(configs.get("delete.retention.ms", _TOMBSTONES_MS))
        reads = isolation_of(self.layout.isolation)
        if reads is None and self.application:
            reads = restore_isolation(self.cluster, self.application).isolation
        return ServedStore(
            application=self.application,
            store=StoreToWrite(
                name=name, kind=kind, retention_ms=retention_ms, segment_interval_ms=self.layout.segment_interval_ms
            ),
            topic=topic,
            partitions=len(partitions),
            until=self.layout.until or (Until.END if topic == changelog else Until.COMMITTED),
            isolation=reads or Isolation.READ_COMMITTED,
            tombstones_kept_ms=None if known.is_compacted is False else kept_ms,
            origin=self.cluster.cluster_id,
            topic_id=self.cluster.topic_id(topic),
        )

    def _source(self, name: str) -> Topic:
        """The topic that the store restores from, by a diagnosis, which also finds ids under wrong subjects."""
        from srfix.cli.options.options import READERS, Selection
        from srfix.cli.session import open_session
        from srfix.recovery.cluster.topic_lookup import did_you_mean
        from srfix.recovery.findings import Severity
        from srfix.recovery.ids_in_words import named_ids

        selection = Selection(
            application=self.application, store=name, sources={}, reader=READERS[-1], streams_version=None
        )
        changelog = changelog_topic(self.application, name)
        meant = did_you_mean(changelog, self.cluster.topics())
        say_aside(f"There is no topic {changelog}.{meant} srfix looks for the source topic of {name}.")
        with open_session(self.connection, selection, quiet=True) as session:
            examination = session.examine()
        for finding in examination.diagnosis.findings:
            if finding.store == name and finding.severity is not Severity.NOTE and finding.schema_ids:
                ids = sorted(int(fault.schema_id) for fault in finding.schema_ids)
                self.wrong_ids.setdefault(name, {})[finding.subject] = ids
                say_aside(f"{name}: {finding.subject} lacks {named_ids(ids)} ({finding.code}).")
        for facts in examination.facts:
            if (facts.store.application, facts.store.name) == (self.application, name) and facts.source is not None:
                return facts.source.topic
        raise UsageError(
            f"The evidence does not decide from which topic {name} restores: name it with --from-topic. `srfix diagnose` "
            "says what it knows."
        )

    def _key_bytes(self, reading: RowReading, topic: Topic) -> tuple[KeyBytes | None, bool]:
        """How a key is written: by the format and the columns that were given, or under each version of the subject, which
        asks the registry (True)."""
        from srfix.serde.column_sources.given import given_columns
        from srfix.serde.interface import SerdeContext
        from srfix.serde.serializer import SCHEMALESS

        form = reading.key_format
        if form is None:
            return None, False
        if form == Format.NONE.value:
            raise UsageError("Keys of the format none hold nothing, so none can be looked up: leave out --key-format.")
        columns = None if reading.key_columns is None else given_columns(reading.key_columns)
        context = SerdeContext(topic, Role.KEY)
        given: Sequence[_Write] = ()
        by_version: Callable[[], Sequence[_Write]] | None = None
        if form == BY_SCHEMA or Format(form) not in SCHEMALESS:
            registry = self.stack.enter_context(_for_one_answer(self.connection).registry_client())
            by_version = _by_version(registry, subject_for(topic, Role.KEY), columns)
        else:
            options: dict[str, Any] = {} if reading.key_delimiter is None else {"delimiter": reading.key_delimiter}
            given = (SCHEMALESS[Format(form)](columns, **options),)

        def key_bytes(key: Any) -> Sequence[bytes]:
            row = key if columns is None or isinstance(key, dict) else {columns[0].name: key}
            writers = given if by_version is None else by_version()
            return [written for write in writers if (written := write(row, context)) is not None]

        return key_bytes, by_version is not None


def _for_one_answer(connection: Connection) -> Connection:
    """With less patience for a registry, unless the user has set it: a client waits for an answer meanwhile."""
    settings = connection.registry
    connect_s, read_s = settings.connect_timeout_s, settings.read_timeout_s
    less = replace(
        settings,
        connect_timeout_s=_PATIENCE_S if connect_s == CONNECT_SECONDS else connect_s,
        read_timeout_s=_PATIENCE_S if read_s == REGISTRY_READ_SECONDS else read_s,
        max_retries=settings.max_retries or 0,
    )
    return replace(connection, registry=less)


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


def _by_version(registry: RegistryClient, subject: Subject, columns: Columns | None) -> Callable[[], Sequence[_Write]]:
    """What writes a key under each version of its subject. A version that is registered later is seen within a minute; while
    the registry does not answer, those that are known count."""
    from srfix.serde.formats.table import format_of
    from srfix.serde.serializer import FRAMED
    from srfix.serde.subjects.strategies import FixedSubject

    known: dict[int, _Write] = {}
    subjects, asked_s = FixedSubject(key=subject), 0.0

    def writers() -> Sequence[_Write]:
        nonlocal asked_s
        if not known or time.monotonic() - asked_s > _VERSIONS_COUNT_S:
            asked_s = time.monotonic()
            try:
                for number in set(registry.versions(subject)).difference(known):
                    make = FRAMED[format_of(registry.version(subject, number).schema.schema_type)]
                    known[number] = make(registry, columns, version=number, subjects=subjects, register=False)
            except SrfixError:
                if not known:
                    raise
        return list(known.values())

    return writers


def _sql(columns: Columns) -> dict[str, str]:
    from srfix.serde.columns.text import print_type

    return {column.name: print_type(column.type) for column in columns}
