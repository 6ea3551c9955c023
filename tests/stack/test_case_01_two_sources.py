"""Case 1 where two topics may be the source: srfix asks instead of guessing, and a person or the application's own word
decides."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Final

import pytest

from parts.streams.application import lose_state
from srfix.serde.subjects.names import Role, subject_for
from tests.stack.scene import ANN, ANN_ROW, WRITER_SCHEMA, Scene, assert_query_fails, diagnose, make_plan, srfix

pytestmark = pytest.mark.stack

LOGIN_SCHEMA: Final = {**WRITER_SCHEMA, "name": "Login"}
"""Has all fields of the table's rows, so that the schemas do not tell the two topics apart."""


def test_the_printed_command_the_state_directory_or_the_printed_topology_decides(scene: Scene, tmp_path: Path) -> None:
    users, logins, store = scene.setup.users, scene.setup.logins, scene.setup.store
    scene.registry.seed(subject_for(logins, Role.VALUE), json.dumps(LOGIN_SCHEMA))
    topology, copy = tmp_path / "topology.txt", tmp_path / "copy"
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(users)
        application.join("ann")
        application.wait_for_commit(logins)
        topology.write_text(application.topology)
    shutil.copytree(scene.setup.state_directory, copy)
    lose_state(scene.setup)

    with scene.running() as application:
        assert_query_fails(scene, application)
        (undecided,) = [finding for finding in diagnose(scene, code=1) if finding["severity"] != "note"]
        assert (undecided["code"], undecided["source"], undecided["repairable"]) == ("SRF001", None, False)
        whose = f"{scene.setup.application}/{store}"
        printed = [
            f"srfix diagnose --source {whose}={topic}" for topic in (users, logins)
        ]  # the likelier first: the store is named after it
        assert re.findall("`(.*?)`", undecided["next"]) == printed

        told = (
            tuple(shlex.split(printed[0])[2:]),
            ("--state-dir", str(copy)),
            ("--topology", str(topology), "--application", scene.setup.application),
        )
        for given in told:
            (finding,) = [found for found in diagnose(scene, *given, code=1) if found["severity"] != "note"]
            assert finding["source"] == {"topic": users, "subject": scene.source_subject}
            conclusive = {piece["topic"] for piece in finding["evidence"] if piece["weight"] == "conclusive"} - {None}
            assert conclusive == {users}

        plan = make_plan(scene, *told[0])
        srfix(scene, "apply", str(plan), "--yes")
        srfix(scene, "verify", str(plan))
        assert application.query("ann") == ANN_ROW
