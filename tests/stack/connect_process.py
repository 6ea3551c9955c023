"""The process behind `connect_rows`: Connect's converters and Kafka's serializers, on a JVM.

It reads one request a line and answers each with a line: `{"answer": …}`, or `{"error": …}` where Java threw.
"""

from __future__ import annotations

import base64
import math
import sys
from typing import Any

from tests.stack.java_process import Json, serve


def float_text(value: float) -> str:
    """A fraction as it travels."""
    return "NaN" if value != value else f"{'-' * (value < 0)}Infinity" if math.isinf(value) else repr(value)


def _causes(error: Any) -> list[Any]:
    found = []
    while error is not None:
        found.append(error)
        error = error.getCause()
    return found


def _refused(error: Any) -> Json:
    return {"error": " <- ".join(f"{each.getClass().getSimpleName()}: {each.getMessage()}" for each in _causes(error))}


def _main(class_path: str, machine: str) -> None:
    options = (*((machine,) if machine else ()), "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")

    def answering(jpype: Any) -> Any:
        java = ConnectJava(jpype)
        return lambda request: {"answer": java.answer(request)}

    serve(class_path, answering, _refused, *options, convertStrings=True)


class ConnectJava:
    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._class: Any = jpype.JClass
        data = "org.apache.kafka.connect.data"
        self._builder, self._types = self._class(f"{data}.SchemaBuilder"), self._class(f"{data}.Schema$Type")
        self._struct = self._class(f"{data}.Struct")
        self._date, self._big = self._class("java.util.Date"), self._class("java.math.BigDecimal")
        self._list, self._map = self._class("java.util.ArrayList"), self._class("java.util.LinkedHashMap")
        self._buffer = self._class("java.nio.ByteBuffer")
        self._boxes = {
            name: self._class(f"java.lang.{box}")
            for name, box in {
                "INT8": "Byte",
                "INT16": "Short",
                "INT32": "Integer",
                "INT64": "Long",
                "FLOAT32": "Float",
                "FLOAT64": "Double",
                "BOOLEAN": "Boolean",
            }.items()
        }

    def answer(self, request: dict[str, Any]) -> Json:
        match request:
            case {"do": "write_avro", "schema": schema, "rows": rows, "meta": meta, "key": key}:
                built, registry = self._built(schema), self._registry()
                converter = self._avro(registry, meta_data=meta, is_key=key)
                return [self._written(converter, registry, built, row) for row in rows]
            case {"do": "read_avro", "avro": text, "rows": rows}:
                registry = self._registry()
                avro = self._class("io.confluent.kafka.schemaregistry.avro.AvroSchema")(text)
                number = int(registry.register("t-value", avro))
                converter = self._avro(registry, meta_data=True, is_key=False)
                prefix = b"\0" + number.to_bytes(4, "big")
                return [self._read(converter, prefix + base64.b64decode(row)) for row in rows]
            case {"do": "write_json", "schema": schema, "rows": rows}:
                built, converter = self._built(schema), self._json(schemas=False)
                return [self._base64(converter.fromConnectData("t", built, self._value(built, row))) for row in rows]
            case {"do": "read_json", "schema": schema, "rows": rows}:
                built, converter = self._built(schema), self._json(schemas=True)
                head = b'{"schema":' + str(converter.asJsonSchema(built).toString()).encode() + b',"payload":'
                read = (converter.toConnectData("t", self._bytes(head + base64.b64decode(row) + b"}")) for row in rows)
                return [self._wire(built, found.value()) for found in read]
            case {"do": "serialize", "kind": kind, "rows": rows}:
                return [self._serialized(kind, row) for row in rows]
            case {"do": "deserialize", "kind": kind, "rows": rows}:
                return [self._deserialized(kind, self._bytes(base64.b64decode(row))) for row in rows]
            case {"do": "convert", "registry": url, "topic": topic, "key": key, "rows": rows, "settings": more}:
                made = self._class("io.confluent.connect.avro.AvroConverter")()
                settings = self._map()
                for name, value in {"schema.registry.url": url, **more}.items():
                    settings.put(name, value)
                made.configure(settings, key)
                return [self._converted(made, topic, base64.b64decode(row)) for row in rows]
            case {"do": "reader_texts", "class": name, "schemas": schemas}:
                made = self._class(f"io.confluent.kafka.schemaregistry.{name}")
                return [self._reader_text(made, text) for text in schemas]
            case {"do": "has_class", "name": name}:
                try:
                    self._class(name)
                except TypeError:
                    return False
                return True
        raise AssertionError(request)

    def _registry(self) -> Any:
        return self._class("io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient")()

    def _avro(self, registry: Any, *, meta_data: bool, is_key: bool) -> Any:
        converter = self._class("io.confluent.connect.avro.AvroConverter")(registry)
        settings = self._map()
        settings.put("schema.registry.url", "mock://rows")
        settings.put("connect.meta.data", str(meta_data).lower())
        converter.configure(settings, is_key)
        return converter

    def _json(self, *, schemas: bool) -> Any:
        converter = self._class("org.apache.kafka.connect.json.JsonConverter")()
        settings = self._map()
        settings.put("schemas.enable", str(schemas).lower())
        settings.put("decimal.format", "NUMERIC")
        converter.configure(settings, False)
        return converter

    def _written(self, converter: Any, registry: Any, schema: Any, row: Json) -> Json:
        payload = converter.fromConnectData("t", schema, self._value(schema, row))
        if payload is None:
            return ["", None]
        framed = bytes(payload)
        text = str(registry.getSchemaById(int.from_bytes(framed[1:5], "big")).canonicalString())
        return [text, base64.b64encode(framed[5:]).decode()]

    def _read(self, converter: Any, payload: bytes) -> Json:
        found = converter.toConnectData("t", self._bytes(payload))
        return [self._described(found.schema()), self._wire(found.schema(), found.value())]

    def _converted(self, converter: Any, topic: str, payload: bytes) -> str | None:
        """What a sink's task would die of; None if the record is read."""
        try:
            converter.toConnectData(topic, self._bytes(payload))
        except self._jpype.JException as error:
            return " <- ".join(str(each.getMessage()) for each in _causes(error))
        return None

    def _reader_text(self, of_type: Any, text: str) -> str | None:
        """What a client looks a schema up by; None if it does not parse it."""
        try:
            parsed = of_type(text)
            parsed.validate()
            return str(parsed.canonicalString())
        except self._jpype.JException:
            return None

    def _bytes(self, value: bytes) -> Any:
        return self._jpype.JArray(self._jpype.JByte)(value)

    def _base64(self, value: Any) -> str | None:
        return None if value is None else base64.b64encode(bytes(value)).decode()

    def _built(self, schema: dict[str, Any]) -> Any:
        match schema["type"]:
            case "ARRAY":
                builder = self._builder.array(self._built(schema["values"]))
            case "MAP":
                builder = self._builder.map(self._built(schema["keys"]), self._built(schema["values"]))
            case "STRUCT":
                builder = self._builder.struct()
                for name, part in schema["fields"]:
                    builder.field(name, self._built(part))
            case other:
                builder = self._builder.type(self._types.valueOf(other))
        if schema["name"] is not None:
            builder.name(schema["name"])
        if schema["version"] is not None:
            builder.version(self._boxes["INT32"](schema["version"]))
        for name, value in schema["parameters"].items():
            builder.parameter(name, value)
        if schema["optional"]:
            builder.optional()
        if "default" in schema:
            builder.defaultValue(self._value(builder, schema["default"]))
        return builder.build()

    def _value(self, schema: Any, wire: Any) -> Any:
        type_, name = str(schema.type().name()), schema.name()
        if wire is None:
            return None
        match name:
            case "org.apache.kafka.connect.data.Decimal":
                return self._big(wire)
            case "org.apache.kafka.connect.data.Date":
                return self._date(self._jpype.JLong(wire * 86_400_000))
            case "org.apache.kafka.connect.data.Time" | "org.apache.kafka.connect.data.Timestamp":
                return self._date(self._jpype.JLong(wire))
        match type_:
            case "STRING":
                return self._jpype.JString(wire)
            case "BYTES":
                return self._buffer.wrap(self._bytes(base64.b64decode(wire)))
            case "FLOAT32" | "FLOAT64" | "BOOLEAN":
                return self._boxes[type_].valueOf(str(wire).lower() if type_ == "BOOLEAN" else wire)
            case "ARRAY":
                made = self._list()
                for item in wire:
                    made.add(self._value(schema.valueSchema(), item))
                return made
            case "MAP":
                made = self._map()
                for key, item in wire:
                    made.put(self._value(schema.keySchema(), key), self._value(schema.valueSchema(), item))
                return made
            case "STRUCT":
                made = self._struct(schema)
                for part, item in zip(schema.fields(), wire, strict=True):
                    if item is not None:
                        made.put(part, self._value(part.schema(), item))
                return made
            case _:
                return self._boxes[type_](wire)

    def _wire(self, schema: Any, value: Any) -> Json:
        if value is None:
            return None
        match schema.name():
            case "org.apache.kafka.connect.data.Decimal":
                return str(value.toString())
            case "org.apache.kafka.connect.data.Date":
                return int(value.getTime()) // 86_400_000
            case "org.apache.kafka.connect.data.Time" | "org.apache.kafka.connect.data.Timestamp":
                return int(value.getTime())
        match str(schema.type().name()):
            case "STRING":
                return str(value)
            case "BOOLEAN":
                return bool(value)
            case "BYTES":
                if not isinstance(value, self._buffer):
                    return self._base64(value)
                view = value.duplicate()
                found = self._jpype.JByte[int(view.remaining())]
                view.get(found)
                return self._base64(found)
            case "FLOAT32" | "FLOAT64":
                return float_text(float(value))
            case "ARRAY":
                return [self._wire(schema.valueSchema(), item) for item in value]
            case "MAP":
                return [
                    [self._wire(schema.keySchema(), entry.getKey()), self._wire(schema.valueSchema(), entry.getValue())]
                    for entry in value.entrySet()
                ]
            case "STRUCT":
                # `Struct.get`, as ConnectDataTranslator asks: null in a field with a default is the default.
                return [self._wire(part.schema(), value.get(part)) for part in schema.fields()]
            case _:
                return int(value)

    def _described(self, schema: Any, above: tuple[str, ...] = ()) -> Json:
        type_, name = str(schema.type().name()), schema.name()
        if type_ == "STRUCT" and name in above:
            return {"within": str(name), "optional": bool(schema.isOptional())}
        inner = (*above, str(name)) if type_ == "STRUCT" and name else above
        fields = schema.fields() if type_ == "STRUCT" else ()
        parameters = schema.parameters()
        return {
            "type": type_,
            "name": None if name is None else str(name),
            "version": None if schema.version() is None else int(schema.version()),
            "optional": bool(schema.isOptional()),
            "parameters": {}
            if parameters is None
            else {str(e.getKey()): str(e.getValue()) for e in parameters.entrySet()},
            "doc": None if schema.doc() is None else str(schema.doc()),
            "fields": [[str(part.name()), self._described(part.schema(), inner)] for part in fields],
            "keys": self._described(schema.keySchema(), inner) if type_ == "MAP" else None,
            "values": self._described(schema.valueSchema(), inner) if type_ in ("MAP", "ARRAY") else None,
        }

    def _serialized(self, kind: str, row: Any) -> str | None:
        common, streams = "org.apache.kafka.common", "org.apache.kafka.streams"
        match kind:
            case "TimeWindowed" | "SessionWindowed" | "WindowKeySchema" | "SessionKeySchema":
                key, (start, end, number) = base64.b64decode(row[0]), row[1:]
                kinds = {"SessionWindowed": "SessionWindow", "SessionKeySchema": "SessionWindow"}
                window = self._class(f"{streams}.kstream.internals.{kinds.get(kind, 'TimeWindow')}")(
                    self._jpype.JLong(start), self._jpype.JLong(end)
                )
                windowed = self._class(f"{streams}.kstream.Windowed")
                if kind == "WindowKeySchema":
                    schema = self._class(f"{streams}.state.internals.WindowKeySchema")
                    inner = self._class(f"{common}.utils.Bytes")(self._bytes(key))
                    return self._base64(schema.toStoreKeyBinary(windowed(inner, window), number).get())
                if kind == "SessionKeySchema":
                    schema = self._class(f"{streams}.state.internals.SessionKeySchema")
                    inner = self._class(f"{common}.utils.Bytes")(self._bytes(key))
                    return self._base64(schema.toBinary(windowed(inner, window)).get())
                inner = self._class(f"{common}.serialization.ByteArraySerializer")()
                serializer = self._class(f"{streams}.kstream.{kind}Serializer")(inner)
                return self._base64(serializer.serialize("t", windowed(self._bytes(key), window)))
            case "ByteBuffer":
                row = self._buffer.wrap(self._bytes(base64.b64decode(row)))
            case "Bytes":
                row = self._class(f"{common}.utils.Bytes")(self._bytes(base64.b64decode(row)))
            case "Double":
                box = self._boxes["FLOAT64"]
                # A number is the bits of one, for a NaN with a payload.
                row = box.valueOf(row) if isinstance(row, str) else box(box.longBitsToDouble(self._jpype.JLong(row)))
            case "Integer" | "Long":
                row = self._boxes["INT32" if kind == "Integer" else "INT64"](row)
        return self._base64(self._class(f"{common}.serialization.{kind}Serializer")().serialize("t", row))

    def _deserialized(self, kind: str, payload: Any) -> Json:
        common, streams = "org.apache.kafka.common", "org.apache.kafka.streams"
        match kind:
            case "TimeWindowed":
                inner = self._class(f"{common}.serialization.ByteArrayDeserializer")()
                size = self._jpype.JLong(1000)
                found = self._class(f"{streams}.kstream.TimeWindowedDeserializer")(inner, size).deserialize(
                    "t", payload
                )
                return self._windowed(found)
            case "SessionWindowed":
                inner = self._class(f"{common}.serialization.ByteArrayDeserializer")()
                return self._windowed(
                    self._class(f"{streams}.kstream.SessionWindowedDeserializer")(inner).deserialize("t", payload)
                )
            case "WindowKeySchema":
                schema = self._class(f"{streams}.state.internals.WindowKeySchema")
                return self._windowed(schema.fromStoreBytesKey(payload, self._jpype.JLong(1000)))
            case "SessionKeySchema":
                schema = self._class(f"{streams}.state.internals.SessionKeySchema")
                return self._windowed(schema.from_(self._class(f"{common}.utils.Bytes")(payload)))
        found = self._class(f"{common}.serialization.{kind}Deserializer")().deserialize("t", payload)
        match kind:
            case "ByteBuffer":
                return self._base64(found.array())
            case "Bytes":
                return self._base64(found.get())
            case "Double":
                return float_text(float(found))
            case "Integer" | "Long":
                return int(found)
        return str(found)

    def _windowed(self, found: Any) -> Json:
        key = found.key()
        held = key.get() if isinstance(key, self._class("org.apache.kafka.common.utils.Bytes")) else key
        return [self._base64(held), int(found.window().start()), int(found.window().end())]


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
