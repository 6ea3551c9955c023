"""SRF014: ids in the rows of a store on disk that the registry has lost."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from parts.damage import store_rows_lost_their_schema as damage
from parts.state_directory import write_application, write_task
from srfix.recovery import Severity, Supplied
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.serde import Role, Topic
from srfix.serde.wire import frame_id
from tests.recovery.staging import W1, R
from tests.recovery.world import World, world_fixture

world = world_fixture(damage.TOPICS)


@pytest.fixture
def staged(world: World, tmp_path: Path) -> damage.Staged:
    made = damage.stage(world.broker, world.client(), tmp_path / "state")
    world.hand_over(made.state_dir)
    return made


def rewrite(world: World, staged: damage.Staged, rows: dict[bytes, bytes]) -> None:
    shutil.rmtree(staged.database)
    folder = staged.state_dir / damage.APPLICATION
    write_task(folder, "0_0", damage.STORE, rows, checkpoint={(damage.SOURCE_TOPIC, 0): 2})
    world.hand_over(staged.state_dir)


def say_policy(world: World, monkeypatch: pytest.MonkeyPatch, policy: str | None) -> None:
    """The embedded broker tells no topic's configuration."""

    def configs(topic: str, **_: object) -> TopicConfigs:
        values = None if policy is None else {"cleanup.policy": policy}
        return TopicConfigs(topic=Topic(topic), values=values, problem=None)

    monkeypatch.setattr(world.cluster, "topic_configs", configs)


class TestLostInStore:
    def test_it_is_the_only_finding_beside_the_note_that_the_rest_is_masked(
        self, world: World, staged: damage.Staged
    ) -> None:
        finding, masked = world.examine().diagnosis.findings
        assert (finding.code, finding.severity, finding.repairable) == ("SRF014", Severity.BROKEN, False)
        assert (masked.code, masked.severity) == ("SRF003", Severity.NOTE)
        assert [fault.schema_id for fault in finding.schema_ids] == [staged.lost_id]
        assert finding.subject == staged.phantom_subject
        assert "does not know: schema id 2 (3 rows, in the store of partition 0)." in finding.explanation

    @pytest.mark.usefixtures("staged")
    @pytest.mark.parametrize("policy", ["compact", "delete", "compact,delete", None])
    def test_the_store_may_be_rebuilt_only_where_the_topic_holds_every_row(
        self, world: World, monkeypatch: pytest.MonkeyPatch, policy: str | None
    ) -> None:
        say_policy(world, monkeypatch, policy)
        rebuild, keep = (
            "Or rebuild the store from topic users. A restore copies the topic's bytes",
            "Wipe nothing: a restore cannot bring back a row",
        )
        said = world.findings()["SRF014"].next
        assert (rebuild in said) is (policy == "compact")
        assert (f"{keep} if topic users no longer holds its record" in said) is (policy != "compact")
        assert ("srfix does not know the topic's cleanup.policy, so" in said) is (policy is None)
        assert (f"The topic has cleanup.policy={policy}, so" in said) is (policy in {"delete", "compact,delete"})

    def test_without_a_conclusive_source_nothing_may_be_wiped(self, world: World, staged: damage.Staged) -> None:
        (staged.state_dir / damage.APPLICATION / "0_0/.checkpoint").unlink()
        world.hand_over(staged.state_dir)
        assert "Until then wipe nothing. No evidence proves" in world.findings()["SRF014"].next

    @pytest.mark.usefixtures("staged")
    def test_without_the_state_directory_nothing_tells(self, world: World) -> None:
        world.supplied = Supplied()
        assert set(world.findings()) == {"SRF003"}

    @pytest.mark.usefixtures("staged")
    def test_no_plan_repairs_it(self, world: World) -> None:
        plan = world.plan()
        assert plan.actions == ()
        assert any(
            "is broken (SRF014), and this plan does not repair that" in omission.reason for omission in plan.omissions
        )

    @pytest.mark.parametrize("key", [b"u1", frame_id(77, b"1")], ids=["known ids", "lost ones in keys, by chance"])
    def test_is_nothing_where_values_carry_ids_that_the_registry_knows(
        self, world: World, staged: damage.Staged, key: bytes
    ) -> None:
        rewrite(world, staged, {key: frame_id(1, b"\x02")})
        assert set(world.findings()) == {"SRF003"}

    def test_an_id_that_the_topic_carries_too_is_another_findings(self, world: World, staged: damage.Staged) -> None:
        world.put("users", ("u4", frame_id(staged.lost_id, b"\x02\x02")))
        world.commit("shop", users=4)
        found = world.findings()
        assert "SRF011" in found
        assert "SRF014" not in found

    @pytest.mark.parametrize("what", ["a damaged store", "without the library"])
    def test_what_hides_such_rows_is_said(
        self, world: World, staged: damage.Staged, what: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if what == "without the library":
            monkeypatch.setitem(sys.modules, "rocksdict", None)
        else:
            for manifest in staged.database.glob("MANIFEST-*"):
                manifest.unlink()
        world.hand_over(staged.state_dir)
        diagnosis = world.examine().diagnosis
        assert {finding.code for finding in diagnosis.findings} == {"SRF003"}
        assert diagnosis.is_inconclusive


class TestKeys:
    """`users` with keys under a schema, and a store whose own keys carry an id that the registry has lost."""

    LOST_KEY = frame_id(77, b"\x02")

    @pytest.fixture
    def keyed(self, world: World, tmp_path: Path) -> World:
        world.registry.seed("users-value", W1)  # id 1
        world.registry.seed("keys-of-somebody", R)  # id 2
        world.live((frame_id(1, b"\x02"), frame_id(1, b"\x02")), (frame_id(1, b"\x04"), frame_id(1, b"\x02")))
        folder = write_application(tmp_path / "state", "shop")
        rows = {frame_id(1, b"\x02"): frame_id(1, b"\x02"), self.LOST_KEY: frame_id(1, b"\x02")}
        write_task(folder, "0_0", damage.STORE, rows, checkpoint={(damage.SOURCE_TOPIC, 0): 1})
        world.hand_over(folder)
        return world

    def of_keys(self, world: World) -> dict[str, list[int]]:
        return {
            finding.code: [fault.schema_id for fault in finding.schema_ids]
            for finding in world.examine(streams_version="2.6.3").diagnosis.findings
            if finding.role is Role.KEY
        }

    def test_that_are_certain_tell(self, keyed: World) -> None:
        keyed.registry.seed("shop-users-store-changelog-key", W1)
        assert self.of_keys(keyed)["SRF014"] == [77]

    def test_that_are_only_taken_for_keys_of_a_registry_do_not(self, keyed: World) -> None:
        assert set(self.of_keys(keyed)) == {"SRF001", "SRF017"}
