"""Rule sets: which of their rules confluent-kafka would execute, so that none is passed over in silence.

Rules (data contracts, CSFLE) are not executed here. A schema whose rules would have changed or checked a record is
refused; one whose rules are disabled, of the other direction, or executed by the registry's side alone is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from srfix.serde.errors import UsageError
from srfix.serde.registry.models import Json

__all__ = ["Direction", "check_rules"]


class Direction(Enum):
    """When a rule is executed, with the modes that mean it (`RuleMode`)."""

    WRITE = ("WRITE", "WRITEREAD")
    READ = ("READ", "WRITEREAD")
    UPGRADE = ("UPGRADE", "UPDOWN")
    DOWNGRADE = ("DOWNGRADE", "UPDOWN")


_LISTS: Final = {
    Direction.WRITE: ("domainRules", "encodingRules"),
    Direction.READ: ("domainRules", "encodingRules"),
    Direction.UPGRADE: ("migrationRules",),
    Direction.DOWNGRADE: ("migrationRules",),
}
_CLIENT: Final = (None, "ALL", "CLIENT")
"""The values of `enableAt` by which a client executes rules (`BaseSerde._is_disabled`)."""


def check_rules(rule_set: Mapping[str, Json] | None, direction: Direction, *, where: str) -> None:
    """:raises UsageError: if confluent-kafka would execute a rule of the set in that direction."""
    active = [] if rule_set is None else sorted(set(_active(rule_set, direction)))
    if active:
        raise UsageError(
            f"{where} carries rules for {direction.name}: {', '.join(active)}. Rules (data contracts, CSFLE) are not "
            "executed here, and a record must not pass them by. Use confluent_kafka's own serde for this topic, or disable "
            "the rules in the registry."
        )


def _active(rule_set: Mapping[str, Json], direction: Direction) -> Iterator[str]:
    if rule_set.get("enableAt") not in _CLIENT:
        return
    for name in _LISTS[direction]:
        rules = rule_set.get(name)
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and rule.get("mode") in direction.value and not rule.get("disabled"):
                yield f"{rule.get('name') or '(no name)'} ({rule.get('type') or 'no type'})"
