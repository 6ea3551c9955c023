"""`--expect-digest`, which the commands share that take a plan or a journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["expect_digest_option"]

R = TypeVar("R")


def expect_digest_option(command: Callable[..., R]) -> Callable[..., Any]:
    """Adds `--expect-digest`; the command gets `expect_digest: str | None`."""
    return click.option(
        "--expect-digest",
        metavar="sha256:…",
        help="Refuse any plan but the one with this digest, as srfix plan printed it to who reviewed it.",
    )(command)
