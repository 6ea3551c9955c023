"""Case 12: a table over a topic whose keys are windowed Avro, on Kafka Streams 2.6.3: 8 or 16 bytes stand behind the
framed key. srfix repairs the values, and finds nothing wrong with the keys.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import KeyWindows, ProjectedColumn, Row, SerdeKind
from srfix.serde.columns.types import STRING, Column
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role, subject_for
from srfix.serde.windowed import Window, WindowKind, join
from tests.stack.scene import (
    ANN,
    ANN_ROW,
    BOB,
    BOB_ROW,
    Scene,
    assert_query_fails,
    diagnose,
    framed,
    repair,
)

pytestmark = pytest.mark.stack

START_MS: Final = 1_600_000_200_000
END_MS: Final = START_MS + 3_600_000
WINDOW: Final = Window(START_MS, END_MS)
KEY_COLUMNS: Final = (ProjectedColumn(name="LOGIN", field="LOGIN"),)
KEY_SCHEMA: Final = internal_schema(WriteSpec(columns=(Column("LOGIN", STRING),)))
"""What the application itself writes: the keys are no part of the incident."""


@pytest.mark.parametrize(
    ("windows", "kind"),
    [
        pytest.param(KeyWindows.TIME, WindowKind.TIME, id="time"),
        pytest.param(KeyWindows.SESSION, WindowKind.SESSION, id="session"),
    ],
)
def test_values_under_windowed_keys_are_repaired_and_the_keys_left_alone(
    scene: Scene, windows: KeyWindows, kind: WindowKind
) -> None:
    scene = replace(scene, setup=replace(scene.setup, key_serde=SerdeKind.CONNECT_PROJECTED, key_windows=windows))
    key_id = scene.registry.seed(subject_for(scene.setup.users, Role.KEY), KEY_SCHEMA)
    assert scene.registry.seed(subject_for(scene.setup.logins, Role.KEY), KEY_SCHEMA) == key_id
    ann, bob = (join(framed(json.loads(KEY_SCHEMA), key_id, {"LOGIN": name}), WINDOW, kind) for name in ("ann", "bob"))
    ann_key, bob_key = (key_row(name) for name in ("ann", "bob"))
    rows = [(ann_key, ANN_ROW), (bob_key, BOB_ROW)]
    scene.produce((ann, ANN), (bob, BOB))

    with scene.running(key_columns=KEY_COLUMNS) as application:
        application.wait_for_commit(scene.setup.users)
        assert sorted(application.rows(), key=str) == rows
        assert application.join(ann) == ANN_ROW
        application.wait_for_commit(scene.setup.logins)
    lose_state(scene.setup)

    with scene.running(key_columns=KEY_COLUMNS) as application:
        assert application.count() == 2
        assert application.key_serde_calls == application.serde_calls == ()
        # The key is found, and its value cannot be read: the application writes keys byte for byte as the topic has them.
        assert_query_fails(scene, application, ann_key)
        # Of the keys srfix says at most that they are read because their schema is there (SRF003).
        assert {found["code"] for found in diagnose(scene, code=1)} <= {"SRF001", "SRF003"}
        repair(scene, keep="auto", live_keys=2)
        assert sorted(application.rows(), key=str) == rows
        assert application.join(ann) == ANN_ROW
        application.wait_for_commit(scene.setup.logins)


def key_row(name: str) -> Row:
    """A key as the application reads it."""
    return {"LOGIN": name, "WINDOWSTART": START_MS, "WINDOWEND": END_MS}
