"""DELIMITED: one CSV record, with the fields in the order of the columns. There is no schema, and fields have no names
(`KsqlDelimitedSerializer`, `KsqlDelimitedDeserializer`; commons-csv 1.4, `CSVFormat.DEFAULT` with a delimiter).

| column | written | read |
|---|---|---|
| BOOLEAN | `true`, `false` | `true` in any letter case; anything else is false (`Boolean.parseBoolean`) |
| INTEGER, BIGINT | the number | `Integer.parseInt`, `Long.parseLong` |
| DOUBLE | `Double.toString` | `Double.parseDouble` |
| DECIMAL(p, s) | `BigDecimal.toPlainString`, s digits after the point | `new BigDecimal`; it must fit without rounding |
| STRING | the text | the text |
| BYTES | base64 | base64, whose padding may be left out (`Base64.getDecoder`) |
| DATE, TIME, TIMESTAMP | days, milliseconds of the day, milliseconds since the epoch | `Long.parseLong` |

A null is written as an empty field, and an empty field is read as null: so an empty STRING is read as null. A row with a single
null is written without bytes, and nobody can read such a body. If a body has several records, the first one is the row, and the
others must be valid CSV.

Commons CSV (`CSVPrinter`, QuoteMode MINIMAL) quotes:

- the first field, unless it begins with an ASCII letter or digit: so a negative number and an empty text are quoted;
- any other field that begins with a character up to `#`;
- every field that ends in a character up to the space, or that holds a quote, the delimiter or a line end.

On reading (`Lexer`), a field is quoted if its first character is a quote. White space after the closing quote is skipped, and
so are empty lines. By accident, Commons CSV takes U+FFFE for an escape character, so srfix refuses texts that hold it, in both
directions.
"""

from __future__ import annotations

import binascii
import csv
import decimal
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Annotated, Any, Final

import msgspec

from srfix.serde.casing import is_same
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Columns, ColumnType, Decimal, ScalarType, Struct, type_name, usable_columns
from srfix.serde.connect.java_text import Raw, plain_decimal_text
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import ColumnError, DecodeError, EncodeError, TrailingBytesError, TruncatedBodyError, UsageError
from srfix.serde.formats.json import column_check
from srfix.serde.formats.json.scalars import Misread, scalar_reader
from srfix.serde.formats.rows.value_check import Misfit, encode_error
from srfix.serde.interface import Row, Value
from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from srfix.serde.printable import counted
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False

_NAMED: Final = {"SPACE": " ", "TAB": "\t"}
_DELIMITERS: Final = re.compile("[!#-\ud7ff\ue000-\ufffd\uffff]")
_ESCAPE: Final = "\ufffe"
_ESCAPE_BYTES: Final = _ESCAPE.encode()
_WHITE_SPACE: Final = "\t\x0b\x0c\x1c-\x1f \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""The characters of `Character.isWhitespace` except line ends, for a set in a regular expression."""
_IN_NUMBERS: Final = frozenset("0123456789+-.EINaftrueslniy")
"""The characters of written numbers and booleans."""
_AT_A_TIME: Final = 100
"""How many bodies are read together. After one that is read field by field, the rest is prepared again."""
_DAYS: Final = 4096
"""How many dates are remembered."""
_APART: Final = b'","'
"""Stands between the fields of a JSON array of strings."""
_JSON_TEXT: Final = rb'[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+'
_END: Final = b"\x1e"
"""Stands between bodies that are read together. No plain body holds it."""
_NOT_PLAIN: Final = (msgspec.MsgspecError, csv.Error, TypeError, UnicodeDecodeError, DecodeError, Misread)
_OTHER_PRODUCER: Final = "The topic has another format, or its producer is broken."
_INT: Final = Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)]
_LONG: Final = Annotated[int, msgspec.Meta(ge=LONG_MIN, le=LONG_MAX)]
_PLAIN: Final[dict[object, tuple[bytes, Any, bool]]] = {
    ScalarType.BOOLEAN: (rb"(?:true|false)?+", bool, True),
    ScalarType.INTEGER: (rb"[-0-9]{0,11}+", _INT, True),
    ScalarType.BIGINT: (rb"[-0-9]{0,20}+", _LONG, True),
    ScalarType.DOUBLE: (rb"(?!-0(?![.E]))[-0-9.E]{0,40}+", float, True),
    ScalarType.DATE: (rb"[-0-9]{0,20}+", _LONG, False),
    ScalarType.TIME: (rb"[-0-9]{0,20}+", _LONG, False),
    ScalarType.TIMESTAMP: (rb"[-0-9]{0,20}+", _LONG, False),
    Decimal: (rb"[-0-9.]{0,60}+", decimal.Decimal, False),
}
"""Column type → a pattern, msgspec's type, and whether the value of this type already is the column's value.

A text that matches the pattern is read by msgspec as by Java, or refused. (Without the pattern, msgspec takes 1.0 for an int,
`nan` for a double, and 1 and null for a boolean, and reads -0 as 0.0.)
"""


