"""Whether a version that is soft-deleted is of use to the failing reader."""

from __future__ import annotations

from itertools import islice
from typing import Final

from srfix.recovery.actions.actions import Register, SoftDelete
from srfix.recovery.facts.subject_state import SubjectState, look_up
from srfix.recovery.facts.survey import Survey
from srfix.recovery.registry import GivenRegistry, usable
from srfix.recovery.repair.plan_file import Plan
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.models import SchemaVersion

_MOST_PROBED: Final = 5
"""Soft-deleted subjects of which one is looked for whose text tells."""


def not_found_once_deleted(survey: Survey, state: SubjectState) -> str | None:
    """Why the failing reader would not find a version that is soft-deleted; None if nothing says so.

    Redpanda ignores `deleted=true` in look-ups before the patches of its pull request 18391 (23.2, 23.3 and 24.1, May 2024).
    A soft-deleted version of the subject tells; where there is none, one of a subject that is soft-deleted whole, and where
    there is none either, Redpanda is taken for such a one.
    """
    deleted = next((version for version in state.versions if version.deleted), None)
    if deleted is not None:
        schema = survey.registry.version(state.subject, deleted.version, deleted=True).schema
        if look_up(survey.registry, state.subject, schema) is not None:
            return None
        return (
            f"asked with deleted=true, this registry does not find version {deleted.version} of {state.subject}, which is "
            "soft-deleted"
        )
    elsewhere = survey.once(("soft-deleted elsewhere",), lambda: _elsewhere(survey))
    if elsewhere is not None:
        version, is_found = elsewhere
        where = f"version {version.version} of {version.subject}"
        return (
            None if is_found else f"asked with deleted=true, this registry does not find {where}, which is soft-deleted"
        )
    if survey.is_redpanda():
        return (
            "this registry is Redpanda's, whose older releases look nothing up that is soft-deleted, and the subject has no "
            "soft-deleted version that would tell"
        )
    return None


def _elsewhere(survey: Survey) -> tuple[SchemaVersion, bool] | None:
    """A version of a subject that is soft-deleted whole, whose text is as readers ask for it, and whether a look-up
    finds it; None if there is none such.
    """
    live = frozenset(survey.registry.subjects())
    for subject in islice((each for each in survey.subjects() if each not in live), _MOST_PROBED):
        for version in survey.versions(subject)[:1]:
            if as_readers_ask(version.schema) == version.schema and not version.schema.references:
                return version, look_up(survey.registry, subject, version.schema) is not None
    return None


def is_of_no_use(plan: Plan, registry: GivenRegistry) -> bool:
    """True if the failing reader does not find what a plan has just soft-deleted: the first such version tells. Reads only."""
    deleted = {(action.subject, action.schema_id) for action in plan.actions if isinstance(action, SoftDelete)}
    registered = (action for action in plan.actions if isinstance(action, Register))
    first = next((action for action in registered if (action.subject, action.schema_id) in deleted), None)
    return first is not None and look_up(usable(registry), first.subject, first.schema) is None
