"""Encoding: strict, never rounding, every bad field named with its path."""

from __future__ import annotations

import datetime
import json
import uuid
from decimal import Decimal
from io import BytesIO

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import CaseRule, Columns, EncodeError, SchemaError, parse_columns
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.formats.avro.write.encoder import encoder
from srfix.serde.formats.avro.write.kernel import native_encoder
from srfix.serde.native import kernel
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.serde import avro_schemas as avro
from tests.serde.avro_schemas import array, decimal, enum, fixed, logical, map_of, numbered, record
from tests.serde.fuzz.engines import are_same, outcome, python_engine
from tests.strategies import columns_and_row

NOON = datetime.datetime(2026, 1, 2, 12, 0, 0, 1999, tzinfo=datetime.UTC)
CENTS = decimal(4, 2)


def _encode(schema: object, row: object) -> bytes:
    return encoder(json.dumps(schema), WriteSpec())(row, b"")


def _decoded(schema: object, row: object) -> object:
    body = _encode(schema, row)
    if schema == "bytes" or (isinstance(schema, dict) and schema["type"] == "bytes"):
        # Such a root is written without its length, which fastavro reads.
        with_length = BytesIO()
        fastavro.schemaless_writer(with_length, {"type": "bytes"}, body)
        body = with_length.getvalue()
    return fastavro.schemaless_reader(BytesIO(body), schema, None)  # type: ignore[arg-type]


def _with_columns(text: str, row: object, rule: CaseRule = CaseRule.UNIQUE) -> object:
    columns = parse_columns(text)
    schema = internal_schema(WriteSpec(columns=columns))
    body = encoder(schema, WriteSpec(columns=columns, case_rule=rule))(row, b"")
    return decoder(schema, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))(body, 0)


GOOD = [
    ("null", None),
    ("boolean", True),
    ("int", -(2**31)),
    ("long", 2**63 - 1),
    ("float", 0.5),
    ("float", float("inf")),
    ("double", 1e300),
    ("string", "ü"),
    ("bytes", b"\x00"),
    (enum("A", "B"), "B"),
    (fixed(2), b"ab"),
    (array("int"), [1, 2]),
    (array(["null", "string"]), ["a", None]),
    (map_of(["null", "long"]), {"a": 1, "b": None}),
    (avro.DATE, datetime.date(1, 1, 1)),
    (avro.TIME_MILLIS, datetime.time(23, 59, 59, 999000)),
    (logical("long", "time-micros"), datetime.time(23, 59, 59, 999999)),
    (avro.MILLIS, datetime.datetime(1, 1, 1, tzinfo=datetime.UTC)),
    (avro.MICROS, NOON),
    (logical("long", "local-timestamp-millis"), datetime.datetime(1969, 12, 31, 23, 59, 59)),
    (avro.UUID, uuid.UUID(int=7)),
    (CENTS, Decimal("-99.99")),
    (decimal(5, 1, fixed(3)), Decimal("-1.5")),
    (["null", "int", "string"], "text"),
    (["null", avro.MICROS, "string"], NOON),
]

BAD = [
    ("null", 0, "None"),
    ("boolean", 1, "a boolean"),
    ("int", 2**31, "an integer from -2147483648 to 2147483647"),
    ("int", True, "an integer from -2147483648 to 2147483647"),
    ("int", 1.0, "an integer from -2147483648 to 2147483647"),
    ("long", 2**63, "an integer from -9223372036854775808 to 9223372036854775807"),
    ("float", 1e300, "a float of 32 bits"),
    ("float", 2**24 + 1, "a float of 32 bits"),
    ("double", "1.5", "a float"),
    ("double", 2**53 + 1, "a float"),
    ("string", b"a", "a string"),
    ("bytes", "a", "bytes"),
    (enum("A", "B"), "C", "one of A, B"),
    (fixed(2), b"abc", "2 bytes"),
    (array("int"), "12", "a list"),
    (array("int"), {1}, "a list"),
    (map_of("int"), [("a", 1)], "a mapping with string keys"),
    (avro.DATE, NOON, "a date"),
    (avro.TIME_MILLIS, datetime.time(1, tzinfo=datetime.UTC), "a time without zone"),
    (avro.MILLIS, datetime.datetime(2026, 1, 1), "a datetime with a time zone"),
    (logical("long", "local-timestamp-micros"), NOON, "a datetime without time zone"),
    (avro.UUID, 7, "a UUID"),
]


