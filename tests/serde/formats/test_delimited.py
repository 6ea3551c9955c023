"""DELIMITED: a record of CSV (`KsqlDelimitedSerializer`, `KsqlDelimitedDeserializer`, `Delimiter`; Commons CSV 1.4). What
Commons CSV itself does is held in `tests/stack/test_delimited_against_commons_csv.py`."""

from __future__ import annotations

import datetime
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Final, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.serde import CaseRule, DelimitedDeserializer, DelimitedSerializer, Role, SerdeContext, deserialize_many
from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import (
    CoercionError,
    ColumnError,
    DecodeError,
    EncodeError,
    OutOfRangeError,
    SrfixError,
    TrailingBytesError,
    TruncatedBodyError,
    UsageError,
)
from srfix.serde.formats import delimited
from srfix.serde.formats.table import Format
from srfix.serde.interface import BadRow, Row, Value
from srfix.serde.spark import plan_read, plan_write
from srfix.serde.specs import ReadSpec, RowSpec, WriteSpec

CTX: Final = SerdeContext("t")
UTC: Final = datetime.UTC


def _read(sql: str, body: bytes, delimiter: str = ",", offset: int = 0) -> Value:
    return delimited.decoder(None, ReadSpec(columns=parse_columns(sql), delimiter=delimiter))(body, offset)


def _write(sql: str, row: object, delimiter: str = ",", rule: CaseRule = CaseRule.UNIQUE) -> bytes:
    spec = WriteSpec(columns=parse_columns(sql), case_rule=rule, delimiter=delimiter)
    return delimited.encoder(None, spec)(row, b"")


