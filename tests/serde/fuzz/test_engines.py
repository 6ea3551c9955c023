"""The kernel and Python held against each other: the same values to the type, the same errors to the word.

`ALLOWED` is the list of the differences that are meant; DESIGN.md has it, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import native
from srfix.serde.bounds import bound_payloads
from tests.serde.fuzz.engine_cases import (
    PAYLOADS_PER_CASE,
    READ_ROUTES,
    WRITE_ROUTES,
    Reading,
    Writing,
    json_case,
    reading_case,
    writing_case,
)
from tests.serde.fuzz.engines import Raised, are_same, is_native, outcome, python_engine, told_apart
from tests.serde.fuzz.harness import PAYLOADS, PER_CASE, Fuzz, fuzzed

pytestmark = pytest.mark.skipif(native.kernel() is None, reason="there is one engine alone")

ALLOWED: Final = (
    "The cause of an error, where it is none of srfix's: fastavro's and Python's own exceptions stand behind Python's errors "
    "alone (`Raised.causes`).",
)
"""The differences between the engines that are meant."""
_LEAST_NATIVE: Final = 0.5
"""Of the schemas: fewer, and one engine is compared with itself."""
_BATCH_BUDGET_S: Final = 10.0
_SAMPLE: Final = 300
_sizes: Final = pytest.mark.parametrize(
    "payloads", [_SAMPLE, pytest.param(PAYLOADS, marks=pytest.mark.slow, id="as many as the others")]
)

_seeds: Final = st.integers(0, 2**64 - 1)


class _Compared:
    """Counts what was compared, and by what it was read or written."""

    def __init__(self) -> None:
        self.one = Fuzz()
        self.many = Fuzz(budget_s=_BATCH_BUDGET_S)
        self.plans: Counter[bool] = Counter()

    def run(self, given: Any, make: Callable[[], Any], routes: Any, seed: int) -> None:
        """:raises AssertionError: if the engines differ."""
        by_kernel = make()
        with python_engine():
            by_python = make()
        for name, route in routes.items():
            fuzz = self.one if name.startswith("one ") else self.many
            found = [self._natively(fuzz, call, name, given, seed) for call in route(given, by_kernel)]
            with python_engine():
                expected = [outcome(call) for call in route(given, by_python)]
            for number, (left, right) in enumerate(zip(found, expected, strict=True)):
                assert are_same(left, right), (
                    f"The kernel and Python differ by {name!r}, call {number}, {told_apart(left, right)}\n"
                    f"seed {seed}: {given.about}\n{_shown(given, name, number)}"
                )
        assert not any(map(is_native, _plans(by_python))), "the kernel had a part in what is Python's"
        self.plans.update(map(is_native, _plans(by_kernel)))

    def _natively(self, fuzz: Fuzz, call: Callable[[], object], name: str, given: Any, seed: int) -> object:
        value, refusal = fuzz.read(call, about=lambda: f"{name}, seed {seed}: {given.about}")
        return value if refusal is None else Raised.of(refusal)

    def check(self, payloads: int, *, least_native: float = _LEAST_NATIVE) -> None:
        """:raises AssertionError: if too little was compared."""
        self.one.check_count(payloads)
        assert self.plans[True] >= least_native * self.plans.total(), self.plans


def _plans(serde: Any) -> list[Any]:
    plans = getattr(serde, "_plans_by_identity", serde._plans).values()
    return [plan[0] if isinstance(plan, tuple) else plan for plan in plans]


def _shown(given: Reading | Writing, name: str, number: int) -> str:
    if not name.startswith("one "):
        return ""
    return repr(given.sent[number] if isinstance(given, Reading) else given.rows[number])[:3000]


class TestReading:
    @_sizes
    def test_both_engines_give_the_same_rows_batches_and_errors(self, payloads: int) -> None:
        compared = _Compared()

        @fuzzed(payloads * PER_CASE // PAYLOADS_PER_CASE, shrinks=False)
        @given(_seeds)
        def run(seed: int) -> None:
            reading = reading_case(Random(seed))
            before = bound_payloads(reading.bounds)
            try:
                compared.run(reading, reading.make, READ_ROUTES, seed)
            finally:
                bound_payloads(before)

        run()
        compared.check(payloads)

    @_sizes
    def test_json_is_the_same_by_both_engines(self, payloads: int) -> None:
        compared = _Compared()

        @fuzzed(payloads * PER_CASE // PAYLOADS_PER_CASE, shrinks=False)
        @given(_seeds)
        def run(seed: int) -> None:
            reading = json_case(Random(seed))
            compared.run(reading, reading.make, READ_ROUTES, seed)

        run()
        compared.check(payloads, least_native=0)  # of what the kernel does not read yet, Python is compared with itself


class TestWriting:
    @_sizes
    def test_both_engines_give_the_same_payloads_and_errors(self, payloads: int) -> None:
        compared = _Compared()

        @fuzzed(payloads * PER_CASE // PAYLOADS_PER_CASE, shrinks=False)
        @given(_seeds)
        def run(seed: int) -> None:
            writing = writing_case(Random(seed))
            compared.run(writing, writing.make, WRITE_ROUTES, seed)

        run()
        compared.check(payloads)
