"""The counting of a census as one Spark SQL statement, over a frame of `spark-sql-kafka` with headers.

It repeats the rules of `srfix.serde.wire` and `wire_peek` in SQL, because a Python worker costs ten times as much. A
test holds both to the same answers.

One read, one shuffle: grouping sets count the records by (partition, ids) and find the latest record per
(partition, side, key) in the same pass. The latest id is `max_by(<a BIGINT>, offset)`: with a binary in its buffer Spark
would sort instead of hashing. Partitions and offsets are never packed into one number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from srfix.recovery.census.interface import Tally
from srfix.serde.subjects.names import Role
from srfix.serde.wire import (
    MAX_SCHEMA_ID,
    MIN_SCHEMA_ID,
    PREFIX_GUID_SIZE,
    PREFIX_ID_SIZE,
    prefix_id_bytes,
    schema_id_header,
)
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId

_COUNTING: Final = """
WITH records AS (
  SELECT partition, offset, key, {key_id} AS key_id, {value_id} AS value_id, {is_live} AS is_live FROM {{records}}
), grouped AS (
  SELECT partition, is_live, key, key_id, value_id, grouping(key) AS are_records,
         count(1) AS n, min(offset) AS first, max(offset) AS last,
         max_by(key_id, offset) AS latest_key_id, max_by(value_id, offset) AS latest_value_id
  FROM records
  GROUP BY GROUPING SETS ((partition, is_live, key), (partition, key_id, value_id))
), told AS (
  SELECT partition, are_records = 1 AS are_records, is_live, n, first, last,
         if(are_records = 1, key_id, latest_key_id) AS key_id,
         if(are_records = 1, value_id, latest_value_id) AS value_id
  FROM grouped
  WHERE are_records = 1 OR key IS NOT NULL AND latest_value_id <> {no_payload}
)
SELECT CAST(partition AS BIGINT) AS partition, are_records, coalesce(is_live, FALSE) AS is_live, key_id, value_id,
       sum(if(are_records, n, 1)) AS count, min(first) AS first_offset, max(last) AS last_offset
FROM told
GROUP BY partition, are_records, is_live, key_id, value_id
"""

_LATEST: Final = """
WITH latest AS (
  SELECT partition, max(offset) AS offset, max_by(value IS NULL, offset) AS is_removed,
         max_by(named_struct('payload', {payload}, 'headers', filter(headers, h -> h.key = '{header}')), offset) AS record
  FROM {{records}}
  WHERE key IS NOT NULL
  GROUP BY partition, key
)
SELECT partition, offset, record.payload, record.headers FROM latest WHERE NOT is_removed
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    partition: int
    are_records: bool
    """True if the group counts records; False if it counts keys by their latest record, without tombstones."""
    is_live: bool
    """For keys: True if their latest record is before the restore limit."""
    key_id: PeekedId
    value_id: PeekedId
    count: int
    first_offset: int
    """For records: the first offset."""
    last_offset: int


def peek_sql(payload: str, role: Role, *, headers: str | None = "headers") -> str:
    """The schema id or mark of a payload of type BINARY, as `wire_peek` gives it: an expression of type BIGINT."""
    magic_id, magic_guid = f"substring({payload}, 1, 1) = X'00'", "substring({}, 1, 1) = X'01'"
    # Bytes compare as unsigned ones, from the first on.
    lowest, highest = prefix_id_bytes(MIN_SCHEMA_ID).hex(), prefix_id_bytes(MAX_SCHEMA_ID).hex()
    is_id = f"substring({payload}, 1, {PREFIX_ID_SIZE}) BETWEEN X'{lowest}' AND X'{highest}'"
    schema_id = f"CAST(conv(hex(substring({payload}, 2, {PREFIX_ID_SIZE - 1})), 16, 10) AS BIGINT)"
    header = f"try_element_at(filter({headers}, h -> h.key = '{schema_id_header(role)}'), -1)"
    by_header = f"""
        WHEN {header} IS NOT NULL THEN CASE
          WHEN length({header}.value) >= {PREFIX_GUID_SIZE} AND {magic_guid.format(f"{header}.value")} THEN {BY_GUID}
          ELSE {UNFRAMED} END"""
    return f"""CAST(CASE
        WHEN {payload} IS NULL THEN {NO_PAYLOAD}{"" if headers is None else by_header}
        WHEN length({payload}) >= {PREFIX_ID_SIZE} AND {magic_id} THEN
          if({is_id}, {schema_id}, {UNFRAMED})
        WHEN length({payload}) >= {PREFIX_GUID_SIZE} AND {magic_guid.format(payload)} THEN {BY_GUID}
        ELSE {UNFRAMED} END AS BIGINT)"""


def live_sql(restore_limits: Sequence[int | None]) -> str:
    """Whether a record is before its partition's restore limit, if there is one: an expression of type BOOLEAN, never null."""
    limits = ", ".join("NULL" if limit is None else str(limit) for limit in restore_limits)
    return f"coalesce(offset < try_element_at(CAST(array({limits}) AS ARRAY<BIGINT>), partition + 1), FALSE)"


def counting_sql(restore_limits: Sequence[int | None]) -> str:
    """The statement over a frame named `{records}`; its rows are `Group`s. See `live_sql`."""
    return _COUNTING.format(
        key_id=peek_sql("key", Role.KEY),
        value_id=peek_sql("value", Role.VALUE),
        is_live=live_sql(restore_limits),
        no_payload=NO_PAYLOAD,
    )


def latest_sql(role: Role) -> str:
    """The latest record of each key and partition, but for removed keys: partition, offset, payload, headers."""
    return _LATEST.format(payload=role.value, header=schema_id_header(role))


def tallies(groups: Iterable[Group], role: Role) -> Mapping[PeekedId, Tally]:
    """The counts of each id or mark in the keys or the values of one partition, from its groups."""
    of_ids: defaultdict[PeekedId, Tally] = defaultdict(Tally)
    for group in groups:
        tally = of_ids[group.key_id if role is Role.KEY else group.value_id]
        if group.are_records:
            tally.first_offset = min(tally.first_offset, group.first_offset) if tally.records else group.first_offset
            tally.last_offset = max(tally.last_offset, group.last_offset)
            tally.records += group.count
        elif group.is_live:
            tally.live_keys += group.count
            tally.live_offset = max(tally.live_offset or 0, group.last_offset)
        else:
            tally.pending_keys += group.count
    return of_ids
