"""JSON and JSON_SR read by the kernel are what Python reads: same rows, same bad rows, same words."""

from __future__ import annotations

import json
import threading
from random import Random
from typing import Any, Final, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.bounds import PayloadBounds, bound_payloads
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns, print_columns
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import JsonDeserializer, JsonSchemaDeserializer, SchemaDeserializer
from srfix.serde.formats import json as json_format
from srfix.serde.formats.json import kernel as json_kernel
from srfix.serde.interface import SerdeContext
from srfix.serde.native import kernel, native_codec_of
from srfix.serde.resolve.policies import ById
from srfix.serde.specs import ReadSpec
from tests.serde.engines import must_agree, python_engine
from tests.serde.fuzz.frames import GuidRegistry
from tests.serde.fuzz.harness import PAYLOADS, PER_CASE, fuzzed, seeds
from tests.serde.fuzz.mutations import JSON, mutated
from tests.serde.fuzz.topic import ALIENS

pytestmark = pytest.mark.skipif(kernel() is None, reason="the kernel is not there")

TOPIC: Final = SerdeContext("t")


_MORE_CASES: Final = 4
"""What is described matters here as much as what is read: more cases, with fewer payloads each."""


_options: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"strict": st.booleans(), "times": st.sampled_from(["datetimes", "datetimes", "integers"])}
)


