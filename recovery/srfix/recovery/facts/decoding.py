"""Records read as a chosen reader would read them: a record that cannot be read is a value with its error."""

from __future__ import annotations

import base64
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

import msgspec

from srfix.recovery.documents import Count, Document, Id, Part
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.errors import DecodeError, PayloadBoundError, ResolveError, SrfixError, WireError
from srfix.serde.interface import ABOUT_A_PAYLOAD, Context, SerdeContext, Value
from srfix.serde.json_values import check_depth, to_json
from srfix.serde.schemas.models import Json, Schema
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.windowed import WindowKind, split
from srfix.serde.wire import Headers, SchemaId, is_schema_id, parse
from srfix.serde.wire_peek import BY_GUID, SchemaIdPeek, peek_headers

if TYPE_CHECKING:
    from srfix.recovery.cluster.raw_record import RawRecord
    from srfix.serde.columns.types import Columns
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.resolve.resolved import ResolvedSchema

Deserializer: TypeAlias = Callable[[bytes | None, Context], Value]
"""Payload → row."""
_ABOUT_THE_RECORD = (*ABOUT_A_PAYLOAD, ResolveError)
_LATEST_MS: Final = 4_102_444_800_000
"""2100-01-01, UTC. No window begins or ends later; text or an Avro body that is read as a time nearly always does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedPart:
    payload: bytes | None = field(repr=False)
    """The bytes; None for a null key or a tombstone."""
    is_decoded: bool
    """True if `value` is what the reader sees; False if decoding was not asked for, or failed."""
    value: Value = None
    schema_id: SchemaId | None = None
    """The id that the payload carries; None if it carries none, or was not looked at."""
    guid: UUID | None = None
    subject: Subject | None = None
    """The subject that answered; None if the policy asks none, or none answered."""
    registered_id: SchemaId | None = None
    error: SrfixError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedRecord:
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    """Milliseconds since the epoch; None if it has none."""
    key: DecodedPart
    value: DecodedPart

    @property
    def failed(self) -> bool:
        return self.key.error is not None or self.value.error is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedColumn:
    payloads: Sequence[bytes | None]
    is_decoded: bool
    values: Sequence[Value]
    schema_ids: Sequence[SchemaId | None]
    """The ids of the payloads; None for payloads that carry none, or that were not looked at."""
    errors: Mapping[int, SrfixError]


class RecordDecoder:
    """Reads records through a policy, each row as the writer has it. `make`'s decoder must ask the resolver it gets."""

    def __init__(
        self,
        resolver: Resolver,
        *,
        roles: Iterable[Role] = (Role.VALUE,),
        make: Callable[[Resolver, Role], Deserializer] | None = None,
    ) -> None:
        self._resolver = _Noting(resolver)

        def by_schema(resolver: Resolver, _role: Role) -> Deserializer:
            from srfix.serde.deserializer import SchemaDeserializer

            return SchemaDeserializer(resolver)

        self._deserializers = {role: (make or by_schema)(self._resolver, role) for role in roles}
        self._peeks = {role: SchemaIdPeek() for role in self._deserializers}

    def decode(self, topic: str, records: Iterable[RawRecord]) -> Iterator[DecodedRecord]:
        for record in records:
            yield DecodedRecord(
                topic=topic,
                partition=record.partition,
                offset=record.offset,
                timestamp=record.timestamp,
                key=self._part(topic, record, Role.KEY),
                value=self._part(topic, record, Role.VALUE),
            )

    def decode_column(
        self, topic: str, role: Role, payloads: Sequence[bytes | None], headers: Sequence[Headers] | None = None
    ) -> DecodedColumn:
        """The keys, or the values, of many records: the same result as `decode`, several times as fast."""
        from srfix.serde.batches.rows import deserialize_many
        from srfix.serde.interface import BadRow

        deserializer = self._deserializers.get(role)
        if deserializer is None:
            nothing: list[None] = [None] * len(payloads)
            return DecodedColumn(payloads=payloads, is_decoded=False, values=nothing, schema_ids=nothing, errors={})
        context = SerdeContext(topic, role)
        contexts = context if headers is None else [SerdeContext(topic, role, row) for row in headers]
        rows = list(deserialize_many(payloads, contexts, deserializer, on_error="quarantine"))
        return DecodedColumn(
            payloads=payloads,
            is_decoded=True,
            values=[None if isinstance(row, BadRow) else row for row in rows],
            schema_ids=self.schema_ids(role, payloads, headers),
            errors={row.position: row.error for row in rows if isinstance(row, BadRow)},
        )

    def schema_ids(
        self, role: Role, payloads: Sequence[bytes | None], headers: Sequence[Headers] | None = None
    ) -> Sequence[SchemaId | None]:
        """The ids that the keys or the values carry, for a role that is decoded; None for a payload that carries none."""
        peeked = self._peeks[role](payloads)
        if headers is not None:
            peeked = peek_headers(headers, peeked, role)
        return [mark if is_schema_id(mark) else None for mark in peeked]

    def asks_anew(self, key: bytes | None, value: bytes | None, headers: Headers = None) -> bool:
        """True if decoding these may ask the resolver for a schema for the first time, and so wait for its answer."""
        from srfix.serde.serdes.framed_deserializer import FramedDeserializer

        for role, payload in ((Role.KEY, key), (Role.VALUE, value)):
            if isinstance(self._deserializers.get(role), FramedDeserializer):
                (mark,) = peek_headers([headers], self._peeks[role]([payload]), role)
                if mark == BY_GUID or (is_schema_id(mark) and not self._resolver.knows(mark, role)):
                    return True
        return False

    def columns_of(self, role: Role) -> Columns | None:
        """The columns of all keys, or of all values; None if the role is not decoded, or if rows keep the writer's fields."""
        columns_of = getattr(self._deserializers.get(role), "columns_of", None)
        return None if columns_of is None else columns_of(role)

    def deserializer(self, role: Role) -> Deserializer:
        return self._deserializers[role]

    def schema(self, schema_id: SchemaId, role: Role) -> Schema | None:
        """The schema of an id, if a payload that was read needed it. Asks no registry."""
        resolved = self._resolver.schemas.get((schema_id, role))
        return None if resolved is None else resolved.schema

    def part(self, column: DecodedColumn, place: int, role: Role, headers: Headers = None) -> DecodedPart:
        payload = column.payloads[place]
        if not column.is_decoded or payload is None:
            return DecodedPart(payload=payload, is_decoded=column.is_decoded)
        return self._decoded_part(payload, role, headers, column.values[place], column.errors.get(place))

    def _part(self, topic: str, record: RawRecord, role: Role) -> DecodedPart:
        payload = record.key if role is Role.KEY else record.value
        deserializer = self._deserializers.get(role)
        if deserializer is None:
            return DecodedPart(payload=payload, is_decoded=False)
        if payload is None:
            return DecodedPart(payload=None, is_decoded=True)
        value: Value = None
        problem: SrfixError | None = None
        try:
            value = deserializer(payload, SerdeContext(topic, role, record.headers))
        except _ABOUT_THE_RECORD as error:
            problem = error
        return self._decoded_part(payload, role, record.headers, value, problem)

    def _decoded_part(
        self, payload: bytes, role: Role, headers: Headers, value: Value, problem: SrfixError | None
    ) -> DecodedPart:
        schema_id, guid = None, None
        with contextlib.suppress(WireError):  # the deserializer has met this error, and reported it
            frame = parse(payload, headers=headers, role=role)
            if frame is not None:
                schema_id, guid = frame.schema_id, frame.guid
        identity = guid if schema_id is None else schema_id
        resolved = None if identity is None else self._resolver.schemas.get((identity, role))
        return DecodedPart(
            payload=payload,
            is_decoded=problem is None,
            value=value,
            schema_id=schema_id,
            guid=guid,
            subject=None if resolved is None else resolved.subject,
            registered_id=None if resolved is None else resolved.registered_id,
            error=problem,
        )


