"""What is being waited for over a network, told to whoever asked to hear of it: a person before a silent terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Watch: TypeAlias = "Callable[[str], AbstractContextManager[object]]"
"""Words for what is asked → what stands around the wait."""

_watch: Watch = nullcontext


def watch_with(watch: Watch) -> None:
    """Has every wait of this process told to `watch`, in place of the one before."""
    global _watch
    _watch = watch


def waiting(what: str) -> AbstractContextManager[object]:
    """Stands around a question. `what` is who is asked, and what for: `the schema registry at http://registry:8081 (GET
    /subjects)`."""
    return _watch(what)
