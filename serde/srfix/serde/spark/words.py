"""Arguments that are one of some words."""

from __future__ import annotations

from srfix.serde.errors import UsageError


def check_word(name: str, given: str, words: tuple[str, ...]) -> None:
    """:raises UsageError: if the argument is none of the words."""
    if given not in words:
        raise UsageError(f"{name}={given!r} is none of {', '.join(words)}.")
