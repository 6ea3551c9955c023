"""JSON bodies → rows of columns, through Connect: `JsonSchemaData.toConnectData` under the writer's schema, then
`ConnectDataTranslator`, as ksqlDB reads JSON_SR since 0.28.2 (ksql#9130).

| writer | JSON |
|---|---|
| boolean, string | the same |
| int8 … int64 | a number, without its fraction and cut to the type's bits, as in Java |
| float32, float64 | a number, or one of the strings NaN, Infinity, -Infinity, as Jackson writes them |
| Date, Time | a whole number of 32 bits; Timestamp: any whole number |
| bytes | a string of base64 |
| Decimal | a number with all its digits, or a string of base64 |
| array, struct | an array, an object |
| map | an array of `{"key": …, "value": …}`; an object if its keys are strings that cannot be null |
| a oneOf | the value of the first alternative that accepts it; among objects, the alternative with the most names in common |

Null becomes the default of the writer's type, otherwise null if the type allows it; otherwise it is refused. An absent
property becomes the default, otherwise null. srfix refuses some values for which ksqlDB would invent a value: a string
for a number (0 in JsonSchemaData), a value that is not a string for a string (null), a scalar for an array (empty).

A body is first parsed quickly, with fractions as doubles. If that could matter, it is parsed again with every digit,
and the second result counts.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from srfix.serde.columns.types import ColumnType, ScalarType, has_decimals
from srfix.serde.connect.schema import ConnectSchema, ConnectType
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, PayloadBoundError
from srfix.serde.formats.json import Budget, cost_of_default, parse, parse_exact
from srfix.serde.formats.json_schema.connect import JsonType
from srfix.serde.formats.json_schema.kernel import native_connect_decoder
from srfix.serde.formats.json_schema.leaves import InexactError, Read, leaf, wrong_node
from srfix.serde.interface import Row, Value
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar, WriterField

_Step: TypeAlias = tuple[str, str, type | None, bool, Read, bool]
"""Field, column, the Python type whose values are used unchanged, whether null is used unchanged, the reader of other
values, and whether that reader also handles an absent property (otherwise it is null)."""

_MISSING: Final = object()
_NONE_TYPE: Final = type(None)
_EXACT: Final[Mapping[tuple[ConnectType, ColumnType], type]] = {
    (ConnectType.STRING, ScalarType.STRING): str,
    (ConnectType.BOOLEAN, ScalarType.BOOLEAN): bool,
    (ConnectType.FLOAT64, ScalarType.DOUBLE): float,
}


def connect_decoder(projection: Projection[JsonType]) -> Decode:
    single = None if projection.is_wrapped else projection.columns[0]
    plan = _Plan()
    read = plan.rows(projection)
    begin = plan.budget.begin if plan.budget.is_needed else None
    every_digit = has_decimals(projection.columns)

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
                pass  # if the exact reading also fails, it has the error message
        try:
            exact = parse_exact(body)
            if begin is not None:
                begin(len(body))
            value = read(exact)
        except RecursionError as error:
            raise DecodeError("The JSON nests too deep to be made into a row.") from error
        return value if single is None else {single.name: value}

    return native_connect_decoder(projection, decode)


class _Plan:
    def __init__(self) -> None:
        self.budget = Budget()

    def rows(self, projection: Projection[JsonType]) -> Read:
        """The root, as rows or as the bare value. A body that is not a row is refused when it is read."""
        read, unfed = self._read(projection.root), projection.unfed
        if unfed is None:
            return read

        def refuse(node: object) -> Value:
            value = read(node)  # if a body cannot be read at all, that error counts
            return None if value is None else unfed.refuse()

        return refuse

    def _read(self, value: Projected[JsonType], *, is_repeated: bool = False) -> Read:
        """A type that does not fit is refused, null or not (`ConnectDataTranslator.validateSchema`)."""
        if not isinstance(value.how, Refused):
            return _with_null(value, self._of_node(value, is_repeated=is_repeated), self.budget)
        return value.how.refuse

    def _of_node(self, value: Projected[JsonType], *, is_repeated: bool) -> Read:
        match value.how:
            case Fields():
                of_fields = self._union if value.writer.is_union else self._struct
                return of_fields(value, value.how, is_repeated=is_repeated)
            case Items(items):
                return _array(self._read(items, is_repeated=True), _all_taken(items), value.path)
            case Entries(keys, values):
                read_key, read_value = self._read(keys, is_repeated=True), self._read(values, is_repeated=True)
                return _map(keys.writer, read_key, read_value, value.path)
            case Scalar():
                return leaf(value.writer.schema, value.how, value.path)
            case Refused():
                raise AssertionError(value.path)

    def _steps(self, of: Fields[JsonType], *, is_repeated: bool) -> tuple[tuple[_Step, ...], int]:
        """The steps for each column, and the cost of a row without any values."""
        steps: list[_Step] = []
        costs = {column.name: 1 for column in of.columns}
        for target in of.targets:
            field, name, value = target.field.name, target.column.name, target.value
            if isinstance(value.how, Refused):
                steps.append((field, name, None, False, self._read(value), True))
                continue
            has_default = value.default is not None
            if has_default:
                costs[name] = cost_of_default(value.default)
            null_is_null = value.writer.is_nullable and not has_default
            read_by = self._of_node if null_is_null else self._read
            # A default is read again for each row, because it may be a list, which the row's owner may change.
            read = read_by(value, is_repeated=is_repeated)
            steps.append((field, name, _taken_as_it_is(value), null_is_null, read, has_default))
        return tuple(steps), self.budget.price_of_row(costs.values()) if is_repeated else 0

    def _struct(self, value: Projected[JsonType], of: Fields[JsonType], *, is_repeated: bool) -> Read:
        steps, price = self._steps(of, is_repeated=is_repeated)
        spend = self.budget.spend
        nulls: Row = {column.name: None for column in of.columns}

        def read(node: object) -> Value:
            if type(node) is not dict:
                raise wrong_node(node, "an object", value.column, value.path)
            if price:
                spend(price)
            row = nulls.copy()
            get = node.get
            for field, name, exact, null_is_null, value_of, is_read in steps:
                member = get(field, _MISSING)
                if type(member) is exact:
                    row[name] = member  # type: ignore[assignment]  # of a column's type; a cast costs as much as the rest
                elif member is None and null_is_null:
                    row[name] = None  # another field may have fed the column before
                elif member is not _MISSING:
                    row[name] = value_of(member)
                else:
                    row[name] = value_of(None) if is_read else None
            return row

        return read

    def _union(self, value: Projected[JsonType], of: Fields[JsonType], *, is_repeated: bool) -> Read:
        steps, price = self._steps(of, is_repeated=is_repeated)
        # Comparing all alternatives with an object's names takes time.
        alternatives = tuple(field.type.schema for field in of.fields)
        compared = sum(1 + (len(one.fields) if one.type is ConnectType.STRUCT else 0) for one in alternatives)
        price += self.budget.price(compared) if is_repeated else 0
        spend = self.budget.spend
        nulls: Row = {column.name: None for column in of.columns}

        def read(node: object) -> Value:
            if price:
                spend(price)
            chosen = _alternative(of.fields, node)
            if chosen is None:
                raise wrong_node(node, "one of the alternatives of the writer's oneOf", value.column, value.path)
            row = nulls.copy()
            for field, name, _, _, value_of, is_read in steps:
                if field == chosen:
                    row[name] = value_of(node)
                elif is_read:
                    row[name] = value_of(None)
            return row

        return read


def _with_null(value: Projected[JsonType], read: Read, budget: Budget) -> Read:
    default = value.default
    if default is not None:
        price = budget.price(cost_of_default(default))

        def read_or_default(node: object) -> Value:
            if node is None and price:
                budget.spend(price)
            return read(default if node is None else node)

        return read_or_default
    if value.writer.is_nullable:
        return lambda node: None if node is None else read(node)

    def required(node: object) -> Value:
        if node is None:
            raise DecodeError(
                f"At {path_words(value.path)}, the body is null, and the writer's schema does not allow it: "
                f"the type {value.writer.connect.word} is required."
            )
        return read(node)

    return required


def _taken_as_it_is(value: Projected[JsonType]) -> type | None:
    if not isinstance(value.how, Scalar) or value.writer.is_logical:
        return None
    return _EXACT.get((value.how.connect, value.column))


def _all_taken(items: Projected[JsonType]) -> frozenset[type]:
    """The Python types of items that are used unchanged; none if each item must be checked."""
    exact = _taken_as_it_is(items)
    if exact is None:
        return frozenset()
    is_null_too = items.writer.is_nullable and items.default is None
    return frozenset({exact, _NONE_TYPE} if is_null_too else {exact})


def _array(items: Read, as_they_are: frozenset[type], path: str) -> Read:
    def read(node: object) -> Value:
        if type(node) is not list:
            raise wrong_node(node, "an array", None, path)
        if as_they_are and as_they_are.issuperset(map(type, node)):
            return node.copy()  # one property may feed two columns
        return [items(item) for item in node]

    return read


def _map(writer: JsonType, keys: Read, values: Read, path: str) -> Read:
    """`writer` is the type of the keys."""
    if writer.connect is ConnectType.STRING and not writer.is_nullable:

        def read_object(node: object) -> Value:
            if type(node) is not dict:
                raise wrong_node(node, "an object, the form of a map with string keys", None, path)
            return {keys(name): values(value) for name, value in node.items()}  # type: ignore[misc]  # strings

        return read_object

    def read_entries(node: object) -> Value:
        if type(node) is not list:
            raise wrong_node(node, "an array of entries, the form of this map", None, path)
        made: dict[str, Value] = {}
        for entry in node:
            if type(entry) is not dict or len(entry) != 2:
                raise wrong_node(entry, "an entry of two members, key and value", None, path)
            # A key may be null if the schema allows it: the engine's map then has a null key, like that of an Avro map
            # entry.
            made[keys(entry.get("key"))] = values(entry.get("value"))  # type: ignore[index]  # a string, or null
        return made

    return read_entries


def _alternative(fields: Sequence[WriterField[JsonType]], node: object) -> str | None:
    """The field of a union to which a node belongs (`isInstanceOfSchemaTypeForSimpleSchema`, `matchStructSchema`)."""
    best, most = None, -1
    for field in fields:
        schema = field.type.schema
        if _is_instance(schema, node):
            return field.name
        if schema.type is ConnectType.STRUCT and isinstance(node, Mapping):
            common = sum(part.name in node for part in schema.fields)
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
