"""SRF013: live values that are not framed."""

from __future__ import annotations

from srfix.recovery.findings import Severity
from tests.recovery.staging import PHANTOM, W1
from tests.recovery.world import World, value


class TestCheck:
    def test_live_ones_are_counted_and_no_registration_repairs_them(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.put("users", ("a", value(1)), ("b", b"{}"), ("c", b"{}"))
        world.commit("shop", users=3)
        finding = world.findings()["SRF013"]
        assert (finding.severity, finding.repairable, finding.subject) == (Severity.BROKEN, False, PHANTOM)
        assert finding.explanation.startswith(
            "2 live key(s) of topic users have a value that no schema registry serializer framed: 2 in partition 0 "
            "(from offset 1 on)."
        )
        assert world.plan().actions == ()

    def test_superseded_and_pending_ones_are_skipped_not_found(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.put("users", ("a", b"{}"), ("a", value(1)), ("b", b"{}"))
        world.commit("shop", users=2)
        diagnosis = world.examine().diagnosis
        assert [finding.code for finding in diagnosis.findings] == ["SRF003"]
        assert diagnosis.is_inconclusive


class TestIdZero:
    def test_small_bigint_keys_are_not_taken_for_framed_ones(self, world: World) -> None:
        world.put("users", ((5).to_bytes(8, "big"), value(1)))
        world.commit("tills", users=1)
        found = world.examine(application="tills", store="users-store").diagnosis.findings
        assert [(finding.code, finding.role.value) for finding in found] == [("SRF001", "value")]
