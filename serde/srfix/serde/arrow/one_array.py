"""One Arrow array of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


def one_array(parts: Sequence[pa.Array], what: str) -> pa.Array:
    """The parts as one."""
    arrow = pyarrow()
    problem: Exception | None = None
    array: object = None
    try:
        array = parts[0] if len(parts) == 1 else arrow.concat_arrays(parts)
    except (arrow.ArrowInvalid, TypeError) as error:
        problem = error
    if not isinstance(array, arrow.Array):
        raise UsageError(
            f"In this batch {what} would have more than the 2 GiB that one Arrow array can hold. Make batches smaller."
        ) from problem
    return array
