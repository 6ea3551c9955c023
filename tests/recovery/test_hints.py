"""Hints on the reader and the Streams version: what they rest on, and when they decide."""

from __future__ import annotations

import base64

import pytest

from srfix.recovery.checks.interface import StreamsVersion
from srfix.recovery.findings import Weight
from srfix.recovery.hints import _of_ksqldb
from srfix.recovery.state.directory import Traces
from srfix.recovery.streams_generation import (
    GenerationHint,
    decisive_version,
    from_commit_metadata,
    from_traces,
    version_range,
)

MAGIC_1 = base64.b64encode(b"\x01" + bytes(8)).decode()
MAGIC_2 = base64.b64encode(b"\x02" + bytes(12)).decode()
NONE = Traces(
    has_process_metadata=False, has_task_locks=False, has_position_files=False, has_offsets_column_families=False
)


def traces(**seen: bool) -> Traces:
    return Traces(**{name: seen.get(name, False) for name in NONE.__slots__})


class TestFromCommitMetadata:
    @pytest.mark.parametrize(
        ("texts", "says"),
        [
            ([""], "up to 2.3"),
            ([MAGIC_1], "2.4 to 3.2"),
            ([MAGIC_2], "3.3 or later"),
            ([MAGIC_1, MAGIC_2, ""], "3.3 or later"),
            (["", MAGIC_1], "2.4 to 3.2"),
            ([MAGIC_1 + "\ufffd=x"], "2.4 to 3.2"),
            ([MAGIC_1 + MAGIC_2], "2.4 to 3.2"),
        ],
    )
    def test_the_newest_that_was_committed_counts(self, texts: list[str], says: str) -> None:
        assert str(from_commit_metadata(texts)) == says

    @pytest.mark.parametrize("texts", [[], ["hello"], ["\udc80"], ["AA=="], ["AQ=="], ["AQAA"]])
    def test_foreign_metadata_and_none_at_all_say_nothing(self, texts: list[str]) -> None:
        assert from_commit_metadata(texts) is None

    def test_an_empty_text_alone_decides_nothing(self) -> None:
        hint = from_commit_metadata([""])
        assert hint is not None
        assert hint.weight is Weight.WEAK
        assert decisive_version([hint]) is None


class TestDecisiveVersion:
    def test_2_4_to_3_2_may_be_affected_or_not(self) -> None:
        hint = from_commit_metadata([MAGIC_1])
        assert hint is not None
        assert decisive_version([hint]) is None

    @pytest.mark.parametrize("name", ["has_position_files", "has_offsets_column_families"])
    def test_traces_of_later_versions_decide(self, name: str) -> None:
        version = decisive_version(from_traces(traces(**{name: True}), path="D"))
        assert version is not None
        assert version.asks_the_source_subject

    def test_task_locks_left_over_do_not_outweigh_later_traces(self) -> None:
        version = decisive_version(from_traces(traces(has_task_locks=True, has_position_files=True), path="D"))
        assert version == StreamsVersion(3, 2)

    def test_2_6_to_2_8_may_be_affected_or_not(self) -> None:
        hints = list(from_traces(traces(has_task_locks=True, has_process_metadata=True), path="D"))
        assert decisive_version(hints) is None

    def test_an_upper_bound_below_the_fix_decides(self) -> None:
        hint = GenerationHint(oldest=None, newest=StreamsVersion(2, 6), detail="d")
        assert decisive_version([hint]) == StreamsVersion(2, 6)


class TestVersionRange:
    def test_weak_hints_play_no_part_and_lower_bounds_win(self) -> None:
        weak = GenerationHint(oldest=None, newest=StreamsVersion(2, 3), detail="d", weight=Weight.WEAK)
        old = GenerationHint(oldest=None, newest=StreamsVersion(2, 8), detail="left over")
        new = GenerationHint(oldest=StreamsVersion(3, 2), newest=StreamsVersion(4, 2), detail="d")
        assert version_range([weak]) == (None, None)
        assert version_range([old]) == (None, StreamsVersion(2, 8))
        assert version_range([old, new]) == (StreamsVersion(3, 2), None)
        assert version_range([new]) == (StreamsVersion(3, 2), StreamsVersion(4, 2))


class TestOfKsqldb:
    @pytest.mark.parametrize(
        ("version", "reader"),
        [
            ("0.10.1", "connect"),
            ("0.10.2", "connect"),
            ("0.11.0", "dual"),
            ("0.29.0", "dual"),
            ("5.5.1", "connect"),
            ("6.0.1", "connect"),
            ("6.1.0-ccs", "dual"),
            ("v7.4.0", "dual"),
        ],
    )
    def test_the_version_tells_the_reader(self, version: str, reader: str) -> None:
        found = _of_ksqldb(version)
        assert found is not None
        assert found[0].value == reader

    def test_no_version_tells_nothing(self) -> None:
        assert _of_ksqldb("unknown") is None
