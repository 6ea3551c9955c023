"""A repair of the staged incident: its registry, its plan and its journal, and what is done with them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from srfix.fixtures.registry.emulation import Release
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Plan, shell_script
from srfix.recovery.actions.actions import Action, Register
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair import apply, rollback
from srfix.recovery.repair.verify.events import Confirmed
from srfix.serde import RegistryClient, RetryPolicy, Schema
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R, clock, killed_at, plan_of
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of

TILLS = "tills-orders-changelog-value"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """W1 (id 1) and W2 (id 2) under the source's subject, R (id 3) under the phantom one, and the plan that repairs it."""

    registry: FixtureRegistry
    client: RegistryClient
    journal: Path
    plan: Plan
    before: object
    """The registry before the repair."""

    def apply(self, plan: Plan | None = None) -> list[apply.Event]:
        return list(apply.apply_plan(plan or self.plan, self.client, self.journal, clock=clock))

    def roll_back(self) -> list[rollback.Event]:
        return list(rollback.roll_back(self.journal, self.client, clock=clock))

    def left(self) -> list[Left[Action]]:
        """What a rollback leaves."""
        return [event for event in self.roll_back() if isinstance(event, Left)]

    def killed(self, moment: str, number: int) -> None:
        """An apply that dies; see `killed_at`."""
        dies(moment, number, self.apply)

    def killed_rollback(self, moment: str, number: int) -> None:
        """A rollback that dies; see `killed_at`."""
        dies(moment, number, self.roll_back)

    def lines(self) -> list[bytes]:
        return self.journal.read_bytes().splitlines(keepends=True)

    def purge(self, *numbers: int, subject: str = PHANTOM) -> None:
        """Deletes versions for good, as somebody else does."""
        for number in numbers:
            self.client.delete_version(subject, number, permanent=True)

    def lose(self, number: int) -> None:
        """Deletes a version of the source's subject for good, the soft delete first."""
        self.client.delete_version(SOURCE_SUBJECT, number)
        self.purge(number, subject=SOURCE_SUBJECT)

    def register(self, text: str) -> int:
        """Registers a schema under the phantom subject whatever its level, as somebody else does; its version."""
        self.client.set_config(PHANTOM, {"compatibility": "NONE"})
        self.client.register(PHANTOM, Schema(text=text))
        self.client.delete_config(PHANTOM)
        return self.client.lookup(PHANTOM, Schema(text=text)).version


def dies(moment: str, number: int, run: Callable[[], object]) -> None:
    """Runs what dies at that moment; see `killed_at`."""
    with pytest.MonkeyPatch.context() as patch, killed_at(patch, moment, number):
        run()


def kinds(plan: Plan) -> list[str]:
    return [action.kind for action in plan.actions]


def registered(plan: Plan) -> list[int]:
    return [int(action.schema_id) for action in plan.actions if isinstance(action, Register)]


def carried_out(world: World, plan: Plan, journal: Path) -> None:
    """Applies and verifies; no finding is left."""
    world.apply(plan, journal)
    assert {type(event) for event in world.verify(plan)} == {Confirmed}
    assert not world.examine().diagnosis.has_findings


def carried_out_and_undone(world: World, plan: Plan, journal: Path) -> None:
    """Applies, verifies, rolls back; the registry is as before."""
    before = world.registry.dump()
    carried_out(world, plan, journal)
    undone(world, journal, before)


def undone(world: World, journal: Path, before: object) -> None:
    """Rolls back, and holds that all is as before."""
    assert not [event for event in world.roll_back(journal) if isinstance(event, Left)]
    assert world.registry.dump() == before


def run_as_shell(plan: Plan, folder: Path) -> None:
    """Carries the plan out by its shell script."""
    (folder / "repair.sh").write_text(shell_script(plan))
    command = ["sh", str(folder / "repair.sh")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


def seed_users(world: World) -> None:
    """W1 (id 1) and W2 (id 2) under the source's subject, one live row of each in `users`, which the group has read."""
    world.registry.seed(SOURCE_SUBJECT, W1)
    world.registry.seed(SOURCE_SUBJECT, W2)
    world.put("users", ("a", value(1)), ("b", value(2, ONE_LONG_AND_NULL)))
    world.commit("shop", users=2)


def mostly_slow(points: Iterable[tuple[str, int]], *, quick: Collection[tuple[str, int]]) -> list[object]:
    """Moments and numbers at which to die; all but the telling ones are slow."""
    return [pytest.param(*point, marks=() if point in quick else pytest.mark.slow) for point in points]


@contextmanager
def staged_scene(folder: Path, *, emulate: Release = "7.9") -> Iterator[Scene]:
    with FixtureRegistry(emulate=emulate) as registry:
        for subject, text in ((SOURCE_SUBJECT, W1), (SOURCE_SUBJECT, W2), (PHANTOM, R)):
            registry.seed(subject, text)
        with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client:
            plan, before = plan_of(client), registry.dump()
            registry.forget_requests()
            yield Scene(registry=registry, client=client, journal=folder / "journal", plan=plan, before=before)


@contextmanager
def two_applications() -> Iterator[World]:
    """`shop` has two live rows without their schemas, `tills` has one."""
    with world_of({"users": 1, "orders": 1}) as made:
        seed_users(made)
        made.registry.seed(PHANTOM, R)
        made.registry.seed("orders-value", W2.replace("tier", "badge"))
        made.registry.seed(TILLS, R.replace("USERID", "BADGE").replace("long", "string"))
        made.put("orders", ("o", value(4, ONE_LONG_AND_NULL)))
        made.commit("tills", orders=1)
        yield made
