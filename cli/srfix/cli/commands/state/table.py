"""Which commands `srfix state` has."""

from __future__ import annotations

from typing import Final

from srfix.cli.command_table import CommandEntry

STATE_COMMANDS: Final[dict[str, CommandEntry]] = {
    "seed-changelog": CommandEntry(
        "srfix.cli.commands.state.seed_changelog:seed_changelog",
        "Plan to fill a store's changelog from its source, so that reuse can be turned off.",
    ),
    "plan-expiry": CommandEntry(
        "srfix.cli.commands.state.plan_expiry:plan_expiry", "Plan tombstones for keys that nobody has written for long."
    ),
}
"""By name, in the order of `srfix state --help`."""
