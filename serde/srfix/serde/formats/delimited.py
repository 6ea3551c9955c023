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
import csv
import datetime
import decimal
import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias

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
from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False

_NAMED: Final = {"SPACE": " ", "TAB": "\t"}
_QUOTE: Final = '"'
_ESCAPE: Final = "\ufffe"
_WHITE_SPACE: Final = "\t\x0b\x0c\x1c-\x1f \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""`Character.isWhitespace`, without the ends of lines: nothing that does not break."""
_IN_NUMBERS: Final = frozenset("0123456789+-.EINaftrueslniy")
"""What numbers and booleans are written with."""
_ANY_TEXT: Final = frozenset({ScalarType.STRING, ScalarType.BYTES})
_OTHER_PRODUCER: Final = "The topic is of another format, or its producer is broken."
_LONG: Final = Annotated[int, msgspec.Meta(ge=LONG_MIN, le=LONG_MAX)]
_PLAIN: Final[dict[object, tuple[bytes, Any]]] = {
    ScalarType.BOOLEAN: (rb"(?:true|false)?+", bool),
    ScalarType.INTEGER: (rb"[-0-9]{0,11}+", Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)]),
    ScalarType.BIGINT: (rb"[-0-9]{0,20}+", _LONG),
    ScalarType.DOUBLE: (rb"(?!-0(?![.E]))[-0-9.E]{0,40}+", float),
    ScalarType.DATE: (rb"[-0-9]{0,11}+", _LONG),
    ScalarType.TIME: (rb"[-0-9]{0,11}+", _LONG),
    ScalarType.TIMESTAMP: (rb"[-0-9]{0,20}+", _LONG),
    Decimal: (rb"[-0-9.]{0,60}+", decimal.Decimal),
}
"""Of these characters msgspec reads what Java reads, as Java does, or it refuses: pattern and type. (In a text it takes 1.0 for
an int, `nan` for a double, 1 and null for a boolean; and -0 for 0.0.)"""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
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

    A body of plain numbers and texts is read in one go. So is one whose texts stand in quotes, without these texts. Whatever
    is not plain, or does not fit, is read field by field, and that reading decides.
    """
    columns, delimiter = with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)
    readers = [(column, _reader(column.type)) for column in columns]
    texts = [(number, column.name) for number, column in enumerate(columns) if column.type is ScalarType.STRING]
    read_plain = _plain_reader(columns, delimiter)
    split = _splitter(delimiter, len(columns))

    def decode(payload: bytes, body_offset: int) -> Value:
        body = payload[body_offset:] if body_offset else payload
        return read_plain(body) or (b'"' in body and read_quoted(body)) or carefully(body)

    def read_quoted(body: bytes) -> Row | None:
        try:
            (fields,) = csv.reader((_text(body),), delimiter=delimiter, strict=True)
        except (csv.Error, ValueError):
            return None
        if len(fields) != len(columns):
            return None
        quoted = [(name, fields[number]) for number, name in texts]
        for number, _ in texts:
            fields[number] = ""
        row = read_plain(delimiter.join(fields).encode())
        if row is not None:
            for name, text in quoted:
                row[name] = text or None
        return row

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

    def split(text: str) -> list[str]:
        first: list[str] = []
        first_count = place = 0
        while (place := _line_start(text, place)) < len(text):
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
                f"The body has another number of fields, separated by {delimiter!r}, than there are columns: {first_count}, "
                f"not {count}. Declare the columns and the delimiter that the producer writes."
            )
        return first

    return split


def _line_start(text: str, place: int) -> int:
    while text.startswith(("\r", "\n"), place):
        place += 1
    return place


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


def _date(days: int) -> Value:
    return datetime.date.fromordinal(_EPOCH_DAY + days)


def _timestamp(milliseconds: int) -> Value:
    return _EPOCH + milliseconds * _MILLISECOND


def _bytes(text: str) -> Value:
    try:
        return binascii.a2b_base64(text if "=" in text else text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:
        raise Misread.bad_value(text, ScalarType.BYTES, "is not base64") from None


def _plain_reader(columns: Columns, delimiter: str) -> Callable[[bytes], Row | None]:
    """What reads a plain body as an array of JSON strings; it gives None for any other."""
    is_apart = delimiter.isascii() and not delimiter.isalnum() and delimiter not in "+-.\\"
    between, apart = delimiter.encode(), b'","'
    text = rb'[^"\\\x00-\x1f\xef%b]*+' % re.escape(between)
    kinds = [Decimal if isinstance(column.type, Decimal) else column.type for column in columns]
    patterns, types = zip(*(_PLAIN.get(kind, (text, str)) for kind in kinds), strict=True)
    # No bytes are no row, of one column either.
    is_plain = re.compile(rb"(?!\Z)" + re.escape(between).join(patterns) if is_apart else b"(?!)").fullmatch
    # Fields of a Struct are named as Python's are.
    names = [column.name for column in columns]
    is_named = all(name.isidentifier() and not name.startswith("__") for name in names)
    field_names = names if is_named else [f"_{number}" for number in range(len(names))]
    fields = [(name, type_ | None) for name, type_ in zip(field_names, types, strict=True)]
    made = msgspec.defstruct("Row", fields, array_like=True, gc=False)
    parse, as_dict = msgspec.json.Decoder(made, strict=False).decode, msgspec.structs.asdict
    finish = [
        (name, _FINISH.get(kind) or _reader(column.type))
        for name, column, kind in zip(field_names, columns, kinds, strict=True)
        if kind is Decimal or kind in _FINISH
    ]

    def read(body: bytes) -> Row | None:
        if not is_plain(body):
            return None
        try:
            row: Row = as_dict(parse((b'["%b"]' % body.replace(between, apart)).replace(b'""', b"null")))
            for name, convert in finish:
                value: Any = row[name]
                if value is not None:
                    row[name] = convert(value)
        except (msgspec.MsgspecError, ValueError, OverflowError, Misread):
            return None
        return row if is_named else dict(zip(names, row.values(), strict=True))

    return read


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """An encoder for rows of all columns, whose keys are matched by the case rule; a column that the row lacks is null."""
    columns, delimiter = with_times(_usable(spec.columns), spec.times), delimiter_of(spec.delimiter)
    record, steps, parts = RecordCheck(spec.case_rule), [], []
    for number, column in enumerate(columns):
        check, text = _check(column.type, cut_times=spec.cut_times)
        if not number or column.type in _ANY_TEXT or delimiter in _IN_NUMBERS:
            text = _quoted(text, delimiter, is_first=not number)
        # A value of these types needs no other look; an int is to fit its bits.
        steps.append((column.name, None if check.exact is int else check.exact, text, check.fast))
        parts.append(FieldCheck(name=column.name, field=column.name, check=or_none(check), when_missing=None))
    record.set_fields(parts)

    def encode(row: object, prefix: bytes) -> bytes:
        body = None
        if type(row) is dict and len(row) == len(steps):
            try:
                fields = [
                    "" if (value := row[name]) is None else text(value if type(value) is exact else check(value))
                    for name, exact, text, check in steps
                ]
                body = delimiter.join(fields)
            except (KeyError, Misfit):
                pass  # looked at with care
        if body is None:
            body = carefully(row)
        if not body.isascii() and _ESCAPE in body:
            raise EncodeError("A string of the row holds U+FFFE, which ksqlDB takes for an escape. Take it out.")
        try:
            return prefix + body.encode()
        except UnicodeEncodeError as error:
            raise EncodeError("A string of the row contains half a surrogate pair, which cannot be encoded.") from error

    def carefully(row: object) -> str:
        try:
            checked: dict[str, Any] = record.careful(row)  # type: ignore[assignment]  # what the checks make
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        return delimiter.join(["" if checked[name] is None else text(checked[name]) for name, _, text, _ in steps])

    return encode


def _check(type_: ColumnType, *, cut_times: bool) -> tuple[ValueCheck, Callable[[Any], str]]:
    """How values of a column are checked, and what makes a text of what the check gives."""
    if isinstance(type_, Decimal):
        return column_check(type_, cut_times=cut_times), _decimal_text
    # What Avro takes for the same column, DELIMITED takes.
    schema, text = _WRITTEN[type_]  # type: ignore[index]  # _usable has looked
    return scalar(load(json.dumps(schema)), cut_times=cut_times), text


def _quoted(text_of: Callable[[Any], str], delimiter: str, *, is_first: bool) -> Callable[[Any], str]:
    """The text in quotes, where it needs them: `CSVPrinter.printAndQuote`."""
    between, start = re.escape(delimiter), "0-9A-Za-z" if is_first else "^\0-#"
    is_plain = re.compile(rf'(?!{between})[{start}][^{between}"\r\n]*+').fullmatch

    def quoted(value: object) -> str:
        text = text_of(value)
        if (is_plain(text) and text[-1] > " ") or not (text or is_first):
            return text
        return f'"{text.replace(_QUOTE, _QUOTE * 2)}"'

    return quoted


def _decimal_text(raw: Raw) -> str:
    text = raw.text
    return text if "E" not in text else plain_decimal_text(decimal.Decimal(text))


def _usable(columns: Columns | None) -> Columns:
    if columns is None:
        raise ColumnError(
            "In the DELIMITED format, fields have neither names nor types: name the columns, in their order."
        )
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
_FINISH: Final[dict[object, Callable[[Any], Value]]] = {
    ScalarType.BYTES: _bytes,
    ScalarType.DATE: _date,
    ScalarType.TIME: scalar_reader(ScalarType.TIME),
    ScalarType.TIMESTAMP: _timestamp,
}
