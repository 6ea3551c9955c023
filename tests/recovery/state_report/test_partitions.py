"""Which partition a key goes to: what Java's clients answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.state_report import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "hashed", "of_6", "of_4"),
    [
        ("21", -973932308, 0, 0),
        ("foobar", -790332482, 0, 2),
        ("a-little-bit-long-string", -985981536, 2, 0),
        ("abc", 479470107, 3, 3),
        ("k1", 1684045097, 5, 1),
        ("1", -1993445489, 3, 3),
    ],
)
def test_a_key_goes_where_java_puts_it(key: str, hashed: int, of_6: int, of_4: int) -> None:
    assert (murmur2(key.encode()), partition_of(key.encode(), 6), partition_of(key.encode(), 4)) == (hashed, of_6, of_4)


@given(st.binary(max_size=50), st.integers(min_value=1, max_value=1000))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions
    assert -(2**31) <= murmur2(key) < 2**31


def test_no_partitions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^There must be a partition\.$"):
        partition_of(b"k", 0)
