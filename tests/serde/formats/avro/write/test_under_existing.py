"""Writing columns under a schema that exists (`AvroSRSchemaDataTranslator`, `Struct.put`, `Struct.get`, AvroData).

| the schema's field | the row | written |
|---|---|---|
| int | column of the name, INT | the value |
| int | null | refused |
| int, default 5 | null | 5 |
| int, default 5 | no column | 5 |
| null or int | no column | null |
| int or null, default 5 | no column | null: AvroData loses the default |
| null or int with connect.default 5 | no column, or null | 5 |
| int | no column | refused before any row |
| no field | column | refused before any row |
| long | INT column | refused: nothing is coerced |
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest

from srfix.serde import CaseRule, ColumnError, EncodeError, SchemaError, parse_columns
from srfix.serde.formats.avro.write.encoder import encoder_under
from srfix.serde.specs import WriteSpec
from tests.serde import avro_schemas as avro

NONE = object()
CENTS = avro.decimal(6, 2)
DAYS = avro.DATE


def _field(name: str, type_: object, default: object = NONE) -> dict[str, object]:
    return {"name": name, "type": type_} | ({} if default is NONE else {"default": default})


def _record(*fields: dict[str, object], name: str = "R") -> dict[str, object]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _written(schema: Any, columns: str, row: object) -> Any:
    body = encoder_under(json.dumps(schema), WriteSpec(columns=parse_columns(columns)))(row, b"")
    return fastavro.schemaless_reader(BytesIO(body), schema, None)


class TestFields:
    def test_columns_go_to_the_fields_of_their_names_wherever_these_stand(self) -> None:
        schema = _record(_field("B", "string"), _field("x", ["null", "int"], None), _field("A", "int"))
        assert _written(schema, "A INT, B STRING", {"A": 1, "B": "b"}) == {"B": "b", "x": None, "A": 1}

    def test_names_are_exact(self) -> None:
        with pytest.raises(EncodeError, match=r"the schema misses field with name: FOO") as caught:
            encoder_under(json.dumps(_record(_field("foo", "int", 0))), WriteSpec(columns=parse_columns("FOO INT")))
        assert caught.value.paths == ("->FOO",)
        assert _written(_record(_field("foo", "int")), "`foo` INT", {"foo": 1}) == {"foo": 1}

    def test_a_dot_is_an_underscore(self) -> None:
        assert _written(_record(_field("a_b", "int")), "`a.b` INT", {"a.b": 1}) == {"a_b": 1}
        with pytest.raises(ColumnError):
            encoder_under(
                json.dumps(_record(_field("a_b", "int"))), WriteSpec(columns=parse_columns("`a.b` INT, `a_b` INT"))
            )

    def test_a_required_field_that_no_column_fills_is_refused_before_any_row(self) -> None:
        schema = _record(_field("A", "int"), _field("x", "int"), _field("y", "long"))
        missing = r"missing default value for required Avro field: \[x\], .*; missing default value .* \[y\]"
        with pytest.raises(EncodeError, match=rf"under the record R: {missing}"):
            encoder_under(json.dumps(schema), WriteSpec(columns=parse_columns("A INT")))

    @pytest.mark.parametrize(
        ("type_", "default", "read"),
        [
            ("int", 5, 5),
            ("string", "x", "x"),
            ("boolean", True, True),
            ("double", 1, 1.0),
            ("bytes", "\u00ff", b"\xff"),
            (avro.fixed(2), "\u00ff\u0001", b"\xff\x01"),
            (CENTS, "\u0001", Decimal("0.01")),
            (DAYS, 20455, datetime.date(2026, 1, 2)),
            (avro.MILLIS, 1000, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)),
            (avro.enum("A", "B"), "B", "B"),
            (avro.array(CENTS), ["\u0001"], [Decimal("0.01")]),
            (avro.map_of("bytes"), {"k": "\u00ff"}, {"k": b"\xff"}),
            (_record(_field("p", "bytes"), _field("q", "int", 3), name="N"), {"p": "a"}, {"p": b"a", "q": 3}),
            (["int", "string", "null"], 7, 7),
            # An optional one is null unless Connect has a default.
            (["null", "int"], NONE, None),
            (["null", "int"], None, None),
            (["int", "null"], 5, None),
            (["null", {"type": "int", "connect.default": 5}], None, 5),
            (["null", "int", "string"], None, None),
        ],
    )
    def test_an_extra_field_takes_its_default_of_any_kind(self, type_: object, default: object, read: object) -> None:
        schema = _record(_field("A", "int"), _field("x", type_, default))
        assert _written(schema, "A INT", {"A": 1}) == {"A": 1, "x": read}


class TestNulls:
    def test_null_in_a_required_field_is_refused_with_its_path(self) -> None:
        schema = _record(_field("A", "int"), _field("B", ["int"]))
        with pytest.raises(EncodeError, match=r"A needs an integer .*; B is null, but the") as caught:
            _written(schema, "A INT, B INT", {"A": None, "B": None})
        assert caught.value.paths == ("->A", "->B")

    def test_a_missing_key_is_null(self) -> None:
        assert _written(_record(_field("A", ["null", "int"])), "A INT", {}) == {"A": None}
        with pytest.raises(EncodeError, match=r"A is missing"):
            _written(_record(_field("A", "int")), "A INT", {})

    @pytest.mark.parametrize("row", [{"A": None, "B": None}, {}])
    def test_null_where_the_schema_has_a_default_is_the_default(self, row: dict[str, object]) -> None:
        schema = _record(_field("A", "int", 5), _field("B", ["null", {"type": "string", "connect.default": "x"}]))
        assert _written(schema, "A INT, B STRING", row) == {"A": 5, "B": "x"}
        assert _written(schema, "A INT, B STRING", {"A": 1, "B": "y"}) == {"A": 1, "B": "y"}


class TestTypes:
    @pytest.mark.parametrize(
        ("type_", "column", "value"),
        [
            ("int", "INT", 1),
            ("long", "BIGINT", 2**40),
            ("double", "DOUBLE", 1.5),
            ("boolean", "BOOLEAN", True),
            ("string", "STRING", "x"),
            (avro.enum("A", "B"), "STRING", "B"),
            ("bytes", "BYTES", b"x"),
            (avro.fixed(2), "BYTES", b"xy"),
            (CENTS, "DECIMAL(4, 2)", Decimal("12.34")),
            (DAYS, "DATE", datetime.date(2026, 1, 2)),
            (avro.TIME_MILLIS, "TIME", datetime.time(1, 2, 3)),
            (avro.array("int"), "ARRAY<INT>", [1]),
            (avro.map_of(["null", "int"]), "MAP<STRING, INT>", {"k": 1, "l": None}),
            (_record(_field("X", "int"), name="I"), "STRUCT<X INT>", {"X": 1}),
            (["null", "int"], "INT", None),
        ],
    )
    def test_the_same_type_is_written(self, type_: object, column: str, value: object) -> None:
        assert _written(_record(_field("F", type_)), f"F {column}", {"F": value}) == {"F": value}

    def test_a_logical_type_that_connect_does_not_know_is_what_it_is_made_of(self) -> None:
        at = datetime.datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=datetime.UTC)
        assert _written(_record(_field("F", avro.MICROS)), "F BIGINT", {"F": 7}) == {"F": at}

    @pytest.mark.parametrize(
        ("type_", "column", "value"),
        [
            ("long", "INT", 1),
            ("int", "BIGINT", 1),
            ("float", "DOUBLE", 1.5),
            ("string", "INT", 1),
            (DAYS, "INT", 1),
            ("int", "DATE", datetime.date(2026, 1, 2)),
            ({"type": "int", "connect.type": "int16"}, "INT", 1),
            ("bytes", "DECIMAL(4, 2)", Decimal("1.00")),
            (CENTS, "DECIMAL(4, 1)", Decimal("1.0")),
            (CENTS, "BYTES", b"x"),
            (["null", "int", "string"], "INT", 1),
            (avro.array("long"), "ARRAY<INT>", [1]),
        ],
    )
    def test_nothing_is_coerced(self, type_: object, column: str, value: object) -> None:
        with pytest.raises(EncodeError, match=r"^1 field does not fit: F"):
            _written(_record(_field("F", type_)), f"F {column}", {"F": value})

    @pytest.mark.parametrize("type_", [["null", "long"], ["null", "int", "string"]])
    def test_null_of_a_wrong_type_is_null(self, type_: object) -> None:
        # ConnectSchema.validateValue has nothing to look at.
        assert _written(_record(_field("F", type_)), "F DOUBLE", {"F": None}) == {"F": None}

    @pytest.mark.parametrize("value", ["123.45", "1.234"])
    def test_a_decimal_fits_its_column_too(self, value: str) -> None:
        with pytest.raises(EncodeError, match=r"F needs a number that fits DECIMAL\("):
            _written(_record(_field("F", CENTS)), "F DECIMAL(4, 2)", {"F": Decimal(value)})

    def test_structs_are_matched_by_name_at_every_level(self) -> None:
        inner = _record(_field("x", "int", 9), _field("B", "int"), _field("A", ["null", "int"]), name="I")
        schema = _record(_field("L", avro.array(["null", inner])), _field("M", avro.map_of("I")))
        columns = "L ARRAY<STRUCT<A INT, B INT>>, M MAP<STRING, STRUCT<A INT, B INT>>"
        value = {"A": 1, "B": 2}
        assert _written(schema, columns, {"L": [value, None], "M": {"k": value}}) == {
            "L": [{"x": 9, "B": 2, "A": 1}, None],
            "M": {"k": {"x": 9, "B": 2, "A": 1}},
        }

    def test_a_struct_that_does_not_go_with_its_record_is_refused_where_there_is_one(self) -> None:
        schema = _record(_field("S", ["null", _record(_field("x", "int"), name="I")]))
        assert _written(schema, "S STRUCT<A INT>", {"S": None}) == {"S": None}
        with pytest.raises(EncodeError, match=r"S cannot be written as record I: .* name: A; missing .* \[x\]"):
            _written(schema, "S STRUCT<A INT>", {"S": {"A": 1}})

    def test_a_map_may_be_an_array_of_entries(self) -> None:
        schema = avro.record(M=avro.entries(["null", "string"], "int"))
        assert _written(schema, "M MAP<STRING, INT>", {"M": {"k": 1}}) == {"M": [{"key": "k", "value": 1}]}


INT_STRING = ["int", "string"]
INT_OR_STRING = "STRUCT<`int` INT, `string` STRING>"


class TestUnions:
    """A union of several types is a STRUCT of its branches: AvroData.toConnectSchema, and fromConnectData's inverting."""

    UNION = ("null", DAYS, CENTS, _record(_field("x", "int"), name="n.Q"), avro.array("int"), "string")
    COLUMN = "U STRUCT<`int` DATE, `bytes` DECIMAL(6, 2), Q STRUCT<`x` INT>, `array` ARRAY<INT>, `string` STRING>"

    @pytest.mark.parametrize(
        ("row", "read"),
        [
            ({"int": datetime.date(2026, 1, 2)}, datetime.date(2026, 1, 2)),
            ({"bytes": Decimal("1.5"), "int": None}, Decimal("1.50")),
            ({"Q": {"x": 3}}, {"x": 3}),
            ({"array": [1]}, [1]),
            ({"string": "s"}, "s"),
            ({"string": None}, None),
            ({}, None),
            (None, None),
        ],
    )
    def test_the_branch_that_is_not_null_is_written(self, row: object, read: object) -> None:
        assert _written(_record(_field("U", list(self.UNION))), self.COLUMN, {"U": row}) == {"U": read}

    def test_at_every_level(self) -> None:
        row = {"A": [{"int": 1}, {"string": "s"}, None]}
        read = _written(avro.record(A=avro.array(["null", "int", "string"])), f"A ARRAY<{INT_OR_STRING}>", row)
        assert read == {"A": [1, "s", None]}

    @pytest.mark.parametrize(
        ("type_", "column", "value", "message"),
        [
            (INT_STRING, "STRUCT<`int` INT>", {"int": "s"}, "F->int needs an integer"),
            (INT_STRING, "STRUCT<`int` INT>", {"INT": 1}, "F->INT feeds no column or field"),
            (INT_STRING, "STRUCT<`int` INT>", {}, "F is null, but the schema does not allow that"),
            (INT_STRING, "STRUCT<`int` INT>", None, "F is null, but the schema does not allow that"),
            (INT_STRING, "STRUCT<`long` BIGINT>", {"long": 1}, "F cannot be written as union .*no branch is named"),
            (
                INT_STRING,
                INT_OR_STRING,
                {"int": 1, "string": "s"},
                "F has several values, but a union holds only one",
            ),
            (
                [avro.record("a.Q", x="int"), avro.record("b.Q", x="int")],
                "STRUCT<Q STRUCT<`x` INT>>",
                {"Q": {"x": 1}},
                "F cannot be written as union .*two branches have the same name",
            ),
        ],
    )
    def test_what_no_branch_takes_is_refused(self, type_: object, column: str, value: object, message: str) -> None:
        with pytest.raises(EncodeError, match=f"^1 field does not fit: {message}"):
            _written(_record(_field("F", type_)), f"F {column}", {"F": value})


