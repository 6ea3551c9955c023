"""Comparing two schemas: as the library does, in steps that grow with the schemas and not with their product."""

from __future__ import annotations

import json
from typing import Any

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.recovery.facts.subject_state import VersionState
from srfix.recovery.repair.planning.own_schemas import OwnVersion, leaves_room
from srfix.serde import Schema, SchemaError, incompatibilities
from srfix.serde import compatibility as module
from srfix.serde.compatibility import CompatibilityChecker, _parse
from srfix.serde.formats.avro.schema import load
from srfix.serde.wire import SchemaId
from tests.examples import examples
from tests.serde.avro_schemas import array, enum, map_of, record_of

NAMES = ("A", "B", "C", "x.A")
primitives = st.sampled_from(("null", "int", "long", "float", "double", "string", "bytes", "boolean"))


def field(name: str, type_: object, **more: object) -> dict[str, object]:
    return {"name": name, "type": type_, **more}


def union_of(count: int, *, first: int = 0) -> str:
    return json.dumps([record_of(f"R{number}", field("f", "int")) for number in range(first, first + count)])


def doubling(levels: int) -> str:
    """Each record refers to the next twice."""
    schema = record_of(f"R{levels}", field("a", "int"))
    for number in reversed(range(levels)):
        schema = record_of(f"R{number}", field("a", schema), field("b", f"R{number + 1}"))
    return json.dumps(schema)


def cycle(length: int, prefix: str) -> str:
    """A ring of records, the last of which refers to the first."""
    schema: object = f"{prefix}0"
    for number in reversed(range(length)):
        schema = record_of(f"{prefix}{number}", field("next", ["null", schema], default=None))
    return json.dumps(schema)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3, defined: frozenset[str] | None = None) -> Any:
    """Schemas whose names, fields and symbols meet often."""
    used: set[str] = set()

    def build(left: int, *, in_union: bool = False) -> Any:
        kinds = ["primitive", "fixed", "enum"] + (["record", "record", "array", "map"] if left else [])
        kind = draw(st.sampled_from(kinds + ([] if in_union or not left else ["union"])))
        if kind in ("record", "fixed", "enum"):
            name = draw(st.sampled_from(NAMES))
            if name in used:
                return name
            used.add(name)
            more: dict[str, object] = {}
            if draw(st.integers(0, 3)) == 0:
                more["aliases"] = [draw(st.sampled_from(NAMES))]
            if kind == "fixed":
                return {"type": "fixed", "name": name, "size": draw(st.integers(1, 2)), **more}
            if kind == "enum":
                symbols = draw(st.lists(st.sampled_from("PQR"), min_size=1, unique=True))
                if draw(st.booleans()):
                    more["default"] = symbols[0]
                return {"type": "enum", "name": name, "symbols": symbols, **more}
            names = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
            fields = [
                field(each, build(left - 1), **({"default": None} if draw(st.booleans()) else {})) for each in names
            ]
            return record_of(name, *fields, **more)
        if kind == "array":
            return array(build(left - 1))
        if kind == "map":
            return map_of(build(left - 1))
        if kind == "union":
            branches = [build(left - 1, in_union=True) for _ in range(draw(st.integers(1, 4)))]
            kept: dict[str, Any] = {}
            for branch in branches:
                key = branch if isinstance(branch, str) else branch.get("name", branch["type"])
                kept.setdefault(key, branch)
            return list(kept.values())
        return draw(primitives)

    return build(depth)


def parsed(document: Any) -> Any:
    try:
        return _parse(json.dumps(document))
    except SchemaError:
        return None


class TestAsTheLibrary:
    @settings(max_examples=examples(500))
    @given(reader=schemas(), writer=schemas())
    def test_it_reads_what_the_library_says_that_it_reads(self, reader: Any, writer: Any) -> None:
        mine, theirs = parsed(reader), parsed(writer)
        if mine is None or theirs is None:
            return
        checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
        expected = checker.get_compatibility(mine, theirs).compatibility is SchemaCompatibilityType.compatible
        assert CompatibilityChecker().check(mine, theirs).reads == expected


def compared(reader: str, writer: str) -> int:
    reading = CompatibilityChecker()
    reading.check(_parse(reader), _parse(writer))
    return reading.compared


