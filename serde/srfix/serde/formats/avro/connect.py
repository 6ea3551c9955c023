"""`AvroData.toConnectSchema`, with the defaults that ksqlDB keeps (`enhanced.avro.schema.support=false`,
`flatten.singleton.union=true`, `allow.optional.map.keys=false`).

This follows the newest release, except for a decimal on a fixed type: the newest one (and 7.0.16) finds two names for
it and refuses it, but older ones accept it, and so does this module. Release 7.0 does not flatten a union of one type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    LOCAL_TIMESTAMP_NAME,
    MICRO_TIME_NAME,
    NARROW_BY_WORD,
    TIMESTAMP_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    complete,
    map_of,
    primitive,
    struct,
)
from srfix.serde.connect.time_units import MICROS, NANOS, column_of, time_unit
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.schema import CONNECT_LOGICAL, AvroNode, describe, load, whole
from srfix.serde.formats.rows.value_check import MISSING

_OWN: Final = "io.confluent.connect.avro"
UNION_NAME: Final = f"{_OWN}.Union"
"""The name of the STRUCT that represents a union of several types (`AvroData.AVRO_TYPE_UNION`)."""
_DEFAULT_NAME: Final = f"{_OWN}.ConnectDefault"
_ENUM: Final = f"{_OWN}.Enum"

_PRIMITIVES: Final = {
    "boolean": ConnectType.BOOLEAN,
    "int": ConnectType.INT32,
    "long": ConnectType.INT64,
    "float": ConnectType.FLOAT32,
    "double": ConnectType.FLOAT64,
    "bytes": ConnectType.BYTES,
    "fixed": ConnectType.BYTES,
    "string": ConnectType.STRING,
    "enum": ConnectType.STRING,
}
_KEYS: Final = primitive(ConnectType.STRING)


@lru_cache(maxsize=256)
def connect_schema(text: str, references: tuple[str, ...] = ()) -> ConnectSchema:
    """The Connect schema of a text. Each of the referenced texts stands after its own references."""
    return to_connect(load(text, references))


def to_connect(root: AvroNode, *, by_units: bool = False) -> ConnectSchema:
    """`AvroData.toConnectSchema`, cyclic if recursive; `by_units` adds microseconds and Debezium's types."""
    try:
        return _Conversion(by_units=by_units).schema(root)
    except RecursionError as error:
        raise SchemaError("The schema's types nest too deep for Connect.") from error


class _Conversion:
    def __init__(self, *, by_units: bool) -> None:
        self._by_units = by_units
        # Records in conversion, with the inner references to them that wait for their fields.
        self._open: dict[AvroNode, list[ConnectSchema]] = {}
        # Converted records. Without this, a record that is referenced twice at each level would take exponential time.
        self._fields: dict[AvroNode, tuple[ConnectField, ...]] = {}

    def schema(self, node: AvroNode, *, optional: bool = False, default: object = MISSING) -> ConnectSchema:
        if node.kind == "union":
            if (only := _only_branch(node)) is not None:
                branch, nullable = only
                # The field's default is lost here, as in AvroData.
                return self._referred(branch, optional=nullable)
            made = self._union(node)
        else:
            made = self._record(node) if node.kind == "record" else self._without_fields(node)
        schema = _finished(made, node, default, optional=made.optional or optional)
        name = _name_by_unit(made.type, node) if self._by_units else None
        return schema if name is None else replace(schema, name=name)

    def _referred(self, node: AvroNode, *, optional: bool = False) -> ConnectSchema:
        """Only within an array, a map or a union can a record contain itself (`toConnectSchemaWithCycles`)."""
        waiting = self._open.get(node)
        if waiting is None:
            return self.schema(node, optional=optional)
        # AvroData's CyclicSchemaWrapper gets the name when the record is complete; the record's own name is already
        # known.
        reference = ConnectSchema(type=ConnectType.STRUCT, name=_name_of(node), optional=optional)
        waiting.append(reference)
        return reference

    def _record(self, node: AvroNode) -> ConnectSchema:
        docs = [("record.doc", node.doc), *((f"field.doc.{part.name}", part.doc) for part in node.fields)]
        parameters = {f"{_OWN}.{name}": doc for name, doc in docs if doc is not None}
        return ConnectSchema(type=ConnectType.STRUCT, fields=self._fields_of(node), parameters=parameters)

    def _fields_of(self, node: AvroNode) -> tuple[ConnectField, ...]:
        if node not in self._fields:
            waiting: list[ConnectSchema] = []
            self._open[node] = waiting
            fields = tuple(
                ConnectField(part.name, self.schema(part.node, default=part.default)) for part in node.fields
            )
            del self._open[node]
            for reference in waiting:
                complete(reference, fields)
            self._fields[node] = fields
        return self._fields[node]

    def _without_fields(self, node: AvroNode) -> ConnectSchema:
        match node.kind:
            case "array" if node.items is not None:
                if node.items.is_map_entry:
                    return self._entries(node.items)
                return ConnectSchema(type=ConnectType.ARRAY, value_schema=self._referred(node.items))
            case "map" if node.items is not None:
                return map_of(_KEYS, self._referred(node.items))
            case "null":
                raise SchemaError("Standalone null schemas are not supported by Connect's AvroData.")
            case "enum":
                return _enum(node)
            case _:
                return _scalar(node)

    def _entries(self, entry: AvroNode) -> ConnectSchema:
        fields = {part.name: part.node for part in entry.fields}
        if fields.keys() != {"key", "value"}:
            raise SchemaError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format: "
                f"{entry.name} has the fields {', '.join(fields) or 'none'}, not key and value."
            )
        # A map that contains itself recurses without end here, as in AvroData, which converts key and value again each
        # time.
        return map_of(self.schema(fields["key"]), self.schema(fields["value"]))

    def _union(self, node: AvroNode) -> ConnectSchema:
        fields: dict[str, ConnectField] = {}
        for branch in node.branches:
            if branch.kind == "null":
                continue
            name = union_field_name(branch)
            if name in fields:
                raise SchemaError(
                    f"Multiple union schemas map to the Connect union field name {name!r}, in a {describe(node)}."
                )
            fields[name] = ConnectField(name, self._referred(branch, optional=True))
        nullable = any(branch.kind == "null" for branch in node.branches)
        return struct(fields.values(), name=UNION_NAME, optional=nullable)


