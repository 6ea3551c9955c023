"""SRF013: live rows that are not framed, or whose body does not decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery import Census, CensusRequest, CheckContext, Examination, Finding, Severity
from srfix.recovery.checks.srf013 import check
from srfix.recovery.facts.bodies import newest_bodies, newest_live
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Evidence, Weight
from srfix.serde import Role, Topic
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2
from tests.recovery.world import ONE_LONG_AND_NULL, World, value, world_of
from tests.without_protobuf import without_protobuf

CUT_OFF = b"\x80"
"""A long whose second byte is missing."""
TOO_LONG = b"\x02\x00"
"""One long, and a byte more."""


class TestUnframed:
    def test_live_ones_are_counted_and_no_registration_repairs_them(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", value(1)), ("b", b"{}"), ("c", b"{}"))
        finding = world.findings()["SRF013"]
        assert (finding.severity, finding.repairable, finding.subject) == (Severity.BROKEN, False, PHANTOM)
        assert "2 live keys of topic users have a value" in finding.explanation
        assert "2 in partition 0 (from offset 1 on)" in finding.explanation
        assert "`srfix decode --partition 0 --from-offset 1 --max-records 1 users`" in finding.next
        assert world.plan().actions == ()

    def test_superseded_and_pending_ones_are_skipped_not_found(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.put("users", ("a", b"{}"), ("a", value(1)), ("b", b"{}"))
        world.commit("shop", users=2)
        diagnosis = world.examine().diagnosis
        assert [finding.code for finding in diagnosis.findings] == ["SRF003"]
        assert diagnosis.is_inconclusive


def decoded(world: World, *, whole: bool = True, deadline_s: float | None = None) -> Examination:
    return world.examine(decode_values=whole, deadline_s=deadline_s)


def found(examination: Examination) -> Finding:
    (finding,) = [finding for finding in examination.diagnosis.findings if finding.code == "SRF013"]
    return finding


def codes(examination: Examination) -> list[str]:
    return [finding.code for finding in examination.diagnosis.findings]


class TestTheNewestOfEachIdAndPartition:
    @pytest.mark.parametrize(
        ("body", "severity", "reason"),
        [
            (CUT_OFF, Severity.BROKEN, "The body ends at byte 1, inside userId"),
            (b"", Severity.BROKEN, "The body ends at byte 0, inside userId"),
            (TOO_LONG, Severity.SILENT, "1 of the body's"),
        ],
    )
    def test_offset_and_reason_are_named(self, world: World, body: bytes, severity: Severity, reason: str) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", value(1)), ("b", value(1, body)))
        finding = found(world.examine())
        assert (finding.severity, finding.repairable, finding.role) == (severity, False, Role.VALUE)
        assert f"1 in partition 0, schema id 1, offset 1 ({reason}" in finding.explanation
        assert "1 of 2 live keys, so there may be more" in finding.explanation
        assert "`srfix decode --partition 0 --from-offset 1 --max-records 1 users`" in finding.next
        (fault,) = finding.schema_ids
        assert (fault.schema_id, fault.live_keys, fault.is_partial) == (1, 1, True)
        assert (fault.partitions[0].first_offset, fault.partitions[0].last_offset) == (1, 1)
        assert world.plan().actions == ()

    @pytest.mark.parametrize("damaged", [1, 2])
    def test_java_reads_what_is_only_too_long(self, world: World, damaged: int) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM, W2)
        world.live(("a", value(1, TOO_LONG)))
        assert "so it reads these records without an error" in found(world.examine()).explanation
        world.put("users", ("b", value(damaged, CUT_OFF)))
        world.commit("shop", users=2)
        assert "the first read of the row fails" in found(decoded(world)).explanation
        assert found(decoded(world)).severity is Severity.BROKEN

    def test_what_was_not_decoded_is_said_and_not_called_proven(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", value(1, CUT_OFF)), ("b", value(1)))
        examination = world.examine()
        assert codes(examination) == ["SRF003"]
        (skipped,) = [skipped for skipped in examination.diagnosis.skipped if skipped.what.startswith("bodies of")]
        assert (skipped.what, skipped.could_hide) == ("bodies of the values of topic users", False)
        assert "(1 of 2); --decode-values decodes all" in skipped.reason
        assert codes(decoded(world)) == ["SRF013", "SRF003"]

    def test_nothing_is_said_where_the_newest_are_all_there_are(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM, W2)
        world.live(("a", value(1)), ("b", value(2, ONE_LONG_AND_NULL)), ("c", value(9)))
        examination = world.examine()
        assert codes(examination) == ["SRF011"]
        assert not [skipped for skipped in examination.diagnosis.skipped if "bodies" in skipped.what]

    def test_superseded_and_pending_ones_are_no_finding(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        bad = value(1, CUT_OFF)
        world.put("users", ("a", bad), ("a", value(1)), ("b", bad), ("b", None), ("c", bad))
        world.commit("shop", users=4)
        assert codes(world.examine()) == codes(decoded(world)) == ["SRF003"]

    def test_a_schema_without_a_serde_is_left_out_not_judged(self, world: World) -> None:
        of_protobuf = world.registry.seed(PHANTOM, 'syntax = "proto3"; message M {}', schema_type="PROTOBUF")
        world.live(("a", value(of_protobuf, b"{}")))
        for whole in (False, True):
            with without_protobuf():
                examination = decoded(world, whole=whole)
            assert "SRF013" not in codes(examination)
            (skipped,) = [skipped for skipped in examination.diagnosis.skipped if "bodies" in skipped.what][-1:]
            assert f"not decoded: schema id {of_protobuf}" in skipped.reason
            assert "type PROTOBUF" in skipped.reason
            assert skipped.could_hide is whole

    @pytest.mark.parametrize(("body", "is_found"), [(b"{}", False), (b'{"a":', True)])
    def test_json_under_a_json_schema_is_judged_too(self, world: World, body: bytes, is_found: bool) -> None:
        of_json = world.registry.seed(PHANTOM, '{"type":"object"}', schema_type="JSON")
        world.live(("a", value(of_json, body)))
        for whole in (False, True):
            assert ("SRF013" in codes(decoded(world, whole=whole))) is is_found

    def test_values_of_the_schema_bytes_are_any_bytes(self, world: World) -> None:
        """Java's serializer writes a byte array under it as it is, without its length."""
        of_bytes = world.registry.seed(PHANTOM, '"bytes"')
        world.live(("a", value(of_bytes, b"\x07\x08")))
        assert "SRF013" not in codes(decoded(world))

    def test_keys_that_carry_ids_are_decoded_too(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM.replace("-value", "-key"), W1)
        world.live((value(1, CUT_OFF), value(1)))
        finding = found(world.examine())
        assert (finding.role, finding.severity) == (Role.KEY, Severity.BROKEN)
        assert finding.source is not None
        assert finding.source.subject == "users-key"
        assert "--max-records 1 --role key users`" in finding.next
        assert "under keys that decode" in finding.next


