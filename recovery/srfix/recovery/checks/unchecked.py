"""Finding codes that are explained and that no check looks for yet: a row becomes a module once one does."""

from __future__ import annotations

from typing import Final

from srfix.recovery.checks.interface import CatalogueEntry

FOREIGN_KEY_JOIN: Final = "SRF008"
ORPHANS: Final = "SRF009"

UNCHECKED: Final = (
    CatalogueEntry(
        code=FOREIGN_KEY_JOIN,
        title="Subjects of a foreign-key join's pseudo-topics",
        severity="note",
        meaning="Subjects ending in -pk-key, -fk-key or -vh-value behind a subscription registration topic. No "
        "topic of that name exists or will: the name is only handed to serdes.",
        cause="A foreign-key join (Kafka Streams 2.4 and later) with registry serdes. It is by design.",
        detection="By the name.",
        remedy="Leave them while the application lives.",
    ),
    CatalogueEntry(
        code=ORPHANS,
        title="Orphans: internal subjects of an application that is gone",
        severity="litter",
        meaning="The subjects were left behind; they count toward limits on schemas and make listings long.",
        cause="The application or query was removed without its subjects; older ksqlDB versions left them.",
        detection="No topic, no state and no group of that application. A missing group alone is not enough: committed "
        "offsets expire.",
        remedy="Nothing, if they disturb nobody: --ignore PATTERN acknowledges them. Who knows that the application is gone "
        "for good may soft-delete them, but never the last holder of an id that any topic or store still uses.",
    ),
)
"""In the order of their codes."""
