"""The documents that srfix writes, the command that writes each of them, and the text of their schemas."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from inspect import getsource
from itertools import pairwise
from typing import Any, Final, get_args, get_type_hints

import msgspec

from srfix.serde.schemas.models import Json


@dataclass(frozen=True, slots=True)
class PublishedDocument:
    name: str
    """The value of the document's key `schema`: `srfix.NAME/VERSION`."""
    struct: str
    """The class of the document, from which its schema is made: `ROOM.MODULE:CLASS`."""
    written_by: str
    commands: tuple[str, ...] = ()
    """The commands that write it with `--output json`. Each of these names also stands for the document."""


DOCUMENTS: Final = (
    PublishedDocument("diagnosis", "recovery.diagnosis.document:DiagnosisDocument", "srfix diagnose", ("diagnose",)),
    PublishedDocument("baseline", "recovery.baseline:BaselineDocument", "srfix diagnose --write-baseline"),
    PublishedDocument("plan", "recovery.repair.plan_file:PlanDocument", "srfix plan, also in the plan file"),
    PublishedDocument("applied", "cli.reports.plan_running:AppliedDocument", "srfix apply", ("apply",)),
    PublishedDocument(
        "journal",
        "recovery.repair.journal:RepairLine",
        "srfix apply and srfix rollback: a line of PLAN.journal.jsonl",
    ),
    PublishedDocument("verification", "cli.reports.verification:VerificationDocument", "srfix verify", ("verify",)),
    PublishedDocument("rollback", "cli.reports.plan_running:RollbackDocument", "srfix rollback"),
    PublishedDocument(
        "topic-plan",
        "recovery.topic_plan.plan_file:TopicPlanDocument",
        "srfix state seed-changelog and srfix state plan-expiry, also in the plan file",
        ("state-seed-changelog", "state-plan-expiry"),
    ),
    PublishedDocument("topic-applied", "cli.reports.topic_plans:TopicAppliedDocument", "srfix apply, of a topic plan"),
    PublishedDocument(
        "topic-journal",
        "recovery.topic_plan.journal:TopicLine",
        "srfix apply and srfix rollback of a topic plan: a line of its journal",
    ),
    PublishedDocument(
        "topic-rollback", "cli.reports.topic_plans:TopicRollbackDocument", "srfix rollback, of a topic plan"
    ),
    PublishedDocument(
        "topic-verification",
        "cli.reports.verification:TopicVerificationDocument",
        "srfix verify, of a topic plan",
    ),
    PublishedDocument("guard", "recovery.guard.document:GuardDocument", "srfix guard"),
    PublishedDocument("watch", "cli.reports.watch:WatchLine", "srfix watch: each line", ("watch",)),
    PublishedDocument("census", "recovery.inspect.scan:CensusDocument", "srfix scan", ("scan",)),
    PublishedDocument("check", "recovery.topic_check.document:CheckDocument", "srfix check", ("check",)),
    PublishedDocument("record", "recovery.facts.decoding:Record", "srfix decode: each line", ("decode",)),
    PublishedDocument("schema", "recovery.inspect.standing:SchemaDocument", "srfix schema"),
    PublishedDocument("state-ls", "recovery.stores.listing:StateLs", "srfix state ls"),
    PublishedDocument(
        "state-row",
        "recovery.stores.rows:StateRowDocument",
        "srfix state get and srfix state scan: each line",
        ("state-get", "state-scan"),
    ),
    PublishedDocument("state-diff", "recovery.stores.differences:StateDiff", "srfix state diff"),
    PublishedDocument("state-size", "recovery.stores.sizes:StateSize", "srfix state size"),
    PublishedDocument("state-where", "recovery.stores.whereabouts:StateWhere", "srfix state where"),
    PublishedDocument("state-estimate", "recovery.stores.estimates:StateEstimate", "srfix state estimate"),
    PublishedDocument(
        "state-written",
        "recovery.stores.rebuild.report:StateWritten",
        "srfix state rebuild and srfix state migrate",
        ("state-rebuild", "state-migrate"),
    ),
    PublishedDocument("served-rows", "recovery.serving.documents:ServedRows", "srfix serve: rows of a store"),
    PublishedDocument(
        "served-store", "recovery.serving.documents:ServedStoreDocument", "srfix serve: GET /stores/{store}"
    ),
    PublishedDocument("served-stores", "recovery.serving.documents:ServedStores", "srfix serve: GET /stores"),
    PublishedDocument(
        "served-partition", "recovery.serving.documents:PartitionOfKey", "srfix serve: the partition of a key"
    ),
    PublishedDocument("served-error", "recovery.serving.documents:ServedError", "srfix serve: why there is no answer"),
    PublishedDocument("subjects", "recovery.inspect.internal_subjects:SubjectsDocument", "srfix subjects"),
    PublishedDocument("doctor", "recovery.inspect.checkup:Doctor", "srfix doctor"),
    PublishedDocument("catalogue", "recovery.explain.catalogue:Catalogue", "srfix explain, and srfix explain CODE"),
    PublishedDocument(
        "explanation",
        "recovery.explain.stack_trace:Explanation",
        "srfix explain FILE, and srfix explain -",
        ("explain",),
    ),
    PublishedDocument("demo", "cli.commands.demo:DemoDocument", "srfix demo --keep: its --ready-file"),
)


