"""The options for unattended jobs: when to fail, which findings are known, and when to print nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from srfix.cli.command_classes import path_completion
from srfix.cli.options.options import quiet_option
from srfix.cli.options.values import choice_of, handing_over, option, typed_options
from srfix.recovery.severity import Severity
from srfix.serde.errors import UsageError

_SEVERITIES: Final = {severity.value.replace(" ", "-"): severity for severity in Severity}
"""Severities by the names that `--fail-on` takes, worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    fail_on: Severity = Severity.LITTER
    """The lowest severity that makes it fail."""
    baseline: str | None = None
    """A file with findings that do not make it fail."""
    write_baseline: str | None = None
    """The file to which to write the findings; from then on they are known."""
    quiet: bool = False
    """True to print nothing if nothing is wrong."""


def _gate(*, fail_on: str, **values: str | bool | None) -> Gate:
    if len(typed_options("--baseline", "--write-baseline")) > 1:
        raise UsageError(
            "--write-baseline writes all findings, also those that --baseline knows: give only one of the two. To "
            "renew a baseline, give only --write-baseline FILE: it replaces the file."
        )
    if values["write_baseline"] == "-":
        raise UsageError("--write-baseline needs a file, to be kept with the job. Standard output is for the report.")
    return Gate(fail_on=_SEVERITIES[fail_on], **values)  # type: ignore[arg-type]  # click's, by the options below


gate_options = handing_over(
    "gate",
    _gate,
    quiet_option,
    option(
        "--fail-on",
        **choice_of(_SEVERITIES, "litter"),
        help=(
            "The lowest severity that gives exit code 1. If srfix could not look at everything, the exit code is "
            "still 2."
        ),
    ),
    option(
        "--baseline",
        metavar="FILE",
        help=(
            "A file of known findings. A known finding does not give exit code 1, unless it is now worse than in "
            "the file. srfix recognises a finding about a store by code, role, application and store, and a finding "
            "about a topic by code, role, topic and subject. If srfix could not look at everything, the exit code is "
            "still 2."
        ),
    ),
    click.option(
        "--write-baseline",
        metavar="FILE",
        **path_completion("FILE"),
        help=(
            "Write the findings with --fail-on's severity or worse to this file. From then on they count as known. "
            "Replaces the file. A --baseline from the environment or the configuration file is then not read."
        ),
    ),
)
