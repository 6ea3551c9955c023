"""DELIMITED: one record of CSV, its fields in the order of the columns. There is no schema and there are no names
(`KsqlDelimitedSerializer`, `KsqlDelimitedDeserializer`; commons-csv 1.4, `CSVFormat.DEFAULT` with a delimiter).

| column | written | read |
|---|---|---|
| BOOLEAN | `true`, `false` | `true` in any letter case; anything else is false (`Boolean.parseBoolean`) |
| INTEGER, BIGINT | itself | `Integer.parseInt`, `Long.parseLong` |
| DOUBLE | `Double.toString` | `Double.parseDouble` |
| DECIMAL(p, s) | `BigDecimal.toPlainString`, s digits behind the point | `new BigDecimal`; it fits without rounding |
| STRING | itself | itself |
| BYTES | base64 | base64, whose padding may be left out (`Base64.getDecoder`) |
| DATE, TIME, TIMESTAMP | days, milliseconds of the day, milliseconds since the epoch | `Long.parseLong` |

A null is a field without characters, and such a field is null: an empty STRING is read as null. A row of one null has no
bytes, which nobody reads. Where a body has several records, the first one is the row, and the others must be CSV.

Commons CSV quotes (`CSVPrinter`, QuoteMode MINIMAL) the first field unless it begins with an ASCII letter or digit: also a
negative number, and a text that is empty; of the others those that begin with one of the characters up to `#`, or end in
one up to a space; and what holds a quote, the delimiter or a line's end. It reads (`Lexer`) a field as quoted if its first
character is a quote, skips white space behind the closing one, and skips empty lines. U+FFFE is an escape there, by
accident: text that holds it is refused both ways.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, cast

import msgspec

from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Column, Columns, ColumnType, Decimal, ScalarType, type_name, usable_columns
from srfix.serde.connect.java_text import double_text, plain_decimal_text
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import (
    ColumnError,
    DecodeError,
    EncodeError,
    TrailingBytesError,
    TruncatedBodyError,
    UsageError,
)
from srfix.serde.formats.avro import load
from srfix.serde.formats.avro.write.scalars import scalar
from srfix.serde.formats.json import column_check
from srfix.serde.formats.json.scalars import Misread, scalar_reader
from srfix.serde.formats.json.text import Raw
from srfix.serde.formats.rows.checks import FieldCheck, RecordCheck
from srfix.serde.formats.rows.value_check import Misfit, ValueCheck, encode_error, or_none
from srfix.serde.interface import Row, Value
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False

_NAMED: Final = {"SPACE": " ", "TAB": "\t"}
_ESCAPE: Final = "\ufffe"
_WHITE_SPACE: Final = "\t\x0b\x0c\x1c-\x1f \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""`Character.isWhitespace`, without the ends of lines: nothing that does not break."""
_IN_NUMBERS: Final = frozenset("0123456789+-.EINaftrueslniy")
"""What numbers and booleans are written with."""
_ANY_TEXT: Final = frozenset({ScalarType.STRING, ScalarType.BYTES})
_OTHER_PRODUCER: Final = "The topic is of another format, or its producer is broken."
_PLAIN: Final[dict[object, tuple[bytes, Any, bool]]] = {
    ScalarType.BOOLEAN: (rb"(?:true|false)?", bool, True),
    ScalarType.INTEGER: (rb"(?:-?\d{1,9})?", int, True),
    ScalarType.BIGINT: (rb"(?:-?\d{1,18})?", int, True),
    ScalarType.DOUBLE: (rb"(?:-?(?:\d{1,17}\.\d{1,17}(?:E-?\d{1,2})?|[1-9]\d{0,17}))?", float, True),
    ScalarType.DATE: (rb"(?:-?\d{1,7})?", int, False),
    ScalarType.TIME: (rb"(?:\d{1,8})?", int, False),
    ScalarType.TIMESTAMP: (rb"(?:-?\d{1,15})?", int, False),
    Decimal: (rb"(?:-?\d{1,30}(?:\.\d{1,30})?)?", decimal.Decimal, False),
}
"""Numbers and booleans that msgspec reads as Java does: pattern, type, and whether that is the column's value."""
_Read: TypeAlias = Callable[[str], Value]


