"""Whether two values are the same: types, order and all, NaN too."""

from __future__ import annotations

import struct


def same(one: object, other: object) -> bool:
    """True only if nobody could tell them apart: 1 is not 1.0 nor True, and 0.0 is not -0.0. However deep they go."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False
        if isinstance(left, dict) and isinstance(right, dict):
            # By what they look like: 1 and True are one key, and no types are equal.
            if list(map(repr, left)) != list(map(repr, right)):
                return False
            pairs.extend(zip(left.values(), right.values(), strict=True))
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif isinstance(left, float) and isinstance(right, float):
            if struct.pack(">d", left) != struct.pack(">d", right) and not (left != left and right != right):
                return False
        elif repr(left) != repr(right):
            return False
    return True
