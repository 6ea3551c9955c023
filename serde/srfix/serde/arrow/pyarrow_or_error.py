"""Loads pyarrow only when it is needed: it is an extra, and its import takes half a second."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


def pyarrow() -> ModuleType:
    """The module.

    :raises UsageError: if it is not installed.
    """
    return _loaded("pyarrow")


def pyarrow_compute() -> ModuleType:
    """pyarrow's compute functions.

    :raises UsageError: if it is not installed.
    """
    return _loaded("pyarrow.compute")


def _loaded(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"Arrow batches need pyarrow, which cannot be imported ({error}). Install the extra: srfix[arrow]."
        ) from error


def one_array(parts: Sequence[pa.Array], what: str) -> pa.Array:
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
