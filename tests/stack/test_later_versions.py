"""Applications of Kafka Streams 2.7 and later: what is healthy there is no finding, and what only rows on disk show is one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import ProjectedColumn, SerdeKind, TopologyKind
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.subjects.names import Role, subject_for
from tests.stack.scene import ANN, ANN_ROW, Scene, diagnose, make_plan, srfix

pytestmark = pytest.mark.stack

LATER: Final = "3.9.2"
"""What it commits shows that 3.3 or later runs."""
KEY_SCHEMA: Final = {"type": "record", "name": "UserKey", "fields": [{"name": "login", "type": "string"}]}


@pytest.fixture
def scene(scene: Scene, registry: FixtureRegistry) -> Scene:
    """The internal schema is refused under the source's subject at BACKWARD."""
    registry.configure(scene.source_subject, {"compatibility": "NONE"})
    return scene


def wrong(scene: Scene, *arguments: str, code: int) -> list[str]:
    return [found["code"] for found in diagnose(scene, *arguments, code=code) if found["severity"] != "note"]


def on_disk(scene: Scene) -> tuple[str, ...]:
    return ("--state-dir", str(scene.setup.state_directory))


def test_one_that_was_upgraded_and_wiped_has_left_litter_and_nothing_is_broken(scene: Scene) -> None:
    """Seen wrong: SRF001, broken."""
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    lose_state(scene.setup)
    with scene.running(setup=replace(scene.setup, version=LATER)) as application:
        scene.produce(("bob", ANN))
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
        assert wrong(scene, code=1) == ["SRF010"]
    assert wrong(scene, *on_disk(scene), code=1) == ["SRF010"]


def test_members_that_are_up_say_which_version_they_run(scene: Scene) -> None:
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        (seen,) = {
            hint["says"]
            for found in diagnose(scene, code=1)
            for hint in found["observations"]
            if "SubscriptionInfo" in hint["detail"]
        }
    assert seen == "2.6 to 2.7"


def test_a_store_that_logs_nothing_is_none(scene: Scene) -> None:
    """Seen wrong: SRF004 and SRF016."""
    setup = replace(scene.setup, version=LATER, topology=TopologyKind.LOGGING_DISABLED)
    scene.produce(*((f"user-{number}", ANN) for number in range(12)))  # some in each partition
    with scene.running(setup=setup) as application:
        application.wait_for_commit(setup.users)
        assert application.query("user-1") == ANN_ROW
        assert wrong(scene, code=0) == []
    assert wrong(scene, *on_disk(scene), code=0) == []


def test_keys_of_another_id_are_found_by_the_rows_on_disk(scene: Scene, registry: FixtureRegistry) -> None:
    """Seen missed on 3.7.2: the key serde registers under the source's subject, which holds both ids."""
    setup = replace(scene.setup, version=LATER, key_serde=SerdeKind.CONNECT_PROJECTED)
    columns = (ProjectedColumn(name="LOGIN", field="login"),)
    for topic in (setup.users, setup.logins):
        subject = subject_for(topic, Role.KEY)
        key_id = registry.seed(subject, json.dumps(KEY_SCHEMA))
        registry.configure(subject, {"compatibility": "NONE"})
    scene = replace(scene, setup=setup)
    ann = b"\0" + key_id.to_bytes(4, "big") + b"\x06ann"
    scene.produce((ann, ANN))
    with scene.running(key_columns=columns) as application:
        application.wait_for_commit(setup.users)
    lose_state(setup)
    with scene.running(key_columns=columns) as application:
        scene.produce((ann, ANN | {"fullName": "Ann Two"}))
        application.wait_for_commit(setup.users)
        assert application.count() == 2, "the restored row and the updated one, under two ids"
    assert "SRF005" in wrong(scene, *on_disk(scene), code=1)


def test_verify_says_that_the_next_put_is_refused(scene: Scene, registry: FixtureRegistry) -> None:
    """Seen wrong: "start it", and 2.8.2 died at its first put."""
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    registry.configure(scene.source_subject, {"compatibility": "BACKWARD"})
    plan = make_plan(scene, "--streams-version", "2.7", "--also", "SRF004")
    srfix(scene, "apply", str(plan), "--yes")
    verification = json.loads(srfix(scene, "verify", str(plan), "--output", "json", code=1))
    (problem,) = [check["what"] for check in verification["checks"] if not check["ok"]]
    assert "the registry refuses that with 409" in problem
    with scene.running(setup=replace(scene.setup, version="2.7.0")) as application:
        assert application.query("ann") == ANN_ROW
        scene.produce(("ann", ANN))
        assert application.wait_for_failure()[-1].message.endswith("error code: 409")
