"""The engine for a frame, as a callable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from srfix.serde.spark._jvm_read import jvm_read
from srfix.serde.spark._pyspark.arrow import arrow_decoded
from srfix.serde.spark._pyspark.jvm import jvm_decoded
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


def decoding_of(df: DataFrame, plan: ReadPlan, engine: Engine, workers_have_srfix: bool | None) -> Decoding:
    """See `reading.from_registry`."""

    def arrow(payload: Column, headers: Column | None) -> Column:
        return arrow_decoded(plan, payload, headers=headers)

    if engine == "jvm":
        read = jvm_read(plan)
        fallback = (lambda payload: arrow(payload, None)) if workers_have_srfix else None
        return Decoding(
            decoded=lambda payload, _: jvm_decoded(read, payload, fallback=fallback),
            reads_headers=False,
        )
    return Decoding(decoded=arrow, reads_headers=True)
