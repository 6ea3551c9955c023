"""Where a second subject answered: told here by the one who reads, and taken along from a worker."""

from __future__ import annotations

from srfix.serde.resolve.resolved import SecondAnswered


class SecondAnswers:
    """What a `DualSubject` is given as `on_second`. Picklable."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def __call__(self, answered: SecondAnswered) -> None:
        self._notes.append(answered.note)

    def taken(self) -> tuple[str, ...]:
        """What was said since this was asked last."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes
