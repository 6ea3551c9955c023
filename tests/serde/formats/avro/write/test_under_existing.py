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
from typing import cast

import fastavro
import pytest

from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import ColumnError, EncodeError, SchemaError
from srfix.serde.formats.avro.write.under_existing import encoder_under

NONE = object()
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
DAYS = {"type": "int", "logicalType": "date"}


def _field(name: str, type_: object, default: object = NONE) -> dict[str, object]:
    return {"name": name, "type": type_} | ({} if default is NONE else {"default": default})


def _record(*fields: dict[str, object], name: str = "R") -> dict[str, object]:
    return {"type": "record", "name": name, "fields": list(fields)}


def _written(schema: object, columns: str, row: object) -> dict[str, object]:
    body = encoder_under(json.dumps(schema), columns=parse_columns(columns))(row, b"")
    read = fastavro.schemaless_reader(BytesIO(body), cast("dict[str, object]", schema), None)
    return cast("dict[str, object]", read)


class TestFields:
    def test_columns_go_to_the_fields_of_their_names_wherever_these_stand(self) -> None:
        schema = _record(_field("B", "string"), _field("x", ["null", "int"], None), _field("A", "int"))
        assert _written(schema, "A INT, B STRING", {"A": 1, "B": "b"}) == {"B": "b", "x": None, "A": 1}

    def test_names_are_exact(self) -> None:
        with pytest.raises(EncodeError, match=r"the schema misses field with name: FOO") as caught:
            encoder_under(json.dumps(_record(_field("foo", "int", 0))), columns=parse_columns("FOO INT"))
        assert caught.value.paths == ("->FOO",)
        assert _written(_record(_field("foo", "int")), "`foo` INT", {"foo": 1}) == {"foo": 1}

    def test_a_dot_is_an_underscore(self) -> None:
        assert _written(_record(_field("a_b", "int")), "`a.b` INT", {"a.b": 1}) == {"a_b": 1}
        with pytest.raises(ColumnError):
            encoder_under(json.dumps(_record(_field("a_b", "int"))), columns=parse_columns("`a.b` INT, `a_b` INT"))

    def test_a_required_field_that_no_column_fills_is_refused_before_any_row(self) -> None:
        schema = _record(_field("A", "int"), _field("x", "int"), _field("y", "long"))
        with pytest.raises(
            EncodeError,
            match=r"^Rows of these columns cannot be written under the record R: missing default value for required Avro "
            r"field: \[x\], which no column fills; missing default value for required Avro field: \[y\], which",
        ):
            encoder_under(json.dumps(schema), columns=parse_columns("A INT"))

    @pytest.mark.parametrize(
        ("type_", "default", "read"),
        [
            ("int", 5, 5),
            ("string", "x", "x"),
            ("boolean", True, True),
            ("double", 1, 1.0),
            ("bytes", "\u00ff", b"\xff"),
            ({"type": "fixed", "name": "F", "size": 2}, "\u00ff\u0001", b"\xff\x01"),
            (CENTS, "\u0001", Decimal("0.01")),
            (DAYS, 20455, datetime.date(2026, 1, 2)),
            (
                {"type": "long", "logicalType": "timestamp-millis"},
                1000,
                datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
            ),
            ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
            ({"type": "array", "items": CENTS}, ["\u0001"], [Decimal("0.01")]),
            ({"type": "map", "values": "bytes"}, {"k": "\u00ff"}, {"k": b"\xff"}),
            (_record(_field("p", "bytes"), _field("q", "int", 3), name="N"), {"p": "a"}, {"p": b"a", "q": 3}),
            (["int", "string", "null"], 7, 7),
        ],
    )
    def test_an_extra_field_takes_its_default_of_any_kind(self, type_: object, default: object, read: object) -> None:
        schema = _record(_field("A", "int"), _field("x", type_, default))
        assert _written(schema, "A INT", {"A": 1}) == {"A": 1, "x": read}

    @pytest.mark.parametrize(
        ("type_", "default", "read"),
        [
            (["null", "int"], NONE, None),
            (["null", "int"], None, None),
            (["int", "null"], 5, None),
            (["null", {"type": "int", "connect.default": 5}], None, 5),
            (["null", "int", "string"], None, None),
        ],
    )
    def test_an_optional_one_is_null_unless_connect_has_a_default(
        self, type_: object, default: object, read: object
    ) -> None:
        schema = _record(_field("A", "int"), _field("x", type_, default))
        assert _written(schema, "A INT", {"A": 1}) == {"A": 1, "x": read}