def delimiter_of(name: str | None) -> str:
    """The character of a VALUE_DELIMITER or KEY_DELIMITER (`Delimiter.parse`); None names the comma."""
    name = "," if name is None else name
    if name not in _NAMED and not _DELIMITERS.fullmatch(name):
        raise UsageError(
            f"The delimiter {name[:20]!r} cannot be used. Give one character such as ';', but not a quote or white space. For "
            "a space write the word SPACE, for a tab the word TAB."
        )
    return _NAMED.get(name, name)


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """Rows of all columns (`wrap` has no effect): plain bodies in one step, any other field by field."""
    return _Reader(with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)).decode


class _Reader:
    def __init__(self, columns: Columns, delimiter: str) -> None:
        self._readers = [(column, _reader(column.type)) for column in columns]
        self._split, self._delimiter = _splitter(delimiter, len(columns)), delimiter
        self._between = delimiter.encode()
        between = re.escape(self._between)
        is_apart = delimiter.isascii() and not delimiter.isalnum() and delimiter not in "+-.\\"
        text = rb'[^"\\\x00-\x1f\xef%b]*+' % between
        names = [column.name for column in columns]
        # The fields of a msgspec Struct can only have names that Python allows.
        is_named = all(name.isidentifier() and not name.startswith("__") for name in names)
        self._names = None if is_named else names
        fields, in_body, in_json = [], [], []
        self._finish: list[tuple[str, Callable[[Any], Value]]] = []
        for number, (column, read) in enumerate(self._readers):
            name = column.name if is_named else f"_{number}"
            kind = Decimal if isinstance(column.type, Decimal) else column.type
            pattern, parsed, is_final = _PLAIN.get(kind, (None, str, kind is ScalarType.STRING))
            fields.append((name, parsed | None))
            in_body.append(pattern or text)
            in_json.append(pattern or _JSON_TEXT)
            if not is_final:
                # A topic has few different days, but many records of each day.
                self._finish.append((name, lru_cache(_DAYS)(read) if kind is ScalarType.DATE else read))
        # An empty body is not a row, not even with one column.
        self._is_plain = re.compile(rb"(?!\Z)" + between.join(in_body) if is_apart else b"(?!)").fullmatch
        self._match_arrays = re.compile(rb'(?:\["%b"\](?:,|\Z))*+' % _APART.join(in_json)).match
        made: Any = msgspec.defstruct("Row", fields, array_like=True, gc=False)
        self._parse: Callable[[bytes], Any] = msgspec.json.Decoder(made, strict=False).decode
        self._parse_many = msgspec.json.Decoder(list[made], strict=False).decode

    def decode(self, payload: bytes, body_offset: int) -> Value:
        body = payload[body_offset:] if body_offset else payload
        if self._is_plain(body):
            array = b'["%b"]' % body.replace(self._between, _APART)
            try:
                return self._finished([msgspec.structs.asdict(self._parse(array.replace(b'""', b"null")))])[0]
            except _NOT_PLAIN:
                return self._carefully(body)
        rows = self._many((body,)) if b'"' in body else None
        return rows[0] if rows else self._carefully(body)

    def read_ahead(self, payloads: Sequence[bytes | None], first: int) -> list[Row]:
        """The rows of the payloads from `first` on, up to the first that must be read field by field."""
        rows: list[Row] = []
        for start in range(first, len(payloads), _AT_A_TIME):
            more = self._many([*takewhile(bool, payloads[start : start + _AT_A_TIME])])
            rows += more
            if len(more) < _AT_A_TIME:
                break
        return rows

    def _many(self, bodies: Sequence[Any]) -> list[Row]:
        """The rows of the first bodies. A body that must be read field by field ends them; none if a batch is not CSV."""
        try:
            found = self._match_arrays(self._arrays(bodies))
            arrays = found[0].rstrip(b",") if found else b""
            if b"\\" in arrays:  # a text may end in an escaped quote
                arrays = arrays.replace(b',""', b",null").replace(b'[""', b"[null")
            else:
                arrays = arrays.replace(b'""', b"null")
            return self._finished(list(map(msgspec.structs.asdict, self._parse_many(b"[%b]" % arrays))))
        except _NOT_PLAIN:
            return []

    def _arrays(self, bodies: Sequence[bytes]) -> bytes:
        """Their fields as JSON, an array for each; empty if one of the bodies is not plain."""
        joined = _END.join(bodies)
        if b'"' in joined or b"\\" in joined:
            fields = list(csv.reader(map(_text, bodies), delimiter=self._delimiter, strict=True))
            # A quote that is not closed takes the next body in.
            return msgspec.json.encode(fields)[1:-1] if len(fields) == len(bodies) else b""
        if joined.count(_END) != len(bodies) - 1 or _ESCAPE_BYTES in joined:
            return b""
        return b'["%b"]' % joined.replace(self._between, _APART).replace(_END, b'"],["')

    def _finished(self, rows: list[Row]) -> list[Row]:
        for name, convert in self._finish:
            for row in rows:
                if (value := row[name]) is not None:
                    row[name] = convert(value)
        return [dict(zip(self._names, row.values(), strict=True)) for row in rows] if self._names else rows

    def _carefully(self, body: bytes) -> Row:
        row: Row = {}
        for (column, read), field in zip(self._readers, self._split(_text(body)), strict=True):
            try:
                row[column.name] = read(field) if field else None
            except Misread as misread:
                what = type_name(column.type)
                kind: Any = misread.kind  # a class, because every type here takes some text
                raise kind(
                    f"The field of column {column.name!r} {misread.sentence}: its type is {what}. Declare the columns in the "
                    "order of the fields, and the type that the producer writes.",
                    path=f"->{column.name}",
                    column_type=what,
                ) from misread
        return row


