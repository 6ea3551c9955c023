"""The options of `format("srfix")`, read and checked. `srfix.serde.spark.source` has the table of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import Format
from srfix.serde.kafka_client import DECIDED_HERE
from srfix.serde.kafka_properties import to_librdkafka
from srfix.serde.registry_properties import RegistrySettings, is_registry_property, registry_settings
from srfix.serde.spark.interface import OnBadRow
from srfix.serde.subjects import Role

__all__ = ["Isolation", "METADATA", "Policy", "SourceOptions", "Tombstones", "Use", "option_names", "source_options"]

METADATA: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
"""A record's columns, as Spark's Kafka source calls them."""

_KAFKA: Final = "kafka."
_REGISTRY: Final = "registry."
_RAW: Final = "raw"
_Words = TypeVar("_Words", bound=Enum)


class Use(Enum):
    """What the options are for."""

    SCHEMA = "a read"
    BATCH = "a batch read"
    STREAM = "a stream"
    FILES = "a read of files (path)"
    WRITE = "a write"


class Policy(Enum):
    """Which schema ids are accepted."""

    BY_ID = "by-id"
    UNDER_ONE_SUBJECT = "under-one-subject"
    DUAL = "dual"


class Isolation(Enum):
    """Whether records of open and aborted transactions are read."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class Tombstones(Enum):
    """What becomes of tombstones."""

    KEEP = "keep"
    DROP = "drop"
    REFUSE = "refuse"
    WRITE = "write"


