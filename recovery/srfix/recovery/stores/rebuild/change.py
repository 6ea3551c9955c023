"""Changes the rows of a store that is rewritten, and the serde's values in them.

| form | values in a row |
|---|---|
| key-value, windows, sessions | one, after timestamp and headers |
| time first | one; the rows of the index have none |
| versioned | the latest one; in a segment each version that is no tombstone |
| list value | each of the list |
| subscription | none: it holds the hash of a value |

A value can be rewritten under the schema that a named subject holds: it is read into the columns of that schema (a
writer's field feeds a column with the same name, in any letter case), and written under its id. Nothing is ever
registered. A value that already carries the id stays unchanged, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias

from srfix.recovery.errors import FormatError
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.state.directory import StoreDirectory
from srfix.recovery.state.formats.joins import decode_list, decode_sided_value, encode_list, encode_sided_value
from srfix.recovery.state.formats.values import VALUES
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    decode_latest,
    decode_versioned_key,
    decode_versioned_segment,
    encode_versioned_segment,
)
from srfix.recovery.state.formats.windows import INDEX
from srfix.recovery.state.layouts import KeyOrder, StoreFormat
from srfix.recovery.state.reading.detection import detect_format
from srfix.recovery.state.writing.kinds import WrittenKind, stored
from srfix.recovery.stores.rebuild.report import Tally, Unreadable
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import ColumnError, RegistryError, SchemaError, SrfixError, UsageError
from srfix.serde.formats.avro import columns_from_avro
from srfix.serde.formats.table import Format, format_of, schema_module_of
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById, Resolver
from srfix.serde.schemas.models import Schema
from srfix.serde.schemas.references import reference_texts
from srfix.serde.serdes.framed_serializer import FramedSerializer
from srfix.serde.serializer import FRAMED
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.subjects.strategies import FixedSubject
from srfix.serde.wire import SchemaId, prefix_id_bytes

Change: TypeAlias = Callable[[bytes], bytes]
"""The serde's bytes of a value → the new bytes for the store. An exception says why that is impossible."""

_TIMES: Final = "integers"
_TOPIC: Final = "the store"


