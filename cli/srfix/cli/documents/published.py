"""Which documents there are, which command writes each, and the text of their schemas."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDocument:
    """One kind of document."""

    name: str
    """As in the document's key `schema`: `srfix.NAME/VERSION`."""
    written_by: str
    """What writes it, in words."""
    commands: tuple[str, ...] = ()
    """The commands whose `--output json` it is: each is another name for it."""


DOCUMENTS: Final = (
    PublishedDocument(name="diagnosis", written_by="srfix diagnose", commands=("diagnose",)),
    PublishedDocument(name="baseline", written_by="srfix diagnose --write-baseline"),
    PublishedDocument(name="plan", written_by="srfix plan, also as its file"),
    PublishedDocument(name="applied", written_by="srfix apply", commands=("apply",)),
    PublishedDocument(name="journal", written_by="srfix apply and srfix rollback: a line of PLAN.journal.jsonl"),
    PublishedDocument(name="verification", written_by="srfix verify", commands=("verify",)),
    PublishedDocument(name="rollback", written_by="srfix rollback"),
    PublishedDocument(name="topic-plan", written_by="srfix state seed-changelog and plan-expiry, also as their file"),
    PublishedDocument(name="topic-applied", written_by="srfix apply, of a topic plan"),
    PublishedDocument(
        name="topic-journal", written_by="srfix apply and srfix rollback of a topic plan: a line of its journal"
    ),
    PublishedDocument(name="topic-rollback", written_by="srfix rollback, of a topic plan"),
    PublishedDocument(name="topic-verification", written_by="srfix verify, of a topic plan"),
    PublishedDocument(name="guard", written_by="srfix guard"),
    PublishedDocument(name="watch", written_by="srfix watch: each line", commands=("watch",)),
    PublishedDocument(name="census", written_by="srfix scan", commands=("scan",)),
    PublishedDocument(name="check", written_by="srfix check", commands=("check",)),
    PublishedDocument(name="record", written_by="srfix decode: each line", commands=("decode",)),
    PublishedDocument(name="schema", written_by="srfix schema"),
    PublishedDocument(name="state-ls", written_by="srfix state ls"),
    PublishedDocument(name="state-row", written_by="srfix state get and srfix state scan: each line"),
    PublishedDocument(name="state-diff", written_by="srfix state diff"),
    PublishedDocument(name="state-size", written_by="srfix state size"),
    PublishedDocument(name="state-where", written_by="srfix state where"),
    PublishedDocument(name="state-estimate", written_by="srfix state estimate"),
    PublishedDocument(name="state-written", written_by="srfix state rebuild and srfix state migrate"),
    PublishedDocument(name="subjects", written_by="srfix subjects"),
    PublishedDocument(name="doctor", written_by="srfix doctor"),
    PublishedDocument(name="catalogue", written_by="srfix explain, and srfix explain CODE"),
    PublishedDocument(name="explanation", written_by="srfix explain FILE, and srfix explain -", commands=("explain",)),
    PublishedDocument(name="demo", written_by="srfix demo --keep: its --ready-file"),
)
"""Every kind, in the order of the commands."""


def document_named(name: str) -> PublishedDocument | None:
    """The document of this name, or that a command of this name writes; also by its full name, `srfix.plan/1`."""
    short = name.removeprefix("srfix.").partition("/")[0]
    return next((each for each in DOCUMENTS if each.name == short), None) or next(
        (each for each in DOCUMENTS if short in each.commands), None
    )


def schema_text(document: PublishedDocument) -> str:
    """Its JSON Schema (draft 2020-12), as it stands in the wheel."""
    return files("srfix.cli.documents").joinpath(f"{document.name}.schema.json").read_text(encoding="utf-8")
