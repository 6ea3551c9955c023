"""A record of CSV read character by character, and fields by rules of their own: what the fuzz tests hold ours against.

It shares no line with the product, and uses neither a regular expression nor Python's csv.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import unicodedata
from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Columns, ColumnType, Decimal, ScalarType
from tests.serde.fuzz.expected import UNKNOWN, Unfit, json_value

_BREAKS: Final = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
_NO_BREAK: Final = "\u00a0\u2007\u202f"
_PLAIN_LETTERS: Final = frozenset("0123456789.-")


def first_record(body: bytes, delimiter: str) -> list[str]:
    """The fields of the first record, where all are CSV.

    :raises Unfit: if there is none, or something is no CSV.
    """
    try:
        text = body.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise Unfit("no UTF-8") from error
    if "\ufffe" in text:
        raise Unfit("an escape")
    records: list[list[str]] = []
    rest = list(reversed(text))
    while rest:
        if rest[-1] in "\r\n":
            rest.pop()
            continue
        records.append(_record(rest, delimiter))
    if not records:
        raise Unfit("no record")
    return records[0]


def _record(rest: list[str], delimiter: str) -> list[str]:
    fields = []
    while True:
        field = ""
        if rest and rest[-1] == '"':
            rest.pop()
            while True:
                if not rest:
                    raise Unfit("a quote is not closed")
                character = rest.pop()
                if character != '"':
                    field += character
                elif rest and rest[-1] == '"':
                    field += rest.pop()
                else:
                    break
            while rest and rest[-1] != delimiter and rest[-1] not in "\r\n" and _is_space(rest[-1]):
                rest.pop()
            if rest and rest[-1] != delimiter and rest[-1] not in "\r\n":
                raise Unfit("something behind a quote")
        else:
            while rest and rest[-1] != delimiter and rest[-1] not in "\r\n":
                field += rest.pop()
        fields.append(field)
        if not rest or rest.pop() != delimiter:
            return fields


def _is_space(character: str) -> bool:
    """`Character.isWhitespace`."""
    return character in _BREAKS or (unicodedata.category(character)[0] == "Z" and character not in _NO_BREAK)


def row_of(columns: Columns, fields: list[str]) -> dict[str, object]:
    """The row of these fields; UNKNOWN where a number is written in a way that has a table of its own.

    :raises Unfit: if there is none.
    """
    if len(fields) != len(columns):
        raise Unfit("another number of fields")
    return {
        column.name: _value(column.type, field) if field else None
        for column, field in zip(columns, fields, strict=True)
    }


def _value(type_: ColumnType, text: str) -> object:
    match type_:
        case Decimal():
            return json_value(type_, decimal.Decimal(text), CaseRule.EXACT) if _is_plain(text) else UNKNOWN
        case ScalarType.BOOLEAN:
            return text.casefold() == "true"
        case ScalarType.STRING:
            return text
        case ScalarType.DOUBLE:
            return float(text) if _is_plain(text) else UNKNOWN
        case ScalarType.BYTES:
            try:
                return base64.b64decode(text, validate=True) if len(text) % 4 == 0 and "=" not in text[:-2] else UNKNOWN
            except (binascii.Error, ValueError) as error:
                raise Unfit("no base64") from error
        case ScalarType.INTEGER:
            return _whole(text, 32)
    number = _whole(text, 64)
    try:
        match type_:
            case ScalarType.DATE:
                return datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
            case ScalarType.TIMESTAMP:
                return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=number)
            case ScalarType.TIME:
                if not 0 <= number < 86_400_000:
                    raise Unfit("no time of a day")
                return (datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=number)).time()
    except OverflowError as error:
        raise Unfit("beyond Python's years") from error
    return number


def _whole(text: str, bits: int) -> int:
    digits = text[1:] if text[0] in "+-" else text
    if not digits or len(text) > 1_000:
        raise Unfit("no digits, or too many")
    number = 0
    for digit in digits:
        value = unicodedata.decimal(digit, None)
        if value is None or digit > "\uffff":
            raise Unfit(f"{digit!r} is no digit")
        number = 10 * number + value
    number = -number if text[0] == "-" else number
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise Unfit(f"beyond {bits} bits")
    return number


def _is_plain(text: str) -> bool:
    """Digits, perhaps with a point among them, as every reader takes them."""
    unsigned = text.removeprefix("-")
    whole, point, rest = unsigned.partition(".")
    return (
        len(text) <= 1_000
        and _PLAIN_LETTERS.issuperset(text)
        and "-" not in unsigned
        and whole.isdigit()
        and (rest.isdigit() if point else True)
    )
