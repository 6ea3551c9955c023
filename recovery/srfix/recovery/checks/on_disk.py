"""What the rows of a state directory prove of schema ids, and in words."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from srfix.recovery.ids_in_words import MOST_NAMED, counted, listed

if TYPE_CHECKING:
    from srfix.recovery.facts.store_rows import StoreRows
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.subjects.names import Role
    from srfix.serde.wire import SchemaId


def prove_absent(facts: StoreFacts, role: RoleFacts, ids: Collection[SchemaId]) -> bool:
    """True if the rows of every partition were read to their end, and none carries one of these ids in this role.

    Never of a global store: that one restores what stands in the topic at every start without state, the first included.
    """
    rows = facts.rows
    return (
        rows is not None
        and bool(rows.ids(role.role))  # else they are of a form in which ids are not seen
        and facts.source is not None
        and not facts.is_global
        and rows.is_whole
        and not rows.guids.get(role.role)  # whose ids are not known
        and rows.ids(role.role).isdisjoint(ids)
    )


def carried(facts: StoreFacts, role: RoleFacts, ids: Collection[SchemaId]) -> tuple[SchemaId, ...]:
    """Those of some ids that rows on disk carry in this role; ascending."""
    return () if facts.rows is None else tuple(sorted(facts.rows.ids(role.role).intersection(ids)))


def rows_in_words(rows: StoreRows, role: Role, ids: Collection[SchemaId]) -> str:
    """`schema id 1 (2 rows, in the store of partition 0); schema id 2 (1 row, …)`."""
    named = sorted(ids)
    told = [f"schema id {schema_id} ({_rows_of(rows, role, schema_id)})" for schema_id in named[:MOST_NAMED]]
    if len(named) > MOST_NAMED:
        told.append(f"{len(named) - MOST_NAMED:,} more schema ids")
    return "; ".join(told)


def _rows_of(rows: StoreRows, role: Role, schema_id: SchemaId) -> str:
    number = counted(rows.schema_ids.get(role, {}).get(schema_id, 0), "row")
    places = rows.found_in.get(role, {}).get(schema_id, ())
    if not places:
        return number
    return f"{number}, in the store of {'partition' if len(places) == 1 else 'partitions'} {listed(places)}"


def read_in_words(rows: StoreRows) -> str:
    """`12 rows, of partitions 0, 1 and 2`."""
    number = counted(rows.rows, "row")
    if not rows.partitions:
        return number
    return f"{number}, of {'partition' if len(rows.partitions) == 1 else 'partitions'} {listed(rows.partitions)}"
