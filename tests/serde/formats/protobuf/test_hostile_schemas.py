"""Schema texts that somebody wrote to do harm, or with names that a reader may stumble over: a schema, or a sentence."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from srfix.serde import CaseRule, SchemaError, SrfixError, parse_columns
from srfix.serde.bounds import PROTOBUF_SCHEMA_LEVELS
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.schemas.references import ReferenceText
from srfix.serde.specs import ReadSpec, WriteSpec

P3 = 'syntax = "proto3"; '
_OPTION = (
    'import "google/protobuf/descriptor.proto"; message R { R m = 1; repeated R n = 2; } '
    "extend google.protobuf.FileOptions { R opt = 50000; } "
)
NAMES = (
    "HasField", "WhichOneof", "SerializeToString", "DESCRIPTOR", "ListFields", "FromString", "IsInitialized", "MergeFrom",
    "FindInitializationErrors", "Extensions", "UnknownFields", "ByteSize", "Clear", "__class__", "__init__", "__dict__",
    "__slots__", "self", "cls", "class", "None", "True", "def", "lambda", "m", "v1", "has", "spend", "eval", "_fields",
)  # fmt: skip
"""Of Python, of the runtime's messages, and of what reads them."""


@pytest.mark.parametrize("name", NAMES)
class TestNames:
    @staticmethod
    def _schema(name: str) -> str:
        return f"{P3}message M {{ optional int32 {name} = 1; optional int32 other = 2; oneof o {{ int32 p = 3; M q = 4; }} }}"

    def test_a_field_of_the_name_is_read_and_written_as_any_other(self, name: str) -> None:
        text, body = self._schema(name), bytes.fromhex("0008071805")
        columns = parse_columns(f"`o_0` STRUCT<`p` INT>, `{name}` INT, `other` INT")
        read = protobuf.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))
        row = {"o_0": {"p": 5}, name: 7, "other": None}
        assert read(body, 0) == row
        write = protobuf.encoder(text, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))
        assert write(row, b"") == body

    def test_so_it_is_without_columns(self, name: str) -> None:
        text, body = self._schema(name), bytes.fromhex("00080722020801")
        row = {name: 7, "other": None, "q": {name: 1, "other": None}}
        assert protobuf.decoder(text, ReadSpec())(body, 0) == row
        assert protobuf.encoder(text, WriteSpec())(row, b"") == body


def _file(**changes: object) -> FileDescriptorProto:
    file = FileDescriptorProto(name="x.proto", syntax="proto3", message_type=[DescriptorProto(name="M")])
    file.message_type[0].field.add(name="a", number=1, type=5, label=1)
    for name, value in changes.items():
        if name == "field":
            file.message_type[0].field[0].name = str(value)
        elif name == "message":
            file.message_type[0].name = str(value)
        elif isinstance(value, list):
            getattr(file, name).extend(value)
        else:
            setattr(file, name, value)
    return file


