"""The engine for a frame, as a callable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, SparkSession

from srfix.serde.spark._pyspark.arrow import arrow_decoded, arrow_fallback
from srfix.serde.spark._pyspark.jvm import jvm_decoded
from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.interface import Engine
from srfix.serde.spark.plan import ReadPlan

__all__ = ["Decode", "Decoding", "decoding_of"]


class Decode(Protocol):
    """An engine's column."""

    def __call__(self, payload: Column, headers: Column | None, /, name: str | None = None) -> Column:
        """`struct<row: struct<…>, reason: string, message: string>`.

        :param payload: binary.
        :param name: the payload in SQL, if it has a name.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """An engine, made for a plan."""

    decoded: Decode
    """What decodes, for the barrier of `frames`."""
    reads_headers: bool
    """False if it is to be given none."""
    is_strict: bool = True
    """False if rows are to be looked at for what Python does not have (`_pyspark.strict`)."""


def decoding_of(plan: ReadPlan, spark: SparkSession, engine: Engine, workers_have_srfix: bool | None) -> Decoding:
    """The engine that is asked for, or the one that is picked. Errors as `choosing.choose_engine`."""

    def arrow(payload: Column, headers: Column | None, /, name: str | None = None) -> Column:
        return arrow_decoded(plan, payload, headers=headers, behind_barrier=True)

    choice = choose_engine(plan, spark, engine, workers_have_srfix=workers_have_srfix)
    read = choice.read
    if read is None:
        return Decoding(decoded=arrow, reads_headers=True)

    def left(payload: Column) -> Column:
        return arrow_fallback(plan, payload)

    fallback = left if choice.fallback else None

    def jvm(payload: Column, headers: Column | None, /, name: str | None = None) -> Column:
        return jvm_decoded(read, payload, fallback=fallback, name=name)

    return Decoding(decoded=jvm, reads_headers=False, is_strict=False)
