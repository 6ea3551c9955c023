"""`--keep auto`, over any evolution of the source and of the application: the next internal schema is always accepted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Cluster, Diagnosis, Examination, Plan, Survey
from srfix.recovery.facts.reader import Circumstances, KnownStore
from srfix.recovery.facts.stores import RoleFacts, StoreFacts, SuspectStore
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.findings import IdAtFault, Source
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.planning.own_schemas import every_successor_passes, passes
from srfix.recovery.repair.planning.plan import make_plan
from srfix.serde import RegistryClient, Role, Schema, SchemaError, incompatibilities
from srfix.serde.schemas.errors import InvalidSchemaError
from srfix.serde.schemas.models import Json, SchemaReference
from tests.recovery.staging import APPLICATION, FINDING, PHANTOM, SOURCE, SOURCE_SUBJECT, STORE, clock

NAMES = ("a", "b", "c")
NUMBERS = ("int", "long", "double")
UNIONS = (("null", "int"), ("null", "long"), ("int", "string"), ("null", "string"))
ADDED: list[dict[str, Json]] = [{"type": "string", "default": ""}, {"type": ["null", "long"], "default": None}]


def follows(new: Json, *existing: Json) -> bool:
    """True if one reads the others; False too where one is no schema."""
    try:
        texts = [json.dumps(each) for each in existing]
        return not incompatibilities(new=json.dumps(new), existing=texts, level="BACKWARD_TRANSITIVE")
    except SchemaError:
        return False


def schema(document: Json) -> Schema:
    return Schema(text=json.dumps(document))


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
    ids_at_fault = tuple(IdAtFault(schema_id=i, live_keys=1, records=1, partitions=()) for i in at_fault)
    finding = replace(
        FINDING, application=APPLICATION, store=STORE, subject=PHANTOM, source=source, schema_ids=ids_at_fault
    )
    facts = StoreFacts(store=store, source=source, evidence=(), census=None, roles={Role.VALUE: role})
    diagnosis = Diagnosis(findings=(finding,) if at_fault else (), skipped=(), examined=(str(store),))
    applications = (Circumstances(application=APPLICATION, stores=(KnownStore(name=STORE, topic=SOURCE),)),)
    plan = make_plan(Examination(diagnosis=diagnosis, facts=(facts,), applications=applications), survey, clock=clock)
    with tempfile.TemporaryDirectory() as folder:
        list(apply_plan(plan, client, Path(folder) / "journal", clock=clock))
    return plan


NO_MORE: dict[str, Json] = {}
A_DEFAULT: dict[str, Json] = {"default": "A"}
A_SPACE: dict[str, Json] = {"namespace": "shop"}
enum_defaults = st.sampled_from((NO_MORE, A_DEFAULT))
spaces = st.sampled_from((NO_MORE, NO_MORE, A_SPACE))


@st.composite
def nested(draw: st.DrawFn) -> dict[str, Json]:
    """A record with named types, unions and aliases inside, each defined once."""
    left = ["P", "Q", "E", "F"]

    def a_type(depth: int) -> Json:
        kinds = ["number", "string", "bytes", "union", "array"] + (left if depth else [])
        match draw(st.sampled_from(kinds)):
            case "number":
                return draw(st.sampled_from(NUMBERS))
            case "union":
                return [*draw(st.sampled_from(UNIONS))]
            case "array":
                return {"type": "array", "items": draw(st.sampled_from(NUMBERS))}
            case "E":
                left.remove("E")
                symbols: list[Json] = [*draw(st.sampled_from(("AB", "ABC", "A")))]
                enum: dict[str, Json] = {"type": "enum", "name": "E", "symbols": symbols}
                return enum | draw(enum_defaults)
            case "F":
                left.remove("F")
                return {"type": "fixed", "name": "F", "size": draw(st.sampled_from((2, 3)))}
            case ("P" | "Q") as name:
                left.remove(name)
                record: dict[str, Json] = {"type": "record", "name": name, "fields": a_list(depth - 1)}
                record |= draw(spaces)
                return ["null", record] if draw(st.booleans()) else record
            case other:
                return other

    def a_list(depth: int) -> list[Json]:
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
        fields: list[Json] = []
        for name in names:
            field: dict[str, Json] = {"name": name, "type": a_type(depth)}
            if draw(st.booleans()):
                field["aliases"] = [draw(st.sampled_from(NAMES))]
            fields.append(field)
        return fields

    whole: dict[str, Json] = {"type": "record", "name": "User", "fields": a_list(2)}
    return whole | draw(spaces)


@st.composite
def grown(draw: st.DrawFn, own: dict[str, Json]) -> dict[str, Json]:
    """A schema a few edits away from another one, at any depth."""
    document: dict[str, Json] = json.loads(json.dumps(own))
    for _ in range(draw(st.integers(0, 3))):
        edit(draw, draw(st.sampled_from(list(definitions(document)))))
    return document


def definitions(document: Json) -> Iterator[dict[str, Json]]:
    match document:
        case dict():
            if "name" in document:
                yield document
            for each in document.values():
                yield from definitions(each)
        case list():
            for each in document:
                yield from definitions(each)


def edit(draw: st.DrawFn, at: dict[str, Json]) -> None:
    match at:
        case {"fields": list(fields)}:
            names = {str(field["name"]) for field in fields if isinstance(field, dict)}
            free = [name for name in (*NAMES, "d") if name not in names]
            match draw(st.sampled_from(("add", "remove", "rename", "space"))):
                case "add" if free:
                    added: dict[str, Json] = {"name": draw(st.sampled_from(free))}
                    added |= draw(st.sampled_from(ADDED))
                    added["aliases"] = [draw(st.sampled_from(NAMES))]
                    fields.append(added)
                case "remove" if len(fields) > 1:
                    fields.pop(draw(st.integers(0, len(fields) - 1)))
                case "rename":
                    space = f"{at['namespace']}." if "namespace" in at else ""
                    at.update(name="Renamed" + str(at["name"]), aliases=[f"{space}{at['name']}"])
                case _:
                    at["namespace"] = draw(st.sampled_from(("shop", "till")))
        case {"symbols": list(symbols)}:
            if len(symbols) > 1 and draw(st.booleans()):
                symbols.pop()
            else:
                symbols.append(f"N{len(symbols)}")
        case {"type": type_, **rest} if "size" not in rest:
            match draw(st.sampled_from(("widen", "narrow", "nullable", "bare"))):
                case "widen":
                    at["type"] = WIDER.get(type_, type_) if isinstance(type_, str) else type_
                case "narrow":
                    at["type"] = NARROWER.get(type_, type_) if isinstance(type_, str) else type_
                case "nullable" if not isinstance(type_, list):
                    at.update(type=[type_, "null"])
                    at.pop("default", None)
                case _:
                    at.pop("default", None)
                    at.pop("aliases", None)


WIDER = {"int": "long", "long": "double", "bytes": "string", "string": "bytes"}
NARROWER = {"double": "long", "long": "int", "string": "bytes", "bytes": "string"}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(level=st.sampled_from(("BACKWARD", "BACKWARD_TRANSITIVE")), data=st.data())
def test_after_any_number_of_repairs_the_applications_next_internal_schema_is_accepted(
    shared: FixtureRegistry, level: str, data: st.DataObject
) -> None:
    shared.clear()
    own = data.draw(nested())
    owned: list[Json] = [own]
    shared.seed(PHANTOM, json.dumps(own))
    with RegistryClient(shared.url) as client:
        client.set_config(PHANTOM, {"compatibility": level})
        for _ in range(data.draw(st.integers(1, 3))):
            # A source that looks like the application's schema is where a version may stay live.
            writer = data.draw(grown(own) | nested())
            try:
                client.set_config(SOURCE_SUBJECT, {"compatibility": "NONE"})
                client.register(SOURCE_SUBJECT, schema(writer))
            except InvalidSchemaError:
                continue
            kinds = [action.kind for action in repair(client).actions]
            event("left live" if kinds.count("register") > kinds.count("soft-delete") else "soft-deleted or nothing")
            for number in client.versions(SOURCE_SUBJECT):
                written = client.version(SOURCE_SUBJECT, number).schema
                assert client.lookup(PHANTOM, written, deleted=True).subject == PHANTOM
            assert client.register(PHANTOM, schema(own)) > 0
            successor = data.draw(grown(own))
            if follows(successor, *owned):
                event("a new internal schema")
                assert client.register(PHANTOM, schema(successor)) > 0
                owned.append(successor)
                own = successor


A_LONG = '"fields":[{"name":"a","type":"long"}]'


class TestEverySuccessorPasses:
    @pytest.mark.slow
    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def test_it_holds_for_every_successor_at_any_depth(self, data: st.DataObject) -> None:
        own = data.draw(nested())
        registered, successor = data.draw(grown(own)), data.draw(grown(own))
        if every_successor_passes(schema(own), schema(registered)) and follows(successor, own):
            event("a successor of a schema that differs" if own != registered else "a successor of the same")
            assert follows(successor, registered)

    @pytest.mark.parametrize(
        "added",
        ['{"name":"b","type":"string","default":""}', '{"name":"n","type":"string","default":"","aliases":["b"]}'],
    )
    def test_a_field_that_the_own_schema_lacks_may_clash_with_one_that_is_added(self, added: str) -> None:
        own, registered, successor = (
            json.loads(f'{{"type":"record","name":"User","fields":[{{"name":"a","type":"long"}}{fields}]}}')
            for fields in ("", ',{"name":"b","type":"int"}', f",{added}")
        )
        assert follows(successor, own)
        assert not follows(successor, registered)
        assert not every_successor_passes(schema(own), schema(registered))

    def test_two_types_of_one_simple_name_may_have_changed_places(self) -> None:
        def outer(one: str, other: str) -> Schema:
            fields: list[Json] = [
                {"name": name, "type": {"type": "fixed", "name": "A", "namespace": space, "size": 2}}
                for name, space in (("x", one), ("y", other))
            ]
            return schema({"type": "record", "name": "User", "fields": fields})

        assert not every_successor_passes(outer("shop", "till"), outer("till", "shop"))

    @pytest.mark.parametrize(
        ("own", "registered", "expected"),
        [
            (A_LONG, '"fields":[{"name":"a","type":"int"}]', True),
            ('"fields":[{"name":"a","type":"long","default":1}]', '"fields":[{"name":"b","type":"int"}]', False),
            ('"fields":[{"name":"a","type":"long","aliases":["b"]}]', '"fields":[{"name":"b","type":"long"}]', False),
            # An alias may name the own namespace.
            (f'"namespace":"shop",{A_LONG}', f'"namespace":"till",{A_LONG}', False),
        ],
        ids=["a narrower number", "only by a default", "only by an alias", "another namespace"],
    )
    def test_what_is_read_by_a_default_or_an_alias_alone_does_not_count(
        self, own: str, registered: str, *, expected: bool
    ) -> None:
        one, other = (Schema(text=f'{{"type":"record","name":"User",{fields}}}') for fields in (own, registered))
        assert not incompatibilities(new=one.text, existing=[other.text], level="BACKWARD")
        assert every_successor_passes(one, other) is expected

    @pytest.mark.parametrize("schema_type", ["JSON", "PROTOBUF"])
    def test_what_is_no_avro_cannot_be_told(self, schema_type: str) -> None:
        assert not every_successor_passes(Schema(text="x", schema_type=schema_type), Schema(text="x"))


P = 'syntax = "proto3"; message P { string a = 1; }'


class TestPasses:
    @pytest.mark.parametrize(
        ("own", "registered", "expected"),
        [
            (P.replace("}", "int32 b = 2; }"), P, True),
            (P.replace("string", "int32"), P, False),
            (P, "no schema", None),
        ],
    )
    def test_protobuf_schemas_are_compared_by_their_own_rules(
        self, own: str, registered: str, *, expected: bool | None
    ) -> None:
        one, other = (Schema(text=text, schema_type="PROTOBUF") for text in (own, registered))
        assert passes(one, other, "BACKWARD") is expected

    def test_what_refers_to_others_or_is_of_another_type_cannot_be_told(self) -> None:
        plain = Schema(text=P, schema_type="PROTOBUF")
        referring = replace(plain, references=(SchemaReference(name="n", subject="s", version=1),))
        for other in (Schema(text=P, schema_type="JSON"), Schema(text='"int"'), referring):
            assert passes(plain, other, "BACKWARD") is None
