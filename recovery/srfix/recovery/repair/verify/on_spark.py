"""A verification of every live row, on Spark, as both readers read it. The executors need srfix and the registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from srfix.recovery.census.interface import Census, PartitionCensus
from srfix.recovery.census.spark_topic import SparkTopics, finished, latest_sql
from srfix.recovery.registry import Registry
from srfix.recovery.repair.plan_file import PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.serde.errors import Reason
from srfix.serde.printable import counted
from srfix.serde.resolve.policies import DualSubject, Resolver, UnderOneSubject
from srfix.serde.spark.worker.decode import JudgedReader
from srfix.serde.subjects.names import Role, Subject, subject_for, within_context_of
from srfix.serde.subjects.strategies import FixedSubject
from srfix.serde.windowed import Window, WindowKind, join

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACES_SHOWN: Final = 3
_ONE, _DUAL = "one_subject", "dual_subject"
_NOT_JUDGED: Final = frozenset({Reason.BAD_SCHEMA.value, Reason.AMBIGUOUS_CASE.value})
"""Reasons that lie in srfix itself, for example a schema for which it has no serde."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    partition: int
    rows: int
    first_offset: int
    reasons: Mapping[str, str | None]
    messages: Mapping[str, str | None]


class EveryRowOnSpark:
    """An `EveryRow` on a session of Spark, classic or Connect, whose workers have srfix; configured as `SparkCensus` is."""

    def __init__(self, spark: SparkSession, config: Mapping[str, str]) -> None:
        self._spark = spark
        self._topics = SparkTopics(spark, config, {})

    def events(
        self,
        finding: PlannedFinding,
        census: Census,
        registry: Registry,
        *,
        window: WindowKind | None = None,
        deadline_s: float | None = None,
    ) -> Iterator[Event]:
        whole = [p for p in census.partitions if p.stopped_early is None and (p.restore_limit or 0) > p.start_offset]
        source = within_context_of(finding.subject, subject_for(finding.source_topic, finding.role))
        first, second = _fixed(finding.role, finding.subject), _fixed(finding.role, source)
        policies: dict[str, Resolver] = {
            _ONE: UnderOneSubject(registry, first),
            _DUAL: DualSubject(registry, first=first, second=second),
        }
        groups: list[_Rows] | None = []
        if whole:
            give_up_at = None if deadline_s is None else time.monotonic() + deadline_s
            jobs = {None: self._job(finding, census, whole, policies, window)}
            with self._topics.failures(census.topic, f"reading every live row of {census.topic}"):
                groups = next((rows for _, rows in finished(self._spark, jobs, give_up_at=give_up_at)), None)
        if groups is None:
            what = f"every live row of {census.topic}: the deadline of {deadline_s:g} s (--deadline) was reached"
            yield NotLookedAt(subject=finding.subject, what=what)
            return
        if not groups:
            yield NotLookedAt(
                subject=finding.subject, what=f"every live row of {census.topic}: Spark found none to read"
            )
            return
        yield from _events(finding.subject, census, groups, _ONE, "under this subject alone")
        for event in _events(finding.subject, census, groups, _DUAL, f"under this subject first, then {source}"):
            yield replace(event, rows=0)  # the same rows once more

    def _job(
        self,
        finding: PlannedFinding,
        census: Census,
        partitions: list[PartitionCensus],
        policies: Mapping[str, Resolver],
        window: WindowKind | None,
    ) -> Callable[[], list[_Rows]]:
        ranges = {p.partition: (p.start_offset, min(p.restore_limit or 0, p.end_offset)) for p in partitions}

        def job() -> list[_Rows]:
            from pyspark.sql import functions as F

            from srfix.serde.spark._pyspark.tasks import judged

            records = self._topics.frame(census.topic, ranges, census.isolation)
            latest = self._spark.sql(latest_sql(finding.role), records=records)
            payload = F.col("payload")
            if window is not None and finding.role is Role.KEY:
                size = len(join(b"", Window(0, 0), window))
                payload = F.expr(f"substring(payload, 1, length(payload) - {size})")
            verdicts = latest.select(
                "partition",
                "offset",
                *(
                    judged(
                        JudgedReader(policy=policy, topic=finding.source_topic, role=finding.role, job=str(uuid4())),
                        payload,
                        F.col("headers"),
                    ).alias(name)
                    for name, policy in policies.items()
                ),
            )
            grouped = verdicts.groupBy(
                "partition", *(F.col(name)["reason"].alias(f"{name}_reason") for name in policies)
            )
            per_id = grouped.agg(
                F.count("*").alias("rows"),
                F.min("offset").alias("first_offset"),
                *(F.min_by(F.col(name)["message"], "offset").alias(f"{name}_message") for name in policies),
            )
            return [
                _Rows(
                    partition=row["partition"],
                    rows=row["rows"],
                    first_offset=row["first_offset"],
                    reasons={name: row[f"{name}_reason"] for name in policies},
                    messages={name: row[f"{name}_message"] for name in policies},
                )
                for row in per_id.collect()
            ]

        return job


def _fixed(role: Role, subject: Subject) -> FixedSubject:
    return FixedSubject(**{role.value: subject})


def _events(subject: Subject, census: Census, groups: list[_Rows], policy: str, how: str) -> Iterator[Event]:
    """The result of one policy. If srfix itself cannot read the schema, this says nothing of the reader."""
    unread = [group for group in groups if group.reasons[policy] in _NOT_JUDGED]
    judged = [group for group in groups if group not in unread]
    bad = [group for group in judged if group.reasons[policy] is not None]
    rows = sum(group.rows for group in judged)
    if bad:
        share = f"{sum(group.rows for group in bad):,} of {counted(rows, 'live row')}"
        sentence = f"{share} of {census.topic} cannot be read {how}, on Spark: "
        yield Problem(subject=subject, what=sentence + _reasons_in_words(bad, policy), rows=rows)
    elif judged:
        sentence = f"all {counted(rows, 'live row')} of {census.topic} can be read {how}, on Spark"
        yield Confirmed(subject=subject, what=sentence, rows=rows)
    if unread:
        share = counted(sum(group.rows for group in unread), "live row")
        sentence = f"whether {share} of {census.topic} can be read {how}, on Spark: "
        yield NotLookedAt(subject=subject, what=sentence + _reasons_in_words(unread, policy))


def _reasons_in_words(of_them: list[_Rows], policy: str) -> str:
    reasons: dict[str, int] = {}
    for group in of_them:
        reason = group.reasons[policy] or ""
        reasons[reason] = reasons.get(reason, 0) + group.rows
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items(), key=lambda item: -item[1]))
    first = sorted(of_them, key=lambda group: (group.partition, group.first_offset))
    places = ", ".join(f"partition {group.partition} offset {group.first_offset}" for group in first[:_PLACES_SHOWN])
    more = ", …" if len(first) > _PLACES_SHOWN else ""
    return f"{counts}; the first ones at {places}{more}. The first one: {first[0].messages[policy]}"