class TestValues:
    @pytest.mark.parametrize(("type_", "value"), GOOD)
    def test_a_value_that_fits_is_written(self, type_: object, value: object) -> None:
        assert _decoded(numbered(type_), {"f0": value}) == {"f0": value}
        assert _decoded(type_, value) == value
        body = _encode(type_, value)
        assert decoder(json.dumps(type_), ReadSpec())(body, 0) == value

    @pytest.mark.parametrize(("type_", "value"), [case for case in GOOD if not isinstance(case[0], list)])
    def test_it_is_written_as_nullable_too(self, type_: object, value: object) -> None:
        schema = numbered(["null", type_]) if type_ != "null" else numbered(["null"])
        assert _decoded(schema, {"f0": value}) == {"f0": value}
        assert _decoded(schema, {"f0": None}) == {"f0": None}

    @pytest.mark.parametrize(("type_", "value", "needs"), BAD)
    def test_a_value_that_does_not_fit_is_refused_with_its_path(self, type_: object, value: object, needs: str) -> None:
        for schema in (numbered(type_), numbered(["null", type_] if type_ != "null" else "null")):
            with pytest.raises(EncodeError) as caught:
                _encode(schema, {"f0": value})
            assert caught.value.message.startswith(f"1 field does not fit: f0 needs {needs}, got ")
            assert caught.value.paths == ("->f0",)

    @pytest.mark.parametrize("type_", ["boolean", "int", "string", array("int")])
    def test_none_where_null_is_not_allowed_is_refused(self, type_: object) -> None:
        with pytest.raises(EncodeError, match=r"got NoneType None\.$"):
            _encode(numbered(type_), {"f0": None})

    @pytest.mark.parametrize("value", ["1.234", "100", "1E+2", "NaN", "Infinity", "-100.00"])
    def test_a_decimal_is_never_rounded(self, value: str) -> None:
        with pytest.raises(EncodeError, match=r"^1 field does not fit: f0 needs .*DECIMAL\(4, 2\)"):
            _encode(numbered(CENTS), {"f0": Decimal(value)})

    @pytest.mark.parametrize("value", ["0", "0E+999999", "-0.00", "1E+1", "99", "99.99", "1.2500"])
    def test_a_decimal_that_fits_is_written_whatever_its_exponent(self, value: str) -> None:
        """DecimalUtil.ensureFit: setScale with RoundingMode.UNNECESSARY; zeros behind the last digit are no digits."""
        assert _decoded(numbered(CENTS), {"f0": Decimal(value)}) == {"f0": Decimal(value)}

    @pytest.mark.parametrize("row", [{"f0": Decimal("1E+999999")}, {"f0": {"a": [Decimal("-1E+99999")]}}])
    def test_a_decimal_of_a_million_zeros_is_refused_where_fastavro_would_write_them_out(self, row: object) -> None:
        schema = numbered(["int", decimal(39, 32, fixed(18)), map_of(array(["string", "F"]))])
        with pytest.raises(EncodeError, match=r"at most 1,000 zeros at its end, got Decimal"):
            _encode(schema, row)

    def test_a_decimal_fills_its_fixed(self) -> None:
        assert _encode(decimal(2, 0, fixed(1)), Decimal("-99")) == b"\x9d"
        assert _encode(decimal(2, 0, fixed(1)), Decimal(99)) == b"\x63"

    @pytest.mark.parametrize("wrap", [False, True])
    def test_a_time_finer_than_its_type_is_refused_or_cut_if_asked_for(self, wrap: bool) -> None:
        # fastavro chooses a branch of the second, and would cut.
        schema: object = ["null", array(avro.MILLIS), "string"] if wrap else avro.MILLIS
        row, cut = ([NOON], [NOON.replace(microsecond=1000)]) if wrap else (NOON, NOON.replace(microsecond=1000))
        with pytest.raises(EncodeError, match=r"the row needs whole milliseconds \(cut the time first; "):
            _encode(schema, row)
        body = encoder(json.dumps(schema), WriteSpec(cut_times=True))(row, b"")
        assert decoder(json.dumps(schema), ReadSpec())(body, 0) == cut
        assert _decoded(schema, cut) == cut

    def test_a_lone_surrogate_is_an_encode_error(self) -> None:
        with pytest.raises(EncodeError, match=r"^The row cannot be written \(UnicodeEncodeError: "):
            _encode("string", "\ud800")

    def test_a_value_of_no_branch_is_an_encode_error(self) -> None:
        with pytest.raises(EncodeError, match=r"^The row cannot be written \(ValueError: "):
            _encode(numbered(["null", "int", "string"]), {"f0": 1.5})

    def test_subclasses_of_the_plain_types_are_taken(self) -> None:
        class Text(str):
            __slots__ = ()

        class Number(int):
            pass

        row = {"f0": Text("a"), "f1": Number(1), "f2": Number(2)}
        assert _decoded(numbered("string", "int", ["null", "long"]), row) == {"f0": "a", "f1": 1, "f2": 2}

    @pytest.mark.parametrize("value", [1, True, 0])
    def test_the_shape_that_was_seen_first_does_not_open_the_door_for_another(self, value: object) -> None:
        write = encoder(json.dumps(numbered(["null", "string"])), WriteSpec())
        assert write({"f0": "text"}, b"") == b"\x02\x08text"
        assert write({"f0": None}, b"") == b"\x00"
        with pytest.raises(EncodeError):
            write({"f0": value}, b"")
        assert write({"f0": "text"}, b"") == b"\x02\x08text"


