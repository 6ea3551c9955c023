"""Bytes → JSON values. The tables of what is taken and refused were held against Jackson 2.10.5 and 2.16.2."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import DecodeError, PayloadBoundError, TrailingBytesError, TruncatedBodyError
from srfix.serde.formats.json.parse import JsonValue, parse, parse_exact

texts = st.text(st.characters(codec="utf-8"))
scalars = st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
Read: TypeAlias = Callable[[bytes], JsonValue]
PARSERS = pytest.mark.parametrize("read", [parse, parse_exact])


class TestParse:
    @given(values)
    def test_what_json_writes_is_read(self, value: JsonValue) -> None:
        assert parse(json.dumps(value).encode()) == value
        assert parse(json.dumps(value, ensure_ascii=False).encode()) == value

    @pytest.mark.parametrize("text", ["18446744073709551616", "-9223372036854775809", "1" * 1000])
    def test_integers_are_exact_beyond_64_bits(self, text: str) -> None:
        assert parse(text.encode()) == int(text)

    def test_fractions_are_doubles(self) -> None:
        assert parse(b"[1.5, 1e3]") == [1.5, 1000.0]

    def test_a_number_beyond_a_double_is_refused(self) -> None:
        with pytest.raises(DecodeError, match=r"^A number of the JSON is too large for any type \(a body of 5 "):
            parse(b"1e400")


class TestParseExact:
    @pytest.mark.parametrize("text", ["42.000", "1E+3", "0.1", "1e-400", "1e999999999", "1.12345678901234567890123"])
    def test_every_digit_is_kept(self, text: str) -> None:
        value = parse_exact(text.encode())
        assert isinstance(value, Decimal)
        assert value.as_tuple() == Decimal(text).as_tuple()

    def test_an_exponent_beyond_what_a_decimal_can_hold_is_refused(self) -> None:
        with pytest.raises(DecodeError, match="too large for any type"):
            parse_exact(b"1e99999999999999999999")

    @given(st.decimals(allow_nan=False, allow_infinity=False))
    def test_fractions_come_as_they_are_written(self, value: Decimal) -> None:
        text = str(value) if "." in str(value) or "E" in str(value) else f"{value}.0"
        read = parse_exact(text.encode())
        assert isinstance(read, Decimal)
        assert read.as_tuple() == Decimal(text).as_tuple()


class TestBoth:
    @PARSERS
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
    def test_other_encodings_of_unicode_are_read_as_jackson_does(self, read: Read, encoding: str) -> None:
        assert read('{"a": "é😀"}'.encode(encoding)) == {"a": "é😀"}

    @PARSERS
    def test_of_keys_that_come_twice_the_last_counts_at_the_place_of_the_first(self, read: Read) -> None:
        value = read(b'{"a":1,"b":2,"a":3}')
        assert isinstance(value, dict)
        assert list(value.items()) == [("a", 3), ("b", 2)]

    @PARSERS
    @pytest.mark.parametrize("body", [b"", b" \n", b"{", b'{"a"', b"[1", b'"a', b"tru", b'{"a":1'])
    def test_a_body_that_ends_too_early_is_truncated(self, read: Read, body: bytes) -> None:
        with pytest.raises(TruncatedBodyError, match=r"^The JSON (ends too early|is empty) \(a body of \d"):
            read(body)

    @PARSERS
    @pytest.mark.parametrize("body", [b"1 x", b"{}x", b'"a"b', b"{} {}", b"[]]", b"01"])
    def test_what_stands_behind_the_value_is_not_ignored(self, read: Read, body: bytes) -> None:
        with pytest.raises(DecodeError):
            read(body)

    def test_trailing_bytes_have_their_own_error(self) -> None:
        with pytest.raises(TrailingBytesError, match=r"^There is more text after the JSON value \(a body of 3 bytes\)"):
            parse(b"1 x")

    @PARSERS
    @pytest.mark.parametrize(
        "body",
        [
            *(b"NaN", b"Infinity", b"-Infinity", b"+1", b".5", b"1.", b"1e", b"-", b"'a'", b"// c\n1", b"[1,]"),
            *(b'{"a":1,}', b"{a:1}", b'"\t"', b'"\\q"', b"\xa01", b"\x0b1", b"True", b"{1:2}", b"\0\0\0\0"),
        ],
    )
    def test_what_jackson_refuses_is_refused(self, read: Read, body: bytes) -> None:
        with pytest.raises(DecodeError):
            read(body)

    @PARSERS
    @pytest.mark.parametrize(
        "body", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\xf5\x80\x80\x80"', b"\xff\xfe\x00\xd8"]
    )
    def test_bytes_that_are_no_unicode_are_refused(self, read: Read, body: bytes) -> None:
        with pytest.raises(DecodeError, match=r"^The body is not UTF-8, nor UTF-16 or UTF-32"):
            read(body)

    @PARSERS
    @pytest.mark.parametrize("body", [b'"\\ud800"', b'{"\\ud800x":1}', b'["\\ud800\\u0041"]'])
    def test_half_a_surrogate_pair_is_refused(self, read: Read, body: bytes) -> None:
        with pytest.raises(DecodeError, match=r"^A string of the JSON holds half a surrogate pair"):
            read(body)

    @PARSERS
    @pytest.mark.parametrize(
        "body", [b"[" * 50_000 + b"]" * 50_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"[" * 10**6]
    )
    def test_a_deep_body_neither_crashes_nor_hangs(self, read: Read, body: bytes) -> None:
        with pytest.raises(DecodeError, match=r"^The JSON nests too deep"):
            read(body)

    @PARSERS
    def test_an_integer_of_a_hundred_thousand_digits_is_refused(self, read: Read) -> None:
        with pytest.raises(DecodeError, match="too large for any type"):
            read(b"1" * 100_000)

    def test_a_fraction_beyond_its_bound_is_refused_by_an_error_that_is_not_its_own_cause(self) -> None:
        with pytest.raises(PayloadBoundError, match=r"^A number of the JSON has 5,002 characters") as caught:
            parse_exact(b"0." + b"1" * 5_000)
        causes: list[BaseException] = []
        error: BaseException | None = caught.value
        while error is not None and len(causes) < 9:
            causes.append(error)
            error = error.__cause__
        names = [type(cause).__name__ for cause in causes]
        assert names == ["PayloadBoundError", "ValidationError", "PayloadBoundError"]

    @PARSERS
    def test_a_message_does_not_quote_the_body(self, read: Read) -> None:
        with pytest.raises(DecodeError) as caught:
            read(b"{bad json with personal info")
        assert "personal" not in str(caught.value)  # shouldNotIncludeBadValueInExceptionOnJsonParseException

    @given(values, st.data())
    def test_a_body_cut_short_is_never_another_object(self, value: JsonValue, data: st.DataObject) -> None:
        body = json.dumps({"a": value}).encode()
        cut = data.draw(st.integers(0, len(body) - 1))
        with pytest.raises(DecodeError):
            parse(body[:cut])
