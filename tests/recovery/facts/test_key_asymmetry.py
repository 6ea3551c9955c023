"""Which id a reader writes keys under, and whether the topic's keys carry it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.facts.key_role import KeyAsymmetry, asymmetry
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
    @pytest.mark.parametrize(
        ("topic", "held", "source", "expected"),
        [
            pytest.param((1,), phantom(3), (1,), ((1,), 3), id="an-own-schema-that-no-key-carries-is-the-readers"),
            pytest.param((1,), phantom(3, 1), (1,), ((1,), 3), id="a-repair-does-not-hide-it"),
            pytest.param((1,), phantom(3, 1, deleted=(1,)), (1,), ((1,), 3), id="nor-a-soft-deleted-one"),
            pytest.param((2,), phantom(3, 1, 2), (1, 2), ((2,), 3), id="nor-one-with-all-versions-of-the-source"),
            pytest.param((1,), phantom(3, 4, 1), (1,), ((1,), 4), id="the-latest-of-several-own-ones-counts"),
            pytest.param((1,), phantom(3, 4, deleted=(4,)), (1,), ((1,), 3), id="a-live-own-one-goes-before-a-deleted"),
            pytest.param(
                (1,), phantom(3, 1, deleted=(3,)), (1,), ((1,), 3), id="a-deleted-own-one-if-there-is-no-other"
            ),
            pytest.param((2,), phantom(1), (1, 2), ((2,), 1), id="an-older-one-of-the-source-without-a-repair"),
            pytest.param((2,), phantom(1, 2, deleted=(2,)), (1, 2), ((2,), 1), id="and-beside-a-deleted-one"),
            pytest.param((2,), phantom(1, 2), (1, 2), None, id="after-a-repair-it-cannot-be-told"),
            pytest.param((1,), phantom(1), (1,), None, id="the-one-id-that-the-keys-carry-differs-in-nothing"),
            pytest.param((1,), phantom(1, deleted=(1,)), (), None, id="nor-does-it-soft-deleted"),
            pytest.param((1,), phantom(), (1,), None, id="without-the-subject-nothing-is-known-of-the-reader"),
            pytest.param((), phantom(3), (1,), None, id="without-a-key-nothing-differs"),
        ],
    )
    def test_of_one_id_in_the_keys(
        self,
        topic: tuple[int, ...],
        held: SubjectState,
        source: tuple[int, ...],
        expected: tuple[tuple[int, ...], int] | None,
    ) -> None:
        assert asymmetry(ids(*topic), held, ids(*source)) == (expected and differs(*expected))

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