class TestAdviceThatDeletesRows:
    """Only where bodies were decoded and do not fit, in a role and from a topic of which nothing is in doubt."""

    @pytest.fixture
    def facts(self, world: World) -> StoreFacts:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", value(1, CUT_OFF)))
        (learned,) = world.examine().facts
        return learned

    def next_of(self, world: World, facts: StoreFacts) -> str:
        (finding,) = check(facts, CheckContext(registry=world.client()))
        return finding.next

    def test_it_is_given_with_proof(self, world: World, facts: StoreFacts) -> None:
        assert "(or a tombstone, if the row is not wanted)" in self.next_of(world, facts)

    @pytest.mark.parametrize(
        ("kind", "weight", "against", "is_given"),
        [
            ("topology", Weight.CONCLUSIVE, False, True),
            ("topology", Weight.CONCLUSIVE, True, False),
            ("store-name", Weight.STRONG, False, False),
            ("store-name", Weight.WEAK, False, False),
            ("committed-offsets", Weight.STRONG, False, False),
        ],
    )
    def test_the_source_must_be_certain(
        self, world: World, facts: StoreFacts, kind: str, weight: Weight, against: bool, is_given: bool
    ) -> None:
        piece = Evidence(kind=kind, topic=Topic("users"), weight=weight, detail="seen", against=against)
        said = self.next_of(world, replace(facts, evidence=(piece,)))
        assert ("tombstone" in said) is is_given
        assert ("Change nothing in topic users yet." in said) is not is_given

    def test_the_phantom_subject_must_stand(self, world: World, facts: StoreFacts) -> None:
        role = facts.roles[Role.VALUE]
        absent = replace(role, state=replace(role.state, versions=()))
        said = self.next_of(world, replace(facts, roles={Role.VALUE: absent}))
        assert "tombstone" not in said
        assert "which serializer writes its values" in said

    def test_rows_that_are_not_framed_are_kept_apart(self, world: World, facts: StoreFacts) -> None:
        world.put("users", ("b", b"{}"))
        world.commit("shop", users=2)
        said = found(world.examine()).next
        assert "which serializer writes its values. Only if the records are damaged: write the same keys again" in said