class TestRows:
    def test_all_bad_fields_are_named_at_once_and_stand_in_a_group(self) -> None:
        columns = "A INT, B STRUCT<C STRING, D ARRAY<INT>>, E MAP<STRING, INT>"
        row = {"A": "x", "B": {"C": 1, "D": [1, "y"], "Q": 0}, "E": {"k": "z"}, "Z": 1}
        with pytest.raises(EncodeError, match=r"^6 fields do not fit: Z feeds no column") as caught:
            _with_columns(columns, row)
        assert caught.value.paths == ("->Z", "->A", "->B->Q", "->B->C", "->B->D[1]", "->E->k")
        group = caught.value.__cause__
        assert isinstance(group, ExceptionGroup)
        assert len(group.exceptions) == 6

    def test_of_very_many_bad_fields_the_message_shows_ten(self) -> None:
        with pytest.raises(EncodeError, match=r"; and 90 more\.$"):
            _with_columns("A ARRAY<INT>", {"A": ["x"] * 100})

    def test_a_long_value_is_not_quoted_in_full(self) -> None:
        with pytest.raises(EncodeError) as caught:
            _with_columns("A INT", {"A": "x" * 10_000})
        assert len(caught.value.message) < 250

    def test_what_is_missing_and_nullable_is_null(self) -> None:
        assert _with_columns("A INT, B STRUCT<C INT, D INT>", {"B": {"D": 1}}) == {"A": None, "B": {"C": None, "D": 1}}

    @pytest.mark.parametrize(
        ("columns", "row", "rule", "refusal"),
        [
            ("A INT", {"a": 1}, CaseRule.EXACT, r"a feeds no column or field"),
            ("A INT, `a` INT", {"A": 1, "x": 2}, CaseRule.KSQLDB_2020, r"x feeds no column or field"),
            ("FOO INT", {"foo": 1, "Foo": 2}, CaseRule.UNIQUE, r"the row has keys that are ambiguous: Column 'FOO'"),
            ("FOO INT", {"FOO": 1, "foo": 2}, CaseRule.UNIQUE, r"foo feeds no column or field"),
            ("A INT", {1: 1}, CaseRule.UNIQUE, r"1 feeds no column"),
            ("M MAP<STRING, INT>", {"M": {1: 1}}, CaseRule.UNIQUE, r"M->1 needs a string as its key, got int 1"),
            *(("A INT", row, CaseRule.UNIQUE, "the row needs a mapping") for row in (5, [1], "text", [("A", 1)])),
        ],
    )
    def test_a_row_whose_keys_do_not_go_with_the_columns(
        self, columns: str, row: object, rule: CaseRule, refusal: str
    ) -> None:
        with pytest.raises(EncodeError, match=refusal):
            _with_columns(columns, row, rule)

    def test_a_dict_of_map_entries_has_text_as_its_keys_whatever_the_schema(self) -> None:
        """The native kernel wrote the key 1 as an int."""
        schema = numbered(avro.entries("int", "int"))
        with pytest.raises(EncodeError, match=r"f0->1 needs a string as its key, got int 1\.$"):
            _encode(schema, {"f0": {1: 2}})
        assert _encode(schema, {"f0": [{"key": 1, "value": 2}]}) == b"\x02\x02\x04\x00"

    def test_rows_that_are_spelt_in_turn_differently_are_written_alike(self) -> None:
        columns = parse_columns("A INT, B STRUCT<C INT>, N STRING, S STRING")
        schema = internal_schema(WriteSpec(columns=columns))
        write = encoder(schema, WriteSpec(columns=columns))
        read = decoder(schema, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))
        expected = {"A": 1, "B": {"C": 2}, "N": None, "S": "x"}
        spellings: list[dict[str, object]] = [
            expected,
            {"a": 1, "b": {"c": 2}, "n": None, "s": "x"},
            {"s": "x", "n": None, "b": {"C": 2}, "a": 1},
            {"A": 1, "b": {"c": 2}, "N": None, "s": "x"},
        ]
        for row in spellings * 2:
            before = json.dumps(row)
            assert read(write(row, b""), 0) == expected
            assert json.dumps(row) == before
        for bad in ({**spellings[1], "a": 2**31}, {"a": 1, "b": None, "n": None, "t": "x"}):
            with pytest.raises(EncodeError, match=r": (A needs an integer|t feeds no column)"):
                write(bad, b"")

    def test_rows_spelt_otherwise_are_written_where_null_is_not_allowed(self) -> None:
        schema, columns = json.dumps(numbered("int", "string")), parse_columns("A INT, B STRING")
        write = encoder(schema, WriteSpec(columns=columns))
        assert write({"a": 1, "b": "x"}, b"") == write({"B": "x", "A": 1}, b"") == b"\x02\x02x"

    def test_a_missing_field_without_default_is_refused(self) -> None:
        with pytest.raises(EncodeError, match=r"f1 is missing, but the schema has no default for it\.$"):
            _encode(numbered("int", "int"), {"f0": 1})

    def test_a_missing_field_takes_the_default_of_the_schema(self) -> None:
        nested = record("N", x="bytes")
        nested["fields"].append({"name": "y", "type": "int", "default": 3})
        types: list[tuple[object, object, object]] = [
            ("int", 5, 5),
            ("bytes", "\u00ff", b"\xff"),
            (["int", "null"], 7, 7),
            (["null", "string"], None, None),
            (array("bytes"), ["a"], [b"a"]),
            (map_of("int"), {"a": 1}, {"a": 1}),
            (nested, {"x": "a"}, {"x": b"a", "y": 3}),
            (CENTS, "\u0001", Decimal("0.01")),
        ]
        schema = numbered(*(type_ for type_, _, _ in types))
        for field, (_, default, _) in zip(schema["fields"], types, strict=True):
            field["default"] = default
        assert _decoded(schema, {}) == {f"f{n}": value for n, (_, _, value) in enumerate(types)}

    def test_map_entries_may_be_given_as_a_mapping_or_as_entries(self) -> None:
        schema = json.loads(internal_schema(WriteSpec(columns=parse_columns("M MAP<STRING, INT>"))))
        entries = [{"key": "a", "value": 1}, {"key": "b", "value": None}]
        assert _encode(schema, {"M": {"a": 1, "b": None}}) == _encode(schema, {"M": entries})
        for entry in ({"key": "a"}, {"key": "a", "values": 1}, {"key": "a", "value": 1, "more": 1}, "ab"):
            with pytest.raises(EncodeError, match=r"M\[0\] needs a map entry"):
                _encode(schema, {"M": [entry]})
        with pytest.raises(EncodeError, match=r"M\[1\] needs an integer"):
            _encode(schema, {"M": [{"key": "a", "value": 1}, {"key": "b", "value": "1"}]})

    def test_a_recursive_row_is_written_and_one_without_end_refused(self) -> None:
        schema = record("N", next=["null", "N"])
        assert _encode(schema, {"next": {"next": None}}) == b"\x02\x00"
        endless: dict[str, object] = {}
        endless["next"] = endless
        with pytest.raises(EncodeError, match=r"^The row nests too deep to be written\.$"):
            _encode(schema, endless)

    def test_rows_of_very_many_shapes_are_all_written(self) -> None:
        columns = parse_columns(", ".join(f"C{number} INT" for number in range(10)))
        schema = internal_schema(WriteSpec(columns=columns))
        write = encoder(schema, WriteSpec(columns=columns))
        read = decoder(schema, ReadSpec(columns=columns))
        for bits in range(1024):
            row = {f"C{number}": number if bits >> number & 1 else None for number in range(10)}
            assert read(write(row, b""), 0) == row

    @given(columns_and_row)
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_what_we_write_is_what_fastavro_writes(self, columns_row: tuple[Columns, object]) -> None:
        columns, _ = columns_row
        text = internal_schema(WriteSpec(columns=columns))
        body = encoder(text, WriteSpec(columns=columns))(columns_row[1], b"")
        row = decoder(text, ReadSpec())(body, 0)
        theirs = BytesIO()
        fastavro.schemaless_writer(theirs, json.loads(text), row)
        if theirs.getvalue() != body:
            # A decimal of -128 (-32768, ...) takes one byte more there than with Java's BigInteger.toByteArray, which is ours.
            assert len(body) < len(theirs.getvalue())
            assert fastavro.schemaless_reader(BytesIO(body), json.loads(text), None) == row

    @pytest.mark.core
    @pytest.mark.parametrize(("unscaled", "body"), [(-128, b"\x80"), (-129, b"\xff\x7f"), (128, b"\x00\x80")])
    def test_a_decimal_takes_as_few_bytes_as_with_java(self, unscaled: int, body: bytes) -> None:
        """`BigInteger.toByteArray`, in Connect's Decimal.fromLogical; without a length before it at the root."""
        for wrap, before in ((True, bytes([2, 2 * len(body)])), (False, b"")):
            spec = WriteSpec(columns=parse_columns("D DECIMAL(6, 0)"), wrap=wrap)
            assert encoder(internal_schema(spec), spec)({"D": Decimal(unscaled)}, b"") == before + body


