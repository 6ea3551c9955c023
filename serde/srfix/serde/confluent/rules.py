"""Rule sets: which of their rules confluent-kafka would execute, so that none is passed over in silence.

Rules (data contracts, CSFLE) are not executed here. A schema whose rules would have changed or checked a record is
refused; one whose rules are disabled, of the other direction, or executed by the registry's side alone is not. Between a
writer's schema and the latest one stand versions, whose rules may rewrite records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from srfix.serde.errors import UsageError
from srfix.serde.schemas.models import Json, SchemaVersion
from srfix.serde.schemas.references import SchemaVersions


class Direction(Enum):
    """When a rule is executed: the lists that hold such rules, and the modes that mean it (`RuleMode`)."""

    WRITE = (("domainRules", "encodingRules"), ("WRITE", "WRITEREAD"))
    READ = (("domainRules", "encodingRules"), ("READ", "WRITEREAD"))
    UPGRADE = (("migrationRules",), ("UPGRADE", "UPDOWN"))
    DOWNGRADE = (("migrationRules",), ("DOWNGRADE", "UPDOWN"))


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


def check_migrations(registry: SchemaVersions, subject: str, source: int, latest: SchemaVersion) -> None:
    """Asks what confluent-kafka asks before it reads as the latest version has it (`BaseDeserializer._get_migrations`).

    :param source: the subject's version that a record was written under.
    """
    direction = Direction.UPGRADE if source < latest.version else Direction.DOWNGRADE
    first, last = sorted((source, latest.version))
    for number in range(first + 1, last + 1):
        schema = latest.schema if number == latest.version else registry.version(subject, number, deleted=True).schema
        check_rules(schema.rule_set, direction, where=f"Version {number} of subject {subject!r}")


def _active(rule_set: Mapping[str, Json], direction: Direction) -> Iterator[str]:
    if rule_set.get("enableAt") not in _CLIENT:
        return
    lists, modes = direction.value
    for rules in map(rule_set.get, lists):
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and rule.get("mode") in modes and not rule.get("disabled"):
                yield f"{rule.get('name') or '(no name)'} ({rule.get('type') or 'no type'})"
