"""Aliases and defaults of a reader's schema, as Avro's schema resolution has them; and what it promotes.

| the writer's record | the reader's field | it is |
|---|---|---|
| has a field of its name | | that |
| has a field of one of its aliases | | that |
| has neither | has a default | the default |
| has neither | has none | null |
| has another name than the reader's, and none of its aliases | | as without a reader's schema |
"""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.arrow.decode import ValueWise, to_arrow
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import AvroDeserializer, SchemaDeserializer
from srfix.serde.errors import (
    AmbiguousFieldError,
    ColumnError,
    DecodeError,
    EngineRefusedError,
    IncompatibleTypeError,
    NothingFedError,
    Reason,
    RegistryError,
    SchemaError,
    UsageError,
)
from srfix.serde.formats.avro.read.resolution import ReaderSchema, resolved_root
from srfix.serde.formats.avro.schema import load
from srfix.serde.formats.table import Format
from srfix.serde.interface import BadRow, SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.spark.read.plan import NEWEST, ReadPlan, plan_read
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import (
    DATE,
    MILLIS,
    TIME_MILLIS,
    array,
    body,
    entries,
    field,
    logical,
    map_of,
    record,
    record_of,
)
from tests.serde.avro_schemas import decimal as decimal_type
from tests.serde.fakes import MemoryRegistry, framed

USERS = SerdeContext("users")
OLD = record("User", id="long", mail=["null", "string"], home=record("Home", town="string"))
NEW = record_of(
    "User",
    field("id", "long"),
    field("email", ["null", "string"], aliases=["mail"], default=None),
    field(
        "address",
        record_of(
            "Address",
            field("city", "string", aliases=["town"]),
            field("country", "string", default="DE"),
            aliases=["Home"],
        ),
        aliases=["home"],
    ),
    field("points", "int", default=7),
    field("tags", array("string"), default=["new"]),
    field("note", ["null", "string"], default=None),
    field("born", DATE, default=1),
    field("level", "double", default=1.5),
    field("active", "boolean", default=True),
    field("limit", decimal_type(4, 2), default="\u0001"),
    field("since", MILLIS, default=1000),
)
WRITTEN = {"id": 1, "mail": "a@b", "home": {"town": "Ulm"}}
READ = {
    "id": 1,
    "email": "a@b",
    "address": {"city": "Ulm", "country": "DE"},
    "points": 7,
    "tags": ["new"],
    "note": None,
    "born": datetime.date(1970, 1, 2),
    "level": 1.5,
    "active": True,
    "limit": decimal.Decimal("0.01"),
    "since": datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
}