class TestDescriptors:
    """What no compiler has looked at."""

    @pytest.mark.parametrize(
        ("file", "words"),
        [
            (_file(field="a or __import__('os').abort() or m.a"), "invalid name"),
            (_file(field="1a"), "invalid name"),
            (_file(field="é"), "invalid name"),
            (_file(message="M N"), "invalid name"),
            (_file(dependency=["../../etc/passwd"]), r"not allowed in the virtual path"),
            (_file(dependency=["/etc/passwd"]), "File not found"),
            (_file(dependency=['x.proto"; message Z {} //']), "File not found"),
            (_file(dependency=["srfix_schema.proto"]), "not been loaded"),
            (_file(public_dependency=[7]), "out of range"),
            (_file(syntax="proto9"), "cannot be used"),
        ],
    )
    def test_what_is_wrong_is_said(self, file: FileDescriptorProto, words: str) -> None:
        with pytest.raises(SchemaError, match=words):
            protobuf.check_schema(base64.b64encode(file.SerializeToString()).decode())


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("message A { " * 1_000 + "}" * 1_000, "nests deeper than 64 levels"),
            ("message A { " * 50 + "}" * 50, "recursion limit for nested messages"),
            (_OPTION + "option (opt) = { " + "m { " * 100_000 + "} " * 100_000 + "};", "nests deeper"),
            (_OPTION + "option (opt) = { " + "n: [{ " * 50_000 + "}] " * 50_000 + "};", "nests deeper"),
            (_OPTION + "option (opt) = { " + "m < " * 100_000 + "> " * 100_000 + "};", "nests deeper"),
            ("message " + "a" * 1_000_000 + " {}", "too long"),
            ("message M { " + "a." * 100_000 + "b c = 1; }", "not defined"),
            ("message M { /* " + "a" * 1_000_000, "End-of-file inside block comment"),
            ("message M { int32 a = 1; int32 a = 1; }", "already"),
            ("message M { int32 a = 536870912; }", "out of range|less than|suggested|cannot be greater"),
            ("message M { Nope a = 1; }", "not defined"),
            ("message M {} \0", "control characters"),
            ("message M {} // \ud800", "surrogates"),
            ("enum E { A = 0; B = 0; } message M {}", "allow_alias"),
            ("enum E { A = 1; } message M {}", "first enum value must be zero"),
            ('import "nope.proto"; message M {}', 'Import "nope.proto" was not found'),
            ('import "nope.proto"; message M {}', r"File not found \(the whole file nope\.proto\)"),
            ('import "nope.proto"; message M {}', "name it in the schema's references"),
            ('import "/etc/passwd"; message M {}', 'Import "/etc/passwd" was not found'),
            ('import "../x.proto"; message M {}', "virtual path"),
            ("", "has no message"),
            ("enum E { A = 0; }", "has no message"),
        ],
    )
    def test_what_is_wrong_is_said(self, text: str, words: str) -> None:
        with pytest.raises(SchemaError, match=words) as raised:
            protobuf.decoder(P3 + text, ReadSpec())
        assert len(str(raised.value)) < 1_500 or "a.a.a" in text

    @pytest.mark.parametrize(
        "text",
        [
            *("/*a*/ " * 100_000 + "x", "/*" * 100_000, "//\n" * 100_000 + "x", '"\\"' * 100_000),
            "bytes a = 1 [ default " * 50_000,
        ],
    )
    def test_comments_and_strings_cost_no_time(self, text: str) -> None:
        """The looks at a text before protoc has it: backtracking took minutes."""
        begun = time.process_time()
        with pytest.raises(SchemaError):
            protobuf.check_schema(text)
        assert time.process_time() - begun < 5

    def test_brackets_in_comments_and_strings_do_not_count(self) -> None:
        deep = "{" * 2 * PROTOBUF_SCHEMA_LEVELS
        text = f'/* {deep} */ syntax = "proto3"; // {deep}\noption java_package = "{deep}\\"{deep}"; message M {{}}'
        protobuf.check_schema(text)

    def test_an_option_as_deep_as_is_allowed_does_not_disturb_protoc(self) -> None:
        """Without the bound it ended the process, by a stack overflow."""
        levels = PROTOBUF_SCHEMA_LEVELS - 1
        text = P3 + _OPTION + "option (opt) = { " + "m { " * levels + "} " * levels + "};"
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys; from srfix.serde.formats.protobuf import format; format.check_schema(sys.argv[1])",
                text,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")

    def test_an_option_that_is_no_text_is_refused(self) -> None:
        """protoc takes it, and the runtime does not."""
        option = '[(confluent.field_meta) = {params: [{key: "scale", value: "\\xff"}]}]'
        text = f'{P3} import "confluent/type/decimal.proto"; message M {{ confluent.type.Decimal a = 1 {option}; }}'
        with pytest.raises(SchemaError, match=r"^The options of the .* cannot be read \(.*UTF-8"):
            protobuf.infer_columns(text)

    @pytest.mark.parametrize(
        "entry",
        [
            "",
            "int32 x = 1;",
            "int32 key = 1;",
            "int32 key = 1; repeated int32 value = 2;",
            "double key = 1; int32 value = 2;",
            "M key = 1; int32 value = 2;",
            "int32 value = 1; int32 key = 2;",
            "int32 key = 1; int32 value = 2; int32 more = 3;",
            "int32 key = 3; int32 value = 4;",
            "int32 key = 1; oneof o { int32 value = 2; }",
        ],
    )
    @pytest.mark.parametrize("label", ["", "repeated"])
    @pytest.mark.parametrize("option", ["map_entry", "no_standard_descriptor_accessor"])
    def test_what_says_to_be_a_maps_entry_and_is_none_ends_in_a_row_or_a_sentence(
        self, entry: str, label: str, option: str
    ) -> None:
        """No protoc writes such, and texts that registries print from descriptors say it."""
        text = f"{P3} message M {{ {label} AEntry a = 1; message AEntry {{ option {option} = true; {entry} }} }}"
        for columns in (None, "A MAP<STRING, INT>", "A ARRAY<STRUCT<X INT>>"):
            with suppress(SrfixError):
                spec = ReadSpec(columns=None if columns is None else parse_columns(columns), case_rule=CaseRule.KSQLDB)
                protobuf.decoder(text, spec)(bytes.fromhex("00 0a04 08071008"), 0)
            with suppress(SrfixError):
                protobuf.infer_columns(text)

    def test_a_message_of_thousands_of_fields_is_one(self) -> None:
        text = P3 + "message M { " + " ".join(f"int32 f{number} = {number + 1};" for number in range(5_000)) + " }"
        row = protobuf.decoder(text, ReadSpec())(b"\0\x08\1", 0)
        assert isinstance(row, dict)
        assert (len(row), row["f0"]) == (5_000, 1)

    def test_aliases_are_read_by_the_name_that_comes_first(self) -> None:
        """`EnumDescriptor.findValueByNumber`."""
        text = P3 + "enum E { option allow_alias = true; A = 0; B = 1; C = 1; } message M { E e = 1; }"
        assert protobuf.decoder(text, ReadSpec())(b"\0\x08\1", 0) == {"e": "B"}
        assert protobuf.encoder(text, WriteSpec())({"e": "C"}, b"") == b"\0\x08\1"


