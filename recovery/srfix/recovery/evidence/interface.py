"""Evidence: which topic does a store restore from? One module per kind; each exports `KIND` and `gather`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence

Gather: TypeAlias = Callable[[SuspectStore, Survey], Iterator[Evidence]]
"""Yields what this kind of evidence says of a store; nothing if it says nothing."""
