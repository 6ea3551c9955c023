"""Connect's real converters, and Kafka's real serializers, in a process of their own: rows in, bytes out, and back.

`Connect` is what talks to the process (`connect_process`). Values travel as JSON by their Connect schema (`to_wire`): numbers
as they are, but fractions as text, bytes as base64, dates, times and timestamps as the numbers that Connect makes of them,
decimals as text, a MAP as pairs, a STRUCT as the list of its fields' values.
"""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, cast

from parts.jars import CONNECT_JSON, JAVA_25, application_jars
from srfix.fixtures.fetching import fetch, fetch_folder
from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType
from srfix.serde.interface import Value
from tests.stack.avro_data import to_json
from tests.stack.connect_process import float_text
from tests.stack.java_process import JavaProcess, Json, java_process

_STREAMS: Final = "3.9.2"
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EXACT: Final = decimal.Context(prec=1000, traps=[decimal.Inexact, decimal.InvalidOperation])
_ORDINAL: Final = datetime.date(1970, 1, 1).toordinal()


class Refused(Exception):
    """Java threw; its exceptions, from the outermost to the cause."""


@dataclass(frozen=True, slots=True)
class Written:
    """What `AvroConverter` wrote."""

    schema: str
    """The Avro schema that it registered."""
    body: bytes | None
    """What is behind the schema's id; None for a tombstone."""


class Connect:
    def __init__(self, process: JavaProcess) -> None:
        self._process = process

    def write_avro(
        self, schema: ConnectSchema, rows: list[Json], *, meta_data: bool = True, is_key: bool = False
    ) -> list[Written]:
        """`AvroConverter.fromConnectData` of each."""
        answer = self._ask(
            {"do": "write_avro", "schema": to_wire_schema(schema), "rows": rows, "meta": meta_data, "key": is_key}
        )
        return [Written(str(text), _unpacked(body)) for text, body in cast("list[list[str | None]]", answer)]

    def read_avro(self, text: str, bodies: list[bytes]) -> list[tuple[Json, Json]]:
        """`AvroConverter.toConnectData` of each: its schema, and the value on the wire's form."""
        answer = self._ask({"do": "read_avro", "avro": text, "rows": [_packed(body) for body in bodies]})
        return [(schema, value) for schema, value in cast("list[list[Json]]", answer)]

    def write_json(self, schema: ConnectSchema, rows: list[Json]) -> list[bytes | None]:
        """`JsonConverter.fromConnectData` of each, without schemas and with numeric decimals."""
        answer = self._ask({"do": "write_json", "schema": to_wire_schema(schema), "rows": rows})
        return [_unpacked(body) for body in cast("list[str | None]", answer)]

    def read_json(self, schema: ConnectSchema, bodies: list[bytes]) -> list[Json]:
        """`JsonConverter.toConnectData` of each, under the schema that the converter itself makes."""
        rows: list[Json] = [_packed(body) for body in bodies]
        return cast("list[Json]", self._ask({"do": "read_json", "schema": to_wire_schema(schema), "rows": rows}))

    def serialize(self, kind: str, values: list[Json]) -> list[bytes]:
        """A serializer of Kafka's own, by the word before `Serializer`."""
        answer = self._ask({"do": "serialize", "kind": kind, "rows": values})
        return [base64.b64decode(body) for body in cast("list[str]", answer)]

    def deserialize(self, kind: str, payloads: list[bytes]) -> list[Json]:
        """A deserializer of Kafka's own, by the word before `Deserializer`."""
        rows: list[Json] = [_packed(body) for body in payloads]
        return cast("list[Json]", self._ask({"do": "deserialize", "kind": kind, "rows": rows}))

    def reader_texts(self, schema_class: str, schemas: list[str]) -> list[str | None]:
        """`ParsedSchema.canonicalString` of each, such as `avro.AvroSchema`; None of one that is not parsed."""
        answer = self._ask({"do": "reader_texts", "class": schema_class, "schemas": list[Json](schemas)})
        return cast("list[str | None]", answer)

    def convert(
        self, registry: str, topic: str, payloads: list[bytes], *, is_key: bool, **settings: str
    ) -> list[str | None]:
        """`AvroConverter.toConnectData` of each, as a sink's task calls it, with a registry that answers: what it throws, or
        None.

        :param settings: the converter's, with underscores for dots.
        """
        rows: list[Json] = [_packed(payload) for payload in payloads]
        more: dict[str, Json] = {name.replace("_", "."): value for name, value in settings.items()}
        request: dict[str, Json] = {"do": "convert", "registry": registry, "topic": topic, "key": is_key}
        return cast("list[str | None]", self._ask({**request, "rows": rows, "settings": more}))

    def has_class(self, name: str) -> bool:
        """Whether a class is on the class path."""
        return bool(self._ask({"do": "has_class", "name": name}))

    def _ask(self, request: Mapping[str, Json]) -> Json:
        answer = cast("dict[str, Json]", self._process.ask(request))
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["answer"]


