"""The Avro schema that ksqlDB registers for columns: `ConnectSchemas`, then `AvroSchemas`, then AvroData."""

from __future__ import annotations

from dataclasses import replace

from srfix.serde.columns.halves import require_string_keys
from srfix.serde.connect.columns import connect_of
from srfix.serde.connect.generations import has_connect_properties
from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType, map_of, optional
from srfix.serde.errors import ColumnError
from srfix.serde.formats.avro.connect_text import avro_text
from srfix.serde.formats.avro.names import KSQLDB_FULL_NAME, avro_names, check_name, split_full_name
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role


def internal_schema(spec: WriteSpec, role: Role = Role.VALUE) -> str:
    """The Avro schema of columns as ksqlDB registers it: compact, always the same text for the same columns.

    Every field is nullable with the default null; nested records are named by their path, joined with "_"; a MAP is an
    array of `MapEntry` records. Unless told otherwise it is the one that the runtime serializer wrote up to 0.28:
    without Connect's properties, but for `connect.internal.type`.

    Spaces around the `full_name` are cut off (`KsqlAvroSerdeFactory`); None is `KSQLDB_FULL_NAME`; for keys see
    `key_full_name`. Un-wrapped, a single column stands without a record around it: its type is the schema then, not
    nullable.

    :param role: which half of a record it is for: a key holds no MAP.
    """
    half = spec.half(role)
    require_string_keys(half.known_columns, "Avro")
    name = KSQLDB_FULL_NAME if spec.full_name is None else spec.full_name.strip()
    schema = avro_compatible(connect_of(half.known_columns, wrapped=half.wrapped), name)
    return avro_text(schema, meta_data=has_connect_properties(spec.generation, spec.written_by))


def avro_compatible(schema: ConnectSchema, full_name: str) -> ConnectSchema:
    """`AvroSchemas.getAvroCompatibleConnectSchema`: STRUCTs and MAPs get names, fields names that Avro allows, and the
    root is not optional.
    """
    return _Names().root(schema, full_name)


class _Names:
    def __init__(self) -> None:
        self._named: dict[str, tuple[str, ConnectSchema]] = {}

    def root(self, schema: ConnectSchema, full_name: str) -> ConnectSchema:
        if schema.type.is_primitive:
            # The engine builds the root anew from type, name and parameters: the version of a logical type is lost.
            return replace(schema, optional=False, version=None) if schema.optional else schema
        return optional(self._type(schema, full_name, "the root"), optional=False)

    def _type(self, schema: ConnectSchema, path: str, column: str) -> ConnectSchema:
        match schema.type:
            case ConnectType.STRUCT:
                return self._struct(schema, path, column)
            case ConnectType.ARRAY:
                return replace(schema, value_schema=self._type(schema.values, path, column))
            case ConnectType.MAP:
                keys = self._type(schema.keys, f"{path}_MapKey", column)
                values = self._type(schema.values, f"{path}_MapValue", column)
                named = replace(map_of(keys, values, optional=schema.optional), name=path)
                return self._claim(named, column)
            case _:
                return schema

    def _struct(self, schema: ConnectSchema, path: str, column: str) -> ConnectSchema:
        fields: list[ConnectField] = []
        for (name, declared), part in zip(
            avro_names(part.name for part in schema.fields).items(), schema.fields, strict=True
        ):
            # The path of a nested record has the name as declared, not the one with "." replaced.
            type_ = self._type(part.schema, f"{path}_{declared}", declared)
            fields.append(ConnectField(check_name(name, column=declared), type_))
        return self._claim(replace(schema, name=path, fields=tuple(fields)), column)

    def _claim(self, schema: ConnectSchema, column: str) -> ConnectSchema:
        """Two nested types may share a name if they are equal: the second refers to the first then."""
        full_name = schema.name or ""
        namespace, name = split_full_name(full_name)
        for part in (*filter(None, namespace.split(".")), name):
            check_name(part, column=column)
        required = optional(schema, optional=False)
        other, claimed = self._named.setdefault(full_name, (column, required))
        if claimed != required:
            raise ColumnError(
                f"The columns {other!r} and {column!r} both need a nested record named {full_name!r}. "
                "Rename one of them."
            )
        return schema
