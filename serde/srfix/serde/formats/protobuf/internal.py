"""The schema that ksqlDB registers for columns, as a text. `ProtobufData.fromConnectSchema` of Confluent Platform 7.x makes the
schema, and `ProtobufSchema.canonicalString` its text.

| column | field |
|---|---|
| BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES | bool, int32, int64, double, string, bytes |
| DECIMAL | `confluent.type.Decimal`, with precision and scale in `confluent.field_meta` |
| DATE, TIME, TIMESTAMP | `google.type.Date`, `google.type.TimeOfDay`, `google.protobuf.Timestamp` |
| STRUCT | a nested message, such as `ConnectDefault2`; the number counts all STRUCTs and MAPs |
| MAP | a repeated message with `key` and `value`, such as `ConnectDefault2Entry`, but without the option `map_entry` |
| ARRAY | repeated |

Fields are numbered in their order. An ARRAY in an ARRAY is refused, as in ksqlDB. An ARRAY of MAPs, a MAP of ARRAYs and a MAP
of MAPs get the text that ksqlDB registers for them. But this text describes another type, so no row can be read with it under
the same columns. Rows are written only under ksqlDB's own case rules, and an ARRAY of MAPs only without items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from srfix.serde.columns.half import require_string_keys
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.errors import ColumnError
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role

_DEFAULT: Final = "ConnectDefault"
_TYPES: Final = {
    ScalarType.BOOLEAN: "bool",
    ScalarType.INTEGER: "int32",
    ScalarType.BIGINT: "int64",
    ScalarType.DOUBLE: "double",
    ScalarType.STRING: "string",
    ScalarType.BYTES: "bytes",
}
_MESSAGES: Final = {
    ScalarType.DATE: ("google.type.Date", "google/type/date.proto"),
    ScalarType.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    ScalarType.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FULL_NAME: Final = re.compile(rf"{_NAME.pattern}(?:\.{_NAME.pattern})*")


def internal_schema(spec: WriteSpec, role: Role = Role.VALUE) -> str:
    """The schema of columns, character for character as ksqlDB registers it. A `full_name` that begins with
    `ConnectDefault` is ignored (`ProtobufSchemaTranslator.ignoreDefaultName`)."""
    half = spec.half(role)
    require_string_keys(half.known_columns, "Protobuf")
    full_name = (spec.full_name or "").strip()
    if full_name.startswith(_DEFAULT):
        full_name = ""
    if full_name and not _FULL_NAME.fullmatch(full_name):
        raise ColumnError(
            f"full_name is {full_name!r}, which is not a name of a Protobuf message. An example of one is shop.Order."
        )
    package, _, name = full_name.rpartition(".")
    writer = _Writer(spec.nullable_representation)
    message = writer.message(name or writer.next_name(), half.known_columns)
    head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
    imports = [f'import "{file}";' for file in writer.imports]
    return "\n".join([*head, *imports, *([""] if imports else []), *message, ""])


class _Writer:
    def __init__(self, nullable: str | None) -> None:
        self._nullable = nullable
        self._count = 0
        self.imports: dict[str, None] = {}

    def next_name(self) -> str:
        self._count += 1
        return f"{_DEFAULT}{self._count}"

    def message(self, name: str, columns: Columns) -> list[str]:
        fields: list[str] = []
        nested: list[str] = []
        for number, column in enumerate(columns, start=1):
            if not _NAME.fullmatch(column.name):
                raise ColumnError(
                    f"The column {column.name!r} has a name that no Protobuf field can have. Rename the column: use only ASCII "
                    "letters, digits and _, and do not begin with a digit."
                )
            label, type_, options = self._field(column.type, nested, column.name)
            fields += [f"{label}{type_} {column.name} = {number}{options[0]}", *options[1:]]
        return _block(name, fields, nested)

    def _field(self, column: ColumnType, nested: list[str], name: str) -> tuple[str, str, list[str]]:
        """The label, the type, and the text after the number, in lines."""
        match column:
            case Array(Array()):
                raise ColumnError(
                    f"Array cannot be nested: Protobuf has no {print_type(column)}. Put a STRUCT between."
                )
            case Array(Map() as entries):
                return self._field(entries, nested, name)
            case Array(items):
                return "repeated ", *self._type(items, nested, name)
            case Map(values):
                entry = f"{self.next_name()}Entry"
                inner: list[str] = []
                key, _ = self._type(ScalarType.STRING, inner, "key")
                # The fields of an entry are never `optional`, and do not declare precision and scale.
                label, value, _ = self._field(values, inner, "value")
                label = label if label == "repeated " else ""
                nested += _block(entry, [f"{key} key = 1;", f"{label}{value} value = 2;"], inner)
                return "repeated ", entry, [";"]
        return "optional " if self._nullable == "optional" else "", *self._type(column, nested, name)

    def _type(self, column: ColumnType, nested: list[str], field: str) -> tuple[str, list[str]]:
        match column:
            case Struct(columns):
                name = self.next_name()
                name += "Message" if name == field else ""
                nested += self.message(name, columns)
                return name, [";"]
            case Decimal(precision, scale):
                self.imports["confluent/type/decimal.proto"] = None
                return "confluent.type.Decimal", list(_digits(precision, scale))
            case ScalarType() if column in _MESSAGES:
                word, file = _MESSAGES[column]
                self.imports[file] = None
                return word, [";"]
            case ScalarType() if column in _TYPES:
                word = _TYPES[column]
                if self._nullable == "wrapper":
                    self.imports["google/protobuf/wrappers.proto"] = None
                    word = f"google.protobuf.{word.capitalize()}Value"
                return word, [";"]
        raise ColumnError(f"Protobuf has no type for {print_type(column)} here. Declare another type.")


def _block(name: str, fields: list[str], nested: list[str]) -> list[str]:
    if not fields and not nested:
        return [f"message {name} {{}}"]
    lines = [f"  {line}" for line in fields]
    if nested:
        lines += ["", *(f"  {line}" for line in nested)]
    return [f"message {name} {{", *lines, "}"]


def _digits(precision: int, scale: int) -> Iterator[str]:
    yield " [(confluent.field_meta) = {"
    yield "  params: ["
    for name, number, end in (("precision", precision, ","), ("scale", scale, "")):
        yield from ("    {", f'      value: "{number}",', f'      key: "{name}"', f"    }}{end}")
    yield "  ]"
    yield "}];"
