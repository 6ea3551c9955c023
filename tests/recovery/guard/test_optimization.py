"""`topology.optimization` as a person gives it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.guard.models import ALL, NONE, SINGLE, parse_optimization
from srfix.serde.errors import UsageError


class TestParseOptimization:
    @pytest.mark.parametrize(
        ("text", "reuses"),
        [
            (None, None),
            ("none", False),
            ("all", True),
            ("reuse.ktable.source.topics", True),
            ("merge.repartition.topics", False),
            (" merge.repartition.topics , reuse.ktable.source.topics ", True),
        ],
    )
    def test_it_says_whether_source_topics_are_reused(self, text: str | None, reuses: bool | None) -> None:
        assert parse_optimization(text).reuses_source_topics is reuses

    def test_another_value_is_refused_with_those_that_there_are(self) -> None:
        message = (
            "--optimization 'on': 'on' is not a value of topology.optimization. Give none, all, or a list of "
            "reuse.ktable.source.topics, merge.repartition.topics, single.store.self.join."
        )
        with pytest.raises(UsageError, match=rf"^{re.escape(message)}$"):
            parse_optimization("on")

    def test_all_and_none_stand_alone(self) -> None:
        message = "--optimization 'all,none': do not combine none or all with other values; Kafka Streams does not accept that."
        with pytest.raises(UsageError, match=rf"^{re.escape(message)}$"):
            parse_optimization("all,none")

    @given(st.lists(st.sampled_from(SINGLE), min_size=1))
    def test_every_list_is_read_as_it_is_printed(self, values: list[str]) -> None:
        read = parse_optimization(",".join(values))
        assert parse_optimization(str(read)) == read
        assert read.reuses_source_topics == (SINGLE[0] in values)

    @given(st.text())
    def test_whatever_it_is_given_it_takes_or_refuses(self, text: str) -> None:
        try:
            read = parse_optimization(text)
        except UsageError:
            return
        assert read.values is not None
        assert set(read.values) <= {ALL, NONE, *SINGLE}