def document_named(name: str) -> PublishedDocument | None:
    """The document with this name or full name (`srfix.plan/1`), otherwise that of the command with this name."""
    short = name.removeprefix("srfix.").partition("/")[0].replace(" ", "-")
    return next((document for document in DOCUMENTS if document.name == short), None) or next(
        (document for document in DOCUMENTS if short in document.commands), None
    )


def schema_text(document: PublishedDocument) -> str:
    """Its JSON Schema (draft 2020-12), from its Struct and docstrings; a journal's first line names the schema."""
    module_name, _, name = document.struct.partition(":")
    module = import_module(f"srfix.{module_name}")
    struct = getattr(module, name)
    (top,), parts = msgspec.json.schema_components([struct], schema_hook=_any_json, ref_template="#/$defs/{name}")
    for part in _parts_in(struct):
        renamed = (
            {}
            if is_dataclass(part)
            else {part_field.name: part_field.encode_name for part_field in msgspec.structs.fields(part)}
        )
        for field, text in _field_docstrings(part).items():
            parts[part.__name__]["properties"][renamed.get(field, field)]["description"] = text
    if lines := get_args(struct):
        (title,) = get_args(get_type_hints(lines[0])["schema"])
        schema = {"description": module.__doc__, "anyOf": top["anyOf"]}
    else:
        title = struct.__struct_config__.tag
        schema = parts.pop(struct.__name__)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{title.replace('.', ':').replace('/', ':')}",
        "title": title,
        "description": f"{schema['description']} Keys may be added within a version, never renamed.",
    }
    return json.dumps({**head, **schema, **head, "$defs": parts}, indent=2, ensure_ascii=False) + "\n"


def _any_json(kind: type) -> dict[str, Json]:
    if kind is object:
        return {"$comment": "Any JSON."}
    raise NotImplementedError


def _parts_in(hint: object) -> set[Any]:
    """The Structs and dataclasses within a type, at any depth."""
    if isinstance(hint, type) and (issubclass(hint, msgspec.Struct) or is_dataclass(hint)):
        return {hint}.union(*map(_parts_in, get_type_hints(hint).values()))
    return set[Any]().union(*map(_parts_in, get_args(hint)))


@cache
def _field_docstrings(part: type) -> dict[str, str]:
    docstrings: dict[str, str] = {}
    for base in reversed(part.__mro__):
        if base is not object and base.__module__.startswith("srfix."):
            (node,) = ast.parse(getsource(base)).body
            assert isinstance(node, ast.ClassDef)
            for field, text in pairwise(node.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                        docstrings[name] = re.sub(r"\bNone\b", "null", " ".join(words.split()))
    return docstrings
