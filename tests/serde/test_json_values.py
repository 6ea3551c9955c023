"""Values as JSON and back: nothing is lost."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import uuid
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import Columns, PayloadBoundError
from srfix.serde.interface import Value
from srfix.serde.json_values import JsonTexts, from_json, to_json
from tests.strategies import columns_and_row

marked_objects = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.binary(max_size=4) | st.uuids(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$bytes", "$object", "$", "a", "$date"]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def there_and_back(value: Value) -> Value:
    return from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))


def text_of(value: Value) -> str:
    return json.dumps(to_json(value), ensure_ascii=False, allow_nan=False)


class TestJsonTexts:
    @given(marked_objects, marked_objects)
    def test_names_that_look_like_marks_are_told_from_marks(self, first: Value, second: Value) -> None:
        texts = JsonTexts()
        assert [texts(first), texts(second)] == [text_of(first), text_of(second)]
        assert there_and_back(first) == first

    @pytest.mark.parametrize("shown", [JsonTexts(), lambda value: json.dumps(to_json(value))])
    def test_what_nests_too_deep_is_refused(self, shown: Callable[[Value], str]) -> None:
        value: Value = []
        for _ in range(299):
            value = [value]
        assert shown(value) == "[" * 300 + "]" * 300
        for more in (2, 100_000):
            for _ in range(more):
                value = [value]
            with pytest.raises(PayloadBoundError, match="The row nests deeper than 300 levels"):
                shown(value)


class TestToJson:
    @given(columns_and_row)
    def test_a_row_of_any_columns_comes_back_as_it_was(self, case: tuple[Columns, object]) -> None:
        row = cast(Value, case[1])
        assert there_and_back(row) == row
        assert JsonTexts()(row) == text_of(row)
        assert json.dumps(to_json(there_and_back(row))) == json.dumps(to_json(row))  # 1.0 is not 1, nor 1.50 1.5

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            (2**63 - 1, "9223372036854775807"),
            (math.inf, '{"$double": "Infinity"}'),
            (-math.inf, '{"$double": "-Infinity"}'),
            (math.nan, '{"$double": "NaN"}'),
            (b"\x00\xff", '{"$bytes": "AP8="}'),
            (decimal.Decimal("12.30"), '{"$decimal": "12.30"}'),
            (datetime.date(2020, 6, 16), '{"$date": "2020-06-16"}'),
            (datetime.time(3, 0, 0, 123000), '{"$time": "03:00:00.123000"}'),
            (
                datetime.datetime(2020, 6, 16, 3, tzinfo=datetime.UTC),
                '{"$timestamp": "2020-06-16T03:00:00+00:00"}',
            ),
            (datetime.datetime(2020, 6, 16, 3), '{"$local-timestamp": "2020-06-16T03:00:00"}'),
            (uuid.UUID(int=1), '{"$uuid": "00000000-0000-0000-0000-000000000001"}'),
            ({"$x": [b""]}, '{"$object": {"$x": [{"$bytes": ""}]}}'),
        ],
    )
    def test_what_json_has_no_word_for_is_marked(self, value: Value, written: str) -> None:
        assert json.dumps(to_json(value)) == written
        assert repr(from_json(json.loads(written))) == repr(value)


class TestFromJson:
    @pytest.mark.parametrize("document", ['{"$unknown": "a"}', '{"$bytes": "AA==", "b": 1}', '{"$date": 1}'])
    def test_a_mark_that_nobody_writes_is_an_error(self, document: str) -> None:
        with pytest.raises(ValueError, match=r"'\$[a-z]+' is not a known mark"):
            from_json(json.loads(document))

    @given(
        st.sampled_from(
            ("$bytes", "$date", "$decimal", "$double", "$local-timestamp", "$time", "$timestamp", "$uuid"),
        ),
        st.text() | st.sampled_from(("x", "1E", "24:00", "9" * 5000, "0000-00-00", "--1", "é=", "\x00")),
    )
    def test_what_is_marked_is_a_value_or_a_value_error(self, mark: str, content: str) -> None:
        said = f" is not a valid value for the mark {mark!r}."
        try:
            from_json({mark: content})
        except ValueError as error:
            said = str(error)
        assert said.endswith(f" is not a valid value for the mark {mark!r}.")
