"""`--keep auto`, over any evolution of the source and of the application: the next internal schema is always accepted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry import FixtureRegistry
from srfix.recovery.apply import apply_plan
from srfix.recovery.cluster import Cluster
from srfix.recovery.diagnosis import Examination
from srfix.recovery.findings import Diagnosis, Finding, IdAtFault, Severity, Source
from srfix.recovery.own_schemas import every_successor_passes
from srfix.recovery.plan import make_plan
from srfix.recovery.plan_file import Plan
from srfix.recovery.stores import RoleFacts, StoreFacts, SuspectStore
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.survey import Survey
from srfix.serde.compatibility import incompatibilities
from srfix.serde.registry import RegistryClient, Schema
from srfix.serde.registry.models import Json
from srfix.serde.subjects import Role
from tests.recovery.staging import APPLICATION, PHANTOM, SOURCE, SOURCE_SUBJECT, STORE, clock

NAMES = ("a", "b", "c")
NUMBERS = ("int", "long", "double")


@st.composite
def schemas(draw: st.DrawFn, name: str | None = None) -> str:
    """A small record; of the source's and of the application's alike, so that some pass against each other."""
    fields: list[Json] = []
    for field in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
        number = draw(st.sampled_from(NUMBERS))
        match draw(st.sampled_from(("bare", "default", "nullable", "null"))):
            case "bare":
                fields.append({"name": field, "type": number})
            case "default":
                fields.append({"name": field, "type": number, "default": 0})
            case "nullable":
                fields.append({"name": field, "type": ["null", number], "default": None})
            case _:
                fields.append({"name": field, "type": ["null", number]})
    named = name or draw(st.sampled_from(("User", "KsqlDataSourceSchema")))
    return json.dumps({"type": "record", "name": named, "fields": fields})


CHANGES = ("drop a default", "add", "widen", "remove", "make nullable")


def changed(own: str, change: str, at: int) -> str:
    """A schema that follows another one, as an application's next internal schema does; not always BACKWARD compatible."""
    document = json.loads(own)
    fields: list[dict[str, Json]] = document["fields"]
    field = fields[at % len(fields)]
    match change:
        case "drop a default":
            field.pop("default", None)
        case "add":
            fields.append({"name": f"n{len(fields)}", "type": ["null", "long"], "default": None})
        case "widen":
            field["type"] = json.loads(json.dumps(field["type"]).replace("long", "double").replace("int", "long"))
        case "remove" if len(fields) > 1:
            fields.remove(field)
        case _ if isinstance(field["type"], str):
            field.update(type=[field["type"], "null"])
    return json.dumps(document)


def follows(new: str, existing: list[str]) -> bool:
    return not incompatibilities(new=new, existing=existing, level="BACKWARD_TRANSITIVE")


@pytest.fixture(scope="module")
def shared() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as running:
        yield running


def repair(client: RegistryClient) -> Plan:
    """Plans with `auto` and carries out what is missing now, with nothing remembered from before."""
    survey = Survey(cluster=cast(Cluster, None), registry=client)
    ids = [client.version(SOURCE_SUBJECT, number).schema_id for number in client.versions(SOURCE_SUBJECT)]
    store = SuspectStore(application=APPLICATION, name=STORE)
    source = Source(topic=SOURCE, subject=SOURCE_SUBJECT)
    memberships = {schema_id: survey.membership(PHANTOM, schema_id) for schema_id in ids[-1:]}
    role = RoleFacts(
        role=Role.VALUE, subject=PHANTOM, state=read_subject_state(client, PHANTOM), memberships=memberships
    )
    at_fault = tuple(schema_id for schema_id, membership in memberships.items() if membership.is_missing)
    finding = Finding(
        code="SRF001",
        severity=Severity.BROKEN,
        application=APPLICATION,
        store=STORE,
        role=Role.VALUE,
        subject=PHANTOM,
        source=source,
        schema_ids=tuple(IdAtFault(schema_id=i, live_keys=1, records=1, partitions=()) for i in at_fault),
        explanation="",
        next="",
        repairable=True,
    )
    facts = StoreFacts(store=store, source=source, evidence=(), census=None, roles={Role.VALUE: role})
    diagnosis = Diagnosis(findings=(finding,) if at_fault else (), skipped=(), examined=(str(store),))
    plan = make_plan(Examination(diagnosis=diagnosis, facts=(facts,)), survey, created_at=clock(), srfix_version="0")
    with tempfile.TemporaryDirectory() as folder:
        list(apply_plan(plan, client, Path(folder) / "journal", clock=clock))
    return plan