def _finished(schema: ConnectSchema, node: AvroNode, default: object, *, optional: bool) -> ConnectSchema:
    doc = node.props.get("connect.doc")
    version = _version(schema, node)
    parameters = {**schema.parameters, **_parameters(node)}
    own_default = node.props.get("connect.default")
    made = _default(own_default if default is MISSING else default, node)
    # A null counts as a default here, although Connect does not keep it; a default that does not fit the type does not
    # count.
    if own_default is None and (default is None or (default is not MISSING and made is not None)):
        parameters[f"{_OWN}.field.default"] = "true"
    name = _name_of(node)
    if None not in (name, schema.name) and schema.name != name and node.kind != "fixed":
        raise SchemaError(f"Mismatched names: the logicalType gives {schema.name}, but connect.name gives {name}.")
    return replace(
        schema,
        name=schema.name or name,
        version=version,
        optional=optional,
        parameters=parameters,
        default=made,
        doc=doc if isinstance(doc, str) else None,
    )


def union_field_name(branch: AvroNode) -> str:
    """The field for a union's branch (`AvroData.unionMemberFieldName`); for a promoted type, the reader's."""
    node = branch.read_as or branch
    return node.name.rpartition(".")[2] if node.kind in ("record", "enum", "fixed") else node.kind


def map_entry_types(node: AvroNode) -> tuple[AvroNode, AvroNode] | None:
    """Key and value types of an array that represents a map; None for any other array."""
    if node.kind != "array" or node.items is None or not node.items.is_map_entry:
        return None
    fields = {part.name: part.node for part in node.items.fields}
    return (fields["key"], fields["value"]) if fields.keys() == {"key", "value"} else None


def _only_branch(union: AvroNode) -> tuple[AvroNode, bool] | None:
    """The only branch of a union, and whether null stands beside it; None if AvroData makes a STRUCT of the union."""
    match union.branches:
        case (branch,):
            return branch, False
        case (AvroNode(kind="null"), branch) | (branch, AvroNode(kind="null")):
            return branch, True
        case _:
            return None


def _name_by_unit(type_: ConnectType, node: AvroNode) -> str | None:
    """The logical type whose column holds the numbers; None if there is none, or if AvroData already knows it."""
    unit = time_unit(type_, node.logical, node.props.get("connect.name"))
    column = None if unit is None else column_of(unit)
    if column is ScalarType.TIMESTAMP and type_ is ConnectType.INT64 and unit is not None and unit.per_second != NANOS:
        return TIMESTAMP_NAME
    if column is ScalarType.TIMESTAMP_NTZ and unit is not None and unit.per_second != NANOS:
        return LOCAL_TIMESTAMP_NAME
    if column is ScalarType.TIME and unit is not None and unit.per_second == MICROS:
        return MICRO_TIME_NAME
    return DATE_NAME if column is ScalarType.DATE else None


