"""Which id a reader writes keys under, and whether the topic's keys carry it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.facts.key_asymmetry import KeyAsymmetry, asymmetry
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


def phantom(*ids: int, deleted: tuple[int, ...] = ()) -> SubjectState:
    """The ids in the order of their versions; those in `deleted` are soft-deleted."""
    return SubjectState(
        subject=Subject("shop-users-store-changelog-key"),
        versions=tuple(
            VersionState(version=number, schema_id=SchemaId(schema_id), deleted=schema_id in deleted)
            for number, schema_id in enumerate(ids, 1)
        ),
        config=None,
        mode=None,
    )


def ids(*numbers: int) -> tuple[SchemaId, ...]:
    return tuple(map(SchemaId, numbers))


def differs(topic: tuple[int, ...], reader: int | None) -> KeyAsymmetry:
    return KeyAsymmetry(topic_ids=ids(*topic), reader_id=None if reader is None else SchemaId(reader))


class TestAsymmetry:
    def test_an_own_schema_that_no_key_carries_is_the_readers(self) -> None:
        assert asymmetry(ids(1), phantom(3), ids(1)) == differs((1,), 3)

    def test_a_repair_does_not_hide_it(self) -> None:
        assert asymmetry(ids(1), phantom(3, 1), ids(1)) == differs((1,), 3)
        assert asymmetry(ids(1), phantom(3, 1, deleted=(1,)), ids(1)) == differs((1,), 3)

    def test_a_repair_with_all_versions_of_the_source_does_not_hide_it(self) -> None:
        assert asymmetry(ids(2), phantom(3, 1, 2), ids(1, 2)) == differs((2,), 3)

    def test_the_latest_of_several_own_ones_counts(self) -> None:
        assert asymmetry(ids(1), phantom(3, 4, 1), ids(1)) == differs((1,), 4)

    def test_a_live_own_one_goes_before_a_later_one_that_is_soft_deleted(self) -> None:
        assert asymmetry(ids(1), phantom(3, 4, deleted=(4,)), ids(1)) == differs((1,), 3)

    def test_a_soft_deleted_own_one_counts_if_there_is_no_other(self) -> None:
        assert asymmetry(ids(1), phantom(3, 1, deleted=(3,)), ids(1)) == differs((1,), 3)

    def test_an_older_schema_of_the_source_is_the_readers_where_no_repair_was_made(self) -> None:
        assert asymmetry(ids(2), phantom(1), ids(1, 2)) == differs((2,), 1)
        assert asymmetry(ids(2), phantom(1, 2, deleted=(2,)), ids(1, 2)) == differs((2,), 1)

    def test_after_a_repair_it_cannot_be_told_and_nothing_is_claimed(self) -> None:
        assert asymmetry(ids(2), phantom(1, 2), ids(1, 2)) is None

    @pytest.mark.parametrize("source", [(), (1,), (1, 2)])
    def test_of_two_ids_in_the_keys_the_reader_writes_one_at_most(self, source: tuple[int, ...]) -> None:
        before = asymmetry(ids(1, 2), phantom(1), ids(*source))
        assert before == differs((1, 2), 1)
        assert before.missed_ids == ids(2)

    @pytest.mark.parametrize("deleted", [(), (1,), (2,)])
    def test_which_of_two_it_writes_cannot_be_told_after_a_repair(self, deleted: tuple[int, ...]) -> None:
        after = asymmetry(ids(1, 2), phantom(1, 2, deleted=deleted), ids(1, 2))
        assert after == differs((1, 2), None)
        assert after.missed_ids == ids(1, 2)

    def test_a_subject_that_holds_the_one_id_that_the_keys_carry_differs_in_nothing(self) -> None:
        assert asymmetry(ids(1), phantom(1), ids(1)) is None
        assert asymmetry(ids(1), phantom(1, deleted=(1,)), ids()) is None

    def test_without_the_subject_nothing_is_known_of_the_reader(self) -> None:
        assert asymmetry(ids(1), phantom(), ids(1)) is None

    def test_without_a_key_nothing_differs(self) -> None:
        assert asymmetry((), phantom(3), ids(1)) is None


some_ids = st.lists(st.integers(1, 6).map(SchemaId), max_size=4, unique=True)


@given(topic=some_ids, held=some_ids, source=some_ids, data=st.data())
def test_no_repair_makes_an_own_id_vanish(
    topic: list[SchemaId], held: list[SchemaId], source: list[SchemaId], data: st.DataObject
) -> None:
    """A repair appends ids of the topic and of the source, live or soft-deleted."""
    before = asymmetry(topic, phantom(*held), source)
    repairs = [schema_id for schema_id in sorted({*topic, *source}) if schema_id not in held]
    deleted = tuple(data.draw(st.sets(st.sampled_from(repairs)))) if repairs else ()
    after = asymmetry(topic, phantom(*held, *repairs, deleted=deleted), source)
    if set(held) - set(topic) - set(source):
        assert after == before
    if before is not None and len(set(topic)) > 1:
        assert after is not None
    if after is not None:
        assert len(set(topic)) > 1 or after.reader_id not in topic
