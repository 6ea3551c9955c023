"""The options of `format("srfix")`, read and checked. `srfix.serde.spark.source` has the table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

from srfix.serde.casing import CaseRule, is_among
from srfix.serde.column_sources.given import given_columns
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.times import Times, WrittenTimes, with_times
from srfix.serde.columns.types import Columns
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS, Format
from srfix.serde.printable import foreign
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.properties.registry import RegistrySettings
from srfix.serde.spark.interface import MissingColumns, OnBadRow
from srfix.serde.spark.read.topics import is_topic_of
from srfix.serde.spark.source.names import GivenOptions, Policy, Tombstones, Use, flag, one_of, word
from srfix.serde.spark.source.offsets import json_or_none
from srfix.serde.subjects.names import Role

RECORD: Final = parse_columns(
    "`key` BYTES, `value` BYTES, `topic` STRING, `partition` INT, `offset` BIGINT, `timestamp` TIMESTAMP, "
    "`timestampType` INT, `headers` ARRAY<STRUCT<`key` STRING, `value` BYTES>>"
)
"""A record's columns as in Spark's Kafka source (`KafkaRecordToRowConverter`)."""
METADATA: Final = tuple(column.name for column in RECORD)

_RAW: Final = "raw"
_OF_SCHEMAS: Final = (
    "missing.columns",
    "policy",
    "reader.schema",
    "register",
    "subject",
    "subject.first",
    "subject.second",
)
_OF_ROWS: Final = ("case.rule", "columns", "delimiter", "on.error", "role", "strict", "times", "wrap")
"""They and `_OF_SCHEMAS` have no effect on raw records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Each field is the option with its name; None if it has no default. The repr shows no secret."""

    topic: str | None
    """The topic; None if files are read raw, or if there may be several topics."""
    topics: Mapping[str, tuple[int, ...] | None]
    """Each with the partitions to read (None for all); empty if there is only one topic."""
    pattern: str | None
    """For whole topic names; None if topics are named."""
    partitions: tuple[int, ...] | None
    """The partitions to read (`assign`), ascending; None for all."""
    path: str | None
    kafka: Mapping[str, str] = field(repr=False)
    """librdkafka's names; values may be `env:NAME` or `file:PATH`. Without `isolation.level`."""
    isolation: Isolation
    registry: RegistrySettings
    columns: Columns | None
    format: Format | None
    """None to leave the bytes unchanged (raw)."""
    role: Role
    case_rule: CaseRule
    wrap: bool | None
    policy: Policy
    subjects: tuple[str, ...]
    on_error: OnBadRow
    tombstones: Tombstones
    metadata: tuple[str, ...] | None
    metadata_prefix: str
    starting_offsets: str | None
    ending_offsets: str | None
    reader_schema: str | None
    missing_columns: MissingColumns
    strict: bool
    times: WrittenTimes
    """`"micros"` only for a writer."""
    delimiter: str | None
    fail_on_data_loss: bool
    min_partitions: int
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    max_records_per_batch: int
    poll_timeout_s: float
    register: bool
    newest: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Topic → subject and id of the newest schema whose columns these are, if its aliases and defaults count."""

    @property
    def is_raw(self) -> bool:
        return self.format is None

    @property
    def is_several(self) -> bool:
        return bool(self.topics) or self.pattern is not None

    def required_topic(self) -> str:
        if self.topic is None:
            raise UsageError('No topic was named. Give .option("topic", NAME).')
        return self.topic


def source_options(options: Mapping[str, str], use: Use) -> SourceOptions:
    """Their names may have any letter case."""
    use = Use.FILES if use is Use.BATCH and is_among("path", options) else use
    given_options = GivenOptions(options, use)
    kafka = given_options.kafka()
    fields, format_, place = given_options.fields(), _format(given_options), _place(given_options)
    _check_format(given_options, format_)
    if fields["path"] is not None and kafka:
        raise UsageError(
            "Give either path, to read files, or bootstrap.servers and topic, to read a topic, but not both."
        )
    isolation = word(Isolation)("kafka.isolation.level", kafka.pop("isolation.level", "read_committed"))
    words = get_args(WrittenTimes if use is Use.WRITE else Times)
    fields["times"] = one_of(*words)("times", given_options.get("times", words[0]))
    if fields["columns"] is not None:
        columns = given_columns(fields["columns"])
        # Under a writer's columns, the schema still has times.
        fields["columns"] = columns if use is Use.WRITE else with_times(columns, fields["times"])
    one = len(place) == 1
    settings = SourceOptions(
        **fields,
        topic=next(iter(place)) if one else None,
        topics={} if one else place,
        partitions=next(iter(place.values())) if one else None,
        kafka=kafka,
        isolation=isolation,
        registry=given_options.registry(),
        format=format_,
        subjects=_subjects(given_options, fields["policy"]),
        tombstones=_tombstones(given_options),
        metadata=_metadata(given_options, is_raw=format_ is None),
    )
    _check_together(settings, use)
    return settings


def _place(given_options: GivenOptions) -> dict[str, tuple[int, ...] | None]:
    """Topic → its partitions, if they were named; empty for a pattern."""
    names = [name for name in ("topic", "subscribe", "subscribePattern", "assign") if name in given_options]
    if len(names) > 1:
        raise UsageError(f"The options {' and '.join(names)} each name the topic. Give only one of them.")
    if not names:
        return {}
    value = given_options[names[0]]
    match names[0]:
        case "assign":
            return _assigned(value)
        case "subscribePattern":
            is_topic_of(value, "")
            return {}
        case "topic":
            return {value: None}
    topics = [topic.strip() for topic in value.split(",")]
    if not all(topics):
        raise UsageError(
            f"The option subscribe must be one or more topics, such as users,orders, not {foreign(value)!r}."
        )
    return dict.fromkeys(topics)


def _assigned(text: str) -> dict[str, tuple[int, ...] | None]:
    document = json_or_none(text)
    by_topic = document if isinstance(document, dict) else {}
    if not by_topic or not all(
        topic and isinstance(numbers, list) and numbers and all(type(one) is int and one >= 0 for one in numbers)
        for topic, numbers in by_topic.items()
    ):
        raise UsageError(
            f'The option assign must be JSON of topics and their partitions, such as {{"users": [0, 2]}}, not '
            f"{foreign(text)!r}."
        )
    return {topic: tuple(sorted(set(numbers))) for topic, numbers in by_topic.items()}


def _format(given_options: GivenOptions) -> Format | None:
    value = given_options.get("format") or Format.AVRO.value
    if value == _RAW:
        return None
    words = [member.value for member in Format if not member.is_bare and member is not Format.NONE]
    if value not in words:
        raise UsageError(f"The option format must be one of {', '.join(words)} and {_RAW}, not {value!r}.")
    return Format(value)


def _check_format(given_options: GivenOptions, format_: Format | None) -> None:
    """:raises UsageError: for an option that has no effect on the format."""
    if format_ in SCHEMA_FORMATS:
        return
    for name in _OF_SCHEMAS:
        if name in given_options:
            words = ", ".join(schema_format.value for schema_format in SCHEMA_FORMATS)
            raise UsageError(f"The option {name} needs a format with schemas: {words}.")
    if format_ is not None:
        return
    for name in (*_OF_ROWS, *(() if given_options.use is Use.WRITE else ("tombstones",))):
        if name in given_options:
            raise UsageError(f"The option {name} does not work with format=raw, which leaves the bytes unchanged.")


def _tombstones(given_options: GivenOptions) -> Tombstones:
    words = ("refuse", "write") if given_options.use is Use.WRITE else ("keep", "drop")
    value = given_options.get("tombstones", words[0])
    if value not in words:
        raise UsageError(
            f"The option tombstones must be one of {', '.join(words)} for {given_options.use.value}, not {value!r}."
        )
    return Tombstones(value)


def _subjects(given_options: GivenOptions, policy: Policy) -> tuple[str, ...]:
    subject, first, second = map(given_options.get, ("subject", "subject.first", "subject.second"))
    if policy is Policy.DUAL_SUBJECT:
        if subject is not None or first is None or second is None:
            raise UsageError(
                "With policy=dual-subject, set subject.first and subject.second, and leave out the option subject."
            )
        return first, second
    if first is not None or second is not None:
        raise UsageError("The options subject.first and subject.second need policy=dual-subject.")
    if subject is not None and policy is Policy.BY_ID and given_options.use is not Use.WRITE:
        raise UsageError("The option subject needs policy=one-subject.")
    return () if subject is None else (subject,)


def _metadata(given_options: GivenOptions, *, is_raw: bool) -> tuple[str, ...] | None:
    value = given_options.get("metadata")
    prefix = given_options.get("metadata.prefix")
    if is_raw:
        if value is not None or prefix is not None:
            choose = ".select(…)" if given_options.use is Use.WRITE else ".schema(…)"
            raise UsageError(
                "With format=raw all columns are metadata, so leave out metadata and metadata.prefix. Choose columns "
                f"with {choose}."
            )
        has_headers = flag("includeHeaders", given_options.get("includeHeaders") or "false")
        return tuple(name for name in METADATA if name != "headers" or has_headers)
    if given_options.get("includeHeaders") is not None:
        raise UsageError("The option includeHeaders needs format=raw; otherwise name headers in metadata.")
    if value is None:
        if prefix is not None:
            raise UsageError("The option metadata.prefix needs the option metadata, which names the columns.")
        return None
    words = [word.strip() for word in value.split(",") if word.strip()]
    if words in (["all"], ["none"]):
        return METADATA if words == ["all"] else ()
    for one in words:
        if one not in METADATA or words.count(one) > 1:
            raise UsageError(
                f"The option metadata must be all, none, or some of {', '.join(METADATA)}, each once: {one!r}."
            )
    return tuple(words)


def _check_together(options: SourceOptions, use: Use) -> None:
    if options.path is not None and options.is_several:
        raise UsageError(
            "A read of files returns the rows of one topic, or raw records of all topics. Read each topic separately, "
            "and union the frames."
        )
    if options.path is None:
        if not options.is_several:
            options.required_topic()
        if not options.kafka.get("bootstrap.servers"):
            raise UsageError('No Kafka cluster was named. Give .option("bootstrap.servers", "HOST:9092").')
    elif use is Use.STREAM:
        raise UsageError(
            "Files are read once, not as a stream. For a stream of files use spark.readStream.parquet and from_registry."
        )
    elif not options.is_raw:
        options.required_topic()
    if options.format in SCHEMA_FORMATS and not options.registry.urls:
        raise UsageError('No schema registry was named. Give .option("registry", "http://HOST:8081").')
