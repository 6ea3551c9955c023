"""KAFKA, ksqlDB's default format of keys: the bytes are Kafka's own serializers' (`KafkaSerdeFactory`)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import ColumnError, DecodeError, EncodeError, SrfixError, TrailingBytesError, TruncatedBodyError
from srfix.serde.formats import kafka
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec, RowSpec, WriteSpec

TYPES = ("INT", "BIGINT", "DOUBLE", "STRING", "BYTES")
OTHERS = ("BOOLEAN", "DECIMAL(4,2)", "DATE", "TIME", "TIMESTAMP", "ARRAY<INT>", "MAP<STRING,INT>", "STRUCT<A INT>")


def _read(sql: str, body: bytes, offset: int = 0) -> Value:
    return kafka.decoder(None, ReadSpec(columns=parse_columns(f"K {sql}")))(body, offset)


def _write(sql: str, row: object, rule: CaseRule = CaseRule.UNIQUE) -> bytes:
    return kafka.encoder(None, WriteSpec(columns=parse_columns(f"K {sql}"), case_rule=rule))(row, b"")


class TestBoth:
    @pytest.mark.parametrize(
        ("sql", "value", "body"),
        [
            ("INT", 1, b"\0\0\0\x01"),
            ("INT", -2, b"\xff\xff\xff\xfe"),
            ("BIGINT", 2**40, b"\0\0\x01\0\0\0\0\0"),
            ("BIGINT", -(2**63), b"\x80\0\0\0\0\0\0\0"),
            ("DOUBLE", 1.1, bytes.fromhex("3ff199999999999a")),
            ("DOUBLE", math.inf, bytes.fromhex("7ff0000000000000")),
            ("STRING", "foo", b"foo"),
            ("STRING", "é😀", b"\xc3\xa9\xf0\x9f\x98\x80"),
            ("STRING", "", b""),
            ("BYTES", b"\0\xff", b"\0\xff"),
            ("BYTES", b"", b""),
        ],
    )
    def test_the_bytes_are_kafkas(self, sql: str, value: object, body: bytes) -> None:
        assert _write(sql, {"K": value}) == body
        assert _read(sql, body) == {"K": value}
        assert _read(sql, b"\0\0\0\0\x01" + body, 5) == {"K": value}

    @given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
    def test_whole_numbers_come_back(self, narrow: int, wide: int) -> None:
        assert _read("INT", _write("INT", {"K": narrow})) == {"K": narrow}
        assert _read("BIGINT", _write("BIGINT", {"K": wide})) == {"K": wide}

    @pytest.mark.core
    @example(struct.unpack(">d", bytes.fromhex("fff8000000000000"))[0], "", b"")
    @given(st.floats(), st.text(st.characters(codec="utf-8")), st.binary())
    def test_everything_else_comes_back(self, double: float, text: str, blob: bytes) -> None:
        # Of all NaNs, Java has one (`Double.doubleToLongBits`): another would be another key.
        packed = struct.pack(">d", double if double == double else math.nan)
        assert _write("DOUBLE", _read("DOUBLE", struct.pack(">d", double))) == packed
        assert _read("STRING", _write("STRING", {"K": text})) == {"K": text}
        assert _read("BYTES", _write("BYTES", {"K": blob})) == {"K": blob}

    @pytest.mark.parametrize(("make", "spec"), [(kafka.decoder, ReadSpec), (kafka.encoder, WriteSpec)])
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            *(
                (f"K {sql}", f"does not support the type {re.split('[(<]', sql)[0]}, of column 'K'; it has")
                for sql in OTHERS
            ),
            ("F0 INT, F1 BIGINT", r"only supports a single column\. Got: F0 INT"),
            (None, "the bytes do not show their type: name the column"),
        ],
    )
    def test_other_columns_are_refused(
        self, make: Callable[..., object], spec: type[RowSpec], columns: str | None, message: str
    ) -> None:
        with pytest.raises(ColumnError, match=rf"^(The|In the) KAFKA format,? {message}"):
            make(None, spec(columns=None if columns is None else parse_columns(columns)))


class TestDecoder:
    @pytest.mark.parametrize(
        ("sql", "size", "java"),
        [("INT", 4, "IntegerDeserializer"), ("BIGINT", 8, "LongDeserializer"), ("DOUBLE", 8, "DoubleDeserializer")],
    )
    def test_a_number_of_another_size_is_refused(self, sql: str, size: int, java: str) -> None:
        for wrong, error in ((0, TruncatedBodyError), (size - 1, TruncatedBodyError), (size + 1, TrailingBytesError)):
            with pytest.raises(error, match=rf"^The data has {wrong} bytes, but {java} needs {size}\. "):
                _read(sql, bytes(wrong))

    def test_bytes_that_are_no_utf_8_are_not_replaced(self) -> None:
        with pytest.raises(DecodeError, match=r"^The body of 3 bytes is not UTF-8, at 1\."):
            _read("STRING", b"a\xffb")

    @pytest.mark.parametrize("sql", TYPES)
    @given(body=st.binary(max_size=20))
    def test_what_is_read_is_what_is_written(self, sql: str, body: bytes) -> None:
        try:
            row = _read(sql, body)
        except SrfixError:
            return
        assert _write(sql, row) == body


class TestEncoder:
    @pytest.mark.parametrize(
        ("sql", "value", "needs"),
        [
            ("INT", 2**31, "an integer from -2147483648"),
            ("INT", True, "an integer from -2147483648"),
            ("BIGINT", 2**63, "an integer from -9223372036854775808"),
            ("DOUBLE", "1", "a float"),
            ("STRING", 1, "a string"),
            ("BYTES", "x", "bytes"),
        ],
    )
    def test_a_value_that_does_not_fit_is_refused(self, sql: str, value: object, needs: str) -> None:
        with pytest.raises(EncodeError, match=rf"^1 field does not fit: K needs {needs}") as caught:
            _write(sql, {"K": value})
        assert caught.value.paths == ("->K",)

    @pytest.mark.parametrize("row", [{"K": None}, {}])
    def test_a_null_has_no_bytes(self, row: object) -> None:
        with pytest.raises(EncodeError, match=r"K is null; values are not wrapped, so the record has no bytes"):
            _write("INT", row)

    def test_half_a_surrogate_pair_is_refused(self) -> None:
        with pytest.raises(EncodeError, match=r"^K contains half a surrogate pair"):
            _write("STRING", {"K": "\ud800"})

    def test_the_key_is_matched_by_the_case_rule(self) -> None:
        assert _write("INT", {"k": 1}) == _write("INT", {"K": 1}, CaseRule.EXACT)
        with pytest.raises(EncodeError, match="k feeds no column or field"):
            _write("INT", {"k": 1}, CaseRule.EXACT)

    def test_the_prefix_stands_before_it(self) -> None:
        assert kafka.encoder(None, WriteSpec(columns=parse_columns("K INT")))({"K": 1}, b"x") == b"x\0\0\0\x01"