_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM, Use.FILES})
_TOPIC_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM})
_ALL: Final = frozenset(Use)
_USES: Final[Mapping[str, frozenset[Use]]] = {
    "bootstrap.servers": _ALL,
    "case.rule": _ALL,
    "checkpointLocation": frozenset({Use.WRITE}),  # Spark's own, which it shows to sinks
    "columns": _ALL,
    "endingOffsets": frozenset({Use.SCHEMA, Use.BATCH}),
    "failOnDataLoss": _TOPIC_READS,
    "format": _ALL,
    "includeHeaders": _READS,
    "kafkaConsumer.pollTimeoutMs": _TOPIC_READS,
    "maxOffsetsPerTrigger": frozenset({Use.SCHEMA, Use.STREAM}),
    "maxRecordsPerBatch": _READS,
    "maxRecordsPerPartition": _TOPIC_READS,
    "metadata": _ALL,
    "metadata.prefix": _ALL,
    "minPartitions": _TOPIC_READS,
    "on.error": _READS,
    "path": frozenset({Use.SCHEMA, Use.FILES, Use.STREAM}),
    "policy": _READS,
    "register": frozenset({Use.WRITE}),
    "registry": _ALL,
    "role": _ALL,
    "startingOffsets": _TOPIC_READS,
    "subject": _ALL,
    "subject.first": _READS,
    "subject.second": _READS,
    "tombstones": _ALL,
    "topic": _ALL,
    "wrap": _ALL,
}
"""Option → what it is for."""
_DECIDED: Final = (DECIDED_HERE | {"key.deserializer", "value.deserializer", "acks", "enable.idempotence"}) - {
    "isolation.level"
}
_OTHERS_NAMES: Final = {"subscribe": "topic", "assign": "topic", "subscribepattern": "topic", "schema": "columns"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What the user asked for. Its repr shows no secret."""

    topic: str | None
    """The topic; None if files are read raw."""
    path: str | None
    """Where the files of a captured topic are; None to read the topic itself."""
    kafka: Mapping[str, str] = field(repr=False)
    """Client properties, librdkafka's names; values may be `env:NAME` or `file:PATH`. No `isolation.level`."""
    isolation: Isolation
    """Whether records of open and aborted transactions are read."""
    registry: RegistrySettings
    """How the registry is reached."""
    columns: str | None
    """The rows' columns, as SQL text."""
    format: Format | None
    """What bodies are written in; None to leave the bytes alone (raw)."""
    role: Role
    """Keys or values."""
    case_rule: CaseRule
    """Which field feeds which column."""
    wrap: bool | None
    """Whether a single column stands in a record; None for ksqlDB's default."""
    policy: Policy
    """Which schema ids are accepted."""
    subjects: tuple[str, ...]
    """The subjects that the policy asks, or the one that is written under; none for the topic's own."""
    on_error: OnBadRow
    """What a bad row does."""
    tombstones: Tombstones
    """What becomes of tombstones."""
    metadata: tuple[str, ...] | None
    """Columns of the record beside those of its row; None if the user did not say."""
    metadata_prefix: str
    """What stands before their names."""
    starting_offsets: str | None
    """`earliest`, `latest` or JSON; None for the default."""
    ending_offsets: str | None
    """`earliest`, `latest` or JSON; None for the default."""
    fail_on_data_loss: bool
    """Whether records that are gone are an error."""
    min_partitions: int
    """At least as many tasks, if there are as many records."""
    max_records_per_partition: int | None
    """No task reads a longer range of offsets."""
    max_offsets_per_trigger: int | None
    """No micro-batch reads more."""
    max_records_per_batch: int
    """Records of an Arrow batch."""
    poll_timeout_s: float
    """How long no record may come before a read fails, in seconds."""
    register: bool
    """Whether a writer registers its schema."""

    @property
    def is_raw(self) -> bool:
        """True if the bytes are left alone."""
        return self.format is None

    def required_topic(self) -> str:
        """The topic.

        :raises UsageError: if none was named.
        """
        if self.topic is None:
            raise UsageError('No topic was named. Give .option("topic", NAME).')
        return self.topic


def source_options(options: Mapping[str, str], use: Use) -> SourceOptions:
    """Reads options, whose names may come in any letter case.

    :raises UsageError: if one is unknown, missing, not for this use, or has a value that is none of its words.
    """
    use = Use.FILES if use is Use.BATCH and _has(options, "path") else use
    given = _Given(options, use)
    kafka = given.kafka()
    isolation = _word(Isolation, "kafka.isolation.level", kafka.pop("isolation.level", "read_committed"))
    format_ = _format(given)
    policy = given.word("policy", Policy.BY_ID)
    found = SourceOptions(
        topic=given.get("topic"),
        path=given.get("path"),
        kafka=kafka,
        isolation=isolation,
        registry=given.registry(),
        columns=given.get("columns"),
        format=format_,
        role=given.word("role", Role.VALUE),
        case_rule=given.word("case.rule", CaseRule.UNIQUE),
        wrap=given.flag("wrap") if given.get("wrap") is not None else None,
        policy=policy,
        subjects=_subjects(given, policy),
        on_error=_on_error(given),
        tombstones=_tombstones(given),
        metadata=_metadata(given, is_raw=format_ is None),
        metadata_prefix=given.get("metadata.prefix") or "",
        starting_offsets=given.get("startingOffsets"),
        ending_offsets=given.get("endingOffsets"),
        fail_on_data_loss=given.flag("failOnDataLoss", default=True),
        min_partitions=given.number("minPartitions") or 1,
        max_records_per_partition=given.number("maxRecordsPerPartition"),
        max_offsets_per_trigger=given.number("maxOffsetsPerTrigger"),
        max_records_per_batch=given.number("maxRecordsPerBatch") or 10_000,
        poll_timeout_s=(given.number("kafkaConsumer.pollTimeoutMs") or 120_000) / 1000,
        register=given.flag("register", default=True),
    )
    _check_together(found, use)
    return found


def option_names() -> tuple[str, ...]:
    """Every option but `kafka.…` and `registry.…`."""
    return tuple(_USES)


class _Given:
    """The options by our names for them."""

    def __init__(self, options: Mapping[str, str], use: Use) -> None:
        own = {name: value for name, value in options.items() if not _is_property(name)}
        names = match_fields(tuple(_USES), tuple(own), CaseRule.UNIQUE, where="the options")
        unknown = sorted(own.keys() - set(names.values()))
        if unknown:
            raise _unknown(unknown[0], use)
        self._values = {name: own[written] for name, written in names.items()}
        self._properties = {name: value for name, value in options.items() if _is_property(name)}
        self._use = use
        for name in self._values:
            if use not in _USES[name]:
                raise UsageError(f"The option {name} is not for {use.value}. Leave it out. {_known(use)}")

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def word(self, name: str, default: _Words) -> _Words:
        return _word(type(default), name, self._values.get(name, default.value))

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self._values.get(name)
        if value is None:
            return default
        words = match_fields(("true", "false"), (value,), CaseRule.UNIQUE, where="the value")
        if not words:
            raise UsageError(f"The option {name} is true or false, not {value!r}.")
        return "true" in words

    def number(self, name: str) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and int(value) > 0):
            raise UsageError(f"The option {name} is a whole number from 1 on, not {value!r}.")
        return int(value)

    def kafka(self) -> dict[str, str]:
        given = {
            name.removeprefix(_KAFKA): value for name, value in self._properties.items() if name.startswith(_KAFKA)
        }
        for name in sorted(given.keys() & _DECIDED):
            raise UsageError(
                f"The option kafka.{name} is not taken: this source decides on it itself, as Spark's checkpoint, not a "
                "consumer group, keeps the offsets. Leave it out."
            )
        servers = self._values.get("bootstrap.servers")
        return to_librdkafka(given | ({} if servers is None else {"bootstrap.servers": servers}))

    def registry(self) -> RegistrySettings:
        given = {
            name.removeprefix(_REGISTRY): value
            for name, value in self._properties.items()
            if not name.startswith(_KAFKA)
        }
        url = self._values.get("registry")
        return registry_settings(given | ({} if url is None else {"url": url}))


