"""What is done with each part of a store (its rows in one task): here, or on a Spark worker, by the same function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from srfix.serde.resolve.resolved import SecondAnswered

Part = TypeVar("Part")
"""What is worked on. Picklable."""
Result = TypeVar("Result")
"""What comes of it: counts, damage, names of files. Picklable, and small."""
Part_contra = TypeVar("Part_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Part_contra, Result_co]):
    """What is done with each part. Picklable by `pickled_with_secrets`; one object does many parts, one after the other."""

    def __call__(self, part: Part_contra) -> Result_co:
        """:raises SrfixError: if it cannot be done."""
        ...

    def places(self, part: Part_contra) -> Sequence[Path]:
        """The directories that must be there for it, wherever it runs."""
        ...


class PartsEngine(Protocol):
    """What has the work of many parts done, side by side."""

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """What comes of each part, in their order. If one fails, nothing of the others is given.

        :param doing: what is being done, for an error: `exporting users`.
        :raises SrfixError: what a part raised.
        """
        ...


class SecondAnswers:
    """What a `DualSubject` is given as `on_second`: keeps what it says for who reads here, or takes it along from a worker.
    Picklable.
    """

    def __init__(self) -> None:
        self._notes: list[str] = []

    def __call__(self, answered: SecondAnswered) -> None:
        self._notes.append(answered.note)

    def taken(self) -> tuple[str, ...]:
        """What was said since this was asked last."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes
