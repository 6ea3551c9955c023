"""Which topic does a store restore from?"""

from srfix.recovery.evidence import (
    committed_offsets,
    explicit,
    ksqldb,
    printed_topology,
    schema_similarity,
    state_directory,
    store_name,
)
from srfix.recovery.evidence.interface import Gather
from srfix.recovery.evidence.ranking import candidates, choose

__all__ = ["ALL", "Gather", "candidates", "choose"]

ALL: tuple[Gather, ...] = (
    explicit.gather,
    state_directory.gather,
    ksqldb.gather,
    printed_topology.gather,
    store_name.gather,
    committed_offsets.gather,
    schema_similarity.gather,
)
"""Every kind of evidence, the best first."""