def _is_property(name: str) -> bool:
    return name.startswith((_KAFKA, _REGISTRY)) or is_registry_property(name)


def _has(options: Mapping[str, str], name: str) -> bool:
    return bool(match_fields((name,), tuple(options), CaseRule.UNIQUE, where="the options"))


def _unknown(name: str, use: Use) -> UsageError:
    near = _OTHERS_NAMES.get(name) or next(iter(difflib.get_close_matches(name, _for(use), n=1)), None)
    hint = f" Did you mean {near}?" if near else ""
    return UsageError(f"There is no option {name}.{hint} {_known(use)}")


def _for(use: Use) -> list[str]:
    return [name for name, uses in _USES.items() if use in uses]


def _known(use: Use) -> str:
    return f"Those for {use.value}: {', '.join(_for(use))}, kafka.…, registry.…."


def _word(kind: type[_Words], name: str, value: str) -> _Words:
    for member in kind:
        if member.value == value:
            return member
    raise UsageError(f"The option {name} is one of {', '.join(member.value for member in kind)}, not {value!r}.")


def _format(given: _Given) -> Format | None:
    value = given.get("format") or Format.AVRO.value
    if value == _RAW:
        return None
    words = [member.value for member in Format if member is not Format.KAFKA]
    if value not in words:
        raise UsageError(f"The option format is one of {', '.join(words)} and {_RAW}, not {value!r}.")
    return Format(value)


def _on_error(given: _Given) -> OnBadRow:
    match given.get("on.error"):
        case None | "fail":
            return "fail"
        case "quarantine":
            return "quarantine"
        case "null":
            return "null"
        case other:
            raise UsageError(f"The option on.error is one of fail, quarantine, null, not {other!r}.")


def _tombstones(given: _Given) -> Tombstones:
    words = (Tombstones.REFUSE, Tombstones.WRITE) if given._use is Use.WRITE else (Tombstones.KEEP, Tombstones.DROP)
    value = given.get("tombstones")
    if value is None:
        return words[0]
    for word in words:
        if word.value == value:
            return word
    raise UsageError(
        f"The option tombstones is one of {', '.join(word.value for word in words)} for {given._use.value}, not {value!r}."
    )


def _subjects(given: _Given, policy: Policy) -> tuple[str, ...]:
    subject, first, second = given.get("subject"), given.get("subject.first"), given.get("subject.second")
    if policy is Policy.DUAL:
        if subject is not None or first is None or second is None:
            raise UsageError("policy=dual needs subject.first and subject.second, and no subject.")
        return first, second
    if first is not None or second is not None:
        raise UsageError("The options subject.first and subject.second go with policy=dual.")
    if subject is not None and policy is Policy.BY_ID and given._use is not Use.WRITE:
        raise UsageError("The option subject goes with policy=under-one-subject.")
    return () if subject is None else (subject,)


def _metadata(given: _Given, *, is_raw: bool) -> tuple[str, ...] | None:
    value = given.get("metadata")
    if is_raw and given._use is not Use.WRITE:
        if value is not None or given.get("metadata.prefix") is not None:
            raise UsageError(
                "With format=raw every column is metadata: leave metadata and metadata.prefix out, and choose columns "
                "by .schema(…)."
            )
        return tuple(name for name in METADATA if name != "headers" or given.flag("includeHeaders"))
    if given.get("includeHeaders") is not None:
        raise UsageError("The option includeHeaders goes with format=raw; otherwise name headers in metadata.")
    if value is None:
        return None
    words = [word.strip() for word in value.split(",") if word.strip()]
    if words in (["all"], ["none"]):
        return METADATA if words == ["all"] else ()
    for word in words:
        if word not in METADATA or words.count(word) > 1:
            raise UsageError(
                f"The option metadata is all, none, or some of {', '.join(METADATA)}, each once: {word!r}."
            )
    return tuple(words)


def _check_together(options: SourceOptions, use: Use) -> None:
    if options.path is not None and options.kafka:
        raise UsageError("Give path, to read files, or bootstrap.servers and topic, to read a topic: not both.")
    if options.path is None:
        options.required_topic()
        if not options.kafka.get("bootstrap.servers"):
            raise UsageError('No Kafka cluster was named. Give .option("bootstrap.servers", "HOST:9092").')
    elif use is Use.STREAM:
        raise UsageError(
            "Files are read once, not as a stream. For a stream of files use spark.readStream.parquet and from_registry."
        )
    elif not options.is_raw:
        options.required_topic()
    needs_registry = options.format in (Format.AVRO, Format.JSON_SR)
    if needs_registry and not options.registry.urls:
        raise UsageError('No schema registry was named. Give .option("registry", "http://HOST:8081").')
