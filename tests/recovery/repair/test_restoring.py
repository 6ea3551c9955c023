"""What was relaxed is put back, also where another run has put it back a moment before."""

from __future__ import annotations

import pytest

from srfix.recovery.actions import restore_config, restore_mode, soft_delete
from srfix.recovery.facts import read_subject_state
from srfix.serde.registry import Schema
from srfix.serde.subjects import Subject
from tests.recovery.repair.scene import Scene
from tests.recovery.staging import PHANTOM

pytestmark = pytest.mark.core


def test_what_is_gone_already_stays_gone_and_what_is_there_goes(scene: Scene) -> None:
    for is_there in (False, True):
        if is_there:
            scene.client.set_config(PHANTOM, {"compatibility": "NONE"})
            scene.client.set_mode(PHANTOM, "READONLY")
        restore_mode(scene.client, Subject(PHANTOM), None)
        restore_config(scene.client, Subject(PHANTOM), None)
        assert (scene.client.config(PHANTOM), scene.client.mode(PHANTOM)) == (None, None)


def test_a_version_that_is_soft_deleted_stays_so(scene: Scene) -> None:
    subject = Subject("alone-value")
    schema_id = scene.client.register(subject, Schema(text='"string"'))
    soft_delete(scene.client, subject, 1)
    soft_delete(scene.client, subject, 1)
    (version,) = read_subject_state(scene.client, subject).versions
    assert (version.schema_id, version.deleted) == (schema_id, True)
