"""JSON bodies → rows of columns, like `KsqlJsonDeserializer`. A body is first parsed quickly, with its fractions as
doubles. If that could matter, or something does not fit, it is parsed again with every digit, and the second result
counts. Objects with the same keys share a plan."""

from __future__ import annotations

import decimal
from typing import Final, TypeAlias

from srfix.serde.casing import CaseRule, match_keys
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, ScalarType, Struct, has_decimals
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, IncompatibleTypeError, PayloadBoundError
from srfix.serde.formats.json.budget import Budget, Shapes
from srfix.serde.formats.json.kernel import native_column_decoder
from srfix.serde.formats.json.parse import parse, parse_exact
from srfix.serde.formats.json.scalars import MISSING, Convert, Misread, exact_type, scalar_reader
from srfix.serde.formats.rows.value_check import check_json_columns
from srfix.serde.interface import Row, Value
from srfix.serde.projection.tree import has_rows_of_nulls, unfed
from srfix.serde.specs import ReadSpec

_Step: TypeAlias = tuple[str, str, type | None, Convert]
"""Column, key, the Python type whose values are used unchanged, and the step for other values."""

_NONE_TYPE: Final = type(None)
_WHITE_SPACE: Final = b" \t\r\n"
_ROOT: Final = "$"
_NODES: Final[dict[type, str]] = {
    _NONE_TYPE: "NullNode",
    bool: "BooleanNode",
    decimal.Decimal: "DecimalNode",
    str: "TextNode",
    list: "ArrayNode",
    dict: "ObjectNode",
}
HAS_LOCAL_TIMES: Final = False


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    """With columns, a body `null` is None, or an un-wrapped column's null. Without, fractions are floats."""
    if spec.columns is None:
        return parse  # type: ignore[return-value]  # no Decimals here
    check_json_columns(spec.columns, wrapped=spec.wrapped)
    return column_decoder(spec)


def column_decoder(spec: ReadSpec, *, is_fed: bool = False) -> Decode:
    """Rows, or bare values. With `is_fed` (the writer feeds columns), a document without any of their keys is a row."""
    columns = with_times(spec.known_columns, spec.times)
    single = None if spec.wrapped else columns[0]
    is_fed = is_fed or has_rows_of_nulls(spec.case_rule, strict=spec.strict)
    readers = _Readers(spec.case_rule, strict=spec.strict, is_fed=is_fed or not spec.wrapped)
    read = readers.of(Struct(columns) if single is None else single.type, _ROOT)
    begin = readers.budget.begin if readers.budget.is_needed else None
    every_digit = has_decimals(columns)

    def decode(payload: bytes, body_offset: int) -> Value:
        nonlocal every_digit
        body = payload[body_offset:] if body_offset else payload
        if every_digit:
            return exactly(body)
        try:
            value = parse(body)
            if begin is not None:
                begin(len(body))
            read_value = None if value is None else read(value)
            return read_value if single is None else {single.name: read_value}
        except PayloadBoundError:
            raise
        except (DecodeError, Misread, RecursionError):
            pass  # if the exact reading also fails, it has the error message
        row = exactly(body)
        # The next row is probably similar. Reading each row twice would take longer than reading all rows exactly.
        every_digit = True
        return row

    def exactly(body: bytes) -> Value:
        exact: object = parse_exact(body) if body.strip(_WHITE_SPACE) else MISSING
        try:
            if begin is not None:
                begin(len(body))
            read_value = None if exact is None else read(exact)
        except Misread as misread:
            raise _error(misread) from misread
        except RecursionError as error:
            raise DecodeError("The JSON nests too deep to be made into a row.") from error
        return read_value if single is None else {single.name: read_value}

    return native_column_decoder(columns, spec, is_fed=readers.is_fed, otherwise=decode)


class _Readers:
    def __init__(self, case_rule: CaseRule, *, strict: bool = False, is_fed: bool = False) -> None:
        self.case_rule = case_rule
        self.strict = strict
        self.is_fed = is_fed
        self.budget = Budget()
        self.shapes: Shapes[tuple[_Step, ...]] = Shapes()

    def of(self, type_: ColumnType, where: str, *, is_repeated: bool = False) -> Convert:
        """In an array or a map (`is_repeated`), a body may hold many values, so their rows are counted."""
        match type_:
            case Struct():
                return _StructReader(type_, self, where, is_repeated=is_repeated).read
            case Array(items):
                return _array_reader(type_, exact_type(items), self.of(items, f"{where}[]", is_repeated=True))
            case Map(values):
                return _map_reader(type_, exact_type(values), self.of(values, f"{where}{{}}", is_repeated=True))
            case ScalarType() | Decimal():
                return scalar_reader(type_)