def _spoilt(random: Random, bodies: list[bytes]) -> list[bytes | None]:
    """Bodies, whole and broken, and a tombstone."""
    some = [
        mutated(random, random.choice(bodies if random.randrange(12) else ALIENS), JSON)
        for _ in range(PER_CASE // _MORE_CASES)
    ]
    return [None, *bodies, *some]


_sizes: Final = pytest.mark.parametrize(
    "payloads", [PAYLOADS // 10, pytest.param(PAYLOADS, marks=pytest.mark.slow, id="as many as the others")]
)


class TestBothEngines:
    @_sizes
    def test_agree_about_json_under_any_schema(self, payloads: int) -> None:
        @fuzzed(payloads * _MORE_CASES)
        @given(_documents(), _options, st.sampled_from(CaseRule), seeds)
        def run(
            drawn: tuple[str, Columns, list[bytes]], options: dict[str, Any], rule: CaseRule, random: Random
        ) -> None:
            text, columns, bodies = drawn
            _agree_under(text, columns, {**options, "case_rule": rule}, bodies, random)

        run()


def _agree_under(text: str, columns: Columns, options: dict[str, Any], bodies: list[bytes], random: Random) -> None:
    registry = GuidRegistry()
    schema_id = registry.seed("t-value", text, schema_type="JSON")
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    native, python = (SchemaDeserializer(ById(registry), columns=columns, **options) for _ in range(2))
    payloads = [None if body is None else prefix + body for body in _spoilt(random, bodies)]
    must_agree(native, python, payloads, about=f"{print_columns(columns)} {options} {text}")


def _connect(type_: str, connect: str, **more: object) -> dict[str, object]:
    return {"type": type_, "connect.type": connect, **more}


_DECIMAL: Final = {"connect.parameters": {"scale": "2", "connect.decimal.precision": "6"}, "connect.version": 1}
_LOGICAL: Final = "org.apache.kafka.connect.data."
_INTS: Final = ("BIGINT", "INT", "STRING", "TIMESTAMP", "DATE", "TIME")
_PROPERTIES: Final[dict[str, tuple[dict[str, object], tuple[str, ...], tuple[object, ...]]]] = {
    "tiny": (_connect("integer", "int8"), _INTS, (0, -128, 127, 128, 1.0)),
    "small": (_connect("integer", "int16"), _INTS, (0, -32768, 32767, 32768)),
    "count": (_connect("integer", "int32"), _INTS, (0, 42, -1, 2**31 - 1, 2**31, 1e3)),
    "id": ({"type": "integer"}, _INTS, (0, 7, 2**40, -(2**63), 2**63, 1.5)),
    "score": ({"type": "number"}, ("DOUBLE", "STRING"), (0, 1.5, -0.0, 1e22, 0.1, "NaN")),
    "ratio": (_connect("number", "float32"), ("DOUBLE", "STRING"), (0, 1.1, 1e39, -0.0)),
    "name": ({"type": "string"}, ("STRING",), ("", "a", "é\U0001f600", '\0\n"\\')),
    "active": ({"type": "boolean"}, ("BOOLEAN", "STRING"), (True, False)),
    "digest": (_connect("string", "bytes"), ("BYTES", "DECIMAL(6, 2)"), ("", "AAE=", "AAF=", "AAECAw==", "AA", "A A=")),
    "day": (_connect("integer", "int32", title=f"{_LOGICAL}Date"), ("DATE", "INT"), (0, -1, 2932896, 2932897)),
    "hour": (_connect("integer", "int32", title=f"{_LOGICAL}Time"), ("TIME", "INT"), (0, 86399999, 86400000, -1)),
    "seen": (_connect("integer", "int64", title=f"{_LOGICAL}Timestamp"), ("TIMESTAMP", "BIGINT"), (0, -1, 10**15)),
    "price": (
        _connect("number", "bytes", title=f"{_LOGICAL}Decimal", **_DECIMAL),
        ("DECIMAL(6, 2)", "DECIMAL(40, 3)", "DECIMAL(3, 0)", "BYTES"),
        (0, 12.5, -0.0, 12.345, 1e3, 99999, "AAE="),
    ),
    "tags": ({"type": "array", "items": {"type": "string"}}, ("ARRAY<STRING>",), ([], ["a", "b"], [None])),
    "address": (
        {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}},
        ("STRUCT<CITY STRING, ZIP INT, OTHER STRING>", "STRUCT<ZIP BIGINT>"),
        ({}, {"city": "x"}, {"zip": 1, "city": None, "more": [1]}),
    ),
    "counts": (
        _connect("object", "map", additionalProperties={"type": "integer"}),
        ("MAP<STRING, BIGINT>",),
        ({}, {"a": 1, "b": 2}, {"a": None}),
    ),
    "either": (
        {"oneOf": [{"type": "string", "title": "s"}, {"type": "integer", "title": "i"}]},
        ("STRUCT<`connect_union_field_0` STRING>",),
        ("a", 1, None),
    ),
}


@st.composite
def _documents(draw: DrawFn) -> tuple[str, Columns, list[bytes]]:
    """A JSON Schema, columns, and documents that are mostly of it."""
    names = draw(st.lists(st.sampled_from(sorted(_PROPERTIES)), min_size=1, max_size=6, unique=True))
    properties: dict[str, object] = {}
    for name in names:
        schema, _, values = _PROPERTIES[name]
        if draw(st.integers(0, 5)) == 0:
            schema = {**schema, "default": draw(st.sampled_from(values))}
        properties[name] = draw(st.sampled_from([schema, {"oneOf": [{"type": "null"}, schema]}]))
    required = draw(st.lists(st.sampled_from(names), unique=True))
    text = json.dumps({"type": "object", "properties": properties, "required": required})
    types = [f"`{draw(_spelled(name))}` {draw(st.sampled_from(_PROPERTIES[name][1]))}" for name in names]
    value = st.integers(0, 6).flatmap(lambda n: st.sampled_from((None, 1, "x")) if not n else st.none())
    bodies = []
    for _ in range(draw(st.integers(1, 4))):
        kept = [name for name in draw(st.permutations(names)) if draw(st.integers(0, 5))]
        odd = draw(value)
        document = {name: draw(st.sampled_from(_PROPERTIES[name][2])) for name in kept}
        if odd is not None and kept:
            document[kept[0]] = odd
        bodies.append(json.dumps(document, ensure_ascii=draw(st.booleans())).encode())
    return text, parse_columns(", ".join(types)), bodies


def _spelled(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, name.upper(), name.upper(), name.title()])


COLUMNS: Final = parse_columns("ID BIGINT, NAME STRING, PRICE DECIMAL(6, 2), PARTS ARRAY<STRUCT<`AT` TIMESTAMP>>")
BODY: Final = b'{"id": 7, "NAME": "Ada", "price": "12.5", "parts": [{"at": 1}, null, {}]}'


