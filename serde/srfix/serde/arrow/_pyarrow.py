"""pyarrow, loaded when it is needed: it is an extra, and half a second of import."""

from __future__ import annotations

from types import ModuleType

from srfix.serde.errors import UsageError

__all__ = ["pyarrow", "pyarrow_compute"]


def pyarrow() -> ModuleType:
    """The module.

    :raises UsageError: if it is not installed.
    """
    try:
        import pyarrow as module
    except ImportError as error:
        raise UsageError(
            f"Arrow batches need pyarrow, which cannot be imported ({error}). Install the extra: srfix[arrow]."
        ) from error
    return module  # type: ignore[no-any-return, unused-ignore]


def pyarrow_compute() -> ModuleType:
    """Its compute functions.

    :raises UsageError: if it is not installed.
    """
    pyarrow()
    import pyarrow.compute as module

    return module  # type: ignore[no-any-return, unused-ignore]
