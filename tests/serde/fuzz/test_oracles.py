"""The judges of the fuzz tests see what they are there to see. The references are compared with the product both ways."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import DecodeError
from tests.serde.fuzz.expected import UNKNOWN, agrees, is_known
from tests.serde.fuzz.harness import Fuzz
from tests.serde.fuzz.mutations import BINARY, JSON
from tests.serde.fuzz.same import same


class TestSame:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (1, True),
            (1, 1.0),
            (0.0, -0.0),
            ("1", 1),
            (b"1", "1"),
            ([1], [1, 2]),
            ({"a": 1}, {"a": 2}),
            ({"a": 1}, {"b": 1}),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ([{"a": [None]}], [{"a": []}]),
        ],
    )
    def test_values_that_can_be_told_apart_are_not(self, one: object, other: object) -> None:
        assert not same(one, other)
        assert not agrees(one, other)

    def test_nan_is_nan(self) -> None:
        assert same([float("nan")], [struct.unpack("<d", struct.pack("<d", float("nan")))[0]])

    def test_what_is_unknown_agrees_with_anything_and_only_it(self) -> None:
        assert agrees({"a": UNKNOWN, "b": 1}, {"a": 7, "b": 1})
        assert not agrees({"a": UNKNOWN, "b": 1}, {"a": 7, "b": 2})
        assert not is_known([{"a": UNKNOWN}])


class TestFuzz:
    def test_an_error_of_others_is_a_failure(self) -> None:
        with pytest.raises(AssertionError, match=r"^KeyError came out of this$"):
            Fuzz().read(lambda: dict[str, object]()["x"], about=lambda: "this")

    def test_an_endless_loop_is_a_failure(self) -> None:
        def forever() -> object:
            while True:
                pass

        with pytest.raises(AssertionError, match=r"^Hang came out of this$"):
            Fuzz(budget_s=0.05).read(forever, about=lambda: "this")

    def test_our_errors_and_rows_are_counted(self) -> None:
        def fails() -> object:
            raise DecodeError("no")

        fuzz = Fuzz()
        assert fuzz.read(lambda: 7, about=str) == (7, None)
        assert isinstance(fuzz.read(fails, about=str)[1], DecodeError)
        assert fuzz.outcomes == {"accepted": 1, "DecodeError": 1}
        fuzz.check_count(2)
        with pytest.raises(AssertionError, match=r"^2 payloads were read, not 3"):
            fuzz.check_count(3)


class TestMutations:
    @given(st.binary(max_size=30), st.integers())
    def test_each_takes_any_bytes_and_its_seed_decides(self, body: bytes, seed: int) -> None:
        for mutation in {*BINARY, *JSON}:
            assert mutation(Random(seed), body) == mutation(Random(seed), body)
