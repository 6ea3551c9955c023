"""`srfix --shell-completion SHELL`: answers a shell's completion requests, and says which options take file names."""

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
    """Like click's class, but it gets the whole line, because bash splits words at each `=` and `:`, as in
    `--output=json` and in URLs."""

    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The complete words before the cursor, and the beginning of the word at the cursor."""
        # One letter is added, because a blank at the end begins a new word, unless the blank is in quotes.
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
    """The attributes with which an option completes names of files or directories, by its metavar."""
    kind = {"FILE": "file", "DIR": "dir"}.get(metavar or "")
    if kind is None:
        return {}

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=kind)]

    return {"shell_complete": complete}


def word_completion(words: Iterable[str], *, else_file: bool = False) -> Callable[..., list[CompletionItem]]:
    """Completes an argument from these words. From the third letter on, the letter case does not matter.

    :param else_file: True if the argument may also be a file name: it is completed as one if no word matches.
    """
    candidates: Sequence[str] = tuple(words)

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        is_long = len(incomplete) > 2  # fewer letters may be the beginning of a file name
        items = [
            CompletionItem(word)
            for word in candidates
            if word.startswith(incomplete) or (is_long and is_same(word[: len(incomplete)], incomplete))
        ]
        return items or ([CompletionItem(incomplete, type="file")] if else_file else [])

    return complete
