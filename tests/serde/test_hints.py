"""The one place that says which known name was meant."""

from __future__ import annotations

from srfix.serde.hints import nearest, nearest_ones

KNOWN = ("use.latest.version", "use.schema.id", "validate")


def test_a_misspelt_name_is_like_the_one_that_was_meant() -> None:
    assert nearest("use.lates.version", KNOWN) == "use.latest.version"
    assert nearest("zzz", KNOWN) is None
    assert [nearest("validates.it", KNOWN, cutoff=cutoff) for cutoff in (0.6, 0.9)] == ["validate", None]


def test_the_most_alike_stand_first() -> None:
    assert nearest_ones("orders", ("order", "orders-old", "users"), most=2) == ["order", "orders-old"]


def test_swapped_letters_are_a_slip() -> None:
    assert nearest("ulr", ("url", "topic"), cutoff=0.9) == "url"
    assert nearest("in", ("ni",), cutoff=0.9) is None
