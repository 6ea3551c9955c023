"""`topology.optimization`, as a person gives it: which of Kafka Streams' optimisations are in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from srfix.serde.errors import UsageError

NONE: Final = "none"
ALL: Final = "all"
REUSE: Final = "reuse.ktable.source.topics"
SINGLE: Final = (REUSE, "merge.repartition.topics", "single.store.self.join")
"""What a list may hold, from 3.4 on (KAFKA-14209, `StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIGS`)."""


@dataclass(frozen=True, slots=True)
class Optimization:
    """The setting that is in force: in the properties of `KafkaStreams` and in those of `builder.build(properties)`."""

    values: tuple[str, ...] | None = None
    """What it lists, in the order given; None if nobody said."""

    @property
    def reuses_source_topics(self) -> bool | None:
        """Whether a table's source topic serves as its changelog; None if nobody said."""
        return None if self.values is None else bool({ALL, REUSE} & set(self.values))

    def __str__(self) -> str:
        return "not said" if self.values is None else ",".join(self.values)


def parse_optimization(text: str | None) -> Optimization:
    """Reads `none`, `all`, or a comma-separated list; None is a setting that nobody knows.

    :raises UsageError: if Kafka Streams would not take the value (`StreamsConfig.verifyTopologyOptimizationConfigs`).
    """
    if text is None:
        return Optimization()
    values = tuple(value.strip() for value in text.split(","))
    unknown = [value for value in values if value not in (NONE, ALL, *SINGLE)]
    if unknown:
        raise UsageError(
            f"--optimization {text!r}: {unknown[0]!r} is no value of topology.optimization. It is {NONE}, {ALL}, or a list "
            f"of {', '.join(SINGLE)}."
        )
    if len(values) > 1 and {NONE, ALL} & set(values):
        raise UsageError(f"--optimization {text!r}: {NONE} and {ALL} stand alone, as Kafka Streams wants it.")
    return Optimization(values)
