"""The diagnosis over generated worlds: no false finding, none missed, no crash; and what a repair leaves behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from srfix.fixtures.registry import FixtureRegistry
from srfix.recovery.apply import apply_plan
from srfix.recovery.diagnosis import Examination
from srfix.recovery.findings import Diagnosis, Finding, IdAtFault, Severity
from srfix.recovery.plan import make_plan
from srfix.recovery.rollback import roll_back
from srfix.recovery.survey import Survey
from srfix.serde.errors import PlanError, UsageError
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import IncompatibleSchemaError, OperationNotPermittedError
from srfix.serde.subjects import Role
from tests.recovery.worlds.generated import broken_worlds, worlds
from tests.recovery.worlds.model import Expected, ExpectedFinding, Refused, expect
from tests.recovery.worlds.schemas import LOST
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import World

MODELLED = {"SRF001", "SRF003", "SRF004", "SRF011", "SRF013", "SRF017", "SRF018"}
"""The codes that the model speaks of. SRF012 is held against the registry itself."""
WORLDS = int(os.environ.get("SRFIX_WORLDS", "300"))
"""How many worlds are diagnosed; a soak takes as many as it has time for."""
EXAMPLES = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


class TestTheDiagnosis:
    @settings(EXAMPLES, max_examples=WORLDS)
    @given(world=worlds())
    def test_it_finds_what_the_model_finds_and_nothing_else(self, running: FixtureRegistry, world: World) -> None:
        note(repr(world))
        running.clear()
        staged = StagedWorld(world, running)
        with staged.client() as client:
            survey = staged.survey(client)
            try:
                expected = expect(world)
            except Refused as refused:
                event(f"refused: {refused}")
                with pytest.raises(UsageError):
                    staged.examine(survey)
                return
            examination = staged.examine(survey)
            diagnosis = examination.diagnosis
            _same_stores(diagnosis, expected)
            _same_findings(diagnosis, expected, staged)
            _same_health(diagnosis, expected)
            _same_reservations(diagnosis, expected)
            _told_apart(world, expected)
            if not any(finding.repairable for finding in diagnosis.findings):
                _nothing_to_repair(examination, survey)
            assert running.writes == 0
            _same_refusals(diagnosis, expected, staged, client)


class TestTheRepair:
    @settings(EXAMPLES, max_examples=max(1, WORLDS // 4))
    @given(world=broken_worlds())
    def test_it_leaves_nothing_to_repair_and_can_be_taken_back(self, running: FixtureRegistry, world: World) -> None:
        note(repr(world))
        running.clear()
        staged = StagedWorld(world, running)
        with staged.client() as client, tempfile.TemporaryDirectory() as folder:
            survey = staged.survey(client)
            examination = staged.examine(survey)
            before = running.dump()
            repairable = [finding for finding in expect(world).findings if finding.code in ("SRF001", "SRF004")]
            read_only = {
                f.subject for f in repairable if f.subject in world.subjects and world.subjects[f.subject].mode
            }
            to_repair = [finding for finding in repairable if finding.subject not in read_only]
            event(f"{len(to_repair)} to repair{', read-only' if read_only else ''}")
            if read_only and not to_repair:
                with pytest.raises(PlanError, match=r"^No plan: The registry takes no registration under "):
                    make_plan(examination, survey, created_at=clock(), srfix_version="0")
                return
            plan = make_plan(examination, survey, created_at=clock(), srfix_version="0")
            assert {finding.subject for finding in plan.findings} == {finding.subject for finding in to_repair}
            assert bool(plan.left_out) == bool(read_only)
            assert running.dump() == before
            journal = Path(folder) / "plan.json.journal.jsonl"
            list(apply_plan(plan, client, journal, clock=clock))
            _repaired(staged, to_repair)
            assert _apart_from(running.dump(), to_repair) == _apart_from(before, to_repair)
            list(roll_back(journal, client, clock=clock))
            assert running.dump() == before


def _repaired(staged: StagedWorld, repaired: list[ExpectedFinding]) -> None:
    """Asked again with nothing remembered: nothing is missing, and each subject holds each id, as its readers ask."""
    with staged.client() as fresh:
        again = staged.examine(staged.survey(fresh)).diagnosis
        repaired_subjects = {finding.subject for finding in repaired}
        left = [f for f in again.findings if f.code in ("SRF001", "SRF004") and f.subject in repaired_subjects]
        assert left == []
        for finding in repaired:
            for schema in finding.faults:
                answer = fresh.lookup(finding.subject, staged.schema(schema), deleted=True)
                assert answer.schema_id == staged.ids[schema]


def _apart_from(dump: Mapping[str, object], repaired: list[ExpectedFinding]) -> dict[str, object]:
    """The registry without the versions of the repaired subjects: their configurations stay in."""
    subjects = dump["subjects"]
    assert isinstance(subjects, dict)
    ours = {finding.subject for finding in repaired}
    return {**dump, "subjects": {name: of for name, of in subjects.items() if name not in ours}}


def _same_stores(diagnosis: Diagnosis, expected: Expected) -> None:
    assert list(diagnosis.examined) == expected.examined
    for finding in diagnosis.findings:
        if finding.code == "SRF001":
            pieces = {(piece.kind, piece.topic, piece.weight.value) for piece in finding.evidence}
            assert pieces == expected.evidence[f"{finding.application}/{finding.store}"]


def _same_findings(diagnosis: Diagnosis, expected: Expected, staged: StagedWorld) -> None:
    found = [_plain(finding, staged) for finding in diagnosis.findings if finding.code in MODELLED]
    wanted = [vars(finding) for finding in expected.findings]
    assert sorted(found, key=_place) == sorted(wanted, key=_place)
    for finding in diagnosis.findings:
        if finding.code in ("SRF001", "SRF003", "SRF004", "SRF013", "SRF017"):
            setup = staged.world.subjects.get(finding.subject)
            held = {staged.ids[version.schema] for version in setup.versions} if setup is not None else set()
            assert set(finding.registered_ids) == held
        if finding.code in MODELLED:
            event(f"{finding.code} {finding.role.value}{'' if finding.source else ' undecided'}")
        assert finding.source is None or finding.source.subject == f"{finding.source.topic}-{finding.role.value}"


def _plain(finding: Finding, staged: StagedWorld) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "application": finding.application,
        "store": finding.store,
        "role": finding.role.value,
        "subject": finding.subject,
        "topic": None if finding.source is None else finding.source.topic,
        "faults": {staged.name_of(fault.schema_id): _places(fault) for fault in finding.schema_ids},
        "repairable": finding.repairable,
    }


def _places(fault: IdAtFault) -> tuple[tuple[int, int | None, int, int, int], ...]:
    live = [place.live_keys for place in fault.partitions if place.live_keys is not None]
    assert fault.live_keys == (sum(live) if live else None)
    return tuple(
        (place.partition, place.live_keys, place.pending_keys, place.first_offset, place.last_offset)
        for place in fault.partitions
    )


def _place(finding: dict[str, object]) -> tuple[str, ...]:
    return tuple(str(finding[name]) for name in ("code", "application", "store", "role"))


def _same_health(diagnosis: Diagnosis, expected: Expected) -> None:
    """Not looked at is not healthy; and what was looked at and is fine is."""
    is_broken = any(finding.severity != "note" for finding in expected.findings)
    is_more = any(f.code not in MODELLED and f.severity is not Severity.NOTE for f in diagnosis.findings)
    healthy = not diagnosis.has_findings and not diagnosis.is_inconclusive
    assert healthy == (not is_broken and not is_more and not expected.could_hide)
    event(
        f"healthy with {min(1, len(expected.examined))} store(s)"
        if healthy
        else "inconclusive"
        if diagnosis.is_inconclusive
        else "broken"
    )


def _nothing_to_repair(examination: Examination, survey: Survey) -> None:
    """Two candidates and nothing conclusive, or nothing that a registration helps: no repair."""
    try:
        plan = make_plan(examination, survey, created_at=clock(), srfix_version="0")
    except PlanError:
        event("no plan")
    else:
        assert plan.actions == ()


def _same_reservations(diagnosis: Diagnosis, expected: Expected) -> None:
    """What was only sampled is not called proven."""
    sampled = [skipped for skipped in diagnosis.skipped if skipped.reason.startswith("only the newest live one of")]
    assert {skipped.what for skipped in sampled} == expected.not_decoded
    assert not any(skipped.could_hide for skipped in sampled)


def _told_apart(world: World, expected: Expected) -> None:
    """Says how often the kinds of worlds come about that are worth having (`--hypothesis-show-statistics`)."""
    shared = [topic for topic in expected.sources.values() if topic is not None]
    if len(shared) > len(set(shared)):
        event("several stores on one topic")
    if None in expected.sources.values():
        event("undecided")
    for application, store in (name.split("/") for name in expected.examined):
        if f"{application}-{store}-changelog-value" not in world.subjects:
            event("examined without a phantom subject")
    for kind in {kind for pieces in expected.evidence.values() for kind, _, _ in pieces}:
        event(f"evidence: {kind}")


def _same_refusals(diagnosis: Diagnosis, expected: Expected, staged: StagedWorld, client: RegistryClient) -> None:
    """SRF012 says of a registration what the registry says when it is tried; else that a subject stands at NONE."""
    traced = {subject for subject, setup in staged.world.subjects.items() if setup.level == "NONE"}
    found = {
        (f.application, f.store, f.role): ({int(fault.schema_id) for fault in f.schema_ids}, f.repairable)
        for f in diagnosis.findings
        if f.code == "SRF012"
    }
    for finding in expected.findings:
        if finding.code != "SRF001" or finding.topic is None:
            continue
        tried = {staged.ids[schema]: _tried(finding.subject, schema, staged, client) for schema in finding.faults}
        refused = {schema_id for schema_id, code in tried.items() if code is not None}
        key = (finding.application, finding.store, Role(finding.role))
        if refused:
            event("SRF012")
            assert found.pop(key) == (refused, 42205 not in tried.values())
        elif finding.subject in traced:
            event("SRF012 on a level of NONE")
            assert found.pop(key) == (set(), False)
    for (application, store, role), said in found.items():
        assert (f"{application}-{store}-changelog-{role.value}" in traced, said) == (True, (set(), False))


def _tried(subject: str, schema: str, staged: StagedWorld, client: RegistryClient) -> int | None:
    """The code of the refusal; None if it was registered, and then taken back."""
    try:
        assert client.register(subject, staged.schema(schema)) == staged.ids[schema]
    except IncompatibleSchemaError:
        return 409
    except OperationNotPermittedError:
        return 42205
    version = client.lookup(subject, staged.schema(schema)).version
    client.delete_version(subject, version)
    client.delete_version(subject, version, permanent=True)
    return None


def test_lost_ids_are_given_to_no_schema(running: FixtureRegistry) -> None:
    running.clear()
    assert running.seed("a-value", '"int"') < min(LOST.values())