class TestAfterAnyNumberOfRepairs:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        own=schemas("KsqlDataSourceSchema"),
        level=st.sampled_from(("BACKWARD", "BACKWARD_TRANSITIVE")),
        rounds=st.lists(
            st.tuples(st.sampled_from(CHANGES) | schemas(), st.sampled_from(CHANGES), st.integers(0, 2)),
            min_size=1,
            max_size=3,
        ),
    )
    def test_the_applications_next_internal_schema_is_accepted(
        self, shared: FixtureRegistry, own: str, level: str, rounds: list[tuple[str, str, int]]
    ) -> None:
        shared.clear()
        shared.seed(PHANTOM, own)
        owned = [own]
        with RegistryClient(shared.url) as client:
            client.set_config(PHANTOM, {"compatibility": level})
            for writer, change, at in rounds:
                # A source that looks like the application's schema is where a version may stay live.
                shared.seed(SOURCE_SUBJECT, changed(owned[-1], writer, at) if writer in CHANGES else writer)
                plan = repair(client)
                kinds = [action.kind for action in plan.actions]
                event(
                    "left live" if kinds.count("register") > kinds.count("soft-delete") else "soft-deleted or nothing"
                )
                for membership in client.versions(SOURCE_SUBJECT):
                    written = client.version(SOURCE_SUBJECT, membership).schema
                    assert client.lookup(PHANTOM, written, deleted=True).subject == PHANTOM
                assert client.register(PHANTOM, Schema(text=owned[-1])) > 0
                successor = changed(owned[-1], change, at)
                if follows(successor, owned):
                    event("a new internal schema")
                    assert client.register(PHANTOM, Schema(text=successor)) > 0
                    owned.append(successor)


class TestEverySuccessorPasses:
    @settings(max_examples=300, deadline=None)
    @given(own=schemas("User"), registered=schemas("User"), successor=schemas("User"))
    def test_it_holds_for_every_successor(self, own: str, registered: str, successor: str) -> None:
        if every_successor_passes(Schema(text=own), Schema(text=registered)) and follows(successor, [own]):
            event("a successor")
            assert follows(successor, [registered])

    @pytest.mark.parametrize(
        ("own", "registered", "expected"),
        [
            ('{"name":"a","type":"long"}', '{"name":"a","type":"int"},{"name":"b","type":"int"}', True),
            ('{"name":"a","type":"long","default":1}', '{"name":"b","type":"int"}', False),
            ('{"name":"a","type":"long","aliases":["b"]}', '{"name":"b","type":"long"}', False),
        ],
        ids=["all fields there", "only by a default", "only by an alias"],
    )
    def test_what_is_read_by_a_default_or_an_alias_alone_does_not_count(
        self, own: str, registered: str, *, expected: bool
    ) -> None:
        one, other = (
            Schema(text=f'{{"type":"record","name":"User","fields":[{fields}]}}') for fields in (own, registered)
        )
        assert not incompatibilities(new=one.text, existing=[other.text], level="BACKWARD")
        assert every_successor_passes(one, other) is expected

    def test_another_namespace_does_not_count_for_an_alias_may_name_the_own_one(self) -> None:
        fields = '"fields":[{"name":"a","type":"long"}]'
        one = Schema(text=f'{{"type":"record","name":"User","namespace":"shop",{fields}}}')
        other = Schema(text=f'{{"type":"record","name":"User","namespace":"till",{fields}}}')
        assert not incompatibilities(new=one.text, existing=[other.text], level="BACKWARD")
        assert not every_successor_passes(one, other)

    @pytest.mark.parametrize("schema_type", ["JSON", "PROTOBUF"])
    def test_what_is_no_avro_cannot_be_told(self, schema_type: str) -> None:
        assert not every_successor_passes(Schema(text="x", schema_type=schema_type), Schema(text="x"))
