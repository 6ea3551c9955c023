"""What Java's int and long hold."""

from __future__ import annotations

import pytest

from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, is_int, is_long


@pytest.mark.parametrize("value", [INT_MIN, -1, 0, INT_MAX])
def test_a_number_of_32_bits_is_an_int_and_a_long(value: int) -> None:
    assert is_int(value)
    assert is_long(value)


@pytest.mark.parametrize("value", [INT_MIN - 1, INT_MAX + 1, LONG_MIN, LONG_MAX])
def test_a_number_of_more_bits_is_a_long_alone(value: int) -> None:
    assert not is_int(value)
    assert is_long(value)


@pytest.mark.parametrize("value", [LONG_MIN - 1, LONG_MAX + 1, True, 1.0, "1", None])
def test_anything_else_is_neither(value: object) -> None:
    assert not is_int(value)
    assert not is_long(value)
