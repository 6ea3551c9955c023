"""Case 2: srfix's dual-subject deserializer, put into the application after the incident."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import Row, SecondAnswer, SerdeKind
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import Scene, assert_query_fails, diagnose

pytestmark = pytest.mark.stack

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann"}


@pytest.fixture
def unreadable(scene: Scene) -> Scene:
    """The incident has happened, and was seen."""
    scene.produce(("ann", ANN))
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)
    return scene


def test_it_never_fails_and_changes_nothing_in_the_registry(unreadable: Scene) -> None:
    scene = unreadable
    before = scene.registry.dump()
    setup = replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT)
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
        assert application.second_answers == (
            SecondAnswer(
                schema_id=scene.writer_id,
                topic=scene.changelog,
                first=scene.phantom,
                second=scene.source_subject,
                registered_id=None,
                refusal=None,
            ),
        )
        # An update reads the old row and writes the new one, under the application's own schema.
        scene.produce(("ann", ANN | {"fullName": "Ann Two"}))
        application.wait_for_row("ann", ANN_ROW | {"FULLNAME": "Ann Two"})
        application.wait_for_commit(scene.setup.users)

    lose_state(setup)
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert application.join("ann") == ANN_ROW | {"FULLNAME": "Ann Two"}
    assert scene.registry.dump() == before

    # To srfix the subject is as incomplete as before; who reads it makes the difference.
    (broken,) = [finding for finding in diagnose(scene, code=1) if finding["severity"] != "note"]
    assert (broken["code"], broken["subject"]) == ("SRF001", scene.phantom)
    (note,) = [finding for finding in diagnose(scene, "--reader", "dual", code=0) if finding["code"] == "SRF001"]
    assert note["severity"] == "note"
    assert note["explanation"].endswith("As a dual reader does not need that version, nothing fails because of it.")
    assert note["next"].startswith("Nothing to do while this reader stays")


def test_it_repairs_what_it_reads_where_it_is_asked_to_and_the_registry_lets_it(
    unreadable: Scene, registry: FixtureRegistry
) -> None:
    scene = unreadable
    setup = replace(scene.setup, serde=SerdeKind.SRFIX_DUAL_SUBJECT_REGISTERING)
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        before = registry.dump()
        assert application.query("ann") == ANN_ROW
        (told,) = application.second_answers
        assert (told.registered_id, registry.dump()) == (None, before)
        assert told.refusal is not None
        assert "409" in told.refusal
    diagnose(scene, code=1)

    registry.configure(scene.phantom, {"compatibility": "NONE"})
    with scene.start(setup=setup) as application:
        application.wait_for_state("RUNNING")
        assert application.query("ann") == ANN_ROW
        assert [told.registered_id for told in application.second_answers] == [scene.writer_id]
    codes = {finding["code"] for finding in diagnose(scene, code=0)}
    assert codes == {"SRF003", "SRF012"}  # the store is masked; the level that is left at NONE is noted

    # So the converter that failed reads, too.
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert application.query("ann") == ANN_ROW
