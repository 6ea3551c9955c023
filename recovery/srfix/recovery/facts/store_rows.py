"""What the rows of a store on disk tell: which schema ids they carry, and whether a processor filled them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    """What the state directories that were handed over hold of one store."""

    rows: int
    """Rows that were read, of all partitions."""
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id the rows whose key or value carries it; of keys only where they are a schema registry's."""
    found_in: Mapping[Role, Mapping[SchemaId, tuple[int, ...]]] = field(default_factory=dict)
    """Per role and id the partitions in whose store such rows are, ascending; none for a global store."""
    guids: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that name their schema by GUID, whose ids are not known."""
    unframed: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that carry no id."""
    partitions: tuple[int, ...] = ()
    """The partitions whose store was read to its end, ascending; empty for a global store, which has none."""
    not_read: tuple[str, ...] = ()
    """What could not be read, or only in part, or may be more than what was read, each as a sentence's beginning: a task and
    why."""
    could_hide: bool = False
    """True if damage or a missing library kept rows back, which may carry ids that the registry has lost."""
    is_whole: bool = False
    """True if every partition of the source topic was read to its end, with no application running on any of it: only then
    an id that no row carries is not in the store.

    It claims that the directories, as they were handed over, hold every row that the application has committed: no process
    holds them, every database was read to its end, and the offset that stands in the checkpoint (or in the store, from 4.3
    on) has reached the group's committed offset. Kafka Streams writes that offset after it has flushed the rows (up to 4.2),
    or together with them (4.3 and later), so that nothing up to it can be in a memtable alone, as in a copy of a running
    application's directory. It claims nothing of other copies of the same partitions: of a standby elsewhere, or of an
    instance that has restored since the directory was copied.
    """

    def ids(self, role: Role) -> frozenset[SchemaId]:
        """The ids that rows carry in this role."""
        return frozenset(self.schema_ids.get(role, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedRows:
    """A global store that a processor of the user's own fills, or may, and what a restore would change in it."""

    processor: str | None = None
    """The name that a person gave to the processor; None where no topology shows one: `StreamsBuilder.addGlobalStore` names
    its processor as `globalTable` does."""
    origin: str | None = None
    """Where the topology was printed; None without such a name."""
    transformed: int = 0
    """Rows that differ from what a restore would put in their place."""
    untransformed: int = 0
    """Rows that a restore would leave as they are, or differ in their encoding alone."""
    untold: int = 0
    """Rows that differ in bytes, and of which nothing tells whether a restore would change what they say."""
    example: tuple[int, int] | None = None
    """Partition and offset of a record of which the store holds something else; None without any."""
    not_compared: str | None = None
    """Why no rows, or not all that were to be, were compared, in a clause; None if they were."""
