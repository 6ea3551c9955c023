"""How deep a value nests."""

from __future__ import annotations


def nests_deeper(value: object, levels: int) -> bool:
    """True if something stands in more than so many containers, one in the other; false for a value in none."""
    layer: dict[int, object] = {id(value): value}
    while layer and levels >= 0:
        levels -= 1
        # By identity, so that a value which contains itself twice does not double with each level.
        layer = {
            id(part): part
            for one in layer.values()
            if isinstance(one, dict | list | tuple)
            for part in (one.values() if isinstance(one, dict) else one)
        }
    return bool(layer)
