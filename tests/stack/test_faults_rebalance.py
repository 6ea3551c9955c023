"""The application rebalances and restores while `srfix apply` runs: a second instance joins in the middle of it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import pytest

from parts.streams.application import StreamsApplication, lose_state
from parts.streams.model import Row, StreamsError
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.compaction import wait_until
from tests.stack.meddler import meddler
from tests.stack.scene import Scene, diagnose, make_plan, read_failure, srfix

pytestmark = pytest.mark.stack

KEYS: Final = tuple(f"k{number}" for number in range(12))
"""Enough that each partition has some."""


def user(key: str) -> dict[str, object]:
    return {"userId": int(key[1:]), "fullName": f"User {key}", "homeCountry": None}


def row(key: str) -> Row:
    return {"USERID": int(key[1:]), "FULLNAME": f"User {key}"}


def test_a_second_instance_that_joins_and_restores_meanwhile_changes_nothing(
    scene: Scene, registry: FixtureRegistry
) -> None:
    scene.produce(*((key, user(key)) for key in KEYS))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    before = registry.dump()
    lose_state(scene.setup)

    elsewhere = replace(scene.setup, state_directory=scene.setup.state_directory.with_name("elsewhere"))
    with ExitStack() as stack:
        first = stack.enter_context(scene.start())
        first.wait_for_state("RUNNING")
        with pytest.raises(StreamsError) as caught:
            first.rows()
        assert caught.value.causes == read_failure(scene)
        plan = make_plan(scene)

        second: list[StreamsApplication] = []

        def join(method: str, path: str, _earlier: int) -> None:
            """At the first write a second instance comes; the last one waits until it has what it was given."""
            if method == "PUT" and not second:
                second.append(stack.enter_context(scene.start(setup=elsewhere)))
            elif method == "DELETE" and path.startswith("/config"):
                second[0].wait_for_state("RUNNING")

        with meddler(registry.url, join) as gateway:
            srfix(scene, "apply", str(plan), "--yes", "--registry", gateway)
        srfix(scene, "verify", str(plan))

        # Between them they have every row, each its own part, and go on writing.
        instances = (first, *second)
        wait_until(lambda: all(instance.state == "RUNNING" and instance.rows() for instance in instances))
        shares = [dict(instance.rows()) for instance in instances]
        assert not shares[0].keys() & shares[1].keys()
        assert shares[0] | shares[1] == {key: row(key) for key in KEYS}
        assert {key: first.join(key) for key in KEYS[:3]} == {key: row(key) for key in KEYS[:3]}
        scene.produce(("k0", user("k0") | {"fullName": "Renamed"}))
        wait_until(lambda: row("k0") | {"FULLNAME": "Renamed"} in [instance.query("k0") for instance in instances])
        for instance in instances:
            assert instance.failure == ()
    assert {finding["severity"] for finding in diagnose(scene, code=0)} == {"note"}

    srfix(scene, "rollback", str(plan), "--yes")
    assert registry.dump() == before
