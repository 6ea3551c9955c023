"""The options for jobs that nobody watches: when to fail, what is known, and when to keep quiet.

@click.command()
@gate_options                  # hands over `gate: Gate`
def diagnose(gate): …
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

import click

from srfix.cli.completion import path_completion
from srfix.cli.options.groups import handing_over, option, typed_options
from srfix.cli.options.values import Choice
from srfix.recovery.severity import Severity
from srfix.serde.errors import UsageError
from srfix.serde.waiting import watch_with

_SEVERITIES: Final = {severity.value.replace(" ", "-"): severity for severity in Severity}
"""By the names that `--fail-on` takes, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What makes a command that finds things fail."""

    fail_on: Severity = Severity.LITTER
    """The least severity that does."""
    baseline: str | None = None
    """A file with findings that do not."""
    write_baseline: str | None = None
    """Where to write the findings, which are known from then on."""
    quiet: bool = False
    """True to say nothing where nothing is wrong."""


def _gate(*, fail_on: str, **values: str | bool | None) -> Gate:
    if len(typed_options("--baseline", "--write-baseline")) > 1:
        raise UsageError(
            "--write-baseline writes down all that is found, whatever --baseline knows: give one of them. "
            "To renew a baseline, --write-baseline FILE alone replaces it."
        )
    if values["write_baseline"] == "-":
        raise UsageError("--write-baseline takes a file, to be kept with the job: standard output has the report.")
    return Gate(fail_on=_SEVERITIES[fail_on], **values)  # type: ignore[arg-type]  # click's, by the options below


def _tell_no_waits(_ctx: click.Context, _param: click.Parameter, is_quiet: bool) -> bool:
    if is_quiet:
        watch_with(nullcontext)
    return is_quiet


quiet_option = option(
    "--quiet",
    "-q",
    envvar="QUIET",
    is_flag=True,
    callback=_tell_no_waits,
    help="Say nothing where the exit code is 0: no report (but JSON's document), no progress, no totals. What to "
    "take out of a baseline is said even so. For cron.",
)
"""Adds `--quiet`; the command gets `quiet: bool`."""

gate_options = handing_over(
    "gate",
    _gate,
    quiet_option,
    option(
        "--fail-on",
        envvar="FAIL_ON",
        type=Choice(tuple(_SEVERITIES)),
        default="litter",
        show_default=True,
        help="The least severity that ends in exit code 1. What was not looked at still ends in 2.",
    ),
    option(
        "--baseline",
        envvar="BASELINE",
        metavar="FILE",
        help="What is known (by code, role, and store or topic and subject) does not fail, unless it is worse than written "
        "down. What was not looked at still ends in 2.",
    ),
    click.option(
        "--write-baseline",
        metavar="FILE",
        **path_completion("FILE"),
        help="Write down what is found, with --fail-on's severity or worse, as known from now on. Replaces the file; a "
        "--baseline of the environment or the configuration file is not read then.",
    ),
)
"""Adds the options; the command gets `gate: Gate`."""
