"""SRF011: ids that the registry does not know at all."""

from __future__ import annotations

from srfix.recovery.actions.actions import Register
from srfix.recovery.findings import Severity
from srfix.recovery.report.in_short import in_short
from tests.recovery.staging import SOURCE_SUBJECT
from tests.recovery.world import World, value


class TestCheck:
    def test_they_are_broken_and_no_registration_repairs_them(self, world: World) -> None:
        world.live(("a", value(99)))
        finding = world.findings()["SRF011"]
        assert (finding.severity, finding.repairable) == (Severity.BROKEN, False)
        assert finding.subject == SOURCE_SUBJECT
        assert [(fault.schema_id, fault.live_keys) for fault in finding.schema_ids] == [(99, 1)]
        assert set(world.findings()) == {"SRF011"}
        assert world.plan().actions == ()

    def test_beside_repairable_ids_only_those_are_planned(self, world: World) -> None:
        world.live(("a", value(1)), ("b", value(99)))
        findings = world.findings()
        assert set(findings) == {"SRF001", "SRF011", "SRF012"}
        assert [fault.schema_id for fault in findings["SRF001"].schema_ids] == [1]
        assert [fault.schema_id for fault in findings["SRF011"].schema_ids] == [99]
        assert {action.schema_id for action in world.plan().actions if isinstance(action, Register)} == {1, 2}

    def test_it_is_under_no_subject_and_says_nothing_of_rows_with_other_ids(self, world: World) -> None:
        world.live(("a", value(1)), ("b", value(99)))
        examination = world.examine()
        shown = {each.finding.code: each for each in in_short(examination, None).stores}
        [standing] = shown["SRF011"].ids
        assert (standing.under_source, standing.under_phantom) == (False, False)
        assert shown["SRF011"].finding.registered_ids == (1, 2)
        assert "SRF011" not in (shown["SRF001"].data or "")

    def test_one_that_is_superseded_is_none(self, world: World) -> None:
        world.live(("a", value(99)), ("a", value(1)))
        assert "SRF011" not in world.findings()

    def test_another_context_that_knows_its_number_is_named(self, world: World) -> None:
        numbers = [world.registry.seed(":.eu:others-value", text) for text in ('"long"', '"int"', '"bytes"', '"float"')]
        world.live(("a", value(numbers[-1])))
        finding = world.findings()["SRF011"]
        assert "know ids with these numbers (.eu: 4)" in finding.explanation
        assert "add the context to --registry, as in their address: /contexts/NAME" in finding.explanation
