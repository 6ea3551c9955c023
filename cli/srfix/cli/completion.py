"""`srfix --shell-completion SHELL`: what a shell asks while a person types; and what it may complete as a file's name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from srfix.cli.output.speaking import show
from srfix.serde.casing import is_same

_VARIABLE: Final = "_SRFIX_COMPLETE"
SHELLS: Final = ("bash", "zsh", "fish")


_BASH: Final = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete $1)
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _BashComplete(BashComplete):
    """As click's, but asked with the line: bash's own words end at each `=` and `:`, as in `--output=json` and in URLs."""

    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and what stands of the last one."""
        # One more letter: a blank at the end begins a new word, or stands in quotes and does not.
        _command, *words, last = split_arg_string(f"{os.environ['COMP_LINE']}x")
        return words, last[:-1]


add_completion_class(_BashComplete)


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


def word_completion(words: Iterable[str], *, else_file: bool = False) -> Callable[..., list[CompletionItem]]:
    """Completes an argument that is one of these words; from its third letter on in whatever letter case it is typed.

    :param else_file: True if the argument may be a file's name as well: completed as one where no word begins so.
    """
    candidates: Sequence[str] = tuple(words)

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        is_long = len(incomplete) > 2  # before, it may begin the name of a file
        items = [
            CompletionItem(word)
            for word in candidates
            if word.startswith(incomplete) or (is_long and is_same(word[: len(incomplete)], incomplete))
        ]
        return items or ([CompletionItem(incomplete, type="file")] if else_file else [])

    return complete
