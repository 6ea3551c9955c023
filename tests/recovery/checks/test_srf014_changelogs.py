"""SRF014: ids in the records of a changelog topic that exists and that the registry has lost; and what only looks like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.damage import changelog_ids_lost_by_the_registry as damage
from parts.state_directory import write_application, write_database, write_task
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.recovery import Diagnosis, Reader, Severity
from srfix.recovery.diagnosis import applications
from srfix.recovery.findings import Skipped
from srfix.recovery.state.formats.windows import WINDOWS, StoredWindow
from srfix.serde import Role
from srfix.serde.wire import frame_id
from tests.recovery.staging import W1
from tests.recovery.world import World, world_fixture, world_of

BY_NAME = {
    "KTABLE-SUPPRESS-STATE-STORE-0000000003": "a suppression's buffer",
    "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010": "a foreign-key join's subscriptions",
    "KSTREAM-OUTERSHARED-0000000005-store": "a join's list store",
    "by-country-subscription-store": "a named foreign-key join's subscriptions",
    "clicks-this-join-store": "a named join's window",
}


world = world_fixture(damage.TOPICS)


def look(world: World, *, whole: bool = False, application: str | None = None) -> Diagnosis:
    return world.examine(whole_changelogs=whole, application=application).diagnosis


def of_changelogs(diagnosis: Diagnosis) -> list[Skipped]:
    return [skipped for skipped in diagnosis.skipped if "changelog topic" in skipped.what]


class TestLostInChangelog:
    @pytest.mark.parametrize("whole", [False, True])
    def test_it_is_the_only_finding(self, world: World, whole: bool) -> None:
        staged = damage.stage(world.broker, world.client())
        diagnosis = look(world, whole=whole)
        (finding,) = diagnosis.findings
        assert (finding.code, finding.severity, finding.repairable) == ("SRF014", Severity.BROKEN, False)
        assert (finding.application, finding.store, finding.role) == (damage.APPLICATION, damage.STORE, Role.VALUE)
        assert finding.subject == staged.subject
        assert finding.registered_ids == (staged.kept_id,)
        (fault,) = finding.schema_ids
        assert (fault.schema_id, fault.live_keys, fault.records) == (staged.lost_id, 3, 4)
        assert "schema id 1 (3 live keys: 1 in partition 0, 2 in partition 1)." in finding.explanation
        assert "There is no subject" not in finding.explanation
        assert "in mode IMPORT" in finding.next
        assert of_changelogs(diagnosis) == []

    def test_no_plan_repairs_it_and_says_so(self, world: World) -> None:
        damage.stage(world.broker, world.client())
        plan = world.plan()
        assert plan.actions == ()
        assert ["is broken (SRF014), and this plan does not repair that" in each.reason for each in plan.omissions] == [
            True
        ]

    def test_an_id_that_only_another_subject_holds_is_no_clean_bill_of_health(self, world: World) -> None:
        staged = damage.stage(world.broker, world.client(), is_lost=False)
        assert not look(world).is_inconclusive
        world.registry.seed("elsewhere-value", world.client().version(staged.subject, 1, deleted=True).schema.text)
        world.client().delete_version(staged.subject, 1, permanent=True)
        diagnosis = look(world)
        assert (diagnosis.findings, diagnosis.is_inconclusive) == ((), True)
        (skipped,) = [each for each in diagnosis.skipped if each.could_hide]
        assert f"`srfix check {damage.CHANGELOG} --reader connect`" in skipped.reason
        assert not world.examine(reader=Reader.PLAIN).diagnosis.is_inconclusive

    def test_an_id_that_only_another_subject_holds_breaks_a_reader_that_looks_versions_up(self, world: World) -> None:
        staged = damage.stage(world.broker, world.client(), is_lost=False)
        world.registry.seed("elsewhere-value", world.client().version(staged.subject, 1, deleted=True).schema.text)
        world.client().delete_version(staged.subject, 1, permanent=True)
        diagnosis = world.examine(reader=Reader.CONNECT).diagnosis
        (finding,) = diagnosis.findings
        assert (finding.code, finding.severity, finding.repairable) == ("SRF020", Severity.BROKEN, False)
        assert (finding.application, finding.store, finding.subject) == (
            damage.APPLICATION,
            damage.STORE,
            staged.subject,
        )
        assert [fault.schema_id for fault in finding.schema_ids] == [staged.lost_id]
        assert f"`srfix check {damage.CHANGELOG} --reader connect`" in finding.next
        assert not [each for each in diagnosis.skipped if each.could_hide]
        (omission,) = world.plan(reader=Reader.CONNECT).omissions
        assert "is broken (SRF020), and this plan does not repair that" in omission.reason

    def test_without_a_living_application_it_is_not_looked_at_whatever_the_reader(self) -> None:
        topic = "shop-users-store-changelog"
        with world_of({topic: 1}) as world:
            for subject, schema in ((f"{topic}-value", W1), ("elsewhere-value", W1.replace("User", "Other"))):
                world.registry.seed(subject, schema)
            world.put(topic, ("ann", frame_id(2, b"\x02")))
            diagnosis = world.examine(reader=Reader.CONNECT).diagnosis
            assert (diagnosis.findings, diagnosis.is_inconclusive) == ((), True)
            assert [skipped.what for skipped in diagnosis.skipped if skipped.could_hide] == [f"readers of {topic}"]
            assert of_changelogs(diagnosis) == []

    def test_an_id_that_a_later_record_has_superseded_breaks_no_reader(self, world: World) -> None:
        staged = damage.stage(world.broker, world.client(), is_lost=False)
        world.registry.seed("elsewhere-value", world.client().version(staged.subject, 1, deleted=True).schema.text)
        world.client().delete_version(staged.subject, 1, permanent=True)
        new = frame_id(staged.kept_id, b"\x02\x02")
        world.put(damage.CHANGELOG, ("ann", new))
        world.put(damage.CHANGELOG, ("eve", new), ("joe", None), partition=1)
        diagnosis = world.examine(reader=Reader.CONNECT).diagnosis
        assert (diagnosis.findings, diagnosis.is_inconclusive) == ((), False)

    def test_a_subject_that_this_user_may_not_read_does_not_end_the_diagnosis(self, world: World) -> None:
        staged = damage.stage(world.broker, world.client(), is_lost=False)
        refusal = Answer(status=403, body='{"error_code":40301,"message":"User is denied operation Read"}')
        with world.registry.intercept(Fault(path=f"/subjects/{staged.subject}", action=refusal)):
            (skipped,) = [each for each in look(world).skipped if each.could_hide]
        assert skipped.what == f"readers of {damage.CHANGELOG}"
        assert "may not read the changelog's own subject" in skipped.reason

    def test_its_healthy_twin_is_peeked_at_and_that_is_said_in_one_line(self, world: World) -> None:
        damage.stage(world.broker, world.client(), is_lost=False)
        diagnosis = look(world)
        assert diagnosis.findings == ()
        assert not diagnosis.is_inconclusive
        (skipped,) = of_changelogs(diagnosis)
        assert (skipped.what, skipped.could_hide) == ("records of 1 changelog topic", False)
        assert "in 1 topic srfix looked only at the first and newest records; `srfix diagnose --ch" in skipped.reason
        whole = look(world, whole=True)
        assert (whole.findings, of_changelogs(whole)) == ((), [])

    def test_an_id_that_a_later_record_has_superseded_is_none(self, world: World) -> None:
        staged = damage.stage(world.broker, world.client())
        new = frame_id(staged.kept_id, b"\x02\x02")
        world.put(damage.CHANGELOG, ("ann", new))
        world.put(damage.CHANGELOG, ("eve", new), ("joe", None), partition=1)
        assert look(world).findings == ()

    def test_one_in_the_middle_is_found_by_a_census_alone(self, world: World) -> None:
        client = world.client()
        staged = damage.stage(world.broker, client, is_lost=False)
        world.put(damage.CHANGELOG, ("old", frame_id(99, b"\x02")))
        world.put(damage.CHANGELOG, *((f"k{n}", frame_id(staged.kept_id, b"\x02\x02")) for n in range(9)))
        assert look(world).findings == ()
        (finding,) = look(world, whole=True).findings
        assert [fault.schema_id for fault in finding.schema_ids] == [99]

    @pytest.mark.parametrize("is_segmented", [False, True])
    def test_one_in_the_middle_is_found_by_the_rows_on_disk_too(
        self, world: World, tmp_path: Path, is_segmented: bool
    ) -> None:
        staged = damage.stage(world.broker, world.client(), is_lost=False)
        lost, kept = frame_id(99, b"\x02"), frame_id(staged.kept_id, b"\x02\x02")
        world.put(damage.CHANGELOG, ("old", lost))
        world.put(damage.CHANGELOG, *((f"k{n}", kept) for n in range(9)))
        made = write_application(tmp_path, damage.APPLICATION)
        if is_segmented:
            rows = {WINDOWS.encode(key, StoredWindow(60_000)): value for key, value in ((b"old", lost), (b"k1", kept))}
            write_database(made / f"0_0/{damage.STORE}/{damage.STORE}.60000", {"default": rows})
        else:
            write_task(made, "0_0", damage.STORE, {b"old": lost, b"k1": kept}, checkpoint={(damage.CHANGELOG, 0): 20})
        world.hand_over(made)
        (finding,) = look(world).findings
        assert (finding.code, [fault.schema_id for fault in finding.schema_ids]) == ("SRF014", [99])

    def test_the_application_is_the_longest_living_one(self) -> None:
        topic = "shop-users-store-changelog"
        with world_of({"users": 1, topic: 1}) as world:
            world.registry.seed(f"{topic}-value", W1)
            world.put(topic, ("ann", frame_id(99, b"\x02")))
            world.commit("shop-users", users=0)
            world.commit("shop", users=0)
            (finding,) = look(world).findings
            assert (finding.application, finding.store) == ("shop-users", "store")
            assert finding.other_splits == ("shop/users-store",)
            assert look(world, application="shop").findings == ()
            assert len(look(world, application="shop-users").findings) == 1

    def test_who_has_committed_offsets_of_it_reads_it_and_is_not_its_application(self) -> None:
        topic = "shop-users-changelog"
        with world_of({topic: 1}) as world:
            world.registry.seed(f"{topic}-value", W1)
            world.put(topic, ("ann", frame_id(99, b"\x02")))
            world.commit("shop", **{topic: 1})
            diagnosis = look(world)
            assert diagnosis.findings == ()
            assert "no living application with such a name" in of_changelogs(diagnosis)[0].reason

    def test_a_group_without_a_sign_of_kafka_streams_is_not_its_application(self) -> None:
        """Seen wrong: a database's topic was the changelog of a consumer group, which is named like the database."""
        topic = "inventory-db-changelog"
        with world_of({"users": 1, topic: 1}) as world:
            world.registry.seed(f"{topic}-value", W1)
            world.put(topic, ("ann", frame_id(99, b"\x02")))
            world.consume("inventory", users=0)
            diagnosis = look(world)
            assert diagnosis.findings == ()
            assert "no living application with such a name" in of_changelogs(diagnosis)[0].reason

    def test_without_an_application_it_is_said_and_no_finding(self) -> None:
        topic = "my-orders-changelog"
        with world_of({topic: 1}) as other:
            other.registry.seed(f"{topic}-value", W1)
            other.put(topic, ("ann", frame_id(99, b"\x02")))
            diagnosis = look(other)
        assert diagnosis.findings == ()
        (skipped,) = of_changelogs(diagnosis)
        assert (
            "some ids in my-orders-changelog, but srfix found no living application with such a name" in skipped.reason
        )

    def test_those_beyond_the_first_are_left_out_and_counted(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(applications, "_MOST", 0)
        damage.stage(world.broker, world.client())
        diagnosis = look(world)
        assert diagnosis.findings == ()
        (skipped,) = of_changelogs(diagnosis)
        assert skipped.reason.endswith(": srfix looked only at the first 0 topics by name, and left out 1")

    def test_one_whose_context_knows_the_id_is_healthy(self) -> None:
        with world_of(damage.TOPICS) as world:
            for number in range(3):
                world.registry.seed(f":.eu:other{number}-value", W1.replace("User", f"User{number}"))
            known = world.registry.seed(f":.eu:{damage.CHANGELOG}-value", W1)
            world.commit(damage.APPLICATION, orders=0)
            world.put(damage.CHANGELOG, ("ann", frame_id(known, b"\x02")))
            assert look(world).findings == ()
            world.put(damage.CHANGELOG, ("bob", frame_id(known + 7, b"\x02")))
            (finding,) = look(world).findings
            assert finding.subject == f":.eu:{damage.CHANGELOG}-value"


class TestKeys:
    @pytest.mark.parametrize("has_subject", [True, False])
    def test_they_are_looked_at_under_their_subject_alone(self, world: World, has_subject: bool) -> None:
        known = world.registry.seed(f"{damage.CHANGELOG}-value", W1)
        if has_subject:
            world.registry.seed(f"{damage.CHANGELOG}-key", W1)
        world.commit(damage.APPLICATION, orders=0)
        world.put(damage.CHANGELOG, *((frame_id(77, bytes([n])), frame_id(known, b"\x02")) for n in (2, 4, 6, 8)))
        found = [(finding.role, finding.subject) for finding in look(world, whole=True).findings]
        assert found == ([(Role.KEY, f"{damage.CHANGELOG}-key")] if has_subject else [])


class TestLookAlikes:
    def found(self, world: World, values: list[bytes], *, topic: str = damage.CHANGELOG, **headers: bytes) -> list[str]:
        world.commit(damage.APPLICATION, orders=0)
        world.broker.produce(
            ProducedRecord(topic=topic, partition=0, key=b"k%d" % n, value=value, headers=tuple(headers.items()))
            for n, value in enumerate(values)
        )
        return [finding.code for finding in look(world, whole=True).findings]

    def test_values_framed_under_few_lost_ids_are_found_without_a_subject(self, world: World) -> None:
        assert self.found(world, [frame_id(77, b"\x02")] * 3) == ["SRF014"]
        (finding,) = look(world).findings
        assert "There is no subject shop-totals-changelog-value. Only the bytes suggest" in finding.explanation

    @pytest.mark.parametrize(
        "values",
        [
            pytest.param([frame_id(77, b"\x02")] * 2, id="too few values"),
            pytest.param([(0x4D_0000_0000 + n).to_bytes(8, "big") for n in (1, 2, 3)], id="longs"),
            pytest.param(
                [(1_592_265_600_000 + n).to_bytes(8, "big") + b"row" for n in range(4)], id="timestamps first"
            ),
            pytest.param(
                [b"\x00\x01" + bytes([n, 2 * n, 3 * n]) + bytes(13) for n in range(1, 7)],
                id="subscriptions, whatever the store's name",
            ),
            pytest.param([*[frame_id(77, b"\x02")] * 4, b"text"], id="some values not framed"),
        ],
    )
    def test_are_none(self, world: World, values: list[bytes]) -> None:
        assert self.found(world, values) == []

    def test_a_suppression_s_buffer_is_told_by_its_header_even_beside_a_subject(self, world: World) -> None:
        world.registry.seed(f"{damage.CHANGELOG}-value", W1)
        assert self.found(world, [frame_id(77, b"\x02")] * 4, v=b"\x03") == []

    @pytest.mark.parametrize("store", BY_NAME, ids=BY_NAME.values())
    def test_stores_of_streams_own_formats_are_none_by_their_names(self, store: str) -> None:
        topic = f"shop-{store}-changelog"
        with world_of({"orders": 1, topic: 1}) as world:
            world.registry.seed(f"{topic}-value", W1)
            assert self.found(world, [frame_id(77, b"\x02")] * 4, topic=topic) == []