def delimiter_of(name: str | None) -> str:
    """The character, by ksqlDB's VALUE_DELIMITER or KEY_DELIMITER (`Delimiter.parse`): SPACE, TAB, or itself; None for a comma.

    :raises UsageError: if it is none.
    """
    name = "," if name is None else name
    character = _NAMED.get(name, name)
    if (
        len(character) != 1
        or (name == character and character <= " ")
        or character in f'"{_ESCAPE}'
        or character > "\uffff"
        or "\ud800" <= character <= "\udfff"
    ):
        raise UsageError(
            f"The delimiter {name[:20]!r} cannot be used. It is one character such as ';', or SPACE or TAB; no quote, and no "
            "other white space."
        )
    return character


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """A decoder for rows of all columns. A single column is written as several are (`DelimitedFormat`): wrapping has no say.

    A body of plain numbers and texts is read in one go. Whatever is not plain, or does not fit, is read field by field, and
    that reading decides.
    """
    columns, delimiter = with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)
    readers = [(column, _reader(column.type)) for column in columns]
    names, between = [column.name for column in columns], delimiter.encode()
    is_plain, parse, finish = _in_one_go(columns, delimiter)
    split = _splitter(delimiter, len(columns))

    def decode(payload: bytes, body_offset: int) -> Value:
        body = payload[body_offset:] if body_offset else payload
        if body and is_plain(body):
            array = b'["%b"]' % body.replace(between, b'","')
            try:
                row: Row = dict(zip(names, parse(array.replace(b'""', b"null")), strict=True))
                for name, read in finish:
                    if (value := row[name]) is not None:
                        row[name] = read(value)
                return row
            except (msgspec.MsgspecError, UnicodeDecodeError, Misread):
                pass
        return carefully(body)

    def carefully(body: bytes) -> Value:
        row: Row = {}
        for (column, read), field in zip(readers, split(_text(body)), strict=True):
            try:
                row[column.name] = read(field) if field else None
            except Misread as misread:
                raise _error(misread, column) from misread
        return row

    return decode


def _text(body: bytes) -> str:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"The {len(body)} bytes are not UTF-8, at {error.start}. {_OTHER_PRODUCER}") from error
    if _ESCAPE in text:
        raise DecodeError(f"The body holds U+FFFE, which ksqlDB takes for an escape. {_OTHER_PRODUCER}")
    return text


def _splitter(delimiter: str, count: int) -> Callable[[str], list[str]]:
    """The first record as so many fields, as Commons CSV's `Lexer` and `CSVParser` have them; the others are looked at, too."""
    between = re.escape(delimiter)
    # Possessive, for what is given back would be tried again.
    match_field = re.compile(
        rf'(?:"((?:[^"]++|"")*+)"(?:(?!{between})[{_WHITE_SPACE}])*+|((?!")[^{between}\r\n]*+))'
        rf"(?:({between})|\r\n?|\n|\Z)"
    ).match

    skip_lines = re.compile(r"[\r\n]*+").match

    def split(text: str) -> list[str]:
        first: list[str] = []
        first_count = place = 0
        while (place := skip_lines(text, place).end()) < len(text):
            found, goes_on = 0, "yes"
            while goes_on:
                match = match_field(text, place)
                if match is None:
                    raise DecodeError(
                        f"The quotes of the field at character {place} are not closed, or something stands behind them. "
                        f"{_OTHER_PRODUCER}"
                    )
                quoted, plain, goes_on = match.groups()
                found, place = found + 1, match.end()
                if not first_count and found <= count:
                    first.append(plain if quoted is None else quoted.replace('""', '"'))
            first_count = first_count or found
        if first_count != count:
            kind = TruncatedBodyError if first_count < count else TrailingBytesError
            raise kind(
                f"The body has {first_count} fields, with {delimiter!r} between them, and there are {count} columns. Declare "
                "the columns and the delimiter that the producer writes."
            )
        return first

    return split


def _error(misread: Misread, column: Column) -> DecodeError:
    what = type_name(column.type)
    assert misread.kind is not None  # every type here takes some text
    return misread.kind(
        f"The field of column {column.name!r} {misread.sentence}: its type is {what}. Declare the columns in the order of the "
        "fields, and the type that the producer writes.",
        path=f"->{column.name}",
        column_type=what,
    )


def _reader(type_: ColumnType) -> _Read:
    match type_:
        case ScalarType.BOOLEAN:
            return lambda text: text.lower() == "true"
        case ScalarType.BYTES:
            return _bytes
    assert isinstance(type_, ScalarType | Decimal)
    return scalar_reader(type_)


