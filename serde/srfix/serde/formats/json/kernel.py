"""Describes columns of plain JSON for the native kernel (`serde/kernel/src/json/description.rs`), which leaves every
body that is not correct to Python. It knows no case rule: it asks which column a key feeds, once for each spelling."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule, are_distinct, match_keys
from srfix.serde.columns.types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.engine import Decode
from srfix.serde.errors import CasingError
from srfix.serde.formats.json.budget import Budget
from srfix.serde.native import MOST_DIGITS, NotTakenError, kernel
from srfix.serde.specs import ReadSpec

Part: TypeAlias = dict[str, Any]
"""A piece of a description."""
Ask: TypeAlias = Callable[[int, str], int]
"""An object's number and a key → the column that the key feeds; -1 for none, -2 to leave the body to Python."""

MILLIS: Final = 1_000
"""Milliseconds per second."""
_NOTHING: Final = -1
_UNSURE: Final = -2
_LEVELS: Final = 200
_NUMBER_CHARACTERS: Final = 100
_TEXT_CHARACTERS: Final = 60
_KEYS: Final = 1_024
_KEY_BYTES: Final = 256 << 10


def native_decoder(describe: Callable[[Description], bytes], otherwise: Decode, ask: Ask | None = None) -> Decode:
    """The kernel's decoder; `otherwise` if there is no kernel, or it lacks a type. `describe` gives the text."""
    native = kernel()
    if native is None:
        return otherwise
    try:
        text = describe(Description())
    except NotTakenError:
        return otherwise
    decode: Decode = native.Decoder.json(text, otherwise, ask).decode
    return decode


class Description:
    def __init__(self) -> None:
        self._reads: list[Part] = []
        self.budget = Budget()
        """True for rows that count towards the budget."""

    def add(self, **read: object) -> int:
        self._reads.append(read)
        return len(self._reads) - 1

    def price(self, columns: Sequence[object], *, is_repeated: bool) -> int:
        return self.budget.price_of_row(1 for _ in columns) if is_repeated else 0

    def text(self, root: Part, single: str | None) -> bytes:
        """The whole text for the kernel's parser. `single` is the only column, if bodies are its bare values."""
        bounds = payload_bounds()
        most = {
            "levels": _LEVELS,
            "number_characters": min(bounds.number_characters, _NUMBER_CHARACTERS),
            "text_characters": min(bounds.text_number_characters, _TEXT_CHARACTERS),
            "values": bounds.values,
            "values_per_byte": bounds.values_per_byte,
            "keys": min(bounds.shapes, _KEYS),
            "key_bytes": min(bounds.shape_bytes, _KEY_BYTES),
        }
        return json.dumps({"reads": self._reads, "root": root, "single": single, "bounds": most}).encode()


def native_column_decoder(columns: Columns, spec: ReadSpec, *, is_fed: bool, otherwise: Decode) -> Decode:
    """`column_decoder` with the kernel. It has made `otherwise`; `columns` are those of the spec's rows."""
    plain = _Plain(spec.case_rule, strict=spec.strict)

    def describe(description: Description) -> bytes:
        plain.description = description
        if spec.wrapped:
            root = plain.struct(columns, is_repeated=False, least=0 if is_fed else 1)
            # By the caller's rules, null is not a row.
            return description.text({"read": root, "takes_null": False}, None)
        (single,) = columns
        return description.text(plain.part(single.type, is_repeated=False), single.name)

    return native_decoder(describe, otherwise, plain.fed_by)


class _Plain:
    description: Description

    def __init__(self, case_rule: CaseRule, *, strict: bool) -> None:
        self._case_rule = case_rule
        self._strict = strict
        self._names: dict[int, tuple[str, ...]] = {}

    def fed_by(self, number: int, key: str) -> int:
        """The column of an object that a key feeds, if no other key feeds it."""
        names = self._names[number]
        try:
            matched = match_keys(names, (key,), self._case_rule, where="the JSON object")
        except CasingError:
            return _UNSURE
        if len(matched) > 1:
            return _UNSURE
        return next((names.index(name) for name in matched), _NOTHING)

    def part(self, type_: ColumnType, *, is_repeated: bool) -> Part:
        return {"read": self._read(type_, is_repeated=is_repeated), "takes_null": True}

    def struct(self, columns: Columns, *, is_repeated: bool, least: int) -> int:
        """Describes an object. `least` is the number of columns that must be fed, if not all of them must."""
        names = tuple(column.name for column in columns)
        # The column that one key feeds may then depend on the other keys.
        if not are_distinct(names) and self._case_rule is not CaseRule.EXACT:
            raise NotTakenError
        number = self.description.add(
            kind="object",
            columns=[
                {"name": column.name, "part": self.part(column.type, is_repeated=is_repeated), "may_lack": True}
                for column in columns
            ],
            keys=None,
            least=len(names) if self._strict else least,
            price=self.description.price(columns, is_repeated=is_repeated),
        )
        self._names[number] = names
        return number

    def _read(self, type_: ColumnType, *, is_repeated: bool) -> int:
        add = self.description.add
        match type_:
            case Struct(fields):
                return self.struct(fields, is_repeated=is_repeated, least=0)
            case Array(items):
                return add(kind="list", items=self.part(items, is_repeated=True))
            case Map(values):
                return add(kind="map", values=self.part(values, is_repeated=True))
            case Decimal(precision, scale):
                if precision > MOST_DIGITS:
                    raise NotTakenError
                return add(kind="decimal", precision=precision, scale=scale, of_text=True)
            case ScalarType() if type_ in _SCALARS:
                return add(**_SCALARS[type_])
        raise NotTakenError


def number(becomes: object, *, bits: int = 64, of_text: bool = False, within_a_day: bool = False) -> Part:
    return {"kind": "number", "bits": bits, "of_text": of_text, "within_a_day": within_a_day, "becomes": becomes}


_SCALARS: Final[dict[ScalarType, Part]] = {
    ScalarType.BOOLEAN: {"kind": "boolean", "as_text": False},
    ScalarType.INTEGER: number("same", bits=32, of_text=True),
    ScalarType.BIGINT: number("same", of_text=True),
    # A BigDecimal has no negative zero.
    ScalarType.DOUBLE: {"kind": "double", "is_narrow": False, "has_negative_zero": False},
    ScalarType.STRING: {"kind": "string", "of_scalars": True},
    ScalarType.BYTES: {"kind": "bytes"},
    ScalarType.DATE: number("date", of_text=True),
    ScalarType.TIME: number({"time": MILLIS}, of_text=True),
    ScalarType.TIMESTAMP: number({"timestamp": MILLIS}, of_text=True),
}
