"""Whether the registry accepts the next schema of a subject's owner beside others' live versions, and whether
soft-deleted versions are of use. An own version that the source has, too, counts as a repair's: the safe side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from srfix.recovery.actions.actions import Register, SoftDelete
from srfix.recovery.facts.subject_state import SubjectState, VersionState, look_up
from srfix.recovery.facts.survey import Survey
from srfix.recovery.registry import GivenRegistry, usable
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.bounds import SCHEMA_CACHE
from srfix.serde.compatibility import COMPARED_TYPES, incompatibilities
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.models import Json, Schema
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVersion:
    state: VersionState
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    own: VersionState | None = None
    """The owner's latest version, a soft-deleted one if it has no live one; None if srfix knows no version of its own."""
    refused_by: tuple[SchemaId, ...] = ()
    """Ids that stay live, or are live already, and incompatible with the owner's own schema: its next schema gets 409."""
    untold: tuple[SchemaId, ...] = ()


def outlook(own: Sequence[OwnVersion], live: Sequence[tuple[SchemaId, Schema]], level: str) -> Outlook:
    """Whether the owner's next schema will be accepted at a level, if these are live besides its own (ascending)."""
    live_ones = [version for version in own if not version.state.deleted]
    latest = max(live_ones or own, key=lambda version: version.state.version, default=None)
    verdicts = [
        (schema_id, None if latest is None else passes(latest.schema, schema, level))
        for schema_id, schema in (live if level != "NONE" else ())
    ]
    return Outlook(
        own=latest.state if latest is not None else None,
        refused_by=tuple(schema_id for schema_id, verdict in verdicts if verdict is False),
        untold=tuple(schema_id for schema_id, verdict in verdicts if verdict is None),
    )


def leaves_room(own: Sequence[OwnVersion], registered: Schema, level: str) -> bool:
    """True if a schema may stay live: every possible successor of every own version is compatible with it. An older own
    version counts too: the latest may be a repair's, whose records are gone. False without own versions, and for
    FORWARD and FULL: nobody knows the owner's first or next schema."""
    if level == "NONE":
        return True
    if level not in ("BACKWARD", "BACKWARD_TRANSITIVE") or not own:
        return False
    return all(every_successor_passes(version.schema, registered) for version in own)


def passes(own: Schema, registered: Schema, level: str) -> bool | None:
    """True if `own`, sent after `registered`, would be accepted at `level`; None if srfix does not know."""
    if level == "NONE":
        return True
    kind = own.schema_type
    if kind != registered.schema_type or kind not in COMPARED_TYPES or own.references or registered.references:
        return None
    try:
        return not incompatibilities(new=own.text, existing=[registered.text], level=level, schema_type=kind)
    except (SchemaError, UsageError):
        return None


def every_successor_passes(own: Schema, registered: Schema) -> bool:
    """True if every schema that is BACKWARD compatible with `own` is also BACKWARD compatible with `registered`. False
    in doubt.

    BACKWARD is not transitive. A successor may drop a default, an alias or a namespace by which `own` itself still reads
    `registered`: so `own` must read it without any of them. And it may add a field of any type that `own` lacks, by its
    name or an alias: so `registered` may have no field that `own` lacks. Two types with the same simple name could be
    exchanged, because only the simple names are compared if the full names differ; that is a doubtful case.
    """
    if any(schema.schema_type != "AVRO" or schema.references for schema in (own, registered)):
        return False
    try:
        mine, theirs = _names_in(own.text), _names_in(registered.text)
        simple = {name.rpartition(".")[2] for name, _ in mine}
        if len(simple) < len(mine) or mine != theirs:
            return False
        return not incompatibilities(new=_bare_text(own.text), existing=[registered.text], level="BACKWARD")
    except (SchemaError, ValueError, RecursionError):
        return False


# Each of the owner's versions is compared with each registered one, so each text is parsed only once.
@lru_cache(maxsize=SCHEMA_CACHE)
def _names_in(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(_named_types(json.loads(text), "")))


@lru_cache(maxsize=SCHEMA_CACHE)
def _bare_text(text: str) -> str:
    return json.dumps(_bare(json.loads(text)))


def _bare(document: Json) -> Json:
    match document:
        case dict():
            return {key: _bare(value) for key, value in document.items() if key not in ("default", "aliases")}
        case list():
            return [_bare(item) for item in document]
        case _:
            return document


def _named_types(document: Json, namespace: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The full names of the types that a schema defines (Avro's specification, "Names"), with a record's field names."""
    match document:
        case list():
            yield from _of_all(document, namespace)
        case {"type": "record" | "error" | "enum" | "fixed", "name": str(name), **rest}:
            own_namespace = rest.get("namespace")
            space, dot, simple = name.rpartition(".")
            if not dot:
                space = own_namespace if isinstance(own_namespace, str) else namespace
            fields = rest.get("fields")
            inside = fields if isinstance(fields, list) else []
            yield (
                f"{space}.{simple}",
                tuple(sorted(str(record_type["name"]) for record_type in inside if isinstance(record_type, dict))),
            )
            yield from _of_all(inside, space)
        case dict():
            yield from _of_all([document.get(key) for key in ("type", "items", "values")], namespace)
        case _:
            return


def _of_all(documents: Iterable[Json], namespace: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for document in documents:
        yield from _named_types(document, namespace)


_MOST_PROBED: Final = 5
"""In how many soft-deleted subjects srfix looks for a version whose text can show it."""


def not_found_once_deleted(survey: Survey, state: SubjectState) -> str | None:
    """Why the failing reader would not find a soft-deleted version; None if nothing shows that. Redpanda ignores
    `deleted=true` in look-ups before its pull request 18391 (23.2, 23.3 and 24.1, May 2024); if there is no
    soft-deleted version to test with, srfix assumes that a Redpanda registry has this fault."""
    deleted = next((version for version in state.versions if version.deleted), None)
    probe: tuple[str, bool] | None
    if deleted is not None:
        schema = survey.registry.version(state.subject, deleted.version, deleted=True).schema
        is_found = look_up(survey.registry, state.subject, schema) is not None
        probe = f"version {deleted.version} of {state.subject}", is_found
    else:
        probe = survey.once(("soft-deleted elsewhere",), lambda: _elsewhere(survey))
    if probe is not None:
        where, is_found = probe
        why = f"this registry does not find the soft-deleted {where}, although srfix asked with deleted=true"
        return None if is_found else why
    if survey.is_redpanda():
        return (
            "this registry is Redpanda's. Its older releases do not find soft-deleted versions, and the subject "
            "has no soft-deleted version to test this with"
        )
    return None


def _elsewhere(survey: Survey) -> tuple[str, bool] | None:
    """A version of a completely soft-deleted subject, with the text that readers send, and whether it is found."""
    live = frozenset(survey.registry.subjects())
    for subject in islice((name for name in survey.subjects() if name not in live), _MOST_PROBED):
        for version in survey.versions(subject)[:1]:
            if as_readers_ask(version.schema) == version.schema and not version.schema.references:
                is_found = look_up(survey.registry, subject, version.schema) is not None
                return f"version {version.version} of {version.subject}", is_found
    return None


def is_of_no_use(plan: Plan, registry: GivenRegistry) -> bool:
    """True if the failing reader does not find the first version that a plan has soft-deleted. Reads only."""
    deleted = {(action.subject, action.schema_id) for action in plan.actions if isinstance(action, SoftDelete)}
    registered = (action for action in plan.actions if isinstance(action, Register))
    first = next((action for action in registered if (action.subject, action.schema_id) in deleted), None)
    return first is not None and look_up(usable(registry), first.subject, first.schema) is None
