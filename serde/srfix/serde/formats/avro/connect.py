"""Avro schemas as Connect's, and back: `io.confluent.connect.avro.AvroData` with the defaults that ksqlDB leaves
(`enhanced.avro.schema.support=false`, `flatten.singleton.union=true`, `allow.optional.map.keys=false`).

Releases of AvroData differ; this is the newest one, but for a decimal on a fixed type: the newest (and 7.0.16) finds two
names for it and refuses the schema, older ones take it as the decimal that it is, and so do we. 7.0 does not flatten a
union of one type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    complete,
    primitive,
)
from srfix.serde.connect.time_units import NANOS, column_of, time_unit
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.schema import AvroNode, describe, load, whole
from srfix.serde.formats.rows.value_check import MISSING

UNION_NAME: Final = "io.confluent.connect.avro.Union"
"""The name of the STRUCT that stands for a union of several types (`AvroData.AVRO_TYPE_UNION`)."""
_OWN: Final = "io.confluent.connect.avro"
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
# By the Avro type and the logicalType in lower case: AvroData compares it ignoring case.
_LOGICAL: Final = {
    ("bytes", "decimal"): DECIMAL_NAME,
    ("fixed", "decimal"): DECIMAL_NAME,
    ("int", "date"): DATE_NAME,
    ("int", "time-millis"): TIME_NAME,
    ("long", "timestamp-millis"): TIMESTAMP_NAME,
}
_NARROW: Final = {"int8": ConnectType.INT8, "int16": ConnectType.INT16}
_KEYS: Final = primitive(ConnectType.STRING)


@lru_cache(maxsize=256)
def connect_schema(text: str, references: tuple[str, ...] = ()) -> ConnectSchema:
    """The Connect schema of an Avro schema text. `references` are the texts that it refers to, none before those that
    it refers to itself."""
    return to_connect(load(text, references))


def to_connect(root: AvroNode, *, by_units: bool = False) -> ConnectSchema:
    """`AvroData.toConnectSchema`.

    A recursive schema gives a cyclic one. With `by_units` instants in microseconds, and what Debezium names, are
    Connect's Timestamp and Date too, which AvroData does not make them.
    """
    try:
        return _Conversion(by_units=by_units).schema(root)
    except RecursionError as error:
        raise SchemaError("The schema's types nest too deep for Connect.") from error


@dataclass(slots=True)
class _Draft:
    """What `SchemaBuilder` holds."""

    type: ConnectType
    name: str | None = None
    version: int | None = None
    optional: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    fields: tuple[ConnectField, ...] = ()
    key_schema: ConnectSchema | None = None
    value_schema: ConnectSchema | None = None

    def build(self, *, default: object, doc: str | None) -> ConnectSchema:
        return ConnectSchema(
            type=self.type,
            name=self.name,
            version=self.version,
            optional=self.optional,
            parameters=self.parameters,
            default=default,
            doc=doc,
            fields=self.fields,
            key_schema=self.key_schema,
            value_schema=self.value_schema,
        )


class _Conversion:
    def __init__(self, *, by_units: bool) -> None:
        self._by_units = by_units
        # Records that are being converted, with the references to them from within that wait for their fields.
        self._open: dict[AvroNode, list[ConnectSchema]] = {}
        # Those that are done: a record that is referred to twice at each level would take for ever otherwise.
        self._fields: dict[AvroNode, tuple[ConnectField, ...]] = {}

    def schema(self, node: AvroNode, *, optional: bool = False, default: object = MISSING) -> ConnectSchema:
        if node.kind == "union":
            if (only := _only_branch(node)) is not None:
                branch, nullable = only
                # The default of the field is lost here, in AvroData too.
                return self._referred(branch, optional=nullable)
            draft = self._union(node)
        elif node.kind == "record":
            return self._record(node, optional=optional, default=default)
        else:
            draft = self._without_fields(node)
        draft.optional = draft.optional or optional
        if self._by_units and (name := _name_by_unit(draft.type, node)) is not None:
            return replace(self._finish(draft, node, default), name=name)
        return self._finish(draft, node, default)

    def _referred(self, node: AvroNode, *, optional: bool = False) -> ConnectSchema:
        """The type as an array, a map or a union refers to it: only there can a record be within itself
        (`toConnectSchemaWithCycles`)."""
        waiting = self._open.get(node)
        if waiting is None:
            return self.schema(node, optional=optional)
        # AvroData's CyclicSchemaWrapper has the name once the record is complete; the record's own is known already.
        reference = ConnectSchema(type=ConnectType.STRUCT, name=_name_of(node), optional=optional)
        waiting.append(reference)
        return reference

    def _record(self, node: AvroNode, *, optional: bool, default: object) -> ConnectSchema:
        draft = _Draft(ConnectType.STRUCT, optional=optional)
        if node.doc is not None:
            draft.parameters[f"{_OWN}.record.doc"] = node.doc
        for part in node.fields:
            if part.doc is not None:
                draft.parameters[f"{_OWN}.field.doc.{part.name}"] = part.doc
        draft.fields = self._fields_of(node)
        return self._finish(draft, node, default)

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

    def _without_fields(self, node: AvroNode) -> _Draft:
        match node.kind:
            case "array" if node.items is not None:
                if node.items.is_map_entry:
                    return self._entries(node.items)
                return _Draft(ConnectType.ARRAY, value_schema=self._referred(node.items))
            case "map" if node.items is not None:
                return _Draft(ConnectType.MAP, key_schema=_KEYS, value_schema=self._referred(node.items))
            case "null":
                raise SchemaError("Standalone null schemas are not supported by Connect's AvroData.")
            case "enum":
                return _enum(node)
            case _:
                return _scalar(node)

    def _entries(self, entry: AvroNode) -> _Draft:
        fields = {part.name: part.node for part in entry.fields}
        if fields.keys() != {"key", "value"}:
            raise SchemaError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format: "
                f"{entry.name} has the fields {', '.join(fields) or 'none'}, not key and value."
            )
        # A map that contains itself never ends here, as in AvroData, which starts anew for both.
        return _Draft(ConnectType.MAP, key_schema=self.schema(fields["key"]), value_schema=self.schema(fields["value"]))

    def _union(self, node: AvroNode) -> _Draft:
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
        return _Draft(ConnectType.STRUCT, name=UNION_NAME, optional=nullable, fields=tuple(fields.values()))

    def _finish(self, draft: _Draft, node: AvroNode, default: object) -> ConnectSchema:
        doc = node.props.get("connect.doc")
        _add_version(draft, node)
        _add_parameters(draft, node)
        own = node.props.get("connect.default")
        made = _default(own if default is MISSING else default, node)
        # A null is a default here, though none that Connect keeps; one that does not fit the type is not.
        if own is None and (default is None or (default is not MISSING and made is not None)):
            draft.parameters[f"{_OWN}.field.default"] = "true"
        name = _name_of(node)
        if name is not None:
            if draft.name is not None and draft.name != name and node.kind != "fixed":
                raise SchemaError(
                    f"Mismatched names: {draft.name}, which the type is by its logicalType, differs from connect.name "
                    f"{name}."
                )
            draft.name = draft.name or name
        return draft.build(default=made, doc=doc if isinstance(doc, str) else None)


def union_field_name(branch: AvroNode) -> str:
    """The field of a union's STRUCT that stands for a branch (`AvroData.unionMemberFieldName`): a record's, enum's or
    fixed type's name without its namespace, the word of any other type."""
    return branch.name.rpartition(".")[2] if branch.kind in ("record", "enum", "fixed") else branch.kind


