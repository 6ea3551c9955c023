"""Which schema ids the rows of a store carry on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from srfix.serde.subjects import Role
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    """What the state directories that were handed over hold of one store."""

    rows: int
    """Rows that were read, of all partitions."""
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id the rows whose key or value carries it."""
    unframed: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that carry no id."""
    partitions: tuple[int, ...] = ()
    """The partitions whose store was read to its end, ascending; empty for a global store, which has none."""
    not_read: tuple[str, ...] = ()
    """What could not be read, or only in part, each as a sentence's beginning: a task and why."""
    is_whole: bool = False
    """True if every partition of the source topic was read to its end, with no application running on any of it: only then
    an id that no row carries is not in the store."""

    def ids(self, role: Role) -> frozenset[SchemaId]:
        """The ids that rows carry in this role."""
        return frozenset(self.schema_ids.get(role, {}))