class Reserialiser:
    """Rewrites values under a schema of the reader's subject, by default the latest. Picklable if the registry is."""

    def __init__(
        self,
        registry: ReadableRegistry,
        subject: Subject,
        *,
        version: int | Literal["latest"] = "latest",
        resolver: Resolver | None = None,
        case_rule: CaseRule = CaseRule.UNIQUE,
    ) -> None:
        schema_version = registry.version(subject, version, deleted=version != "latest")
        references = reference_texts(registry, schema_version.schema, subject=subject)
        resolver = resolver or ById(registry, context=registry.context_of(subject))
        self.schema_id: SchemaId = schema_version.schema_id
        self._prefix = prefix_id_bytes(schema_version.schema_id)
        self._read = _reader(resolver, schema_version.schema, references, case_rule)
        self._write = _writer(registry, schema_version.schema, references, subject, schema_version.version)
        self._context = SerdeContext(_TOPIC, Role.VALUE)
        self._made_again = partial(
            Reserialiser, registry, subject, version=schema_version.version, resolver=resolver, case_rule=case_rule
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Another process makes it again, from the version that was the latest here.
        return self._made_again, ()

    def __call__(self, payload: bytes) -> bytes:
        if payload.startswith(self._prefix):
            return payload
        written = self._write(self._read(payload, self._context), self._context)
        if written is None:
            raise UsageError("the whole row is null, and to write null would delete the row")
        return written


def _reader(resolver: Resolver, schema: Schema, references: tuple[str, ...], case_rule: CaseRule) -> SchemaDeserializer:
    if schema.schema_type != Format.AVRO.schema_type:
        columns = _columns(schema, references)
        return SchemaDeserializer(resolver, columns=columns, case_rule=case_rule, times=_TIMES)
    try:
        columns = columns_from_avro(schema.text, names="keep", references=references)
    except (ColumnError, SchemaError):  # no record, or a recursive one: Avro's own resolution is used
        from srfix.serde.specs import ReaderSchema

        reader = ReaderSchema(text=schema.text, references=references)
        return SchemaDeserializer(resolver, reader_schema=reader, times=_TIMES)
    return SchemaDeserializer(resolver, columns=columns, case_rule=case_rule, wrap=True, times=_TIMES)


def _columns(schema: Schema, references: tuple[str, ...]) -> Columns:
    """A UsageError if a field has no column, because its values would be lost."""
    infer = schema_module_of(format_of(schema.schema_type)).infer_columns
    inferred = infer(schema.text, names="keep", references=references)
    if inferred.dropped:
        lost = ", ".join(part.path for part in inferred.dropped)
        raise UsageError(f"srfix cannot write rows under this schema: no column type can hold its fields {lost}.")
    return inferred.columns


def _writer(
    registry: ReadableRegistry, schema: Schema, references: tuple[str, ...], subject: Subject, version: int
) -> FramedSerializer:
    format_ = format_of(schema.schema_type)
    # The rows have columns for a Protobuf schema's oneofs, so the writer needs the columns, too.
    columns = _columns(schema, references) if format_ is Format.PROTOBUF else None
    subjects = FixedSubject(value=subject)
    return FRAMED[format_](
        registry, columns, version=version, subjects=subjects, register=False, case_rule=CaseRule.EXACT, times=_TIMES
    )


_OLDEST_FIRST: Final = tuple(VALUES)[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChange:
    payload: Change | None = None
    """The serde's bytes → new bytes; None leaves them unchanged."""
    kind: WrittenKind | None = None
    form: StoreFormat | None = None
    """The present form of its rows, if it is known; with None, srfix looks at them."""


def form_to_change(store: StoreDirectory, change: StoreChange) -> StoreFormat:
    form, why = change.form, "as the user said"
    if form is None:
        detection = detect_format(store)
        form, why = detection.format, detection.why
    if form is StoreFormat.SUBSCRIPTION and change.payload is not None:
        raise UsageError(
            f"{store.path} is a store of the kind {form.value} ({why}), whose rows hold only the hash of a value. "
            "srfix can only copy them unchanged."
        )
    if change.kind is not None and change.kind not in _kinds_of(form):
        raise UsageError(
            f"{store.path} is a store of the kind {form.value} ({why}). srfix cannot change it to the kind "
            f"{change.kind.value}."
        )
    return form


def _kinds_of(form: StoreFormat) -> tuple[WrittenKind, ...]:
    """The kinds that a store may become: keys stay unchanged, and only the bytes before the values change."""
    if form.is_key_value:
        return WrittenKind.PLAIN_KV, WrittenKind.TIMESTAMPED_KV, WrittenKind.HEADERS_KV
    if form.is_windowed and form.layout.order is KeyOrder.KEY_AND_TIMES:
        return WrittenKind.PLAIN_WINDOW, WrittenKind.TIMESTAMPED_WINDOW, WrittenKind.HEADERS_WINDOW
    return ()


class RowChange:
    """Changes and counts the rows of one store in one task. Their form is needed only if one of them changes."""

    def __init__(
        self, change: StoreChange | None, *, form: StoreFormat | None, task: str, store: str, tally: Tally
    ) -> None:
        self._change = change or StoreChange()
        self._form = form
        self._where = (task, store)
        self._tally = tally
        self._counts = tally.store(task, store)

    def family(self, family: str) -> str:
        kind = self._change.kind
        return family if kind is None or family not in VALUES else kind.family

    def values(self, family: str, rows: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """A row that cannot be changed stays as it is, and is counted as unreadable."""
        changes = family in VALUES and (self._change.payload, self._change.kind) != (None, None)
        for key, value in rows:
            self._counts.rows += 1
            yield key, self._changed(family, key, value) if changes else value

    def _changed(self, family: str, key: bytes, value: bytes) -> bytes:
        assert self._form is not None
        changed = value
        try:
            changed = rewritten(self._form, family, key, value, self._change.payload or bytes)
        except RegistryError:
            raise
        except SrfixError as error:
            task, store = self._where
            self._counts.kept_raw += 1
            self._tally.note_unreadable(Unreadable(task=task, store=store, key=key.hex(), problem=error.message))
        kind = self._change.kind
        if kind is not None and kind.family != family:
            changed = self._wrapped(kind, family, changed)
        self._counts.rewritten += changed != value
        return changed

    def _wrapped(self, kind: WrittenKind, family: str, value: bytes) -> bytes:
        try:
            before = VALUES[family].decode(value)
        except FormatError:  # it was noted
            return value
        return stored(kind, before.payload, timestamp_ms=before.timestamp_ms, headers=before.headers)


def rewritten(form: StoreFormat, family: str, key: bytes, value: bytes, change: Change) -> bytes:
    if form is StoreFormat.VERSIONED:
        return _versioned(key, value, change)
    if form is StoreFormat.LIST_VALUE:
        return _listed(value, change)
    layout = form.layout
    if layout.order is KeyOrder.TIMES_AND_KEY and key.startswith(INDEX):
        return value
    return _behind_prefix(value, layout.values[family].decode(value).payload, change)


def _behind_prefix(value: bytes, payload: bytes, change: Change) -> bytes:
    return value[: len(value) - len(payload)] + change(payload)


def _versioned(key: bytes, value: bytes, change: Change) -> bytes:
    _key, segment = decode_versioned_key(key)
    if segment == LATEST_SEGMENT:
        return _behind_prefix(value, decode_latest(value).payload or b"", change)
    return encode_versioned_segment(
        [
            record if record.payload is None else replace(record, payload=change(record.payload))
            for record in decode_versioned_segment(value)
        ]
    )


def _listed(value: bytes, change: Change) -> bytes:
    entries: list[bytes] = []
    for entry in decode_list(value):
        if entry is None:
            raise FormatError("an entry of a join's list is null")
        sided = decode_sided_value(entry)
        entries.append(encode_sided_value(replace(sided, payload=change(sided.payload))))
    return encode_list(entries)


def in_order(families: frozenset[str]) -> tuple[str, ...]:
    """Column families in the order of writing: of two rows with one key, the one in the newer format counts."""
    return tuple(sorted(families, key=lambda name: (_OLDEST_FIRST.index(name) if name in _OLDEST_FIRST else 0, name)))