class TestReferences:
    def test_a_ring_is_refused(self) -> None:
        ring = [
            ReferenceText(f'{P3} import "{other}.proto"; message {name} {{}}', name=f"{name}.proto")
            for name, other in (("A", "B"), ("B", "A"))
        ]
        with pytest.raises(SchemaError, match="recursively imports itself"):
            protobuf.check_schema(f'{P3} import "A.proto"; message M {{}}', tuple(ring))

    @pytest.mark.parametrize(
        "name", ["../out.proto", "/tmp/out.proto", "a/../../out.proto", "..", ".", "", "a\0b", "x/" * 3_000]
    )
    def test_no_name_leaves_the_folder(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        inner = tmp_path / "inner"
        inner.mkdir()
        monkeypatch.setenv("TMPDIR", str(inner))
        monkeypatch.setattr("tempfile.tempdir", None)
        text = f"{P3} message M{len(name)} {{}}"
        with suppress(SchemaError):  # the second is a name within the folder
            protobuf.check_schema(text, (ReferenceText(f"{P3} message O {{}}", name=name),))
        assert [path.name for path in tmp_path.rglob("*")] == ["inner"]

    def test_a_name_may_not_be_a_folder_of_another(self) -> None:
        texts = [ReferenceText(f"{P3} message {name[0]} {{}}", name=name) for name in ("a", "a/b.proto")]
        with pytest.raises(SchemaError, match=r"^The text named 'a/b\.proto' cannot be compiled"):
            protobuf.check_schema(f'{P3} import "a"; message M {{}}', tuple(texts))

    def test_a_chain_of_many_is_followed(self) -> None:
        chain = [
            ReferenceText(
                P3 + (f'import "f{number - 1}.proto"; ' if number else "") + f"message F{number} {{}}",
                name=f"f{number}.proto",
            )
            for number in range(500)
        ]
        text = f'{P3} import "f499.proto"; message M {{ F499 a = 1; }}'
        assert protobuf.decoder(text, ReadSpec(), tuple(chain))(b"\0\x0a\0", 0) == {"a": {}}
