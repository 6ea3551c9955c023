"""What a plan repairs first, and what it costs the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from srfix.recovery import Keep, PlanError, Severity, plan_document
from srfix.recovery.checks.interface import Width
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.repair.plan_file import REPAIR_PLANS, Cost
from srfix.recovery.repair.planning.plan import by_what_they_unblock
from srfix.recovery.repair.planning.repairs import SubjectRepair, decide
from srfix.recovery.repair.planning.wanted import wanted
from tests.recovery.repair.scene import two_applications
from tests.recovery.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with two_applications() as made:
        yield made


def ordered(world: World, *, states: dict[str, str | None], worst: str | None = None) -> list[str]:
    """The applications in the order of their repairs."""
    examination = world.examine()
    survey = world.survey()
    wants = wanted(examination, survey, Width.WIDE, (), CheckContext(registry=survey.registry))
    decided = decide(wants, survey, keep=Keep.AUTO, exact_ids=False)
    needed = [each for each in decided if isinstance(each, SubjectRepair)]
    applications = [replace(known, state=states.get(known.application)) for known in examination.applications]
    findings = [
        replace(f, severity=Severity.BREAKS_ON_RESTORE) if worst not in (None, f.application) else f
        for f in examination.diagnosis.findings
    ]
    diagnosis = replace(examination.diagnosis, findings=tuple(findings))
    examination = replace(examination, applications=tuple(applications), diagnosis=diagnosis)
    stores = [each.want.facts for each in by_what_they_unblock(needed[::-1], examination)]
    return list(dict.fromkeys(facts.store.application for facts in stores if isinstance(facts, StoreFacts)))


@pytest.mark.parametrize(
    ("states", "worst", "order"),
    [
        ({}, None, ["shop", "tills"]),  # more rows come first
        ({"shop": "Stable", "tills": "Empty"}, None, ["tills", "shop"]),  # what is down before what runs
        pytest.param({"shop": "Stable"}, None, ["tills", "shop"], marks=pytest.mark.slow),  # what may be down, too
        ({"shop": "Empty", "tills": "Stable"}, "tills", ["tills", "shop"]),  # what is broken now before all
    ],
)
def test_what_unblocks_most_is_repaired_first(
    world: World, states: dict[str, str | None], worst: str | None, order: list[str]
) -> None:
    assert ordered(world, states=states, worst=worst) == order


class TestCost:
    def test_it_is_in_the_plan(self, world: World) -> None:
        plan = world.plan()
        assert plan.cost is not None
        assert plan.cost.writes == len(plan.actions)
        assert plan.cost.versions == sum(action.kind == "register" for action in plan.actions)
        assert (plan.cost.new_ids, plan.cost.held, plan.cost.limit) == (0, None, None)
        assert REPAIR_PLANS.plan_from(plan_document(plan), where="it") == plan

    def test_a_plan_of_before_has_none_and_keeps_its_digest(self, world: World) -> None:
        plan = replace(world.plan(), cost=None)
        document = plan_document(plan)
        assert "cost" not in document
        assert REPAIR_PLANS.plan_from(document, where="it").digest == plan.digest

    def test_with_a_limit_the_versions_of_the_whole_registry_are_counted(self, world: World) -> None:
        plan = world.plan(version_limit=8)
        assert plan.cost is not None
        assert (plan.cost.held, plan.cost.limit, plan.cost.versions) == (5, 8, 3)
        assert (
            "3 versions (with them the registry has 8, soft-deleted ones included; the limit is 8)"
            in plan.cost.in_words
        )

    def test_a_plan_beyond_the_limit_is_refused(self, world: World) -> None:
        with pytest.raises(PlanError, match=r"would hold 8. But --version-limit allows 7 .*--only-live"):
            world.plan(version_limit=7)

    def test_ids_that_may_be_new_are_counted(self) -> None:
        cost = Cost(writes=1, versions=1, new_ids=1)
        assert cost.in_words == "1 write, 1 version, 1 new id at most"
