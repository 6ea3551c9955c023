"""Options that may be given several times."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["Lines"]


class Lines(click.ParamType[str]):
    """Text, of which the environment may hold several, one a line: values may contain blanks and colons."""

    envvar_list_splitter = "\n"

    def __init__(self, name: str) -> None:
        """
        :param name: what one of them is, in help texts.
        """
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)
