"""A plan as a diff: per subject a line for each write, in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Plan
from srfix.recovery.actions.actions import Action, DeleteVersion, Register, RestoreMode, SetCompatibility, SetMode
from srfix.recovery.report.plan_in_short import changes, counted_changes
from srfix.serde import RegistryClient, Subject
from srfix.serde.wire import SchemaId
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, plan_of

pytestmark = pytest.mark.core


@pytest.fixture
def plan() -> Plan:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            registry.seed(subject, text)
        return plan_of(client)


def only(plan: Plan, *actions: Action) -> list[str]:
    ((_subject, lines),) = changes(replace(plan, actions=actions))
    return [" ".join(line) for line in lines]


def test_each_write_has_its_line(plan: Plan) -> None:
    ((subject, lines),) = changes(plan)
    assert subject == PHANTOM
    assert lines == (
        ("~", "compatibility (inherited) → NONE"),
        ("+", "register id 1 (version 2)"),
        ("-", "soft-delete version 2"),
        ("+", "register id 2 (version 3)"),
        ("-", "soft-delete version 3"),
        ("~", "compatibility NONE → (inherited)"),
    )
    assert counted_changes(plan) == "2 ids registered, 2 versions soft-deleted, 1 setting changed and put back"


def test_the_versions_are_those_that_the_registry_makes(plan: Plan) -> None:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            registry.seed(subject, text)
        registry.configure(PHANTOM, {"compatibility": "NONE"})
        for action in plan.actions:
            if isinstance(action, Register):
                client.register(PHANTOM, action.schema)
                (version,) = (v for v in client.versions(PHANTOM) if v == max(client.versions(PHANTOM)))
                assert f"+ register id {action.schema_id} (version {version})" in only(plan, *plan.actions)


def test_each_subject_has_its_own(plan: Plan) -> None:
    other = Subject("till-users-store-changelog-value")
    moved = tuple(replace(action, subject=other) for action in plan.actions)
    told = dict(changes(replace(plan, actions=(*plan.actions, *moved))))
    assert list(told) == [PHANTOM, other]
    assert ("+", "register id 1 (version next)") in told[other]  # nobody looked at what stands there


def test_exact_ids_and_ids_that_nobody_can_know(plan: Plan) -> None:
    first, second = (a for a in plan.actions if isinstance(a, Register))
    mode = SetMode(step=1, subject=PHANTOM, mode="IMPORT", previous=None)
    back = RestoreMode(step=3, subject=PHANTOM, previous="READWRITE")
    assert only(plan, mode, replace(first, exact=True), back) == [
        "~ mode (inherited) → IMPORT",
        "+ register id 1, with exactly this id (version 2)",
        "~ mode IMPORT → READWRITE",
    ]
    assert only(plan, replace(second, any_id=True)) == [
        "+ register the schema of id 2, under whichever id the registry gives it (version 2)"
    ]


def test_of_many_ids_those_that_nobody_can_know_are_apart(plan: Plan) -> None:
    first = next(a for a in plan.actions if isinstance(a, Register))
    kept = [replace(first, schema_id=SchemaId(n)) for n in range(10, 17)]
    unknown = [replace(first, schema_id=SchemaId(n), any_id=True) for n in range(20, 27)]
    assert only(plan, *unknown[:1], *kept, *unknown[1:]) == [
        "+ register the schemas of ids 20, 21, 22, 23, 24, 25, 26, under whichever ids the registry gives them",
        "+ register ids 10, 11, 12, 13, 14, 15, 16",
    ]


def test_what_is_kept_of_a_configuration_is_said(plan: Plan) -> None:
    level = next(a for a in plan.actions if isinstance(a, SetCompatibility))
    assert only(plan, replace(level, inherited={"normalize": True}, previous={"compatibilityLevel": "FULL"})) == [
        "~ compatibility FULL → NONE, and keep the normalize that is in force now"
    ]


def test_of_many_writes_of_a_kind_there_is_one_line(plan: Plan) -> None:
    first = next(a for a in plan.actions if isinstance(a, Register))
    many = [replace(first, step=step, schema_id=SchemaId(step)) for step in range(1, 31)]
    assert only(plan, *many) == ["+ register ids 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18 more"]
    gone = [
        DeleteVersion(
            step=step, subject=PHANTOM, version=step, schema_id=SchemaId(step), schema=first.schema, holders=()
        )
        for step in range(1, 8)
    ]
    assert only(plan, *gone) == ["- soft-delete the versions of ids 1, 2, 3, 4, 5, 6, 7"]