class _StructReader:
    """Object → row: `enforceFieldTypesForStruct`, under any case rule."""

    def __init__(self, type_: Struct, readers: _Readers, where: str, *, is_repeated: bool) -> None:
        self._type = type_
        self._case_rule = readers.case_rule
        self._price = readers.budget.price_of_row(1 for _ in type_.fields) if is_repeated else 0
        self._spend = readers.budget.spend
        self._shapes = readers.shapes
        self._where = f"the JSON object at {where}"
        self._names = tuple(field.name for field in type_.fields)
        self._nulls: Row = dict.fromkeys(self._names)
        self._readers = {
            field.name: (
                exact_type(field.type),
                readers.of(field.type, f"{where}.{field.name}", is_repeated=is_repeated),
            )
            for field in type_.fields
        }
        self._plans: dict[tuple[str, ...], tuple[_Step, ...]] = {}
        self._strict = readers.strict
        self._is_row = where == _ROOT and not readers.is_fed

    def read(self, value: object) -> Value:
        """The row of an object. A missing key counts as null. The type of a null is not checked."""
        if type(value) is not dict:
            raise Misread(value, self._type)
        keys = tuple(value)
        steps = self._plans.get(keys)
        if steps is None:
            steps = self._plan(keys)
        if (self._is_row and not steps) or (self._strict and len(steps) < len(self._names)):
            self._refuse(keys, steps)
        if self._price:
            self._spend(self._price)
        row = self._nulls.copy()
        name = ""
        try:
            for name, key, exact, convert in steps:
                part: Value = value[key]
                if type(part) is exact:
                    row[name] = part
                elif part is not None:
                    row[name] = convert(part)
        except Misread as misread:
            misread.path = f".{name}{misread.path}"
            raise
        return row

    def _refuse(self, keys: tuple[str, ...], steps: tuple[_Step, ...]) -> None:
        filled = {name for name, *_ in steps}
        absent = [name for name in self._names if name not in filled]
        # If the document is known to be a row, or a part of one, one more column is fed than the keys show.
        root_names = () if self._is_row else (_ROOT,)
        unfed_columns = unfed((*self._names, *root_names), absent, (), keys, strict=self._strict, what=self._where)
        if unfed_columns is not None:
            unfed_columns.refuse()

    def _plan(self, keys: tuple[str, ...]) -> tuple[_Step, ...]:
        matched = match_keys(self._names, keys, self._case_rule, where=self._where)
        # In the order of the columns, because the engine stops at the first value that does not fit.
        steps = tuple((name, matched[name], *self._readers[name]) for name in self._names if name in matched)
        self._shapes.put(self._plans, keys, steps)
        return steps


def _array_reader(type_: Array, exact: type | None, convert: Convert) -> Convert:
    as_they_are = frozenset({exact, _NONE_TYPE})

    def read(value: object) -> Value:
        if type(value) is not list:
            raise Misread(value, type_)
        items: list[Value] = value
        if exact is not None and as_they_are.issuperset(map(type, items)):
            return items.copy()  # one key may feed two columns
        converted: list[Value] = []
        append = converted.append
        try:
            for item in items:
                append(None if item is None else convert(item))
        except Misread as misread:
            misread.path = f"[{len(converted)}]{misread.path}"
            raise
        return converted

    return read


def _map_reader(type_: Map, exact: type | None, convert: Convert) -> Convert:
    as_they_are = frozenset({exact, _NONE_TYPE})

    def read(value: object) -> Value:
        if type(value) is not dict:
            raise Misread(value, type_)
        values: Row = value
        if exact is not None and as_they_are.issuperset(map(type, values.values())):
            return values.copy()
        converted: Row = {}
        key = ""
        try:
            for key, part in values.items():
                converted[key] = None if part is None else convert(part)
        except Misread as misread:
            misread.path = f".{key}.value{misread.path}"
            raise
        return converted

    return read


def _error(misread: Misread) -> DecodeError:
    path = _ROOT + misread.path
    what, node = required_type(misread.type), node_class(misread.value)
    if misread.kind is None:
        return IncompatibleTypeError(
            f"A JSON {node} cannot feed the column type {what}, at {path}. Declare the column with the writer's "
            "type, or leave it out.",
            path=path,
            writer_type=node,
            column_type=what,
        )
    return misread.kind(
        f"A JSON {node} {misread.sentence}: the column type is {what}, at {path}.", path=path, column_type=what
    )


def node_class(value: object) -> str:
    """Jackson's node class for a value that was parsed exactly."""
    if type(value) is int:
        size = value.bit_length() if value >= 0 else (~value).bit_length()
        return "IntNode" if size < 32 else "LongNode" if size < 64 else "BigIntegerNode"
    return _NODES.get(type(value), "MissingNode")


def required_type(type_: ColumnType) -> str:
    """As in the engine's errors: INTEGER for a scalar, `SqlSchemaFormatter`'s text within others (INT, VARCHAR)."""
    return _sql(type_) if not isinstance(type_, ScalarType) else type_.value


_SQL_WORDS: Final = {ScalarType.INTEGER: "INT", ScalarType.STRING: "VARCHAR"}


def _sql(type_: ColumnType) -> str:
    match type_:
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array(items):
            return f"ARRAY<{_sql(items)}>"
        case Map(values, keys):
            return f"MAP<{_sql(keys)}, {_sql(values)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{field.name} {_sql(field.type)}' for field in fields)}>"
        case ScalarType():
            return _SQL_WORDS.get(type_, type_.value)
