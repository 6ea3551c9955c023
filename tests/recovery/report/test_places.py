"""Ids, keys and partitions in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.findings import IdAtFault, PartitionAtFault
from srfix.recovery.report.places import ids_in_short, ranges
from srfix.serde.wire import SchemaId


def fault(
    schema_id: int,
    live: int | None,
    *,
    pending: int = 0,
    partitions: tuple[int, ...] = (0,),
    records: int = 9,
    partial: bool = False,
) -> IdAtFault:
    places = tuple(
        PartitionAtFault(
            partition=number,
            live_keys=live,
            pending_keys=pending if number == partitions[0] else 0,
            first_offset=0,
            last_offset=0,
        )
        for number in partitions
    )
    return IdAtFault(
        schema_id=SchemaId(schema_id),
        live_keys=None if live is None else live * len(partitions),
        records=records,
        partitions=places,
        is_partial=partial,
    )


@pytest.mark.parametrize(
    ("faults", "line"),
    [
        ((fault(1, 4),), "1 (4 live keys); partition 0"),
        ((fault(1, 1),), "1 (1 live key); partition 0"),
        ((fault(1, 0),), "1 (no live key); partition 0"),
        ((fault(1, 0, pending=1),), "1 (1 not yet committed); partition 0"),
        ((fault(1, 3, pending=2),), "1 (3 live keys, 2 not yet committed); partition 0"),
        ((fault(1, None, records=1),), "1 (1 record, no committed offset); partition 0"),
        ((fault(1, 4, partial=True),), "1 (at least 4 live keys); partition 0"),
        ((fault(1, 4), fault(2, 3)), "1 (4 live keys), 2 (3 live keys); partition 0"),
        ((fault(1, None, partitions=()),), "1"),
        (
            tuple(fault(number, 1, partitions=tuple(range(48))) for number in (1, 2, 3, 4)),
            "1, 2, 3, 4: 192 live keys; partitions 0-47",
        ),
        (
            tuple(fault(number, 1, partial=True) for number in range(2_000)),
            "0, 1, 2, 3, 4, 5, 6, 7, 1,992 more: at least 2,000 live keys; partition 0",
        ),
    ],
)
def test_it_is_one_line(faults: tuple[IdAtFault, ...], line: str) -> None:
    assert ids_in_short(faults) == line


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1, 2), "0-2"),
        ((0, 2, 3), "0, 2-3"),
        (range(0, 20, 2), "10 of 0 to 18"),
    ],
)
def test_partitions_are_folded_into_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert ranges(numbers) == text


@given(st.lists(st.integers(0, 30), max_size=12))
def test_a_range_holds_those_partitions_and_no_others(numbers: list[int]) -> None:
    text = ranges(numbers)
    if " of " in text:
        assert int(text.partition(" of ")[0]) == len(set(numbers))
        return
    held: set[int] = set()
    for piece in filter(None, text.split(", ")):
        first, _, last = piece.partition("-")
        held |= set(range(int(first), int(last or first) + 1))
    assert held == set(numbers)
