"""The iteration order of Java's HashMap, which is also the order in the JSON Schemas of registry clients.

Everit's loader and builders, and org.json's objects, keep properties in HashMaps. So the text of an internal schema,
and the columns inferred from a schema without `connect.index`, are in that order, which depends only on the names. Only
with this order do the same columns give the same text, and so the same schema id.
"""

from __future__ import annotations

from collections.abc import Iterable

_DEFAULT_CAPACITY = 16
_LONGEST_CHAIN = 8
"""With a longer chain, a small table grows instead of turning the chain into a tree (`HashMap.TREEIFY_THRESHOLD`)."""
_LEAST_FOR_TREES = 64


def string_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number of 32 bits."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def hash_map_order(keys: Iterable[str], *, capacity: int = _DEFAULT_CAPACITY) -> tuple[str, ...]:
    """The iteration order of a HashMap of this initial capacity that got the keys in the given order."""
    hashes = {key: (hash_ := string_hash(key)) ^ hash_ >> 16 for key in keys}
    size = 1 << max(capacity - 1, 0).bit_length()
    buckets: dict[int, list[str]] = {}
    for count, (key, hash_) in enumerate(hashes.items(), start=1):
        chain = buckets.setdefault(hash_ & size - 1, [])
        chain.append(key)
        grows = (len(chain) > _LONGEST_CHAIN and size < _LEAST_FOR_TREES) + (count * 4 > size * 3)
        for _ in range(grows):
            size *= 2
            # A bucket splits into two and keeps its order, which is the same as inserting its keys again.
            split: dict[int, list[str]] = {}
            for placed in buckets.values():
                for name in placed:
                    split.setdefault(hashes[name] & size - 1, []).append(name)
            buckets = split
    return tuple(key for index in sorted(buckets) for key in buckets[index])
