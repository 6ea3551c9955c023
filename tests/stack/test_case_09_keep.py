"""Case 9: what is registered is left live or soft-deleted: both are read, and the next internal schema tells them apart."""

from __future__ import annotations

from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import Row
from tests.stack.scene import ANN, ANN_ROW, NEXT_COLUMNS, REST_CLIENT_EXCEPTION, Keep, Scene, assert_query_fails, repair

pytestmark = pytest.mark.stack

EVE: Final[dict[str, object]] = {"userId": 5, "fullName": "Eve", "homeCountry": "FR"}
EVE_ROW: Final[Row] = {"USERID": 5, "FULLNAME": "Eve", "HOMECOUNTRY": "FR"}


@pytest.mark.parametrize("keep", ["live", "soft-deleted"])
def test_both_are_read_and_only_soft_deleted_is_the_next_internal_schema_accepted(scene: Scene, keep: Keep) -> None:
    scene.produce(("ann", ANN))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    before = scene.registry.dump()
    lose_state(scene.setup)

    with scene.running() as application:
        assert_query_fails(scene, application)
        undo = repair(scene, keep=keep, live_keys=1)
        assert application.query("ann") == ANN_ROW

    # It survives a restart, …
    with scene.running() as application:
        assert application.join("ann") == ANN_ROW
        application.wait_for_commit(scene.setup.logins)

    # … and a second loss of the state, also with the next internal schema, until that is written.
    lose_state(scene.setup)
    with scene.running(NEXT_COLUMNS) as application:
        assert application.query("ann") == ANN_ROW | {"HOMECOUNTRY": "NL"}
        scene.produce(("eve", EVE))
        if keep == "live":
            refusal = application.wait_for_failure()[-1]
            assert refusal.class_name == REST_CLIENT_EXCEPTION
            assert refusal.message.endswith("error code: 409")
            assert scene.phantom in refusal.message
        else:
            application.wait_for_commit(scene.setup.users)
            assert application.query("eve") == EVE_ROW
            assert application.join("ann") == ANN_ROW | {"HOMECOUNTRY": "NL"}

    # The undo takes only what the repair brought: not the application's next schema, where that was accepted.
    undo()
    assert (scene.registry.dump() == before) is (keep == "live")
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
