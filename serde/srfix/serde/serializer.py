"""Row → payload, as confluent_kafka's `SerializingProducer` calls it, and as anybody can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from srfix.serde._column_types import Columns, usable_columns
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError
from srfix.serde.formats import avro
from srfix.serde.interface import Context, SchemaRegistrar
from srfix.serde.registry.models import Schema
from srfix.serde.subjects import Subject, SubjectStrategy, TopicSubject, role_of
from srfix.serde.wire import prefix_id_bytes

__all__ = ["AvroSerializer"]

_TOPIC_SUBJECT = TopicSubject()


class AvroSerializer:
    """Writes rows in Avro and the registry's framing.

    `AvroSerializer(registry, columns)` writes under the columns' internal schema, as ksqlDB does: a row's
    keys are matched to the columns by the case rule, and a missing column is null.
    `AvroSerializer.for_schema(registry, text)` writes rows under exactly that schema, by its field names.

    The schema is registered under the subject of each topic once, by a POST whose answer is awaited; no read
    ever stands in for it. Nothing is rounded and no value changes its kind, but times are cut to
    milliseconds, which is all that TIME and TIMESTAMP hold. Thread-safe; picklable if its registry is.
    """

    def __init__(
        self,
        registry: SchemaRegistrar,
        columns: Columns,
        *,
        subjects: SubjectStrategy = _TOPIC_SUBJECT,
        case_rule: CaseRule = CaseRule.UNIQUE,
    ) -> None:
        """:raises ColumnError: if the columns cannot be used, or Avro does not allow their names."""
        text = avro.internal_schema(usable_columns(columns))
        self._set(registry, text, subjects, avro.encoder(text, columns=columns, case_rule=case_rule))
        self._make: Callable[[], AvroSerializer] = partial(
            AvroSerializer, registry, columns, subjects=subjects, case_rule=case_rule
        )

    @classmethod
    def for_schema(
        cls, registry: SchemaRegistrar, schema_text: str, *, subjects: SubjectStrategy = _TOPIC_SUBJECT
    ) -> AvroSerializer:
        """A serializer that writes under exactly this schema.

        :raises SchemaError: if the text is not an Avro schema.
        """
        serializer = cls.__new__(cls)
        encode = avro.encoder(schema_text, columns=None, case_rule=CaseRule.EXACT)
        serializer._set(registry, schema_text, subjects, encode)
        serializer._make = partial(cls.for_schema, registry, schema_text, subjects=subjects)
        return serializer

    def _set(self, registry: SchemaRegistrar, text: str, subjects: SubjectStrategy, encode: Encode) -> None:
        self._registry = registry
        self._schema = Schema(text=text, schema_type=avro.SCHEMA_TYPE)
        self._subjects = subjects
        self._encode = encode
        self._registered: dict[Subject, bytes] = {}
        self._prefixes: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()

    @property
    def schema(self) -> Schema:
        """What is registered and written under."""
        return self._schema

    def __call__(self, row: object, ctx: Context) -> bytes | None:
        """The payload; None for None (a tombstone), without asking the registry.

        :raises EncodeError: if the row does not fit; nothing is registered for a row that does not.
        :raises RegistryError: if the registry did not take the schema.
        """
        if row is None:
            return None
        try:
            return self._encode(row, self._prefixes[ctx.topic, ctx.field])
        except KeyError:
            return self._first(row, ctx)
        except EncodeError as error:
            raise _located(error, ctx) from error

    def _first(self, row: object, ctx: Context) -> bytes:
        try:
            self._encode(row, b"")
        except EncodeError as error:
            raise _located(error, ctx) from error
        return self._encode(row, self._register(ctx))

    def _register(self, ctx: Context) -> bytes:
        subject = self._subjects(ctx.topic, role_of(ctx.field))
        with self._lock:
            prefix = self._registered.get(subject)
            if prefix is None:
                prefix = self._registered[subject] = prefix_id_bytes(self._registry.register(subject, self._schema))
            self._prefixes[ctx.topic, ctx.field] = prefix
            return prefix

    def __reduce__(self) -> tuple[Callable[[], AvroSerializer], tuple[()]]:
        return self._make, ()


def _located(error: EncodeError, ctx: Context) -> EncodeError:
    """The same error, saying which payload it is about."""
    attributes = dict(vars(error)) | {"topic": ctx.topic, "role": role_of(ctx.field)}
    return EncodeError(f"A {ctx.field} for topic {ctx.topic!r}: {error.message}", **attributes)
