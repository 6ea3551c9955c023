"""What runs in Spark's Python workers: payloads → rows, reasons and messages, an Arrow batch at a time. No pyspark here.

A worker's process keeps what it has made of a plan, across batches, tasks and jobs. So the registry is asked once for an
id that the plan does not hold, and never again once it is known. That an id is refused is remembered for half a minute
only: a schema that is born while a stream runs is read, and garbage does not become a storm of questions. A registry that
cannot be asked is an error, always: the task fails, and Spark runs it again.

Where rows are judged, not kept, they are read as their writers have them: no columns, so nothing is coerced. Whoever judges
asks because something may have changed (a repair): a worker remembers what the registry said for the length of a job only.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from uuid import UUID

from srfix.serde.arrow.decode import BatchEngine
from srfix.serde.arrow.kernel_wise import KernelWise
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.arrow.value_wise import ValueWise
from srfix.serde.batches.batches import deserialize_many
from srfix.serde.batches.rows import without_frames
from srfix.serde.bounds import bound_payloads
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import NoSubjectError, Reason, ResolveError, SrfixError
from srfix.serde.interface import BadRow, SerdeContext
from srfix.serde.native import kernel
from srfix.serde.resolve.policies import Resolver
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.worker.parts import contexts_with, words_of
from srfix.serde.subjects.names import Role
from srfix.serde.wire import given_schema_id

if TYPE_CHECKING:
    import pyarrow as pa


FORGET_REFUSALS_AFTER_S: Final = 30.0
"""For how long an id that was refused is not asked for again, in seconds."""
_MOST_PLANS: Final = 16


class RememberedRefusals:
    """A policy, and what it refused a moment ago. What it accepted it remembers itself."""

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
        question = (identity, topic, role)
        return self._ask(question, lambda: self._policy.resolve(identity, topic=topic, role=role))

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        question = (guid, topic, role)
        return self._ask(question, lambda: self._policy.resolve_guid(guid, topic=topic, role=role))

    def _ask(self, question: Hashable, ask: Callable[[], ResolvedSchema]) -> ResolvedSchema:
        until, error = self._refused.get(question, (0.0, None))
        if error is not None and self._clock() < until:
            raise error
        try:
            return ask()
        except (ResolveError, NoSubjectError) as refusal:
            self._refused.pop(question, None)
            if len(self._refused) >= self._most:
                del self._refused[next(iter(self._refused))]  # the oldest
            without_frames(refusal)
            self._refused[question] = (self._clock() + self._forget_after_s, refusal)
            raise


class PlanDecoder:
    def __init__(self, plan: ReadPlan) -> None:
        """:raises ColumnError: if Spark's Arrow cannot hold a column."""
        pa = pyarrow()
        bound_payloads(plan.bounds)  # of the process: its deserializers are made with them, as they meet schemas
        patient = plan if plan.policy is None else replace(plan, policy=RememberedRefusals(plan.policy))
        # Each executor has the kernel, or has not.
        engine: BatchEngine = KernelWise if kernel() else ValueWise
        self._decode = engine(patient.deserializer(), plan.columns, plan.role)
        self._topic, self._role = plan.topic, plan.role
        self._context = SerdeContext(plan.topic, plan.role)
        self._row = spark_type(plan.columns)
        self._result = [
            pa.field("row", self._row),
            pa.field("reason", pa.string()),
            pa.field("message", pa.string()),
        ]

    @property
    def type(self) -> pa.StructType:
        """`struct<row, reason, message>`."""
        return pyarrow().struct(self._result)

    def __call__(self, payloads: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        """`struct<row, reason, message>`, as long as the payloads: the row is null where there is a reason, a
        `batches.Reason`'s word (TOMBSTONE too), and only there; the message is null for a tombstone."""
        pa = pyarrow()
        context = self._context if headers is None else contexts_with(headers, self._topic, self._role)
        decoded = self._decode(payloads, context)
        reasons: list[str | None] = [None] * len(payloads)
        messages: list[str | None] = [None] * len(payloads)
        for position in decoded.tombstones:
            reasons[position] = Reason.TOMBSTONE.value
        for bad in decoded.bad:
            reasons[bad.position] = bad.reason.value
            messages[bad.position] = words_of(bad)
        reason = pa.array(reasons, pa.string())
        has_no_row = reason.is_valid() if decoded.tombstones or decoded.bad else None
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(decoded.rows.columns, self._row, strict=True)
        ]
        row = pa.StructArray.from_arrays(columns, fields=list(self._row), mask=has_no_row)
        return pa.StructArray.from_arrays([row, reason, pa.array(messages, pa.string())], fields=self._result)


