"""A command whose help has an example, and its options in groups; few options are one list, as click writes it."""

from __future__ import annotations

from functools import partial
from typing import Final

import click

from srfix.cli.command_table import EXAMPLES

_EVIDENCE: Final = (
    "--source --reader --streams-version --no-auto-register --isolation --gone --state-dir --topology --ksqldb --ksqldb-user "
    "--ksqldb-config --ksqldb-text --changelogs --decode-values"
)
_WORK: Final = "--deadline --max-records --engine --master --spark-conf --processes"
_CONNECTION: Final = "--bootstrap-servers -X --kafka-config --registry -R --config"
_OUTPUT: Final = (
    "--out --output --details --as-shell --quiet --fail-on --baseline --write-baseline --metrics --detailed-exitcode --journal "
    "--journals --yes --help"
)
_GROUPS: Final = {
    title: frozenset(names.split())
    for title, names in {
        "Evidence": _EVIDENCE,
        "How it reads": _WORK,
        "Connection": _CONNECTION,
        "Output": _OUTPUT,
    }.items()
}
_FEW: Final = 9
"""Options that are one list."""


class GroupedCommand(click.Command):
    """A command of srfix."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        example = EXAMPLES.get(ctx.command_path.partition(" ")[2])
        if example is not None:
            with formatter.section("Example"):
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and not each.hidden]
        if len(shown) <= _FEW:
            super().format_options(ctx, formatter)
            return
        parts: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in _GROUPS}}
        for param in shown:
            title = next((title for title, names in _GROUPS.items() if not names.isdisjoint(param.opts)), "Options")
            record = param.get_help_record(ctx)
            assert record is not None
            parts[title].append(record)
        for title, records in parts.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


command = partial(click.command, cls=GroupedCommand)
"""`click.command` of a command of srfix."""
