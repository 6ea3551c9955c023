"""All kinds of evidence for a store's application and source topic. One module per kind, each with `KIND` and `gather`;
`rules` is the table of what counts, and how much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from srfix.recovery.evidence import (
    committed_offsets,
    explicit,
    ksqldb,
    printed_topology,
    row_ids,
    schema_similarity,
    state_directory,
    store_name,
)
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence

Gather: TypeAlias = Callable[[SuspectStore, Survey], Iterator[Evidence]]
"""Yields the evidence of this kind about a store; nothing if there is none."""

ALL: tuple[Gather, ...] = (
    explicit.gather,
    state_directory.gather,
    ksqldb.gather,
    printed_topology.gather,
    store_name.gather,
    committed_offsets.gather,
    schema_similarity.gather,
    row_ids.gather,
)
