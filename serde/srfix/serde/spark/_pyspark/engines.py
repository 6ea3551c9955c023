"""The engine for a frame, as a callable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession

from srfix.serde.spark._pyspark.arrow import arrow_decoded
from srfix.serde.spark._pyspark.jvm import jvm_decoded
from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.interface import Engine
from srfix.serde.spark.plan import ReadPlan

__all__ = ["Decoding", "decoding_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """An engine, made for a plan."""

    decoded: Callable[[Column, Column | None], Column]
    """Payload in binary, and headers or None → `struct<row: struct<…>, reason: string, message: string>`."""
    reads_headers: bool
    """False if it is to be given none."""
    is_strict: bool = True
    """False if rows are to be looked at for what Python does not have (`_pyspark.strict`)."""


def decoding_of(plan: ReadPlan, spark: SparkSession, engine: Engine, workers_have_srfix: bool | None) -> Decoding:
    """The engine that is asked for, or the one that is picked. Errors as `choosing.choose_engine`."""

    def arrow(payload: Column, headers: Column | None = None) -> Column:
        return arrow_decoded(plan, payload, headers=headers)

    choice = choose_engine(plan, spark, engine, workers_have_srfix=workers_have_srfix)
    read = choice.read
    if read is None:
        return Decoding(decoded=arrow, reads_headers=True)
    fallback = arrow if choice.fallback else None
    return Decoding(
        decoded=lambda payload, _: jvm_decoded(read, payload, fallback=fallback), reads_headers=False, is_strict=False
    )
