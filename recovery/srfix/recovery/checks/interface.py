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

__all__ = ["Check", "CheckContext", "Reader", "StreamsVersion"]


class Reader(Enum):
    """What reads the store."""

    CONNECT = "connect"
    """Looks the version up under the subject: Connect's AvroConverter, ksqlDB."""
    PLAIN = "plain"
    """By id alone: KafkaAvroDeserializer, SpecificAvroSerde."""
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

    @property
    def lookup_severity(self) -> Severity:
        """How bad a missing version is for this reader."""
        if self.reader in (Reader.PLAIN, Reader.DUAL):
            return Severity.NOTE
        if self.streams_version is not None and self.streams_version.asks_the_source_subject:
            return Severity.NOTE
        return Severity.BROKEN


Check: TypeAlias = Callable[[StoreFacts, CheckContext], Iterator[Finding]]
"""Yields at most one finding per role."""
