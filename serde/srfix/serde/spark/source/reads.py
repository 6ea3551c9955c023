"""The decisions of `format("srfix")` on the driver: the plan, the parts, and the end of a micro-batch. No pyspark."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from srfix.serde.columns.half import half_of
from srfix.serde.columns.text import print_columns
from srfix.serde.columns.times import with_times
from srfix.serde.errors import SecretError, UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS
from srfix.serde.properties.registry import open_registry
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.schemas.references import reference_texts
from srfix.serde.spark.read.plan import ReadPlan, newest_columns, plan_read
from srfix.serde.spark.source.frame import SourceFrame
from srfix.serde.spark.source.log import RecordReader, TopicLog
from srfix.serde.spark.source.names import Policy, Tombstones, in_options_words
from srfix.serde.spark.source.offsets import (
    Log,
    StreamCheckpoint,
    check_not_recreated,
    is_recreated,
    limited,
    ranges_of,
    split_ranges,
    stated_offsets,
)
from srfix.serde.spark.source.options import SourceOptions
from srfix.serde.spark.source.task import Part, ReadTask, captured_topic, needed_names
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.subjects.strategies import FixedSubject, TopicSubject

if TYPE_CHECKING:
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.subjects.names import SubjectStrategy


def registry_of(options: SourceOptions) -> RegistryClient | None:
    if not options.registry.urls:
        return None
    client = open_registry(options.registry, options.registry.urls, kafka=options.kafka)
    try:
        pickle.dumps(client)
    except SecretError as error:
        raise SecretError(
            f"{error.message} As an option: registry.basic.auth.user.info=USER:env:NAME, or "
            "registry.bearer.auth.token=file:PATH; the workers read it for themselves. A client certificate in a "
            "Java key store cannot be sent to the workers either: give it as PEM files, "
            "registry.ssl.certificate.location and registry.ssl.key.location."
        ) from None
    return client


def with_columns(options: SourceOptions) -> SourceOptions:
    registry = registry_of(options)  # first: it refuses a literal password
    if options.columns is not None or options.format not in SCHEMA_FORMATS:
        return options
    assert registry is not None  # source_options has checked this
    half, newest = newest_columns(
        registry,
        options.required_topic(),
        ReadSpec(case_rule=options.case_rule, wrap=options.wrap, times=options.times),
        role=options.role,
        format=options.format,
        policy=_policy(options, registry),
    )
    columns = half.known_columns
    # The reader gets only the frame's columns, and uses ksqlDB's default.
    if options.wrap is None and half_of(columns, options.role, None).wrapped != half.wrapped:
        raise UsageError(
            f"The newest schema for the {options.role.value}s of topic {options.topic!r} has one column, "
            f'{columns[0].name}. Set .option("wrap", "{"true" if half.wrapped else "false"}").'
        )
    counts = (
        {} if half.reader_schema is None or options.reader_schema is not None else {options.required_topic(): newest}
    )
    return replace(
        options,
        columns=print_columns(with_times(columns, options.times)),
        newest={topic: (schema.subject, schema.schema_id) for topic, schema in counts.items()},
    )


def plan_of(options: SourceOptions, frame: SourceFrame) -> ReadPlan | None:
    if options.format is None:
        return None
    registry = registry_of(options) if options.format in SCHEMA_FORMATS else None
    with in_options_words():
        return plan_read(
            registry,
            options.required_topic(),
            frame.columns,
            role=options.role,
            format=options.format,
            case_rule=options.case_rule,
            wrap=options.wrap if frame.wrap is None else frame.wrap,
            policy=None if registry is None else _policy(options, registry),
            reader_schema=_reader(options, frame, registry),
            missing_columns=options.missing_columns,
            strict=options.strict,
            times=options.times,
            delimiter=options.delimiter,
        )


def _reader(options: SourceOptions, frame: SourceFrame, registry: RegistryClient | None) -> str | ReaderSchema | None:
    if (
        options.reader_schema is not None
        or registry is None
        or options.topic is None
        or options.topic not in frame.newest
    ):
        return options.reader_schema
    subject, schema_id = frame.newest[options.topic]
    schema = registry.schema_by_id(schema_id, subject=subject).schema
    return ReaderSchema(text=schema.text, references=reference_texts(registry, schema, subject=subject))


def _policy(options: SourceOptions, registry: RegistryClient) -> Resolver:
    match options.policy:
        case Policy.BY_ID:
            return ById(registry)
        case Policy.ONE_SUBJECT:
            return UnderOneSubject(registry, fixed_subject(options))
        case Policy.DUAL_SUBJECT:
            first, second = options.subjects
            return DualSubject(
                registry, first=FixedSubject(key=first, value=first), second=FixedSubject(key=second, value=second)
            )


def fixed_subject(options: SourceOptions) -> SubjectStrategy:
    if not options.subjects:
        return TopicSubject()
    (subject,) = options.subjects
    return FixedSubject(key=subject, value=subject)


def _task(options: SourceOptions, frame: SourceFrame, of_files: Collection[str] | None = None) -> bytes:
    """`of_files` are the columns of a captured topic's files; None to read the topic itself."""
    plan = plan_of(options, frame)
    pickled = None if plan is None else pickle.dumps(plan)
    # These give a bad row's place, and schemas in headers.
    useful = ("partition", "offset", "headers") if frame.columns else ()
    needed = needed_names(frame, options.role)
    records = RecordReader(
        topic=options.topic or "",
        kafka=dict(options.kafka),
        isolation=options.isolation,
        fail_on_data_loss=options.fail_on_data_loss,
        poll_timeout_s=options.poll_timeout_s,
    )
    return pickle.dumps(
        ReadTask(
            frame=frame,
            plan=pickled,
            role=options.role,
            names=(
                *needed,
                *(name for name in useful if name not in needed and (of_files is None or name in of_files)),
            ),
            topic=options.topic,
            records=records if of_files is None else None,
            on_error=options.on_error,
            drops_tombstones=options.tombstones is Tombstones.DROP,
            at_a_time=options.max_records_per_batch,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRead:
    task: bytes
    parts: tuple[Part, ...]
    """Never empty, because Spark would otherwise make an empty task."""

    @classmethod
    def planned(cls, options: SourceOptions, frame: SourceFrame) -> BatchRead:
        if options.path is None:
            return cls(parts=_parts(options) or (None,), task=_task(options, frame))
        captured = captured_topic(options.path, needed_names(frame, options.role))
        return cls(task=_task(options, frame, captured.names), parts=captured.parts or (None,))


def _parts(options: SourceOptions) -> tuple[Part, ...]:
    log = _topic_log(options).now()
    starts = stated_offsets("startingOffsets", options.starting_offsets or "earliest", log)
    ends = stated_offsets("endingOffsets", options.ending_offsets or "latest", log)
    if options.starting_offsets == "latest" or options.ending_offsets == "earliest":
        raise UsageError("A batch read cannot start at latest or end at earliest, because it would be empty.")
    return _split(options, log, starts, ends)


def _split(options: SourceOptions, log: Log, starts: Mapping[int, int], ends: Mapping[int, int]) -> tuple[Part, ...]:
    ranges = ranges_of(log, starts, ends, fail_on_data_loss=options.fail_on_data_loss)
    split = split_ranges(ranges, at_least=options.min_partitions, longest=options.max_records_per_partition)
    return tuple((range_.partition, range_.start, range_.end) for range_ in split)


def _topic_log(options: SourceOptions) -> TopicLog:
    return TopicLog(options.kafka, options.required_topic(), options.isolation, only=options.partitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSpan:
    log: Log
    begun: Mapping[int, int]
    """Partition → its next offset in the checkpoint."""
    starts: Mapping[int, int]
    """Partition → the first offset to read, for every partition of `ends`."""
    ends: Mapping[int, int]
    """Partition → the end of its records (exclusive)."""

    def until(self, ends: Mapping[int, int]) -> dict[str, object]:
        return StreamCheckpoint.of(self.log, {**self.begun, **ends}).to_json()


class StreamRead:
    """A stream's offsets, on the driver. They are the JSON of a `StreamCheckpoint`; nothing is committed elsewhere."""

    def __init__(self, options: SourceOptions, frame: SourceFrame) -> None:
        self._options = options
        self._log = _topic_log(options)
        self._until: Mapping[int, int] | None = None
        self._last_log: Log | None = None
        self.task = _task(options, frame)

    def initial(self) -> dict[str, object]:
        log = self._log.now()
        starts = stated_offsets("startingOffsets", self._options.starting_offsets or "earliest", log)
        return StreamCheckpoint.of(log, starts).to_json()

    def latest(self, start: Mapping[str, object] | None = None, limit: int | None = None) -> dict[str, object]:
        """At most `limit` offsets after `start`."""
        if start is None:
            self._last_log = log = self._log.now()
            return StreamCheckpoint.of(log, log.ends).to_json()
        span = self.offset_span(start)
        ends = span.ends if limit is None else limited(span.starts, span.ends, limit)
        return span.until(ends)

    def offset_span(self, start: Mapping[str, object]) -> OffsetSpan:
        self._last_log = log = self._log.now()
        begun = self._begun(start, log, log.ends)
        # Partitions that appear after `until_now` are left for the next run.
        ends = {
            partition: end if self._until is None else min(end, self._until[partition])
            for partition, end in log.ends.items()
            if self._until is None or partition in self._until
        }
        # A new partition begins at its first record.
        starts = {partition: begun.get(partition, log.starts[partition]) for partition in ends}
        ends = {partition: max(end, starts[partition]) for partition, end in ends.items()}
        return OffsetSpan(log=log, begun=begun, starts=starts, ends=ends)

    def beginning(self) -> dict[str, object]:
        log = self._log.now()
        return StreamCheckpoint.of(log, log.starts).to_json()

    def until_now(self) -> None:
        self._until = self._log.now().ends

    def behind(self) -> dict[str, object]:
        """The end of the topic at the last look, whatever was read."""
        log = self._last_log or self._log.now()
        return StreamCheckpoint.of(log, log.ends).to_json()

    def parts(self, start: Mapping[str, object], end: Mapping[str, object]) -> Sequence[Part]:
        log = self._log.now()
        ends = StreamCheckpoint.from_json(end, log.topic).offsets
        return _split(self._options, log, self._begun(start, log, ends), ends)

    def _begun(self, start: Mapping[str, object], log: Log, ends: Mapping[int, int]) -> Mapping[int, int]:
        """A partition whose log is shorter than before starts again, if that is not an error."""
        begun = StreamCheckpoint.from_json(start, log.topic)
        if self._options.fail_on_data_loss:
            check_not_recreated(begun, log)
            return begun.offsets
        if is_recreated(begun, log):
            return {}
        return {partition: offset for partition, offset in begun.offsets.items() if offset <= ends.get(partition, -1)}