def _bytes(text: str) -> Value:
    try:
        return binascii.a2b_base64(text if "=" in text else text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:
        raise Misread.bad_value(text, ScalarType.BYTES, "is not base64") from None


def _in_one_go(
    columns: Columns, delimiter: str
) -> tuple[Callable[[bytes], object], Callable[[bytes], Iterable[Any]], list[tuple[str, Callable[[Any], Value]]]]:
    """What tells plain bodies, what parses them as an array of JSON strings, and what is made of its values behind that.

    The patterns are of texts that msgspec reads as Java does, and narrow enough for the columns.
    """
    is_apart = delimiter.isascii() and not delimiter.isalnum() and delimiter not in "+-.\\"
    between = re.escape(delimiter.encode())
    plain = rb'[^"\\\x00-\x1f\xef%b]*+' % between
    patterns, types, finish = [], [], []
    for column in columns:
        kind = Decimal if isinstance(column.type, Decimal) else column.type
        pattern, type_, is_final = _PLAIN.get(kind, (plain, str, kind is ScalarType.STRING))
        patterns.append(pattern)
        types.append(type_ | None)
        if not is_final:
            finish.append((column.name, _reader(column.type)))
    is_plain = re.compile(between.join(patterns) if is_apart else b"(?!)").fullmatch
    return is_plain, msgspec.json.Decoder(cast("Any", tuple)[tuple(types)], strict=False).decode, finish


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows of all columns, whose keys are matched by the case rule; a column that the row lacks is null."""
    columns, delimiter = with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)
    checks = {
        column.name: _check(column.type, delimiter, is_first=not number, cut_times=spec.cut_times)
        for number, column in enumerate(columns)
    }
    record = RecordCheck(spec.case_rule)
    record.set_fields(
        FieldCheck(name=name, field=name, check=or_none(check), when_missing=None) for name, check in checks.items()
    )
    steps = [(name, check.fast) for name, check in checks.items()]

    def encode(row: object, prefix: bytes) -> bytes:
        try:
            if type(row) is not dict or len(row) != len(steps):
                raise KeyError
            fields = ["" if (value := row[name]) is None else write(value) for name, write in steps]
        except (KeyError, Misfit):
            fields = carefully(row)
        body = delimiter.join(fields)
        if _ESCAPE in body:
            raise EncodeError("A string of the row holds U+FFFE, which ksqlDB takes for an escape. Take it out.")
        try:
            return prefix + body.encode()
        except UnicodeEncodeError as error:
            raise EncodeError("A string of the row contains half a surrogate pair, which cannot be encoded.") from error

    def carefully(row: object) -> list[str]:
        try:
            written: dict[str, str | None] = record.careful(row)  # type: ignore[assignment]  # what the checks make
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        return [text or "" for text in written.values()]

    return encode


def _check(type_: ColumnType, delimiter: str, *, is_first: bool, cut_times: bool) -> ValueCheck:
    """How values of a column are checked and made into what stands in the body."""
    if isinstance(type_, Decimal):
        check, text = column_check(type_, cut_times=cut_times), _decimal_text
    else:
        # What Avro takes for the same column, DELIMITED takes.
        schema, text = _WRITTEN[type_]  # type: ignore[index]  # _usable has looked
        check = scalar(load(json.dumps(schema)), cut_times=cut_times)
    if is_first or type_ in _ANY_TEXT or delimiter in _IN_NUMBERS:
        quote = _quoter(delimiter, is_first=is_first)
        return check.within(lambda convert: lambda value: quote(text(convert(value))))
    return check.within(lambda convert: lambda value: text(convert(value)))


def _quoter(delimiter: str, *, is_first: bool) -> Callable[[str], str]:
    """`CSVPrinter.printAndQuote`."""
    between, start = re.escape(delimiter), "0-9A-Za-z" if is_first else "^\0-#"
    inside = rf'{between}"\r\n'
    is_plain = re.compile(rf"(?!{between})[{start}](?:[^{inside}]*[^{inside}\0- ])?").fullmatch

    def quote(text: str) -> str:
        if is_plain(text) or not (text or is_first):
            return text
        return '"%s"' % text.replace('"', '""')

    return quote


def _decimal_text(raw: Raw) -> str:
    text = raw.text
    return text if "E" not in text else plain_decimal_text(decimal.Decimal(text))


def _usable(columns: Columns | None) -> Columns:
    if columns is None:
        raise ColumnError("In the DELIMITED format, fields have neither names nor types: name the columns, in their order.")
    for column in usable_columns(columns):
        if not isinstance(column.type, Decimal) and column.type not in _WRITTEN:
            raise ColumnError(
                f"The DELIMITED format does not support the type {type_name(column.type)}, of column {column.name!r}. Use "
                "another format."
            )
    return columns


_BOTH: Final = {True: "true", False: "false"}
_WRITTEN: Final[dict[ScalarType, tuple[object, Callable[[Any], str]]]] = {
    ScalarType.BOOLEAN: ("boolean", _BOTH.__getitem__),
    ScalarType.INTEGER: ("int", str),
    ScalarType.BIGINT: ("long", str),
    ScalarType.DOUBLE: ("double", double_text),
    ScalarType.STRING: ("string", str),
    ScalarType.BYTES: ("bytes", lambda value: base64.b64encode(value).decode()),
    ScalarType.DATE: ({"type": "int", "logicalType": "date"}, str),
    ScalarType.TIME: ({"type": "int", "logicalType": "time-millis"}, str),
    ScalarType.TIMESTAMP: ({"type": "long", "logicalType": "timestamp-millis"}, str),
}