class TestAllOfThem:
    def test_keys_are_counted_per_partition_and_id(self) -> None:
        with world_of({"users": 2}) as world:
            world.registry.seed(SOURCE_SUBJECT, W1)
            world.registry.seed(PHANTOM, W1)
            bad = value(1, CUT_OFF)
            world.put("users", ("a", bad), ("b", value(1)), ("c", bad), ("d", bad), partition=0)
            world.put("users", ("e", value(1)), ("e", bad), (None, bad), partition=1)
            world.broker.commit("shop", {("users", 0): 4, ("users", 1): 3})
            finding = found(decoded(world))
            assert finding.explanation.startswith("4 live keys of topic users have")
            assert "3 in partition 0, schema id 1, offsets 0 to 3 (" in finding.explanation
            assert "1 in partition 1, schema id 1, offset 1 (" in finding.explanation
            assert "so there may be more" not in finding.explanation
            (fault,) = finding.schema_ids
            assert (fault.live_keys, fault.is_partial) == (4, False)
            assert [place.live_keys for place in fault.partitions] == [3, 1]

    def test_a_deadline_stops_it_and_hides_a_finding(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", value(1)), ("b", value(1)))
        diagnosis = decoded(world, deadline_s=1e-6).diagnosis
        assert diagnosis.is_inconclusive
        (reason,) = (each.reason for each in diagnosis.skipped if "bodies" in each.what and each.could_hide)
        assert "partition 0, offsets 0 to 1: the deadline of 1e-06 s" in reason

    def test_a_value_beyond_a_bound_is_one_bad_row(self, world: World) -> None:
        """A decimal without columns: its conversion held everything up, the deadline included."""
        hostile = world.registry.seed(SOURCE_SUBJECT, _DECIMAL)
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM, _DECIMAL)
        world.live(("a", value(1)), ("b", value(hostile, b"\x80\x80\x06" + b"\x7f" * 49_152)))
        for whole in (False, True):
            explanation = found(decoded(world, whole=whole, deadline_s=60)).explanation
            assert "1 live key of topic users has a value whose body" in explanation
            assert "a decimal of 49,152 bytes; srfix converts at most 4,096" in explanation


_DECIMAL = (
    '{"type":"record","name":"R","fields":[{"name":"userId","type":'
    '{"type":"bytes","logicalType":"decimal","precision":120000,"scale":0}}]}'
)


@pytest.fixture(scope="class")
def wide() -> Iterator[World]:
    """64 partitions of eight ids, ids that no registry need know."""
    with world_of({"wide": 64}) as made:
        made.broker.produce(
            ProducedRecord(topic="wide", partition=partition, key=f"k{i}".encode(), value=value(i + 1))
            for partition in range(64)
            for i in range(8)
        )
        yield made


class TestNewestLive:
    @pytest.fixture
    def census(self, wide: World) -> Census:
        return wide.engine.count(CensusRequest(topic=Topic("wide"), partitions=tuple(range(64)), committed=None))

    def test_many_places_are_read_at_once(self, wide: World, census: Census) -> None:
        places, beyond = newest_live(wide.cluster, census, Role.VALUE)
        assert (len(places), beyond) == (512, 0)
        assert all(place.record is not None and place.record.offset == place.offset for place in places)

    def test_a_deadline_leaves_the_rest_unread_and_says_so(self, wide: World, census: Census) -> None:
        bodies = newest_bodies(wide.cluster, wide.survey().registry, census, (Role.VALUE,), deadline_s=0)[Role.VALUE]
        assert bodies.decoded == 0
        assert bodies.left_out[0].startswith("512 of 512 schema ids and partitions: the deadline of 0 s")

    def test_where_there_are_too_many_every_id_has_its_turn(self, wide: World, census: Census) -> None:
        places, beyond = newest_live(wide.cluster, census, Role.VALUE, most=8)
        assert ({place.count.schema_id for place in places}, beyond) == (set(range(1, 9)), 504)
