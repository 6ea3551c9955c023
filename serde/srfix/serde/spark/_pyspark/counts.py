"""What `observe` counts, as Spark's aggregates. `counts.counts_of` reads it."""

from __future__ import annotations

from typing import Final

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F

from srfix.serde.errors import Reason
from srfix.serde.spark.counts import MAX_UNKNOWN_IDS

_REFUSED: Final = (Reason.UNKNOWN_ID.value, Reason.NOT_UNDER_SUBJECT.value)
_TRACKED: Final = 10 * MAX_UNKNOWN_IDS
_HAS_TOP_K: Final = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 1)
"""Whether Spark has `approx_top_k`, which begins with 4.1."""


def count_columns(reason: Column, payload: Column, *, is_of_topics: bool = False) -> list[Column]:
    """`rows`, `tombstones`, `bad`, one for each `Reason` of an error, `unknown_ids`.

    :param reason: a `Reason`'s word, or null.
    :param payload: the bytes as they came.
    :param is_of_topics: whether there are several topics, and some may have no plan. Each aggregate costs time for each row.
    """
    never = {Reason.ENCODE_FAILED} if is_of_topics else {Reason.ENCODE_FAILED, Reason.NO_PLAN}
    errors = [one for one in Reason if one.is_error and one not in never]
    return [
        F.count(F.lit(1)).alias("rows"),
        _count(reason == Reason.TOMBSTONE.value).alias("tombstones"),
        _count(reason != Reason.TOMBSTONE.value).alias("bad"),
        *(_count(reason == one.value).alias(one.value) for one in errors),
        _ids(F.when(reason.isin(*_REFUSED), _id_of(payload))).alias("unknown_ids"),
    ]


def default_columns(reason: Column) -> list[Column]:
    """What a stream counts that was asked for nothing: `rows`, `tombstones`, `bad`. Each aggregate costs time for each row."""
    return count_columns(reason, F.lit(b""))[:3]


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))  # count_if gives each condition a column of its own first


def _ids(refused: Column) -> Column:
    # Not collect_set: garbage carries millions of ids, and a set of them all would be held. These hold `_TRACKED` at most.
    if not _HAS_TOP_K:
        return _ids_of_bins(refused)
    frequent = F.call_function("approx_top_k", refused, F.lit(MAX_UNKNOWN_IDS + 1), F.lit(_TRACKED))
    ids = F.transform(frequent, lambda found: found["item"])
    return F.slice(F.array_compact(ids), 1, MAX_UNKNOWN_IDS)


def _ids_of_bins(refused: Column) -> Column:
    """The same without `approx_top_k`. A bin is an id as long as there are fewer ids than bins; then bins are put together,
    and what is known of the ids is the least and the greatest. As text, `7,8`: that PySpark's `Observation` does not turn the
    JVM's arrays into lists."""
    bins = F.histogram_numeric(refused.cast("double"), F.lit(_TRACKED))
    few = F.get(F.transform(F.array(bins), _if_few), F.lit(0))
    ends = F.array_compact(F.array_distinct(F.array(F.min(refused), F.max(refused))))
    return F.array_join(F.coalesce(few, ends), ",")


def _if_few(bins: Column) -> Column:
    """The most frequent ids; null if there are so many that bins were put together."""
    # What several partitions counted of one id are bins of their own: they are put together before any others are.
    ids = F.array_distinct(F.transform(bins, lambda one: one["x"]))

    def count(number: Column) -> Column:
        found = F.filter(bins, lambda one: one["x"] == number)
        return F.aggregate(found, F.lit(0.0), lambda total, one: total + one["y"])

    by_count = F.sort_array(F.transform(ids, lambda one: F.struct(count(one), one.alias("id"))), asc=False)
    frequent = F.slice(F.transform(by_count, lambda one: one["id"].cast("bigint")), 1, MAX_UNKNOWN_IDS)
    return F.when(F.size(ids) < _TRACKED, frequent)


def _id_of(payload: Column) -> Column:
    """The schema id of a payload that carries one; null if it carries a GUID."""
    prefix = F.hex(F.substring(payload, 1, 5))
    return F.when(prefix.startswith("00"), F.conv(F.substring(prefix, 3, 8), 16, 10).cast("bigint"))
