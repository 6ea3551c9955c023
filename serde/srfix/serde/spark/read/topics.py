"""Several topics in one read: the plan for each topic, and the common columns of their rows. Also the options of
Spark's Kafka source and sink. Pure Python.

A plan belongs to one topic, because its subjects do. So each of several topics needs a plan, and a row is read with the
plan of its topic:

| plans | topics that are read |
|---|---|
| one plan | its topic |
| a sequence of plans | each plan's topic |
| a mapping | its keys, each with its plan: a retry topic with the plan of the topic whose records it holds |
| one plan that looks up ids without a subject (`ById`) or has no schemas | any topic, with `subscribe_pattern` or `assign` |

Letter case distinguishes topics, as in Kafka: `Users` is not `users`. A row has the columns of all plans, in the plans'
order; columns that its own plan lacks are null. If two plans have a column with the same name, its type must be the
same. Names that differ only in letter case are refused, because Spark would not distinguish them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from srfix.serde.casing import declared_name, is_among, is_same
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import Column, Columns
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.java_ints import INT_MAX, is_long
from srfix.serde.printable import foreign
from srfix.serde.resolve.policies import ById
from srfix.serde.spark.errors import OTHER_PARTITIONS
from srfix.serde.spark.interface import first_ones
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.subjects.names import Role

Plans: TypeAlias = "ReadPlan | Sequence[ReadPlan] | Mapping[str, ReadPlan]"
"""One plan, or one for each topic: in a sequence, each plan is for its own topic; in a mapping, for the key."""

Assignment: TypeAlias = Mapping[str, Iterable[int]]
"""Topic → the partitions to read."""

_NAMED: Final = 3
_NO_PATTERN: Final = re.compile(r"(?m)^[^\n]*?([A-Z][^\n:]*) near index [0-9]+$")
"""Java's message about an invalid regular expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlans:
    by_topic: Mapping[str, ReadPlan]
    """In the given order."""
    columns: Columns

    @property
    def role(self) -> Role:
        return next(iter(self.by_topic.values())).role

    @property
    def shared(self) -> tuple[tuple[ReadPlan, tuple[str, ...]], ...]:
        topics_by_plan: dict[ReadPlan, list[str]] = {}
        for topic, plan in self.by_topic.items():
            topics_by_plan.setdefault(plan, []).append(topic)
        return tuple((plan, tuple(topics)) for plan, topics in topics_by_plan.items())

    @property
    def name(self) -> str:
        """Only the first ones if there are many."""
        return first_ones(self.by_topic, _NAMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsAsked:
    option: str
    value: str
    topics: tuple[str, ...]
    """None are named for a pattern."""

    @property
    def words(self) -> str:
        if not self.topics:
            return f"a topic that matches {foreign(self.value)!r}"
        named = ", ".join(repr(foreign(topic)) for topic in self.topics)
        return f"the topic {named}" if len(self.topics) == 1 else f"one of the topics {named}"

    def error_of(self, text: str) -> UsageError | None:
        """None if Spark's message is not about the pattern or the partitions."""
        if self.option == "subscribePattern" and (match := _NO_PATTERN.search(text)) is not None:
            return UsageError(
                f"subscribe_pattern= is not a Java regular expression: {foreign(match[1])}, in {foreign(self.value)!r}."
            )
        if self.option == "assign" and re.search(OTHER_PARTITIONS, text):
            return UsageError(
                f"assign= ({foreign(self.value)}) names a partition that its topic lacks, or the offsets name other partitions "
                "than assign= does. Spark would leave such a partition out."
            )
        return None


def topic_plans(plans: Sequence[ReadPlan] | Mapping[str, ReadPlan]) -> TopicPlans:
    pairs = list(plans.items()) if isinstance(plans, Mapping) else [(plan_given(plan).topic, plan) for plan in plans]
    if not pairs:
        raise UsageError("There is no plan. Give one for each topic.")
    by_topic: dict[str, ReadPlan] = {}
    for topic, plan in pairs:
        _check_topic(topic, "A mapping of plans")
        if topic in by_topic:
            raise UsageError(
                f"Two plans are for the topic {topic!r}. Give one for each topic; keys and values need two transformations."
            )
        by_topic[topic] = plan_given(plan)
    if len({plan.role for plan in by_topic.values()}) > 1:
        raise UsageError(
            "Some plans read keys, and other plans read values. Read the values of all topics, and then transform the frame "
            "again with the plans of their keys: df.transform(from_registry(key_plans))."
        )
    return TopicPlans(by_topic=by_topic, columns=_together(by_topic))


def topics_asked(
    plans: Plans, *, subscribe_pattern: str | None = None, assign: Assignment | None = None
) -> TopicsAsked:
    if subscribe_pattern is not None and assign is not None:
        raise UsageError("subscribe_pattern= and assign= each choose the topics to read. Give only one of them.")
    all_plans = topic_plans([plans] if isinstance(plans, ReadPlan) else plans)
    only = plans if isinstance(plans, ReadPlan) else None
    if subscribe_pattern is not None:
        if only is not None:
            _require_any_topic(only, "subscribe_pattern")
        if not isinstance(subscribe_pattern, str):
            raise UsageError(f"subscribe_pattern= is a string, not {type(subscribe_pattern).__name__}.")
        if not subscribe_pattern:
            raise UsageError("subscribe_pattern= is empty, and matches no topic. Give a Java regular expression.")
        return TopicsAsked(option="subscribePattern", value=subscribe_pattern, topics=())
    if assign is None:
        topics = tuple(all_plans.by_topic)
        return TopicsAsked(option="subscribe", value=",".join(topics), topics=topics)
    partitions = _partitions(assign)
    if lacking := [topic for topic in partitions if topic not in all_plans.by_topic]:
        if only is None:
            raise UsageError(
                f"assign= names the topic {lacking[0]!r}, which has no plan; there are plans for {all_plans.name}. Letter case "
                "counts."
            )
        _require_any_topic(only, "assign")
    elif idle := [topic for topic in all_plans.by_topic if topic not in partitions]:
        raise UsageError(f"assign= does not name the topic {idle[0]!r}, which has a plan. Leave the plan out.")
    if not partitions:
        raise UsageError("assign= names no topic.")
    return TopicsAsked(option="assign", value=json.dumps(partitions), topics=tuple(partitions))


def plan_given(plan: object, more: str = "") -> ReadPlan:
    """The plan, if the value is one; otherwise an error that ends with `more`."""
    if not isinstance(plan, ReadPlan):
        raise UsageError(f"A plan must come from plan_read, but this is {type(plan).__name__}. {more}".rstrip())
    return plan


def _check_topic(topic: object, who: str) -> None:
    if not isinstance(topic, str) or not topic:
        raise UsageError(f"{who} must name topics by strings, but {topic!r} is not a topic's name.")


def _partitions(assign: Assignment) -> dict[str, list[int]]:
    if not isinstance(assign, Mapping):
        raise UsageError(
            f"assign= is a mapping from topics to partitions, {{'users': [0, 2]}}, not {type(assign).__name__}."
        )
    by_topic: dict[str, list[int]] = {}
    for topic, partitions in assign.items():
        _check_topic(topic, "assign=")
        numbers = list(partitions) if isinstance(partitions, Iterable) else []
        if not numbers or not all(type(one) is int and 0 <= one <= INT_MAX for one in numbers):
            raise UsageError(
                f"assign= names no partitions of the topic {topic!r}. Give, for example, {{{topic!r}: [0, 2]}}."
            )
        by_topic[topic] = sorted(set(numbers))
    return by_topic


def _require_any_topic(plan: ReadPlan, parameter: str) -> None:
    if plan.policy is not None and not isinstance(plan.policy, ById):
        raise UsageError(
            f"{parameter}= may give rows of any topic, but this plan asks subjects of the topic {plan.topic!r} "
            f"({type(plan.policy).__name__}). Give a plan for each topic, {{topic: plan}}, or one plan with the policy "
            "ById, which looks up ids without a subject."
        )


def _together(by_topic: Mapping[str, ReadPlan]) -> Columns:
    by_name: dict[str, tuple[str, Column]] = {}
    for topic, plan in by_topic.items():
        for column in plan.columns:
            first, first_column = by_name.setdefault(column.name, (topic, column))
            if first_column.type != column.type:
                raise ColumnError(
                    f"The column {column.name} is {print_type(first_column.type)} in the topic {first!r} and "
                    f"{print_type(column.type)} in {topic!r}. Plan both with the same type, or read the topics one "
                    "by one."
                )
    if len(by_topic) > 1:
        _check_letters(by_topic, by_name)
    return tuple(column for _, column in by_name.values())


def _check_letters(by_topic: Mapping[str, ReadPlan], by_name: Mapping[str, tuple[str, Column]]) -> None:
    """Within one plan, such names are the user's choice. In two plans, nobody meant them to be two columns."""
    by_letters: dict[str, str] = {}
    for name, (topic, _) in by_name.items():
        other = by_letters.setdefault(declared_name(name), name)
        if other != name and not any(
            {name, other} <= {column.name for column in plan.columns} for plan in by_topic.values()
        ):
            raise ColumnError(
                f"The column {other} of the topic {by_name[other][0]!r} and {name} of {topic!r} differ only in "
                "letter case, and Spark does not distinguish them. Use the same spelling in the plans of both "
                "topics: the case of the writer's field names does not matter."
            )


def is_topic_of(pattern: str, topic: str) -> bool:
    """The whole name counts, as in Spark's Kafka source."""
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error as error:
        raise UsageError(f"subscribePattern must be a regular expression for the names of topics: {error}.") from None


Offsets: TypeAlias = str | Mapping[int, int] | Mapping[str, Mapping[int, int]]
"""`earliest`, `latest`, or an offset for each partition; for several topics, such a mapping for each topic."""

Options: TypeAlias = Mapping[str, str | int | bool]

_SOURCES: Final = {
    "kafka.bootstrap.servers": "bootstrap_servers",
    "startingoffsets": "starting_offsets",
    "endingoffsets": "ending_offsets",
    "subscribe": "the plans' topics",
    "subscribepattern": "subscribe_pattern=",
    "assign": "assign=",
}
"""Option of the source, in any letter case → the parameter that sets it here."""
_SINKS: Final = {"kafka.bootstrap.servers": "bootstrap_servers", "topic": "the plan"}

_DOTTED: Final = re.compile(r"(\w+)(\.\w+)+")


def kafka_options(
    selection: TopicsAsked,
    bootstrap_servers: str,
    starting_offsets: Offsets,
    ending_offsets: Offsets | None,
    options: Options,
) -> dict[str, str]:
    """Without ending offsets, those of a stream. Headers are read, because they may name schemas."""
    _check(options, _SOURCES)
    spark_options = {
        "kafka.bootstrap.servers": bootstrap_servers,
        selection.option: selection.value,
        "startingOffsets": _offsets("starting_offsets", selection, starting_offsets),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }
    if ending_offsets is not None:
        spark_options["endingOffsets"] = _offsets("ending_offsets", selection, ending_offsets)
    # Spark ignores the letter case of an option's name.
    ours = {name: value for name, value in spark_options.items() if not is_among(name, options)}
    return ours | {name: _text(value) for name, value in options.items()}


def sink_options(topic: str, *, bootstrap_servers: str, options: Options) -> dict[str, str]:
    _check(options, _SINKS)
    ours = {"kafka.bootstrap.servers": bootstrap_servers, "topic": topic}
    return ours | {name: _text(value) for name, value in options.items()}


def _check(options: Options, taken: Mapping[str, str]) -> None:
    for name in options:
        for ours, parameter in taken.items():
            if is_same(ours, name):
                raise UsageError(f"Do not give the option {name}: {parameter} already sets it.")
        if (dotted := _DOTTED.fullmatch(name)) and not is_same(dotted[1], "kafka"):
            raise UsageError(f"Spark would ignore the option {name}. For the Kafka client, write kafka.{name}.")


def _offsets(parameter: str, selection: TopicsAsked, offsets: Offsets) -> str:
    if isinstance(offsets, str):
        return offsets
    by_topic = {topic: some for topic, some in offsets.items() if isinstance(topic, str) and isinstance(some, Mapping)}
    if len(by_topic) < len(offsets) or not offsets:
        if len(selection.topics) != 1:
            raise UsageError(
                f"{parameter}= names no topics, but several are read: give {{topic: {{0: 23, 1: -2}}}} for each of them."
            )
        by_topic = {selection.topics[0]: cast("Mapping[int, int]", offsets)}
    for topic, some in by_topic.items():
        for partition, offset in some.items():
            if not str(partition).isdecimal() or not is_long(offset):
                raise UsageError(
                    f"{parameter}= gives {offset!r} as the offset of the partition {partition!r} of the topic {topic!r}. Give "
                    "an offset for each partition: {0: 23, 1: -2}."
                )
    return json.dumps(
        {topic: {str(partition): offset for partition, offset in some.items()} for topic, some in by_topic.items()}
    )


def _text(value: str | int | bool) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
