"""Whether a version that is soft-deleted is of use to the failing reader."""

from __future__ import annotations

from collections.abc import Iterable

from srfix.recovery.facts import SubjectState, look_up
from srfix.recovery.registry import ReadableRegistry


def not_found_once_deleted(registry: ReadableRegistry, states: Iterable[SubjectState]) -> str | None:
    """Why the failing reader would not find a version that is soft-deleted; None if nothing says so.

    Redpanda ignores `deleted=true` in look-ups before the patches of its pull request 18391 (23.2, 23.3 and 24.1, May 2024).
    A soft-deleted version that is there tells; where there is none, Redpanda is taken for such a one.

    :param states: of subjects whose soft-deleted versions may be asked for.
    :raises RegistryError: if the registry does not answer.
    """
    for state in states:
        for version in state.versions:
            if version.deleted:
                schema = registry.version(state.subject, version.version, deleted=True).schema
                if look_up(registry, state.subject, schema) is not None:
                    return None
                return (
                    f"asked with deleted=true, this registry does not find version {version.version} of {state.subject}, which "
                    "is soft-deleted"
                )
    if registry.is_redpanda():
        return (
            "this registry is Redpanda's, whose older releases look nothing up that is soft-deleted, and no soft-deleted "
            "version is there that would tell"
        )
    return None
