"""The metrics of one diagnosis as a file for node_exporter's textfile collector."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from srfix.serde.errors import ClusterError, RegistryError, SrfixError, UsageError
from srfix.serde.files import refuse_what_is_no_file

if TYPE_CHECKING:
    from srfix.cli.metrics.standing import Standing
    from srfix.recovery.findings import Diagnosis
    from srfix.recovery.watch.events import End


@contextmanager
def metrics_written(path: Path | None) -> Iterator[Callable[[Diagnosis], None]]:
    """Renames the whole file into place when the block ends, also if it fails; without a diagnosis `srfix_up` is 0."""
    if path is None:
        yield lambda _diagnosis: None
        return
    from srfix.cli.metrics.standing import Standing
    from srfix.recovery.watch.events import End, LookEnded

    standing, began = Standing(), time.monotonic()

    def take_diagnosis(diagnosis: Diagnosis) -> None:
        standing.take(LookEnded(diagnosis=diagnosis, duration_s=time.monotonic() - began))

    try:
        yield take_diagnosis
    except SrfixError as error:
        ends = (End.REGISTRY,) if isinstance(error, RegistryError) else (End.KAFKA,)
        _write(path, standing, *(ends if isinstance(error, RegistryError | ClusterError) else tuple(End)))
        raise
    _write(path, standing)


def _write(path: Path, standing: Standing, *down: End) -> None:
    from prometheus_client import CollectorRegistry, write_to_textfile

    from srfix.cli.metrics.standing import Families, Standing

    if down:
        standing = Standing()
        standing.down(*down)
    registry = CollectorRegistry()
    registry.register(Families(standing, is_watch=False))
    try:
        refuse_what_is_no_file(path)
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise UsageError(
            f"The metrics cannot be written to {path}: {error.strerror}. Name a file in the textfile collector's directory."
        ) from error
