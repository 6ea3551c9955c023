"""`srfix schema-of`, and the documents that srfix writes beside the schemas that it publishes."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema_rs
import pytest

from srfix.cli.documents import DOCUMENTS, document_named, schema_text
from srfix.recovery.documents import Part
from tests.cli.kept_demo import Parts, document, srfix
from tests.documents import NAMES, check

ROOT = Path(__file__).parents[2]


class TestTheCommand:
    @pytest.mark.parametrize("name", NAMES)
    def test_it_prints_the_schema_that_is_in_the_wheel(self, name: str) -> None:
        done = srfix("schema-of", name)
        assert (done.returncode, done.stderr) == (0, "")
        known = document_named(name)
        assert known is not None
        assert done.stdout == schema_text(known)
        schema = document(done.stdout)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert jsonschema_rs.meta.is_valid(schema)
        assert re.fullmatch(rf"srfix\.{name}/\d+", schema["title"])

    @pytest.mark.parametrize(
        ("given", "name"),
        [
            ("diagnose", "diagnosis"),
            ("scan", "census"),
            ("srfix.plan/1", "plan"),
            ("decode", "record"),
            ("state ls", "state-ls"),
            ("state get", "state-row"),
            ("state migrate", "state-written"),
        ],
    )
    def test_a_command_or_the_full_name_does_as_well(self, given: str, name: str) -> None:
        assert document(srfix("schema-of", *given.split()).stdout)["title"].startswith(f"srfix.{name}/")

    def test_without_a_name_it_lists_them(self) -> None:
        done = srfix("schema-of")
        assert done.returncode == 0
        assert not [name for name in NAMES if not re.search(rf"(?m)^{name} ", done.stdout)]

    def test_a_misspelt_name_has_a_suggestion(self) -> None:
        done = srfix("schema-of", "diagnosys")
        assert (done.returncode, done.stdout) == (2, "")
        assert "There is no document 'diagnosys'. Did you mean diagnosis?" in done.stderr


def test_every_document_that_the_code_names_has_a_schema_of_that_version() -> None:
    named = {
        match
        for room in ("cli", "recovery")
        for path in (ROOT / room / "srfix").rglob("*.py")
        for match in re.findall(r'"(srfix\.[a-z-]+/\d+)"', path.read_text(encoding="utf-8"))
    }
    assert named == {document(schema_text(each))["title"] for each in DOCUMENTS}


def test_keys_stand_in_the_order_of_their_fields_those_of_a_base_first() -> None:
    """msgspec puts fields that are keywords alone behind all others."""
    for each in DOCUMENTS:
        schema_text(each)
    parts = [Part]
    for part in parts:  # it grows
        parts += part.__subclasses__()
        bases = [each for each in reversed(part.__mro__) if issubclass(each, Part)]
        fields = [name for base in bases for name in vars(base).get("__annotations__", ())]
        assert list(part.__struct_fields__) == fields, part


class TestWhatIsWritten:
    """The commands' documents are checked wherever a test runs one; here are the files."""

    def test_the_files_of_a_repair(self, own_parts: Parts, tmp_path: Path) -> None:
        for arguments in (
            ("plan", "-o", "p.json"),
            ("apply", "p.json", "--yes"),
            ("verify", "p.json"),
            ("rollback", "p.json", "--yes"),
        ):
            done = own_parts.srfix(*arguments, "--output", "json", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            check(document(done.stdout))
        check(document((tmp_path / "p.json").read_text()))
        lines = (tmp_path / "p.json.journal.jsonl").read_text().splitlines()
        assert len(lines) > 12
        for line in lines:
            told = document(line)
            if told["event"] == "begun":
                assert told["schema"] == "srfix.journal/1"
            check(told)

    def test_what_a_schema_lacks_is_an_error(self) -> None:
        with pytest.raises(AssertionError, match="surplus"):
            check({"schema": "srfix.catalogue/1", "srfix": "1", "codes": [], "surplus": 1})
