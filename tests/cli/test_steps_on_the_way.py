"""What apply and rollback say while they write: every step, or of very many only some."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from srfix.cli.reports.plan_running import StepsOnTheWay
from srfix.recovery.actions.actions import SoftDelete
from srfix.serde import Subject
from srfix.serde.wire import SchemaId


@pytest.mark.parametrize(("steps", "most"), [(40, 80), (41, 40), (2_000, 40)])
def test_a_plan_of_very_many_steps_has_few_lines(steps: int, most: int, capsys: pytest.CaptureFixture[str]) -> None:
    actions = [SoftDelete(step=n, subject=Subject(f"s{n}"), schema_id=SchemaId(1)) for n in range(1, steps + 1)]
    on_the_way = StepsOnTheWay(cast("Any", SimpleNamespace(expects=dict.fromkeys("ab"), actions=actions)))
    for action in actions:
        on_the_way.say(action, f"Step {action.step}.")
    lines = capsys.readouterr().err.splitlines()
    assert 20 <= len(lines) <= most
    assert steps > 40 or lines[:2] == ["s1", "Step 1."]
