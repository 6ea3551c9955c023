"""Runs in Spark's Python workers: payloads → rows, reasons and messages, one Arrow batch at a time. No pyspark here. A
process keeps its decoder for a plan across batches, tasks and jobs, but remembers a refused id for only half a minute:
a schema that is registered while a stream runs is then read. Rows that are only judged are read without columns;
something may have changed (a repair), so answers are remembered for only one job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from srfix.serde.arrow.decode import BatchEngine, ValueWise, arrow_text, reason_columns
from srfix.serde.arrow.kernel_wise import KernelWise
from srfix.serde.arrow.types import arrow_schema, pyarrow, pyarrow_compute
from srfix.serde.batches.rows import deserialize_many, without_frames
from srfix.serde.bounds import bound_payloads, remember
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import NoSubjectError, ResolveError, SrfixError
from srfix.serde.interface import BadRow, Contexts, SerdeContext
from srfix.serde.native import kernel
from srfix.serde.resolve.policies import Resolver
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.worker.pickled import MOST_PLANS, made_once
from srfix.serde.subjects.names import Role
from srfix.serde.wire import given_schema_id

if TYPE_CHECKING:
    import pyarrow as pa


FORGET_REFUSALS_AFTER_S: Final = 30.0


class RememberedRefusals:
    """The policy itself remembers accepted ids."""

    def __init__(
        self,
        policy: Resolver,
        *,
        forget_after_s: float = FORGET_REFUSALS_AFTER_S,
        most: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._forget_after_s = forget_after_s
        self._most = most
        self._clock = clock
        self._refused: dict[Hashable, tuple[float, SrfixError]] = {}

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        identity = given_schema_id(schema_id)
        return self._ask((identity, topic, role), lambda: self._policy.resolve(identity, topic=topic, role=role))

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        return self._ask((guid, topic, role), lambda: self._policy.resolve_guid(guid, topic=topic, role=role))

    def _ask(self, question: Hashable, ask: Callable[[], ResolvedSchema]) -> ResolvedSchema:
        until, error = self._refused.get(question, (0.0, None))
        if error is not None and self._clock() < until:
            raise error
        try:
            return ask()
        except (ResolveError, NoSubjectError) as refusal:
            without_frames(refusal)
            self._refused.pop(question, None)  # the oldest are forgotten first
            remember(self._refused, question, (self._clock() + self._forget_after_s, refusal), self._most)
            raise


def _contexts_with(headers: pa.Array, topic: str, role: Role) -> Contexts:
    """One context for all records if none has headers."""
    plain = SerdeContext(topic, role)
    if not len(headers.flatten()):
        return plain
    pairs = ([(header["key"], header["value"]) for header in of_record or ()] for of_record in headers.to_pylist())
    return [SerdeContext(topic, role, headers=of_record) if of_record else plain for of_record in pairs]


class PlanDecoder:
    def __init__(self, plan: ReadPlan) -> None:
        """:raises ColumnError: if Spark's Arrow cannot hold a column."""
        pa = pyarrow()
        bound_payloads(plan.bounds)  # set for the process, because deserializers use them when they meet schemas
        patient = plan if plan.policy is None else replace(plan, policy=RememberedRefusals(plan.policy))
        # Only some executors may have the kernel.
        engine: BatchEngine = KernelWise if kernel() else ValueWise
        self._decode = engine(patient.deserializer(), plan.columns, plan.role)
        self._topic, self._role = plan.topic, plan.role
        self._context = SerdeContext(plan.topic, plan.role)
        self._row = pa.struct(list(arrow_schema(plan.columns)))
        self._result = [pa.field("row", self._row), *(pa.field(name, pa.string()) for name in ("reason", "message"))]

    @property
    def type(self) -> pa.StructType:
        return pyarrow().struct(self._result)

    def __call__(self, payloads: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        """The row is null if and only if there is a reason (also TOMBSTONE); the message is null for a tombstone."""
        pa = pyarrow()
        context = self._context if headers is None else _contexts_with(headers, self._topic, self._role)
        decoded = self._decode(payloads, context)
        reason, message, _payload = reason_columns(decoded, with_details=True)
        has_no_row = reason.is_valid() if decoded.tombstones or decoded.bad else None
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(decoded.rows.columns, self._row, strict=True)
        ]
        row = pa.StructArray.from_arrays(columns, fields=list(self._row), mask=has_no_row)
        return pa.StructArray.from_arrays([row, reason, message], fields=self._result)


class FallbackDecoder:
    """Nulls are rows that the other engine has read, and cost nothing. What it decodes is in lists of one, because Arrow has
    room for each column also in the rows of a struct that are null, and sends it."""

    def __init__(self, decode: PlanDecoder) -> None:
        self._decode = decode
        self._type = pyarrow().list_(pyarrow().field("element", decode.type))

    def __call__(self, payloads: pa.Array) -> pa.Array:
        """A list of what `PlanDecoder` gives; null gives null."""
        pa = pyarrow()
        if payloads.null_count == len(payloads):
            return pa.nulls(len(payloads), self._type)
        ends = pyarrow_compute().cumulative_sum(payloads.is_valid().cast(pa.int32()))
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        return pa.ListArray.from_arrays(
            offsets, self._decode(payloads.drop_null()), self._type, mask=payloads.is_null()
        )


plan_decoder = made_once(PlanDecoder)


@lru_cache(maxsize=MOST_PLANS)
def fallback_decoder(pickled: bytes) -> FallbackDecoder:
    return FallbackDecoder(plan_decoder(pickled))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReader:
    """Picklable if the policy is."""

    policy: Resolver
    topic: str
    role: Role
    job: str
    """The identity of this job, so that refusals in an earlier job of the same reader do not count."""


def _judge_of(reader: JudgedReader) -> Callable[[pa.Array, pa.Array], pa.Array]:
    deserializer = SchemaDeserializer(RememberedRefusals(reader.policy))

    def judge(payloads: pa.Array, headers: pa.Array) -> pa.Array:
        """Reason and message; both are null if the row can be read, and for a tombstone."""
        pa = pyarrow()
        verdicts: list[dict[str, str]] = [{}] * len(payloads)
        contexts = _contexts_with(headers, reader.topic, reader.role)
        for row in deserialize_many(payloads, contexts, deserializer, on_error="quarantine"):
            if isinstance(row, BadRow):
                verdicts[row.position] = {"reason": row.reason.value, "message": arrow_text(row.message)}
        return pa.array(verdicts, pa.struct({"reason": pa.string(), "message": pa.string()}.items()))

    return judge


row_judge = made_once(_judge_of)
