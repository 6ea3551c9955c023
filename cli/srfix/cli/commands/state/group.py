"""`srfix state`: the group."""

from __future__ import annotations

import click

from srfix.cli.commands.state.table import STATE_COMMANDS
from srfix.cli.lazy_group import LazyGroup


@click.group(cls=LazyGroup, table=STATE_COMMANDS)
def state() -> None:
    """What a store holds, on disk and in its changelog, and what is done about it."""
