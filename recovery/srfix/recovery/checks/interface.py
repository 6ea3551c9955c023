"""Checks: from what was learned of a store to findings. One module per code; each exports `CODE` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from srfix.recovery.commands import Given
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.stores import StoreFacts
from srfix.serde.errors import UsageError
from srfix.serde.registry import RegistryClient
from srfix.serde.subjects import DEFAULT_CONTEXT, Subject

__all__ = ["Check", "CheckContext", "Reader", "StreamsVersion"]


class Reader(Enum):
    """What reads the store."""

    CONNECT = "connect"
    """Looks the version up under the subject: Connect's AvroConverter, ksqlDB."""
    PLAIN = "plain"
    """By id, with no look-up of the version: KafkaAvroDeserializer, SpecificAvroSerde. They name their subject when they
    ask for the id, which matters in a named context."""
    DUAL = "dual"
    """With the dual-subject fallback: srfix, ksqlDB's StaticTopicSerde."""
    UNKNOWN = "unknown"
    """Nobody said."""


@dataclass(frozen=True, slots=True, order=True)
class StreamsVersion:
    """A Kafka Streams version, as far as it matters here."""

    major: int
    """2 in 2.6.3."""
    minor: int
    """6 in 2.6.3."""

    @classmethod
    def parse(cls, text: str) -> StreamsVersion:
        """Reads `2.6` or `2.6.3`.

        :raises UsageError: if the text is no version.
        """
        parts = text.split(".")
        if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
            raise UsageError(f"--streams-version {text}: expected the Kafka Streams version, such as 2.6.3 or 2.7.")
        return cls(int(parts[0]), int(parts[1]))

    @property
    def asks_the_source_subject(self) -> bool:
        """True from 2.7.0 on, which has the fix of KAFKA-10179 (pull request 8902)."""
        return self >= StreamsVersion(2, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What the person said, and the registry for the questions that only some checks ask."""

    registry: RegistryClient
    """Read-only use."""
    reader: Reader = Reader.UNKNOWN
    """What reads the store."""
    streams_version: StreamsVersion | None = None
    """Which Kafka Streams runs; None if nobody said."""
    given: Given = field(default_factory=Given)
    """What the person gave on the command line, for the commands that findings print."""

    def does_without(self, subject: Subject) -> bool:
        """True if this reader needs no version under the subject that it asks.

        A plain deserializer does in the default context. In a named one the registry gives the schema of an id to nobody
        but a subject that holds the id, and Confluent's deserializers name theirs (`getSchemaBySubjectAndId`; seen on
        7.9.9 and 8.3.1).
        """
        if self.reader is Reader.PLAIN:
            return self.registry.context_of(subject) == DEFAULT_CONTEXT
        return self.reader is Reader.DUAL

    def fails_by_id(self, subject: Subject) -> bool:
        """True if a plain deserializer is what reads, and fails on the id under this subject."""
        return self.reader is Reader.PLAIN and not self.does_without(subject)

    def lookup_severity(self, subject: Subject) -> Severity:
        """How bad a version that is missing under a phantom subject is for this reader."""
        if self.does_without(subject):
            return Severity.NOTE
        if self.streams_version is not None and self.streams_version.asks_the_source_subject:
            return Severity.NOTE
        return Severity.BROKEN


Check: TypeAlias = Callable[[StoreFacts, CheckContext], Iterator[Finding]]
"""Yields at most one finding per role."""