class TestNulls:
    def test_null_in_a_required_field_is_refused_with_its_path(self) -> None:
        schema = _record(_field("A", "int"), _field("B", ["int"]))
        with pytest.raises(
            EncodeError, match=r"->A needs an integer .* got NoneType None; ->B is null, and the"
        ) as caught:
            _written(schema, "A INT, B INT", {"A": None, "B": None})
        assert caught.value.paths == ("->A", "->B")

    def test_a_missing_key_is_null(self) -> None:
        assert _written(_record(_field("A", ["null", "int"])), "A INT", {}) == {"A": None}
        with pytest.raises(EncodeError, match=r"->A is missing"):
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
            ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "STRING", "B"),
            ("bytes", "BYTES", b"x"),
            ({"type": "fixed", "name": "F", "size": 2}, "BYTES", b"xy"),
            (CENTS, "DECIMAL(4, 2)", Decimal("12.34")),
            (DAYS, "DATE", datetime.date(2026, 1, 2)),
            ({"type": "int", "logicalType": "time-millis"}, "TIME", datetime.time(1, 2, 3)),
            ({"type": "array", "items": "int"}, "ARRAY<INT>", [1]),
            ({"type": "map", "values": ["null", "int"]}, "MAP<STRING, INT>", {"k": 1, "l": None}),
            (_record(_field("X", "int"), name="I"), "STRUCT<X INT>", {"X": 1}),
            (["null", "int"], "INT", None),
        ],
    )
    def test_the_same_type_is_written(self, type_: object, column: str, value: object) -> None:
        assert _written(_record(_field("F", type_)), f"F {column}", {"F": value}) == {"F": value}

    def test_a_logical_type_that_connect_does_not_know_is_what_it_is_made_of(self) -> None:
        schema = _record(_field("F", {"type": "long", "logicalType": "timestamp-micros"}))
        at = datetime.datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=datetime.UTC)
        assert _written(schema, "F BIGINT", {"F": 7}) == {"F": at}

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
            ({"type": "array", "items": "long"}, "ARRAY<INT>", [1]),
        ],
    )
    def test_nothing_is_coerced(self, type_: object, column: str, value: object) -> None:
        with pytest.raises(EncodeError, match=r"^1 field does not fit: ->F"):
            _written(_record(_field("F", type_)), f"F {column}", {"F": value})

    @pytest.mark.parametrize("type_", [["null", "long"], ["null", "int", "string"]])
    def test_null_of_a_wrong_type_is_null(self, type_: object) -> None:
        # ConnectSchema.validateValue has nothing to look at.
        assert _written(_record(_field("F", type_)), "F DOUBLE", {"F": None}) == {"F": None}

    @pytest.mark.parametrize("value", ["123.45", "1.234"])
    def test_a_decimal_fits_its_column_too(self, value: str) -> None:
        with pytest.raises(EncodeError, match=r"->F needs a number that fits DECIMAL\("):
            _written(_record(_field("F", CENTS)), "F DECIMAL(4, 2)", {"F": Decimal(value)})

    def test_structs_are_matched_by_name_at_every_level(self) -> None:
        inner = _record(_field("x", "int", 9), _field("B", "int"), _field("A", ["null", "int"]), name="I")
        schema = _record(
            _field("L", {"type": "array", "items": ["null", inner]}), _field("M", {"type": "map", "values": "I"})
        )
        columns = "L ARRAY<STRUCT<A INT, B INT>>, M MAP<STRING, STRUCT<A INT, B INT>>"
        value = {"A": 1, "B": 2}
        assert _written(schema, columns, {"L": [value, None], "M": {"k": value}}) == {
            "L": [{"x": 9, "B": 2, "A": 1}, None],
            "M": {"k": {"x": 9, "B": 2, "A": 1}},
        }

    def test_a_struct_that_does_not_go_with_its_record_is_refused_where_there_is_one(self) -> None:
        schema = _record(_field("S", ["null", _record(_field("x", "int"), name="I")]))
        assert _written(schema, "S STRUCT<A INT>", {"S": None}) == {"S": None}
        with pytest.raises(
            EncodeError,
            match=r"^1 field does not fit: ->S cannot be written as record I: the schema misses field with name: A; missing "
            r"default value for required Avro field: \[x\], which no column fills\.$",
        ):
            _written(schema, "S STRUCT<A INT>", {"S": {"A": 1}})

    def test_a_map_may_be_an_array_of_entries(self) -> None:
        entry = _record(_field("key", ["null", "string"]), _field("value", "int"), name="E")
        entry["connect.internal.type"] = "MapEntry"
        schema = _record(_field("M", {"type": "array", "items": entry}))
        assert _written(schema, "M MAP<STRING, INT>", {"M": {"k": 1}}) == {"M": [{"key": "k", "value": 1}]}


