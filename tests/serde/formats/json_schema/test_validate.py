"""Validation against registered JSON Schemas, on jsonschema-rs."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import DecodeError, EncodeError, SchemaError, SrfixError, TruncatedBodyError, UsageError
from srfix.serde.formats.json_schema.validate import validator
from srfix.serde.schemas.references import ReferenceText

_ORDER = (
    '{"type":"object","properties":{"id":{"type":"integer"},"lines":{"type":"array","items":{"type":"string"}}},'
    '"required":["id"]}'
)


class TestValidator:
    def test_what_fits_passes(self) -> None:
        validate = validator(_ORDER)
        validate(b'{"id":1,"lines":["a"]}')
        validate({"id": 1, "more": None})

    def test_a_body_that_does_not_fit_is_a_decode_error_with_the_path(self) -> None:
        with pytest.raises(DecodeError, match=r"^The body does not match its schema at \$\.lines\[1\]: ") as raised:
            validator(_ORDER)(b'{"id":1,"lines":["a",424242]}')
        assert "424242" not in raised.value.message  # a body may be personal

    def test_an_object_that_does_not_fit_is_an_encode_error_with_the_path(self) -> None:
        with pytest.raises(EncodeError, match=r"^The object does not match its schema at \$: ") as raised:
            validator(_ORDER)({"lines": []})
        assert raised.value.paths == ("$",)

    def test_what_is_no_json_is_refused(self) -> None:
        with pytest.raises(TruncatedBodyError):
            validator(_ORDER)(b'{"id":')
        with pytest.raises(EncodeError, match=r"^The object cannot be validated"):
            validator(_ORDER)({"id": object()})

    def test_numbers_are_compared_with_every_digit(self) -> None:
        validate = validator('{"maximum":0.1}')
        validate(b"0.1")
        with pytest.raises(DecodeError):
            validate(b"0.10000000000000000001")
        validator('{"maximum":0.10000000000000000002}')(b"0.10000000000000000001")
        validator('{"maximum":1e400}')(b"2")

    @pytest.mark.parametrize(
        ("schema", "body", "is_valid"),
        [
            # without $schema: draft 7, where const counts and a reference hides what is beside it
            ('{"const":1}', b"2", False),
            ('{"$ref":"#/definitions/a","minimum":5,"definitions":{"a":{"type":"integer"}}}', b"1", True),
            ('{"$schema":"http://json-schema.org/draft-04/schema#","const":1}', b"2", True),
            (
                '{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/a","minimum":5,'
                '"$defs":{"a":{"type":"integer"}}}',
                b"1",
                False,
            ),
        ],
    )
    def test_the_draft_counts(self, schema: str, body: bytes, is_valid: bool) -> None:
        with nullcontext() if is_valid else pytest.raises(DecodeError):
            validator(schema)(body)

    @pytest.mark.parametrize(
        "schema", ["", "[]", '{"type":"text"}', '{"pattern":"("}', '{"required":1}', '{"items":' * 300]
    )
    def test_what_is_no_schema_is_refused(self, schema: str) -> None:
        with pytest.raises(SchemaError):
            validator(schema)


class TestReferences:
    _TEXT = '{"type":"object","properties":{"a":{"$ref":"other.json#/definitions/x"}}}'
    _OTHER = '{"definitions":{"x":{"type":"integer"}}}'

    @pytest.mark.parametrize(
        ("text", "references"),
        [
            (_TEXT, (ReferenceText(_OTHER, name="other.json"),)),
            (_TEXT, (_OTHER,)),
            (_TEXT, (_OTHER.replace("{", '{"$id":"other.json",', 1),)),
            (_TEXT.replace("{", '{"$id":"http://example.com/a.json",', 1), (ReferenceText(_OTHER, name="other.json"),)),
        ],
    )
    def test_they_are_found_among_the_texts(self, text: str, references: tuple[str, ...]) -> None:
        validate = validator(text, references=references)
        validate({"a": 1})
        with pytest.raises(EncodeError, match=r"at \$\.a: "):
            validate({"a": "x"})

    @pytest.mark.parametrize(
        "ref", ["http://127.0.0.1:1/a.json", "file:///etc/passwd", "https://example.com/a", "a.json"]
    )
    def test_nothing_is_fetched(self, ref: str) -> None:
        with pytest.raises(SchemaError, match=r"srfix fetches nothing\.$"):
            validator(json.dumps({"$ref": ref}))

    def test_nor_is_a_draft_that_a_schema_names(self) -> None:
        with pytest.raises(SchemaError):
            validator('{"$schema":"http://127.0.0.1:1/draft","type":"string"}')


class TestBounds:
    def test_a_pattern_does_not_run_away(self) -> None:
        for pattern in ("(a+)+$", "(?=(a+)+$)b", "(a|a)*(?!x)$"):
            with pytest.raises(DecodeError):
                validator(json.dumps({"pattern": pattern}))(json.dumps("a" * 5_000 + "!").encode())

    def test_a_deep_body_does_not_crash_the_interpreter(self) -> None:
        validate = validator('{"items":{"$ref":"#"}}')
        validate(b"[" * 500 + b"]" * 500)
        with pytest.raises(DecodeError, match=r"nests deeper than 512 levels, so srfix does not validate it"):
            validate(b"[" * 900 + b"]" * 900)

    @given(st.binary(max_size=30))
    def test_noise_gives_only_our_errors(self, body: bytes) -> None:
        with suppress(SrfixError):
            validator(_ORDER)(body)


class TestImport:
    def test_the_library_is_loaded_when_it_is_asked_for(self) -> None:
        code = "import sys, srfix.serde.formats.json_schema.format; sys.exit('jsonschema_rs' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_without_it_the_error_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        with pytest.raises(UsageError, match=r"Install srfix with the extra json-schema\.$"):
            validator('{"title":"not yet remembered"}')
