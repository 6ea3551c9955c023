"""Case 2: srfix's dual-subject deserializer, put into the application after the incident."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parts.streams.application import lose_state
from parts.streams.model import SecondAnswer, SerdeKind
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import ANN, ANN_ROW, Scene, assert_query_fails, diagnose

pytestmark = pytest.mark.stack


@pytest.fixture
def unreadable(scene: Scene) -> Scene:
    """The incident has happened, and was seen."""
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
    return scene


def answer(scene: Scene, topic: str) -> SecondAnswer:
    return SecondAnswer(
        schema_id=scene.writer_id,
        topic=topic,
        first=scene.phantom,
        second=scene.source_subject,
        registered_id=None,
        refusal=None,
    )


@pytest.mark.parametrize("version", ["2.6.3", "2.7.0"])
def test_it_never_fails_and_changes_nothing_in_the_registry(unreadable: Scene, version: str) -> None:
    """Its subjects do not depend on the topic that Streams hands over."""
    scene = unreadable
    before = scene.registry.dump()
    setup = replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT, version=version)
    with scene.running(setup=setup) as application:
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
        handed = scene.changelog if version == "2.6.3" else scene.setup.users
        assert application.second_answers == (answer(scene, handed),)
        # An update reads the old row and writes the new one, under the application's own schema.
        scene.produce(("ann", ANN | {"fullName": "Ann Two"}))
        application.wait_for_row("ann", ANN_ROW | {"FULLNAME": "Ann Two"})
        application.wait_for_commit(scene.setup.users)

    lose_state(setup)
    with scene.running(setup=setup) as application:
        assert application.join("ann") == ANN_ROW | {"FULLNAME": "Ann Two"}
    assert scene.registry.dump() == before

    # To srfix the subject is as incomplete as before; who reads it makes the difference.
    (broken,) = [finding for finding in diagnose(scene, code=1) if finding["severity"] != "note"]
    assert (broken["code"], broken["subject"]) == ("SRF001", scene.phantom)
    (note,) = [finding for finding in diagnose(scene, "--reader", "dual", code=0) if finding["code"] == "SRF001"]
    assert note["severity"] == "note"
    assert "a dual reader can read the rows without the versions under this subject" in note["explanation"]


def test_it_repairs_what_it_reads_where_it_is_asked_to_and_the_registry_lets_it(
    unreadable: Scene, registry: FixtureRegistry
) -> None:
    scene = unreadable
    setup = replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING)
    with scene.running(setup=setup) as application:
        before = registry.dump()
        assert application.query("ann") == ANN_ROW
        (told,) = application.second_answers
        assert (told.registered_id, registry.dump()) == (None, before)
        assert told.refusal is not None
        assert "409" in told.refusal
    diagnose(scene, code=1)

    registry.configure(scene.phantom, {"compatibility": "NONE"})
    with scene.running(setup=setup) as application:
        assert application.query("ann") == ANN_ROW
        assert [told.registered_id for told in application.second_answers] == [scene.writer_id]
    codes = {finding["code"] for finding in diagnose(scene, code=0)}
    assert codes == {"SRF003", "SRF012"}  # the store is masked; the level that is left at NONE is noted

    # So the converter that failed reads, too.
    with scene.running() as application:
        assert application.query("ann") == ANN_ROW


def test_it_reads_what_it_has_stored_itself_under_the_changelogs_subject(
    scene: Scene, registry: FixtureRegistry
) -> None:
    setup = replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT, version="2.7.0")
    scene.produce(("ann", ANN))
    with scene.start(setup=setup) as application:
        application.wait_for_commit(setup.users)
        assert application.query("ann") == ANN_ROW
        assert application.second_answers == (answer(scene, setup.users),)
    assert ids(registry, scene.phantom) - {scene.writer_id}
    assert ids(registry, scene.source_subject) == {scene.writer_id}


def test_registering_before_the_first_write_has_the_application_s_own_schema_refused(
    scene: Scene, registry: FixtureRegistry
) -> None:
    """The source node reads before the store writes: the writer's schema is the subject's first version then."""
    scene.produce(("ann", ANN))
    with scene.start(setup=replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING)) as application:
        cause = application.wait_for_failure()[-1]
    assert "IncompatibleSchemaError" in cause.message
    assert scene.phantom in cause.message
    assert ids(registry, scene.phantom) == {scene.writer_id}


def ids(registry: FixtureRegistry, subject: str) -> set[int]:
    """The ids of a subject's versions."""
    subjects: Any = registry.dump()["subjects"]
    return {version["id"] for version in subjects[subject]}
