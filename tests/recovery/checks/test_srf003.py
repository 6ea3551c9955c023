"""SRF003, masked: everything that a restore loads is registered, by luck or by a repair."""

from __future__ import annotations

from srfix.recovery.findings import Severity
from tests.recovery.staging import PHANTOM, W1, W2
from tests.recovery.world import V1, V2, World, value


class TestCheck:
    def test_the_same_schema_under_the_phantom_is_a_note(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", V1))
        examination = world.examine()
        (note,) = examination.diagnosis.findings
        assert (note.code, note.severity, note.repairable) == ("SRF003", Severity.NOTE, False)
        assert note.registered_ids == (1, 3)
        assert [fault.schema_id for fault in note.schema_ids] == [1]
        assert "until the topic gets a record with a new schema of users-value" in note.explanation
        assert not examination.diagnosis.has_findings
        assert not examination.diagnosis.is_inconclusive

    def test_a_pending_id_that_is_missing_ends_it(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.put("users", ("a", V1), ("a", V2))
        world.commit("shop", users=1)
        findings = world.findings()
        assert "SRF003" not in findings
        assert [fault.schema_id for fault in findings["SRF001"].schema_ids] == [2]

    def test_a_missing_id_that_is_superseded_does_not(self, world: World) -> None:
        world.registry.seed(PHANTOM, W2)
        world.live(("a", V1), ("a", V2))
        assert set(world.findings()) == {"SRF003"}

    def test_an_unknown_id_is_not_masked(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.live(("a", V1), ("b", value(99)))
        assert set(world.findings()) == {"SRF011"}

    def test_an_alias_that_answers_is_named_with_what_ends_it(self, world: World) -> None:
        world.client().set_config(PHANTOM, {"alias": "users-value"})
        world.live(("a", V1), ("b", V2))
        note = world.findings()["SRF003"]
        assert "answered through an alias of users-value" in note.explanation
        assert "this ends when the alias is removed" in note.explanation

    def test_another_context_that_answers_is_named_beside_what_is_registered(self, world: World) -> None:
        world.registry.seed(PHANTOM, W2)
        world.registry.seed(f":.backup:{PHANTOM}", W1)
        world.live(("a", V1), ("b", V2))
        note = world.findings()["SRF003"]
        assert f"1 is answered from another context (:.backup:{PHANTOM})" in note.explanation
        assert "this ends when the versions in .backup are deleted" in note.explanation
