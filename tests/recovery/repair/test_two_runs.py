"""Two copies of one plan, with a journal each, carried out at the same time: in any order nothing stays relaxed unsaid."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from srfix.recovery import AppliedInPartError, PlanError
from srfix.recovery.actions.actions import Register
from srfix.recovery.commands import srfix_command
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.recovery.repair.rollback import roll_back
from srfix.serde import RegistryError
from tests.recovery.repair.scene import staged_scene
from tests.recovery.repair.turns import run_in_turns
from tests.recovery.staging import PHANTOM, clock

REQUESTS = 45
"""More than one run sends."""


def carry_out_twice(order: list[int], directory: Path, *, back_first: int) -> tuple[str, ...]:
    """Both runs in this order of requests, then both rolled back; how each run ended."""
    with staged_scene(directory) as scene:
        plan, client = scene.plan, scene.client
        journals = [directory / f"p{number}.journal" for number in range(2)]
        raised = run_in_turns(
            order, *(lambda path=path: list(apply_plan(plan, client, path, clock=clock)) for path in journals)
        )
        for error in raised:
            assert error is None or isinstance(error, PlanError | RegistryError), error
        said = [str(error) for error in raised if error is not None]
        if client.config(PHANTOM) is not None:
            stands = f"The compatibility of {PHANTOM} is still NONE"
            ways_back = [f"`{srfix_command('rollback', str(path))}`" for path in journals]
            telling = [each for each in said if stands in each and f"DELETE /config/{PHANTOM}" in each]
            assert any(way in each for each in telling for way in ways_back), said
        ids = [action.schema_id for action in plan.actions if isinstance(action, Register)]
        for path in journals[back_first:] + journals[:back_first]:
            if path.exists():
                list(roll_back(path, client, clock=clock))
            done = [other for other, error in zip(journals, raised, strict=True) if error is None and other != path]
            if done and not REPAIR_JOURNALS.read(done[0]).rolled_back:
                held = read_subject_state(client, PHANTOM).schema_ids
                assert set(ids) <= set(held), "the repair of the other run is not this one's to undo"
        assert scene.registry.dump() == scene.before, said
        return tuple(
            "done" if e is None else "part" if isinstance(e, AppliedInPartError) else "refused" for e in raised
        )


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pieces=st.lists(st.integers(1, 12), min_size=1, max_size=14), first=st.integers(0, 1), back_first=st.integers(0, 1)
)
@example(pieces=[1, 3, 5, 8], first=0, back_first=1).via(
    "a stopped run took the version that the other run went on with for its own"
)
def test_the_compatibility_is_what_it_was_or_somebody_says_how_to_put_it_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], first: int, back_first: int
) -> None:
    order = list(chain.from_iterable(repeat((first + n) % 2, piece) for n, piece in enumerate(pieces)))
    carry_out_twice(order, tmp_path_factory.mktemp("two"), back_first=back_first)


@pytest.mark.parametrize(
    "switch",
    [pytest.param(at, marks=() if at in (10, 26) else pytest.mark.slow) for at in range(0, REQUESTS, 2)],
)
def test_one_run_within_the_other(tmp_path: Path, switch: int) -> None:
    """The first sends some requests, the second all of its own, and the first goes on."""
    ended = carry_out_twice([*[0] * switch, *[1] * REQUESTS], tmp_path, back_first=switch // 2 % 2)
    assert "done" in ended or "part" in ended


@pytest.mark.parametrize("ahead", [pytest.param(n, marks=() if n == 4 else pytest.mark.slow) for n in range(0, 12, 2)])
def test_by_turns_both_stop_and_one_of_them_says_what_stands(tmp_path: Path, ahead: int) -> None:
    carry_out_twice([*[0] * ahead, *[1, 0] * REQUESTS], tmp_path, back_first=1)