class TestBoth:
    """Each type of `KsqlDelimitedSerializer`, alone in its record and behind another column."""

    @pytest.mark.parametrize(
        ("sql", "value", "text"),
        [
            ("BOOLEAN", True, "true"),
            ("BOOLEAN", False, "false"),
            ("INT", 2**31 - 1, "2147483647"),
            ("BIGINT", 2**63 - 1, "9223372036854775807"),
            ("DOUBLE", 10.0, "10.0"),
            ("DOUBLE", 1e10, "1.0E10"),
            ("DOUBLE", 1e-5, "1.0E-5"),
            ("DOUBLE", math.inf, "Infinity"),
            ("STRING", "item_1", "item_1"),
            ("STRING", "null", "null"),
            ("DECIMAL(4,2)", Decimal("11.12"), "11.12"),
            ("DECIMAL(4,2)", Decimal("0.00"), "0.00"),
            ("DECIMAL(13,3)", Decimal("1000000000.000"), "1000000000.000"),
            ("DECIMAL(12,10)", Decimal("1E-10"), "0.0000000001"),
            ("BYTES", b"{", "ew=="),
            ("TIME", datetime.time(0, 0, 0, 100_000), "100"),
            ("DATE", datetime.date(1970, 1, 11), "10"),
            ("TIMESTAMP", datetime.datetime(1970, 1, 1, 0, 0, 0, 100_000, UTC), "100"),
        ],
    )
    def test_a_value_is_its_text(self, sql: str, value: object, text: str) -> None:
        for before, body in (("", text), ("X INT, ", f"1,{text}")):
            row = {"X": 1, "K": value} if before else {"K": value}
            assert _write(f"{before}K {sql}", row) == body.encode()
            assert _read(f"{before}K {sql}", body.encode()) == row
            assert _read(f"{before}K {sql}", b"\0\0\0\0\x01" + body.encode(), offset=5) == row

    @pytest.mark.parametrize(
        ("sql", "value", "text"),
        [
            ("INT", -5, "-5"),
            ("BIGINT", -(2**63), str(-(2**63))),
            ("DOUBLE", -0.0, "-0.0"),
            ("DECIMAL(4,2)", Decimal("-0.50"), "-0.50"),
            ("DATE", datetime.date(1969, 12, 31), "-1"),
        ],
    )
    def test_a_negative_number_stands_in_quotes_in_the_first_field_alone(
        self, sql: str, value: object, text: str
    ) -> None:
        # KsqlDelimitedSerializerTest.shouldSerializeNegativeOneHalfDecimalWithPaddedZeros; `CSVPrinter`'s newRecord.
        assert _write(f"K {sql}, X INT", {"K": value, "X": 1}) == f'"{text}",1'.encode()
        assert _write(f"X INT, K {sql}", {"K": value, "X": 1}) == f"1,{text}".encode()
        for body in (f'"{text}",1', f"{text},1"):
            assert repr(_read(f"K {sql}, X INT", body.encode())) == repr({"K": value, "X": 1})

    @pytest.mark.parametrize(
        ("first", "second", "body"),
        [
            ("a", "b", "a,b"),
            (None, None, ","),
            ("", "", '"",'),
            ("é", "é", '"é",é'),
            ("_x", "_x", '"_x",_x'),
            ("#", "#", '"#","#"'),
            ("$", "$", '"$",$'),
            (" a", " a", '" a"," a"'),
            ("a ", "a ", '"a ","a "'),
            ("a b", "a b", "a b,a b"),
            ("a,b", "a,b", '"a,b","a,b"'),
            ('a"b', 'a"b', '"a""b","a""b"'),
            ("a\nb", "a\r\nb", '"a\nb","a\r\nb"'),
            ("a|b", "a\\b", "a|b,a\\b"),
        ],
    )
    def test_what_stands_in_quotes(self, first: str | None, second: str | None, body: str) -> None:
        # `CSVPrinter.printAndQuote`, MINIMAL; read back, a text without characters is null.
        row = {"A": first, "B": second}
        assert _write("A STRING, B STRING", row) == body.encode()
        assert _read("A STRING, B STRING", body.encode()) == {"A": first or None, "B": second or None}

    @pytest.mark.parametrize(
        ("delimiter", "body"),
        [
            ("|", b'"-1"|a b|1.5'),
            ("TAB", b'"-1"\ta b\t1.5'),
            ("SPACE", b'"-1" "a b" 1.5'),
            (".", b'"-1".a b."1.5"'),
            ("-", b'"-1"-a b-1.5'),
            ("5", b'"-1"5a b5"1.5"'),
            ("é", '"-1"éa bé1.5'.encode()),
        ],
    )
    def test_a_delimiter_is_a_character_or_its_name(self, delimiter: str, body: bytes) -> None:
        row = {"A": -1, "B": "a b", "C": 1.5}
        assert _write("A INT, B STRING, C DOUBLE", row, delimiter) == body
        assert _read("A INT, B STRING, C DOUBLE", body, delimiter) == row

    @pytest.mark.parametrize("delimiter", ["", " ", "\t", "\n", "ab", "tab", '"', "\x01", "😀", "\ud800", "\ufffe"])
    def test_a_delimiter_is_nothing_else(self, delimiter: str) -> None:
        # `Delimiter.parse`; a quote is refused by `CSVFormat`.
        for make in (DelimitedDeserializer, DelimitedSerializer):
            with pytest.raises(UsageError, match=r"^The delimiter .* cannot be used\. .*for a tab the word TAB\.$"):
                make("A INT", delimiter=delimiter)

    @pytest.mark.parametrize("spec", [ReadSpec, WriteSpec])
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("A ARRAY<INT>", r"The DELIMITED format does not support the type ARRAY, of column 'A'\. Use"),
            ("A MAP<STRING, INT>", "The DELIMITED format does not support the type MAP"),
            ("A TIMESTAMP_NTZ", "The DELIMITED format does not support the type TIMESTAMP_NTZ"),
            ("A STRUCT<B INT>", "The DELIMITED format does not support the type STRUCT"),
            (None, "In the DELIMITED format, fields have neither names nor types: name the columns"),
        ],
    )
    def test_other_columns_are_refused(self, spec: type[RowSpec], columns: str | None, message: str) -> None:
        make = delimited.decoder if spec is ReadSpec else delimited.encoder
        with pytest.raises(ColumnError, match=f"^{message}"):
            make(None, spec(columns=None if columns is None else parse_columns(columns)))  # type: ignore[arg-type]