class TestWithColumnsAsTheEngine:
    """`KsqlConnectSerializer`, `UnwrappedSerializer`, `AbstractKafkaAvroSerializer`."""

    @pytest.mark.parametrize(
        ("schema", "column", "value", "body"),
        [
            ("int", "INT", 5, b"\x0a"),
            ("string", "STRING", "x", b"\x02x"),
            (array(["null", "int"]), "ARRAY<INT>", [1, None], b"\x04\x02\x02\x00\x00"),
            # A root of bytes has no length before it, a decimal neither.
            ("bytes", "BYTES", b"abc", b"abc"),
            (decimal(6, 2), "DECIMAL(6, 2)", Decimal("123.45"), b"\x30\x39"),
        ],
    )
    def test_an_unwrapped_row_is_its_only_value(self, schema: object, column: str, value: object, body: bytes) -> None:
        columns = parse_columns(f"F {column}")
        text = json.dumps(schema)
        write = encoder(text, WriteSpec(columns=columns, wrap=False))
        assert write({"F": value}, b"12345") == b"12345" + body
        assert write({"f": value}, b"") == body
        read = decoder(text, ReadSpec(columns=columns, wrap=False))
        assert read(b"12345" + body, 5) == {"F": value}

    @pytest.mark.parametrize(
        ("row", "refusal"),
        [
            ({"F": None}, "F is null; without wrapping, null has no bytes"),
            ({}, "F is missing"),
            ({"F": "x"}, r"F needs an integer from .*, got str 'x'\.$"),
            ({"F": 1, "G": 1}, "G feeds no column"),
        ],
    )
    def test_an_unwrapped_row_that_does_not_fit(self, row: object, refusal: str) -> None:
        write = encoder('"int"', WriteSpec(columns=parse_columns("F INT"), wrap=False))
        with pytest.raises(EncodeError, match=f"^1 field does not fit: {refusal}"):
            write(row, b"")

    def test_a_raw_root_names_what_does_not_fit(self) -> None:
        with pytest.raises(EncodeError, match=r"the row needs bytes, got str 'x'\.$"):
            _encode("bytes", "x")

    def test_a_null_key_of_a_map_is_written_where_entries_may_have_it(self) -> None:
        assert _with_columns("M MAP<STRING, INT>", {"M": {None: 1, "a": 2}}) == {"M": {None: 1, "a": 2}}
        with pytest.raises(EncodeError, match=r"needs a string as its key, got NoneType None"):
            _encode(numbered(map_of("int")), {"f0": {None: 1}})

    def test_a_schema_that_is_not_the_columns_is_refused(self) -> None:
        with pytest.raises(SchemaError, match=r"^The record R has 1 fields, but there are 2 columns"):
            encoder(json.dumps(numbered("int")), WriteSpec(columns=parse_columns("A INT, B INT")))

    def test_a_schema_with_references_is_written_under(self) -> None:
        inner, text = json.dumps(record("I", x="int")), json.dumps(numbered("I"))
        write = encoder(text, WriteSpec(), references=(inner,))
        assert write({"f0": {"x": 1}}, b"") == b"\x02"

    def test_a_default_that_does_not_fit_is_a_schema_error(self) -> None:
        field = {"name": "f0", "type": "bytes", "default": 5}
        with pytest.raises(SchemaError, match=r"^The default of the field f0 does not fit its type bytes"):
            _encode({"type": "record", "name": "R", "fields": [field]}, {})


