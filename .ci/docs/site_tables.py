"""Tables that people keep for the site: its menu, its findings in a few words, public packages and their headings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COPIED: Final = ("DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Files that become pages unchanged. Links between them work on the site as in the repository."""

MENU: Final[Mapping[str, str | Mapping[str, str]]] = {
    "Home": "index.md",
    "Start": {"Install": "start/install.md", "Your first repair": "start/first-repair.md"},
    "Repair": {
        "Repair a store": "repair/kafka-10179.md",
        "A topic and its reader": "repair/connect-and-mirrors.md",
        "What is in a store": "repair/state-on-disk.md",
        "Rows while the application is down": "repair/serve.md",
        "Many stores, special cases": "repair/many-stores.md",
        "One plans, another decides": "repair/four-eyes.md",
        "A report for people": "repair/reports.md",
        "From Python": "repair/from-python.md",
        "How a source is chosen": "background/how-a-source-is-chosen.md",
        "Why versions are soft-deleted": "background/why-soft-delete.md",
    },
    "Prevent": {"Guard": "prevent/guard.md", "Watch": "prevent/watch.md", "Cron and CI": "prevent/ci.md"},
    "Serde": {
        "Coming from confluent-kafka": "serde/confluent.md",
        "Differences from confluent-kafka": "serde/differences.md",
        "A reader that survives": "serde/dual-subject.md",
        "Columns and letter case": "serde/columns-and-case.md",
        "Formats": "serde/formats.md",
        "Times": "serde/times.md",
        "Arrow and batches": "serde/arrow-and-batches.md",
        "Native kernel": "serde/native-kernel.md",
    },
    "Spark": {
        "Read a topic": "spark/read.md",
        "Write, and keep bad rows": "spark/write-and-quarantine.md",
        "SQL, and without jars": "spark/sql.md",
        "All options": "spark/options.md",
        "Engines and executors": "spark/engines.md",
        "Versions of Spark": "spark/versions.md",
        "Coming from ABRiS or Databricks": "spark/from-abris.md",
    },
    "Reference": {
        "Findings": "findings/",
        "Commands": "commands/",
        "Exit codes": "reference/exit-codes.md",
        "Configuration": "reference/configuration.md",
        "JSON documents": "documents.md",
        "GitHub Action": "github-action.md",
        "Registries": "background/registries.md",
        "Python": "api/",
    },
    "Notebooks": "notebooks/",
    "Project": {
        "Contributing": "CONTRIBUTING.md",
        "Design": "DESIGN.md",
        "Security": "SECURITY.md",
        "Changes": "CHANGELOG.md",
    },
}
"""Tab → its page or its entries. Entry → its page, or the folder of its pages."""

FINDINGS: Final[Mapping[str, tuple[str, str]]] = {
    "SRF001": ("A restored store cannot be read", ""),
    "SRF002": ("The next restore breaks a readable store", "`--state-dir`"),
    "SRF003": ("Readable until the source's next schema", ""),
    "SRF004": ("After an upgrade, kept rows cannot be read", "`--streams-version`; for exact ids, `--state-dir`"),
    "SRF005": ("Look-ups by key silently miss rows", ""),
    "SRF006": (
        "A global table cannot be read",
        "`--state-dir` or `--topology`; else srfix infers that the table is global, and says so",
    ),
    "SRF007": ("Subject of a store that logs nothing: harmless", "`--state-dir` or `--topology`"),
    "SRF008": ("Subjects of a removed foreign-key join: harmless", ""),
    "SRF009": ("Subjects left by an application that is gone", "as proof `--gone` or `--ksqldb`"),
    "SRF010": ("The source's subject holds an internal schema", "to be sure, `--state-dir`"),
    "SRF011": ("The topic has ids unknown to the registry", ""),
    "SRF012": ("The registry would refuse the repair", ""),
    "SRF013": ("Records are not framed, or do not decode", "for all records, `--decode-values`"),
    "SRF014": ("The registry lost ids that a store needs", "`--state-dir`; for whole changelogs, `--changelogs`"),
    "SRF015": ("The next write to the store is refused", "`--no-auto-register`"),
    "SRF016": ("An upgrade registers internal schemas under your subject", "`--streams-version`"),
    "SRF017": ("Live ids missing from the topic's own subject", ""),
    "SRF018": ("Retention deletes rows of a reused source", ""),
    "SRF019": ("A restore skips a global store's processor", "`--topology` and `--state-dir`"),
    "SRF020": ("A topic's reader asks the wrong subject", "`srfix check TOPIC`; for a changelog, `--reader connect`"),
}
"""Code → its title in a few words (the same as in README), and what srfix needs to see it, besides cluster and registry."""

API: Final = (
    "srfix.serde",
    "srfix.serde.schemas.models",
    "srfix.serde.schemas.errors",
    "srfix.serde.confluent",
    "srfix.serde.arrow",
    "srfix.serde.spark",
    "srfix.recovery",
)
"""Public packages, and modules whose names are as stable as theirs. The site shows their docstrings."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Steps of a repair": ("recovery.steps", "recovery.diagnosis", "recovery.findings", "recovery.repair"),
    "What the steps look at": ("recovery",),
    "Serializers and deserializers": (
        *("serde.serializer", "serde.deserializer", "serde.dataclass_deserializer", "serde.interface", "serde.batches"),
        *("serde.windowed", "serde.confluent.avro", "serde.confluent.json_schema", "serde.confluent.asynchronous"),
    ),
    "Policies and subjects": ("serde.resolve", "serde.subjects", "serde.confluent.strategies"),
    "Framing": ("serde.confluent.framing",),
    "Columns": (
        "serde.columns",
        "serde.column_sources",
        "serde.casing",
        "serde.connect",
        "serde.formats",
        "serde.specs",
    ),
    "Registry": ("serde.registry", "serde.properties", "serde.schemas", "serde.compatibility"),
    "Reading": ("serde.spark.read", "serde.spark.reading", "serde.arrow.decode"),
    "Writing": ("serde.spark.write", "serde.spark.writing", "serde.arrow.encode"),
    "Session and jobs": ("serde.spark.session", "serde.spark.releases", "serde.spark.progress"),
    "Engines, types and more": ("serde", "serde.spark.read.jvm"),
    "Errors": ("serde.errors", "serde.spark.errors", "serde.schemas.errors", "recovery.errors"),
}
"""Heading on a package's page → the modules whose names stand under it. If several modules fit, the longest one counts."""

DOCSTRINGS: Final = {
    "spark/options.md": ("srfix.serde.spark.source", 'Options of `format("srfix")`'),
    "serde/differences.md": ("srfix.serde.confluent", "The drop-in for confluent-kafka"),
}
"""Page → a module, and the page's title. The page has the module's docstring, and the docstrings below it that hold a table."""

NOTEBOOK_TITLES: Final = {"incident": "The incident", "serde": "The serde", "spark": "The incident on Spark"}

RUNS_ALONE: Final = {"incident", "serde"}
"""The notebooks that need nothing but Python, so that the site can run them and show their output."""