@pytest.mark.parametrize(
    "body",
    [
        b'{"id": 7, "ID": 8}',
        b'{"id": 7, "id": 8}',
        b'{"Id": 7, "iD": 8}',
        b'{"ID": 7, "id": null}',
        b'{"ID": "9223372036854775808"}',
        b'{"ID": "+7"}',
        b'{"ID": 7.9}',
        b'{"ID": -0}',
        b'{"NAME": 1.50, "ID": 1}',
        b'{"NAME": 1e3, "ID": 1}',
        b'{"NAME": -0.0, "ID": 1}',
        b'{"NAME": {"a": [1]}, "ID": 1}',
        b'{"NAME": "\\ud83d\\ude00\\u0000", "ID": 1}',
        b'{"NAME": "\\ud83d", "ID": 1}',
        b'{"other": "\xff", "ID": 1}',
        b'{"other": "\\ud800", "ID": 1}',
        b'{"other": 1e999, "ID": 1}',
        b'{"other": 1e9999999999999999999999, "ID": 1}',
        b'{"other": ' + b"9" * 5000 + b', "ID": 1}',
        b'{"other": ' + b"[" * 300 + b"]" * 300 + b', "ID": 1}',
        b'{"\\u0069d": 7}',
        b'{"PRICE": 1e2}',
        b'{"PRICE": 1.500}',
        b'{"PRICE": 1.505}',
        b'{"PRICE": 10000}',
        b'{"PARTS": [{"at": 253402300800000}]}',
        b"\xef\xbb\xbf" + BODY,
        b" " + BODY + b"\n",
        BODY + b"x",
        BODY[:-1],
        b"null",
        b"[]",
        b"",
    ],
)
@pytest.mark.parametrize("rule", CaseRule)
def test_what_is_odd_is_read_as_python_reads_it(body: bytes, rule: CaseRule) -> None:
    native = JsonDeserializer(COLUMNS, case_rule=rule)
    with python_engine():
        python = JsonDeserializer(COLUMNS, case_rule=rule)
    must_agree(native, python, [BODY, body, None, body, BODY], about=f"{rule}")


@pytest.mark.parametrize(
    "body",
    [
        b'{"score": -0.0, "ratio": -0.0}',
        b'{"score": 1e400}',
        b'{"score": "NaN"}',
        b'{"score": 1, "ratio": 1.1}',
        b'{"ratio": 1e39}',
        b'{"tiny": 128}',
        b'{"count": 2147483648}',
        b'{"tiny": 1.5}',
        b'{"tiny": null}',
        b'{"hour": 86400000}',
        b'{"hour": -1}',
        b'{"day": 2932897}',
        b'{"price": -0.0}',
        b'{"price": "AAE="}',
        b'{"price": 12.345}',
        b'{"counts": [{"key": "a", "value": 1}, {"value": null, "key": "b"}]}',
        b'{"counts": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}',
        b'{"counts": [{"key": null, "value": 1}]}',
        b'{"counts": [{"key": "a", "other": 1}]}',
        b'{"counts": [{"key": "a"}]}',
        b'{"counts": {"a": 1}}',
        b'{"SCORE": 1}',
        b'{"score": 1, "score": 2}',
        b'{"digest": "AAF="}',
        b'{"digest": "AA E="}',
        b"{}",
        b"null",
        b"[]",
        b"",
    ],
)
@pytest.mark.parametrize("rule", CaseRule)
def test_what_is_odd_under_a_schema_is_read_as_python_reads_it(body: bytes, rule: CaseRule) -> None:
    names = ("score", "ratio", "tiny", "count", "hour", "day", "price", "digest")
    entry = {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "integer"}}}
    nullable = {"oneOf": [{"type": "null"}, {"type": "string"}]}
    counts = _connect("array", "map", items={**entry, "properties": {**entry["properties"], "key": nullable}})  # type: ignore[dict-item]
    text = json.dumps({"type": "object", "properties": {**{n: _PROPERTIES[n][0] for n in names}, "counts": counts}})
    columns = parse_columns(
        "SCORE DOUBLE, RATIO DOUBLE, TINY INT, COUNT BIGINT, HOUR TIME, `day` DATE, PRICE DECIMAL(6, 2), "
        "COUNTS MAP<STRING, BIGINT>, DIGEST BYTES"
    )
    registry = GuidRegistry()
    prefix = b"\0" + registry.seed("t-value", text, schema_type="JSON").to_bytes(4, "big")
    native, python = (JsonSchemaDeserializer(ById(registry), columns=columns, case_rule=rule) for _ in range(2))
    must_agree(native, python, [prefix + b'{"tiny": 1}', prefix + body, None, prefix + body], about=f"{rule}")


