"""`srfix schema` through the installed command."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.columns.text import parse_columns, print_columns
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.specs import WriteSpec
from tests.cli.kept_demo import Parts, srfix

INTERNAL = print_columns(damage.COLUMNS)


def schema(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "srfix.schema/1"
    return document


class TestTheSchema:
    def test_it_needs_no_registry_and_is_ready_to_register(self) -> None:
        document = schema(srfix("schema", "ID INT, TAGS ARRAY<STRING>", "--output", "json"))
        assert document["avro"] == internal_schema(WriteSpec(columns=parse_columns("ID INT, TAGS ARRAY<STRING>")))
        assert document["request"] == {"schema": document["avro"]}
        assert (document["registered"], document["acceptance"]) == (None, None)

    def test_columns_are_taken_from_a_subject(self, parts: Parts) -> None:
        first = schema(parts.srfix("schema", "--from-subject", "users-value", "--version", "1", "--output", "json"))
        latest = schema(parts.srfix("schema", "--from-subject", "users-value", "--output", "json"))
        assert first["columns"] == INTERNAL
        assert latest["columns"] == f"{INTERNAL}, LOYALTYTIER STRING"

    def test_a_field_that_no_column_holds_is_left_out_and_named(self) -> None:
        entry = {
            "type": "record",
            "name": "Entry",
            "connect.internal.type": "MapEntry",
            "fields": [{"name": "key", "type": "double"}, {"name": "value", "type": "int"}],
        }
        fields = [{"name": "id", "type": "int"}, {"name": "byweight", "type": {"type": "array", "items": entry}}]
        with FixtureRegistry() as registry:
            registry.seed("scales-value", json.dumps({"type": "record", "name": "Scale", "fields": fields}))
            asked = ("schema", "--from-subject", "scales-value", "--registry", registry.url)
            document = schema(srfix(*asked, "--output", "json"))
            told = srfix(*asked).stdout
        assert document["columns"] == "ID INTEGER"
        assert document["dropped"] == [{"path": "->byweight", "reason": "Unsupported type for map key: float64"}]
        assert "byweight: Unsupported type for map key: float64" in told

    def test_the_full_name_chooses_the_message_of_a_protobuf_subject(self) -> None:
        text = 'syntax = "proto3"; package p; message A { int32 a = 1; } message B { string b = 1; }'
        with FixtureRegistry() as registry:
            registry.seed("b-value", text, schema_type="PROTOBUF")
            asked = ("schema", "--from-subject", "b-value", "--registry", registry.url, "--output", "json")
            named = schema(srfix(*asked, "--format", "protobuf", "--full-name", "p.B"))
            as_avro = schema(srfix(*asked, "--full-name", "p.B"))
        assert (named["columns"], as_avro["columns"]) == ("B STRING", "A INTEGER")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ((), "Give either the columns"),
            (("A INT", "--from-subject", "a"), "Give either the columns"),
            (("A INT", "--version", "1"), "--version chooses a version of --from-subject"),
            (("A NONSENSE",), "expected a type"),
            (("A INT", "--full-name", "1-2"), "--full-name '1-2' is not a valid Avro name"),
            (("A INT", "--subject", "a"), "No schema registry was named"),
        ],
    )
    def test_what_makes_no_sense_is_a_sentence(self, arguments: tuple[str, ...], said: str) -> None:
        done = srfix("schema", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


class TestWhereItStands:
    def test_it_names_subject_version_and_id(self, parts: Parts) -> None:
        document = schema(parts.srfix("schema", INTERNAL, "--output", "json"))
        assert document["registered"] == [
            {
                "subject": parts.staged.phantom_subject,
                "version": 1,
                "id": parts.staged.internal_id,
                "deleted": False,
            }
        ]
        assert document["registered_is_complete"] is True

    def test_a_schema_that_stands_nowhere_says_so(self, parts: Parts) -> None:
        done = parts.srfix("schema", "NOWHERE INT")
        assert (done.returncode, done.stderr) == (0, "")
        assert "The schema is registered under no subject of this registry." in done.stdout


class TestWhetherASubjectTakesIt:
    def asked(self, parts: Parts, columns: str, code: int, subject: str | None = None) -> dict[str, Any]:
        subject = parts.staged.phantom_subject if subject is None else subject
        document = schema(parts.srfix("schema", columns, "--subject", subject, "--output", "json"), code)
        assert parts.registry.writes == 0
        acceptance: dict[str, Any] = document["acceptance"]
        return acceptance

    def test_what_it_holds_is_taken(self, parts: Parts) -> None:
        acceptance = self.asked(parts, INTERNAL, 0)
        assert (acceptance["accepted"], acceptance["registered_id"]) == (True, parts.staged.internal_id)

    def test_what_is_compatible_is_taken(self, parts: Parts) -> None:
        acceptance = self.asked(parts, f"{INTERNAL}, MORE INT", 0)
        assert (acceptance["accepted"], acceptance["registered_id"], acceptance["compatibility"]) == (
            True,
            None,
            "BACKWARD",
        )

    def test_what_is_not_is_refused_with_the_reasons(self, parts: Parts) -> None:
        acceptance = self.asked(parts, "USERID STRING", 1)
        assert acceptance["accepted"] is False
        assert "reader union lacking writer type: LONG" in acceptance["reasons"][0]
        told = parts.srfix("schema", "USERID STRING", "--subject", parts.staged.phantom_subject)
        assert told.returncode == 1
        assert told.stdout.startswith(f"{parts.staged.phantom_subject} would refuse the schema\n")
        assert "Why it is refused" in told.stdout

    def test_a_subject_that_does_not_exist_takes_anything(self, parts: Parts) -> None:
        assert self.asked(parts, "A INT", 0, "new-value")["accepted"] is True

    def test_a_read_only_registry_takes_nothing_new(self, parts: Parts) -> None:
        read_only = Answer(status=200, body='{"mode":"READONLY"}')
        with parts.registry.intercept(Fault(method="GET", path="^/mode", action=read_only)):
            acceptance = self.asked(parts, "A INT", 1, "new-value")
            assert acceptance["reasons"] == ["The mode is READONLY: the registry accepts nothing new (42205)."]
            assert self.asked(parts, INTERNAL, 0)["accepted"] is True
