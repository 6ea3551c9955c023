"""The plan file: what was reviewed is what is done, or nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery import Plan, PlanError, load_plan, plan_document, save_plan
from srfix.recovery.actions.actions import Register, RestoreCompatibility, SetCompatibility, SoftDelete
from srfix.recovery.facts.reader import Circumstances, KnownStore
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.recovery.plans.documents import plan_digest
from srfix.recovery.repair.plan_file import REPAIR_PLANS, Omission, PlannedFinding
from srfix.serde import Role, Schema, SchemaReference, Subject, Topic
from srfix.serde.wire import SchemaId
from tests.recovery.facts.test_circumstances import known
from tests.recovery.repair.scene import Scene
from tests.recovery.staging import APPLICATION, SOURCE, STORE

texts = st.text(st.characters(codec="utf-8"), max_size=12)
subjects = texts.map(Subject)
ids = st.integers(1, 2**31 - 1).map(SchemaId)
steps = st.integers(1, 99)
configs = st.none() | st.dictionaries(texts, texts | st.booleans() | st.none(), max_size=3)
references = st.builds(SchemaReference, name=texts, subject=texts, version=steps)
schemas = st.builds(Schema, text=texts, schema_type=texts, references=st.lists(references, max_size=2).map(tuple))
holders = st.lists(subjects, max_size=2).map(tuple)
some_ids = st.lists(ids, max_size=3).map(tuple)
some_texts = st.lists(texts, max_size=2).map(tuple)
actions = st.one_of(
    st.builds(SetCompatibility, step=steps, subject=subjects, level=texts, previous=configs),
    st.builds(Register, step=steps, subject=subjects, schema_id=ids, schema=schemas, holders=holders),
    st.builds(SoftDelete, step=steps, subject=subjects, schema_id=ids),
    st.builds(RestoreCompatibility, step=steps, subject=subjects, previous=configs),
)
versions = st.builds(VersionState, version=steps, schema_id=ids, deleted=st.booleans())
states = st.builds(
    SubjectState,
    subject=subjects,
    versions=st.lists(versions, max_size=3, unique_by=lambda v: v.version).map(lambda v: tuple(sorted(v))),
    config=configs,
    mode=st.none() | texts,
)
findings = st.builds(
    PlannedFinding,
    code=texts,
    application=texts,
    store=texts,
    role=st.sampled_from(Role),
    subject=subjects,
    source_topic=texts.map(Topic),
    schema_ids=some_ids,
    planned_ids=some_ids,
)
omissions = st.builds(Omission, subject=subjects, reason=texts, schema_ids=some_ids)
plans = st.builds(
    Plan,
    registry=texts,
    bootstrap_servers=st.none() | texts,
    created_at=texts,
    srfix=texts,
    findings=st.lists(findings, max_size=2).map(tuple),
    actions=st.lists(actions, max_size=4).map(tuple),
    expects=st.lists(states, max_size=2).map(lambda found: {state.subject: state for state in found}),
    price=some_texts,
    left_out=some_texts,
    omissions=st.lists(omissions, max_size=2).map(tuple),
    playbook=some_texts,
    applications=st.lists(known, max_size=2).map(tuple),
).map(lambda plan: _in_order(plan))


def _in_order(plan: Plan) -> Plan:
    """The plan with its steps numbered, and a state for each subject that they write to."""
    written = {a.subject: SubjectState(subject=a.subject, versions=(), config=None, mode=None) for a in plan.actions}
    numbered = tuple(replace(action, step=number) for number, action in enumerate(plan.actions, start=1))
    return replace(plan, actions=numbered, expects={**written, **plan.expects})


ANOTHER = b'{"schema": "srfix.diagnosis/1"}'


class TestPlanFrom:
    @given(plans)
    def test_a_plan_read_back_is_the_plan_that_was_written(self, plan: Plan) -> None:
        document = json.loads(json.dumps(plan_document(plan)))
        assert REPAIR_PLANS.plan_from(document, where="it") == plan

    @given(plans, st.data())
    def test_an_edit_anywhere_is_refused(self, plan: Plan, data: st.DataObject) -> None:
        document = json.loads(json.dumps(plan_document(plan)))
        key = data.draw(st.sampled_from(sorted(set(document) - {"schema", "digest"})))
        document[key] = [*document[key], "edited"] if isinstance(document[key], list) else "edited"
        if plan_digest(document) == document["digest"]:
            return  # the edit wrote what was there
        with pytest.raises(PlanError, match=r"^It was edited after it was made: "):
            REPAIR_PLANS.plan_from(document, where="it")

    @pytest.mark.core
    def test_an_edited_schema_id_is_refused(self, scene: Scene, tmp_path: Path) -> None:
        path = tmp_path / "p.json"
        save_plan(scene.plan, path)
        path.write_text(path.read_text().replace('"schema_id": 1', '"schema_id": 2'))
        with pytest.raises(PlanError, match=r"p\.json was edited after it was made"):
            load_plan(path)

    @pytest.mark.core
    def test_another_version_of_the_document_is_named(self) -> None:
        with pytest.raises(PlanError, match=r"It has the format srfix\.plan/2, .* reads only srfix\.plan/1\."):
            REPAIR_PLANS.plan_from({"schema": "srfix.plan/2"}, where="it")

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            *((content, "is not a plan of srfix") for content in (b"[]", b'"x"', b"{}", ANOTHER)),
            *((content, "is not JSON") for content in (b"", b"{", b"\xff\xfe")),
            (None, r"none\.json cannot be read \(No such file or directory\)"),
        ],
    )
    def test_what_is_no_plan_is_called_none(self, content: bytes | None, said: str, tmp_path: Path) -> None:
        path = tmp_path / "none.json"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(PlanError, match=said):
            load_plan(path)

    def test_a_plan_that_does_not_say_what_it_registers_is_read_by_its_steps(self, scene: Scene) -> None:
        document = plan_document(scene.plan)
        del document["omissions"]
        match document["findings"]:
            case [dict() as finding]:
                del finding["planned_ids"]
        document["digest"] = plan_digest(document)
        read = REPAIR_PLANS.plan_from(document, where="it")
        assert [finding.planned_ids for finding in read.findings] == [(1, 2)]
        assert read.omissions == ()


class TestCircumstances:
    def test_a_plan_that_says_nothing_of_an_application_knows_its_stores_and_their_topics(self, scene: Scene) -> None:
        store = KnownStore(name=STORE, topic=SOURCE)
        assert scene.plan.circumstances == (Circumstances(application=APPLICATION, stores=(store,)),)
        said = Circumstances(application=APPLICATION, members=2, state="Stable")
        assert replace(scene.plan, applications=(said,)).circumstances == (said,)

    def test_a_plan_of_before_there_were_any_is_read(self, scene: Scene) -> None:
        document = plan_document(scene.plan)
        del document["applications"]
        document["digest"] = plan_digest(document)
        assert REPAIR_PLANS.plan_from(document, where="it") == scene.plan


def test_a_plan_is_written_whole_or_not_at_all(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "p.json"
    path.write_text("the old one")
    monkeypatch.setattr("os.replace", no_room)
    with pytest.raises(PlanError, match=r"p\.json \(No space left on device\)"):
        save_plan(scene.plan, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]
    assert path.read_text() == "the old one"
