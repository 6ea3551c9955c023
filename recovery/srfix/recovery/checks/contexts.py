"""What other contexts of the registry know of ids that a subject's own does not."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from srfix.serde.printable import foreign
from srfix.serde.subjects.names import Subject, split_context

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.serde.wire import SchemaId


def known_elsewhere(unknown: Iterable[SchemaId], subject: Subject, context: CheckContext) -> str:
    """What other contexts of the registry than a subject's know of ids, in words; empty if nothing, or it may not be asked."""
    from srfix.recovery.facts.survey import schema_behind
    from srfix.serde.errors import RegistryError
    from srfix.serde.schemas.errors import SchemaNotFoundError

    asked = tuple(unknown)
    own = context.registry.context_of(subject)
    try:
        others = sorted({split_context(each)[0] for each in context.registry.subjects(deleted=True)} - {own})
    except RegistryError:
        return ""
    known: dict[str, list[int]] = {}
    for other in others:
        for schema_id in asked:
            with suppress(SchemaNotFoundError):
                schema_behind(context.registry, schema_id, other)
                known.setdefault(other, []).append(schema_id)
    if not known:
        return ""
    there = "; ".join(f"{foreign(other)}: {', '.join(map(str, ids))}" for other, ids in known.items())
    return (
        f" Other contexts of this registry know ids of these numbers ({there}). If producers and application use such a "
        "one, none of this holds: name it in --registry (/contexts/ and its name behind the address), as they do."
    )
