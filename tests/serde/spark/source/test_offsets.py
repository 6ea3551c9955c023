"""Ranges of offsets: what an option says, what a micro-batch takes, what was lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import DataLossError, UsageError
from srfix.serde.spark.source.offsets import (
    Log,
    OffsetRange,
    StreamCheckpoint,
    check_not_recreated,
    is_recreated,
    limited,
    ranges_of,
    split_ranges,
    stated_offsets,
)

LOG = Log(topic="users", topic_id="one", starts={0: 5, 1: 0}, ends={0: 20, 1: 7})
RANGES = st.lists(st.integers(0, 10_000), min_size=1, max_size=8).map(
    lambda lengths: tuple(
        OffsetRange(partition=number, start=number * 3, end=number * 3 + length)
        for number, length in enumerate(lengths)
    )
)


def offsets(range_: OffsetRange) -> set[tuple[int, int]]:
    return {(range_.partition, offset) for offset in range(range_.start, range_.end)}


class TestStatedOffsets:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("earliest", {0: 5, 1: 0}),
            ("latest", {0: 20, 1: 7}),
            ('{"users": {"0": 9, "1": -2}}', {0: 9, 1: 0}),
            ('{"users": {"1": -1, "0": 20}}', {0: 20, 1: 7}),
        ],
    )
    def test_words_and_json_as_of_sparks_kafka_source(self, text: str, expected: dict[int, int]) -> None:
        assert stated_offsets("startingOffsets", text, LOG) == expected

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("newest", "must be earliest, latest, or JSON such as "),
            ('{"others": {"0": 1}}', "must be earliest, latest, or JSON"),
            ('{"users": {"0": true, "1": 2}}', "must be earliest, latest, or JSON"),
            ('{"users": {"0": -3, "1": 2}}', "must be earliest, latest, or JSON"),
            ('{"users": {"0": 9}}', "lacks partition 1 of the topic 'users'"),
            ('{"users": {"0": 9, "1": 0, "2": 0}}', r"names partition 2, which the topic 'users' does not have"),
            ('{"users": {"0": 21, "1": 0}}', r"gives 21 for partition 0 of the topic 'users', whose log ends at 20\.$"),
        ],
    )
    def test_what_it_is_not_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            stated_offsets("startingOffsets", text, LOG)


class TestRangesOf:
    def test_a_range_has_its_start_and_lacks_its_end_and_empty_ones_are_left_out(self) -> None:
        found = ranges_of(LOG, {0: 6, 1: 7}, {0: 20, 1: 7}, fail_on_data_loss=True)
        assert found == (OffsetRange(partition=0, start=6, end=20),)
        of_new = ranges_of(LOG, {1: 7}, {0: 20, 1: 7}, fail_on_data_loss=True)
        assert of_new == (OffsetRange(partition=0, start=5, end=20),), "a new partition is read from its first record"

    @pytest.mark.parametrize(
        ("starts", "ends", "message", "left"),
        [
            ({0: 2}, {0: 9}, r"the offsets 2 to 4 are gone: the log starts at 5 now in users\[0\]", (5, 9)),
            ({0: 2}, {0: 4}, r"the offsets 2 to 3 are gone: the log starts at 5 now", None),
            ({0: 9}, {0: 25}, r"the offsets 20 to 24 are gone: the log ends at 20 now", (9, 20)),
            ({0: 22}, {0: 25}, r"the offsets 22 to 24 are gone: the log ends at 20 now", None),
            ({0: 9}, {0: 8}, r"the end of the log went back from offset 9 to 8", None),
            ({3: 1}, {3: 4}, r"the partition is gone, with the offsets 1 to 3", None),
        ],
    )
    def test_records_that_are_gone_are_an_error_unless_that_is_asked_for(
        self, starts: dict[int, int], ends: dict[int, int], message: str, left: tuple[int, int] | None
    ) -> None:
        with pytest.raises(DataLossError, match=rf"^Records were lost before they were read: {message}") as caught:
            ranges_of(LOG, starts, ends, fail_on_data_loss=True)
        assert (caught.value.topic, caught.value.partition) == ("users", next(iter(starts)))
        found = ranges_of(LOG, starts, ends, fail_on_data_loss=False)
        assert [(range_.start, range_.end) for range_ in found] == ([] if left is None else [left])


@pytest.mark.core
class TestCheckpoint:
    def test_it_is_the_same_text_whatever_the_order(self) -> None:
        one = StreamCheckpoint.of(LOG, {10: 1, 9: 2}).to_json()
        assert json.dumps(one) == '{"topic": "users", "topic_id": "one", "offsets": {"9": 2, "10": 1}}'
        assert StreamCheckpoint.from_json(json.loads(json.dumps(one)), "users").to_json() == one

    def test_one_of_another_topic_or_source_is_refused(self) -> None:
        with pytest.raises(UsageError, match="The checkpoint belongs to the topic 'users', but"):
            StreamCheckpoint.from_json(StreamCheckpoint.of(LOG, {}).to_json(), "orders")
        with pytest.raises(UsageError, match=r"^The checkpoint was not written by this source\."):
            StreamCheckpoint.from_json({"users": {"0": 1}}, "users")

    def test_a_topic_that_was_created_anew_is_told_by_its_id(self) -> None:
        before = StreamCheckpoint(topic="users", topic_id="another", offsets={0: 5})
        assert is_recreated(before, LOG)
        with pytest.raises(DataLossError, match="the topic 'users' was deleted and created again"):
            check_not_recreated(before, LOG)

    def test_where_there_are_no_ids_by_a_log_that_went_back(self) -> None:
        before = StreamCheckpoint(topic="users", topic_id=None, offsets={0: 21})
        assert not is_recreated(before, LOG)
        with pytest.raises(DataLossError, match=r"has read users\[0\] up to offset 21, but the"):
            check_not_recreated(before, LOG)
        with pytest.raises(DataLossError, match=r"users\[4\] up to offset 0, but the partition is"):
            check_not_recreated(StreamCheckpoint(topic="users", topic_id=None, offsets={4: 0}), LOG)
        check_not_recreated(StreamCheckpoint(topic="users", topic_id="one", offsets={0: 20, 1: 2}), LOG)


class TestLimited:
    @given(RANGES, st.integers(1, 20_000))
    def test_no_more_than_the_limit_and_something_where_there_is_something(
        self, ranges: tuple[OffsetRange, ...], limit: int
    ) -> None:
        starts = {range_.partition: range_.start for range_ in ranges}
        ends = {range_.partition: range_.end for range_ in ranges}
        found = limited(starts, ends, limit)
        taken = sum(found[partition] - start for partition, start in starts.items())
        assert taken == min(limit, sum(range_.length for range_ in ranges))
        assert all(starts[partition] <= end <= ends[partition] for partition, end in found.items())
        assert list(found) == sorted(starts)


class TestSplitRanges:
    @given(RANGES, st.integers(1, 40), st.none() | st.integers(1, 500))
    def test_the_same_offsets_in_at_least_as_many_ranges(
        self, ranges: tuple[OffsetRange, ...], at_least: int, longest: int | None
    ) -> None:
        full = tuple(range_ for range_ in ranges if range_.length)
        found = split_ranges(full, at_least=at_least, longest=longest)
        assert sum(range_.length for range_ in found) == sum(range_.length for range_ in full)
        assert set().union(*map(offsets, found)) == set().union(*map(offsets, full))
        assert all(range_.length for range_ in found)
        assert longest is None or all(range_.length <= longest for range_ in found)
        assert len(found) >= min(at_least, sum(range_.length for range_ in full))