class TestUnions:
    """A union of several types is a STRUCT of its branches: AvroData.toConnectSchema, and fromConnectData's inverting."""

    UNION = ("null", DAYS, CENTS, _record(_field("x", "int"), name="n.Q"), {"type": "array", "items": "int"}, "string")
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
        union = {"type": "array", "items": ["null", "int", "string"]}
        row = {"A": [{"int": 1}, {"string": "s"}, None]}
        assert _written(_record(_field("A", union)), "A ARRAY<STRUCT<`int` INT, `string` STRING>>", row) == {
            "A": [1, "s", None]
        }

    @pytest.mark.parametrize(
        ("type_", "column", "value", "message"),
        [
            (["int", "string"], "STRUCT<`int` INT>", {"int": "s"}, "->F->int needs an integer"),
            (["int", "string"], "STRUCT<`int` INT>", {"INT": 1}, "->F->INT has no column or field to go to"),
            (["int", "string"], "STRUCT<`int` INT>", {}, "->F is null, and the schema does not allow that"),
            (["int", "string"], "STRUCT<`int` INT>", None, "->F is null, and the schema does not allow that"),
            (
                ["int", "string"],
                "STRUCT<`long` BIGINT>",
                {"long": 1},
                "->F cannot be written as union .*no branch is named",
            ),
            (
                ["int", "string"],
                "STRUCT<`int` INT, `string` STRING>",
                {"int": 1, "string": "s"},
                "->F has several values, and a union holds one",
            ),
            (
                [_record(_field("x", "int"), name="a.Q"), _record(_field("x", "int"), name="b.Q")],
                "STRUCT<Q STRUCT<`x` INT>>",
                {"Q": {"x": 1}},
                "->F cannot be written as union .*two branches have the same name",
            ),
        ],
    )
    def test_what_no_branch_takes_is_refused(self, type_: object, column: str, value: object, message: str) -> None:
        with pytest.raises(EncodeError, match=f"^1 field does not fit: {message}"):
            _written(_record(_field("F", type_)), f"F {column}", {"F": value})


class TestRoots:
    def test_a_root_that_is_no_record_takes_no_wrapped_columns(self) -> None:
        with pytest.raises(SchemaError, match=r"^Columns are written as a record, but the schema is a int\.$"):
            encoder_under('"int"', columns=parse_columns("A INT"))

    def test_a_nullable_record_is_one(self) -> None:
        body = encoder_under(json.dumps(["null", _record(_field("A", "int"))]), columns=parse_columns("A INT"))
        assert body({"A": 1}, b"12345") == b"12345\x02\x02"

    def test_an_unwrapped_column_is_the_root(self) -> None:
        write = encoder_under('"long"', columns=parse_columns("A BIGINT"), wrapped=False)
        assert write({"A": 1}, b"") == b"\x02"
        with pytest.raises(EncodeError, match=r"^1 field does not fit: ->A is INTEGER, which is not written as long"):
            encoder_under('"long"', columns=parse_columns("A INT"), wrapped=False)({"A": 1}, b"")

    def test_references_are_followed(self) -> None:
        inner = json.dumps(_record(_field("X", "int"), name="I"))
        text = json.dumps(_record(_field("S", "I")))
        write = encoder_under(text, columns=parse_columns("S STRUCT<X INT>"), references=(inner,))
        assert write({"S": {"X": 1}}, b"") == b"\x02"

    def test_what_is_no_column_is_refused(self) -> None:
        with pytest.raises(EncodeError, match=r"->a has no column"):
            _written(_record(_field("A", "int", 1)), "A INT", {"a": 1})