class _Noting:
    """A resolver that remembers answers and failures; without it, a failure is asked again for each record."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._refused: dict[tuple[int | UUID, Role], ResolveError] = {}
        self.schemas: dict[tuple[int | UUID, Role], ResolvedSchema] = {}

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        return self._noted((schema_id, role), lambda: self._resolver.resolve(schema_id, topic=topic, role=role))

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        return self._noted((guid, role), lambda: self._resolver.resolve_guid(guid, topic=topic, role=role))

    def knows(self, schema_id: SchemaId, role: Role) -> bool:
        return (schema_id, role) in self.schemas or (schema_id, role) in self._refused

    def _noted(self, key: tuple[int | UUID, Role], resolve: Callable[[], ResolvedSchema]) -> ResolvedSchema:
        refused = self._refused.get(key)
        if refused is not None:
            raise copy(refused)
        try:
            resolved = resolve()
        except ResolveError as error:
            # A copy has no traceback; the frames of a traceback would keep the payload alive.
            remember(self._refused, key, copy(error), payload_bounds().refusals)
            raise
        remember(self.schemas, key, resolved, payload_bounds().plans)
        return resolved


@dataclass(frozen=True, slots=True)
class OneSchema:
    """A resolver that gives one schema for all ids."""

    schema: Schema
    references: tuple[str, ...]

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        from srfix.serde.resolve.resolved import ResolvedSchema

        return ResolvedSchema(schema_id=SchemaId(schema_id), schema=self.schema, references=self.references)

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        return self.resolve(1, topic=topic, role=role)


def shown(record: DecodedRecord) -> DecodedRecord:
    """The record in a form that can be shown: a row that nests too deep for JSON counts as failed."""
    key, value = _shown_part(record.key), _shown_part(record.value)
    return record if key is record.key and value is record.value else replace(record, key=key, value=value)


def _shown_part(part: DecodedPart) -> DecodedPart:
    if not part.is_decoded:
        return part
    try:
        check_depth(part.value)
    except PayloadBoundError as error:
        return replace(part, is_decoded=False, value=None, error=error)
    return part


class PayloadSchema(Part):
    """The schema that a payload names."""

    schema_id: Id | None = msgspec.field(name="id")
    guid: UUID | None
    subject: str | None
    """The subject that answered the look-up."""
    registered_id: Id | None
    """The id under which the subject holds the schema."""

    @classmethod
    def named_by(cls, part: DecodedPart) -> PayloadSchema | None:
        """None if the payload names none."""
        return None if part.schema_id is None and part.guid is None else cls.of(part)


class DecodingError(Part):
    """Why a key or a value was not decoded."""

    role: Role
    kind: str
    message: str


class Record(Document, tag="srfix.record/1"):
    """One record, as a chosen reader reads it: a line of `srfix decode --output json`."""

    topic: str
    partition: Count
    offset: Count
    timestamp: int | None
    """Milliseconds since the epoch."""
    time: str | None
    key: object
    """The decoded value; if it was not decoded, `$raw` in base64 and `text` if it is UTF-8."""
    value: object
    key_schema: PayloadSchema | None
    value_schema: PayloadSchema | None
    errors: list[DecodingError]


def record_document(record: DecodedRecord) -> Record:
    return Record(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        time=None if record.timestamp is None else iso_time(record.timestamp),
        key=payload_json(record.key),
        value=payload_json(record.value),
        key_schema=PayloadSchema.named_by(record.key),
        value_schema=PayloadSchema.named_by(record.value),
        errors=decoding_errors(record),
    )


def decoding_errors(record: DecodedRecord) -> list[DecodingError]:
    return [
        DecodingError(role=role, kind=type(part.error).__name__, message=part.error.message)
        for role, part in ((Role.KEY, record.key), (Role.VALUE, record.value))
        if part.error is not None
    ]


def iso_time(timestamp_ms: int) -> str | None:
    """ISO 8601, UTC, to the millisecond; None for a time that Python's calendar does not have."""
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None


