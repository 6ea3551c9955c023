"""Which subjects hold a schema id, by the registry's full listing.

`GET /schemas/ids/{id}/subjects` and `/versions` answer by content, and are wrong if one content has two ids (seen on
Confluent 7.9.9 and 8.2.1). So they are only hints, for registries without a full listing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.schemas.errors import EndpointNotSupportedError, SchemaNotFoundError
from srfix.serde.schemas.models import SchemaVersion
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Holder:
    subject: Subject
    version: int
    schema_id: SchemaId
    deleted: bool
    """True if it is soft-deleted: readers by id and the failing reader find it, compatibility checks ignore it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holders:
    by_id: Mapping[SchemaId, tuple[Holder, ...]]
    """The holders of each id, by subject and version; empty for an id that no subject holds."""
    is_complete: bool
    """False if the registry has no full listing; then only likely subjects were asked."""


def list_holders(registry: ReadableRegistry) -> tuple[Holder, ...]:
    """Every version of every subject of the registry URL's context, soft-deleted ones too, in two listings; sorted."""
    return tuple(sorted(_listed(registry, None)))


def find_holders(
    registry: ReadableRegistry, schema_ids: Collection[SchemaId], *, likely: Iterable[Subject] = ()
) -> Holders:
    """The holders of some ids. Without a full listing, the `likely` subjects and the registry's hints are asked."""
    if not schema_ids:
        return Holders(by_id={}, is_complete=True)
    wanted = frozenset(schema_ids)
    is_complete = True
    try:
        holders = sorted(_listed(registry, wanted))
    except EndpointNotSupportedError:
        is_complete = False
        holders = sorted(_asked(registry, wanted, likely))
    return Holders(
        by_id={
            schema_id: tuple(holder for holder in holders if holder.schema_id == schema_id)
            for schema_id in sorted(schema_ids)
        },
        is_complete=is_complete,
    )


def _listed(registry: ReadableRegistry, wanted: Collection[SchemaId] | None) -> list[Holder]:
    # Only subjects and versions are kept, because the texts of a big registry would fill the memory.
    every = [
        _where(version) for version in registry.schemas(deleted=True) if wanted is None or version.schema_id in wanted
    ]
    if not every:
        return []
    # The first listing does not say which versions are soft-deleted.
    live = {_where(version) for version in registry.schemas() if wanted is None or version.schema_id in wanted}
    return [
        Holder(subject=subject, version=version, schema_id=schema_id, deleted=(subject, version, schema_id) not in live)
        for subject, version, schema_id in every
    ]


def _where(version: SchemaVersion) -> tuple[Subject, int, SchemaId]:
    return version.subject, version.version, version.schema_id


def _asked(registry: ReadableRegistry, wanted: Collection[SchemaId], likely: Iterable[Subject]) -> Iterator[Holder]:
    hinted = [subject for schema_id in sorted(wanted) for subject in _hinted(registry, schema_id)]
    for subject in dict.fromkeys((*likely, *hinted)):
        numbers = version_numbers(registry, subject, deleted=True)
        live = version_numbers(registry, subject) if numbers else ()
        for number in numbers:
            # Asked version by version, because a look-up by content may answer with the other id if a content has two.
            version = registry.version(subject, number, deleted=True)
            if version.schema_id in wanted:
                yield Holder(subject=subject, version=number, schema_id=version.schema_id, deleted=number not in live)


def _hinted(registry: ReadableRegistry, schema_id: SchemaId) -> tuple[Subject, ...]:
    try:
        return registry.subjects_of_id(schema_id, deleted=True) or ()
    except SchemaNotFoundError:
        return ()
