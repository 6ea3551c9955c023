"""The engine for a frame or a column, and what it makes of payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import Column
from pyspark.sql import functions as F

from srfix.serde.errors import Reason
from srfix.serde.spark._pyspark.arrow import arrow_decoded, arrow_fallback
from srfix.serde.spark._pyspark.jvm import Judged, judged, jvm_rows, jvm_rows_or_raised
from srfix.serde.spark._pyspark.strict import is_pythons
from srfix.serde.spark.engine_choice import EngineChoice
from srfix.serde.spark.read.jvm.read import JvmRead
from srfix.serde.spark.read.plan import ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """An engine, made for a plan."""

    plan: ReadPlan
    """What is read."""
    read: JvmRead | None
    """What the jvm engine is told; None for the arrow engine."""
    fallback: Callable[[Column], Column] | None = None
    """What reads payloads that the jvm engine knows nothing about (`jvm.jvm_rows`)."""

    @property
    def reads_headers(self) -> bool:
        """False if it is to be given none."""
        return self.read is None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of what it makes."""
        if self.read is None:
            return ("row", "reason", "message")
        return ("row",) if self.fallback is None else ("row", "left")

    def made(self, payload: Column, headers: Column | None = None, name: str | None = None) -> Column:
        """A struct of `names`, to be computed once a row: behind the barrier of `frames`, or in a lambda's array.

        :param payload: binary.
        :param name: the payload in SQL, if it has a name.
        """
        if self.read is None:
            return arrow_decoded(self.plan, payload, headers=headers, behind_barrier=True)
        return jvm_rows(self.read, payload, fallback=self.fallback, name=name)

    def made_or_raised(
        self,
        payload: Column,
        raised: Callable[[Column], Column],
        *,
        problem: Column | None = None,
        name: str | None = None,
    ) -> Column | None:
        """As `made`, a struct of the row alone, where bad rows raise by themselves; None for the arrow engine, whose do not.

        :param raised: what raises, of words.
        """
        if self.read is None:
            return None
        return jvm_rows_or_raised(self.read, payload, raised, fallback=self.fallback, problem=problem, name=name)

    def is_good(self, row: Column) -> Column:
        """Whether there is a row, with nothing but what Python has too; never null. Worth a column of its own."""
        holds = None if self.read is None else is_pythons(self.plan.columns, row)
        return row.isNotNull() if holds is None else row.isNotNull() & holds

    def judged(
        self,
        made: Mapping[str, Column],
        payload: Column,
        *,
        is_good: Column,
        problem: Column | None = None,
        name: str | None = None,
    ) -> Judged:
        """What is said of what `made` gave.

        :param made: its fields, by `names`.
        :param is_good: of its row; it is looked at several times.
        :param problem: what is wrong with the payload's framing, in words, where there is something.
        """
        row = made["row"]
        if self.read is not None:
            return judged(
                self.read, payload, row=row, left=made.get("left"), is_good=is_good, problem=problem, name=name
            )
        reason, message = made["reason"], made["message"]
        is_tombstone = F.coalesce(reason == Reason.TOMBSTONE.value, F.lit(False))
        return Judged(
            row=row,
            is_bad=reason.isNotNull() & ~is_tombstone,
            is_tombstone=is_tombstone,
            why=F.struct(reason.alias("reason"), message.alias("message")),
        )


def decoding_of(plan: ReadPlan, choice: EngineChoice) -> Decoding:
    """The engine that was chosen for a plan."""
    fallback = partial(arrow_fallback, plan) if choice.fallback else None
    return Decoding(plan=plan, read=choice.read, fallback=fallback)