class TestDeserializer:
    @pytest.mark.parametrize("kind", [AvroDeserializer, SchemaDeserializer])
    def test_aliases_and_defaults_count(self, kind: type[AvroDeserializer]) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, OLD, WRITTEN)
        read = kind(ById(registry), reader_schema=json.dumps(NEW))
        assert read(payload, USERS) == READ
        for rule in (CaseRule.UNIQUE, CaseRule.EXACT):
            read = kind(
                ById(registry),
                columns=parse_columns("`email` STRING, `points` BIGINT, `address` STRUCT<`country` STRING>"),
                case_rule=rule,
                reader_schema=ReaderSchema(text=json.dumps(NEW)),
            )
            assert read(payload, USERS) == {"email": "a@b", "points": 7, "address": {"country": "DE"}}

    def test_a_default_does_not_compete_with_a_field_for_a_column(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, record("User", id="long", ID="long"), {"id": 1, "ID": 2})
        fields = [field("id", "long"), field("ID", "long")]
        reader = record_of("User", *fields, field("Id", "long", default=3), field("note", "string", default="?"))
        columns = parse_columns("`id` BIGINT, ID BIGINT, NOTE STRING")
        read = AvroDeserializer(ById(registry), columns=columns, reader_schema=json.dumps(reader))
        assert read(payload, USERS) == {"id": 1, "ID": 2, "NOTE": "?"}

    def test_a_default_that_could_feed_two_columns_feeds_none(self) -> None:
        """Not even if the writer feeds one of them: with a writer of both fields, the other column is ambiguous."""
        registry = MemoryRegistry()
        payload = framed(registry, record("User", name="string"), {"name": "Ada"})
        reader = record_of("User", field("name", "string"), field("Name", "string", default="?"))
        columns = parse_columns("`name` STRING, NAME STRING")
        read = AvroDeserializer(ById(registry), columns=columns, reader_schema=json.dumps(reader))
        with pytest.raises(
            AmbiguousFieldError, match=r"The field 'Name' of the reader's schema could feed two columns"
        ):
            read(payload, USERS)

    @pytest.mark.parametrize("rule", [CaseRule.KSQLDB, CaseRule.KSQLDB_2020])
    def test_ksqldb_knows_neither(self, rule: CaseRule) -> None:
        with pytest.raises(UsageError, match="reader_schema= needs Avro's schema"):
            AvroDeserializer(ById(MemoryRegistry()), case_rule=rule, reader_schema=json.dumps(NEW))

    def test_what_is_no_schema_is_said_at_once(self) -> None:
        with pytest.raises(SchemaError, match=r"^reader_schema: The schema text is not JSON"):
            AvroDeserializer(ById(MemoryRegistry()), reader_schema="{")

    @pytest.mark.parametrize("word", ["timestamp", "local-timestamp"])
    def test_times_of_each_unit_are_the_same_times(self, word: str) -> None:
        """Seen: with timestamp-micros in the reader's schema, a row was the number in its writer's unit."""
        registry = MemoryRegistry()
        millis, micros = (record("User", at=logical("long", f"{word}-{unit}")) for unit in ("millis", "micros"))
        at = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC if word == "timestamp" else None)
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(micros))
        payloads = [framed(registry, writer, {"at": at}) for writer in (millis, micros)]
        assert [read(payload, USERS) for payload in payloads] == [{"at": at}] * 2

    def test_times_of_day_of_each_unit_are_the_same_times(self) -> None:
        """Seen: with time-micros in the reader's schema, a row was the number in its writer's unit."""
        registry = MemoryRegistry()
        millis, micros = (record("User", at=type_) for type_ in (TIME_MILLIS, logical("long", "time-micros")))
        late = json.dumps(record_of("User", *micros["fields"], field("by", logical("long", "time-micros"), default=1)))
        read = AvroDeserializer(ById(registry), reader_schema=late)
        payloads = [framed(registry, writer, {"at": datetime.time(1, 2, 3)}) for writer in (millis, micros)]
        row = {"at": datetime.time(1, 2, 3), "by": datetime.time(0, 0, 0, 1)}
        assert [read(payload, USERS) for payload in payloads] == [row] * 2

    @pytest.mark.parametrize("type_", ["null", entries("double", "int")])
    def test_a_field_that_would_be_missing_from_the_rows_is_said(self, type_: object) -> None:
        with pytest.raises(ColumnError, match=r"^reader_schema has fields that give no columns \(odd: .*\)\. Name the"):
            AvroDeserializer(ById(MemoryRegistry()), reader_schema=json.dumps(record(odd=type_, id="long")))

    def test_a_default_that_does_not_fit_is_said(self) -> None:
        registry = MemoryRegistry()
        wrong = record_of("User", *NEW["fields"], field("n", "int", default="x"))
        with pytest.raises(SchemaError, match="The default of the field n does not fit its type"):
            AvroDeserializer(ById(registry), reader_schema=json.dumps(wrong))(framed(registry, OLD, WRITTEN), USERS)

    @pytest.mark.parametrize(
        ("column", "outer", "without", "with_one"),
        [
            ("STRUCT<`zip` INT>", lambda home: ["null", home], None, {"town": "Ulm"}),
            ("ARRAY<STRUCT<`zip` INT>>", array, [], [{"town": "Ulm"}]),
            ("MAP<STRING, STRUCT<`zip` INT>>", map_of, {}, {"here": {"town": "Ulm"}}),
            ("STRUCT<`int` INT, `Home` STRUCT<`zip` INT>>", lambda home: ["int", home], 7, {"town": "Ulm"}),
        ],
        ids=["null", "no items", "no entries", "another branch"],
    )
    def test_a_default_that_its_column_cannot_hold_is_bad_where_a_row_needs_it(
        self, column: str, outer: Callable[[Any], Any], without: object, with_one: object
    ) -> None:
        registry = MemoryRegistry()
        home = record("Home", town="string")
        writer, reader = (
            record("User", home=outer(type_))
            for type_ in (home, record_of("Home", *home["fields"], field("zip", "string", default="?")))
        )
        columns = parse_columns(f"`home` {column}")
        read = AvroDeserializer(ById(registry), columns=columns, reader_schema=json.dumps(reader))
        payloads = [framed(registry, writer, {"home": value}) for value in (with_one, without)]
        bad, good = deserialize_many(payloads, USERS, read, on_error="quarantine")
        assert isinstance(bad, BadRow)
        assert bad.reason is Reason.TYPE_MISMATCH
        assert "The default of the field zip cannot be read: " in bad.error.message
        assert good == {"home": {"int": 7, "Home": None} if without == 7 else without}

    def test_a_default_that_every_row_needs_is_said_of_the_schema(self) -> None:
        registry = MemoryRegistry()
        reader = record_of("User", field("points", "string", default="?"))
        read = AvroDeserializer(
            ById(registry), columns=parse_columns("`id` BIGINT, `points` INT"), reader_schema=json.dumps(reader)
        )
        with pytest.raises(SchemaError, match="The default of the field points cannot be read: "):
            read(framed(registry, OLD, WRITTEN), USERS)

    def test_rows_do_not_share_a_default(self) -> None:
        registry = MemoryRegistry()
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(NEW))
        payload = framed(registry, OLD, WRITTEN)
        first, second = read(payload, USERS), read(payload, USERS)
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        first["tags"].append("mine")  # type: ignore[union-attr]
        assert second["tags"] == ["new"]

    def test_another_record_type_gets_no_defaults(self) -> None:
        registry = MemoryRegistry()
        order = record("Order", total="long")
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(NEW))
        with pytest.raises(NothingFedError):
            read(framed(registry, order, {"total": 1}), USERS)

    def test_a_record_without_fields_that_avro_resolves_is_its_defaults(self) -> None:
        registry = MemoryRegistry()
        empty = record("ns.User")
        reader = record_of("User", field("points", "int", default=7))
        payload = framed(registry, empty, {})
        assert AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))(payload, USERS) == {"points": 7}
        strict = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader), strict=True)
        assert strict(payload, USERS) == {"points": 7}

    def test_types_that_nest_too_deep_for_the_stack_are_a_clear_error(self) -> None:
        texts = tuple(json.dumps(record(f"R{n}", a=f"R{n - 1}" if n else "int")) for n in range(150))
        load(texts[-1], texts[:-1])  # known since before the caller went deep

        def below(frames: int) -> None:
            if frames:
                below(frames - 1)
            else:
                resolved_root(
                    texts[-1], texts[:-1], ReaderSchema(text=texts[-1], references=texts[:-1]), CaseRule.UNIQUE
                )

        with pytest.raises(SchemaError, match="The types of writer and reader nest too deep to"):
            below(sys.getrecursionlimit() // 2)

    def test_a_symbol_that_the_reader_lacks_is_its_enums_default(self) -> None:
        registry = MemoryRegistry()

        def enum(*symbols: str, **more: str) -> dict[str, object]:
            return record(c={"type": "enum", "name": "Colour", "symbols": list(symbols), **more})

        writer, reader = enum("RED", "GREEN", "BLUE"), enum("RED", "OTHER", default="OTHER")
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))
        rows = [read(framed(registry, writer, {"c": colour}), USERS) for colour in ("RED", "GREEN", "BLUE")]
        assert rows == [{"c": "RED"}, {"c": "OTHER"}, {"c": "OTHER"}]


