"""`srfix watch` beside the real thing: a new schema version and a first record with it, then a wipe, and the store reads.

In between the watch is killed and started again, and the registry is away for a while.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from parts.streams.application import StreamsApplication, lose_state
from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.command import SRFIX
from tests.stack.scene import ANN, ANN_ROW, WRITER_SCHEMA, Scene, assert_query_fails, make_plan, srfix

pytestmark = pytest.mark.stack

AWAY_S: Final = 20.0


def with_field(name: str) -> dict[str, Any]:
    """The writer's schema with one more field."""
    fields: list[object] = [*WRITER_SCHEMA["fields"], {"name": name, "type": ["null", "string"], "default": None}]
    return {**WRITER_SCHEMA, "fields": fields}


def wait_for(condition: Callable[[], bool], *, timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.05)


@contextmanager
def watching(scene: Scene, plan: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A watch beside the scene, whose log is in a file; killed at the end if it still runs."""
    places = {"SRFIX_BOOTSTRAP_SERVERS": scene.broker.bootstrap_servers, "SRFIX_REGISTRY": scene.registry.url}
    options = ["--allow", str(plan), "--interval", "1", "--listen", "off", "--output", "json"]
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [SRFIX, "watch", *options], stdout=out, stderr=subprocess.STDOUT, env=os.environ | places
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def told(log: Path, what: str) -> list[dict[str, Any]]:
    documents = [
        json.loads(line) for line in log.read_text().splitlines() if line.startswith("{") and line.endswith("}")
    ]
    return [document for document in documents if document["what"] == what]


def holds(scene: Scene, schema_id: int) -> bool:
    """True if the phantom subject has a version of the schema, soft-deleted as the plan does it, and is not relaxed."""
    subjects: Any = scene.registry.dump()["subjects"]
    versions = [version for version in subjects.get(scene.phantom, ()) if version["id"] == schema_id]
    return bool(versions) and all(version["deleted"] for version in versions)


def restored(scene: Scene) -> StreamsApplication:
    lose_state(scene.setup)
    return scene.start()


def test_what_is_registered_in_time_is_read_after_a_wipe(
    scene: Scene, registry: FixtureRegistry, tmp_path: Path
) -> None:
    log = tmp_path / "watch.log"
    scene.produce(("ann", ANN), ("bob", ANN | {"userId": 2, "fullName": "Bob"}))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    with restored(scene) as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)
    plan = make_plan(scene)
    srfix(scene, "apply", str(plan), "--yes")

    # A new version and a first record with it, while the watch runs.
    second = with_field("nickName")
    with watching(scene, plan, log) as watch:
        wait_for(lambda: len(told(log, "look")) == 1)
        second_id = registry.seed(scene.source_subject, json.dumps(second, separators=(",", ":")))
        scene.produce(("ann", ANN | {"fullName": "Ann Two", "nickName": "A"}), schema=second, schema_id=second_id)
        wait_for(lambda: bool(told(log, "registered")))
        assert holds(scene, second_id)
        # Killed in the middle of the next one, after the level was relaxed.
        third = with_field("motto")
        with registry.intercept(Fault(method="POST", path="/versions$", delay_s=AWAY_S, action=CutBefore())) as met:
            third_id = registry.seed(scene.source_subject, json.dumps(third, separators=(",", ":")))
            wait_for(lambda: met.hits == 1)
            watch.kill()
            assert watch.wait(10) == -signal.SIGKILL
    assert not holds(scene, third_id)

    # Started again, it goes on; and what comes while the registry is away is registered when it is back.
    fourth = with_field("shoeSize")
    with watching(scene, plan, log) as watch:
        wait_for(lambda: holds(scene, third_id))
        wait_for(lambda: len(told(log, "registered")) == 2)
        with registry.intercept(Fault(action=CutBefore())):
            away_until = time.monotonic() + AWAY_S
            wait_for(lambda: len(told(log, "outage")) == 1)
            fourth_id = registry.seed(scene.source_subject, json.dumps(fourth, separators=(",", ":")))
            scene.produce(("ann", ANN | {"fullName": "Ann Three", "motto": "M"}), schema=third, schema_id=third_id)
            scene.produce(("bob", ANN | {"userId": 2, "fullName": "Bob Two"}), schema=fourth, schema_id=fourth_id)
            wait_for(lambda: time.monotonic() >= away_until)
        wait_for(lambda: holds(scene, fourth_id))
        wait_for(lambda: len(told(log, "registered")) >= 3)
        assert len(told(log, "outage")) == len(told(log, "outage-over")) == 1

        # The application commits what came, and loses its state: every row of its store reads.
        with scene.running() as application:
            application.wait_for_row("ann", ANN_ROW | {"FULLNAME": "Ann Three"})
            application.wait_for_row("bob", {"USERID": 2, "FULLNAME": "Bob Two"})
            application.wait_for_commit(scene.setup.users)
        with restored(scene) as application:
            application.wait_for_state("RUNNING")
            assert application.query("ann") == ANN_ROW | {"FULLNAME": "Ann Three"}
            assert application.query("bob") == {"USERID": 2, "FULLNAME": "Bob Two"}
            assert application.join("ann") == ANN_ROW | {"FULLNAME": "Ann Three"}
        watch.terminate()
        assert watch.wait(30) == 0
    srfix(scene, "diagnose")
    assert scene.changelog not in scene.broker.topics
