"""SRF012: what stands in the way of a repair, and what an interrupted one left, one note per role."""

from __future__ import annotations

import pytest

from srfix.recovery.findings import Severity
from srfix.serde.subjects.names import Role
from tests.recovery.staging import PHANTOM, W1, W2
from tests.recovery.world import V1, V2, World, put, world_of


def set_mode(url: str, mode: str, subject: str | None = None) -> None:
    put(url, f"mode/{subject}?force=true" if subject else "mode?force=true", {"mode": mode})


@pytest.fixture
def incident(world: World) -> World:
    """Both ids are live, and neither is under the phantom subject."""
    world.live(("a", V1), ("b", V2))
    return world


@pytest.fixture
def masked(world: World) -> World:
    """Nothing is wrong: the one live id is under the phantom subject."""
    world.registry.seed(PHANTOM, W1)
    world.live(("a", V1))
    return world


class TestRefusals:
    def test_a_reason_is_said_once_with_all_ids_that_it_concerns(self, incident: World) -> None:
        set_mode(incident.registry.url, "READONLY", PHANTOM)
        note = incident.findings()["SRF012"]
        assert f"refuse the repair of {PHANTOM}: schema ids 1 and 2:" in note.explanation
        assert "mode is READONLY (42205)" in note.explanation
        assert [fault.schema_id for fault in note.schema_ids] == [1, 2]

    def test_what_is_overcome_takes_nobody(self, incident: World) -> None:
        note = incident.findings()["SRF012"]
        assert note.repairable
        assert note.explanation.count("not BACKWARD compatible") in (1, 2)  # as many as the registry's reasons
        assert "srfix plan sets the compatibility" in note.next
        assert "interrupted" not in note.explanation


class TestTraces:
    def test_a_level_that_was_left_at_none_is_noted_though_nothing_else_is_wrong(self, masked: World) -> None:
        masked.client().set_config(PHANTOM, {"compatibility": "NONE"})
        examination = masked.examine()
        notes = {finding.code: finding for finding in examination.diagnosis.findings}
        assert set(notes) == {"SRF003", "SRF012"}
        note = notes["SRF012"]
        assert (note.severity, note.repairable, note.schema_ids) == (Severity.NOTE, False, ())
        assert f"A repair of {PHANTOM} may have been interrupted" in note.explanation
        for piece in ("PLAN.journal.jsonl", "Do not make a new plan first", f"DELETE /config/{PHANTOM}"):
            assert piece in note.next
        assert not examination.diagnosis.has_findings
        assert not examination.diagnosis.is_inconclusive

    def test_import_refuses_the_applications_own_registrations_and_both_are_put_back(self, masked: World) -> None:
        masked.client().set_config(PHANTOM, {"compatibility": "NONE"})
        set_mode(masked.registry.url, "IMPORT", PHANTOM)
        note = masked.findings()["SRF012"]
        assert "the subject's own compatibility is NONE" in note.explanation
        assert "the subject's own mode is IMPORT, so the registry refuses the application's own" in note.explanation
        assert f"DELETE /config/{PHANTOM}" in note.next
        assert f"DELETE /mode/{PHANTOM}" in note.next

    @pytest.mark.parametrize("level", ["BACKWARD", "FULL_TRANSITIVE"])
    def test_another_own_level_is_no_trace(self, masked: World, level: str) -> None:
        masked.client().set_config(PHANTOM, {"compatibility": level})
        assert set(masked.findings()) == {"SRF003"}

    def test_what_is_inherited_is_no_trace(self, masked: World) -> None:
        put(masked.registry.url, "config", {"compatibility": "NONE"})
        set_mode(masked.registry.url, "IMPORT")
        assert set(masked.findings()) == {"SRF003"}

    def test_in_the_midst_of_the_incident_it_is_one_note_with_the_refusal(self, incident: World) -> None:
        set_mode(incident.registry.url, "IMPORT", PHANTOM)
        found = incident.findings()
        assert set(found) == {"SRF001", "SRF012"}
        note = found["SRF012"]
        assert "schema ids 1 and 2: the subject's mode is IMPORT (42205)." in note.explanation
        assert "may have been interrupted: the subject's own mode is IMPORT" in note.explanation
        assert [fault.schema_id for fault in note.schema_ids] == [1, 2]
        assert "remove the cause of the refusal" not in note.next

    def test_of_a_store_whose_source_is_not_decided_too(self) -> None:
        with world_of({"users": 1, "buyers": 1}) as world:
            for topic in ("users", "buyers"):
                world.registry.seed(f"{topic}-value", W1)
                world.registry.seed(f"{topic}-value", W2)
                world.put(topic, ("a", V1))
            world.registry.seed(PHANTOM, W1)
            world.client().set_config(PHANTOM, {"compatibility": "NONE"})
            world.commit("shop", users=1, buyers=1)
            note = world.findings()["SRF012"]
            assert (note.source, note.role) == (None, Role.VALUE)
            assert "may have been interrupted" in note.explanation
