"""A registry in memory that implements what the serdes ask: for tests that are not about HTTP."""

from __future__ import annotations

import json
from typing import Literal

from srfix.serde import RegistryError, Schema, Subject
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.schemas.models import RegisteredSchema, SchemaVersion
from srfix.serde.wire import SchemaId, frame_id
from tests.serde.avro_schemas import body

URL = "http://registry.test"


class MemoryRegistry:
    """Ids by content, reused across subjects. Counts what it is asked; `failures` maps a call's name to an error."""

    def __init__(self) -> None:
        self.schemas: dict[int, Schema] = {}
        self.subjects: dict[str, list[int]] = {}
        self.calls: list[tuple[str, ...]] = []
        self.failures: dict[str, RegistryError] = {}

    def seed(self, subject: str, text: str, *, schema_type: str = "AVRO") -> int:
        """Puts a schema under a subject, uncounted."""
        found = next((known for known, schema in self.schemas.items() if _same(schema.text, text)), None)
        schema_id = found or len(self.schemas) + 1
        self.schemas[schema_id] = Schema(text=text, schema_type=schema_type)
        self.subjects.setdefault(subject, []).append(schema_id)
        return schema_id

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        self._called("schema_by_id", str(schema_id))
        if schema_id not in self.schemas:
            raise SchemaNotFoundError(404, 40403, f"Schema {schema_id} not found", f"{URL}/schemas/ids/{schema_id}")
        return RegisteredSchema(schema_id=SchemaId(schema_id), schema=self.schemas[schema_id])

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        self._called("version", subject, str(version))
        ids = self.subjects.get(subject, [])
        number = len(ids) if version == "latest" else version
        if not 1 <= number <= len(ids):
            raise SubjectNotFoundError(404, 40401, f"Subject '{subject}' not found.", f"{URL}/subjects/{subject}")
        schema_id = SchemaId(ids[number - 1])
        return SchemaVersion(
            subject=Subject(subject), version=number, schema_id=schema_id, schema=self.schemas[schema_id]
        )

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
        """The version that holds this content."""
        assert deleted, "the failing reader asks with deleted=true"
        self._called("lookup", subject)
        if subject not in self.subjects:
            raise SubjectNotFoundError(404, 40401, f"Subject '{subject}' not found.", f"{URL}/subjects/{subject}")
        for version, schema_id in enumerate(self.subjects[subject], start=1):
            if _same(as_readers_ask(self.schemas[schema_id]).text, schema.text):
                return SchemaVersion(
                    subject=Subject(subject), version=version, schema_id=SchemaId(schema_id), schema=schema
                )
        raise SchemaNotFoundError(404, 40403, "Schema not found", f"{URL}/subjects/{subject}")

    def register(self, subject: str, schema: Schema) -> SchemaId:
        self._called("register", subject)
        return SchemaId(self.seed(subject, schema.text, schema_type=schema.schema_type))

    def count(self, call: str) -> int:
        return sum(name == call for name, *_ in self.calls)

    def _called(self, *call: str) -> None:
        self.calls.append(call)
        failure = self.failures.get(call[0]) or self.failures.get(" ".join(call))
        if failure is not None:
            raise failure


def _same(one: str, other: str) -> bool:
    try:
        return one == other or bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False  # Protobuf


class Clock:
    """Time that passes when somebody waits, and not otherwise."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def framed(registry: MemoryRegistry, schema: object, value: object) -> bytes:
    """A value as fastavro writes it, behind its id, under `users-value`."""
    return frame_id(registry.seed("users-value", json.dumps(schema)), body(schema, value))


def spark_struct(**fields: object) -> dict[str, object]:
    """A StructType in its JSON form."""
    parts = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields.items()]
    return {"type": "struct", "fields": parts}
