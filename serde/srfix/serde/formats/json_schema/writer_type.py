"""JSON Schema's types, converted by JsonSchemaData's rules, for the projection's walk (`projection.tree`)."""

from __future__ import annotations

from dataclasses import dataclass

from srfix.serde.formats.connect_type import ConnectWriterType
from srfix.serde.formats.json_schema.connect import is_union
from srfix.serde.projection.tree import WriterField


@dataclass(frozen=True, slots=True)
class JsonType(ConnectWriterType):
    """A type of JSON Schema."""

    @property
    def is_union(self) -> bool:
        return is_union(self.schema)

    @property
    def word(self) -> str:
        return "oneOf" if self.is_union else ConnectWriterType.word.__get__(self)

    def fields(self, path: str) -> tuple[WriterField[JsonType], ...]:
        return tuple(
            WriterField(number=number, name=part.name, written=part.name, type=JsonType(part.schema))
            for number, part in enumerate(self.schema.fields)
        )

    def items(self) -> JsonType:
        return JsonType(self.schema.values)

    def entries(self, path: str) -> tuple[JsonType, JsonType]:
        return JsonType(self.schema.keys), JsonType(self.schema.values)
