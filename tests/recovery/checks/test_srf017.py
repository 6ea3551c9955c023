"""SRF017: ids that are not under the source topic's own subject."""

from __future__ import annotations

import pytest

from srfix.recovery import Finding, Reader, Severity
from srfix.serde import Role
from srfix.serde.wire import frame_id
from tests.recovery.staging import PHANTOM, PHANTOM_KEY, SOURCE_SUBJECT, W1
from tests.recovery.world import World, value

ELSEWHERE = '{"type":"record","name":"Elsewhere","fields":[{"name":"userId","type":"long"}]}'
"""What a producer with RecordNameStrategy registered under its record's name."""


@pytest.fixture
def elsewhere(world: World) -> int:
    """An id that a live record of `users` carries, and that stands under another subject alone."""
    schema_id = world.registry.seed("com.example.Elsewhere", ELSEWHERE)
    world.live(("a", value(1)), ("b", value(schema_id)))
    return schema_id


def found(world: World, **how: object) -> Finding:
    return world.findings(**how)["SRF017"]


class TestCheck:
    def test_they_break_on_an_upgrade(self, world: World, elsewhere: int) -> None:
        finding = found(world)
        assert (finding.severity, finding.role, finding.repairable) == (Severity.BREAKS_ON_UPGRADE, Role.VALUE, False)
        assert finding.subject == SOURCE_SUBJECT
        assert finding.registered_ids == (1, 2)
        assert [(fault.schema_id, fault.live_keys) for fault in finding.schema_ids] == [(elsewhere, 1)]
        assert "dual-subject fallback asks it second" in finding.explanation
        assert {fault.schema_id for fault in world.findings()["SRF001"].schema_ids} == {1, elsewhere}

    def test_a_repair_of_the_phantom_does_not_end_it(self, world: World, elsewhere: int) -> None:
        for text in (W1, ELSEWHERE):
            world.registry.seed(PHANTOM, text)
        assert set(world.findings()) == {"SRF003", "SRF017"}
        assert world.examine().diagnosis.has_findings

    @pytest.mark.parametrize("deleted", [False, True])
    def test_the_same_content_under_the_source_subject_ends_it_soft_deleted_or_not(
        self, world: World, elsewhere: int, deleted: bool
    ) -> None:
        """Readers ask for deleted versions too."""
        world.registry.seed(SOURCE_SUBJECT, ELSEWHERE, deleted=deleted)
        assert "SRF017" not in world.findings()

    def test_one_that_is_superseded_is_none(self, world: World, elsewhere: int) -> None:
        world.put("users", ("b", value(1)))
        world.commit("shop", users=3)
        assert "SRF017" not in world.findings()

    def test_a_pending_one_is(self, world: World, elsewhere: int) -> None:
        world.commit("shop", users=1)
        assert [(fault.schema_id, fault.live_keys) for fault in found(world).schema_ids] == [(elsewhere, 0)]

    def test_keys_are_asked_under_the_sources_key_subject(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        key_id = world.registry.seed(PHANTOM_KEY, ELSEWHERE)
        world.live((frame_id(key_id, b"\x02"), value(1)))
        (finding,) = [f for f in world.examine().diagnosis.findings if f.code == "SRF017"]
        assert (finding.role, finding.subject, finding.registered_ids) == (Role.KEY, "users-key", ())
        assert "(40401: there is no such subject)" in finding.explanation


class TestTheReader:
    @pytest.mark.parametrize(("reader", "severity"), [(Reader.CONNECT, Severity.BROKEN), (Reader.PLAIN, Severity.NOTE)])
    def test_on_streams_with_the_fix_it_is_broken_now(
        self, world: World, elsewhere: int, reader: Reader, severity: Severity
    ) -> None:
        finding = found(world, streams_version="2.7.0", reader=reader)
        assert finding.severity is severity
        assert ("This version of Kafka Streams asks that subject" in finding.explanation) is (reader is Reader.CONNECT)

    def test_a_dual_reader_fails_where_neither_subject_has_them(self, world: World, elsewhere: int) -> None:
        finding = found(world, reader=Reader.DUAL)
        assert finding.severity is Severity.BROKEN
        assert finding.explanation.endswith(
            f"asks {PHANTOM} and {SOURCE_SUBJECT}, and neither subject has all of these ids."
        )

    def test_a_dual_reader_reads_what_the_phantom_has(self, world: World, elsewhere: int) -> None:
        world.registry.seed(PHANTOM, ELSEWHERE)
        assert found(world, reader=Reader.DUAL).severity is Severity.NOTE
