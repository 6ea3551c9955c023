"""Schema ids in a sentence: a person reads them, however many a topic of garbage seems to carry."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.ids_in_words import MOST_NAMED, enumerated, listed


def test_a_few_are_all_named() -> None:
    assert listed([7]) == "7"
    assert listed([1, 3, 7]) == "1, 3 and 7"
    assert enumerated([1, 3, 7]) == "1, 3, 7"
    assert enumerated([]) == ""


def test_many_are_counted() -> None:
    assert listed(range(1, 6), most=2) == "1, 2 and 3 more"
    assert enumerated(range(1, 2001), most=1) == "1, 1,999 more"


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3000))
def test_no_sentence_is_longer_than_a_person_reads(ids: list[int]) -> None:
    for said in (listed(ids), enumerated(ids)):
        assert len(said) < 13 * (MOST_NAMED + 2)
        assert said.startswith(str(ids[0]))
