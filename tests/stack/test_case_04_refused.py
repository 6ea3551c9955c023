"""Case 4: somebody puts the level back in the middle of a repair, and the registry refuses what comes next with 409."""

from __future__ import annotations

import json
import re

import pytest

from parts.streams.application import lose_state
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.stack.meddler import meddler
from tests.stack.scene import ANN, ANN_ROW, Scene, assert_query_fails, diagnose, make_plan, srfix

pytestmark = [pytest.mark.stack, pytest.mark.smoke]


def test_a_repair_that_is_refused_in_the_middle_is_undone_without_a_trace_or_finished(
    scene: Scene, registry: FixtureRegistry
) -> None:
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    before = registry.dump()
    lose_state(scene.setup)

    with scene.running() as application:
        assert_query_fails(scene, application)
        # It is known beforehand that it would be refused, and what a plan does about it.
        (note,) = [note for finding in diagnose(scene, code=1) for note in finding["notes"]]
        assert (note["code"], note["overcome"]) == ("SRF012", True)
        plan = make_plan(scene)
        steps = [action["kind"] for action in json.loads(plan.read_text())["actions"]]
        assert steps == ["set-compatibility", "register", "soft-delete", "restore-compatibility"]

        registration = f"/subjects/{scene.phantom}/versions"

        def put_back(method: str, path: str, _earlier: int) -> None:
            if (method, path.partition("?")[0]) == ("POST", registration):
                with RegistryClient(registry.url) as somebody:
                    somebody.delete_config(scene.phantom)

        with meddler(registry.url, put_back) as gateway:
            said = srfix(scene, "apply", str(plan), "--yes", "--registry", gateway, code=3)
        assert "Applied in part" in said
        journal = plan.with_name(f"{plan.name}.journal.jsonl")
        assert re.search(rf"srfix rollback .*{re.escape(str(journal))}", said)
        assert_query_fails(scene, application)

        # The undo: as if nothing had happened.
        srfix(scene, "rollback", str(journal), "--yes")
        assert registry.dump() == before
        assert_query_fails(scene, application)

        # Refused once more, the same command finishes what it began when nobody is in its way.
        plan = make_plan(scene)
        with meddler(registry.url, put_back) as gateway:
            srfix(scene, "apply", str(plan), "--yes", "--registry", gateway, code=3)
        with RegistryClient(registry.url) as somebody:
            somebody.set_config(scene.phantom, {"compatibility": "NONE"})
        srfix(scene, "apply", str(plan), "--yes")
        srfix(scene, "verify", str(plan))
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
    assert registry.dump()["configs"] == before["configs"]
    srfix(scene, "rollback", str(plan), "--yes")
    assert registry.dump() == before
