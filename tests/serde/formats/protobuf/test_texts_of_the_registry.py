"""Texts that a registry gives and protoc does not take as they stand."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from srfix.serde.columns.text import print_columns
from srfix.serde.errors import SchemaError
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.formats.protobuf.indexes import written_indexes
from srfix.serde.specs import ReadSpec

SENT = """
syntax = "proto3";
package p;
message A {
  map<string, B> first_map = 1;
  message B { int32 x = 1; }
  message Deprecated { option deprecated = true; int32 key = 1; int32 value = 2; }
}
"""
KEPT = """syntax = "proto3";
package p;

message A {
  repeated .p.A.FirstMapEntry first_map = 1;

  message FirstMapEntry {
    option map_entry = true;
{blank}
    string key = 1;
    .p.A.B value = 2;
  }
  message B {
    int32 x = 1;
  }
  message Deprecated {
    option deprecated = true;
{blank}
    int32 key = 1;
    int32 value = 2;
  }
}
""".replace("{blank}", "  ")
"""What Confluent's registry (7.0.16) keeps of it, sent as a descriptor."""


def descriptor_of(text: str) -> FileDescriptorProto:
    proto = FileDescriptorProto()
    compiled(text).file.CopyToProto(proto)
    return proto


class TestASchemaThatWasSentAsADescriptor:
    def test_it_says_the_same_as_the_text(self) -> None:
        sent, kept = descriptor_of(SENT), descriptor_of(KEPT)
        assert kept.message_type == sent.message_type

    def test_its_maps_are_maps(self) -> None:
        assert print_columns(protobuf.infer_columns(KEPT).columns) == "FIRST_MAP MAP<STRING, STRUCT<X INTEGER>>"
        read = protobuf.decoder(KEPT, ReadSpec())
        assert read(bytes.fromhex("000a070a016b12020807"), 0) == {"first_map": {"k": {"x": 7}}}

    @pytest.mark.parametrize(
        ("text", "index"),
        [(SENT, 0), (KEPT, 1), (base64.b64encode(descriptor_of(SENT).SerializeToString()).decode(), 1)],
        ids=["text", "kept", "descriptor"],
    )
    def test_its_entries_have_indexes(self, text: str, index: int) -> None:
        assert compiled(text).message((0, index)).name == "B"
        assert protobuf.decoder(text, ReadSpec())(written_indexes((0, index)) + b"\x08\x07", 0) == {"x": 7}


@pytest.mark.parametrize(
    ("written", "value"),
    [("ab", b"ab"), (r"a\n\"\377 b", b'a\n"\xff b'), ("1", b"1"), ('"x"', b"x"), ("'y'", b"y"), (' "z"', b"z")],
)
def test_a_default_of_bytes_may_have_no_quotes(written: str, value: bytes) -> None:
    """`ProtobufSchemaUtils.toKind` takes bytes for a number, and protoc reads only texts."""
    text = f'syntax = "proto2"; message M {{ optional bytes a = 1 [deprecated = true, default = {written}]; }}'
    assert compiled(text).message().fields[0].default_value == value


class TestNamesThatAreOneInJson:
    """protoc refuses them in proto3; ksqlDB registers such columns, and the registry takes them."""

    def test_they_are_two(self) -> None:
        nested = "message N { int32 a_ = 1; int32 a = 2; }"
        text = f'syntax = "proto3";\n\nmessage M {{\n  N USER_ID = 1;\n  int32 USERID = 2;\n  {nested}\n}}\n'
        assert protobuf.decoder(text, ReadSpec())(bytes.fromhex("000a0208011002"), 0) == {
            "USER_ID": {"a_": 1, "a": 0},
            "USERID": 2,
        }

    def test_what_else_is_wrong_is_said(self) -> None:
        with pytest.raises(SchemaError, match="Field number 1 has already been used"):
            compiled('syntax = "proto3"; message M { int32 USER_ID = 1; int32 USERID = 1; }')