class FallbackDecoder:
    """What decodes the rows that another engine leaves: nulls are rows that it has read, and cost nothing."""

    def __init__(self, decode: PlanDecoder) -> None:
        self._decode = decode
        self._nothing: pa.Array | None = None

    def __call__(self, payloads: pa.Array) -> pa.Array:
        """As `PlanDecoder`, but null for null: no row, reason or message."""
        size = len(payloads)
        if payloads.null_count == size:
            return self._nulls(size)
        if payloads.null_count == 0:
            return self._decode(payloads)
        pa = pyarrow()
        decoded = self._decode(payloads.drop_null())
        validity = payloads.is_valid().to_pylist()
        number = iter(range(len(decoded)))
        return decoded.take(pa.array([next(number) if one else None for one in validity], pa.int64()))

    def _nulls(self, size: int) -> pa.Array:
        """Batches are of one size, but for the last: the array is made once."""
        if self._nothing is None or len(self._nothing) < size:
            self._nothing = pyarrow().nulls(size, self._decode.type)
        return self._nothing[:size] if len(self._nothing) > size else self._nothing


@lru_cache(maxsize=_MOST_PLANS)
def fallback_decoder(pickled: bytes) -> FallbackDecoder:
    """What decodes under a pickled `ReadPlan` where another engine leaves rows: one for each plan and process."""
    return FallbackDecoder(plan_decoder(pickled))


@lru_cache(maxsize=_MOST_PLANS)
def plan_decoder(pickled: bytes) -> PlanDecoder:
    """What decodes under a pickled `ReadPlan`: one for each plan and process."""
    plan: ReadPlan = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running
    return PlanDecoder(plan)


def spark_type(columns: Columns) -> pa.StructType:
    """Rows of the columns as Spark takes them from Python: as `arrow_schema` has them."""
    return pyarrow().struct(list(arrow_schema(columns)))


FACTORY: Final = "srfix.serde.spark.worker.decode:row_judge"
"""What `Shipped` is told."""
_MOST_READERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReader:
    """Whose reading is judged. Picklable, if the policy is."""

    policy: Resolver
    """Which ids it accepts, under which subjects."""
    topic: str
    role: Role
    job: str
    """What tells this job from others of the same reader: what a worker was refused in an earlier one does not count."""


class RowJudge:
    def __init__(self, reader: JudgedReader) -> None:
        self._deserializer = SchemaDeserializer(RememberedRefusals(reader.policy))
        self._topic, self._role = reader.topic, reader.role

    def __call__(self, payloads: pa.Array, headers: pa.Array) -> pa.Array:
        """`struct<reason, message>`, as long as the payloads: both null where the row can be read, and for a tombstone; else
        a `batches.Reason`'s word and the error's."""
        pa = pyarrow()
        reasons: list[str | None] = [None] * len(payloads)
        messages: list[str | None] = [None] * len(payloads)
        contexts = contexts_with(headers, self._topic, self._role)
        rows = deserialize_many(payloads, contexts, self._deserializer, on_error="quarantine")
        for row in rows:
            if isinstance(row, BadRow):
                reasons[row.position] = row.reason.value
                messages[row.position] = words_of(row)
        return pa.StructArray.from_arrays(
            [pa.array(reasons, pa.string()), pa.array(messages, pa.string())], names=["reason", "message"]
        )


@lru_cache(maxsize=_MOST_READERS)
def row_judge(pickled: bytes) -> RowJudge:
    """What judges for a pickled `JudgedReader`: one for each reader, job and process."""
    reader: JudgedReader = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running
    return RowJudge(reader)
