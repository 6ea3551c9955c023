"""Which options of `format("srfix")` there are, what each is for, and a user's by our names for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeVar

from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import UsageError
from srfix.serde.kafka_client import DECIDED_HERE
from srfix.serde.kafka_properties import to_librdkafka
from srfix.serde.registry_properties import RegistrySettings, is_registry_property, registry_settings

__all__ = ["GivenOptions", "Use", "has_option", "option_names", "word_of"]

_KAFKA: Final = "kafka."
_REGISTRY: Final = "registry."
_Words = TypeVar("_Words", bound=Enum)


class Use(Enum):
    """What the options are for."""

    SCHEMA = "a read"
    BATCH = "a batch read"
    STREAM = "a stream"
    FILES = "a read of files (path)"
    WRITE = "a write"


_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM, Use.FILES})
_TOPIC_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM})
_ALL: Final = frozenset(Use)
_USES: Final[Mapping[str, frozenset[Use]]] = {
    "assign": _TOPIC_READS,
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
    "missing.columns": _READS,
    "minPartitions": _TOPIC_READS,
    "on.error": _READS,
    "path": frozenset({Use.SCHEMA, Use.FILES, Use.STREAM}),
    "policy": _READS,
    "register": frozenset({Use.WRITE}),
    "reader.schema": _READS,
    "registry": _ALL,
    "role": _ALL,
    "startingOffsets": _TOPIC_READS,
    "strict": _READS,
    "subject": _ALL,
    "subject.first": _READS,
    "subject.second": _READS,
    "subscribe": _READS,
    "subscribePattern": _TOPIC_READS,
    "tombstones": _ALL,
    "topic": _ALL,
    "wrap": _ALL,
}
"""Option → what it is for."""
_DECIDED: Final = (DECIDED_HERE | {"key.deserializer", "value.deserializer", "acks", "enable.idempotence"}) - {
    "isolation.level"
}
_OTHERS_NAMES: Final = {"schema": "columns"}


def option_names() -> tuple[str, ...]:
    """Every option but `kafka.…` and `registry.…`."""
    return tuple(_USES)


class GivenOptions:
    """The options by our names for them."""

    use: Final[Use]
    """What they are for."""

    def __init__(self, options: Mapping[str, str], use: Use) -> None:
        """:raises UsageError: if one is unknown, or not for this use."""
        own = {name: value for name, value in options.items() if not _is_property(name)}
        names = match_fields(tuple(_USES), tuple(own), CaseRule.UNIQUE, where="the options")
        unknown = sorted(own.keys() - set(names.values()))
        if unknown:
            raise _unknown(unknown[0], use)
        self._values = {name: own[written] for name, written in names.items()}
        self._properties = {name: value for name, value in options.items() if _is_property(name)}
        self.use = use
        for name in self._values:
            if use not in _USES[name]:
                raise UsageError(f"The option {name} is not for {use.value}. Leave it out. {_known(use)}")

    def get(self, name: str) -> str | None:
        """The value; None if the user did not say."""
        return self._values.get(name)

    def word(self, name: str, default: _Words) -> _Words:
        """:raises UsageError: if the value is none of the words."""
        return word_of(type(default), name, self._values.get(name, default.value))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """:raises UsageError: if the value is neither true nor false."""
        value = self._values.get(name)
        if value is None:
            return default
        words = match_fields(("true", "false"), (value,), CaseRule.UNIQUE, where="the value")
        if not words:
            raise UsageError(f"The option {name} is true or false, not {value!r}.")
        return "true" in words

    def number(self, name: str) -> int | None:
        """:raises UsageError: if the value is no whole number from 1 on."""
        value = self._values.get(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and int(value) > 0):
            raise UsageError(f"The option {name} is a whole number from 1 on, not {value!r}.")
        return int(value)

    def kafka(self) -> dict[str, str]:
        """Client properties of Kafka, under librdkafka's names.

        :raises UsageError: if one is decided on here, or librdkafka has no such property.
        """
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
        """:raises UsageError: if a property of the registry's client is unknown, or they do not go together."""
        given = {
            name.removeprefix(_REGISTRY): value
            for name, value in self._properties.items()
            if not name.startswith(_KAFKA)
        }
        url = self._values.get("registry")
        return registry_settings(given | ({} if url is None else {"url": url}))


def _is_property(name: str) -> bool:
    return name.startswith((_KAFKA, _REGISTRY)) or is_registry_property(name)


def has_option(options: Mapping[str, str], name: str) -> bool:
    """Whether an option was given, in any letters."""
    return bool(match_fields((name,), tuple(options), CaseRule.UNIQUE, where="the options"))


def _unknown(name: str, use: Use) -> UsageError:
    near = _OTHERS_NAMES.get(name) or next(iter(difflib.get_close_matches(name, _for(use), n=1)), None)
    hint = f" Did you mean {near}?" if near else ""
    return UsageError(f"There is no option {name}.{hint} {_known(use)}")


def _for(use: Use) -> list[str]:
    return [name for name, uses in _USES.items() if use in uses]


def _known(use: Use) -> str:
    return f"Those for {use.value}: {', '.join(_for(use))}, kafka.…, registry.…."


def word_of(kind: type[_Words], name: str, value: str) -> _Words:
    """:raises UsageError: if the value is none of the words."""
    for member in kind:
        if member.value == value:
            return member
    raise UsageError(f"The option {name} is one of {', '.join(member.value for member in kind)}, not {value!r}.")