_LIKE_COLUMNS = parse_columns("A BIGINT, B BIGINT, C STRING, `d` STRING, `D` STRING, E STRUCT<F INT>")
"""Of types that another's value fits, two of which differ only in letter case."""


def _spelt(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from([name, name.lower(), name.upper()])


_VALUES = st.none() | st.integers(-2, 2) | st.sampled_from(["x", "y"]) | st.dictionaries(_spelt("F"), st.integers(0, 9))
_NUMBER, _TEXT = st.integers(-99, 99), st.text(max_size=3)
_GOOD_VALUES = {"A": _NUMBER, "B": _NUMBER, "C": _TEXT, "d": _TEXT, "D": _TEXT}


@st.composite
def _spelt_rows(draw: st.DrawFn) -> dict[str, object]:
    """Rows of these columns under any spelling of their names: a name may be missing, or come twice or as no column's."""
    names = draw(st.permutations([*_GOOD_VALUES, "E", *draw(st.lists(st.sampled_from(["A", "D", "x"]), max_size=1))]))
    good = {**_GOOD_VALUES, "E": st.fixed_dictionaries({"F": _NUMBER}) | st.fixed_dictionaries({"f": _NUMBER})}
    row: dict[str, object] = {}
    for name in names[: draw(st.sampled_from([len(names)] * 3 + [len(names) - 1]))]:
        row[draw(_spelt(name))] = draw(good.get(name, _VALUES) if draw(st.integers(0, 9)) else _VALUES)
    return row


_SPELT_ROWS = _spelt_rows()


@pytest.mark.skipif(kernel() is None, reason="There is no kernel")
class TestRowsOfOtherLetterCase:
    @given(_SPELT_ROWS, st.sampled_from(CaseRule))
    def test_the_kernel_writes_what_python_does(self, row: dict[str, object], rule: CaseRule) -> None:
        spec = WriteSpec(columns=_LIKE_COLUMNS, case_rule=rule)
        schema = internal_schema(spec)
        by_kernel = outcome(lambda: encoder(schema, spec)(row, b"\0"))
        with python_engine():
            by_python = outcome(lambda: encoder(schema, spec)(row, b"\0"))
        assert are_same(by_kernel, by_python)

    def test_they_reach_it_under_the_columns_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = WriteSpec(columns=parse_columns("ID BIGINT, NAME STRING"))

        def refuse(row: object, _prefix: bytes, /) -> bytes:
            raise AssertionError(row)

        monkeypatch.setattr(
            "srfix.serde.formats.avro.write.encoder.native_encoder",
            lambda value, _, spec: native_encoder(value, refuse, spec),
        )
        encode = encoder(internal_schema(spec), spec)
        assert encode({"name": "Ada", "Id": 7}, b"") == encode({"ID": 7, "NAME": "Ada"}, b"")
        with pytest.raises(AssertionError, match=r"name.*NAME"):
            encode({"name": "Ada", "NAME": "Eva", "ID": 7}, b"")
