"""Both engines of the serde in one process, and what came of each in a form that can be compared."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from srfix.serde import BadRow, SrfixError, native
from tests.serde.fuzz.same import same

_kernel = native.kernel
_MOST_CAUSES = 5


@contextmanager
def python_engine() -> Iterator[None]:
    """What is built in it is built as where there is no kernel: decoders, encoders and the engine of batches.

    Deserializers plan at their first record, so they are called in it, too.
    """
    users = [module for name, module in list(sys.modules.items()) if name.startswith("srfix.") and _uses(module)]
    with ExitStack() as stack:
        for module in users:
            stack.enter_context(mock.patch.object(module, "kernel", _none))
        yield


def _uses(module: object) -> bool:
    return getattr(module, "kernel", None) is _kernel


def _none() -> None:
    return None


def is_native(plan: object) -> bool:
    """True if the kernel reads, or writes, by this plan first."""
    found = _kernel()
    return found is not None and isinstance(getattr(plan, "__self__", None), found.Decoder | found.Encoder)


@dataclass(frozen=True, slots=True)
class Raised:
    """An error, with all that it says."""

    kind: str
    words: str
    about: tuple[tuple[str, str], ...]
    """Its attributes: paths, position, types."""
    causes: tuple[tuple[str, str], ...]
    """Class and message of what it came from, and of that, and so on, as far as these are srfix's."""

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """All that an error says."""
        return cls(
            type(error).__qualname__,
            str(error),
            tuple(sorted((name, _shown(value)) for name, value in getattr(error, "__dict__", {}).items())),
            tuple((type(cause).__qualname__, str(cause)) for cause in _causes(error) if isinstance(cause, SrfixError)),
        )


def _causes(error: BaseException) -> Iterable[BaseException]:
    found: list[BaseException] = []
    while error.__cause__ is not None and len(found) < _MOST_CAUSES:
        error = error.__cause__
        found.append(error)
    return found


def _shown(value: object) -> str:
    return repr(Raised.of(value)) if isinstance(value, BaseException) else repr(value)


def outcome(run: Callable[[], object]) -> object:
    """What comes of a call: its value, or a `Raised`.

    :raises BaseException: if it is neither a value nor an Exception, a panic above all.
    """
    try:
        return run()
    except SrfixError as error:
        return Raised.of(error)
    except Exception as error:  # noqa: BLE001 - whatever one engine raises, the other has to
        return Raised.of(error)


def are_same(one: object, other: object) -> bool:
    """Whether two outcomes are the same, to the type of every value, and every word."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    if isinstance(one, BadRow) and isinstance(other, BadRow):
        return same(_bad_row(one), _bad_row(other))
    return same(one, other)


def _bad_row(row: BadRow) -> list[object]:
    return [row.position, row.reason.value, Raised.of(row.error), row.payload]


def told_apart(one: object, other: object) -> str:
    """Where two lists of outcomes differ first."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            if not are_same(left, right):
                return f"at {number}: {_words(left)} and {_words(right)}"
    return f"{_words(one)} and {_words(other)}"


def _words(value: object) -> str:
    if isinstance(value, BadRow):
        value = _bad_row(value)
    return f"{value!r:.3000}"
