"""Which subjects hold a schema id, by the registry's full listing; and whether it would refuse a registration, which srfix
asks without registering.

`GET /schemas/ids/{id}/subjects` and `/versions` answer by content, and are wrong if one content has two ids (seen on
Confluent 7.9.9 and 8.2.1). So they are only hints, for registries without a full listing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.facts.stores import Membership, RoleFacts
from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import SchemaError
from srfix.serde.printable import foreign
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    ForbiddenError,
    InvalidSchemaError,
    RegistryAnswerError,
    RegistryProtocolError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.schemas.models import SchemaVersion
from srfix.serde.schemas.references import schema_references
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Subject, split_context
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


WRITABLE_MODES = frozenset({"READWRITE"})
"""Modes in which a schema without an id can be registered; IMPORT and FORWARD need an id (42205)."""


NO_SUCH_QUESTION = frozenset({403, 404, 405, 501})
"""HTTP statuses of a registry that has no compatibility check, or does not let this user ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRefusal:
    schema_id: SchemaId
    reason: str
    is_overcome: bool
    """True if a plan can do something about it: yes for an incompatible schema, no for a read-only registry."""


def foreseen_refusal(
    registry: ReadableRegistry, role: RoleFacts, registration: Membership
) -> tuple[str | None, str | None]:
    """Why one registration would be refused, None if it would not; or a clause that says why srfix does not know."""
    try:
        refusals = foreseen_refusals(registry, role, (registration,), must_know=True)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        return None, f"the registry does not answer compatibility checks (HTTP {error.status})"
    return (refusals[0].reason if refusals else None), None


def foreseen_refusals(
    registry: ReadableRegistry, role: RoleFacts, registrations: Iterable[Membership], *, must_know: bool = False
) -> tuple[RegistrationRefusal, ...]:
    """The registrations under the phantom subject that its mode or the compatibility check would refuse now. If srfix
    may not ask, it predicts nothing; if it `must_know`, it raises."""
    wanted = tuple(registration for registration in registrations if registration.schema is not None)
    if not wanted:
        return ()
    alias = (role.state.config or {}).get("alias")
    why: str | None = None
    if alias:  # seen on Confluent 7.9.9: writes go to the subject that the alias names, and are checked against it
        why = f"{role.subject} is an alias, so its schemas would go to {alias}; first remove the alias (PUT /config)"
    else:
        whose, mode = mode_in_force(registry, role.subject, role.state.mode)
        if mode is not None and mode not in WRITABLE_MODES:
            why = f"{whose} mode is {mode} (42205)"
    if why is not None:
        return tuple(
            RegistrationRefusal(schema_id=membership.schema_id, reason=why, is_overcome=False) for membership in wanted
        )
    invalid = tuple(_invalid(registry, role, membership) for membership in wanted if membership.problem is not None)
    wanted = tuple(membership for membership in wanted if membership.problem is None)
    return (*invalid, *_incompatible(registry, role, wanted, must_know=must_know))


def _invalid(registry: ReadableRegistry, role: RoleFacts, registration: Membership) -> RegistrationRefusal:
    """The registry does not accept the text as a schema: a reference is missing, or the registry has become stricter."""
    reason = f"it is invalid there (42201: {foreign(registration.problem or '')})"
    if registration.schema is not None:
        try:
            for _found in schema_references(registry, registration.schema, subject=role.subject):
                pass
        except (SubjectNotFoundError, VersionNotFoundError) as error:
            words = foreign(error.registry_message.rstrip("."))
            why = f"it refers to a schema that the registry does not have ({words})"
            reason = f"{why}; register the referenced schema first, under that version"
        except SchemaError as error:
            reason = error.message
    return RegistrationRefusal(schema_id=registration.schema_id, reason=reason, is_overcome=False)


def _incompatible(
    registry: ReadableRegistry, role: RoleFacts, wanted: tuple[Membership, ...], *, must_know: bool
) -> Iterator[RegistrationRefusal]:
    if not role.state.live or not wanted:
        return  # a subject without live versions is not checked (observed on Confluent 7.9.9 and 8.2.1)
    level = registry.effective_compatibility(role.subject)
    if level == "NONE":
        return
    for registration in wanted:
        schema_id, schema = registration.schema_id, registration.schema
        if schema is None:
            continue
        try:
            answer = registry.check_compatibility(
                role.subject, schema, version=None if level.endswith("_TRANSITIVE") else "latest"
            )
        except (SubjectNotFoundError, VersionNotFoundError):
            continue
        except (ForbiddenError, EndpointNotSupportedError):
            if must_know:
                raise
            continue  # then apply gets the refusal, and nothing is written
        except InvalidSchemaError as error:
            reason = f"it is invalid there ({foreign(error.registry_message)})"
            yield RegistrationRefusal(schema_id=schema_id, reason=reason, is_overcome=False)
            continue
        if not answer.is_compatible:
            why = f": {foreign(answer.messages[0].rstrip('.'))}" if answer.messages else ""
            reason = f"it is not {level} compatible with the versions that the subject holds (409){why}"
            yield RegistrationRefusal(schema_id=schema_id, reason=reason, is_overcome=True)


def mode_in_force(registry: ReadableRegistry, subject: Subject, own: str | None) -> tuple[str, str | None]:
    """The mode in force for a subject, and whose mode it is: a global READONLY_OVERRIDE wins over the subject's own."""
    of_all = registry.mode()
    if own is not None and of_all != "READONLY_OVERRIDE":
        return "the subject's", own
    context, _name = split_context(subject)
    if context == DEFAULT_CONTEXT or of_all == "READONLY_OVERRIDE":
        return "the registry's", of_all
    effective = registry.effective_mode(subject)
    return ("the registry's" if effective == of_all else f"the context {context}'s"), effective
