"""The options for a plan that somebody signed off: its digest, its signature, and what `srfix watch` may write by it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from srfix.cli.options.options import expect_digest_option
from srfix.cli.options.values import handing_over, option
from srfix.recovery.plans.sign_off import NAMESPACE, require_digest, signed_plan
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.recovery.repair.plan_file import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOff:
    expect_digest: str | None
    signature: Path | None
    """The detached signature, with `signer_key`."""
    signer_key: Path | None

    def check(self) -> None:
        if (self.signature is None) != (self.signer_key is None):
            raise UsageError(
                "--signature and --signer-key belong together: give the signature, and the public key of its maker."
            )

    def plan(self, path: Path) -> Plan:
        from srfix.recovery.repair.plan_file import REPAIR_PLANS, load_plan

        self.check()
        if self.signature is None or self.signer_key is None:
            plan = load_plan(path)
        else:
            text = signed_plan(path, signature=self.signature, signer_key=self.signer_key)
            plan = REPAIR_PLANS.plan_in(text, path)
        require_digest(plan.digest, self.expect_digest, where=path)
        return plan


_SIGN_OFF = (
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
sign_off_options = handing_over("sign_off", SignOff, *_SIGN_OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow(SignOff):
    path: Path | None
    """The signed-off plan; None to look and report only."""
    journals: Path | None
    """The directory for the journals; None for a directory beside the plan."""


def _allow(*, allow: Path | None, **values: Any) -> Allow:
    allowed = Allow(path=allow, **values)
    allowed.check()
    if allow is None and (allowed.journals or allowed.expect_digest or allowed.signature):
        raise UsageError("--journals, --expect-digest and --signature are for the plan of --allow: give --allow, too.")
    return allowed


allow_options = handing_over(
    "allow",
    _allow,
    option(
        "--allow",
        type=click.Path(path_type=Path),
        metavar="PLAN",
        help=(
            "A signed-off plan. srfix watch registers schemas of the plan's source subjects under the plan's "
            "phantom subjects, with the same kinds of steps as in the plan. Without --allow srfix watch writes nothing."
        ),
    ),
    option(
        "--journals",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The directory for this instance's journals, one for each subject. Default: PLAN.watch, beside the plan.",
    ),
    *_SIGN_OFF,
)