def map_entry_types(node: AvroNode) -> tuple[AvroNode, AvroNode] | None:
    """Key and value types of an array that stands for a map; None if it is an array of anything else."""
    if node.kind != "array" or node.items is None or not node.items.is_map_entry:
        return None
    fields = {part.name: part.node for part in node.items.fields}
    return (fields["key"], fields["value"]) if fields.keys() == {"key", "value"} else None


def _only_branch(union: AvroNode) -> tuple[AvroNode, bool] | None:
    """The branch that a union stands for and whether null is beside it; None if AvroData makes a STRUCT of it."""
    match union.branches:
        case (branch,):
            return branch, False
        case (AvroNode(kind="null"), branch) | (branch, AvroNode(kind="null")):
            return branch, True
        case _:
            return None


def _name_by_unit(type_: ConnectType, node: AvroNode) -> str | None:
    """The logical type whose column holds the numbers; None where there is none, or no doubt."""
    unit = time_unit(type_, node.logical, node.props.get("connect.name"))
    column = None if unit is None else column_of(unit)
    if column is ScalarType.TIMESTAMP and type_ is ConnectType.INT64 and unit is not None and unit.per_second != NANOS:
        return TIMESTAMP_NAME
    if column is ScalarType.TIMESTAMP_NTZ and unit is not None and unit.per_second != NANOS:
        return LOCAL_TIMESTAMP_NAME
    return DATE_NAME if column is ScalarType.DATE else None


