"""The options that only `srfix watch` has: what it may write, where it listens, and which files of the wheel it
prints."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

import click

from srfix.cli.options.options import expect_digest_option
from srfix.cli.options.values import handing_over, option
from srfix.cli.output.speaking import show
from srfix.recovery.plans.sign_off import NAMESPACE
from srfix.serde.errors import UsageError

_OFF = "off"
DASHBOARD: Final = "dashboard.json"
ALERTS: Final = "alerts.yml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """What a watch may write."""

    plan: Path | None
    """The signed-off plan; None to look and report only."""
    journals: Path | None
    """The directory for the journals; None for a directory beside the plan."""
    expect_digest: str | None
    """The digest that the plan must have."""
    signature: Path | None
    """The plan's detached signature, with `signer_key`."""
    signer_key: Path | None
    """The public key of the person who signed it."""


def _allow(
    *,
    allow: Path | None,
    journals: Path | None,
    expect_digest: str | None,
    signature: Path | None,
    signer_key: Path | None,
) -> Allow:
    if (signature is None) != (signer_key is None):
        raise UsageError(
            "--signature and --signer-key belong together: give the signature, and the public key of its maker."
        )
    if allow is None and (journals or expect_digest or signature):
        raise UsageError("--journals, --expect-digest and --signature are for the plan of --allow: give --allow, too.")
    return Allow(plan=allow, journals=journals, expect_digest=expect_digest, signature=signature, signer_key=signer_key)


allow_options = handing_over(
    "allow",
    _allow,
    option(
        "--allow",
        type=click.Path(path_type=Path),
        metavar="PLAN",
        help=(
            "A signed-off plan. srfix watch registers schemas of the plan's source subjects under the plan's "
            "phantom subjects, with the same kinds of steps as in the plan. Without --allow it writes nothing."
        ),
    ),
    option(
        "--journals",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The directory for this instance's journals, one for each subject. Default: PLAN.watch, beside the plan.",
    ),
    expect_digest_option,
    click.option(
        "--signature",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=(
            f"Refuse the plan unless this file is its signature, made with ssh-keygen -Y sign -n {NAMESPACE}. Needs "
            "--signer-key."
        ),
    ),
    click.option(
        "--signer-key",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The public key (.pub) of the person who signed the plan.",
    ),
)


def listen_address(_ctx: click.Context, _param: click.Parameter, text: str) -> tuple[str, int] | None:
    """Host and port; None for `off`."""
    if text == _OFF:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"expected HOST:PORT or {_OFF}, not {text!r}.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def kept_text(name: str) -> str:
    """The text of the Grafana dashboard or of the alert rules, which are files in the wheel."""
    return files("srfix.cli.metrics").joinpath(name).read_text(encoding="utf-8")


def print_kept(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    """Prints one of the two files, and ends the command."""
    if is_asked and not ctx.resilient_parsing:
        show(kept_text(DASHBOARD if param.name == "print_dashboard" else ALERTS), end="")
        ctx.exit()
