"""A printed schema of a store with a column of the key again among the values: halves apart, wherever columns are taken.

868 of the 3,273 schemas in the engine's own corpus of plans are such (facts of `LogicalSchema`: duplicates are looked for
within the key and within the value).
"""

from __future__ import annotations

from typing import Final

import pytest

from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    ById,
    JsonDeserializer,
    JsonSchemaDeserializer,
    JsonSchemaSerializer,
    JsonSerializer,
    RegistryClient,
    Role,
    SerdeContext,
)
from srfix.serde.arrow import to_arrow
from srfix.serde.interface import Deserializer, Serializer
from srfix.serde.spark import plan_read, plan_write

PRINTED: Final = "`ID` BIGINT KEY, `ID` STRING, `N` DOUBLE"
KEY: Final = SerdeContext("t", Role.KEY)
VALUE: Final = SerdeContext("t")


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "JSON"])
def test_a_key_and_a_value_have_a_column_of_one_name_each(client: RegistryClient, format_: str) -> None:
    serdes: dict[str, tuple[Serializer, Deserializer]] = {
        "AVRO": (AvroSerializer(client, PRINTED), AvroDeserializer(ById(client), columns=PRINTED)),
        "JSON_SR": (JsonSchemaSerializer(client, PRINTED), JsonSchemaDeserializer(ById(client), columns=PRINTED)),
        "JSON": (JsonSerializer(PRINTED), JsonDeserializer(PRINTED)),
    }
    write, read = serdes[format_]
    key, value = write({"ID": 7}, KEY), write({"ID": "seven", "N": 1.5}, VALUE)
    assert read(key, KEY) == {"ID": 7}
    assert read(value, VALUE) == {"ID": "seven", "N": 1.5}
    assert to_arrow([value], VALUE, read).to_pydict() == {"ID": ["seven"], "N": [1.5]}
    assert to_arrow([key], KEY, read).to_pydict() == {"ID": [7]}


def test_a_plan_for_spark_has_the_columns_of_its_half(client: RegistryClient) -> None:
    write = AvroSerializer(client, PRINTED)
    write({"ID": 7}, KEY), write({"ID": "seven", "N": 1.5}, VALUE)
    assert [column.name for column in plan_read(client, "t", PRINTED).columns] == ["ID", "N"]
    assert [column.name for column in plan_read(client, "t", PRINTED, role=Role.KEY).columns] == ["ID"]
    assert [column.name for column in plan_write(client, "t", PRINTED).columns or ()] == ["ID", "N"]
