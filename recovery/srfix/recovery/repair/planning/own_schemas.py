"""What becomes of the next schema of a subject's owner when versions of others stay live there.

Which are its own, `facts.internal_schemas` tells. A version of the application's that the source has too is taken for a
repair's; that is the safe side here, for then nothing of the application's own is known, and nothing stays live in its way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from srfix.recovery.facts.subject_state import VersionState
from srfix.serde.bounds import SCHEMA_CACHE
from srfix.serde.compatibility import incompatibilities
from srfix.serde.errors import SchemaError
from srfix.serde.schemas.models import Json, Schema
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVersion:
    """A version that the owner of a subject has registered itself."""

    state: VersionState
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What becomes of the next schema of a subject's owner."""

    own: VersionState | None = None
    """The owner's latest version, a soft-deleted one if it has no live one; None if none is known to be its own."""
    refused_by: tuple[SchemaId, ...] = ()
    """Ids that stay live, or are already, and against which the owner's own schema does not pass: its next one will be
    refused (409)."""
    untold: tuple[SchemaId, ...] = ()
    """Ids that stay live, or are already, for which that is not known."""


def outlook(own: Sequence[OwnVersion], live: Sequence[tuple[SchemaId, Schema]], level: str) -> Outlook:
    """What becomes of the owner's next schema at a level where, besides its own versions (ascending), these are live and
    count.
    """
    latest = _latest(own)
    if level == "NONE":
        return Outlook(own=latest.state if latest is not None else None)
    verdicts = [
        (schema_id, None if latest is None else passes(latest.schema, schema, level)) for schema_id, schema in live
    ]
    return Outlook(
        own=latest.state if latest is not None else None,
        refused_by=tuple(schema_id for schema_id, verdict in verdicts if verdict is False),
        untold=tuple(schema_id for schema_id, verdict in verdicts if verdict is None),
    )


def _latest(own: Sequence[OwnVersion]) -> OwnVersion | None:
    live = [version for version in own if not version.state.deleted]
    return max(live or own, key=lambda version: version.state.version, default=None)


def leaves_room(own: Sequence[OwnVersion], registered: Schema, level: str) -> bool:
    """True if a schema may stay live under a subject: it stands in the way of no schema that may follow its owner's own.

    All versions of the owner's are asked, not the latest alone, as one of them may be a repair's whose records are gone. A
    subject without any will get one that nobody has seen. FORWARD and FULL also check what a future schema may add, which
    nobody has seen either.
    """
    if level == "NONE":
        return True
    if level not in ("BACKWARD", "BACKWARD_TRANSITIVE") or not own:
        return False
    return all(every_successor_passes(version.schema, registered) for version in own)


def passes(own: Schema, registered: Schema, level: str) -> bool | None:
    """True if `own`, sent after `registered`, would be accepted at `level`; None if it cannot be told here."""
    if level == "NONE":
        return True
    if not _are_plain_avro(own, registered):
        return None
    try:
        return not incompatibilities(new=own.text, existing=[registered.text], level=level)
    except SchemaError:
        return None


def every_successor_passes(own: Schema, registered: Schema) -> bool:
    """True if every schema that is BACKWARD compatible with `own` is so with `registered` too. False if it cannot be told.

    BACKWARD is not transitive. A successor may drop a default, an alias or a namespace by which `own` itself still reads
    `registered`: so `own` must read it without any of them. And it may add a field that `own` has not, by its name or an
    alias, of any type: so `registered` may have no field that `own` has not. Two types with one simple name could change
    places, as that name alone is compared where the full one differs: then nothing can be told.
    """
    if not _are_plain_avro(own, registered):
        return False
    try:
        mine, theirs = _names_in(own.text), _names_in(registered.text)
        simple = {name.rpartition(".")[2] for name, _ in mine}
        if len(simple) < len(mine) or mine != theirs:
            return False
        return not incompatibilities(new=_bare_text(own.text), existing=[registered.text], level="BACKWARD")
    except (SchemaError, ValueError, RecursionError):
        return False


# Each of the owner's versions is compared with each that is registered: a text is taken apart once.
@lru_cache(maxsize=SCHEMA_CACHE)
def _names_in(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(sorted(_named_types(json.loads(text), "")))


@lru_cache(maxsize=SCHEMA_CACHE)
def _bare_text(text: str) -> str:
    return json.dumps(_bare(json.loads(text)))


def _are_plain_avro(*schemas: Schema) -> bool:
    return all(schema.schema_type == "AVRO" and not schema.references for schema in schemas)


def _bare(document: Json) -> Json:
    """A schema without defaults and aliases."""
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
            given = rest.get("namespace")
            space, dot, simple = name.rpartition(".")
            if not dot:
                space = given if isinstance(given, str) else namespace
            fields = rest.get("fields")
            inside = fields if isinstance(fields, list) else []
            yield f"{space}.{simple}", tuple(sorted(str(each["name"]) for each in inside if isinstance(each, dict)))
            yield from _of_all(inside, space)
        case dict():
            yield from _of_all([document.get(key) for key in ("type", "items", "values")], namespace)
        case _:
            return


def _of_all(documents: Iterable[Json], namespace: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for document in documents:
        yield from _named_types(document, namespace)