def _scalar(node: AvroNode) -> ConnectSchema:
    logical = node.props.get("logicalType")
    # AvroData ignores the letter case of a logicalType.
    name = CONNECT_LOGICAL.get((node.kind, logical.lower())) if isinstance(logical, str) else None
    parameters: dict[str, str] = {}
    if name == DECIMAL_NAME:
        scale, precision = node.props.get("scale"), node.props.get("precision")
        parameters[DECIMAL_SCALE] = str(whole(scale) or 0)
        digits = whole(precision)
        if digits is not None:
            # For the default precision there is no parameter.
            if digits != NO_PRECISION:
                parameters[DECIMAL_PRECISION] = str(digits)
        elif "precision" in node.props:
            raise SchemaError(f"The precision of a decimal must be a number, not {precision!r}.")
    if node.kind == "fixed":
        parameters["connect.fixed.size"] = str(node.size)
    type_ = _PRIMITIVES[node.kind]
    if node.kind == "int" and not isinstance(logical, str):
        type_ = _int_type(node.props.get("connect.type"))
    return ConnectSchema(type=type_, name=name, version=None if name is None else 1, parameters=parameters)


def _int_type(connect_type: object) -> ConnectType:
    if not isinstance(connect_type, str):
        return ConnectType.INT32
    if connect_type not in NARROW_BY_WORD:
        raise SchemaError(f"The connect.type of an int must be int8 or int16, not {connect_type!r}.")
    return NARROW_BY_WORD[connect_type]


def _enum(node: AvroNode) -> ConnectSchema:
    parameters: dict[str, str] = {}
    short = node.name.rpartition(".")[2]
    if node.doc is not None:
        parameters[f"{_OWN}.enum.doc.{short}"] = node.doc
    if isinstance(default := node.props.get("default"), str):
        parameters[f"{_OWN}.enum.default.{short}"] = default
    parameters |= {_ENUM: node.name} | {f"{_ENUM}.{symbol}": symbol for symbol in node.symbols}
    return ConnectSchema(type=ConnectType.STRING, parameters=parameters)


def _version(schema: ConnectSchema, node: AvroNode) -> int | None:
    value = node.props.get("connect.version")
    version = whole(value)
    if version is None and value is not None:
        raise SchemaError(f"Invalid Connect version found: {value!r}.")
    if version is None or version < 0:
        return schema.version
    if schema.version not in (None, version):
        raise SchemaError(
            f"Mismatched versions: the logical type {schema.name} has the version {schema.version}, but connect.version "
            f"is {version}."
        )
    return version


def _parameters(node: AvroNode) -> dict[str, str]:
    parameters = node.props.get("connect.parameters")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise SchemaError(f"Expected an object as connect.parameters, but found {parameters!r}.")
    for name, value in (parameters or {}).items():
        if not isinstance(value, str):
            raise SchemaError(f"Expected texts as values of connect.parameters, but found {value!r} for {name!r}.")
    return {**(parameters or {}), **{name: str(value) for name, value in node.props.items() if name.startswith("avro")}}


def _name_of(node: AvroNode) -> str | None:
    connect_name = node.props.get("connect.name")
    if connect_name is not None and not isinstance(connect_name, str):
        raise SchemaError(f"Invalid schema name: {connect_name!r}.")
    name = connect_name or (node.name if node.kind in ("record", "enum", "fixed") else None)
    return None if name is None or name.startswith(_DEFAULT_NAME) else name


def _default(default: object, node: AvroNode) -> object:
    """The default as in JSON, except that bytes are bytes; None if it does not fit the type (AvroData ignores it)."""
    match node.kind:
        case "boolean":
            return default if isinstance(default, bool) else None
        case "int" | "long":
            return default if isinstance(default, int) and not isinstance(default, bool) else None
        case "float" | "double":
            return default if isinstance(default, int | float) and not isinstance(default, bool) else None
        case "string" | "enum":
            return default if isinstance(default, str) else None
        case "bytes" | "fixed":
            try:
                return default.encode("iso-8859-1") if isinstance(default, str) else None
            except UnicodeEncodeError:
                return None
        case _:
            return default
