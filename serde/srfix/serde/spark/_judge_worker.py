"""What runs in Spark's Python workers where rows are judged, not kept: payloads → why each cannot be read, if it cannot.

Rows are read as their writers have them: no columns, so nothing is coerced. Whoever judges asks because something may
have changed (a repair): a worker remembers what the registry said for the length of a job only.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from srfix.serde.arrow._pyarrow import pyarrow
from srfix.serde.batches import BadRow, Contexts, deserialize_many
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.interface import Context, SerdeContext
from srfix.serde.resolve import Resolver
from srfix.serde.spark._worker import RememberedRefusals
from srfix.serde.subjects import Role

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FACTORY", "JudgedReader", "RowJudge", "row_judge"]

FACTORY: Final = "srfix.serde.spark._judge_worker:row_judge"
"""What `Shipped` is told."""
_MOST_READERS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReader:
    """Whose reading is judged. Picklable, if the policy is."""

    policy: Resolver
    """Which ids it accepts, under which subjects."""
    topic: str
    """The topic."""
    role: Role
    """Keys or values."""
    job: str
    """What tells this job from others of the same reader: what a worker was refused in an earlier one does not count."""


class RowJudge:
    """What judges the batches of one reader."""

    def __init__(self, reader: JudgedReader) -> None:
        self._deserializer = SchemaDeserializer(RememberedRefusals(reader.policy))
        self._topic, self._role = reader.topic, reader.role

    def __call__(self, payloads: pa.Array, headers: pa.Array) -> pa.Array:
        """`struct<reason, message>`, as long as the payloads: both null where the row can be read, and for a tombstone; else
        a `batches.Reason`'s word and the error's.

        :param payloads: of any binary type.
        :param headers: each record's headers: lists of structs of key and value.
        :raises RegistryError: if the registry could not be asked.
        """
        pa = pyarrow()
        reasons: list[str | None] = [None] * len(payloads)
        messages: list[str | None] = [None] * len(payloads)
        rows = deserialize_many(payloads, self._contexts(headers), self._deserializer, on_error="quarantine")
        for row in rows:
            if isinstance(row, BadRow):
                reasons[row.position] = row.reason.value
                # An error may quote half of a surrogate pair, which no Arrow string holds.
                messages[row.position] = row.error.message.encode(errors="backslashreplace").decode()
        return pa.StructArray.from_arrays(
            [pa.array(reasons, pa.string()), pa.array(messages, pa.string())], names=["reason", "message"]
        )

    def _contexts(self, headers: pa.Array) -> Contexts:
        if not len(headers.flatten()):
            return SerdeContext(self._topic, self._role)
        return [self._with(each) for each in headers.to_pylist()]

    def _with(self, headers: Sequence[dict[str, bytes | None]] | None) -> Context:
        pairs = [(str(header["key"]), header["value"]) for header in headers or ()]
        return SerdeContext(self._topic, self._role, headers=pairs)


@lru_cache(maxsize=_MOST_READERS)
def row_judge(pickled: bytes) -> RowJudge:
    """What judges for a pickled `JudgedReader`: one for each reader, job and process."""
    reader: JudgedReader = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running
    return RowJudge(reader)