class TestSteps:
    @pytest.mark.parametrize("first", [0, 10_000], ids=["the same", "none the same"])
    def test_unions_cost_the_sum_of_their_branches(self, first: int) -> None:
        small, large = (compared(union_of(count), union_of(count, first=first)) for count in (250, 500))
        assert large <= 2.1 * small
        assert large <= 4 * 500

    def test_a_union_of_a_thousand_records_is_compared(self) -> None:
        assert incompatibilities(new=union_of(1000), existing=[union_of(1000)], level="FULL") == ()

    def test_records_that_refer_to_the_next_twice_cost_each_once(self) -> None:
        small, large = (compared(doubling(levels), doubling(levels)) for levels in (20, 40))
        assert large <= 2.1 * small
        assert incompatibilities(new=doubling(40), existing=[doubling(40)], level="FULL_TRANSITIVE") == ()

    def test_rings_of_records_end(self) -> None:
        assert compared(cycle(7, "R"), cycle(7, "R")) <= 60

    def test_rings_of_different_lengths_end_in_a_verdict_or_a_sentence(self) -> None:
        # 90 times 91 pairs, each within the last one: deeper than Python's stack.
        with pytest.raises(SchemaError, match=r"^The schemas nest too deep to be compared\.$"):
            compared(cycle(90, "R"), cycle(91, "R"))

    def test_more_pairs_than_the_bound_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "COMPATIBILITY_PAIRS", 50)
        with pytest.raises(SchemaError, match=r"^The schemas have more than 50 pairs of types"):
            compared(union_of(100), union_of(100))

    def test_versions_that_are_compared_with_versions_are_parsed_once_each(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def schema(doc: str) -> Schema:
            return Schema(text=json.dumps(record_of("R", field("a", "int"), field("b", "int"), doc=doc)))

        states = [VersionState(version=n, schema_id=SchemaId(n + 1), deleted=False) for n in range(1, 601)]
        own = [OwnVersion(state=state, schema=schema(f"own {state.version}")) for state in states]
        others = [schema(f"other {number}") for number in range(5)]
        taken: list[str] = []
        real = json.loads

        def counting(text: str, **options: Any) -> Any:
            taken.append(text)
            return real(text, **options)

        monkeypatch.setattr(json, "loads", counting)
        assert all(leaves_room(own, other, "BACKWARD") for other in others)
        assert len(taken) <= 4 * 605


class TestWhatIsSaid:
    def test_a_thousand_reasons_are_a_hundred(self) -> None:
        wide = json.dumps(record_of("R", *(field(f"f{number}", "int") for number in range(1000))))
        reasons = incompatibilities(new=wide, existing=[json.dumps(record_of("R"))], level="BACKWARD")
        assert len(reasons) == 100

    def test_a_name_of_a_megabyte_is_cut_off(self) -> None:
        name = "N" * 2**20
        new, old = (json.dumps(record_of(each, field("f", "int"))) for each in ("R", name))
        (reason,) = incompatibilities(new=new, existing=[old], level="BACKWARD")
        assert len(reason) < 500

    def test_of_a_thousand_symbols_twenty_are_named(self) -> None:
        new, old = (json.dumps(enum(*(f"S{n}" for n in range(count)))) for count in (1, 1001))
        (reason,) = incompatibilities(new=new, existing=[old], level="BACKWARD")
        assert "S1, S10, S100, S1000" in reason
        assert reason.endswith("and 980 more at /symbols.")


class TestSchemasThatNest:
    @pytest.mark.parametrize("levels", [450, 900, 5_000, 100_000])
    @pytest.mark.parametrize("kind", ["array", "union", "record"])
    def test_text_ends_in_a_sentence(self, levels: int, kind: str) -> None:
        if kind == "array":
            text = '{"type":"array","items":' * levels + '"int"' + "}" * levels
        elif kind == "union":
            text = '["null",{"type":"map","values":' * levels + '"int"' + "}]" * levels
        else:
            inner = "".join(f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":' for n in range(levels))
            text = inner + '"int"' + "}]}" * levels
        with pytest.raises(SchemaError, match=r"nest|deep") as caught:
            load(text)
        assert len(str(caught.value)) < 1000
        for schemas_ in ({"new": text, "existing": []}, {"new": '"int"', "existing": [text]}):
            try:
                incompatibilities(level="BACKWARD", **schemas_)  # type: ignore[arg-type]
            except SchemaError as error:
                assert len(str(error)) < 1000  # noqa: PT017 - or it could be compared

    def test_names_that_lead_from_text_to_text_end_in_a_sentence(self) -> None:
        chain = [json.dumps(record_of("R0", field("f", "int")))]
        chain += [json.dumps(record_of(f"R{n}", field("f", f"R{n - 1}"))) for n in range(1, 3000)]
        with pytest.raises(SchemaError, match=r"^The schema's types nest (too deep|deeper than)"):
            load(json.dumps(record_of("Root", field("f", "R2999"))), tuple(chain))

    def test_an_error_does_not_hold_the_whole_schema(self) -> None:
        with pytest.raises(SchemaError) as caught:
            load(json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "N" * 2**20}]}))
        assert len(str(caught.value)) < 1000
