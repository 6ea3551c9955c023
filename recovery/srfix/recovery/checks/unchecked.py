"""Finding codes that are explained and that no check looks for yet: a row becomes a module once one does."""

from __future__ import annotations

from typing import Final

from srfix.recovery.checks.interface import CatalogueEntry

FOREIGN_KEY_JOIN: Final = "SRF008"
ORPHANS: Final = "SRF009"

UNCHECKED: Final = (
    CatalogueEntry(
        code="SRF002",
        title="The next restore will break a store that is still readable",
        severity="breaks on restore",
        meaning="As SRF001, but the rows in the state directories that were looked at all carry ids that the "
        "phantom subject knows. Nothing fails today; it will after a restore.",
        cause="The same as SRF001, before the state directory was lost.",
        detection="The checks of SRF001, and the rows of every partition's store read from the state directories.",
        remedy="Repair as for SRF001 before the next restore. Until then keep the state directories: no wipe, "
        "and no move of partitions that can be avoided.",
    ),
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
    CatalogueEntry(
        code="SRF014",
        title="Schema ids in a store or a real changelog that the registry has lost",
        severity="broken",
        meaning="As SRF011, but in the application's own data: rows that the application wrote cannot be read.",
        cause="A hard delete of an internal subject while its rows lived on; a registry set up anew.",
        detection="Ids in changelog topics and in the stores of state directories, fetched from the registry.",
        remedy="Bring the schema back under its old id, or rebuild the store from its inputs.",
    ),
    CatalogueEntry(
        code="SRF019",
        title="A global store whose processor transforms is restored untransformed",
        severity="silent wrong results",
        meaning="A custom processor of addGlobalStore runs while processing but not while restoring: after a "
        "restore the store holds what the topic holds.",
        cause="KAFKA-7663, Kafka Streams before 3.8.0.",
        detection="The topology, and rows of the global store that equal the records of the topic.",
        remedy="Upgrade to 3.8.0 or later (KIP-1024), or fill the topic with rows that need no transformation.",
    ),
)
"""In the order of their codes."""
