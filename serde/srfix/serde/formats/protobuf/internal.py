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
_WRAPPERS_FILE: Final = "google/protobuf/wrappers.proto"
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
    return _Writer(spec.nullable_representation).file(half.known_columns, (spec.full_name or "").strip())


class _Writer:
    def __init__(self, nullable: str | None) -> None:
        self._nullable = nullable
        self._imports: dict[str, None] = {}
        self._count = 0

    def file(self, columns: Columns, full_name: str) -> str:
        if full_name.startswith(_DEFAULT):
            full_name = ""
        if full_name and not _FULL_NAME.fullmatch(full_name):
            raise ColumnError(
                f"full_name is {full_name!r}, which is not a name of a Protobuf message. An example of one is shop.Order."
            )
        package, _, name = full_name.rpartition(".")
        message = self._message(name or self._next(), columns)
        head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
        imports = [f'import "{name}";' for name in self._imports]
        return "\n".join([*head, *imports, *([""] if imports else []), *message, ""])

    def _next(self) -> str:
        self._count += 1
        return f"{_DEFAULT}{self._count}"

    def _message(self, name: str, fields: Columns) -> list[str]:
        lines: list[str] = []
        nested: list[str] = []
        for number, field in enumerate(fields, start=1):
            if not _NAME.fullmatch(field.name):
                raise ColumnError(
                    f"The column {field.name!r} has a name that no Protobuf field can have. Rename the column: use only ASCII "
                    "letters, digits and _, and do not begin with a digit."
                )
            label, type_, options = self._field(field.type, nested, field.name)
            lines += _indented([f"{label}{type_} {field.name} = {number}{options[0]}", *options[1:]])
        return _block(name, lines, nested)

    def _field(self, type_: ColumnType, nested: list[str], name: str) -> tuple[str, str, list[str]]:
        """The label, the type, and the text after the number, in lines."""
        match type_:
            case Array(items):
                if isinstance(items, Array):
                    raise ColumnError(
                        f"Array cannot be nested: Protobuf has no {print_type(type_)}. Put a STRUCT between."
                    )
                if isinstance(items, Map):
                    return self._field(items, nested, name)
                word, options = self._type(items, nested, name)
                return "repeated ", word, options
            case Map(values):
                return "repeated ", self._entry(values, nested), [";"]
            case _:
                word, options = self._type(type_, nested, name)
                return "optional " if self._nullable == "optional" else "", word, options

    def _entry(self, values: ColumnType, nested: list[str]) -> str:
        name = f"{self._next()}Entry"
        inner: list[str] = []
        key, _ = self._type(ScalarType.STRING, inner, "key")
        # The fields of an entry are never `optional`, and do not declare precision and scale.
        label, value, _ = self._field(values, inner, "value")
        label = label if label == "repeated " else ""
        nested += _block(name, _indented([f"{key} key = 1;", f"{label}{value} value = 2;"]), inner)
        return name

    def _type(self, type_: ColumnType, nested: list[str], field: str) -> tuple[str, list[str]]:
        match type_:
            case Struct(fields):
                name = self._next()
                name += "Message" if name == field else ""
                nested += self._message(name, fields)
                return name, [";"]
            case Decimal(precision, scale):
                self._imports["confluent/type/decimal.proto"] = None
                return "confluent.type.Decimal", list(_digits(precision, scale))
            case ScalarType() if type_ in _MESSAGES:
                word, file = _MESSAGES[type_]
                self._imports[file] = None
                return word, [";"]
            case ScalarType() if type_ in _TYPES:
                word = _TYPES[type_]
                if self._nullable == "wrapper":
                    self._imports[_WRAPPERS_FILE] = None
                    word = f"google.protobuf.{word.capitalize()}Value"
                return word, [";"]
        raise ColumnError(f"Protobuf has no type for {print_type(type_)} here. Declare another type.")


def _block(name: str, fields: list[str], nested: list[str]) -> list[str]:
    if not fields and not nested:
        return [f"message {name} {{}}"]
    return [f"message {name} {{", *fields, *(["", *_indented(nested)] if nested else []), "}"]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _digits(precision: int, scale: int) -> Iterator[str]:
    yield " [(confluent.field_meta) = {"
    yield "  params: ["
    for name, number, end in (("precision", precision, ","), ("scale", scale, "")):
        yield from ("    {", f'      value: "{number}",', f'      key: "{name}"', f"    }}{end}")
    yield "  ]"
    yield "}];"
