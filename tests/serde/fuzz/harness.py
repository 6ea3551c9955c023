"""How much is fuzzed, how it is bounded, and how a failure is told."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.errors import SrfixError
from tests.examples import examples

PAYLOADS: Final = int(os.environ.get("SRFIX_FUZZ", "0")) or examples(5_000)
"""How many payloads of each format are read; `make fuzz` reads a million."""
PER_CASE: Final = 100
"""How many payloads are made for one schema, its columns and its rows."""
_IS_DEFAULT: Final = "SRFIX_FUZZ" not in os.environ
_BUDGET_S: Final = 5.0
"""Of CPU, for one payload, where the interpreter still listens."""
_LAST_BUDGET_S: Final = 30.0
"""Of CPU, too; then the process ends (SIGPROF), for it hangs in C, where nothing else can reach it."""
_FEW: Final = 5_000
"""Below this, nothing is said about how payloads are shared out."""

_Test = TypeVar("_Test", bound=Callable[..., Any])

seeds: Final = st.integers(0, 2**64 - 1).map(Random)
"""Generators for the mutations of a case: hypothesis finds cases, and there are many payloads to each."""


class Hang(BaseException):
    """A payload took longer than any payload may."""


def fuzzed(payloads: int = PAYLOADS, *, shrinks: bool = True) -> Callable[[_Test], _Test]:
    """The settings of a fuzz test: the same payloads every time, unless SRFIX_FUZZ says how many.

    :param shrinks: False where a case is made of a seed, whose neighbours are other cases.
    """
    return settings(
        max_examples=-(-payloads // PER_CASE),
        derandomize=_IS_DEFAULT,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if shrinks else [])],
    )


class Fuzz:
    """Counts what is read, and what came of it."""

    def __init__(self, *, budget_s: float = _BUDGET_S) -> None:
        self._budget_s = budget_s
        self.payloads = 0
        self.outcomes: Counter[str] = Counter()

    def read(self, deserialize: Callable[[], object], *, about: Callable[[], str]) -> tuple[object, SrfixError | None]:
        """A row, or why not.

        :param about: what to try again, in words.
        :raises AssertionError: if anything but a SrfixError comes out, or nothing for too long.
        """
        self.payloads += 1
        value: object = None
        refusal: SrfixError | None = None
        before = signal.signal(signal.SIGVTALRM, _hang)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._budget_s)
        signal.setitimer(signal.ITIMER_PROF, _LAST_BUDGET_S)
        try:
            value = deserialize()
        except SrfixError as error:
            refusal = error
        except (Exception, Hang) as error:
            raise AssertionError(f"{type(error).__name__} came out of {about()}") from error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
        self.outcomes["accepted" if refusal is None else type(refusal).__name__] += 1
        return value, refusal

    def check_count(self, payloads: int = PAYLOADS, *, accepted: float = 0.02) -> None:
        """:raises AssertionError: if less was read than was to be, or it was all of one sort."""
        assert self.payloads >= payloads, f"{self.payloads} payloads were read, not {payloads}: {self.outcomes}"
        if payloads < _FEW:
            return
        took = self.outcomes["accepted"]
        assert took >= accepted * self.payloads, f"too few payloads are whole: {self.outcomes}"
        assert self.payloads - took >= accepted * self.payloads, f"too few payloads are broken: {self.outcomes}"


def _hang(signum: int, frame: object) -> None:
    raise Hang


def drawn(*of: SearchStrategy[Any], payloads: int = PAYLOADS) -> Callable[[_Test], Callable[[Any], None]]:
    """A test of a `Fuzz`, which counts what is read, and of what is drawn of these, until enough payloads were read."""

    def made(test: _Test) -> Callable[[Any], None]:
        def run_all(self: Any) -> None:
            fuzz = Fuzz()

            @fuzzed(payloads)
            @given(st.tuples(*of))
            def run(values: tuple[Any, ...]) -> None:
                test(self, fuzz, *values)

            run()
            fuzz.check_count(payloads)

        return run_all

    return made
