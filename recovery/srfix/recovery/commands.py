"""The commands that srfix prints for a person to paste: one function quotes them all."""

from __future__ import annotations

import shlex

__all__ = ["srfix_command"]


def srfix_command(*arguments: str) -> str:
    """`srfix` with these arguments, as a POSIX shell takes it: a name with a space or a quote stays one argument."""
    return shlex.join(("srfix", *arguments))
