"""`srfix encode`, and `srfix decode --payload`: every format, tried from the shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import SRFIX, Parts, environment, srfix


def said(done: subprocess.CompletedProcess[str], code: int = 0) -> list[str]:
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


PHANTOM = ("--application", damage.APPLICATION, "--store", damage.STORE)
NOWHERE = ("--registry", "http://127.0.0.1:1")
COLUMNS = "ID INT, PRICE DECIMAL(6, 2), TAGS ARRAY<STRING>, `at` TIMESTAMP"
ROW = '{"id": 7, "price": 12.30, "TAGS": ["a", null], "at": 1592276400123}'
DECODED = {
    "ID": 7,
    "PRICE": {"$decimal": "12.30"},
    "TAGS": ["a", None],
    "at": {"$timestamp": "2020-06-16T03:00:00.123000+00:00"},
}


class TestThereAndBack:
    @pytest.mark.parametrize("format_", ["avro", "json", "json_sr"])
    def test_a_row_comes_back_from_every_format(self, format_: str) -> None:
        half = ("--format", format_, "--columns", COLUMNS)
        (payload,) = said(srfix("encode", *half, ROW))
        schema = () if format_ == "json" else ("--schema", *said(srfix("schema", *half)))
        (row,) = said(srfix("decode", *half, *schema, "--payload", payload))
        assert json.loads(row) == DECODED

    def test_plain_json_is_written_as_ksqldb_writes_it(self) -> None:
        (payload,) = said(srfix("encode", "--format", "json", "--columns", COLUMNS, ROW))
        assert payload == '{"ID":7,"PRICE":12.30,"TAGS":["a",null],"at":1592276400123}'

    @pytest.mark.parametrize(
        ("column", "row", "payload"),
        [
            ("ID INT", "7", "00000007"),
            ("ID BIGINT", '{"ID": -1}', "ffffffffffffffff"),
            ("ID DOUBLE", "1.5", "3ff8000000000000"),
            ("ID STRING", '"né"', "6ec3a9"),
        ],
    )
    def test_a_kafka_key_is_one_bare_value(self, column: str, row: str, payload: str) -> None:
        half = ("--format", "kafka", "--role", "key", "--columns", column)
        assert said(srfix("encode", *half, row)) == [payload]
        (back,) = said(srfix("decode", *half, "--payload", payload))
        given = json.loads(row)
        assert json.loads(back) == (given if isinstance(given, dict) else {"ID": given})

    def test_a_delimited_row_is_text_between_its_delimiters(self) -> None:
        half = ("--format", "delimited", "--columns", "ID INT, NAME STRING", "--delimiter", "|")
        assert said(srfix("encode", *half, '{"id": -7, "name": "Ada | A"}')) == ['"-7"|"Ada | A"']
        assert said(srfix("encode", *half, "--role", "key", "--as", "hex", '{"ID": null}')) == ["7c"]
        (row,) = said(srfix("decode", *half, "--payload", '"-7"|"Ada | A"'))
        assert json.loads(row) == {"ID": -7, "NAME": "Ada | A"}

    @pytest.mark.parametrize("more", [(), ("--delimiter", "TAB")])
    def test_whatever_encode_prints_decode_reads(self, more: tuple[str, ...]) -> None:
        texts = {
            "a\tb": "hex:610962",
            "\0": "hex:220022",
            "\x1b\n": "hex:221b0a22",
            "\u202e": "hex:22e280ae22",
            "hex:00": "text:hex:00",
            "hex:0": "text:hex:0",
            "text:": "text:text:",
            "null": "text:null",
            "-": '"-"',
            "a:b": "a:b",
        }
        half = ("--format", "delimited", "--columns", "A STRING", *more)
        printed = said(srfix("encode", *half, stdin="".join(json.dumps({"A": text}) + "\n" for text in texts)))
        assert printed[1:] == [*texts.values()][1:]
        back = said(srfix("decode", *half, "--payload", "-", stdin="\n".join(printed)))
        assert [json.loads(line)["A"] for line in back] == [*texts]

    @pytest.mark.parametrize(
        ("options", "row", "printed"),
        [
            (("json", "--role", "key", "--window", "0"), "7", "hex:37" + 16 * "0"),
            (("json", "--frame", "7"), '{"A": 7}', "hex:0000000007" + b'{"A":7}'.hex()),
            (("kafka", "--as", "text"), '"abcd"', "text:abcd"),
            (("kafka", "--as", "text"), '"\\u0000"', "hex:00"),
            (("kafka", "--as", "hex"), '"abcd"', "61626364"),
        ],
    )
    def test_text_that_is_not_read_back_has_a_prefix(self, options: tuple[str, ...], row: str, printed: str) -> None:
        column = "A STRING" if options[0] == "kafka" else "A INT"
        assert said(srfix("encode", "--format", *options, "--columns", column, row)) == [printed]

    @pytest.mark.parametrize("nulls", ["optional", "wrapper"])
    def test_nulls_come_back_without_a_registry(self, nulls: str) -> None:
        half = ("--format", "protobuf_nosr", "--columns", "A INT, B STRING", "--nullable-representation", nulls)
        row = {"A": 0, "B": None}
        assert (
            json.loads(*said(srfix("decode", *half, "--payload", *said(srfix("encode", *half, json.dumps(row))))))
            == row
        )

    def test_nothing_is_looked_at_in_the_format_none(self) -> None:
        half = ("--format", "none", "--role", "key")
        assert said(srfix("encode", *half, '{"ID": 7}')) == said(srfix("decode", *half, "--payload", "00")) == ["null"]

    def test_a_key_of_one_column_is_bare_and_a_value_is_not(self) -> None:
        half = ("--columns", "ID INT KEY, NAME STRING")
        assert said(srfix("encode", "--role", "key", *half, "7")) == ["0e"]
        assert said(srfix("encode", "--role", "value", *half, '{"NAME": "a"}')) == ["020261"]
        assert said(srfix("encode", "--role", "value", "--unwrapped", *half, '"a"')) == ["0261"]

    def test_a_marked_key_may_stand_bare_and_be_named_in_the_row(self) -> None:
        half = ("--format", "json", "--role", "key", "--columns", "ID INT KEY")
        assert said(srfix("encode", *half, '{"ID": 7}', "7")) == ["7", "7"]
        assert said(srfix("encode", *half, "--wrapped", '{"ID": 7}')) == ['{"ID":7}']

    def test_a_null_row_and_a_bare_null_are_tombstones(self) -> None:
        assert said(srfix("encode", "--columns", "A INT", "null", '{"A": null}')) == ["null", "00"]
        assert said(srfix("encode", "--columns", "A INT", "--unwrapped", "null", '{"A": null}')) == ["null", "null"]

    def test_windows_stand_behind_a_key(self) -> None:
        half = ("--format", "kafka", "--role", "key", "--columns", "ID INT")
        (time,) = said(srfix("encode", *half, "--window", "1000", "7"))
        assert time == "00000007" + "00000000000003e8"
        (session,) = said(srfix("encode", *half, "--window", "1000", "--window-end", "2000", "7"))
        assert session == "00000007" + "00000000000007d0" + "00000000000003e8"
        (back,) = said(srfix("decode", *half, "--window", "session", "--payload", session))
        assert json.loads(back) == {"key": {"ID": 7}, "window": {"start_ms": 1000, "end_ms": 2000}}

    def test_rows_and_payloads_may_come_from_stdin_and_marks_are_taken(self) -> None:
        columns = ("--columns", "D DECIMAL(4, 1)")
        done = srfix("encode", *columns, stdin='{"D": {"$decimal": "1.5"}}\n\n{"D": 2}\n')
        assert said(done) == ["02020f", "020214"]
        (schema,) = said(srfix("schema", *columns))
        back = srfix("decode", *columns, "--schema", schema, "--payload", "-", stdin="02020f\nnull\n")
        assert [json.loads(line) for line in said(back)] == [{"D": {"$decimal": "1.5"}}, None]


class TestPayloadsFromStdin:
    NO_SR = ("decode", "--format", "protobuf_nosr", "--columns", "A INT", "--payload", "-")

    def test_an_empty_line_is_a_payload_and_a_bad_line_has_its_number(self) -> None:
        assert said(srfix("encode", *self.NO_SR[1:-2], '{"A": 0}')) == [""]
        done = srfix(*self.NO_SR, stdin="\nzz\n0801\n08\n")
        assert said(done, 1) == ['{"A": 0}', '{"A": 1}']
        line_2, line_4, total = done.stderr.splitlines()
        assert line_2.startswith("Line 2: The payload 'zz' is not hexadecimal (")
        assert line_4.startswith("Line 4: DecodeError: A value: The body of 1 byte is not a message")
        assert total == "4 payloads read, 2 of them not decoded."

    def test_bytes_that_are_no_text_are_a_bad_line(self) -> None:
        env = environment({"PYTHONIOENCODING": "utf-8:strict"})
        done = subprocess.run([SRFIX, *self.NO_SR], input=b"0801\n\xff\n", env=env, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (1, b'{"A": 1}\n')
        assert b"Line 2: The payload" in done.stderr


class TestUnderASchema:
    SCHEMA = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "ID", "type": "int"}, {"name": "EXTRA", "type": "string", "default": "x"}],
        }
    )

    def test_columns_are_written_under_a_schema_that_exists_with_its_defaults(self, tmp_path: Path) -> None:
        file = tmp_path / "schema.avsc"
        file.write_text(self.SCHEMA)
        assert said(srfix("encode", "--columns", "ID INT", "--schema", f"@{file}", '{"ID": 7}')) == ["0e0278"]

    def test_a_column_that_it_lacks_is_named(self) -> None:
        done = srfix("encode", "--columns", "ID INT, NAME STRING", "--schema", self.SCHEMA, '{"ID": 7}')
        assert done.returncode == 2
        assert "NAME" in done.stderr

    def test_a_schema_id_is_looked_up_and_framed_and_read_back(self, parts: Parts) -> None:
        record = next(record for record in parts.staged.records if record.row is not None)
        schema_id = parts.staged.writer_ids[record.version - 1]
        (payload,) = said(parts.srfix("encode", "--schema-id", str(schema_id), json.dumps(record.row)))
        assert payload.startswith(f"00{schema_id:08x}")
        (back,) = said(parts.srfix("decode", "--payload", payload))
        assert json.loads(back) == record.row
        failed = parts.srfix("decode", "users", *PHANTOM, "--payload", payload)
        assert (failed.returncode, failed.stdout) == (1, "")
        assert "SubjectVersionError: Error retrieving Avro value schema version for id" in failed.stderr
        assert parts.registry.writes == 0


class TestRules:
    @pytest.mark.parametrize(
        ("rule", "id_", "error"),
        [
            ("ksqldb", 2, None),
            ("ksqldb-2020", 2, None),
            ("exact", None, "NothingFedError"),
            ("unique", None, "AmbiguousFieldError"),
        ],
    )
    def test_a_collision_of_letter_case_by_each_rule(self, rule: str, id_: int | None, error: str | None) -> None:
        half = ("--format", "json", "--columns", "FOO INT", "--case-rule", rule)
        done = srfix("decode", *half, "--payload", '{"foo": 1, "Foo": 2}')
        lines = said(done, 0 if error is None else 1)
        assert [json.loads(line) for line in lines] == ([{"FOO": id_}] if error is None else [])
        if error is not None:
            assert error in done.stderr


class TestAnIdThatNoRegistryGives:
    def test_it_is_one_bad_row_and_no_registry_is_asked(self) -> None:
        done = srfix("decode", "--registry", "http://127.0.0.1:1", "--payload", "008000000002")
        assert done.returncode == 1
        assert "its schema id would be 2147483648 (-2147483648 to Java)" in done.stdout + done.stderr


class TestRowsThatDoNotFit:
    def test_each_is_named_by_its_number_and_the_others_are_written(self) -> None:
        rows = '{"a": 1}\n\nnot json\n{"a": "x"}\n{"a": 2}\n{"a": {"$decimal": "x"}}\n' + "[" * 300 + "\n"
        done = srfix("encode", "--format", "json", "--columns", "A INT", stdin=rows)
        assert (done.returncode, done.stdout) == (1, '{"A":1}\n{"A":2}\n')
        line_3, line_4, line_6, line_7 = done.stderr.splitlines()
        assert line_3.startswith("Line 3: The row 'not json' is not JSON (")
        assert line_4.startswith("Line 4: ")
        assert line_6.startswith("Line 6: The row ")
        assert "'x' is not a valid value for the mark '$decimal'" in line_6
        assert line_7.startswith("Line 7: The row ")
        assert len(line_7) < 400

    def test_so_is_one_among_the_arguments(self) -> None:
        done = srfix("encode", "--format", "json", "--columns", "A INT", '{"a": 1}', "{")
        assert (done.returncode, done.stdout) == (1, '{"A":1}\n')
        assert done.stderr.startswith("ROW 2: The row '{' is not JSON (")


class TestWhatMakesNoSense:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("encode", "{}"), "needs --columns, --schema or --schema-id"),
            (
                ("encode", "--columns", "A INT", "--schema-id", "2147483648", "{}"),
                "is not in the range 1<=x<=2147483647",
            ),
            (("encode", "--columns", "A INT", "--frame", "4294967295", "{}"), "is not in the range 1<=x<=2147483647"),
            (("encode", "--columns", "A INT", "--window-end", "1", "{}"), "give its start too"),
            (("encode", "--format", "json", "--schema", "{}", "{}"), "has no schemas"),
            (("encode", "--columns", "A INT KEY", "{}"), "All columns are marked as KEY"),
            (("encode", "--columns", "A INT, B INT", "--unwrapped", "1"), "Only a single column"),
            (("decode",), "Name a TOPIC"),
            (("decode", "--payload", "zz", "--schema", '"int"'), "is not hexadecimal"),
            (("decode", "--payload", "00", "--framed"), "--framed needs --schema"),
            (
                ("decode", "--payload", "00", *NOWHERE, "--resolve", "one-subject"),
                "needs a subject: give TOPIC, --subject",
            ),
            (
                ("decode", "--payload", "00", *NOWHERE, "--resolve", "dual-subject", "--subject", "a-value"),
                "needs the second subject: give TOPIC, or --second-subject",
            ),
            (("decode", "--payload", "00", "--format", "kafka"), "needs its columns"),
            (("decode", "--payload", "7|a", "--format", "delimited"), "needs its columns"),
            (("decode", "--payload", "7", "--format", "json", "--delimiter", ";"), "DELIMITED has a delimiter"),
            (("encode", "--format", "json", "--delimiter", ";", "{}"), "DELIMITED has a delimiter"),
            (("encode", "--format", "json", "--nullable-representation", "optional", "{}"), "is only for Protobuf"),
            (
                ("decode", "--payload", "7", "--format", "json", "--nullable-representation", "optional"),
                "is only for Protobuf",
            ),
            (("decode", "--payload", "00", "--role", "both", "--format", "json"), "is a key or a value"),
            (("decode", "--payload", "00"), "No schema registry was named"),
            (("schema", "A INT", "--format", "kafka"), "has no schemas"),
            (("schema", "A INT", "--format", "json_sr", "--full-name", "a.B"), "is for Avro and Protobuf"),
            (("schema", "A INT", "--generation", "soon"), "not a version"),
            (("schema", "A INT", "--source-name", "S"), "give --role key, too"),
            (("schema", "A INT", "--columns", "B INT"), "Give the columns once"),
        ],
    )
    def test_it_is_a_sentence(self, arguments: tuple[str, ...], words: str) -> None:
        done = srfix(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr


@pytest.mark.parametrize("command", [("encode", "{}"), ("decode", "--payload", "hex:00")])
def test_of_a_file_that_is_no_schema_nothing_is_shown(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("sasl.password=topsecret\n")
    done = srfix(*command, "--schema", f"@{tmp_path}/client.properties")
    assert done.returncode == 2
    assert "client.properties is not JSON" in done.stderr
    assert "topsecret" not in done.stderr


class TestAGivenProtobufSchema:
    TEXT = 'syntax = "proto3"; package p; message A { int32 ID = 1; } message B { string X = 1; }'

    @pytest.mark.parametrize("columns", [(), ("--columns", "X STRING")])
    def test_the_full_name_chooses_the_message(self, columns: tuple[str, ...]) -> None:
        under = ("--format", "protobuf", "--schema", self.TEXT)
        assert said(srfix("encode", *under, *columns, "--full-name", "p.B", '{"X": "x"}')) == ["02020a0178"]
        (row,) = said(srfix("decode", *under, "--payload", "02020a0178"))
        assert json.loads(row) == {"X": "x"}
        unknown = srfix("encode", *under, *columns, "--full-name", "C", '{"X": "x"}')
        assert unknown.returncode == 2
        assert "has no message C. Name one that it has (p.A, p.B)" in unknown.stderr

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--nullable-representation", "optional"), "leave these two options out"),
            (("--source-name", "S"), "leave these two options out"),
            (("--format", "avro", "--schema", '"int"', "--full-name", "a.B"), "--full-name is for Protobuf"),
        ],
    )
    def test_an_option_that_would_change_nothing_is_refused(self, options: tuple[str, ...], words: str) -> None:
        done = srfix("encode", "--format", "protobuf", "--schema", self.TEXT, *options, "{}")
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr

    @pytest.mark.parametrize("command", [("encode", "{}"), ("decode", "--payload", "hex:00")])
    def test_a_file_s_name_says_how_it_is_given(self, command: tuple[str, ...], tmp_path: Path) -> None:
        (tmp_path / "a.proto").write_text(self.TEXT)
        bare = srfix(*command, "--format", "protobuf", "--schema", f"{tmp_path}/a.proto")
        assert bare.returncode == 2
        assert f"Write @ before it: --schema @{tmp_path}/a.proto" in bare.stderr
        avro = srfix(*command, "--schema", f"@{tmp_path}/a.proto")
        assert avro.returncode == 2
        assert "Give --format protobuf" in avro.stderr

    def test_an_error_names_no_topic_and_no_id_that_do_not_exist(self) -> None:
        done = srfix("decode", "--format", "protobuf", "--schema", self.TEXT, "--payload", "")
        assert said(done, 1) == []
        assert done.stderr.startswith(
            "TruncatedBodyError: The payload has 0 bytes and ends within its message indexes."
        )

    def test_a_file_may_begin_with_a_byte_order_mark(self, tmp_path: Path) -> None:
        (tmp_path / "a.proto").write_text(self.TEXT, encoding="utf-8-sig")
        schema = ("--format", "protobuf", "--schema", f"@{tmp_path}/a.proto")
        assert said(srfix("encode", *schema, '{"ID": 7}')) == ["000807"]

    def test_imported_files_are_found_beside_the_file_or_above_it(self, tmp_path: Path) -> None:
        (tmp_path / "shop").mkdir()
        texts = {
            "shop/order.proto": 'import "shop/part.proto"; import "google/protobuf/timestamp.proto";\n'
            "message O { Part part = 1; google.protobuf.Timestamp at = 2; }",
            "shop/part.proto": "// import 'shop/no.proto';\nimport public 'unit.proto'; message Part { Unit unit = 1; }",
            "shop/unit.proto": "enum Unit { KILO = 0; TON = 1; }",
        }
        for name, text in texts.items():
            (tmp_path / name).write_text(f'syntax = "proto3"; {text}')
        options = ("--format", "protobuf", "--schema", f"@{tmp_path}/shop/order.proto")
        (payload,) = said(srfix("encode", *options, '{"part": {"unit": "TON"}}'))
        assert payload == "000a020801"
        (row,) = said(srfix("decode", *options, "--payload", payload))
        assert json.loads(row) == {"part": {"unit": "TON"}, "at": None}
        (tmp_path / "shop/unit.proto").unlink()
        lacking = srfix("encode", *options, "{}")
        assert lacking.returncode == 2
        assert "for --schema @FILE from the folder of FILE and those above" in lacking.stderr
