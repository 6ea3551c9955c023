"""Everit's JSON Schema library in a process of its own: schemas in, what it makes of them out, as JSON lines.

Run as a module it is the process. `Everit` here is what talks to it. The builders are called as `JsonSchemaData` calls them;
that class itself is not to be had from a package registry.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from parts.jars import EVERIT
from srfix.fixtures.fetching import fetch
from srfix.serde.connect.schema import ConnectSchema
from tests.stack.avro_data import to_json
from tests.stack.java_process import JavaProcess, java_process, serve

MAX_DEPTH: Final = 12
"""How deep a description goes: schemas may be recursive."""


class Everit:
    def __init__(self, process: JavaProcess) -> None:
        self._ask = process.ask

    def built(self, schema: ConnectSchema) -> str:
        """The text of the schema that the builders make."""
        return str(self._ask({"connect": to_json(schema)}))

    def loaded(self, text: str) -> object:
        """What the loader makes of a text, as classes; None if it refuses it."""
        return self._ask({"text": text})


@contextmanager
def everit() -> Iterator[Everit]:
    with java_process("tests.stack.everit", fetch(EVERIT)) as process:
        yield Everit(process)


# The rest runs in the process.


class _Java:
    def __init__(self, jpype: Any) -> None:
        package = "org.everit.json.schema"
        self._jclass: Any = jpype.JClass
        self._package = package
        self._loader = jpype.JClass(f"{package}.loader.SchemaLoader")
        self._object = jpype.JClass("org.json.JSONObject")
        self._map = jpype.JClass("java.util.HashMap")
        self._integer = jpype.JClass("java.lang.Integer")
        self._combined = self._class("CombinedSchema")

    def _class(self, name: str) -> Any:
        return self._jclass(f"{self._package}.{name}")

    def answer(self, request: dict[str, Any]) -> object:
        return self.described(request["text"]) if "text" in request else self.built(request["connect"])

    def built(self, schema: dict[str, Any]) -> str:
        return str(self._built(schema, None).toString())

    def _built(self, schema: dict[str, Any], index: int | None) -> Any:
        if not schema["optional"]:
            return self._plain(schema, index)
        either = self._combined.builder().criterion(self._combined.ONE_CRITERION)
        either.subschema(self._class("NullSchema").INSTANCE)
        either.subschema(self._plain(schema, None))
        return either.unprocessedProperties(self._indexed(self._map(), index)).build()

    def _indexed(self, properties: Any, index: int | None) -> Any:
        if index is not None:
            properties.put("connect.index", self._integer(index))
        return properties

    def _plain(self, schema: dict[str, Any], index: int | None) -> Any:
        properties = self._map()
        match schema["type"]:
            case "BOOLEAN":
                builder = self._class("BooleanSchema").builder()
            case "STRING":
                builder = self._class("StringSchema").builder()
            case "BYTES":
                builder = self._class("NumberSchema" if schema["name"] else "StringSchema").builder()
                properties.put("connect.type", "bytes")
            case "ARRAY":
                builder = self._class("ArraySchema").builder().allItemSchema(self._built(schema["values"], None))
            case "MAP":
                entry = self._class("ObjectSchema").builder()
                entry.addPropertySchema("key", self._built(schema["keys"], 0))
                entry.addPropertySchema("value", self._built(schema["values"], 1))
                builder = self._class("ArraySchema").builder().allItemSchema(entry.build())
                properties.put("connect.type", "map")
            case "STRUCT":
                builder = self._class("ObjectSchema").builder()
                for place, (name, part) in enumerate(schema["fields"]):
                    builder.addPropertySchema(name, self._built(part, place))
            case number:
                builder = self._class("NumberSchema").builder().requiresInteger(number.startswith("INT"))
                properties.put("connect.type", number.lower())
        if schema["name"] is not None:
            builder.title(schema["name"])
        if schema["version"] is not None:
            properties.put("connect.version", self._integer(schema["version"]))
        if schema["parameters"]:
            parameters = self._map()
            for name, value in schema["parameters"].items():
                parameters.put(name, value)
            properties.put("connect.parameters", parameters)
        return builder.unprocessedProperties(self._indexed(properties, index)).build()

    def described(self, text: str) -> object:
        builder = self._loader.builder().useDefaults(True).draftV7Support().schemaJson(self._object(text))
        return self._described(builder.build().load().build(), 0)

    def _described(self, schema: Any, depth: int) -> object:
        kind = str(schema.getClass().getSimpleName())
        made: dict[str, object] = {
            "class": kind,
            "title": schema.getTitle(),
            "default": bool(schema.hasDefaultValue()),
            "other": sorted(str(name) for name in schema.getUnprocessedProperties().keySet()),
        }
        if depth == MAX_DEPTH:
            return made
        match kind:
            case "CombinedSchema":
                made["class"] = str(schema.getCriterion().toString())
                made["parts"] = [self._described(part, depth + 1) for part in schema.getSubschemas()]
            case "NumberSchema":
                made["is_integer"] = bool(schema.requiresInteger())
            case "ObjectSchema":
                properties = schema.getPropertySchemas().entrySet()
                made["properties"] = [[str(e.getKey()), self._described(e.getValue(), depth + 1)] for e in properties]
                made["required"] = sorted({str(name) for name in schema.getRequiredProperties()})
                made["additional"] = self._perhaps(schema.getSchemaOfAdditionalProperties(), depth)
            case "ArraySchema":
                made["items"] = self._perhaps(schema.getAllItemSchema(), depth)
            case "EnumSchema":
                made["count"] = int(schema.getPossibleValuesAsList().size())
            case "ReferenceSchema":
                made["target"] = self._perhaps(schema.getReferredSchema(), depth)
        return made

    def _perhaps(self, schema: Any, depth: int) -> object:
        return None if schema is None else self._described(schema, depth + 1)


if __name__ == "__main__":
    serve(sys.argv[1], lambda jpype: _Java(jpype).answer, lambda _error: None, convertStrings=True)
