"""JSON that wants more of the reader than its size pays for: plain, with a schema, and what stands in a schema. Kinds 1, 7."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hostile.attack import Done, attack, judge
from tests.hostile.test_values_avro import PEAK, hides_no_good_one
from tests.telling import slow_but

BAD: dict[str, tuple[str, bytes, bytes, str | None]] = {
    # name: columns, a good row, the hostile one; what is said of it, None if it is read
    "an exponent of 10^9, DECIMAL": ("A DECIMAL(38, 18)", b"1", b"1e999999999", "must be less than 1E+20 in size"),
    "an exponent, TIMESTAMP": ("A TIMESTAMP", b"1", b"1e999999999", None),
    "300,000 digits, BIGINT": ("A BIGINT", b"1", b"-" + b"9" * 300_000, "too large for any type"),
    "300,000 digits, DOUBLE": ("A DOUBLE", b"1", b"9" * 300_000 + b"." + b"9" * 300_000, "has 600,001 characters"),
    "300,000 zeros behind the point": ("A DECIMAL(38, 2)", b"1", b"0." + b"0" * 300_000 + b"1", "has 300,003 characters"),
    "an array of long numbers": ("A ARRAY<DECIMAL(38, 2)>", b"[1]", b"[" + b",".join([b"9" * 10_000] * 80) + b"]", "too large for any type"),
    "arrays 100,000 deep": ("A STRING", b'"x"', b"[" * 100_000 + b"]" * 100_000, "nests too deep"),
    "empty objects, a STRUCT of STRUCTs": (
        "A ARRAY<STRUCT<" + ", ".join(f"S{i} STRUCT<" + ", ".join(f"N{j} INT" for j in range(30)) + ">" for i in range(30)) + ">>",
        b"[]",
        b"[" + b",".join([b'{"S1":{}}'] * 90_000) + b"]",
        None,
    ),
    "empty arrays": ("A ARRAY<ARRAY<ARRAY<INT>>>", b"[]", b"[" + b",".join([b"[]"] * 330_000) + b"]", None),
    "one name 100,000 times": ("A MAP<STRING, INT>", b"{}", b"{" + b",".join([b'"k":1'] * 150_000) + b"}", None),
    "100,000 names": ("A MAP<STRING, INT>", b"{}", b"{" + b",".join(b'"k%d":1' % i for i in range(80_000)) + b"}", None),
    "half a surrogate": ("A STRING", b'"x"', b'"\\ud800"', "half a surrogate pair"),
    "no UTF-8": ("A STRING", b'"x"', b'"\xff\xfe"', "is not UTF-8"),
    "sNaN, DECIMAL": ("A DECIMAL(9, 2)", b"1", b'"sNaN123"', "is not a number"),
    "NaN with 300,000 digits, DECIMAL": ("A DECIMAL(9, 2)", b"1", b'"NaN' + b"1" * 300_000 + b'"', "is not a number"),
    "base64 of 900,000": ("A BYTES", b'"AA=="', b'"' + b"A" * 900_001 + b'"', "is not base64"),
}  # fmt: skip


def decode(columns: str, *payloads: bytes, form: str = "json", more: tuple[str | Path, ...] = ()) -> Done:
    return attack(
        *("decode", "--format", form, "--columns", columns, "--output", "json", "--payload", "-", *more),
        stdin=b"".join(b"hex:" + payload.hex().encode() + b"\n" for payload in payloads),
    )


@pytest.mark.parametrize(
    "name",
    slow_but(BAD, "an exponent of 10^9, DECIMAL", "300,000 digits, BIGINT", "arrays 100,000 deep", "half a surrogate"),
)
def test_a_document_that_wants_too_much_hides_no_good_one(name: str) -> None:
    columns, good, bad, said = BAD[name]
    around = [b'{"A":' + value + b"}" for value in (good, bad, good)]
    done = judge(decode(columns, around[0], around[1], around[2], b"{", around[0]), codes=(1,), most=3 << 30, peak=PEAK)
    hides_no_good_one(done, said)


REGEX = {"type": "object", "properties": {"A": {"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}


@pytest.mark.parametrize(
    ("what", "schema", "payload"),
    [
        ("a pattern that backtracks", json.dumps(REGEX), b'{"A":"' + b"a" * 50_000 + b'"}'),
        ("names that backtrack", json.dumps({"type": "object", "patternProperties": {"^(a+)+$": {"type": "string"}}}), b'{"' + b"a" * 50_000 + b'!":"x"}'),
        ("a reference to itself", '{"$ref":"#"}', b'{"A":1}'),
        ("references in a ring", '{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}', b'{"A":1}'),
        ("a file", '{"type":"object","properties":{"A":{"$ref":"file:///etc/passwd"}}}', b'{"A":1}'),
        ("a device", '{"type":"object","properties":{"A":{"$ref":"file:///dev/zero"}}}', b'{"A":1}'),
        ("a tree that doubles", json.dumps({"definitions": {f"d{i}": {"type": "object", "properties": {"a": {"$ref": f"#/definitions/d{i + 1}"}, "b": {"$ref": f"#/definitions/d{i + 1}"}}} for i in range(60)} | {"d60": {"type": "string"}}, "$ref": "#/definitions/d0"}), b'{"A":1}'),
        ("oneOf that doubles", json.dumps({"definitions": {f"d{i}": {"oneOf": [{"$ref": f"#/definitions/d{i + 1}"}, {"$ref": f"#/definitions/d{i + 1}"}]} for i in range(60)} | {"d60": {"type": "string"}}, "$ref": "#/definitions/d0"}), b'{"A":1}'),
        ("allOf 50,000 deep", '{"allOf":[' * 50_000 + "{}" + "]}" * 50_000, b'{"A":1}'),
        ("items 400 deep", '{"type":"array","items":' * 400 + "{}" + "}" * 400, b"[]"),
        ("10^6 unique items", '{"type":"array","uniqueItems":true,"items":{}}', b"[" + b",".join(b"[%d]" % i for i in range(90_000)) + b"]"),
        ("multiples of almost nothing", '{"type":"object","properties":{"A":{"type":"number","multipleOf":1e-300}}}', b'{"A":1e300}'),
        ("a number of 300,000 digits as bound", '{"type":"object","properties":{"A":{"type":"integer","maximum":' + "9" * 300_000 + "}}}", b'{"A":1}'),
        ("an exponent as bound", '{"type":"object","properties":{"A":{"type":"integer","maximum":1e999999999}}}', b'{"A":1}'),
        ("20,000 properties", json.dumps({"type": "object", "properties": {f"p{i}": {"type": "string", "default": "x"} for i in range(20_000)}}), b"{}"),
        ("properties that are a list", '{"type":"object","properties":[1,2]}', b"{}"),
        ("a type that is a number", '{"type":5}', b"{}"),
        ("true", "true", b"{}"),
        ("a decimal of scale 10^9", json.dumps({"type": "object", "properties": {"A": {"type": "number", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes", "connect.parameters": {"scale": "1000000000"}}}}), b'{"A":1.5}'),
        ("a decimal in base64", json.dumps({"type": "object", "properties": {"A": {"type": "string", "title": "org.apache.kafka.connect.data.Decimal", "connect.type": "bytes", "connect.parameters": {"scale": "2"}}}}), b'{"A":"' + b"fw" + b"AA" * 200_000 + b'AA=="}'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("columns", slow_but(["", "A STRING", "A INT"], ""))
def test_a_json_schema_ends_in_rows_or_in_a_sentence(
    what: str, schema: str, payload: bytes, columns: str, tmp_path: Path
) -> None:
    (tmp_path / "s.json").write_text(schema)
    given = ("--columns", columns) if columns else ()
    done = attack(
        *("decode", "--format", "json_sr", "--schema", f"@{tmp_path / 's.json'}", *given),
        *("--output", "json", "--payload", "-"),
        stdin=b"hex:" + payload.hex().encode() + b"\n",
    )
    judge(done, peak=PEAK, secrets=("root:x:0",))


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("A DECIMAL(38, 2)", '{"A": 1e999999999}'),
        ("A DECIMAL(38, 2)", '{"A": {"$decimal": "1E+999999999"}}'),
        ("A DECIMAL(38, 2)", '{"A": "' + "9" * 100_000 + '"}'),
        ("A BIGINT", '{"A": ' + "9" * 100_000 + "}"),
        ("A BIGINT", '{"A": {"$double": "' + "9" * 100_000 + '"}}'),
        ("A STRING", '{"A": "\\ud800"}'),
        ("A STRING", "[" * 100_000),
        ("A TIMESTAMP", '{"A": {"$timestamp": "999999999-01-01T00:00:00Z"}}'),
        ("A BYTES", '{"A": {"$bytes": "!!!!"}}'),
        ("A STRING", '{"A": {"$object": ' * 30_000 + "1" + "}}" * 30_000),
    ],
)
@pytest.mark.parametrize("form", slow_but(["avro", "json_sr", "json"], "avro"))
def test_what_is_to_be_encoded_is_read_with_the_same_care(columns: str, row: str, form: str) -> None:
    good = '{"A": null}'
    done = attack("encode", "--format", form, "--columns", columns, stdin=f"{good}\n{row}\n{good}\n".encode())
    judge(done, codes=(0, 1, 2), peak=PEAK)
    assert len(done.err) < 20_000
    if done.returncode != 2:  # what is no JSON at all is a mistake of who typed it
        assert len(done.out.splitlines()) in (2, 3)


@pytest.mark.parametrize(
    "columns",
    [
        "A " + "ARRAY<" * 5_000 + "INT" + ">" * 5_000,
        "A " + "ARRAY<" * 90 + "INT" + ">" * 90,
        "A " + "STRUCT<B " * 3_000,
        "A DECIMAL(" + "9" * 100_000 + ", 2)",
        "A DECIMAL(5, -" + "9" * 5_000 + ")",
        ", ".join(f"C{i} INT" for i in range(5_000)),
        "`" * 100_000,
        "A\x00B INT",
        "`\x1b]0;x\x07` INT",
        "\ud800 INT",
        "A INT, a INT, `a` INT",
        "A INT" + " " * 100_000 + "KEY!",
    ],
)
@pytest.mark.parametrize("form", slow_but(["avro", "json_sr"], "avro"))
def test_columns_end_in_a_schema_or_in_a_sentence(columns: str, form: str) -> None:
    if "\x00" in columns:
        columns = columns.replace("\x00", "\x01")  # no argument holds a NUL
    raw = columns.encode("utf-8", "surrogatepass")
    judge(attack("schema", raw, "--format", form), peak=PEAK)
    judge(attack("schema", raw, "--format", form, "--output", "json"), peak=PEAK)
