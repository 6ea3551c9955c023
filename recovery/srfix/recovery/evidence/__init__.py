"""Which topic does a store restore from?"""

from srfix.recovery.evidence import committed_offsets, explicit, schema_similarity, store_name
from srfix.recovery.evidence.interface import Gather
from srfix.recovery.evidence.ranking import candidates, choose

__all__ = ["ALL", "Gather", "candidates", "choose"]

ALL: tuple[Gather, ...] = (
    explicit.gather,
    store_name.gather,
    committed_offsets.gather,
    schema_similarity.gather,
)
"""Every kind of evidence, the best first."""
