"""Case 6: a plain Confluent deserializer never looks a version up: it makes the phantom subject, and nothing fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parts.streams.application import lose_state
from parts.streams.model import SerdeKind
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.stack.scene import ANN, ANN_ROW, Scene, diagnose

pytestmark = pytest.mark.stack


def test_srfix_says_that_it_depends_on_the_reader_and_notes_it_where_that_is_known(
    scene: Scene, registry: FixtureRegistry
) -> None:
    scene = replace(scene, setup=replace(scene.setup, serde=SerdeKind.PLAIN_PROJECTED))
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    before = registry.dump()
    assert scene.phantom in registry.dump()["subjects"]  # type: ignore[operator]
    lose_state(scene.setup)
    with scene.running() as application:
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW

    (note,) = [finding for finding in diagnose(scene, "--reader", "plain", code=0) if finding["code"] == "SRF001"]
    assert (note["severity"], note["subject"]) == ("note", scene.phantom)
    assert [fault["id"] for fault in note["schema_ids"]] == [scene.writer_id]
    assert "a plain reader can read the rows without the versions under this subject" in note["explanation"]
    assert {finding["severity"] for finding in diagnose(scene, "--reader", "plain", code=0)} == {"note"}

    # Nothing tells whose reader it is: the words leave it open, where Connect's converter leaves no doubt.
    for reader, is_open in (("unknown", True), ("connect", False)):
        (finding,) = [f for f in diagnose(scene, "--reader", reader, code=1) if f["severity"] != "note"]
        assert (finding["code"], finding["severity"]) == ("SRF001", "broken")
        assert ("If the reader looks up the version" in finding["explanation"]) is is_open
        assert f"value schema version for id {scene.writer_id}" in finding["explanation"]
    assert registry.dump() == before