def _text(body: bytes) -> str:
    try:
        text = str(body, "utf-8")  # a batch may hold memoryviews, too, which cannot decode themselves
    except UnicodeDecodeError as error:
        size = counted(len(body), "byte")
        raise DecodeError(f"The body of {size} is not UTF-8, at {error.start}. {_OTHER_PRODUCER}") from error
    if _ESCAPE in text:
        raise DecodeError(f"The body holds U+FFFE, which ksqlDB takes for an escape. {_OTHER_PRODUCER}")
    return text


def _splitter(delimiter: str, count: int) -> Callable[[str], list[str]]:
    """Splits the first record into `count` fields, like Commons CSV's `Lexer` and `CSVParser`; checks the others."""
    between = re.escape(delimiter)
    # Possessive, because a pattern that gives characters back would try them again.
    match_field = re.compile(
        rf'(?:"((?:[^"]++|"")*+)"(?:(?!{between})[{_WHITE_SPACE}])*+|((?!")[^{between}\r\n]*+))'
        rf"(?:({between})|\r\n?|\n|\Z)"
    ).match

    def split(text: str) -> list[str]:
        text = text.lstrip("\r\n")
        first: list[str] = []
        first_count = found = place = 0
        goes_on = None
        while place < len(text) or goes_on:
            match = match_field(text, place)
            if match is None:
                raise DecodeError(
                    f"The quotes of the field at character {place} are not closed, or more text follows them. "
                    f"{_OTHER_PRODUCER}"
                )
            quoted, plain, goes_on = match.groups()
            found, place = found + 1, match.end()
            if not first_count:
                if found <= count:
                    first.append(plain if quoted is None else quoted.replace('""', '"'))
                first_count = 0 if goes_on else found
        if first_count != count:
            kind = TruncatedBodyError if first_count < count else TrailingBytesError
            raise kind(
                f"The number of fields in the body, separated by {delimiter!r}, is {first_count}, but the number of columns is "
                f"{count}. Declare the columns and the delimiter that the producer writes."
            )
        return first

    return split


