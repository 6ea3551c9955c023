"""Finding codes that are explained and that no check looks for yet: a row becomes a module once one does."""

from __future__ import annotations

from typing import Final

from srfix.recovery.checks.interface import CatalogueEntry

FOREIGN_KEY_JOIN: Final = "SRF008"
ORPHANS: Final = "SRF009"
REFUSED_PUT: Final = "SRF015"
UPGRADE_REGISTERS: Final = "SRF016"

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
    CatalogueEntry(
        code="SRF010",
        title="Pollution: the source subject holds an internal schema that no record uses",
        severity="litter",
        meaning="A version of the source subject was registered by a store's serde, not by a producer.",
        cause="Kafka Streams 2.7.0 and later with a reused source topic or a global table: the side effect "
        "of writing to the store moved from the phantom subject to the source's.",
        detection="A version that no record of the topic carries, and that a changelog subject or a store knows.",
        remedy="Keep it while a store may hold its id. Turn reuse off before removing it.",
    ),
    CatalogueEntry(
        code=REFUSED_PUT,
        title="Writing to the store would be refused",
        severity="broken",
        meaning="The serde may not register its schema under the subject that it is handed, so the first put "
        "fails; with auto.register.schemas=false it looks the schema up there and gets 40401 or 40403.",
        cause="Registration is turned off or forbidden, and nobody registered the schema under the phantom subject.",
        detection="The subject, its mode, and what the credentials may do.",
        remedy="Register the reader's own schema under the phantom subject.",
    ),
    CatalogueEntry(
        code=UPGRADE_REGISTERS,
        title="After an upgrade the internal schema would go under your own subject",
        severity="breaks on upgrade",
        meaning="From 2.7.0 on the first put registers the reader's schema under the source subject. It is refused with 409 "
        "and the thread dies, or it is accepted and becomes the latest version of a subject that others use.",
        cause="An upgrade across 2.7.0 with a reused source topic and a reader whose schema differs from the writer's.",
        detection="A compatibility check of the internal schema against the source subject, without writing.",
        remedy="Turn the reuse off with a seeded changelog, or let the reader write the writer's schema, then upgrade.",
    ),
)
"""In the order of their codes."""
