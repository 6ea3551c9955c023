"""What a plan costs, and whether the registry takes so many versions."""

from __future__ import annotations

from collections.abc import Sequence

from srfix.recovery.actions.actions import Action
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.holders import list_holders
from srfix.recovery.facts.survey import Survey
from srfix.recovery.ids_in_words import counted
from srfix.recovery.repair.cost import Cost, cost_of


def cost_within(actions: Sequence[Action], survey: Survey, version_limit: int | None, *, less: str) -> Cost:
    """The cost of these steps; what the registry holds is counted if there is a limit.

    :param version_limit: the most versions that the registry takes, soft-deleted ones too; None for no limit.
    :param less: the options that make a smaller plan, for the error.
    :raises PlanError: if the steps would exceed the limit.
    :raises EndpointNotSupportedError: if there is a limit and the registry does not list its versions.
    :raises RegistryError: if the registry does not answer.
    """
    held = None if version_limit is None or not actions else len(list_holders(survey.registry))
    cost = cost_of(actions, held=held, limit=version_limit)
    if cost.exceeds:
        raise PlanError(
            f"No plan: with its {counted(cost.versions, 'version')} the registry would hold "
            f"{(held or 0) + cost.versions:,}, and --version-limit says that it takes {version_limit:,} "
            f"(soft-deleted ones count too). Make room, or plan less with {less}."
        )
    return cost