_TYPES: Final = {
    "BOOLEAN": st.booleans(),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False),
    "STRING": st.text(st.characters(codec="utf-8", exclude_characters="\ufffe"), min_size=1),
    "DECIMAL(6,2)": st.decimals(-9999, 9999, places=2),
    "BYTES": st.binary(min_size=1),
    "TIME": st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes(timezones=st.just(UTC)).map(
        lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)
    ),
}
_DELIMITERS: Final = st.sampled_from((",", "|", "TAB", "SPACE", ";", "-", ".", "1", "e", "t", "é"))
_BODIES: Final = st.lists(
    st.sampled_from(
        [
            '"',
            ",",
            ",",
            "\n",
            "\r",
            " ",
            "a",
            "-",
            "1",
            "1.5",
            "true",
            "é",
            "\\",
            "0",
            "E5",
            "nan",
            "_",
            "|",
            "ew==",
            "null",
        ]
    ),
    max_size=8,
).map("".join)


@st.composite
def _rows(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    types = draw(st.lists(st.sampled_from(list(_TYPES)), min_size=1, max_size=6))
    row = {f"C{n}": draw(_TYPES[type_] | (st.none() if n else st.nothing())) for n, type_ in enumerate(types)}
    return ", ".join(f"C{n} {type_}" for n, type_ in enumerate(types)), row


class TestProperties:
    @given(_rows(), _DELIMITERS)
    def test_whatever_is_written_is_read(self, case: tuple[str, dict[str, object]], delimiter: str) -> None:
        sql, row = case
        assert _read(sql, _write(sql, row, delimiter), delimiter) == row

    @given(st.lists(st.sampled_from(list(_TYPES)), min_size=1, max_size=3), _BODIES, _DELIMITERS)
    @example(["INT", "DOUBLE"], "1.0,-0", ",")
    @example(["BOOLEAN", "STRING"], "truetx", "t")
    @example(["STRING"], "", ",")
    @example(["DOUBLE"], "-0E5", ",")
    @example(["STRING", "INT"], '"a"  ,1', ",")
    @example(["STRING", "INT"], '"a"b,1', ",")
    @example(["INT", "STRING"], '1","a', ";")
    def test_what_is_read_in_one_go_is_read_field_by_field(self, types: list[str], text: str, delimiter: str) -> None:
        columns = parse_columns(", ".join(f"C{n} {type_}" for n, type_ in enumerate(types)))
        reader = delimited._Reader(columns, delimited.delimiter_of(delimiter))
        outcomes = []
        for decode in (lambda body: reader.decode(body, 0), reader._carefully):
            try:
                outcomes.append(repr(decode(text.encode())))
            except SrfixError as error:
                outcomes.append(f"{type(error).__name__} {error}")
        assert outcomes[0] == outcomes[1]

    @given(
        st.lists(st.sampled_from(list(_TYPES)), min_size=1, max_size=3),
        st.lists(
            st.none() | _BODIES.map(str.encode) | st.sampled_from((b"1,a", b"a,1", b"1", b"1,2,3", b",", b"\x1e1")),
            max_size=6,
        ),
        _DELIMITERS,
    )
    @example(["STRING", "STRING"], [b'"a,",","', b'"""","["', b'"[""",""', b'"",""', b'","",","'], ",")
    @example(["STRING", "STRING"], [b"\\n,b", b"a,b\\"], ",")
    @example(["STRING"], [b'"a', b'b"', b'"c"'], ",")
    @example(["STRING", "STRING"], [b'"a\nb",","', "\ufffe,a".encode()], ",")
    @example(["STRING", "STRING"], [b"a,b", "\ufffe,a".encode()], ",")
    @example(["STRING", "STRING"], [b"a,b", b"1,\xff"], ",")
    @example(["INT", "STRING"], [b"1;a", b"2;\x1e1;b"], ";")
    def test_many_are_read_as_each_is(self, types: list[str], payloads: list[bytes | None], delimiter: str) -> None:
        columns = ", ".join(f"C{n} {type_}" for n, type_ in enumerate(types))
        deserialize = DelimitedDeserializer(columns, delimiter=delimiter)
        payloads = [*payloads, *payloads, b"1,a", b"1,a", b"1", b"1"]
        many = deserialize_many(payloads, CTX, deserialize, on_error="quarantine")
        for payload, row in zip(payloads, many, strict=True):
            if isinstance(row, BadRow):
                with pytest.raises(type(row.error)) as caught:
                    deserialize(payload, CTX)
                assert str(caught.value) == str(row.error)
            else:
                assert repr(deserialize(payload, CTX)) == repr(row)


def test_a_batch_of_quoted_texts_is_read_in_one_go() -> None:
    reader = delimited._Reader(parse_columns("A STRING, B INT, C STRING"), ",")
    payloads = [b'"a, b",1,c', b'"say ""a""",2,""', b'a"b,,"a\\\r\nb"', b'c:\\n,"3",']
    assert [tuple(row.values()) for row in reader.read_ahead(payloads, 0)] == [
        ("a, b", 1, "c"),
        ('say "a"', 2, None),
        ('a"b', None, "a\\\r\nb"),
        ("c:\\n", 3, None),
    ]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_a_batch_of_quoted_texts_may_hold_other_buffers_than_bytes(kind: Callable[[bytes], bytes]) -> None:
    payloads = [kind(b'"a, b",1'), kind(b"c,2")]
    rows = list(deserialize_many(payloads, CTX, DelimitedDeserializer("A STRING, B INT")))
    assert rows == [{"A": "a, b", "B": 1}, {"A": "c", "B": 2}]


class TestDecoder:
    @pytest.mark.parametrize(
        ("sql", "text", "value"),
        [
            ("BOOLEAN", "TRUE", True),  # Boolean.parseBoolean
            ("BOOLEAN", "yes", False),
            ("BOOLEAN", "1", False),
            ("BOOLEAN", "null", False),
            ("BOOLEAN", " true", False),
            ("INT", "+7", 7),  # Integer.parseInt
            ("INT", "007", 7),
            ("INT", "٣", 3),
            ("DOUBLE", " 1.5d ", 1.5),  # Double.parseDouble
            ("DOUBLE", "0x1p3", 8.0),
            ("DOUBLE", "-0", -0.0),
            ("DOUBLE", "-Infinity", -math.inf),
            ("STRING", " a ", " a "),
            ("STRING", 'a"b', 'a"b'),
            ("STRING", "true", "true"),
            ("STRING", '"a""b" ', 'a"b'),
            ("DECIMAL(4,2)", "01.12", Decimal("1.12")),
            ("DECIMAL(4,2)", "2", Decimal("2.00")),  # DecimalUtil.ensureFit
            ("DECIMAL(4,2)", "1.5000", Decimal("1.50")),
            ("DECIMAL(4,2)", "1E1", Decimal("10.00")),
            ("DECIMAL(4,2)", "-0", Decimal("0.00")),
            ("BYTES", "ew", b"{"),  # Base64.getDecoder
            ("BYTES", '"ew=="', b"{"),
        ],
    )
    def test_a_field_is_taken_as_java_does(self, sql: str, text: str, value: object) -> None:
        for x in ("1", "+1"):  # the second is not read in one go
            assert repr(_read(f"X INT, K {sql}", f"{x},{text}".encode())) == repr({"X": 1, "K": value})

    @pytest.mark.parametrize("sql", _TYPES)
    @pytest.mark.parametrize("text", ["", '""'])
    def test_a_field_without_characters_is_null(self, sql: str, text: str) -> None:
        assert _read(f"X INT, K {sql}", f"1,{text}".encode()) == {"X": 1, "K": None}
        assert _read(f"K {sql}", b'""') == {"K": None}

    @pytest.mark.parametrize(
        ("sql", "text", "error", "what"),
        [
            ("INT", "1.0", CoercionError, "is not a number that fits: its type is INTEGER"),
            ("INT", "2147483648", CoercionError, "is not a number that fits"),
            ("INT", " 1", CoercionError, "is not a number that fits"),
            ("INT", "1_0", CoercionError, "is not a number that fits"),
            ("BIGINT", "9" * 2000, CoercionError, "is not a number that fits: its type is BIGINT"),
            ("DOUBLE", "nan", CoercionError, "is not a number"),
            ("DOUBLE", "1_0", CoercionError, "is not a number"),
            ("DECIMAL(2,1)", "1.23", OutOfRangeError, "cannot be fitted without rounding"),
            ("DECIMAL(2,1)", "12", OutOfRangeError, "must be less than 1"),
            ("DECIMAL(2,1)", "NaN", CoercionError, "is not a number"),
            ("DECIMAL(4,2)", "1_0", CoercionError, "is not a number"),
            ("BYTES", "a", CoercionError, "is not base64"),
            ("BYTES", "ew=", CoercionError, "is not base64"),
            ("BYTES", "AA AA", CoercionError, "is not base64"),
            ("TIME", "-5", CoercionError, "is -5, not a number of milliseconds from 0 to 86400000"),
            ("TIME", "3000000000", CoercionError, "is 3000000000, not a number of milliseconds"),
            ("TIME", "86400000", OutOfRangeError, "is the end of the day"),
            ("DATE", "99999999", OutOfRangeError, "is 99999999, which is not a day of the years 1 to 9999"),
            (
                "TIMESTAMP",
                "999999999999999999",
                OutOfRangeError,
                "is 999999999999999999, which is not a time of the years",
            ),
        ],
    )
    def test_a_field_that_does_not_fit_is_named(
        self, sql: str, text: str, error: type[CoercionError], what: str
    ) -> None:
        with pytest.raises(
            error, match=rf"^The field of column 'K' {what}.*Declare the columns in the order"
        ) as caught:
            _read(f"X INT, K {sql}", f"1,{text}".encode())
        assert caught.value.path == "->K"
        assert len(str(caught.value)) < 400

    def test_times_may_be_the_integers_in_the_body(self) -> None:
        deserialize = DelimitedDeserializer("T TIME, D DATE, S TIMESTAMP", times="integers")
        assert deserialize(b"86400000,99999999,-1", CTX) == {"T": 86400000, "D": 99999999, "S": -1}

    @pytest.mark.parametrize(
        ("body", "error", "message"),
        [
            (b"", TruncatedBodyError, r"The number of fields .* is 0, but the number of columns is 2\."),
            (b"\r\n\n", TruncatedBodyError, r"The number of fields .* is 0, but the number of columns is 2\."),
            (b"1", TruncatedBodyError, r"The number of fields .* is 1, but the number of columns is 2\."),
            (b"1,2,3", TrailingBytesError, r"The number of fields .* is 3, but the number of columns is 2\."),
            (b'"1"', TruncatedBodyError, r"The number of fields .* is 1, but the number of columns is 2\."),
            (b'1,"2",3', TrailingBytesError, r"The number of fields .* is 3, but the number of columns is 2\."),
            (b"1,2,", TrailingBytesError, r"The number of fields .* is 3, but the number of columns is 2\."),
            (b'1,"2', DecodeError, "The quotes of the field at character 2 are not closed"),
            (
                b'1,"2"3',
                DecodeError,
                "The quotes of the field at character 2 are not closed, or more text follows",
            ),
            (b'1,2\n"', DecodeError, "The quotes of the field at character 4 are not closed"),
            (b"1,\xff", DecodeError, r"The body of 3 bytes is not UTF-8, at 2\."),
            ("1,\ufffe".encode(), DecodeError, r"The body holds U\+FFFE, which ksqlDB takes for an escape"),
        ],
    )
    def test_a_body_that_is_no_row_is_refused(self, body: bytes, error: type[DecodeError], message: str) -> None:
        with pytest.raises(error, match=f"^{message}"):
            _read("A INT, B STRING", body)

    @pytest.mark.parametrize(
        "body", [b"1,a", b"1,a\n", b"1,a\r\n", b"\r\n\n1,a", b"1,a\r2,b", b'1,"a" \t\n2', b"1,a\nx,y,z"]
    )
    def test_the_first_record_is_the_row(self, body: bytes) -> None:
        # `CSVParser.getRecords().get(0)`; `Lexer` skips empty lines, and white space behind a quoted field.
        assert _read("A INT, B STRING", body) == {"A": 1, "B": "a"}

    def test_names_are_no_part_of_it(self) -> None:
        sql = "`a b` INT, `class` STRING, `__struct_fields__` DECIMAL(3,1)"
        row = {"a b": 1, "class": "x", "__struct_fields__": Decimal("2.5")}
        assert _read(sql, b"1,x,2.5") == _read(sql, b'"1",x,"2.5"') == row
        assert _write(sql, row) == b"1,x,2.5"


class TestEncoder:
    def test_a_missing_column_is_null_and_keys_are_matched_by_the_case_rule(self) -> None:
        assert _write("A INT, B STRING", {"b": "x"}) == b",x"
        assert _write("A INT, B STRING", {"b": "x", "A": None}) == b",x"
        with pytest.raises(EncodeError, match=r"^1 field does not fit: b feeds no column"):
            _write("A INT, B STRING", {"b": "x"}, rule=CaseRule.EXACT)

    def test_a_row_of_one_null_has_no_bytes(self) -> None:
        # KsqlDelimitedSerializer writes it, and KsqlDelimitedDeserializer has "No fields in record".
        assert DelimitedSerializer("A INT KEY")({"A": None}, SerdeContext("t", Role.KEY)) == b""
        assert DelimitedSerializer("A INT")(None, CTX) is None
        assert DelimitedDeserializer("A INT")(None, CTX) is None

    @pytest.mark.parametrize(
        ("sql", "value", "needs"),
        [
            ("INT", 2**31, "needs an integer from -2147483648"),
            ("INT", True, "needs an integer"),
            ("BIGINT", 2**63, "needs an integer from -9223372036854775808"),
            ("DOUBLE", "1", "needs a float"),
            ("STRING", 1, "needs a string"),
            ("BOOLEAN", 1, "needs a boolean"),
            ("BYTES", "x", "needs bytes"),
            ("DECIMAL(2,1)", Decimal("1.23"), "needs a number that fits DECIMAL"),
            ("DECIMAL(2,1)", 1.5, "needs a finite decimal.Decimal"),
            ("TIME", datetime.time(0, 0, 0, 1), "needs whole milliseconds"),
        ],
    )
    def test_another_value_is_refused(self, sql: str, value: object, needs: str) -> None:
        with pytest.raises(EncodeError, match=rf"^1 field does not fit: K {needs}"):
            _write(f"K {sql}, X INT", {"K": value, "X": 1})

    def test_text_that_nobody_reads_back_is_refused(self) -> None:
        for text, message in (("a\ufffe", r"holds U\+FFFE"), ("\ud800", "contains half a surrogate pair")):
            with pytest.raises(EncodeError, match=f"^A string of the row {message}"):
                _write("K STRING", {"K": text})

    def test_finer_times_are_cut_if_that_was_asked_for(self) -> None:
        serialize = DelimitedSerializer("T TIME, D DATE", cut_times=True)
        assert serialize({"T": datetime.time(0, 0, 0, 1999), "D": None}, CTX) == b"1,"
        assert DelimitedSerializer("T TIME", times="integers")({"T": 86400000}, CTX) == b"86400000"


class TestAround:
    def test_a_batch_has_a_reason_for_each_bad_row(self) -> None:
        payloads = [b"1,a", None, b"1", b"1,a,b", b"x,a", b'1,"', b"2,b"]
        rows = list(deserialize_many(payloads, CTX, DelimitedDeserializer("A INT, B STRING"), on_error="quarantine"))
        found = [row.reason.value if isinstance(row, BadRow) else row for row in rows]
        assert found == [
            {"A": 1, "B": "a"},
            None,
            "TRUNCATED",
            "TRAILING_BYTES",
            "BAD_VALUE",
            "DECODE_FAILED",
            {"A": 2, "B": "b"},
        ]

    def test_a_batch_is_read_in_runs(self) -> None:
        payloads = [b"1", b"2\x1e3", b"4", None, b"5", b"6", b"+7", b"8", b'"9"', b"x"] * 60
        rows = deserialize_many(payloads, CTX, DelimitedDeserializer("A INT"), on_error="quarantine")
        found = [row.reason.value if isinstance(row, BadRow) else row and cast("Row", row)["A"] for row in rows]
        assert found == [1, "BAD_VALUE", 4, None, 5, 6, 7, 8, 9, "BAD_VALUE"] * 60

    def test_arrow_both_ways(self) -> None:
        columns = "A INT, B STRING, C DECIMAL(4,2), D TIMESTAMP"
        payloads = [b"1,a,1.50,100", b",,,"]
        batch = to_arrow(payloads, CTX, DelimitedDeserializer(columns))
        written = from_arrow(batch, DelimitedSerializer(columns), CTX)
        assert written.to_pylist() == payloads

    def test_serdes_travel(self) -> None:
        serialize = pickle.loads(pickle.dumps(DelimitedSerializer("A INT, B INT", delimiter="|")))
        deserialize = pickle.loads(pickle.dumps(DelimitedDeserializer("A INT, B INT", delimiter="|")))
        assert deserialize(serialize({"A": 1, "B": 2}, CTX), CTX) == {"A": 1, "B": 2}

    @pytest.mark.parametrize("plan", [plan_read, plan_write])
    @pytest.mark.parametrize(
        ("format_", "wrap", "said"),
        [
            (
                Format.DELIMITED,
                False,
                r"In DELIMITED, a single column always stands in a record\. Leave out wrap=False",
            ),
            (Format.PROTOBUF_NOSR, False, r"In PROTOBUF_NOSR, a single column always .*\(--unwrapped\)"),
            (
                Format.KAFKA,
                True,
                r"In KAFKA, a single column never stands in a record\. Leave out wrap=True \(--wrapped\)",
            ),
        ],
    )
    def test_a_format_without_a_choice_refuses_the_other_one(
        self, plan: Callable[..., object], format_: Format, wrap: bool, said: str
    ) -> None:
        with pytest.raises(UsageError, match=f"^{said}"):
            plan(None, "t", "A INT", format=format_, wrap=wrap)
        plan(None, "t", "A INT", format=format_, wrap=not wrap)

    def test_plans_of_spark_take_it(self) -> None:
        read = plan_read(None, "t", "A INT, B STRING", format=Format.DELIMITED, delimiter="|")
        assert "DELIMITED" in read.explain()
        assert "case rule" not in read.explain(extended=True)
        write = plan_write(None, "t", "A INT", format=Format.DELIMITED, delimiter="|")
        assert write.serializer()({"A": None}, CTX) == b""
        for plan, columns, format_ in ((plan_read, "A INT", Format.JSON), (plan_write, "A INT", Format.JSON)):
            with pytest.raises(UsageError, match=r"^Only the format DELIMITED has a delimiter"):
                plan(None, "t", columns, format=format_, delimiter="|")
        with pytest.raises(UsageError, match=r"^The delimiter 'ab' cannot be used"):
            plan_read(None, "t", "A INT", format=Format.DELIMITED, delimiter="ab")
        with pytest.raises(UsageError, match=r"^DELIMITED has neither names nor types: give the columns"):
            plan_write(None, "t", format=Format.DELIMITED)
