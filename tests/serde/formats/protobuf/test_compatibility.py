"""Which Protobuf schema may follow which, by the Differences of Confluent's registry.

A Difference is one of `Difference.Type`; those that are in `SchemaDiff.COMPATIBLE_CHANGES` are not told.
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from srfix.serde import SchemaError, incompatibilities
from srfix.serde.formats.protobuf.compatibility import cannot_read
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.schemas.references import ReferenceText

A: Final = "string a = 1;"


def proto(body: str, rest: str = "", *, head: str = "", syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; {head} message M {{ {body} }} {rest}'


def differences(old: str, new: str, *, old_imports: str = "", new_imports: str = "") -> set[str]:
    """The incompatible ones, each with its place."""

    def references(text: str) -> tuple[str, ...]:
        return (ReferenceText(text, name="part.proto"),) if text else ()

    reasons = cannot_read(compiled(new, references(new_imports)), compiled(old, references(old_imports)))
    return {" ".join(re.findall(r"^[A-Z_]+|#\S+", reason)) for reason in reasons}


ONEOF: Final = "oneof o { string a = 1; string b = 2; }"
ENUM: Final = "enum E { ZERO = 0; ONE = 1; }"
INNER: Final = "message Inner { string x = 1; }"


class TestDifferences:
    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            # SchemaDiff
            (proto(A, head="package p;"), proto(A, head="package q;"), ""),  # PACKAGE_CHANGED
            (proto(A), proto(A, INNER), ""),  # MESSAGE_ADDED
            (proto(A, INNER), proto(A), "MESSAGE_REMOVED #/Inner"),
            (proto(A + INNER), proto(A), "MESSAGE_REMOVED #/M/Inner"),
            (proto(A, INNER), f'syntax = "proto3"; {INNER} message M {{ {A} }}', ""),  # MESSAGE_MOVED
            (proto(A, ENUM), proto(A), ""),  # ENUM_REMOVED
            (proto(A), proto(A, ENUM), ""),  # ENUM_ADDED
            # EnumSchemaDiff
            (proto("E a = 1;", ENUM), proto("E a = 1;", ENUM.replace("ONE", "TWO")), ""),  # ENUM_CONST_CHANGED
            (proto("E a = 1;", ENUM), proto("E a = 1;", "enum E { ZERO = 0; }"), ""),  # ENUM_CONST_REMOVED
            # MessageSchemaDiff
            (proto(A), proto(A + "string b = 2;"), ""),  # FIELD_ADDED
            (proto(A + "string b = 2;"), proto(A), ""),  # FIELD_REMOVED
            (proto(A + "string b = 2;"), proto(A + "reserved 2;"), ""),
            (proto(A), proto("string other = 1;"), ""),  # FIELD_NAME_CHANGED
            (
                proto("optional string a = 1;", syntax="proto2"),
                proto("optional string a = 1; required string b = 2;", syntax="proto2"),
                "REQUIRED_FIELD_ADDED #/M/2",
            ),
            (
                proto("optional string a = 1; required string b = 2;", syntax="proto2"),
                proto("optional string a = 1;", syntax="proto2"),
                "REQUIRED_FIELD_REMOVED #/M/2",
            ),
            (proto(A), proto("oneof o { string a = 1; string b = 2; }"), ""),  # ONEOF_ADDED
            (proto(ONEOF), proto(A), ""),  # ONEOF_REMOVED
            (proto(A + "string b = 2;"), proto(ONEOF), "MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o"),
            (proto("oneof p { string a = 1; } string b = 2;"), proto(ONEOF), "FIELD_MOVED_TO_EXISTING_ONEOF #/M/o"),
            # OneOfDiff
            (proto(ONEOF), proto("oneof o { string a = 1; string b = 2; int32 c = 3; }"), ""),  # ONEOF_FIELD_ADDED
            (proto(ONEOF), proto("oneof o { string a = 1; }"), "ONEOF_FIELD_REMOVED #/M/o/2"),
            (proto(ONEOF), proto("oneof o { string a = 1; int32 b = 2; }"), "FIELD_SCALAR_KIND_CHANGED #/M/o/2"),
            # FieldSchemaDiff.compareLabelsAndTypes
            (proto(A), proto("M a = 1;"), "FIELD_KIND_CHANGED #/M/1"),
            (proto("map<string, M> a = 1;"), proto("repeated M a = 1;"), "FIELD_KIND_CHANGED #/M/1"),
            (proto("E a = 1;", ENUM), proto("M a = 1;"), "FIELD_KIND_CHANGED #/M/1"),
            (proto("E a = 1;", ENUM), proto("int32 a = 1;"), ""),
            # FieldSchemaDiff.compareScalarTypes
            (proto("optional int32 a = 1;"), proto("repeated int32 a = 1;"), "FIELD_NUMERIC_LABEL_CHANGED #/M/1"),
            (proto("int32 a = 1;"), proto("repeated int32 a = 1;"), ""),  # a label that is not written is none
            (
                proto("optional string a = 1;"),
                proto("repeated bytes a = 1;"),
                "",
            ),  # FIELD_STRING_OR_BYTES_LABEL_CHANGED
            (proto("optional M a = 1;"), proto("repeated M a = 1;"), ""),
            # FieldSchemaDiff.compareMapTypes
            (proto("map<string, int32> a = 1;"), proto("map<string, int64> a = 1;"), ""),
            (
                proto("map<string, int32> a = 1;"),
                proto("map<string, string> a = 1;"),
                "FIELD_SCALAR_KIND_CHANGED #/M/1",
            ),
            (proto("map<string, M> a = 1;"), proto("map<string, int32> a = 1;"), "FIELD_KIND_CHANGED #/M/1"),
            # FieldSchemaDiff.compareMessageTypes
            (proto("Inner a = 1;" + INNER), proto(".p.M.Inner a = 1;" + INNER, head="package p;"), ""),
            (
                proto("Inner a = 1; message Other {}" + INNER),
                proto("Other a = 1; message Other {}" + INNER),
                "FIELD_NAMED_TYPE_CHANGED #/M/1",
            ),
            # What Wire's tree keeps apart
            (
                proto("optional group G = 1 { optional int32 x = 2; }", syntax="proto2"),
                proto("", syntax="proto2"),
                "",
            ),
            (
                proto("optional group G = 1 { optional int32 x = 2; }", syntax="proto2"),
                proto("optional int32 g = 1;", syntax="proto2"),
                "",
            ),
            (proto("M a = 1; M b = 2;"), proto("M a = 1; M b = 2; M c = 3;"), ""),
        ],
    )
    def test_each(self, old: str, new: str, expected: str) -> None:
        assert differences(old, new) == ({expected} if expected else set())

    GROUPS: Final = (
        *("int32 int64 uint32 uint64 bool", "sint32 sint64", "string bytes", "fixed32 sfixed32", "fixed64 sfixed64"),
        *("float", "double"),
    )

    @pytest.mark.parametrize("old", " ".join(GROUPS).split())
    def test_scalars_that_read_each_other(self, old: str) -> None:
        """`FieldSchemaDiff.scalarKind`."""
        every = " ".join(self.GROUPS).split()
        readable = {new for new in every if not differences(proto(f"{old} a = 1;"), proto(f"{new} a = 1;"))}
        assert readable == next(set(group.split()) for group in self.GROUPS if old in group.split())


PART: Final = 'syntax = "proto3"; package q; message Part { int32 x = 1; Deep d = 2; message Deep { int32 y = 1; } }'
USER: Final = proto("q.Part a = 1; q.Part b = 2;", head='import "part.proto";')


class TestImports:
    def test_an_imported_message_is_compared_where_a_field_has_it(self) -> None:
        changed = PART.replace("int32 x", "string x")
        assert differences(USER, USER, old_imports=PART, new_imports=changed) == {
            "FIELD_SCALAR_KIND_CHANGED #/Part/1",
            "FIELD_NAMED_TYPE_CHANGED #/M/1",
        }
        assert differences(USER, USER, old_imports=PART, new_imports=PART.replace("int32 x", "int64 x")) == set()

    def test_so_is_what_stands_in_it(self) -> None:
        assert "FIELD_SCALAR_KIND_CHANGED #/Part/Deep/1" in differences(
            USER, USER, old_imports=PART, new_imports=PART.replace("int32 y", "string y")
        )

    def test_a_message_may_move_from_an_import_but_not_into_one(self) -> None:
        own = proto(
            "Part a = 1; Part b = 2;", "message Part { int32 x = 1; Deep d = 2; message Deep { int32 y = 1; } }"
        )
        assert differences(USER, own, old_imports=PART) == set()
        assert differences(own, USER, new_imports=PART) == {"MESSAGE_REMOVED #/Part"}

    def test_messages_that_hold_themselves_through_an_import_end(self) -> None:
        part = 'syntax = "proto3"; package q; message Part { Part again = 1; int32 x = 2; }'
        changed = part.replace("int32", "string")
        assert "FIELD_SCALAR_KIND_CHANGED #/Part/2" in differences(USER, USER, old_imports=part, new_imports=changed)


class TestIncompatibilities:
    """The one function for every type."""

    def test_each_direction_in_words(self) -> None:
        old, new = proto(A), proto("int32 a = 1;")
        asked = {"new": new, "existing": [old], "schema_type": "PROTOBUF"}
        backward, forward = incompatibilities(**asked, level="FULL")  # type: ignore[arg-type]
        assert backward == (
            "The new schema cannot read the existing one: FIELD_SCALAR_KIND_CHANGED: #/M/1 has a type that cannot read "
            "payloads of the old type."
        )
        assert forward.startswith("The existing schema cannot read the new one: FIELD_SCALAR_KIND_CHANGED")

    def test_a_removed_message_is_added_the_other_way(self) -> None:
        asked = {"new": proto(A), "existing": [proto(A, INNER)], "schema_type": "PROTOBUF"}
        assert incompatibilities(**asked, level="BACKWARD")  # type: ignore[arg-type]
        assert not incompatibilities(**asked, level="FORWARD")  # type: ignore[arg-type]

    def test_each_text_has_its_own_references(self) -> None:
        references = [
            (ReferenceText(PART.replace("int32 x", kind), name="part.proto"),) for kind in ("int32 x", "string x")
        ]
        asked = {"new": USER, "existing": [USER], "schema_type": "PROTOBUF", "level": "BACKWARD"}
        same = incompatibilities(**asked, new_references=references[0], existing_references=references[:1])  # type: ignore[arg-type]
        other = incompatibilities(**asked, new_references=references[0], existing_references=references[1:])  # type: ignore[arg-type]
        assert (same, len(other)) == ((), 2)

    def test_no_schema_is_refused(self) -> None:
        with pytest.raises(SchemaError, match="not a Protobuf schema"):
            incompatibilities(new="message {", existing=[], level="NONE", schema_type="PROTOBUF")

    def test_messages_that_lead_too_deep_are_refused(self) -> None:
        parts = [f"message M{n} {{ M{n + 1} next = 1; }}" for n in range(1500)]
        part = f'syntax = "proto3"; package q; {" ".join(parts)} message M1500 {{}}'
        text = proto("q.M0 a = 1;", head='import "part.proto";')
        references = (ReferenceText(part, name="part.proto"),)
        with pytest.raises(SchemaError, match="nest too deep"):
            cannot_read(compiled(text, references), compiled(text, references))