def _reader(type_: ColumnType) -> Callable[[Any], Value]:
    """The reader of a text that is not empty. The reader of a number also takes the number that msgspec made of the text."""
    assert isinstance(type_, ScalarType | Decimal)
    if type_ is ScalarType.BOOLEAN:
        return lambda text: is_same(text, "true")
    return _bytes if type_ is ScalarType.BYTES else scalar_reader(type_)


def _bytes(text: str) -> Value:
    try:
        return binascii.a2b_base64(text if "=" in text else text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:
        raise Misread(text, ScalarType.BYTES, "is not base64") from None


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows of all columns. The case rule matches a row's keys to the columns; a missing column is null."""
    columns, delimiter = with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)
    check = column_check(Struct(columns), cut_times=spec.cut_times, case_rule=spec.case_rule)
    writers = [_writer(column.type, delimiter, is_first=not number) for number, column in enumerate(columns)]

    def encode(row: object, prefix: bytes) -> bytes:
        try:
            checked: Any = check.fast(row)
        except Misfit:
            try:
                checked = check.careful(row)
            except Misfit as misfit:
                raise encode_error(misfit) from misfit.group()
        values = zip(writers, checked.values(), strict=True)
        body = delimiter.join(["" if value is None else write(value) for write, value in values])
        if not body.isascii() and _ESCAPE in body:
            raise EncodeError("A string of the row holds U+FFFE, which ksqlDB takes for an escape. Remove it.")
        try:
            return prefix + body.encode()
        except UnicodeEncodeError as error:
            raise EncodeError("A string of the row contains half a surrogate pair, which cannot be encoded.") from error

    return encode


def _writer(type_: ColumnType, delimiter: str, *, is_first: bool) -> Callable[[Any], str]:
    """Makes a field from the value that JSON has for the column, with quotes where needed (`CSVPrinter.printAndQuote`)."""
    text_of: Callable[[Any], str] = _decimal_text if isinstance(type_, Decimal) else _TEXTS.get(type_, str)
    if not is_first and delimiter not in _IN_NUMBERS and type_ not in (ScalarType.STRING, ScalarType.BYTES):
        return text_of
    between, start = re.escape(delimiter), "0-9A-Za-z" if is_first else "^\0-#"
    is_plain = re.compile(rf'(?!{between})[{start}][^{between}"\r\n]*+').fullmatch

    def quoted(value: object) -> str:
        text = text_of(value)
        if (is_plain(text) and text[-1] > " ") or not (text or is_first):
            return text
        doubled = text.replace('"', '""')
        return f'"{doubled}"'

    return quoted


def _decimal_text(raw: Raw) -> str:
    return raw.text if "E" not in raw.text else plain_decimal_text(decimal.Decimal(raw.text))


_TEXTS: Final[dict[object, Callable[[Any], str]]] = {
    ScalarType.BOOLEAN: {True: "true", False: "false"}.__getitem__,
    ScalarType.DOUBLE: lambda value: value.text if isinstance(value, Raw) else str(value),
}


def _usable(columns: Columns | None) -> Columns:
    if columns is None:
        raise ColumnError(
            "In the DELIMITED format, fields have neither names nor types: name the columns, in their order."
        )
    for column in usable_columns(columns):
        if not isinstance(column.type, Decimal | ScalarType) or column.type is ScalarType.TIMESTAMP_NTZ:
            raise ColumnError(
                f"The DELIMITED format does not support the type {type_name(column.type)}, of column {column.name!r}. Use "
                "another format."
            )
    return columns
