"""The options of `format("srfix")`: name, purpose and parser of each; and a user's options under srfix's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final, TypeVar

from srfix.serde.casing import CaseRule, is_among, is_same, match_fields
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.hints import nearest
from srfix.serde.printable import capitalized
from srfix.serde.properties.kafka_client import DECIDED_HERE, to_librdkafka
from srfix.serde.properties.registry import RegistrySettings, is_registry_property, registry_settings
from srfix.serde.properties.settings_table import Setting, fields_of, taken_by
from srfix.serde.subjects.names import Role

_KAFKA: Final = "kafka."
_REGISTRY: Final = "registry."
_Words = TypeVar("_Words", bound=Enum)


class Policy(Enum):
    BY_ID = "by-id"
    ONE_SUBJECT = "one-subject"
    DUAL_SUBJECT = "dual-subject"


class Tombstones(Enum):
    KEEP = "keep"
    DROP = "drop"
    REFUSE = "refuse"
    WRITE = "write"


class Use(Enum):
    SCHEMA = "a read"
    BATCH = "a batch read"
    STREAM = "a stream"
    FILES = "a read of files (path)"
    WRITE = "a write"


_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM, Use.FILES})
_TOPIC_READS: Final = frozenset({Use.SCHEMA, Use.BATCH, Use.STREAM})
_ALL: Final = frozenset(Use)


def flag(name: str, value: str) -> bool:
    if not is_among(value, ("true", "false")):
        raise UsageError(f"The option {name} must be true or false, not {value!r}.")
    return is_same(value, "true")


def word(kind: type[_Words]) -> Callable[[str, str], _Words]:
    words = {member.value: member for member in kind}
    return lambda name, value: words[one_of(*words)(name, value)]


def one_of(*words: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value not in words:
            near = nearest(value, words, cutoff=0.5)
            hint = f" Did you mean {near}?" if near else ""
            raise UsageError(f"The option {name} must be one of {', '.join(words)}, not {value!r}.{hint}")
        return value

    return check


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise UsageError(f"The option {name} must be a whole number of at least 1, not {value!r}.")
    return int(value)


_OPTIONS: Final[Mapping[str, Setting[Use]]] = {
    "assign": Setting(of=_TOPIC_READS),
    "bootstrap.servers": Setting(of=_ALL),
    "case.rule": Setting(of=_ALL, check=word(CaseRule), default=CaseRule.UNIQUE, field="case_rule"),
    "checkpointLocation": Setting(of=frozenset({Use.WRITE})),  # Spark's own option, which it also passes to sinks
    "columns": Setting(of=_ALL, field="columns"),
    "delimiter": Setting(of=_ALL, field="delimiter"),
    "endingOffsets": Setting(of=frozenset({Use.SCHEMA, Use.BATCH}), field="ending_offsets"),
    "failOnDataLoss": Setting(of=_TOPIC_READS, check=flag, default=True, field="fail_on_data_loss"),
    "format": Setting(of=_ALL),
    "includeHeaders": Setting(of=_READS, check=flag),
    "kafkaConsumer.pollTimeoutMs": Setting(
        of=_TOPIC_READS, check=lambda *given: _number(*given) / 1000, default=120.0, field="poll_timeout_s"
    ),
    "maxOffsetsPerTrigger": Setting(
        of=frozenset({Use.SCHEMA, Use.STREAM}), check=_number, field="max_offsets_per_trigger"
    ),
    "maxRecordsPerBatch": Setting(of=_READS, check=_number, default=10_000, field="max_records_per_batch"),
    "maxRecordsPerPartition": Setting(of=_TOPIC_READS, check=_number, field="max_records_per_partition"),
    "metadata": Setting(of=_ALL),
    "metadata.prefix": Setting(of=_ALL, default="", field="metadata_prefix"),
    "missing.columns": Setting(of=_READS, check=one_of("error", "null"), default="error", field="missing_columns"),
    "minPartitions": Setting(of=_TOPIC_READS, check=_number, default=1, field="min_partitions"),
    "on.error": Setting(of=_READS, check=one_of("fail", "quarantine", "null"), default="fail", field="on_error"),
    "path": Setting(of=frozenset({Use.SCHEMA, Use.FILES, Use.STREAM}), field="path"),
    "policy": Setting(of=_READS, check=word(Policy), default=Policy.BY_ID, field="policy"),
    "register": Setting(of=frozenset({Use.WRITE}), check=flag, default=True, field="register"),
    "times": Setting(of=_ALL),
    "reader.schema": Setting(of=_READS, field="reader_schema"),
    "registry": Setting(of=_ALL),
    "role": Setting(of=_ALL, check=word(Role), default=Role.VALUE, field="role"),
    "startingOffsets": Setting(of=_TOPIC_READS, field="starting_offsets"),
    "strict": Setting(of=_READS, check=flag, default=False, field="strict"),
    "subject": Setting(of=_ALL),
    "subject.first": Setting(of=_READS),
    "subject.second": Setting(of=_READS),
    "subscribe": Setting(of=_READS),
    "subscribePattern": Setting(of=_TOPIC_READS, field="pattern"),
    "tombstones": Setting(of=_ALL),
    "topic": Setting(of=_ALL),
    "wrap": Setting(of=_ALL, check=flag, field="wrap"),
}
_DECIDED: Final = (DECIDED_HERE | {"key.deserializer", "value.deserializer", "acks", "enable.idempotence"}) - {
    "isolation.level"
}
_OTHERS_NAMES: Final = {"schema": "columns"}


class GivenOptions(dict[str, str]):
    def __init__(self, options: Mapping[str, str], use: Use) -> None:
        self._properties = {
            name: value
            for name, value in options.items()
            if name.startswith((_KAFKA, _REGISTRY)) or is_registry_property(name)
        }
        own_options = {name: value for name, value in options.items() if name not in self._properties}
        names = match_fields(tuple(_OPTIONS), tuple(own_options), CaseRule.UNIQUE, where="the options")
        options_sentence = f"The options for {use.value}: {', '.join(taken_by(_OPTIONS, use))}, kafka.…, registry.…."
        if unknown := sorted(own_options.keys() - set(names.values())):
            near = _OTHERS_NAMES.get(unknown[0]) or nearest(unknown[0], taken_by(_OPTIONS, use))
            hint = f" Did you mean {near}?" if near else ""
            raise UsageError(f"There is no option {unknown[0]}.{hint} {options_sentence}")
        super().__init__({name: own_options[written] for name, written in names.items()})
        self.use: Final = use
        for name in self:
            if use not in _OPTIONS[name].of:
                raise UsageError(f"The option {name} is not for {use.value}. Leave it out. {options_sentence}")

    def fields(self) -> dict[str, Any]:
        return fields_of(_OPTIONS, self)

    def kafka(self) -> dict[str, str]:
        client_properties = {
            name.removeprefix(_KAFKA): value for name, value in self._properties.items() if name.startswith(_KAFKA)
        }
        for name in sorted(client_properties.keys() & _DECIDED):
            raise UsageError(
                f"The option kafka.{name} is not allowed: this source sets it itself, because Spark's checkpoint keeps "
                "the offsets, not a consumer group. Leave it out."
            )
        servers = {name: value for name, value in self.items() if name == "bootstrap.servers"}
        return to_librdkafka(client_properties | servers)

    def registry(self) -> RegistrySettings:
        client_properties = {
            name.removeprefix(_REGISTRY): value
            for name, value in self._properties.items()
            if not name.startswith(_KAFKA)
        }
        return registry_settings(client_properties | ({"url": self["registry"]} if "registry" in self else {}))


@contextmanager
def in_options_words() -> Iterator[None]:
    """An argument such as `missing_columns='null'` in an error becomes the option missing.columns (null)."""
    try:
        yield
    except SrfixError as error:
        error.args = (capitalized(_ARGUMENT.sub(_as_option, error.message)),)
        raise


def _as_option(match: re.Match[str]) -> str:
    name, value = match["name"].replace("_", ".").replace("subjects", "subject"), match["value"].strip("'\"")
    value = {"True": "true", "False": "false"}.get(value, value)
    return f"the option {name}" + (f" ({value})" if value and value != "…" else "")


_ARGUMENT: Final = re.compile(
    r"\b(?P<name>missing_columns|reader_schema|case_rule|on_error|subjects|strict|times|wrap|policy)="
    r"(?P<value>'[^']*'|\"[^\"]*\"|True|False|…|)"
)
