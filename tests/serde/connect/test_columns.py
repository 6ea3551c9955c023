"""Connect's schemas and columns, both ways, without a format. Sources: the engine's classes, named by each test."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given

from srfix.serde import Column, ColumnError, Columns, Role, SchemaError, parse_columns
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from srfix.serde.connect.columns import columns_of, connect_of, connect_schema_of
from srfix.serde.connect.schema import (
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    complete,
    date,
    decimal,
    map_of,
    optional,
    primitive,
    struct,
    time,
    timestamp,
)
from tests.strategies import columns

TEXT = primitive(ConnectType.STRING)
PAIRS: list[tuple[ColumnType, ConnectSchema]] = [
    (BOOLEAN, primitive(ConnectType.BOOLEAN)),
    (INTEGER, primitive(ConnectType.INT32)),
    (BIGINT, primitive(ConnectType.INT64)),
    (DOUBLE, primitive(ConnectType.FLOAT64)),
    (STRING, TEXT),
    (BYTES, primitive(ConnectType.BYTES)),
    (DATE, date()),
    (TIME, time()),
    (TIMESTAMP, timestamp()),
    (Decimal(4, 2), decimal(2, 4)),
    (Array(INTEGER), array(primitive(ConnectType.INT32, optional=True))),
    (Map(INTEGER), map_of(optional(TEXT), primitive(ConnectType.INT32, optional=True))),
    (
        Struct((Column("b", DATE),)),
        struct([ConnectField("b", date(optional=True))]),
    ),
]


def one(schema: ConnectSchema) -> ConnectSchema:
    return struct([ConnectField("f", schema)])


class TestConnectOf:
    @pytest.mark.parametrize(("type_", "schema"), PAIRS)
    def test_each_type_is_optional(self, type_: ColumnType, schema: ConnectSchema) -> None:
        """SchemaConverters.ConnectFromSqlConverter."""
        assert connect_schema_of(type_) == optional(schema)

    def test_the_root_is_a_struct_that_is_not(self) -> None:
        """ConnectSchemas.columnsToConnectSchema."""
        made = connect_of(parse_columns("A INT, `b` STRING"))
        assert (made.type, made.optional, made.name) == (ConnectType.STRUCT, False, None)
        assert [part.name for part in made.fields] == ["A", "b"]

    def test_unwrapped_it_is_the_type_of_the_one_column(self) -> None:
        """SerdeUtils.applySinglesUnwrapping."""
        assert connect_of(parse_columns("A INT"), wrapped=False) == primitive(ConnectType.INT32, optional=True)

    def test_unwrapped_it_must_be_one(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped, but there are 2: A, B\."):
            connect_of(parse_columns("A INT, B INT"), wrapped=False)

    @given(columns)
    def test_columns_come_back(self, declared: Columns) -> None:
        inferred = columns_of(connect_of(declared), names="keep")
        assert (inferred.columns, inferred.dropped) == (declared, ())


class TestColumnsOf:
    """ConnectKsqlSchemaTranslator."""

    @pytest.mark.parametrize(("type_", "schema"), PAIRS)
    def test_optional_or_not_makes_no_difference(self, type_: ColumnType, schema: ConnectSchema) -> None:
        for part in (schema, optional(schema)):
            assert columns_of(one(part), names="keep").columns == (Column("f", type_),)

    @pytest.mark.parametrize(
        ("type_", "wider"),
        [
            (ConnectType.INT8, INTEGER),
            (ConnectType.INT16, INTEGER),
            (ConnectType.FLOAT32, DOUBLE),
        ],
    )
    def test_narrow_types_are_widened(self, type_: ConnectType, wider: ColumnType) -> None:
        assert columns_of(one(primitive(type_))).columns == (Column("F", wider),)

    def test_a_decimal_without_precision_has_64_digits(self) -> None:
        """DecimalUtil.precision."""
        assert columns_of(one(decimal(3))).columns == (Column("F", Decimal(64, 3)),)

    def test_a_logical_name_on_another_type_means_nothing(self) -> None:
        wrong = ConnectSchema(type=ConnectType.STRING, name="org.apache.kafka.connect.data.Date")
        assert columns_of(one(wrong)).columns == (Column("F", STRING),)

    def test_names_of_struct_fields_are_upper_case_too(self) -> None:
        assert columns_of(one(struct([ConnectField("straße", TEXT)]))).columns == (
            Column("F", Struct((Column("STRASSE", STRING),))),
        )

    def test_an_unwrapped_map_with_odd_keys_leaves_nothing(self) -> None:
        schema = map_of(primitive(ConnectType.FLOAT32), TEXT)
        with pytest.raises(ColumnError, match=r" ROWKEY: Unsupported type for map key: float64\.$"):
            columns_of(schema, role=Role.KEY, wrapped=False)


class TestConnectSchema:
    def test_two_fields_of_one_name_are_refused(self) -> None:
        """SchemaBuilder.field."""
        with pytest.raises(SchemaError, match=r"^Cannot create field because of field name duplication f$"):
            struct([ConnectField("f", TEXT), ConnectField("f", TEXT)])
        with pytest.raises(SchemaError, match=r"^Cannot create field because of field name duplication f$"):
            complete(struct([]), [ConnectField("f", TEXT), ConnectField("f", TEXT)])

    def test_a_recursive_one_is_refused_as_columns(self) -> None:
        schema = struct([], name="R")
        complete(schema, [ConnectField("next", schema)])
        with pytest.raises(ColumnError, match=r"is it recursive\?"):
            columns_of(schema)

    def test_one_that_is_used_twice_is_not_recursive(self) -> None:
        part = struct([ConnectField("x", TEXT)])
        found = columns_of(struct([ConnectField("a", part), ConnectField("b", array(part))])).columns
        assert [column.name for column in found] == ["A", "B"]

    def test_its_parts_are_there_or_an_error(self) -> None:
        schema = map_of(TEXT, array(TEXT))
        assert (schema.keys, schema.values.values) == (TEXT, TEXT)
        with pytest.raises(ValueError, match=r"^A string has no such part\.$"):
            _ = TEXT.values

    def test_equal_ones_are_equal_and_have_one_hash(self) -> None:
        assert decimal(2, 4) == decimal(2, 4) != decimal(2, 5)
        assert hash(decimal(2, 4)) == hash(decimal(2, 4))

    @pytest.mark.parametrize("type_", ConnectType)
    def test_the_word_of_a_type_is_its_lower_case_name(self, type_: ConnectType) -> None:
        """Schema.Type.getName."""
        assert type_.word == type_.name.lower()

    def test_it_travels_to_another_process(self) -> None:
        schema = struct([ConnectField("a", decimal(2, 4)), ConnectField("b", array(TEXT))], name="n.R")
        assert pickle.loads(pickle.dumps(schema)) == schema
