"""pyarrow, loaded when it is needed: it is an extra, and half a second of import."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from srfix.serde.errors import UsageError


def pyarrow() -> ModuleType:
    """The module.

    :raises UsageError: if it is not installed.
    """
    return _loaded("pyarrow")


def pyarrow_compute() -> ModuleType:
    """Its compute functions.

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
