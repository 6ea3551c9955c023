"""`srfix --shell-completion SHELL`: what a shell asks while a person types; and what it may complete as a file's name."""

from __future__ import annotations

from typing import Any, Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from srfix.cli.output import show

_VARIABLE: Final = "_SRFIX_COMPLETE"
SHELLS: Final = ("bash", "zsh", "fish")


def print_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
    """Prints the script for a shell, and ends the command."""
    if shell is None or ctx.resilient_parsing:
        return
    kind = get_completion_class(shell)
    assert kind is not None, shell
    show(kind(ctx.command, {}, "srfix", _VARIABLE).source())
    ctx.exit()


def path_completion(metavar: str | None) -> dict[str, Any]:
    """The attributes by which an option of such a metavar completes names of files, or of directories."""
    kind = {"FILE": "file", "DIR": "dir"}.get(metavar or "")
    if kind is None:
        return {}

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=kind)]

    return {"shell_complete": complete}