TYPES = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "string": st.text(max_size=5),
    "boolean": st.booleans(),
}


@st.composite
def versions(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """A writer's record, a reader's one with aliases and defaults, and what the writer writes."""
    fields = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=5))
    writer, reader, value = [], [], {}
    for number, type_ in enumerate(fields):
        new: dict[str, Any] = {"name": f"n{number}", "type": type_}
        there = number == 0 or draw(st.booleans())
        if there:
            renamed = draw(st.booleans())
            old = f"o{number}" if renamed else new["name"]
            if renamed:
                new["aliases"] = ["unheard", old]
            writer.append({"name": old, "type": type_})
            value[old] = draw(TYPES[type_])
        if not there or draw(st.booleans()):
            new["default"] = draw(TYPES[type_])
        reader.append(new)
    return record_of("R", *writer), record_of("R", *draw(st.permutations(reader))), value


class TestAsFastavro:
    @given(drawn=versions())
    def test_in_every_way_of_reading(self, drawn: tuple[Any, Any, Any]) -> None:
        writer, reader, value = drawn
        registry = MemoryRegistry()
        payload = framed(registry, writer, value)
        expected = fastavro.schemaless_reader(BytesIO(payload[5:]), fastavro.parse_schema(writer), reader)
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))
        assert read(payload, USERS) == expected
        for engine in (None, ValueWise):
            batch = to_arrow([payload, None], USERS, read, on_error="quarantine", engine=engine)
            (row, _) = batch.to_pylist()
            assert isinstance(expected, dict)
            assert {name: row[name] for name in expected} == expected


PROMOTIONS = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "string": ("string", "bytes"),
    "bytes": ("bytes", "string"),
    "boolean": ("boolean",),
}
"""`Resolver.ReadingAction`: what Avro reads as what."""
PLAIN = {
    "int": st.integers(-(2**24), 2**24),  # a float holds it: fastavro rounds none
    "long": st.integers(-(2**24), 2**24),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "string": st.text(max_size=5),
    "bytes": st.text(max_size=5).map(str.encode),
    "boolean": st.booleans(),
}


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A writer's type, and one that Avro reads it as."""

    writer: Any
    reader: Any
    branch: Any
    """The reader's type with only the branch that Avro chooses: fastavro chooses others."""
    values: st.SearchStrategy[Any]
    shape: Callable[[Any], Any] = _same
    """What srfix makes of fastavro's value: of a union of several types a STRUCT."""


