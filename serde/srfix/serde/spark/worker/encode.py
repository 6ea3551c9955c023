"""Runs in Spark's Python workers: rows → payloads, one Arrow batch at a time. No pyspark here, and no registry, because
the plan's schema was registered before the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srfix.serde.arrow.decode import arrow_text
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.arrow.types import pyarrow, pyarrow_compute
from srfix.serde.spark.worker.pickled import made_once
from srfix.serde.spark.write.plan import WritePlan
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa


class PlanEncoder:
    def __init__(self, plan: WritePlan) -> None:
        self._serializer = plan.serializer()
        self._context = plan.context()
        self._is_bare_value = not plan.wrapped and plan.role is Role.VALUE

    def __call__(self, rows: pa.StructArray) -> pa.StructArray:
        """One of `payload` and `message` is null; for a null row both are."""
        pa, compute = pyarrow(), pyarrow_compute()
        is_null = compute.is_null(rows)
        if self._is_bare_value and rows.type.num_fields == 1:
            is_null = compute.or_(is_null, compute.is_null(compute.struct_field(rows, 0)))
        encoded = from_arrow(
            rows, self._serializer, self._context, tombstones=is_null, on_error="quarantine", time_unit="us"
        )
        payloads = encoded.payloads
        messages: list[str | None] = [None] * len(rows)
        if encoded.bad:
            places: list[int | None] = [None] * len(rows)
            for place, position in enumerate(encoded.positions.to_pylist()):
                places[position] = place
            payloads = payloads.take(pa.array(places, pa.int64()))
            for bad in encoded.bad:
                messages[bad.position] = arrow_text(bad.message)
        return pa.StructArray.from_arrays([payloads, pa.array(messages, pa.string())], ["payload", "message"])

    def payloads(self, rows: pa.RecordBatch, tombstones: Sequence[bool]) -> pa.Array:
        """Errors as in `from_arrow`."""
        return from_arrow(rows, self._serializer, self._context, tombstones=tombstones)


plan_encoder = made_once(PlanEncoder)
