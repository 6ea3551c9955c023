"""From evidence to a source.

| conclusive topics | otherwise | decides |
|---|---|---|
| one | whatever | that one |
| several | whatever | nobody |
| none | evidence for one topic only | that one |
| none | one topic has most kinds of strong evidence | that one |
| none | a tie, or weak evidence alone for several | nobody |
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.evidence import candidates, choose
from srfix.recovery.findings import Evidence, Weight
from srfix.serde.subjects import Topic

C, S, W = Weight.CONCLUSIVE, Weight.STRONG, Weight.WEAK

Piece = tuple[str, str, Weight]


def made(*pieces: Piece) -> tuple[Evidence, ...]:
    return tuple(Evidence(kind=kind, topic=Topic(topic), weight=weight, detail="d") for kind, topic, weight in pieces)


pieces = st.lists(
    st.builds(
        lambda kind, topic, weight: Evidence(kind=kind, topic=Topic(topic), weight=weight, detail="d"),
        st.sampled_from(["explicit", "store-name", "committed-offsets", "schema-similarity"]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(list(Weight)),
    ),
    max_size=8,
)


class TestChoose:
    @pytest.mark.parametrize(
        ("evidence", "chosen"),
        [
            ([], None),
            ([("k", "a", W)], "a"),
            ([("k", "a", S)], "a"),
            ([("k", "a", C)], "a"),
            ([("k", "a", C), ("l", "b", S), ("m", "b", S)], "a"),
            ([("k", "a", C), ("l", "a", C)], "a"),
            ([("k", "a", C), ("l", "b", C)], None),
            ([("k", "a", C), ("l", "b", C), ("m", "a", S)], None),
            ([("k", "a", S), ("l", "b", W)], "a"),
            ([("k", "a", S), ("l", "b", W), ("m", "b", W)], "a"),
            ([("k", "a", S), ("l", "b", S)], None),
            ([("k", "a", S), ("l", "a", S), ("m", "b", S)], "a"),
            ([("k", "a", S), ("k", "a", S), ("m", "b", S)], None),
            ([("k", "a", W), ("k", "b", W)], None),
            ([("k", "a", W), ("l", "a", W), ("k", "b", W)], None),
        ],
    )
    def test_case(self, evidence: list[Piece], chosen: str | None) -> None:
        assert choose(made(*evidence)) == chosen

    @given(pieces=pieces, randomness=st.randoms(use_true_random=False))
    def test_the_order_of_the_evidence_plays_no_part(self, pieces: list[Evidence], randomness: object) -> None:
        shuffled = list(pieces)
        randomness.shuffle(shuffled)  # type: ignore[attr-defined]
        assert choose(shuffled) == choose(pieces)
        assert candidates(shuffled) == candidates(pieces)

    @given(pieces=pieces)
    def test_saying_the_same_twice_adds_nothing(self, pieces: list[Evidence]) -> None:
        assert choose(pieces * 2) == choose(pieces)

    @given(pieces=pieces)
    def test_what_is_chosen_is_the_first_candidate(self, pieces: list[Evidence]) -> None:
        chosen = choose(pieces)
        if chosen is not None:
            assert candidates(pieces)[0] == chosen

    @given(pieces=pieces)
    def test_one_conclusive_topic_always_wins_and_two_never_do(self, pieces: list[Evidence]) -> None:
        conclusive = {piece.topic for piece in pieces if piece.weight is C}
        if conclusive:
            assert choose(pieces) == (conclusive.pop() if len(conclusive) == 1 else None)


class TestCandidates:
    def test_they_stand_best_first_then_by_name(self) -> None:
        evidence = made(("k", "c", W), ("k", "b", S), ("l", "a", W), ("m", "d", C))
        assert candidates(evidence) == ("d", "b", "a", "c")
