"""The interfaces that the serde room needs from others, and the types of its arguments."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from srfix.serde.errors import (
    CasingError,
    DecodeError,
    EncodeError,
    Reason,
    SchemaError,
    SrfixError,
    UsageError,
    WireError,
)
from srfix.serde.schemas.models import RegisteredSchema, Registration, Schema, SchemaVersion
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers, SchemaId

if TYPE_CHECKING:
    import pyarrow as pa

R_co = TypeVar("R_co", covariant=True)

Value: TypeAlias = (
    "bool | int | float | str | bytes | decimal.Decimal | datetime.date | datetime.time | datetime.datetime"
    " | uuid.UUID | list[Value] | dict[str, Value] | None"
)
"""A decoded value. TIMESTAMP is an aware datetime in UTC with milliseconds, DATE a date, TIME a time without zone."""
Row: TypeAlias = dict[str, Value]
"""A decoded record: its fields, or the requested columns, in order."""

OnError: TypeAlias = Literal["fail", "quarantine"]
"""What happens with a bad row: its error is raised with its position, or it becomes a `BadRow`."""
GivenContexts: TypeAlias = "Context | Sequence[Context] | str"
"""The contexts for batch functions. A topic's name means the topic's values."""
Contexts: TypeAlias = "Context | Sequence[Context]"
"""One context for all rows, or one for each (topics or headers that differ)."""

Payloads: TypeAlias = "Sequence[bytes | None] | pa.Array | pa.ChunkedArray"
"""Payloads; None, or null, is a tombstone. An Arrow array is of a binary type."""

ABOUT_A_PAYLOAD: Final = (WireError, SchemaError, CasingError, DecodeError)
"""The errors of a deserializer about one payload, except `ResolveError` (the policy does not accept the schema)."""
ABOUT_A_ROW: Final = (EncodeError, SchemaError, CasingError)
"""The errors of a serializer about one row."""


class Context(Protocol):
    """The second argument of a serde's call: confluent_kafka's SerializationContext, or `SerdeContext`."""

    @property
    def topic(self) -> str: ...

    @property
    def field(self) -> str:
        """`"key"` or `"value"`."""

    @property
    def headers(self) -> Headers:
        """The record's headers, or None."""


class SerdeContext:
    """A `Context` without confluent_kafka."""

    __slots__ = ("field", "headers", "topic")

    def __init__(
        self,
        topic: str,
        role: Role | Literal["key", "value"] = Role.VALUE,
        headers: Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]] | None = None,
    ) -> None:
        """:raises UsageError: if the topic is not a text, or the role is neither key nor value."""
        if not isinstance(topic, str):
            raise UsageError(
                f"The topic of a context is of the type {type(topic).__name__}; it must be the topic's name."
            )
        if not isinstance(role, Role) and role not in ("key", "value"):
            raise UsageError(f"The role of a context is {role!r}; it must be Role.KEY or Role.VALUE.")
        self.topic: str = topic
        self.field: str = role.value if isinstance(role, Role) else role
        self.headers: Headers = headers

    def __repr__(self) -> str:
        return f"SerdeContext({self.topic!r}, {self.field!r})"


class Serializer(Protocol):
    """The interface of every serializer: a callable for confluent_kafka's `SerializingProducer`."""

    def __call__(self, row: object, ctx: Context, /) -> bytes | None:
        """The payload; None for None (a tombstone, a null key)."""


class Deserializer(Protocol):
    """The interface of every deserializer: a callable for confluent_kafka's `DeserializingConsumer`."""

    def __call__(self, payload: bytes | None, ctx: Context, /) -> Value:
        """The row; None for a tombstone."""


class InstanceDeserializer(Protocol[R_co]):
    """A deserializer whose rows are instances of a class: `srfix.serde.DataclassDeserializer`."""

    @property
    def into(self) -> type[R_co]:
        """The class."""

    def __call__(self, payload: bytes | None, ctx: Context | str, /) -> R_co | None:
        """The instance; None for a tombstone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row that could not be read or written."""

    position: int
    """The row's position in the batch, from 0."""
    reason: Reason
    """The reason, as one stable word."""
    error: SrfixError
    """The full error."""
    payload: bytes | None = None
    """The original bytes; None for a row that could not be written."""

    @property
    def message(self) -> str:
        """The error's sentence."""
        return self.error.message


class SchemaSource(Protocol):
    """A registry that gives schemas by id, and the schemas to which they refer. `srfix.serde.RegistryClient` is one."""

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        """The schema with an id. `subject` only chooses the context; it need not hold the id."""

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """A version of a subject. Called only for schemas with references."""


class SchemaLookup(SchemaSource, Protocol):
    """A registry that also says whether a schema is registered under a subject."""

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
        """The version of the subject that holds this content."""


@runtime_checkable
class GuidSource(Protocol):
    """A registry that also gives schemas by GUID (Confluent 8.0 on)."""

    def schema_by_guid(self, guid: str) -> Schema:
        """The schema with a GUID."""


@runtime_checkable
class SchemaPublisher(Protocol):
    """A registry that returns all it knows about a schema, for GUIDs, for normalisation, and without registering."""

    def register_version(self, subject: str, schema: Schema, *, normalize: bool = False) -> Registration:
        """Registers a schema, and returns id, version and GUID. Never answered from a cache."""

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False) -> SchemaVersion:
        """The version of the subject that holds this content."""


class SchemaRegistrar(Protocol):
    """A registry that registers schemas."""

    def register(self, subject: str, schema: Schema) -> SchemaId:
        """Registers a schema, and returns the id. Never answered from a cache."""


class SerdeRegistry(SchemaLookup, SchemaRegistrar, Protocol):
    """A registry that both gives and registers schemas."""
