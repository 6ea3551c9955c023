"""Reports waits for the network to a function, so that a command can tell a user at a silent terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Watch: TypeAlias = "Callable[[str], AbstractContextManager[object]]"
"""A text about the request → a context manager around the wait."""

_watch: Watch = nullcontext


def watch_with(watch: Watch) -> None:
    """Reports every wait of this process to `watch`, which replaces the previous function."""
    global _watch
    _watch = watch


def waiting(what: str) -> AbstractContextManager[object]:
    """A context manager around a request, such as "the schema registry at http://registry:8081 (GET /subjects)"."""
    return _watch(what)
