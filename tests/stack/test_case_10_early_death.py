"""Case 10: an early death leaves no `.checkpoint`, and 2.6.3 restores the whole store with nobody wiping anything."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.stack.scene import ANN, ANN_ROW, PARTITIONS, Scene, assert_query_fails, repair, srfix

pytestmark = pytest.mark.stack


def test_a_process_that_was_killed_before_its_first_commit_cannot_read_its_store_any_more(scene: Scene) -> None:
    # Under its instance id the next start takes the place of a process that was killed.
    scene = replace(scene, setup=replace(scene.setup, config={"group.instance.id": "one"}))
    state = scene.setup.state_directory / scene.setup.application
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    assert [path.parent.name for path in state.glob("*/.checkpoint")] != []
    before = json.loads(srfix(scene, "diagnose", "--state-dir", str(state), "--output", "json", code=1))
    assert [e["weight"] for e in before["findings"][0]["evidence"] if e["kind"] == "state-directory"] == ["conclusive"]
    assert "checkpoint" not in json.dumps(before["skipped"])

    # Loading the checkpoint deletes it, and the next one is written with the first commit, which does not come.
    with scene.running() as application:
        assert application.query("ann") == ANN_ROW
        application.kill()
    assert list(state.glob("*/.checkpoint")) == []
    assert list(state.glob("*/rocksdb/*/*")) != []

    with scene.running() as application:
        assert_query_fails(scene, application)
        after = json.loads(srfix(scene, "diagnose", "--state-dir", str(state), "--output", "json", code=1))
        (told,) = [skipped for skipped in after["skipped"] if "checkpoint" in skipped["what"]]
        tasks = ", ".join(f"0_{partition}" for partition in range(PARTITIONS))
        assert told["what"] == f"the checkpoint of tasks {tasks} in {state}"
        assert "Streams 2.6.0 to 2.6.3 delete a checkpoint after they load it" in told["reason"]
        assert told["could_hide_a_finding"] is False
        (finding,) = [finding for finding in after["findings"] if finding["severity"] != "note"]
        assert (finding["code"], finding["subject"]) == ("SRF001", scene.phantom)

        repair(scene, keep="auto", live_keys=1)
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
