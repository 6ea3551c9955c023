"""How deep a value nests, and that asking costs no more than the value."""

from __future__ import annotations

import pytest

from srfix.serde.formats.rows.value_check import nests_deeper


@pytest.mark.parametrize(
    ("value", "levels"),
    [(1, 0), ([], 0), ([1], 1), ({"a": 1}, 1), ([[1]], 2), ({"a": ({"b": [1]},)}, 4)],
)
def test_a_value_stands_in_as_many_containers_as_one_counts(value: object, levels: int) -> None:
    assert not nests_deeper(value, levels)
    assert levels == 0 or nests_deeper(value, levels - 1)


def test_a_value_that_contains_itself_twice_is_deep_at_once() -> None:
    value: list[object] = []
    value += [value, value]
    assert nests_deeper(value, 1000)