def each(pair: Pair, outer: Callable[[Any], Any], values: st.SearchStrategy[Any], shape: Callable[[Any], Any]) -> Pair:
    return Pair(
        writer=outer(pair.writer), reader=outer(pair.reader), branch=outer(pair.branch), values=values, shape=shape
    )


@st.composite
def among_others(draw: st.DrawFn, pair: Pair) -> Pair:
    """A reader's union of several types, of which Avro chooses the pair's."""
    name = pair.reader if isinstance(pair.reader, str) else pair.reader.get("name", pair.reader["type"])
    later = [type_ for type_ in PROMOTIONS.get(str(pair.writer), ()) if type_ not in (pair.writer, name)]
    beside = [type_ for type_ in (*PROMOTIONS, "double") if type_ not in (pair.writer, name)]
    if name == pair.writer:
        later = []
    before = draw(st.lists(st.sampled_from([one for one in beside if one not in later]), unique=True, max_size=2))
    left = [type_ for type_ in beside if type_ not in before]
    after = draw(st.lists(st.sampled_from(left), unique=True, min_size=not before, max_size=2))
    null = ["null"] if draw(st.booleans()) else []
    return Pair(
        writer=pair.writer,
        reader=[*before, *null, pair.reader, *after],
        branch=pair.branch,
        values=pair.values,
        shape=lambda value: dict.fromkeys((*before, *after)) | {name: pair.shape(value)},
    )


@st.composite
def promoted(draw: st.DrawFn, depth: int = 2) -> Pair:
    shapes = ["plain", "union", "nothing", "null", "array", "map", "record"]
    how = draw(st.sampled_from(shapes if depth else ["plain", "union"]))
    if how == "nothing":
        types = ["null", draw(st.sampled_from(sorted(PROMOTIONS)))]
        return Pair(writer="null", reader=types, branch=types, values=st.none())
    if how == "plain" or not depth:
        writer = draw(st.sampled_from(sorted(PROMOTIONS)))
        reader = draw(st.sampled_from(PROMOTIONS[writer]))
        pair = Pair(writer=writer, reader=reader, branch=reader, values=PLAIN[writer])
        return pair if how == "plain" else draw(among_others(pair))
    pair = draw(promoted(depth - 1))
    shape, values = pair.shape, pair.values
    match how:
        case "union" if not isinstance(pair.writer, list) and not isinstance(pair.reader, list):
            return draw(among_others(pair))
        case "null" if not isinstance(pair.writer, list) and pair.writer != "null":
            both = draw(st.booleans())
            types = pair.reader if isinstance(pair.reader, list) else [pair.reader]
            return Pair(
                writer=["null", pair.writer] if both else pair.writer,
                reader=types if "null" in types else ["null", *types],
                branch=pair.branch if isinstance(pair.branch, list) else ["null", pair.branch],
                values=st.none() | values if both else values,
                shape=lambda value: None if value is None else shape(value),
            )
        case "array":
            return each(pair, array, st.lists(values, max_size=2), lambda items: [shape(item) for item in items])
        case "map":
            return each(
                pair,
                map_of,
                st.dictionaries(st.text(max_size=3), values, max_size=2),
                lambda entries: {key: shape(value) for key, value in entries.items()},
            )
        case "record" if depth == 2:  # a name stands once in a schema
            inner = draw(promoted(0))
            return Pair(
                writer=record("In", a=pair.writer, b=inner.writer),
                reader=record("In", a=pair.reader, b=inner.reader),
                branch=record("In", a=pair.branch, b=inner.branch),
                values=st.fixed_dictionaries({"a": values, "b": inner.values}),
                shape=lambda value: {"a": shape(value["a"]), "b": inner.shape(value["b"])},
            )
        case _:
            return pair


