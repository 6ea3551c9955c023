"""Connect's schemas as Avro text, where columns do not go: `tests/stack` holds the same against the real AvroData."""

from __future__ import annotations

import pytest

from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType, decimal, map_of, primitive, struct
from srfix.serde.formats.avro.internal_schema import avro_text

TEXT = primitive(ConnectType.STRING)


def of_field(schema: ConnectSchema) -> str:
    text = avro_text(struct([ConnectField("f", schema)], name="n.R"), meta_data=True)
    before, after = '{"type":"record","name":"R","namespace":"n","fields":[', '],"connect.name":"n.R"}'
    assert text.startswith(before)
    assert text.endswith(after)
    return text.removeprefix(before).removesuffix(after)


class TestAvroText:
    """AvroData.fromConnectSchema."""

    @pytest.mark.parametrize(
        ("schema", "field"),
        [
            (TEXT, '{"name":"f","type":"string"}'),
            (primitive(ConnectType.STRING, optional=True), '{"name":"f","type":["null","string"],"default":null}'),
            (primitive(ConnectType.INT8), '{"name":"f","type":{"type":"int","connect.type":"int8"}}'),
            (primitive(ConnectType.FLOAT32), '{"name":"f","type":"float"}'),
            (map_of(TEXT, TEXT), '{"name":"f","type":{"type":"map","values":"string"}}'),
            (
                decimal(2),
                '{"name":"f","type":{"type":"bytes","scale":2,"precision":64,"connect.version":1,'
                '"connect.parameters":{"scale":"2"},"connect.name":"org.apache.kafka.connect.data.Decimal",'
                '"logicalType":"decimal"}}',
            ),
        ],
    )
    def test_a_field(self, schema: ConnectSchema, field: str) -> None:
        assert of_field(schema) == field

    def test_without_meta_data_no_narrow_type_is_told_apart(self) -> None:
        assert avro_text(primitive(ConnectType.INT16), meta_data=False) == '"int"'
