"""An installation without the libraries of the extra `protobuf`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from srfix.serde.formats import table


@contextmanager
def without_protobuf() -> Iterator[None]:
    """In this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "grpc_tools", None)
        table._known.cache_clear()
        try:
            yield
        finally:
            patch.undo()
            table._known.cache_clear()
