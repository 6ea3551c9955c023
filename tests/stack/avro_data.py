"""Confluent's real `AvroData` in a process of its own: schemas in, schemas out, as JSON lines. And Jackson's trees.

Run as a module it is the process: it reads one request a line and answers each with a line. `AvroData` here is what talks
to it. A Connect schema travels as nested objects, a reference from within a record to itself as `{"within": name}`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from parts.jars import application_jars
from srfix.fixtures.fetching import fetch
from srfix.serde.connect.schema import ConnectSchema, ConnectType
from tests.stack.connect_process import ConnectJava
from tests.stack.java_process import JavaProcess, Json, java_process, serve

_STREAMS: Final = "3.9.2"


class AvroData:
    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def from_connect(self, schemas: Iterable[ConnectSchema], *, meta_data: bool) -> list[str]:
        """`fromConnectSchema(…).toString()` of each; where Java refuses, `!` and its exception."""
        return [str(self._ask({"connect": to_json(schema), "meta_data": meta_data})) for schema in schemas]

    def to_connect(self, texts: Iterable[str]) -> list[Json]:
        """`toConnectSchema` of each Avro schema; where Java refuses, `!` and its exception."""
        return [self._ask({"avro": text}) for text in texts]

    def json_tree(self, body: bytes) -> Json:
        """Jackson's tree of a body, read as ksqlDB reads it; where Java refuses, `!` and its exception.

        A node is a list: its class, then

        | class | what |
        |---|---|
        | ObjectNode | its names and nodes, its text |
        | ArrayNode | its nodes |
        | TextNode | its text; it as an int, a long, a double, a decimal, and base64, None where Java refuses |
        | a number | its text; it as an int, a long, a double and a decimal |
        | BooleanNode | itself |
        """
        return self._ask({"json": body.hex()})

    def upper_camel(self, name: str) -> str:
        """`CaseFormat.UPPER_UNDERSCORE.converterTo(CaseFormat.UPPER_CAMEL).convert(name)`."""
        return str(self._ask({"name": name}))


@contextmanager
def avro_data() -> Iterator[AvroData]:
    jars = [jar for part in application_jars(_STREAMS) for jar in fetch(part)]
    with java_process("tests.stack.avro_data", jars) as process:
        yield AvroData(process)


def to_json(schema: ConnectSchema, above: tuple[str, ...] = ()) -> Json:
    if schema.type is ConnectType.STRUCT and schema.name in above:
        return {"within": schema.name, "optional": schema.optional}
    inner = (*above, schema.name) if schema.type is ConnectType.STRUCT and schema.name else above
    return {
        "type": schema.type.name,
        "name": schema.name,
        "version": schema.version,
        "optional": schema.optional,
        "parameters": dict(schema.parameters),
        "doc": schema.doc,
        "fields": [[part.name, to_json(part.schema, inner)] for part in schema.fields],
        "keys": None if schema.key_schema is None else to_json(schema.key_schema, inner),
        "values": None if schema.value_schema is None else to_json(schema.value_schema, inner),
    }


# The rest runs in the process.


def _refused(error: Any) -> Json:
    return f"!{error.getClass().getSimpleName()}: {error.getMessage()}"


class _Java(ConnectJava):
    def __init__(self, jpype: Any) -> None:
        super().__init__(jpype)
        self._parser = jpype.JClass("org.apache.avro.Schema$Parser")
        case = jpype.JClass("com.google.common.base.CaseFormat")
        self._camel = case.UPPER_UNDERSCORE.converterTo(case.UPPER_CAMEL)
        config = jpype.JClass("io.confluent.connect.avro.AvroDataConfig")
        self._configs = {
            meta_data: config(jpype.java.util.Map.of("connect.meta.data", str(meta_data).lower()))
            for meta_data in (True, False)
        }
        self._avro_data = jpype.JClass("io.confluent.connect.avro.AvroData")
        self._java, self._exception = jpype.java, jpype.JException
        feature = jpype.JClass("com.fasterxml.jackson.databind.DeserializationFeature")
        factory = jpype.JClass("com.fasterxml.jackson.databind.node.JsonNodeFactory")
        mapper = jpype.JClass("com.fasterxml.jackson.databind.ObjectMapper")()
        # As KsqlJsonDeserializer does.
        self._mapper = mapper.enable(feature.USE_BIG_DECIMAL_FOR_FLOATS).setNodeFactory(
            factory.withExactBigDecimals(True)
        )

    def answer(self, request: dict[str, Any]) -> Json:
        if "name" in request:
            return str(self._camel.convert(request["name"]))
        if "json" in request:
            return self._node(self._mapper.readTree(bytes.fromhex(request["json"])))
        # Anew each time: its cache would answer for another schema that is equal to Connect.
        if "avro" in request:
            parser = self._parser().setValidateDefaults(False)
            return self._described(self._avro_data(self._configs[True]).toConnectSchema(parser.parse(request["avro"])))
        made = self._avro_data(self._configs[request["meta_data"]]).fromConnectSchema(self._built(request["connect"]))
        return str(made.toString())

    def _node(self, node: Any) -> Json:
        kind = str(node.getClass().getSimpleName())
        match kind:
            case "ObjectNode":
                text = self._mapper.writeValueAsString(self._mapper.treeToValue(node, self._java.lang.Object))
                return [kind, [[str(name), self._node(node.get(name))] for name in list(node.fieldNames())], str(text)]
            case "ArrayNode":
                return [kind, [self._node(item) for item in node]]
            case "TextNode":
                text, lang = node.textValue(), self._java.lang
                parsers = (
                    lang.Integer.parseInt,
                    lang.Long.parseLong,
                    lang.Double.parseDouble,
                    self._java.math.BigDecimal,
                )
                numbers: list[Json] = [self._tried(parse, text) for parse in parsers]
                return [kind, str(text), numbers, self._tried(lambda _: _hex(node.binaryValue()), text)]
            case "BooleanNode":
                return [kind, bool(node.booleanValue())]
            case "NullNode" | "MissingNode":
                return [kind]
            case _:
                values = (node.intValue(), node.asLong(), node.doubleValue(), node.decimalValue())
                return [kind, str(node.asText()), [str(value) for value in values]]

    def _tried(self, parse: Callable[[Any], Any], text: Any) -> Json:
        try:
            return str(parse(text))
        except (self._exception, UnicodeDecodeError):  # the latter: an exception's own text is half a character
            return None


def _hex(signed: Iterable[int]) -> str:
    return bytes(byte & 255 for byte in signed).hex()


if __name__ == "__main__":
    serve(sys.argv[1], lambda jpype: _Java(jpype).answer, _refused, convertStrings=True)
