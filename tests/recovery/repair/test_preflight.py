"""Before the first write: what is missing is said in a sentence, and nothing is changed by asking."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.actions.actions import SetMode
from srfix.recovery.repair.preflight import denied_permissions, preflight
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.errors import RegistryUnreachableError
from srfix.serde.subjects.names import Subject
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, plan_of


def obstacles(client: RegistryClient, journal_path: Path) -> list[str]:
    return [obstacle.what for obstacle in preflight(plan_of(client), client, journal_path)]


def deny(registry: FixtureRegistry, method: str, path: str, status: int = 403) -> None:
    body = json.dumps({"error_code": status * 100 + 1, "message": "User is denied operation"})
    registry.intercept(Fault(method=method, path=path, action=Answer(status=status, body=body)))


class TestPreflight:
    def test_nothing_is_missing_where_everything_is_in_order_and_no_write_is_sent(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        assert obstacles(client, journal_path) == []
        assert registry.writes == 0
        assert not journal_path.exists()

    def test_a_read_only_registry_is_named(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        registry.intercept(Fault(method="GET", path="/mode$", action=Answer(status=200, body='{"mode":"READONLY"}')))
        assert obstacles(client, journal_path)[0].startswith(
            f"The registry's mode is READONLY, which takes no registration under {PHANTOM}."
        )

    def test_an_id_that_is_gone_since_the_plan_is_named(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        for permanent in (False, True):
            client.delete_version(SOURCE_SUBJECT, 1, permanent=permanent)
        with RegistryClient(registry.url) as fresh:
            found = [obstacle.what for obstacle in preflight(plan, fresh, journal_path)]
        assert found == [
            "Schema id 1 is gone from the registry since the plan was made: registering its text now would give another id. "
            "Plan again."
        ]

    def test_another_registry_with_other_schemas_is_recognised(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        with FixtureRegistry() as other:
            other.seed("a-value", '"string"')
            other.seed("b-value", '"long"')
            with RegistryClient(other.url) as elsewhere:
                found = [obstacle.what for obstacle in preflight(plan, elsewhere, journal_path)]
        assert [
            line.startswith(f"Schema id {n} is another schema in this registry") for n, line in enumerate(found, 1)
        ] == [
            True,
            True,
        ]

    def test_a_full_disk_is_said_before_the_journal_is_begun(
        self, client: RegistryClient, journal_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(journal_path.parent)
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage._replace(free=10))
        (found,) = obstacles(client, journal_path)
        assert found.startswith(f"The disk of {journal_path.parent} has 10 bytes left; the journal may need ")

    def test_an_outage_is_an_error_and_no_obstacle(
        self, registry: FixtureRegistry, client: RegistryClient, journal_path: Path
    ) -> None:
        plan = plan_of(client)
        registry.close()
        with pytest.raises(RegistryUnreachableError):
            list(preflight(plan, client, journal_path))


class TestDeniedPermissions:
    def test_nothing_is_denied_to_who_may_write_and_nothing_is_changed_by_asking(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        before = registry.dump()
        assert list(denied_permissions(plan_of(client), client)) == []
        assert registry.dump() == before
        assert {seen.status for seen in registry.write_log} == {404, 422}

    @pytest.mark.parametrize(
        ("method", "path", "what"),
        [
            ("PUT", "/config/", "set its compatibility"),
            ("POST", "/versions", "register schemas"),
            ("DELETE", "/versions/", "delete versions"),
        ],
    )
    @pytest.mark.parametrize("status", [401, 403])
    def test_a_denied_write_is_named_before_it_is_needed(
        self,
        registry: FixtureRegistry,
        client: RegistryClient,
        method: str,
        path: str,
        what: str,
        status: int,
    ) -> None:
        deny(registry, method, path, status)
        assert [obstacle.what for obstacle in denied_permissions(plan_of(client), client)] == [
            f"This user may not {what} under {PHANTOM} (HTTP {status}). Ask for the right to write this subject, or hand the "
            "plan to somebody who has it: srfix plan with --as-shell."
        ]

    def test_who_may_not_set_a_mode_learns_it_of_a_plan_that_needs_it(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        plan = plan_of(client)
        mode = SetMode(step=7, subject=Subject(PHANTOM), mode="IMPORT", previous=None)
        plan = replace(plan, actions=(*plan.actions, mode))
        before = registry.dump()
        assert list(denied_permissions(plan, client)) == []
        assert registry.dump() == before
        deny(registry, "PUT", "/mode/")
        (obstacle,) = denied_permissions(plan, client)
        assert obstacle.what.startswith(f"This user may not set its mode under {PHANTOM} (HTTP 403). ")
