"""Values that do not fit: collected with their paths, and turned into sentences in one place."""

from __future__ import annotations

from collections.abc import Iterable

from srfix.serde.errors import EncodeError

_SHOWN_FIELDS = 10
_SHOWN_CHARACTERS = 60


class Misfit(Exception):
    """Values that do not fit, each as path and sentence. It never leaves this room: see `encode_error`."""

    def __init__(self, found: Iterable[tuple[str, str]]) -> None:
        self.found = tuple(found)
        super().__init__(self.found)

    @classmethod
    def needs(cls, what: str, value: object) -> Misfit:
        """One value, at the path that its callers will put before it."""
        shown = repr(value)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = f"{shown[:_SHOWN_CHARACTERS]}…"
        return cls([("", f"needs {what}, got {type(value).__name__} {shown}")])

    def under(self, label: str) -> Iterable[tuple[str, str]]:
        """The same findings, seen from one level up."""
        return ((f"{label}{path}", sentence) for path, sentence in self.found)

    def group(self) -> ExceptionGroup[EncodeError]:
        """The findings as exceptions, one each: the cause of what `encode_error` makes."""
        return ExceptionGroup("fields that do not fit", [EncodeError(line) for line in self.lines()])

    def lines(self) -> list[str]:
        """The findings as sentences without their stop."""
        return [f"{path or 'the row'} {sentence}" for path, sentence in self.found]


def encode_error(misfit: Misfit) -> EncodeError:
    """The error for a row: one message for all its bad fields, their paths in `.paths`."""
    lines = misfit.lines()
    more = f"; and {len(lines) - _SHOWN_FIELDS} more" if len(lines) > _SHOWN_FIELDS else ""
    count = "1 field does" if len(lines) == 1 else f"{len(lines)} fields do"
    return EncodeError(
        f"{count} not fit: {'; '.join(lines[:_SHOWN_FIELDS])}{more}.",
        paths=tuple(path for path, _ in misfit.found),
    )