def payload_json(part: DecodedPart) -> Json:
    """The decoded value; else `{"$raw": "<base64>", "text": …}`, where text is null if the bytes are not UTF-8."""
    if part.is_decoded:
        return to_json(part.value)
    if part.payload is None:
        return None
    try:
        text = part.payload.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    return {"$raw": base64.b64encode(part.payload).decode("ascii"), "text": text}


def key_without_window(payload: bytes, kind: WindowKind) -> bytes | None:
    """The key's own bytes; None if the bytes after it are no plausible window of the kind."""
    try:
        key, window = split(payload, kind)
    except DecodeError:
        return None
    return key if max(window.start_ms, window.end_ms or 0) < _LATEST_MS else None


def window_of(keys: Iterable[bytes], reads: Callable[[bytes], bool]) -> WindowKind | None:
    """The kind of window after sampled keys; None for none. What `reads` accepts is a whole key, with no bytes left."""
    counts: Counter[WindowKind | None] = Counter()
    for payload in keys:
        if reads(payload):
            counts[None] += 1
            continue
        for kind in WindowKind:
            key = key_without_window(payload, kind)
            if key is not None and reads(key):
                counts[kind] += 1
                break
    if not counts:
        return None
    likeliest, count = counts.most_common(1)[0]
    return likeliest if 2 * count > counts.total() else None


def key_deserializer(resolver: Resolver, window: WindowKind | None) -> Deserializer:
    from srfix.serde.deserializer import SchemaDeserializer, WindowedDeserializer

    deserialize = SchemaDeserializer(resolver)
    if window is None:
        return deserialize
    with_window = WindowedDeserializer(deserialize, window)

    def only_key(payload: bytes | None, context: Context) -> Value:  # a row has no room for a window
        key = with_window(payload, context)
        return None if key is None else key.key

    return only_key
