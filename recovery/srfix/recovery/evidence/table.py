"""Whose store is it, and which topic does it restore from? `rules` is the table of what counts, and how much."""

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
from srfix.recovery.evidence.interface import Gather

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
"""Every kind of evidence of a source topic, the best first."""