class TestTheKernel:
    def test_reads_the_documents_of_its_columns_itself(self) -> None:
        deserialize = JsonDeserializer(COLUMNS)
        decode = json_format.decoder(None, ReadSpec(columns=COLUMNS))
        native = cast("Any", native_codec_of(decode))
        assert native.read_ahead([BODY, BODY], 0) == [deserialize(BODY, TOPIC)] * 2

    def test_knows_a_case_rule_from_python_alone(self) -> None:
        asked: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            match = json_kernel.match_keys

            def matched(names: Any, keys: Any, *rest: Any, **more: Any) -> dict[str, str]:
                asked.extend(keys)
                return match(names, keys, *rest, **more)

            patch.setattr(json_kernel, "match_keys", matched)
            deserialize = JsonDeserializer(COLUMNS)
            for _ in range(3):
                deserialize(BODY, TOPIC)
                to_arrow([BODY] * 3, TOPIC, deserialize)
        assert sorted(set(asked)) == ["NAME", "at", "id", "parts", "price"]
        assert len(asked) == 5  # once for each spelling

    def test_leaves_columns_that_differ_by_case_to_python(self) -> None:
        columns = parse_columns("`foo` INT, FOO INT")
        assert native_codec_of(json_format.decoder(None, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))) is None
        assert (
            native_codec_of(json_format.decoder(None, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))) is not None
        )

    def test_spends_what_python_spends(self) -> None:
        columns = parse_columns(f"A ARRAY<STRUCT<{', '.join(f'C{number} INT' for number in range(40))}>>")
        before = bound_payloads(PayloadBounds(values=100, values_per_byte=1))
        try:
            native = JsonDeserializer(columns)
            with python_engine():
                python = JsonDeserializer(columns)
            bodies: list[bytes | None] = [b'{"A": [' + b",".join([b"{}"] * count) + b"]}" for count in (1, 2, 3, 40)]
            must_agree(native, python, bodies, about="40 columns")
        finally:
            bound_payloads(before)

    def test_remembers_no_more_spellings_than_it_may(self) -> None:
        deserialize = JsonDeserializer(parse_columns("ID INT"))
        bodies = [b'{"id": %d, "key-%d": 1}' % (number, number) for number in range(5_000)]
        batch = to_arrow(bodies, TOPIC, deserialize)
        assert batch.column("ID").to_pylist() == list(range(5_000))

    def test_may_be_asked_for_other_columns_by_two_threads(self) -> None:
        """Who asks Python which column a key feeds waits for the interpreter, which another thread may have while it adds a
        schema: no lock is held then."""
        registry = GuidRegistry()
        schemas = [
            f'{{"type": "object", "properties": {{"id": {{"type": "integer"}}, "p{n}": {{}}}}}}' for n in range(50)
        ]
        ids = [registry.seed(f"s{number}", text, schema_type="JSON") for number, text in enumerate(schemas)]
        deserialize = JsonSchemaDeserializer(
            ById(registry), columns=parse_columns("ID BIGINT"), case_rule=CaseRule.KSQLDB_2020
        )
        payloads = [
            b"\0" + schema_id.to_bytes(4, "big") + b'{"id": 1, "key-%d": 2}' % number
            for number, schema_id in enumerate(ids * 20)
        ]
        batches: list[pa.RecordBatch] = []

        def read() -> None:
            batches.append(to_arrow(payloads, TOPIC, deserialize))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert [batch.column("ID").to_pylist() for batch in batches] == [[1] * len(payloads)] * 4
