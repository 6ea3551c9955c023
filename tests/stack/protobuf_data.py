"""Confluent's real `ProtobufData` and `ProtobufConverter` in a process of its own, by JSON lines.

Run as a module it is the process; `ProtobufData` here is what talks to it. Rows travel as those of `connect_rows`.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

from parts.jars import application_jars
from srfix.fixtures.fetching import fetch
from srfix.serde.connect.schema import ConnectSchema
from tests.stack.avro_data import to_json
from tests.stack.connect_process import ConnectJava
from tests.stack.java_process import JavaProcess, Json, java_process, serve

_STREAMS: Final = "3.9.2"
Settings = Mapping[str, str]


class ProtobufData:
    """The process, from outside. What Java refuses is a text that begins with `!`, and the exceptions."""

    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def write(self, schema: ConnectSchema, rows: list[Json], settings: Settings) -> tuple[str, list[str | bytes]]:
        """`ProtobufConverter.fromConnectData` of each: the text that it registers, and what is behind the schema's id."""
        answer = self._ask({"do": "write", "schema": to_json(schema), "rows": rows, "settings": dict(settings)})
        text, bodies = cast("tuple[str, list[str]]", (answer, []) if isinstance(answer, str) else answer)
        return text, [body if body.startswith("!") else base64.b64decode(body) for body in bodies]

    def read(self, text: str, bodies: list[bytes]) -> tuple[Json, list[Json]]:
        """`ProtobufConverter.toConnectData` of what is behind the schema's id: its schema, None if none is read, and the
        values."""
        rows: list[Json] = [base64.b64encode(body).decode() for body in bodies]
        return cast("tuple[Json, list[Json]]", self._ask({"do": "read", "text": text, "rows": rows}))

    def infer(self, text: str) -> Json:
        """`ProtobufData.toConnectSchema` of the first message."""
        return self._ask({"do": "infer", "text": text})

    def canonical(self, text: str) -> str:
        """`ProtobufSchema.canonicalString`: the text that the registry keeps of one that it is sent."""
        return str(self._ask({"do": "canonical", "text": text}))

    def indexes(self, text: str, names: list[str]) -> list[bytes]:
        """`ProtobufSchema.toMessageIndexes` of messages, as a payload has them."""
        answer = self._ask({"do": "indexes", "text": text, "names": list[Json](names)})
        return [bytes.fromhex(each) for each in cast("list[str]", answer)]


@contextmanager
def protobuf_data() -> Iterator[ProtobufData]:
    jars = [jar for part in application_jars(_STREAMS, protobuf=True) for jar in fetch(part)]
    with java_process("tests.stack.protobuf_data", jars) as process:
        yield ProtobufData(process)


# The rest runs in the process.


def _refused(error: Any) -> Json:
    words = ""
    while error is not None:
        words += f"{' <- ' if words else '!'}{error.getClass().getSimpleName()}: {error.getMessage()}"
        error = error.getCause()
    return words


class _Java(ConnectJava):
    def __init__(self, jpype: Any) -> None:
        super().__init__(jpype)
        self._schema_class = jpype.JClass("io.confluent.kafka.schemaregistry.protobuf.ProtobufSchema")

    def answer(self, request: dict[str, Any]) -> Json:
        match request:
            case {"do": "write", "schema": schema, "rows": rows, "settings": settings}:
                return self._write(self._built(schema), rows, settings)
            case {"do": "read", "text": text, "rows": rows}:
                converter, registry = self._converter({})
                number = int(registry.register("t-value", self._schema_class(text)))
                prefix = b"\0" + number.to_bytes(4, "big")
                read = partial(converter.toConnectData, "t")
                found = [self._tried(read, self._bytes(prefix + base64.b64decode(row))) for row in rows]
                schema = next((each.schema() for each in found if not isinstance(each, str)), None)
                values = [each if isinstance(each, str) else self._wire(schema, each.value()) for each in found]
                return [None if schema is None else self._described(schema), values]
            case {"do": "infer", "text": text}:
                config = self._class("io.confluent.connect.protobuf.ProtobufDataConfig")(
                    self._jpype.java.util.Map.of("enhanced.protobuf.schema.support", "true")
                )
                data = self._class("io.confluent.connect.protobuf.ProtobufData")(config)
                return self._described(data.toConnectSchema(self._schema_class(text)))
            case {"do": "indexes", "text": text, "names": names}:
                schema = self._schema_class(text)
                return [bytes(b & 255 for b in schema.toMessageIndexes(name).toByteArray()).hex() for name in names]
            case {"do": "canonical", "text": text}:
                return str(self._schema_class(text).canonicalString())
        raise AssertionError(request)

    def _converter(self, settings: dict[str, str]) -> tuple[Any, Any]:
        provider = self._class("io.confluent.kafka.schemaregistry.protobuf.ProtobufSchemaProvider")()
        client = self._class("io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient")
        registry = client(self._jpype.java.util.List.of(provider))
        converter = self._class("io.confluent.connect.protobuf.ProtobufConverter")(registry)
        converter.configure(self._jpype.java.util.HashMap({"schema.registry.url": "mock://rows"} | settings), False)
        return converter, registry

    def _write(self, schema: Any, rows: list[Any], settings: dict[str, str]) -> Json:
        converter, registry = self._converter(settings)
        # Registers the text though every row be refused.
        framed = bytes(converter.fromConnectData("t", schema, self._value(schema, [None] * len(schema.fields()))))
        text = str(registry.getSchemaById(int.from_bytes(framed[1:5], "big")).canonicalString())

        def body(row: Any) -> Json:
            return self._base64(bytes(converter.fromConnectData("t", schema, self._value(schema, row)))[5:])

        return [text, [self._tried(body, row) for row in rows]]

    def _tried(self, ask: Callable[[Any], Any], about: Any) -> Any:
        try:
            return ask(about)
        except self._jpype.JException as error:
            return _refused(error)


if __name__ == "__main__":
    serve(
        sys.argv[1],
        lambda jpype: _Java(jpype).answer,
        _refused,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        convertStrings=True,
    )
