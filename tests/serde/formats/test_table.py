"""The formats by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.formats import avro
from srfix.serde.formats.table import Format, field_names, format_of, module_of, record_name, schema_module_of
from srfix.serde.schemas.models import Schema
from tests.without_protobuf import without_protobuf


@pytest.mark.core
class TestModuleOf:
    def test_a_format_has_a_module_of_its_name(self) -> None:
        assert module_of(Format.AVRO).decoder is avro.decoder

    @pytest.mark.parametrize(
        ("schema_type", "format_"), [("AVRO", Format.AVRO), ("JSON", Format.JSON_SR), ("PROTOBUF", Format.PROTOBUF)]
    )
    def test_a_schema_type_is_that_of_its_module(self, schema_type: str, format_: Format) -> None:
        assert format_of(schema_type) is format_
        assert format_.schema_type == schema_type

    @pytest.mark.parametrize(
        "format_", [Format.JSON, Format.KAFKA, Format.DELIMITED, Format.NONE, Format.PROTOBUF_NOSR]
    )
    def test_formats_without_schemas_say_so(self, format_: Format) -> None:
        assert format_.schema_type is None
        with pytest.raises(
            UsageError,
            match=rf"^The format {format_.value} has no schemas\. The formats with schemas: avro, json_sr, protobuf\.$",
        ):
            schema_module_of(format_)

    def test_a_schema_type_without_a_serde_is_named(self) -> None:
        with pytest.raises(
            SchemaError, match=r"^The schema is of the type THRIFT\. srfix has no serde for this type, only "
        ):
            format_of("THRIFT")

    def test_a_format_whose_libraries_are_not_there_says_how_to_get_them(self) -> None:
        with without_protobuf():
            with pytest.raises(SchemaError, match=r"libraries for it are not installed: pip install 'srfix\[protobuf"):
                format_of("PROTOBUF")
            schema = Schema(text="message M {}", schema_type="PROTOBUF")
            assert (record_name(schema), field_names(schema)) == (None, ())


def test_the_table_loads_no_format() -> None:
    code = "import sys, srfix.serde.formats.table; print('srfix.serde.formats.avro' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
