"""The options of Spark's Kafka source and sink. In pure Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from srfix.serde.casing import is_among, is_same
from srfix.serde.errors import UsageError
from srfix.serde.spark.read.topics import TopicsAsked

Offsets: TypeAlias = str | Mapping[int, int] | Mapping[str, Mapping[int, int]]
"""`earliest`, `latest`, or an offset for each partition; of several topics, for each topic such a mapping."""

Options: TypeAlias = Mapping[str, str | int | bool]
"""Options of the source or the sink, by name."""

_SOURCES: Final = {
    "kafka.bootstrap.servers": "bootstrap_servers",
    "startingoffsets": "starting_offsets",
    "endingoffsets": "ending_offsets",
    "subscribe": "the plans' topics",
    "subscribepattern": "subscribe_pattern=",
    "assign": "assign=",
}
"""Option of the source, in any letters → the parameter that sets it here."""
_SINKS: Final = {"kafka.bootstrap.servers": "bootstrap_servers", "topic": "the plan"}
"""The same for the sink."""

_DOTTED: Final = re.compile(r"(\w+)(\.\w+)+")


def kafka_options(
    asked: TopicsAsked,
    *,
    bootstrap_servers: str,
    starting_offsets: Offsets,
    ending_offsets: Offsets | None,
    options: Options,
) -> dict[str, str]:
    """All options of the source. Headers are read, for schemas that are named there; lost data fails the job.

    :param ending_offsets: None for a stream.
    """
    _check(options, _SOURCES)
    told = {
        "kafka.bootstrap.servers": bootstrap_servers,
        asked.option: asked.value,
        "startingOffsets": _offsets("starting_offsets", asked, starting_offsets),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }
    if ending_offsets is not None:
        told["endingOffsets"] = _offsets("ending_offsets", asked, ending_offsets)
    return _without_doubles(told, options) | {name: _text(value) for name, value in options.items()}


def sink_options(topic: str, *, bootstrap_servers: str, options: Options) -> dict[str, str]:
    """All options of the sink."""
    _check(options, _SINKS)
    ours = {"kafka.bootstrap.servers": bootstrap_servers, "topic": topic}
    return ours | {name: _text(value) for name, value in options.items()}


def _check(options: Options, taken: Mapping[str, str]) -> None:
    for name in options:
        for ours, parameter in taken.items():
            if is_same(ours, name):
                raise UsageError(f"The option {name} is not to be given: {parameter} says it.")
        if (dotted := _DOTTED.fullmatch(name)) and not is_same(dotted[1], "kafka"):
            raise UsageError(
                f"Spark would ignore the option {name}. What is for Kafka's client is called kafka.{name}."
            )


def _offsets(parameter: str, asked: TopicsAsked, offsets: Offsets) -> str:
    if isinstance(offsets, str):
        return offsets
    by_topic = {topic: some for topic, some in offsets.items() if isinstance(topic, str) and isinstance(some, Mapping)}
    if len(by_topic) < len(offsets) or not offsets:
        if len(asked.topics) != 1:
            raise UsageError(
                f"{parameter}= names no topics, and several are read: give {{topic: {{0: 23, 1: -2}}}} for each of them."
            )
        by_topic = {asked.topics[0]: cast("Mapping[int, int]", offsets)}
    return json.dumps(
        {topic: {str(partition): offset for partition, offset in some.items()} for topic, some in by_topic.items()}
    )


def _without_doubles(told: Mapping[str, str], options: Options) -> dict[str, str]:
    # Spark takes an option's name in any letters.
    return {name: value for name, value in told.items() if not is_among(name, options)}


def _text(value: str | int | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
