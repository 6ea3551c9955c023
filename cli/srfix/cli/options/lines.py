"""Options that may be given several times."""

from __future__ import annotations

import click


class Lines(click.types.StringParamType):
    """Text, of which the environment may hold several, one a line: values may contain blanks and colons.

    :param name: what one of them is, in help texts.
    """

    envvar_list_splitter = "\n"

    def __init__(self, name: str) -> None:
        self.name = name
