"""`srfix state`: what lies in a state directory. Its commands are imported when they run."""

from __future__ import annotations

import click

from srfix.cli.command_table import STATE_COMMANDS
from srfix.cli.lazy_group import LazyGroup


@click.group(cls=LazyGroup, table=STATE_COMMANDS)
def state() -> None:
    """Look into the state directory of a Kafka Streams or ksqlDB application.

    A directory is never written to, not even a lock: its files are opened through a view of links. A copy does as well, and is
    better while the application runs, for what is in its memory is not on disk. Stores need the extra: pip install
    'srfix[state]'.
    """
