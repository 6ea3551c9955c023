"""Columns in each of their forms, wherever columns are taken.

| form | names |
|---|---|
| parsed, or text in ksqlDB's words or Spark's | as they stand there |
| a StructType (`plan.schema` too), its JSON, its JSON text | kept in readers, in upper case in writers, as in `plan_write` |
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Final

import pytest

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
)
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer, JsonSerializer, KafkaSerializer
from tests.serde.fakes import spark_struct

STRUCT: Final = spark_struct(id="long", a=spark_struct(b="double"))
ONE: Final = spark_struct(id="long")
KEPT: Final = parse_columns("`id` BIGINT, `a` STRUCT<`b` DOUBLE>")
UPPER: Final = parse_columns("ID BIGINT, A STRUCT<B DOUBLE>")


class StructType:
    """A `pyspark.sql.types.StructType`, as far as it is looked at."""

    def jsonValue(self) -> dict[str, object]:
        return dict(STRUCT)


FORMS: Final = (StructType(), STRUCT, json.dumps(STRUCT))


@pytest.mark.parametrize("form", FORMS, ids=["StructType", "JSON", "text"])
class TestForms:
    def test_names_are_kept_or_in_upper_case(self, form: GivenColumns) -> None:
        assert given_columns(form) == KEPT
        assert given_columns(form, names="upper") == UPPER

    @pytest.mark.parametrize(
        "make",
        [
            lambda client, form: AvroDeserializer(ById(client), columns=form).columns,
            lambda client, form: JsonSchemaDeserializer(ById(client), columns=form).columns,
            lambda client, form: SchemaDeserializer(ById(client), columns=form).columns,
            lambda client, form: JsonDeserializer(form).columns,
            lambda client, form: pickle.loads(pickle.dumps(JsonDeserializer(form))).columns,
        ],
    )
    def test_a_reader_keeps_them(
        self, client: RegistryClient, form: GivenColumns, make: Callable[[RegistryClient, GivenColumns], Columns]
    ) -> None:
        assert make(client, form) == KEPT

    def test_a_writer_writes_what_it_writes_of_the_columns(self, client: RegistryClient, form: GivenColumns) -> None:
        row = {"id": 1, "a": {"b": 2.5}}
        for kind in (AvroSerializer, JsonSchemaSerializer):
            context = SerdeContext(kind.__name__)
            assert kind(client, form)(row, context) == kind(client, UPPER)(row, context)
        assert JsonSerializer(form)(row, context) == b'{"ID":1,"A":{"B":2.5}}'

    def test_arrow_takes_it(self, form: GivenColumns) -> None:
        assert arrow_schema(form) == arrow_schema(KEPT)
        batch = to_arrow([b'{"id":1,"a":null}'], SerdeContext("users"), JsonDeserializer(), columns=form)
        assert batch.to_pylist() == [{"id": 1, "a": None}]


@pytest.mark.core
class TestOthers:
    def test_formats_of_one_column_take_it_and_text(self) -> None:
        context = SerdeContext("users")
        payload = KafkaSerializer(ONE)({"id": 7}, context)
        assert payload == KafkaSerializer("ID BIGINT")({"ID": 7}, context)
        assert (KafkaDeserializer(ONE)(payload, context), KafkaDeserializer("`id` long")(payload, context)) == (
            *({"id": 7}, {"id": 7}),
        )
