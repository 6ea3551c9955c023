"""The reference of all commands, made from the commands themselves.

`python -m srfix.cli.reference markdown DIR` writes `commands.md`; `python -m srfix.cli.reference man DIR` writes a man page for
`srfix` and for each command, by click-man, which is for developers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from srfix.cli.command_classes import loaded
from srfix.cli.command_line import cli
from srfix.cli.command_table import COMMANDS, EXAMPLES, CommandEntry, every_command
from srfix.cli.options.values import Choice

_SPECIAL = re.compile(r"([\\*_<>\[\]|])")
_CODE = re.compile(r"(`[^`]+`)")


def markdown() -> str:
    """All commands with their arguments and options, a part each."""
    parts = ["# Commands", _escaped(cleandoc(cli.help or "")), _escaped(cli.epilog or "")]
    parts += [f"## srfix {name}\n\n{about_command(name)}" for name in every_command()]
    return "\n\n".join(part for part in parts if part) + "\n"


def about_command(name: str) -> str:
    """What a command does, and its options, as Markdown without a heading.

    :param name: what is typed after `srfix`: `scan`, `state ls`.
    """
    command = loaded(every_command()[name])
    context = click.Context(
        command, info_name=name, parent=click.Context(cli, info_name="srfix", **cli.context_settings)
    )
    return "\n\n".join(part for part in _command(command, context) if part)


def write_man_pages(directory: Path) -> None:
    """Writes `srfix.1`, `srfix-diagnose.1` …; the same commands give the same files."""
    from click_man.core import write_man_pages as write  # a tool of developers, which commands never load

    commands = {name: _with_its_own(name, entry) for name, entry in COMMANDS.items()}
    group = click.Group("srfix", commands=commands, help=f"{cli.help}\n\n{cli.epilog}", params=cli.params)
    group.short_help = "repair Kafka Streams and ksqlDB state stores"
    write("srfix", group, version=f"srfix {version('srfix')}", target_dir=str(directory), date=" ")


def _with_its_own(name: str, entry: CommandEntry) -> click.Command:
    """A command with its line; a group with all its commands loaded, for click-man asks for those that are."""
    command = loaded(entry)
    if entry.commands:
        inner = {each: _with_its_own(each, of) for each, of in entry.commands.items()}
        command = click.Group(name, commands=inner, help=command.help, params=command.params)
    command.short_help = entry.summary
    return command


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    example = EXAMPLES.get(ctx.info_name or "")
    if example is not None:
        yield f"```sh\n{example}\n```"
    yield f"```text\n{command.get_usage(ctx).removeprefix('Usage: ')}\n```"
    yield _escaped(cleandoc(command.help or "").replace("\b\n", ""))
    items = [_option(param, ctx) for param in command.params if isinstance(param, click.Option) and not param.hidden]
    yield "\n".join(items)


def _option(param: click.Option, ctx: click.Context) -> str:
    record = param.get_help_record(ctx)
    names, text = record if record is not None else ("", "")
    extra: Any = param.get_help_extra(ctx)
    environment = "".join(f" Environment: `{each}`." for each in extra.get("envvars", ()))
    default = f" Default: `{extra['default']}`." if extra.get("default") else ""
    return f"- `{names}`: {_escaped(param.help or text)}{default}{environment}"


def _escaped(text: str) -> str:
    """Text in which nothing but code is marked up."""
    return "".join(
        piece if piece.startswith("`") else _SPECIAL.sub(r"\\\1", piece) for piece in _CODE.split(text) if piece
    )


@click.command()
@click.argument("kind", type=Choice(["markdown", "man"]))
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def reference(kind: str, directory: Path) -> None:
    """Write the reference of all commands into DIR, as Markdown or as man pages."""
    directory.mkdir(parents=True, exist_ok=True)
    if kind == "man":
        write_man_pages(directory)
    else:
        (directory / "commands.md").write_text(markdown(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(reference())
