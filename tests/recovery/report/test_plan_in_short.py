"""A plan in short: per subject the ids, how many steps, and what they do, in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Plan
from srfix.recovery.actions.actions import Action, Register, RestoreMode, SetMode, SoftDelete
from srfix.recovery.report.plan_in_short import WritesInShort, writes_in_short
from srfix.serde import RegistryClient, Subject
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, plan_of

pytestmark = pytest.mark.core


@pytest.fixture
def plan() -> Plan:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            registry.seed(subject, text)
        return plan_of(client)


def only(plan: Plan, *actions: Action) -> tuple[str, str]:
    (told,) = writes_in_short(replace(plan, actions=actions))
    return told.ids, told.steps


def test_each_kind_of_step_once(plan: Plan) -> None:
    steps = "6: compatibility NONE, register, soft-delete at once, compatibility back"
    assert list(writes_in_short(plan)) == [WritesInShort(subject=PHANTOM, ids="1, 2", steps=steps)]


def test_each_subject_has_its_own(plan: Plan) -> None:
    other = Subject("till-users-store-changelog-value")
    moved = tuple(replace(action, subject=other) for action in plan.actions)
    told = list(writes_in_short(replace(plan, actions=(*plan.actions, *moved))))
    assert [(each.subject, each.ids) for each in told] == [(PHANTOM, "1, 2"), (other, "1, 2")]


def test_what_stays_live_is_not_called_deleted(plan: Plan) -> None:
    kept = [a for a in plan.actions if not (isinstance(a, SoftDelete) and a.schema_id == 1)]
    assert only(plan, *kept)[1] == "5: compatibility NONE, register, soft-delete 2 at once, compatibility back"
    registered = [a for a in plan.actions if isinstance(a, Register)]
    assert only(plan, *registered) == ("1, 2", "2: register")


def test_exact_ids_and_ids_that_nobody_can_know(plan: Plan) -> None:
    first, second = (a for a in plan.actions if isinstance(a, Register))
    exact = replace(first, exact=True)
    mode = SetMode(step=1, subject=PHANTOM, mode="IMPORT", previous=None)
    back = RestoreMode(step=3, subject=PHANTOM, previous=None)
    assert only(plan, mode, exact, back) == ("1", "3: mode IMPORT, register with these ids, mode back")
    ids, _steps = only(plan, first, replace(second, any_id=True))
    assert ids == "1; the content of 2, under whichever id the registry gives it"
