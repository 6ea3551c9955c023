"""Before the first write: what is missing is said in a sentence, and nothing is changed by asking."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.actions.actions import SetMode
from srfix.recovery.repair.preflight import denied_permissions, preflight
from srfix.serde import RegistryClient, Subject
from srfix.serde.schemas.errors import RegistryUnreachableError
from tests.recovery.repair.scene import Scene
from tests.recovery.staging import PHANTOM


def obstacles(scene: Scene, client: RegistryClient | None = None) -> list[str]:
    return list(preflight(scene.plan, client or scene.client, scene.journal))


def deny(registry: FixtureRegistry, method: str, path: str, status: int = 403) -> None:
    body = json.dumps({"error_code": status * 100 + 1, "message": "User is denied operation"})
    registry.intercept(Fault(method=method, path=path, action=Answer(status=status, body=body)))


@pytest.mark.core
class TestPreflight:
    def test_nothing_is_missing_where_everything_is_in_order_and_no_write_is_sent(self, scene: Scene) -> None:
        assert obstacles(scene) == []
        assert scene.registry.writes == 0
        assert not scene.journal.exists()

    def test_a_read_only_registry_is_named(self, scene: Scene) -> None:
        answer = Answer(status=200, body='{"mode":"READONLY"}')
        scene.registry.intercept(Fault(method="GET", path="/mode$", action=answer))
        assert f"READONLY, so no registration under {PHANTOM} is possible" in obstacles(scene)[0]

    def test_an_id_that_is_gone_since_the_plan_is_named(self, scene: Scene) -> None:
        scene.lose(1)
        with RegistryClient(scene.registry.url) as fresh:
            (obstacle,) = obstacles(scene, fresh)
        assert obstacle.startswith("Schema id 1 has disappeared from the registry")

    def test_another_registry_with_other_schemas_is_recognised(self, scene: Scene) -> None:
        with FixtureRegistry() as other, RegistryClient(other.url) as elsewhere:
            other.seed("a-value", '"string"')
            other.seed("b-value", '"long"')
            first, second = obstacles(scene, elsewhere)
        for schema_id, obstacle in ((1, first), (2, second)):
            assert obstacle.startswith(f"Schema id {schema_id} is another schema")

    def test_a_full_disk_is_said_before_the_journal_is_begun(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(scene.journal.parent)
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage._replace(free=10))
        (obstacle,) = obstacles(scene)
        assert f"The disk of {scene.journal.parent} has 10 bytes left" in obstacle

    def test_an_outage_is_an_error_and_no_obstacle(self, scene: Scene) -> None:
        scene.registry.close()
        with pytest.raises(RegistryUnreachableError):
            obstacles(scene)


class TestDeniedPermissions:
    @pytest.mark.core
    def test_nothing_is_denied_to_who_may_write_and_nothing_is_changed_by_asking(self, scene: Scene) -> None:
        assert list(denied_permissions(scene.plan, scene.client)) == []
        assert scene.registry.dump() == scene.before
        assert {seen.status for seen in scene.registry.write_log} == {404, 422}

    @pytest.mark.parametrize(
        ("method", "path", "what"),
        [
            ("PUT", "/config/", "set the compatibility"),
            ("POST", "/versions", "register schemas"),
            ("DELETE", "/versions/", "delete versions"),
        ],
    )
    @pytest.mark.parametrize("status", [401, 403])
    def test_a_denied_write_is_named_before_it_is_needed(
        self, scene: Scene, method: str, path: str, what: str, status: int
    ) -> None:
        deny(scene.registry, method, path, status)
        (obstacle,) = denied_permissions(scene.plan, scene.client)
        assert f"may not {what} under {PHANTOM} (HTTP {status})" in obstacle
        assert "srfix plan with --as-shell" in obstacle

    def test_who_may_not_set_a_mode_learns_it_of_a_plan_that_needs_it(self, scene: Scene) -> None:
        mode = SetMode(step=7, subject=Subject(PHANTOM), mode="IMPORT", previous=None)
        plan = replace(scene.plan, actions=(*scene.plan.actions, mode))
        assert list(denied_permissions(plan, scene.client)) == []
        assert scene.registry.dump() == scene.before
        deny(scene.registry, "PUT", "/mode/")
        (obstacle,) = denied_permissions(plan, scene.client)
        assert f"may not set the mode under {PHANTOM} (HTTP 403)" in obstacle
