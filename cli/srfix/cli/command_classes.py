"""Subclasses of click's classes: a shell's completion, help in groups, groups that import a command when needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Final

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from srfix.cli.command_table import EXAMPLES, CommandEntry
from srfix.cli.output.speaking import is_coloured, show
from srfix.serde.casing import is_same
from srfix.serde.hints import nearest

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
    """Like click's class, but it gets the whole line, because bash splits words at each `=` and `:`, as in URLs."""

    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        # One letter is added, because a blank at the end begins a new word, unless the blank is in quotes.
        _command, *words, last = split_arg_string(f"{os.environ['COMP_LINE']}x")
        return words, last[:-1]


add_completion_class(_BashComplete)


def print_completion(ctx: click.Context, _param: click.Parameter, shell: str | None) -> None:
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
    """Completes an argument from these words, from the third letter on in any case; or, with `else_file`, a file."""
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


_GROUPS: Final = {
    "Evidence": (
        "--source --reader --streams-version --no-auto-register --isolation --gone --state-dir --topology --ksqldb "
        "--ksqldb-user --ksqldb-config --ksqldb-text --changelogs --decode-values"
    ),
    "How it reads": "--deadline --max-records --engine --master --spark-conf --processes",
    "Connection": "--bootstrap-servers -X --kafka-config --registry -R --config",
    "Output": (
        "--out --output --details --as-shell --quiet --fail-on --baseline --write-baseline --metrics --detailed-exitcode "
        "--journal --journals --yes --help"
    ),
}
_OTHERS: Final = "Options"
_FEW: Final = 9
"""Up to this number, the options are one list."""


class HelpFormatter(click.HelpFormatter):
    def write_heading(self, heading: str) -> None:
        super().write_heading(_bold(heading))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(_bold(prog), args, prefix)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(_bold(name), text) for name, text in rows], col_max, col_spacing)


def _bold(text: str) -> str:
    return click.style(text, bold=True) if is_coloured(sys.stdout) else text


class HelpContext(click.Context):
    formatter_class = HelpFormatter


class GroupedCommand(click.Command):
    context_class = HelpContext

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        example = EXAMPLES.get(ctx.command_path.partition(" ")[2])
        if example is not None:
            with formatter.section("Example"):
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in grouped_options(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl([record for option in options if (record := option.get_help_record(ctx))])


def grouped_options(command: click.Command, ctx: click.Context) -> Mapping[str, Sequence[click.Option]]:
    """The options that a command's help shows, in titled groups. If there are few options, they are one group."""
    shown = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
    if len(shown) <= _FEW:
        return {_OTHERS: shown}
    groups: dict[str, list[click.Option]] = {_OTHERS: [], **{title: [] for title in _GROUPS}}
    for option in shown:
        title = next(
            (title for title, names in _GROUPS.items() if not set(option.opts).isdisjoint(names.split())), _OTHERS
        )
        groups[title].append(option)
    return {title: options for title, options in groups.items() if options}


command = partial(click.command, cls=GroupedCommand)


def loaded(entry: CommandEntry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    command = getattr(import_module(module), attribute)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a click command.")
    return command


class LazyGroup(click.Group):
    """Takes its commands from a table of `module:attribute`."""

    context_class = HelpContext

    def __init__(self, *args: Any, table: Mapping[str, CommandEntry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._table.get(cmd_name)
        return None if entry is None else loaded(entry)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._table and not ctx.resilient_parsing and not name.startswith("-"):
            near = nearest(name[:100], self._table)
            meant = f" Did you mean {near}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with `incomplete` (none is imported), and the group's own options."""
        commands = [
            CompletionItem(name, help=entry.summary)
            for name, entry in self._table.items()
            if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self._table.items()])
