"""What runs in Spark's Python workers where rows are judged, not kept: payloads → why each cannot be read, if it cannot.

Rows are read as their writers have them: no columns, so nothing is coerced. Whoever judges asks because something may
have changed (a repair): a worker remembers what the registry said for the length of a job only.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.batches.batches import deserialize_many
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.interface import BadRow
from srfix.serde.resolve.policies import Resolver
from srfix.serde.spark.worker.decode import RememberedRefusals
from srfix.serde.spark.worker.parts import contexts_with, words_of
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa

FACTORY: Final = "srfix.serde.spark.worker.judge:row_judge"
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
        """`struct<reason, message>`, as long as the payloads, of any binary type: both null where the row can be read, and
        for a tombstone; else a `batches.Reason`'s word and the error's. Headers are lists of structs of key and value, for
        each record."""
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
