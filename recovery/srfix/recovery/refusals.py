"""What a registry would say to a registration, asked without registering."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from srfix.recovery.stores import Membership, RoleFacts
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import InvalidSchemaError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.wire import SchemaId

__all__ = ["Refusal", "WRITABLE_MODES", "foreseen_refusals", "mode_in_force"]

WRITABLE_MODES = frozenset({"READWRITE"})
"""Modes in which a schema without an id can be registered: IMPORT and FORWARD want one (42205)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One registration that would be refused."""

    schema_id: SchemaId
    """The id whose schema would be registered."""
    reason: str
    """The registry's reason, in words."""
    is_overcome: bool
    """True if a plan can do something about it: an incompatibility yes, a read-only registry no."""


def foreseen_refusals(
    registry: RegistryClient, role: RoleFacts, registrations: Iterable[Membership]
) -> tuple[Refusal, ...]:
    """The registrations under the phantom subject that would be refused as things stand.

    Asks the subject's mode (its own, else the global one) and the registry's compatibility check, against the latest
    version, or against all for a transitive level.

    :param registrations: the ids to be registered, with their schemas; they need not be in the topic.
    :raises RegistryError: if the registry does not answer.
    """
    wanted = tuple(registration for registration in registrations if registration.schema is not None)
    if not wanted:
        return ()
    whose, mode = mode_in_force(registry, role.state.mode)
    if mode is not None and mode not in WRITABLE_MODES:
        return tuple(
            Refusal(schema_id=each.schema_id, reason=f"{whose} mode is {mode} (42205)", is_overcome=False)
            for each in wanted
        )
    if not role.state.live:
        return ()  # a subject without live versions is not checked (observed on Confluent 7.9.9 and 8.2.1)
    level = registry.effective_compatibility(role.subject)
    if level == "NONE":
        return ()
    refusals = []
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
        except InvalidSchemaError as error:
            refusals.append(
                Refusal(
                    schema_id=schema_id,
                    reason=f"it is invalid there ({error.registry_message})",
                    is_overcome=False,
                )
            )
            continue
        if not answer.is_compatible:
            why = f": {answer.messages[0].rstrip('.')}" if answer.messages else ""
            refusals.append(
                Refusal(
                    schema_id=schema_id,
                    reason=f"not {level} compatible with what the subject holds (409){why}",
                    is_overcome=True,
                )
            )
    return tuple(refusals)


def mode_in_force(registry: RegistryClient, own: str | None) -> tuple[str, str | None]:
    """Whose mode decides over a subject, and which: a global READONLY_OVERRIDE goes before the subject's own.

    :param own: the subject's own mode; None if it has none.
    :raises RegistryError: if the registry does not answer.
    """
    of_all = registry.mode()
    if own is not None and of_all != "READONLY_OVERRIDE":
        return "the subject's", own
    return "the registry's", of_all
