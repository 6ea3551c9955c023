"""The order of Java's HashMap, as OpenJDK 17 gave it (`new HashMap<>(capacity)`, the keys put in this order)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.formats.json_schema.text import hash_map_order, string_hash

_NINE = ["".join(parts) for parts in itertools.product(["Aa", "BB"], repeat=4)][:9]


class TestStringHash:
    @pytest.mark.parametrize(
        ("text", "expected"), [("", 0), ("Aa", 2112), ("BB", 2112), ("connect.index", 2087106254), ("é€😀", 16752006)]
    )
    def test_it_is_javas(self, text: str, expected: int) -> None:
        assert string_hash(text) == expected


class TestHashMapOrder:
    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            (["key", "value"], ["value", "key"]),
            (["ID", "NAME"], ["ID", "NAME"]),
            (
                ["ordertime", "orderid", "itemid", "orderunits", "arraycol", "mapcol"],
                ["itemid", "orderid", "arraycol", "orderunits", "ordertime", "mapcol"],
            ),
            (
                [f"C{number}" for number in range(14)],  # one more than the first table holds
                [f"C{number}" for number in (11, 10, 13, 12, *range(10))],
            ),
            (
                ["connect.type", "connect.version", "connect.parameters", "connect.index"],
                ["connect.version", "connect.index", "connect.type", "connect.parameters"],
            ),
            (["é", "€", "😀", "a"], ["a", "😀", "é", "€"]),
            (["AaAa", "BBBB", "AaBB", "x"], ["x", "AaAa", "BBBB", "AaBB"]),  # equal hashes stay in their order
            # nine equal hashes make a small table grow (`HashMap.treeifyBin`), and P and Q move behind them
            (["P", "Q", "a", *_NINE], ["a", *_NINE, "P", "Q"]),
        ],
    )
    def test_it_is_javas(self, keys: list[str], expected: list[str]) -> None:
        assert list(hash_map_order(keys)) == expected

    @given(st.lists(st.text(max_size=6), unique=True, max_size=80), st.integers(0, 40))
    def test_every_key_is_there_once(self, keys: list[str], capacity: int) -> None:
        assert sorted(hash_map_order(keys, capacity=capacity)) == sorted(keys)
