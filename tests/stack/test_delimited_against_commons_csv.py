"""DELIMITED against Commons CSV 1.4 and Java's own parsers: what stands in a body, and what is made of a field."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import DelimitedDeserializer, DelimitedSerializer, SerdeContext, SrfixError
from tests.stack.commons_csv import CommonsCsv, commons_csv

pytestmark = pytest.mark.stack

CTX: Final = SerdeContext("t")
DELIMITERS: Final = (
    ",",
    ",",
    "|",
    ";",
    "TAB",
    "SPACE",
    "x",
    "1",
    ".",
    "-",
    "#",
    "\\",
    "^",
    "]",
    "é",
    "\u2003",
    "\u2028",
)
CHARACTERS: Final = 'aB19-+#. \t"",,|;\r\nxé\u2003\u00a0\u2028\x00\x0b\x1c\x85\\_~😀{/='
_PIECES: Final = st.lists(st.sampled_from([*CHARACTERS, "\r\n", '""', ","]), max_size=12).map("".join)
_FIELDS: Final = st.lists(st.none() | _PIECES, min_size=1, max_size=4)
_NUMBERS: Final = {
    "BOOLEAN": ("true", "TRUE", "tRuE", "false", "yes", "1", " true", "ｔrue"),
    "INT": (
        *("1", "-1", "+1", "007", "-0", "2147483647", "2147483648", "-2147483648", " 1", "1 ", "1.0", "1e3", "1_0", "٣", "𝟏"),
        "-",
    ),
    "BIGINT": ("9223372036854775807", "9223372036854775808", "-9223372036854775808", "12345678901234567890", "1L", "0x1"),
    "DOUBLE": (
        *("1", "-0", "-0.0", "01.5", "1.", ".5", "1e400", "-1e-400", "1.5d", "2F", " 1.5 ", "NaN", "nan", "Infinity", "inf"),
        *("-Infinity", "0x1p3", "1E10", "1e", "1_0", "4.9E-324", "123456789012345678901234567890", "٣"),
    ),
    "DECIMAL": ("1", "1.50", "-0.00", "1e3", "1E-2", "+1", ".5", "5.", "1_0", " 1", "NaN", "٣", "12345.678901"),
    "BYTES": ("ew==", "ew", "ew=", "ex==", "a", "a===", "AAAA", "AA AA", "AAAA\n", "-_-_", "+/+/", "====", "é", "ew==AAAA"),
}  # fmt: skip


@pytest.fixture(scope="module")
def java() -> Iterator[CommonsCsv]:
    with commons_csv() as process:
        yield process


def character(delimiter: str) -> str:
    return {"TAB": "\t", "SPACE": " "}.get(delimiter, delimiter)


def columns(count: int) -> str:
    return ", ".join(f"C{number} STRING" for number in range(count))


def check_write(java: CommonsCsv, fields: list[str | None], delimiter: str) -> None:
    serialize = DelimitedSerializer(columns(len(fields)), delimiter=delimiter)
    ours = serialize({f"C{number}": field for number, field in enumerate(fields)}, CTX)
    assert ours == java.write(fields, character(delimiter)).encode()


def check_read(java: CommonsCsv, text: str, delimiter: str) -> None:
    theirs = java.read(text, character(delimiter))
    for count in range(1, 6):
        deserialize = DelimitedDeserializer(columns(count), delimiter=delimiter)
        if theirs is not None and count == len(theirs):
            assert list(deserialize.row(text.encode(), CTX).values()) == [field or None for field in theirs]
            continue
        why = None if theirs is None else rf"is {len(theirs)}, but the number of columns is {count}\."
        with pytest.raises(SrfixError, match=why):
            deserialize(text.encode(), CTX)


class TestCsv:
    @pytest.mark.smoke
    @pytest.mark.parametrize("delimiter", DELIMITERS)
    def test_each_character_first_last_and_within(self, java: CommonsCsv, delimiter: str) -> None:
        for one in CHARACTERS:
            check_read(java, f'"a"{one}{character(delimiter)}"{one}"{one}', delimiter)
            for text in (one, f"a{one}", f"{one}a", f"a{one}a"):
                check_write(java, [text, text, None, ""], delimiter)
                check_read(java, f"{text}{character(delimiter)}{text}", delimiter)

    def test_generated(self, java: CommonsCsv) -> None:
        @settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
        @given(_FIELDS, _PIECES, st.sampled_from(DELIMITERS))
        def check(fields: list[str | None], text: str, delimiter: str) -> None:
            check_write(java, fields, delimiter)
            check_read(java, text, delimiter)
            check_read(java, java.write(fields, character(delimiter)), delimiter)

        check()

    def test_an_escape_by_accident_is_refused_here(self, java: CommonsCsv) -> None:
        # On purpose: what ksqlDB writes it reads as another text.
        assert java.read(java.write(["a\ufffen"], ","), ",") == ["a\n"]
        with pytest.raises(SrfixError, match=r"U\+FFFE"):
            DelimitedDeserializer("A STRING")("a\ufffen".encode(), CTX)
        with pytest.raises(SrfixError, match=r"U\+FFFE"):
            DelimitedSerializer("A STRING")({"A": "a\ufffen"}, CTX)


class TestFields:
    @pytest.mark.parametrize(("type_", "text"), [(type_, text) for type_, texts in _NUMBERS.items() for text in texts])
    def test_each_type(self, java: CommonsCsv, type_: str, text: str) -> None:
        check_field(java, type_, text)

    @pytest.mark.parametrize("type_", _NUMBERS)
    def test_generated(self, java: CommonsCsv, type_: str) -> None:
        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.text("0123456789+-.eEdfxpnaN _=/A٣", min_size=1, max_size=8))
        def check(text: str) -> None:
            check_field(java, type_, text)

        check()


def check_field(java: CommonsCsv, type_: str, text: str) -> None:
    theirs = java.parsed(type_, text)
    deserialize = DelimitedDeserializer(f"A {'DECIMAL(60, 30)' if type_ == 'DECIMAL' else type_}, B INT")
    try:
        value = deserialize.row(f'"{text}",1'.encode(), CTX)["A"]
        assert repr(deserialize.row(f"{text},1".encode(), CTX)["A"]) == repr(value)
    except SrfixError:
        assert theirs is None or (type_ == "DECIMAL" and not fits(theirs))
        return
    assert theirs is not None
    match value:
        case bool():
            assert theirs.lower() == str(value).lower()
        case float():
            assert repr(value) == repr(float.fromhex(theirs))
        case decimal.Decimal():
            assert decimal.Decimal(theirs) == value
        case bytes():
            assert theirs == value.hex()
        case _:
            assert int(theirs) == value


def fits(text: str) -> bool:
    number = decimal.Decimal(text)
    return abs(number) < 10**30 and number == round(number, 30)