@contextmanager
def connect(*, newest_java: bool = False) -> Iterator[Connect]:
    """Starts the process; ends it.

    :param newest_java: on Java 25, whose text of doubles is the shortest (JDK-4511638), instead of the machine's own.
    """
    jars = [jar for part in (*application_jars(_STREAMS), CONNECT_JSON) for jar in fetch(part)]
    machine = str(fetch_folder(JAVA_25) / "lib" / "server" / "libjvm.so") if newest_java else ""
    with java_process("tests.stack.connect_process", jars, machine) as process:
        yield Connect(process)


def _packed(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _unpacked(body: str | None) -> bytes | None:
    return None if body is None else base64.b64decode(body)


def to_wire_schema(schema: ConnectSchema) -> Json:
    """A schema as it travels, with its default."""
    made = cast("dict[str, Json]", to_json(schema))
    if schema.default is not None:
        made["default"] = to_wire(schema, cast("Value", schema.default))
    made["fields"] = [[part.name, to_wire_schema(part.schema)] for part in schema.fields]
    made["keys"] = None if schema.key_schema is None else to_wire_schema(schema.key_schema)
    made["values"] = None if schema.value_schema is None else to_wire_schema(schema.value_schema)
    return made


def to_wire(schema: ConnectSchema, value: Value) -> Json:
    """A row's value as it travels."""
    match schema.type, value:
        case _, None:
            return None
        case _, datetime.datetime():
            return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
        case _, datetime.date():
            return value.toordinal() - _ORDINAL
        case _, datetime.time():
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * 1000 + value.microsecond // 1000
        case _, decimal.Decimal():
            return str(value)
        case _, float():
            return float_text(value)
        case _, bytes():
            return _packed(value)
        case ConnectType.ARRAY, list():
            return [to_wire(schema.values, item) for item in value]
        case ConnectType.MAP, dict():
            return [[to_wire(schema.keys, key), to_wire(schema.values, item)] for key, item in value.items()]
        case ConnectType.STRUCT, dict():
            # By place: the row has the columns' names, the schema Avro's.
            return [to_wire(part.schema, item) for part, item in zip(schema.fields, value.values(), strict=True)]
        case _, bool() | int() | str():
            return value
    raise AssertionError((schema, value))


def described(schema: Json) -> ConnectSchema:
    """What came back as a description, as a schema."""
    assert isinstance(schema, dict)
    fields = cast("list[tuple[str, Json]]", schema["fields"])
    return ConnectSchema(
        type=ConnectType[str(schema["type"])],
        name=cast("str | None", schema["name"]),
        optional=bool(schema["optional"]),
        parameters=cast("dict[str, str]", schema["parameters"]),
        fields=tuple(ConnectField(name, described(part)) for name, part in fields),
        key_schema=None if schema["keys"] is None else described(schema["keys"]),
        value_schema=None if schema["values"] is None else described(schema["values"]),
    )


def to_value(schema: ConnectSchema, wire: Json, column: ColumnType) -> Value:
    """What `ConnectDataTranslator` makes of Connect's value for a column that is inferred from its schema: a translation of its
    own, that shares nothing with ours.

    :raises ArithmeticError: if a decimal does not fit its column (`DecimalUtil.ensureFit`).
    """
    match schema.type, wire, column:
        case _, None, _:
            return None
        case _, str(), Decimal(precision, scale):
            number = decimal.Decimal(wire)
            if number.copy_abs() >= 10 ** (precision - scale):
                raise decimal.Overflow
            return number.quantize(decimal.Decimal((0, (1,), -scale)), context=_EXACT)
        case _, int(), ScalarType.DATE:
            return datetime.date.fromordinal(wire + _ORDINAL)
        case _, int(), ScalarType.TIME:
            return (_EPOCH + datetime.timedelta(milliseconds=wire)).time()
        case _, int(), ScalarType.TIMESTAMP:
            return _EPOCH + datetime.timedelta(milliseconds=wire)
        case ConnectType.FLOAT32 | ConnectType.FLOAT64, str(), _:
            return float(wire)
        case ConnectType.BYTES, str(), _:
            return base64.b64decode(wire)
        case ConnectType.ARRAY, list(), Array(items):
            return [to_value(schema.values, item, items) for item in wire]
        case ConnectType.MAP, list(), Map(values):
            pairs = cast("list[tuple[Json, Json]]", wire)
            return {cast("str", _key_text(key)): to_value(schema.values, item, values) for key, item in pairs}
        case ConnectType.STRUCT, list(), Struct(fields):
            parts = {part.name: (part.schema, item) for part, item in zip(schema.fields, wire, strict=True)}
            return {field.name: to_value(*parts[field.name], field.type) for field in fields}
        case _, bool() | int() | str(), _:
            return wire
    raise AssertionError((schema, wire, column))


def _key_text(key: Json) -> str | None:
    if key is None:
        return None
    return str(key).lower() if isinstance(key, bool) else str(key)