def _scalar(node: AvroNode) -> _Draft:
    logical = node.props.get("logicalType")
    name = _LOGICAL.get((node.kind, logical.lower())) if isinstance(logical, str) else None
    draft = _Draft(_PRIMITIVES[node.kind], name=name, version=None if name is None else 1)
    if name == DECIMAL_NAME:
        scale, precision = node.props.get("scale"), node.props.get("precision")
        draft.parameters[DECIMAL_SCALE] = str(whole(scale) or 0)
        digits = whole(precision)
        if digits is not None:
            # The default precision leaves no parameter.
            if digits != NO_PRECISION:
                draft.parameters[DECIMAL_PRECISION] = str(digits)
        elif "precision" in node.props:
            raise SchemaError(f"The precision of a decimal must be a number, not {precision!r}.")
    if node.kind == "fixed":
        draft.parameters["connect.fixed.size"] = str(node.size)
    if node.kind == "int" and not isinstance(logical, str):
        draft.type = _int_type(node.props.get("connect.type"))
    return draft


def _int_type(connect_type: object) -> ConnectType:
    if not isinstance(connect_type, str):
        return ConnectType.INT32
    if connect_type not in _NARROW:
        raise SchemaError(f"The connect.type of an int must be int8 or int16, not {connect_type!r}.")
    return _NARROW[connect_type]


def _enum(node: AvroNode) -> _Draft:
    draft = _Draft(ConnectType.STRING)
    short = node.name.rpartition(".")[2]
    if node.doc is not None:
        draft.parameters[f"{_OWN}.enum.doc.{short}"] = node.doc
    if isinstance(default := node.props.get("default"), str):
        draft.parameters[f"{_OWN}.enum.default.{short}"] = default
    draft.parameters[_ENUM] = node.name
    draft.parameters |= {f"{_ENUM}.{symbol}": symbol for symbol in node.symbols}
    return draft


def _add_version(draft: _Draft, node: AvroNode) -> None:
    given = node.props.get("connect.version")
    if given is None:
        return
    version = whole(given)
    if version is None:
        raise SchemaError(f"Invalid Connect version found: {given!r}.")
    if version < 0:
        return
    if draft.version is not None and draft.version != version:
        raise SchemaError(
            f"Mismatched versions: {draft.version}, which the logical type {draft.name} has, differs from "
            f"connect.version {version}."
        )
    draft.version = version


def _add_parameters(draft: _Draft, node: AvroNode) -> None:
    parameters = node.props.get("connect.parameters")
    if parameters is not None:
        if not isinstance(parameters, Mapping):
            raise SchemaError(f"Expected an object as connect.parameters, but found {parameters!r}.")
        for name, value in parameters.items():
            if not isinstance(value, str):
                raise SchemaError(f"Expected texts as values of connect.parameters, but found {value!r} for {name!r}.")
            draft.parameters[name] = value
    for name, value in node.props.items():
        if name.startswith("avro"):
            draft.parameters[name] = value if isinstance(value, str) else str(value)


def _name_of(node: AvroNode) -> str | None:
    given = node.props.get("connect.name")
    if given is not None and not isinstance(given, str):
        raise SchemaError(f"Invalid schema name: {given!r}.")
    name = given or (node.name if node.kind in ("record", "enum", "fixed") else None)
    return None if name is None or name.startswith(_DEFAULT_NAME) else name


def _default(given: object, node: AvroNode) -> object:
    """The default as JSON has it, but bytes as bytes; None for one that the type does not have (AvroData ignores it)."""
    match node.kind:
        case "boolean":
            return given if isinstance(given, bool) else None
        case "int" | "long":
            return given if isinstance(given, int) and not isinstance(given, bool) else None
        case "float" | "double":
            return given if isinstance(given, int | float) and not isinstance(given, bool) else None
        case "string" | "enum":
            return given if isinstance(given, str) else None
        case "bytes" | "fixed":
            try:
                return given.encode("iso-8859-1") if isinstance(given, str) else None
            except UnicodeEncodeError:
                return None
        case _:
            return given