class TestPromotions:
    """In every way of reading a value is what Avro's resolution makes of it, at any depth."""

    @given(pair=promoted(), data=st.data())
    def test_as_fastavro(self, pair: Pair, data: st.DataObject) -> None:
        writer, reader = record(v=pair.writer), record(v=pair.reader)
        registry = MemoryRegistry()
        payload = framed(registry, writer, {"v": data.draw(pair.values)})
        resolved: Any = fastavro.schemaless_reader(
            BytesIO(payload[5:]), fastavro.parse_schema(writer), record(v=pair.branch)
        )
        expected = {"v": pair.shape(resolved["v"])}
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))
        row = read(payload, USERS)
        assert row == expected
        # 5 is no 5.0
        assert json.dumps(row, default=repr, sort_keys=True) == json.dumps(expected, default=repr, sort_keys=True)
        for engine in (None, ValueWise):
            table = to_arrow([payload], USERS, read, engine=engine)
            flat = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))
            assert table.column("v").to_pylist() == to_arrow([payload], USERS, flat).column("v").to_pylist()

    @given(
        types=st.lists(st.sampled_from(sorted(PROMOTIONS)), min_size=2, max_size=4, unique=True),
        reader=st.sampled_from([*PROMOTIONS, "double"]),
        outer=st.sampled_from([lambda type_: type_, array, map_of]),
        data=st.data(),
    )
    def test_a_writers_union_under_one_type_as_fastavro(
        self, types: list[str], reader: str, outer: Callable[[Any], Any], data: st.DataObject
    ) -> None:
        """A value of another branch makes a bad row."""
        written = data.draw(st.sampled_from(types))
        value = data.draw(PLAIN[written])
        if outer is not array and outer is not map_of:
            datum: Any = (written, value)
        else:
            datum = [(written, value)] if outer is array else {"k": (written, value)}
        writer = record(v=outer(["null", *types]))
        registry = MemoryRegistry()
        payload = framed(registry, writer, {"v": datum})
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(record(v=outer(["null", reader]))))
        if reader not in PROMOTIONS[written]:
            with pytest.raises(IncompatibleTypeError, match=r"[Aa]t v\b"):
                read(payload, USERS)
            batch = to_arrow([payload], USERS, read, on_error="quarantine")
            assert batch.column("_srfix_reason").to_pylist() == ["TYPE_MISMATCH"]
            return
        expected: Any = fastavro.schemaless_reader(
            BytesIO(payload[5:]), fastavro.parse_schema(writer), record(v=outer(["null", reader]))
        )
        row = read(payload, USERS)
        assert json.dumps(row, default=repr) == json.dumps(expected, default=repr)
        value = expected["v"]
        for engine in (None, ValueWise):
            column = to_arrow([payload], USERS, read, engine=engine).column("v").to_pylist()
            assert column == [list(value.items()) if isinstance(value, dict) else value]

    @given(
        types=st.lists(st.sampled_from(["null", *PROMOTIONS]), min_size=3, max_size=5, unique=True),
        reader=st.lists(st.sampled_from(["null", "double", *PROMOTIONS]), min_size=3, max_size=4, unique=True),
        outer=st.sampled_from([lambda type_: type_, array, map_of]),
        data=st.data(),
    )
    def test_a_union_of_both_schemas_as_fastavro(
        self, types: list[str], reader: list[str], outer: Callable[[Any], Any], data: st.DataObject
    ) -> None:
        """A value of a branch that the reader lacks makes a bad row."""
        written = data.draw(st.sampled_from([one for one in types if one != "null" or "null" in reader]))
        kinds = [written] if written in reader else [one for one in reader if one in PROMOTIONS[written]]
        # Of null, any type beside it.
        kinds = ["int"] if written == "null" else kinds
        datum: Any = None if written == "null" else (written, data.draw(PLAIN[written]))
        datum = [datum] if outer is array else {"k": datum} if outer is map_of else datum
        registry = MemoryRegistry()
        writer = record(v=outer(types))
        payload = framed(registry, writer, {"v": datum})
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(record(v=outer(reader))))
        batches = [to_arrow([payload], USERS, read, on_error="quarantine", engine=each) for each in (None, ValueWise)]
        assert batches[0] == batches[1]
        if not kinds:
            with pytest.raises(IncompatibleTypeError, match=r"[Aa]t v\b"):
                read(payload, USERS)
            assert batches[0].column("_srfix_reason").to_pylist() == ["TYPE_MISMATCH"]
            return
        resolved: Any = fastavro.schemaless_reader(
            BytesIO(payload[5:]), fastavro.parse_schema(writer), record(v=outer(["null", kinds[0]]))
        )

        def shaped(value: Any) -> Any:
            return None if value is None else dict.fromkeys(set(reader) - {"null"}) | {kinds[0]: value}

        value = resolved["v"]
        if outer is array:
            expected: Any = [shaped(item) for item in value]
        else:
            expected = {key: shaped(item) for key, item in value.items()} if outer is map_of else shaped(value)
        row: Any = read(payload, USERS)
        assert json.dumps(row["v"], default=repr, sort_keys=True) == json.dumps(expected, default=repr, sort_keys=True)

    @pytest.mark.parametrize(
        ("writer", "value", "read"),
        [
            ("int", 16_777_217, 16_777_216.0),
            ("long", 16_777_219, 16_777_220.0),
            ("long", (1 << 60) + (1 << 36) + 1, float((1 << 60) + (1 << 37))),  # by way of a double it would be 1 << 60
            ("long", -(2**63), -(2.0**63)),
            ("long", 2**63 - 1, 2.0**63),
            ("int", 0, 0.0),
        ],
    )
    def test_a_float_has_32_bits_and_is_rounded_once(self, writer: str, value: int, read: float) -> None:
        """As Java's cast."""
        registry = MemoryRegistry()
        payload = framed(registry, record(v=writer), {"v": value})
        deserialize = AvroDeserializer(ById(registry), reader_schema=json.dumps(record(v="float")))
        assert deserialize(payload, USERS) == {"v": read}
        assert to_arrow([payload], USERS, deserialize).column("v").to_pylist() == [read]

    def test_bytes_that_are_no_text_make_a_bad_row(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, record(v="bytes"), {"v": b"\xff"})
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(record(v="string")))
        with pytest.raises(DecodeError, match=r"[Aa]t v\b"):
            read(payload, USERS)

    def test_a_branch_of_a_union_goes_where_the_reader_has_it(self) -> None:
        registry = MemoryRegistry()
        writer, reader = record(v=["null", "int", "string"]), record(v=["null", "string", "double"])
        read = AvroDeserializer(ById(registry), reader_schema=json.dumps(reader))
        rows = [read(framed(registry, writer, {"v": value}), USERS) for value in (5, "x", None)]
        assert rows == [{"v": {"string": None, "double": 5.0}}, {"v": {"string": "x", "double": None}}, {"v": None}]

    def test_columns_take_what_the_reader_has(self) -> None:
        registry = MemoryRegistry()
        payload = framed(registry, record(v="int"), {"v": 5})
        read = AvroDeserializer(ById(registry), columns="V STRING", reader_schema=json.dumps(record(v="double")))
        assert read(payload, USERS) == {"V": "5.0"}

    def test_a_plan_of_the_newest_schema_reads_the_older_rows(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        """Seen wrong: each row of the older version was a TYPE_MISMATCH, though the registry calls it BACKWARD-compatible."""
        older, newer = record(n="int", s="string"), record(n="double", s="bytes")
        first = registry.seed("users-value", json.dumps(older))
        registry.seed("users-value", json.dumps(newer))
        row = decoded(plan_read(client, "users", NEWEST), frame_id(first, body(older, {"n": 5, "s": "x"})))
        assert (row["reason"], row["row"]) == (None, {"n": 5.0, "s": b"x"})
        jvm_read(plan_read(client, "users", NEWEST))

    @pytest.mark.parametrize(
        ("older", "value", "newer", "read"),
        [
            ("int", 5, "double", 5.0),
            ("string", "x", ["null", "bytes"], b"x"),
            (record("A", x="int"), {"x": 1}, [record("A", x="long"), "string"], {"A": {"x": 1}, "string": None}),
            ([record("A", x="int"), "int"], 5, ["double", record("A", x="int")], {"double": 5.0, "A": None}),
        ],
    )
    def test_so_does_one_of_a_newest_schema_that_is_no_record(
        self, registry: FixtureRegistry, client: RegistryClient, older: Any, value: object, newer: Any, read: object
    ) -> None:
        """Seen wrong: a record was a STRUCT of nulls under a union that has it."""
        registry.configure("users-value", {"compatibility": "NONE"})
        first = registry.seed("users-value", json.dumps(older))
        registry.seed("users-value", json.dumps(newer))
        row = decoded(plan_read(client, "users", NEWEST), frame_id(first, body(older, value)))
        assert (row["reason"], row["row"]) == (None, {"ROWVAL": read})


def decoded(plan: ReadPlan, payload: bytes) -> Any:
    return PlanDecoder(pickle.loads(pickle.dumps(plan)))(pa.array([payload])).to_pylist()[0]


class TestPlans:
    def _seed(self, registry: FixtureRegistry) -> bytes:
        registry.configure("users-value", {"compatibility": "NONE"})
        first = registry.seed("users-value", json.dumps(OLD))
        registry.seed("users-value", json.dumps(NEW))
        return frame_id(first, body(OLD, WRITTEN))

    def test_newest_takes_them_without_being_asked(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        payload = self._seed(registry)
        plan = plan_read(client, "users", NEWEST)
        assert plan.reader is not None
        assert json.loads(plan.reader.text) == NEW
        assert [planned.problem for planned in plan.schemas] == [None, None]
        assert plan.deserializer()(payload, USERS) == READ
        row = decoded(plan, payload)
        assert row["reason"] is None
        assert row["row"] == READ
        assert "version 2 of 'users-value', the newest, count" in plan.explain().splitlines()[1]
        assert "<- mail" in plan.explain(extended=True)
        assert "<- 7: the default" in plan.explain(extended=True)
        assert plan != plan_read(client, "users", plan.columns, missing_columns="null")
        jvm_read(plan)  # Spark's Avro does as well; tests/spark reads it

    def test_a_union_of_one_of_the_two_schemas_is_explained(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        writer = record(a="int", b=["int", "string"], c="int", d="null", e=["null", "boolean"])
        registry.seed("users-value", json.dumps(writer))
        reader = record(a=["null", "long", "string"], b="long", c="int", d=["null", "int"], e=["null", "int"])
        plan = plan_read(client, "users", reader_schema=json.dumps(reader))
        jvm_read(plan)
        said = " ".join(plan.explain(extended=True).split())
        assert [planned.problem for planned in plan.schemas] == [None]
        for line in (
            "a->string <- null: the default",
            "b BIGINT <- b (union of int, string",
            "b BIGINT <- b->string (makes the row bad: At b",
            "d INTEGER <- d (null to INTEGER)",
            "e INTEGER <- e (makes the row bad: At e",
        ):
            assert line in said

    def test_a_branch_of_both_schemas_that_the_reader_lacks_is_explained(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", json.dumps(record(a=["int", "boolean"])))
        plan = plan_read(client, "users", reader_schema=json.dumps(record(a=["long", "string"])))
        said = " ".join(plan.explain(extended=True).split())
        assert [planned.problem for planned in plan.schemas] == [None]
        assert "a->long <- a->long (int to BIGINT)" in said
        assert "a->string <- null: the default of the reader's schema" in said
        assert "<- a->boolean (makes the row bad: At a, a column of the type STRUCT" in said

    @pytest.mark.parametrize(
        ("types", "reader", "column"), [(["int", "float"], "float", "DOUBLE"), (["int", "string"], "long", "BYTES")]
    )
    def test_the_jvm_engine_refuses_a_union_that_it_does_not_read_in_one_way(
        self, registry: FixtureRegistry, client: RegistryClient, types: list[str], reader: str, column: str
    ) -> None:
        registry.seed("users-value", json.dumps(record(v=types)))
        plan = plan_read(client, "users", f"`v` {column}", reader_schema=json.dumps(record(v=reader)))
        with pytest.raises(EngineRefusedError, match="its branches are not all read in the same way"):
            jvm_read(plan)

    @pytest.mark.parametrize(
        ("written", "items"),
        [("int", ["null", "double"]), (["long", "string"], ["null", "double"]), ("float", "double")],
    )
    def test_the_jvm_engine_makes_no_float_of_an_int_in_an_array_of_doubles(
        self, registry: FixtureRegistry, client: RegistryClient, written: Any, items: Any
    ) -> None:
        """As Avro 1.12.0 does, unless null is allowed, too."""
        registry.seed("users-value", json.dumps(record(v=array(written))))
        plan = plan_read(client, "users", reader_schema=json.dumps(record(v=array("double"))))
        (shape,) = jvm_read(plan).shapes
        assert json.dumps({"type": "array", "items": items}, separators=(",", ":")) in shape.reader_schema

    def test_a_default_does_not_hide_an_array_that_is_skipped(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", json.dumps(record(a="int", b=array("int"))))
        reader = record_of("R", field("a", "int"), field("c", array("int"), default=[]))
        (shape,) = jvm_read(plan_read(client, "users", reader_schema=json.dumps(reader))).shapes
        assert shape.skips_items

    @pytest.mark.parametrize("columns", [None, "`bytes` BYTES, `int` INT"])
    def test_the_jvm_engine_refuses_bare_bytes_also_as_a_type_of_the_readers_union(
        self, registry: FixtureRegistry, client: RegistryClient, columns: str | None
    ) -> None:
        first = registry.seed("users-value", '"bytes"')
        plan = plan_read(client, "users", columns, reader_schema='["int", "bytes"]')
        row = {"int": None, "bytes": b"x"}
        assert decoded(plan, frame_id(first, b"x"))["row"] == (row if columns else {"ROWVAL": row})
        with pytest.raises(EngineRefusedError, match="bare bytes are written without their length"):
            jvm_read(plan)

    def test_the_jvm_engine_refuses_a_union_under_a_record_that_java_reads_from_any(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        """Seen wrong: a row with the other type was a STRUCT of nulls."""
        registry.seed("users-value", json.dumps(record(v=[record("A", z="int"), "long"])))
        reader = record(v=record_of("A", field("y", "int", default=1)))
        plan = plan_read(client, "users", reader_schema=json.dumps(reader))
        with pytest.raises(EngineRefusedError, match="Java would read any other record as this one"):
            jvm_read(plan)

    def test_a_union_of_records_under_one_of_them_is_no_problem_of_every_row(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", json.dumps([record("A", x="int"), record("B", y="int")]))
        plan = plan_read(client, "users", reader_schema=json.dumps(record("B", y="int")))
        assert [planned.problem for planned in plan.schemas] == [None]
        with pytest.raises(EngineRefusedError, match="its root is a union"):
            jvm_read(plan)

    def test_a_reader_with_nothing_that_spark_has_gives_no_plan(self, client: RegistryClient) -> None:
        time = {"type": "int", "connect.name": "org.apache.kafka.connect.data.Time"}
        reader = record("User", at=time)
        says = r"^reader_schema gives no columns: The schema does not include any .* at: Spark"
        with pytest.raises(ColumnError, match=says):
            plan_read(client, "users", reader_schema=json.dumps(reader))

    def test_a_readers_schema_can_be_given(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        payload = self._seed(registry)
        plan = plan_read(client, "users", reader_schema=json.dumps(NEW))
        assert plan.deserializer()(payload, USERS) == READ
        assert plan.columns == plan_read(client, "users", NEWEST).columns
        some = plan_read(client, "users", "`email` STRING, `points` INT", reader_schema=json.dumps(NEW), strict=True)
        assert some.deserializer()(payload, USERS) == {"email": "a@b", "points": 7}
        assert "of the reader's schema count" in some.explain()

    def test_it_may_be_one_that_the_registry_has(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        payload = self._seed(registry)
        second = client.version("users-value", 2)
        given = plan_read(client, "users", reader_schema=json.dumps(NEW))
        for plan in (
            plan_read(client, "users", reader_version=2),
            plan_read(client, "users", reader_id=second.schema_id),
        ):
            assert plan.columns == given.columns
            assert plan.deserializer()(payload, USERS) == READ
        with pytest.raises(UsageError, match="reader_version= and reader_id= each give the reader's schema"):
            plan_read(client, "users", reader_version=2, reader_id=second.schema_id)
        with pytest.raises(UsageError, match="leave out NEWEST"):
            plan_read(client, "users", NEWEST, reader_version=2)
        with pytest.raises(RegistryError, match="40402"):
            plan_read(client, "users", reader_version=9)
        with pytest.raises(UsageError, match="the case rule 'ksqldb' reads like ksqlDB"):
            plan_read(client, "users", "ID BIGINT", reader_version=2, case_rule=CaseRule.KSQLDB)

    def test_under_named_columns_they_do_not_count_and_it_says_so_first(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        payload = self._seed(registry)
        for rule in CaseRule:
            names = (
                "`id` BIGINT, `email` STRING, `points` INT"
                if rule is CaseRule.EXACT
                else "ID BIGINT, EMAIL STRING, POINTS INT"
            )
            plan = plan_read(client, "users", names, case_rule=rule)
            assert plan.reader is None
            row = plan.deserializer()(payload, USERS)
            assert isinstance(row, dict)
            assert list(row.values()) == [1, None, None]
            assert "defaults in the schemas do not count" in plan.explain().splitlines()[1]
        ksqldb = plan_read(client, "users", NEWEST, case_rule=CaseRule.KSQLDB)
        assert ksqldb.reader is None
        assert "as in ksqlDB: " in ksqldb.explain().splitlines()[1]

    @pytest.mark.parametrize("default", ["NaN", float("inf")])
    def test_the_jvm_engine_refuses_a_default_that_java_has_no_word_for(
        self, registry: FixtureRegistry, client: RegistryClient, default: object
    ) -> None:
        old, new = record(a="int"), record_of("R", field("a", "int"), field("b", "double", default=default))
        registry.seed("users-value", json.dumps(old))
        plan = plan_read(
            client, "users", "`a` INT, `b` DOUBLE", reader_schema=json.dumps(new).replace("Infinity", "1e400")
        )
        with pytest.raises(Exception, match="Java does not accept the default"):
            jvm_read(plan)

    def test_what_they_cannot_mean(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        self._seed(registry)
        text = json.dumps(NEW)
        with pytest.raises(UsageError, match=r"^Name the columns of the rows, or pass NEWEST"):
            plan_read(client, "users")
        with pytest.raises(UsageError, match="leave out NEWEST"):
            plan_read(client, "users", NEWEST, reader_schema=text)
        with pytest.raises(UsageError, match="any format but Avro"):
            plan_read(client, "users", "ID INT", format=Format.JSON, reader_schema=text)
        with pytest.raises(UsageError, match="the case rule 'ksqldb' reads like ksqlDB"):
            plan_read(client, "users", "ID INT", case_rule=CaseRule.KSQLDB, reader_schema=text)