class TestRoots:
    def test_a_root_that_is_no_record_takes_no_wrapped_columns(self) -> None:
        with pytest.raises(SchemaError, match=r"written as a record, but the schema is a int\.$"):
            encoder_under('"int"', WriteSpec(columns=parse_columns("A INT")))

    def test_a_nullable_record_is_one(self) -> None:
        body = encoder_under(
            json.dumps(["null", _record(_field("A", "int"))]), WriteSpec(columns=parse_columns("A INT"))
        )
        assert body({"A": 1}, b"12345") == b"12345\x02\x02"

    def test_an_unwrapped_column_is_the_root(self) -> None:
        write = encoder_under('"long"', WriteSpec(columns=parse_columns("A BIGINT"), wrap=False))
        assert write({"A": 1}, b"") == b"\x02"
        with pytest.raises(EncodeError, match=r"A is INTEGER, which cannot be written as long"):
            encoder_under('"long"', WriteSpec(columns=parse_columns("A INT"), wrap=False))({"A": 1}, b"")

    def test_references_are_followed(self) -> None:
        inner = json.dumps(_record(_field("X", "int"), name="I"))
        text = json.dumps(_record(_field("S", "I")))
        write = encoder_under(text, WriteSpec(columns=parse_columns("S STRUCT<X INT>")), references=(inner,))
        assert write({"S": {"X": 1}}, b"") == b"\x02"

    def test_a_row_s_names_are_matched_by_the_case_rule(self) -> None:
        schema = _record(_field("A", "int", 1))
        assert _written(schema, "A INT", {"a": 2}) == {"A": 2}
        exact = WriteSpec(columns=parse_columns("A INT"), case_rule=CaseRule.EXACT)
        with pytest.raises(EncodeError, match=r"a feeds no column"):
            encoder_under(json.dumps(schema), exact)({"a": 1}, b"")
