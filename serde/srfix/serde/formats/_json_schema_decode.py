"""JSON bodies → rows under columns, through Connect: `JsonSchemaData.toConnectData` under the writer's schema, then
`ConnectDataTranslator`, as ksqlDB reads JSON_SR since 0.28.2 (ksql#9130).

| writer | JSON |
|---|---|
| boolean, string | the same |
| int8 … int64 | a number, cut to whole and to the type's bits, as Java does |
| float32, float64 | a number, or one of the strings NaN, Infinity, -Infinity, as Jackson writes them |
| Date, Time | a whole number of 32 bits; Timestamp: any whole number |
| bytes | a string of base64 |
| Decimal | a number with all its digits, or a string of base64 |
| array, struct | an array, an object |
| map | an array of `{"key": …, "value": …}`; an object if its keys are strings that cannot be null |
| a oneOf | what the first alternative takes; among objects the one with most names in common |

Null is the default of the writer's type, else null if the type allows it, else refused; a property that is absent is the
default, else null. What ksqlDB does not refuse, but reads as something that is not there, is refused here: a string where
the schema says number (0 in JsonSchemaData), anything but a string for a string (null), a scalar for an array (empty).

A body is parsed quickly first, with fractions as doubles. Where that could matter it is parsed again with every digit, and
that reading decides.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from typing import Final, TypeAlias

from srfix.serde._column_types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct, has_decimals
from srfix.serde._connect_coercions import refusal
from srfix.serde._connect_schema import (
    ConnectField,
    ConnectSchema,
    ConnectType,
)
from srfix.serde._fed import unfed
from srfix.serde._time_units import TimeUnit, reads_units, refusal_in_unit, time_unit
from srfix.serde.casing import CaseRule, placements
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, PayloadBoundError
from srfix.serde.formats._json_budget import Budget, cost_of_default
from srfix.serde.formats._json_parse import parse, parse_exact
from srfix.serde.formats._json_schema_connect import is_union
from srfix.serde.formats._json_schema_leaves import InexactError, Read, leaf, wrong_node
from srfix.serde.interface import Row, Value

__all__ = ["connect_decoder"]

_Step: TypeAlias = tuple[str, str, type | None, bool, Read, bool]
"""Field, column, the Python type that is taken as it is, whether null is, what reads anything else, and whether it also
says what an absent property is: null otherwise."""

_MISSING: Final = object()
_NONE_TYPE: Final = type(None)


def connect_decoder(
    writer: ConnectSchema, columns: Columns, *, case_rule: CaseRule, wrapped: bool, strict: bool = False
) -> Decode:
    """Rows of the columns; with `wrapped=False` the body is the bare value of the only one.

    :param strict: a schema that leaves a column, or a field inside one, unfed has no rows.
    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    """
    plan = _Plan(case_rule, strict=strict)
    single = None if wrapped else columns[0]
    read = plan.row(writer, columns) if single is None else plan.read(writer, single.type, "")
    begin = plan.budget.begin if plan.budget.is_needed else None
    every_digit = has_decimals(columns)

    def decode(payload: bytes, body_offset: int) -> Value:
        body = payload[body_offset:] if body_offset else payload
        if not every_digit:
            try:
                parsed = parse(body)
                if begin is not None:
                    begin(len(body))
                value = read(parsed)
                return value if single is None else {single.name: value}
            except PayloadBoundError:
                raise
            except (DecodeError, InexactError, RecursionError):
                pass  # the exact reading has the words, if it fails too
        try:
            exact = parse_exact(body)
            if begin is not None:
                begin(len(body))
            value = read(exact)
        except RecursionError as error:
            raise DecodeError("The JSON nests too deep to be made into a row.") from error
        return value if single is None else {single.name: value}

    return decode


class _Plan:
    def __init__(self, case_rule: CaseRule, *, strict: bool) -> None:
        self._case_rule = case_rule
        self._strict = strict
        self._absent: list[str] = []
        self._reads_units = reads_units(case_rule)
        self.budget = Budget()

    def row(self, writer: ConnectSchema, columns: Columns) -> Read:
        """The root, as rows. What feeds none of the columns, or not each under `strict`, is refused where it is met."""
        read = self.read(writer, Struct(columns), "")
        if writer.type is not ConnectType.STRUCT:
            return read
        names, fields = [column.name for column in columns], [part.name for part in writer.fields]
        absent = [name for name in names if name in self._absent]
        inside = [path for path in dict.fromkeys(self._absent) if path not in absent]
        found = unfed(names, absent, inside, fields, strict=self._strict, what="the writer schema")
        if found is None:
            return read

        def refuse(node: object) -> Value:
            value = read(node)  # a body that cannot be read at all is bad for that
            return None if value is None else found.refuse()

        return refuse

    def read(self, writer: ConnectSchema, column: ColumnType, path: str, *, is_repeated: bool = False) -> Read:
        """What reads a node of the writer's type for a column. A type that does not fit is refused when it is called,
        null or not, as `ConnectDataTranslator.validateSchema` does."""
        refused = refusal_in_unit(writer.type, self._unit(writer), column, path)
        if refused is not None:

            def refuse(_: object) -> Value:
                # A new one each time: an exception that is raised twice collects tracebacks.
                raise type(refused)(refused.message, **vars(refused))

            return refuse
        read = self._of_node(writer, column, path, is_repeated=is_repeated)
        return _with_null(writer, read, path, self.budget)

    def _unit(self, writer: ConnectSchema) -> TimeUnit | None:
        return time_unit(writer.type, None, writer.name) if self._reads_units else None

    def _of_node(self, writer: ConnectSchema, column: ColumnType, path: str, *, is_repeated: bool) -> Read:
        match column:
            case Struct():
                of_struct = self._union if is_union(writer) else self._struct
                return of_struct(writer, column, path, is_repeated=is_repeated)
            case Array(items):
                inner = f"{path}->ARRAY"
                read = self.read(writer.values, items, inner, is_repeated=True)
                return _array(read, _all_taken(writer.values, items, inner), path)
            case Map(values, keys):
                return _map(
                    writer,
                    self.read(writer.keys, keys, f"{path}->MAP_KEY", is_repeated=True),
                    self.read(writer.values, values, f"{path}->MAP_VAL", is_repeated=True),
                    path,
                )
            case ScalarType() | Decimal():
                return leaf(writer, column, path, self._unit(writer))

    def _steps(
        self, writer: ConnectSchema, column: Struct, path: str, *, is_repeated: bool
    ) -> tuple[tuple[_Step, ...], int]:
        """What is done for each column, and what a row costs where nothing is there."""
        fields = {part.name: part.schema for part in writer.fields}
        types = {part.name: part.type for part in column.fields}
        where = f"the writer schema{f' at {path}' if path else ''}"
        steps: list[_Step] = []
        costs = dict.fromkeys(types, 1)
        for field, name in placements(tuple(types), tuple(fields), self._case_rule, where=where):
            inner = f"{path}->{name}"
            schema = fields[field]
            has_default = schema.default is not None
            if has_default:
                costs[name] = cost_of_default(schema.default)
            if refusal_in_unit(schema.type, self._unit(schema), types[name], inner) is not None:
                steps.append((field, name, None, False, self.read(schema, types[name], inner), True))
                continue
            null_is_null = schema.optional and not has_default
            read_by = self._of_node if null_is_null else self.read
            read = read_by(schema, types[name], inner, is_repeated=is_repeated)
            # A default is read for each row: it may be a list, which the row's owner may change.
            steps.append((field, name, _taken_as_it_is(schema, types[name]), null_is_null, read, has_default))
        filled = {name for _, name, *_ in steps}
        front = f"{path.removeprefix('->')}->" if path else ""
        self._absent += [f"{front}{name}" for name in types if name not in filled]
        return tuple(steps), self.budget.price_of_row(costs.values()) if is_repeated else 0

    def _struct(self, writer: ConnectSchema, column: Struct, path: str, *, is_repeated: bool) -> Read:
        steps, price = self._steps(writer, column, path, is_repeated=is_repeated)
        spend = self.budget.spend
        nulls: Row = {part.name: None for part in column.fields}

        def read(node: object) -> Value:
            if type(node) is not dict:
                raise wrong_node(node, "an object", column, path)
            if price:
                spend(price)
            row = nulls.copy()
            get = node.get
            for field, name, exact, null_is_null, value_of, is_read in steps:
                value = get(field, _MISSING)
                if type(value) is exact:
                    row[name] = value  # type: ignore[assignment]  # of a column's type; a cast costs as much as the rest
                elif value is None and null_is_null:
                    row[name] = None  # another field may have been there before
                elif value is not _MISSING:
                    row[name] = value_of(value)
                else:
                    row[name] = value_of(None) if is_read else None
            return row

        return read

    def _union(self, writer: ConnectSchema, column: Struct, path: str, *, is_repeated: bool) -> Read:
        steps, price = self._steps(writer, column, path, is_repeated=is_repeated)
        # All alternatives are compared with an object's names, and that takes time.
        compared = sum(
            1 + (len(part.schema.fields) if part.schema.type is ConnectType.STRUCT else 0) for part in writer.fields
        )
        price += self.budget.price(compared) if is_repeated else 0
        spend = self.budget.spend
        nulls: Row = {part.name: None for part in column.fields}

        def read(node: object) -> Value:
            if price:
                spend(price)
            chosen = _alternative(writer.fields, node)
            if chosen is None:
                raise wrong_node(node, "one of the alternatives of the writer's oneOf", column, path)
            row = nulls.copy()
            for field, name, _, _, value_of, is_read in steps:
                if field == chosen:
                    row[name] = value_of(node)
                elif is_read:
                    row[name] = value_of(None)
            return row

        return read


def _with_null(writer: ConnectSchema, read: Read, path: str, budget: Budget) -> Read:
    default = writer.default
    if default is not None:
        price = budget.price(cost_of_default(default))
        if price:

            def read_or_default(node: object) -> Value:
                if node is not None:
                    return read(node)
                budget.spend(price)
                return read(default)

            return read_or_default
        return lambda node: read(default if node is None else node)
    if writer.optional:
        return lambda node: None if node is None else read(node)

    def required(node: object) -> Value:
        if node is None:
            raise DecodeError(
                f"At {path or 'the root'}, the body is null, and the writer's schema does not allow it: "
                f"the type {writer.type.word} is required."
            )
        return read(node)

    return required


def _taken_as_it_is(writer: ConnectSchema, column: ColumnType) -> type | None:
    match column:
        case ScalarType.STRING if writer.type is ConnectType.STRING and not _is_logical(writer):
            return str
        case ScalarType.BOOLEAN if not _is_logical(writer):
            return bool
        case ScalarType.DOUBLE if writer.type is ConnectType.FLOAT64 and not _is_logical(writer):
            return float
    return None


def _is_logical(writer: ConnectSchema) -> bool:
    return writer.name is not None and writer.name.startswith("org.apache.kafka.connect.data.")


def _all_taken(writer: ConnectSchema, column: ColumnType, path: str) -> frozenset[type]:
    """The Python types of items that are all taken as they are; none where each must be looked at."""
    exact = _taken_as_it_is(writer, column) if refusal(writer.type, column, path) is None else None
    if exact is None:
        return frozenset()
    return frozenset({exact, _NONE_TYPE} if writer.optional and writer.default is None else {exact})


def _array(items: Read, as_they_are: frozenset[type], path: str) -> Read:
    def read(node: object) -> Value:
        if type(node) is not list:
            raise wrong_node(node, "an array", None, path)
        if as_they_are and as_they_are.issuperset(map(type, node)):
            return node.copy()  # two columns may be fed by one property
        return [items(item) for item in node]

    return read


def _map(writer: ConnectSchema, keys: Read, values: Read, path: str) -> Read:
    if writer.keys.type is ConnectType.STRING and not writer.keys.optional:

        def read_object(node: object) -> Value:
            if type(node) is not dict:
                raise wrong_node(node, "an object, as a map with string keys is written", None, path)
            return {keys(name): values(value) for name, value in node.items()}  # type: ignore[misc]  # strings

        return read_object

    def read_entries(node: object) -> Value:
        if type(node) is not list:
            raise wrong_node(node, "an array of entries, as this map is written", None, path)
        made: dict[str, Value] = {}
        for entry in node:
            if type(entry) is not dict or len(entry) != 2:
                raise wrong_node(entry, "an entry of two, key and value", None, path)
            # A key may be null where the schema allows it: the engine's map has it then, as an Avro map entry's.
            made[keys(entry.get("key"))] = values(entry.get("value"))  # type: ignore[index]  # a string, or null
        return made

    return read_entries


def _alternative(fields: tuple[ConnectField, ...], node: object) -> str | None:
    """The field of a union that a node belongs to (`isInstanceOfSchemaTypeForSimpleSchema`, `matchStructSchema`)."""
    best, most = None, -1
    for field in fields:
        if _is_instance(field.schema, node):
            return field.name
        if field.schema.type is ConnectType.STRUCT and isinstance(node, Mapping):
            common = sum(part.name in node for part in field.schema.fields)
            if common > most:
                best, most = field.name, common
    return best


def _is_instance(schema: ConnectSchema, node: object) -> bool:
    is_number = isinstance(node, int | float | decimal.Decimal) and not isinstance(node, bool)
    match schema.type:
        case ConnectType.INT8 | ConnectType.INT16 | ConnectType.INT32 | ConnectType.INT64:
            return type(node) is int
        case ConnectType.FLOAT32 | ConnectType.FLOAT64:
            return is_number
        case ConnectType.BOOLEAN:
            return type(node) is bool
        case ConnectType.STRING:
            return type(node) is str
        case ConnectType.BYTES:
            return is_number and type(node) is not int
        case ConnectType.ARRAY:
            return type(node) is list
        case ConnectType.MAP:
            return isinstance(node, list | dict)
    return False
