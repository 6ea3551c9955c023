"""Somebody puts the compatibility back while the repair runs: the registry refuses the second schema with 409."""

from __future__ import annotations

import pytest

from parts.streams.application import lose_state
from tests.docker.meddler import meddler
from tests.docker.scene import Scene

pytestmark = pytest.mark.docker

ANN = {"USERID": 1, "FULLNAME": "Ann"}
BOB = {"USERID": 2, "FULLNAME": "Bob"}


def refused_apply(scene: Scene) -> str:
    """Carries out the plan until somebody sets BACKWARD before its second registration; what the command says."""
    registration = f"/subjects/{scene.phantom}/versions"

    def set_back(method: str, path: str, earlier: int) -> None:
        if (method, path.partition("?")[0], earlier) == ("POST", registration, 1):
            scene.registry.set_config(scene.phantom, {"compatibility": "BACKWARD"})

    with meddler(scene.setup.registry, set_back) as url:
        return scene.srfix("apply", str(scene.plan), "--yes", code=3, registry=url)[1]


def test_a_repair_that_is_refused_in_the_middle_stops_there_and_is_undone_or_finished(scene: Scene) -> None:
    scene.produce(1, {"ann": {"userId": 1, "fullName": "Ann"}})
    scene.produce(2, {"bob": {"userId": 2, "fullName": "Bob", "homeCountry": "NL"}})
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
    before = scene.dump()
    assert scene.registry.config(scene.phantom) is None
    lose_state(scene.setup)

    with scene.start() as application:
        application.wait_for_state("RUNNING")
        steps = scene.make_plan()
        assert steps[:4] == ["set-compatibility", "register", "soft-delete", "register"]

        # One schema stands there, the other does not: half of the store can be read.
        said = refused_apply(scene)
        assert "409" in said
        assert f"The repair stopped after 3 of {len(steps)} steps" in said
        assert application.query("ann") == ANN
        scene.assert_unreadable(application, "bob", 2)

        # The undo takes away what the repair brought, and leaves to others what they have set.
        out, err = scene.srfix("rollback", f"{scene.plan}.journal.jsonl", "--yes", code=3)
        assert f"somebody changed the configuration of {scene.phantom} since" in out + err
        config = scene.registry.config(scene.phantom)
        assert config is not None
        assert config.fields == {"compatibilityLevel": "BACKWARD"}
        scene.registry.delete_config(scene.phantom)
        assert scene.dump() == before

    # Refused once more, and the level set to NONE again: the same command goes on where it was.
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        scene.assert_unreadable(application, "ann", 1)
        scene.make_plan()
        refused_apply(scene)
        scene.registry.set_config(scene.phantom, {"compatibility": "NONE"})
        scene.srfix("apply", str(scene.plan), "--yes")
        scene.srfix("verify", str(scene.plan))
        assert (application.query("ann"), application.query("bob")) == (ANN, BOB)
        assert scene.registry.config(scene.phantom) is None

    scene.srfix("rollback", f"{scene.plan}.journal.jsonl", "--yes")
    assert scene.dump() == before
