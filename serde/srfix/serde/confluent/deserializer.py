"""The part that all deserializers share: payload → object, in the form of the schema that the configuration asks
for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypedDict, cast, overload
from uuid import UUID

from confluent_kafka.serialization import Deserializer

from srfix.serde.arguments import check_callable, usable_context, usable_payload
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.casing import CaseRule
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import with_times
from srfix.serde.columns.types import Columns
from srfix.serde.confluent.config import (
    AnyPolicy,
    Conf,
    Shape,
    check_no_latest,
    policy_of,
    refuse_without_columns,
    settings,
)
from srfix.serde.confluent.framing import PROTOBUF, SchemaId, deserializer_of, header_role, without_indexes
from srfix.serde.confluent.serde import (
    Codec,
    ConfluentSerde,
    Direction,
    check_migrations,
    check_no_columns,
    check_rules,
    make_confluents,
    missing_context,
)
from srfix.serde.engine import Decode
from srfix.serde.errors import (
    DecodeError,
    MalformedHeaderError,
    ResolveError,
    SrfixError,
    SubjectVersionError,
    UsageError,
    WireError,
)
from srfix.serde.formats.table import check_schema_type, format_of
from srfix.serde.interface import Context, GuidSource, Row, Value
from srfix.serde.registries.confluent_client import AnySchema, given_schema
from srfix.serde.registries.given import AnyClient, Registry
from srfix.serde.resolve.policies import accepted
from srfix.serde.resolve.resolved import knows_no_guids, words_for
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    RegistryAnswerError,
    SchemaNotFoundError,
    SubjectNotFoundError,
)
from srfix.serde.schemas.models import Schema, SchemaVersion
from srfix.serde.serdes.framed_deserializer import FramedReader
from srfix.serde.serdes.located_errors import ABOUT_THE_PAYLOAD, read_from
from srfix.serde.serdes.row_reader import record_of
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Framing, given_schema_id, header_guid, parse, prefix_of, schema_id_header

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=object)
    """The result of a deserializer."""
else:
    from typing import TypeVar

    T = TypeVar("T")
R = TypeVar("R")
FromDict: TypeAlias = "Callable[[Value, Context], object]"
_Identity: TypeAlias = "int | UUID"
_Writer: TypeAlias = "tuple[Schema, Codec]"


class ColumnOptions(TypedDict, total=False):
    """The keyword arguments that go with `columns` and `into`, for the overloads of the constructors."""

    case_rule: CaseRule | str | None
    wrap: bool | None
    strict: bool
    policy: AnyPolicy | None


class ReadOptions(ColumnOptions, total=False):
    conf: Conf


class ConfluentDeserializer(ConfluentSerde, FramedReader, Deserializer, Generic[T]):
    _about = (*ABOUT_THE_PAYLOAD, ResolveError)

    def _begin(
        self,
        client: AnyClient | None,
        schema_str: AnySchema,
        from_dict: FromDict | None,
        conf: Conf,
        shape: Shape | None,
        policy: AnyPolicy | None,
        codec_options: Mapping[str, Any],
    ) -> None:
        """Takes the arguments that all constructors share; `codec_options` are those of only this format's codec."""
        check_callable("from_dict", from_dict, "(dict, context) -> object")
        serde_settings = settings(self._kind, conf)
        check_no_columns(schema_str)
        schema = given_schema(schema_str, self._schema_type, self._prepare)
        framings = deserializer_of(serde_settings.id_deserializer)
        self._identify = None if isinstance(framings, frozenset) else framings
        self._framings = framings if isinstance(framings, frozenset) else frozenset[Framing]()
        if client is None and schema is None:
            raise UsageError("schema_registry_client is needed if there is no schema_str, to find schemas by id.")
        if shape is None and self._schema_type != "AVRO" and serde_settings.times == "integers":
            refuse_without_columns("read", {"times": serde_settings.times})
        if shape is not None:
            check_no_latest(serde_settings)
            if shape.into is not None and serde_settings.times == "integers":
                raise UsageError(
                    "With times='integers' in the configuration, rows have integers for times, but a dataclass "
                    "cannot hold these integers. Leave out times or the dataclass."
                )
        self._start(client, serde_settings, codec_options, needs_client=False)
        self._shape = shape
        self._policy = policy_of(policy, self._registry)
        self._format = format_of(self._schema_type)
        self._from_dict = from_dict
        self._reader: Codec | None = None
        if schema is not None:
            check_rules(schema.rule_set, Direction.READ, where="The reader schema that was passed")
            self._reader = self._codec(schema, None)
            if shape is not None:  # this raises the errors of wrong columns now
                self._columns_decode(self._reader, self._reader, roles_of(shape.columns)[-1])
        self._gives_rows = from_dict is None and (shape is None or shape.into is None)
        self._asks_latest = serde_settings.metadata is not None or serde_settings.latest
        self._is_stable = self._is_by_topic and not (self._asks_latest and self._latest_may_change)
        self._forget_plans()
        self._made: dict[tuple[_Identity, str | None, SchemaVersion | None, Role | None], Decode] = {}
        self._latest: dict[str, SchemaVersion] = {}
        self._writers: dict[tuple[_Identity, str | None], _Writer] = {}
        self._remember(shape, policy=policy, schema_str=schema_str, from_dict=from_dict, conf=conf)

    def _call(self, data: bytes | None, ctx: Context | str | None = None) -> object:  # type: ignore[override]
        """The row, or the result of `into` or `from_dict`; None for None (a tombstone).

        :param ctx: the context, or the topic's name for its values.
        :raises WireError: if the payload is not framed.
        :raises ResolveError: if the registry does not know the schema, or the asked subject does not hold it.
        :raises SchemaError: if the schema does not have the deserializer's type.
        :raises DecodeError: if the body does not match its schema.
        :raises RegistryError: if the registry could not be asked.
        :raises UsageError: if a required context is missing, or the schema carries rules.
        """
        if data is None:
            return None
        try:
            if ctx.__class__ is str:
                ctx = usable_context(ctx)
            value = self._value(data, ctx)  # type: ignore[arg-type]
            return value if self._gives_rows else self._made_of(value, ctx)  # type: ignore[arg-type]
        except SrfixError as error:
            make_confluents(error)
            raise

    if TYPE_CHECKING:

        def __call__(self, data: bytes | None, ctx: Context | str | None = None) -> T: ...  # type: ignore[override]
    elif not FramedReader.IS_NATIVE:
        __call__ = _call

    @overload
    def row(self, payload: None, ctx: Context | str | None = None) -> None: ...
    @overload
    def row(self, payload: bytes, ctx: Context | str | None = None) -> Row: ...
    @overload
    def row(self, payload: bytes | None, ctx: Context | str | None = None) -> Row | None: ...
    def row(self, payload: bytes | None, ctx: Context | str | None = None) -> Row | None:
        """The row as a dict, whatever `into` and `from_dict` say; None for None (a tombstone). For type checkers.

        :raises DecodeError: if the payload is not a record but a bare value, or null.
        :raises SrfixError: as a call.
        """
        if payload is None:
            return None
        value = self._value(payload, usable_context(ctx) if isinstance(ctx, str) else ctx)
        return record_of(value, None if ctx is None else usable_context(ctx))

    def _value(self, data: bytes, ctx: Context | None) -> Value:
        if data.__class__ is not bytes:
            data = usable_payload(data)
        # A context of confluent-kafka may have None as the topic.
        if ctx is None or getattr(ctx, "topic", "") is None:
            return self._read(data, None)
        return self._row(data, ctx)

    def _made_of(self, value: Value, ctx: Context | None) -> object:
        made: object = value
        if self._shape is not None and self._shape.builders is not None:
            try:
                made = self._shape.builders.of(self._role(ctx))(value)
            except DecodeError as error:
                if ctx is None:
                    raise
                raise read_from(error, ctx) from error
        if self._from_dict is None:
            return made
        if ctx is None:
            raise missing_context("from_dict")
        return self._from_dict(cast("Value", made), ctx)

    @property
    def columns(self) -> Columns | None:
        """All columns, of key and value; None if `columns_of` returns None."""
        if self._shape is None or not self._gives_rows:
            return None
        return with_times(self._shape.columns, self._settings.times)

    def columns_of(self, role: Role) -> Columns | None:
        """The columns of every key, or of every value, in order; None if there are no columns, or if rows become other
        objects.

        :raises ColumnError: if there is no column for this half, or it cannot be used.
        """
        if self._shape is None or not self._gives_rows:
            return None
        return with_times(self._shape.half(role).known_columns, self._settings.times)

    def is_ready(self, data: object, ctx: object) -> bool:
        """True if a call asks the registry nothing, because the schema has already occurred on this topic."""
        return data is None or self.asks_for(data, ctx) in self._plans

    def asks_for(self, data: object, ctx: object) -> tuple[bytes, str, str] | None:
        """A key that is equal for calls that ask the registry the same; None if it is not known."""
        topic, field = getattr(ctx, "topic", None), getattr(ctx, "field", None)
        if not self._is_stable or not isinstance(data, bytes) or topic is None or field is None:
            return None
        if getattr(ctx, "headers", None) and self._is_named_by_header(cast("Context", ctx)):
            return None
        return prefix_of(data), topic, field

    _row = FramedReader._call

    def _role(self, ctx: Context | None) -> Role:
        return header_role(ctx)

    def _is_named_by_header(self, ctx: Context) -> bool:
        return Framing.HEADER_GUID in self._framings and super()._is_named_by_header(ctx)

    def _unframed(self, payload: bytes, ctx: Context | None) -> tuple[_Identity, bytes, int]:
        if self._identify is not None:
            schema_id = SchemaId(self._schema_type)
            rest = self._identify(payload, ctx, schema_id)
            identity = schema_id.guid if schema_id.id is None else schema_id.id
            if identity is None:
                raise UsageError(
                    "schema.id.deserializer must set id or guid of its argument schema_id, but it set neither."
                )
            return identity, schema_id.index_bytes + (rest if isinstance(rest, bytes) else rest.read()), 0
        headers = ctx.headers if ctx is not None and Framing.HEADER_GUID in self._framings else None
        role, indexes = header_role(ctx), b""
        if self._schema_type == PROTOBUF:
            headers, indexes = without_indexes(headers, role)
        if self._framings == {Framing.HEADER_GUID} and header_guid(headers, role) is None:
            raise MalformedHeaderError(
                f"The record has no header {schema_id_header(role)}, which must hold its schema's GUID."
            )
        frame = parse(payload, headers=headers, role=role)
        assert frame is not None
        if frame.framing not in self._framings:
            raise WireError(
                f"The payload has the framing {frame.framing.value}, but schema.id.deserializer reads only "
                f"{', '.join(sorted(one.value for one in self._framings))}."
            )
        return frame.identity, indexes + payload if indexes else payload, frame.body_offset

    def _plan(self, identity: _Identity, ctx: Context | None) -> Decode:
        if self._registry is None:  # JSON: there is only the reader's schema
            codec = cast("Codec", self._reader)
            if self._shape is not None:
                return self._columns_decode(codec, None, self._role(ctx))
            return codec.decoder(None)
        subject = None if ctx is None else self._strategy(ctx, None)
        writer = self._writer(self._registry, identity, subject, ctx)
        if subject is None and ctx is not None:
            subject = self._strategy(ctx, writer[1].record_name)
        latest = None
        if self._asks_latest and subject is not None:
            if self._latest_may_change or subject not in self._latest:
                self._latest[subject] = self._latest_of(self._registry, subject)
            latest = self._latest[subject]
        role = None if self._shape is None else self._role(ctx)
        key = (identity, subject, latest, role)
        decode = self._made.get(key)
        if decode is None:
            schema, codec = writer
            check_rules(schema.rule_set, Direction.READ, where=f"The {words_for(identity)}")
            reader = self._reader
            if latest is not None and subject is not None:
                reader = self._latest_reader(self._registry, identity, schema, subject, latest)
            decode = codec.decoder(reader) if role is None else self._columns_decode(codec, reader, role)
            remember(self._made, key, decode, payload_bounds().plans)
        return decode

    def _columns_decode(self, writer: Codec, reader: Codec | None, role: Role) -> Decode:
        assert self._shape is not None
        return writer.columns_decoder(reader, replace(self._shape.half(role), times=self._settings.times))

    def _latest_reader(
        self, registry: Registry, identity: _Identity, writer: Schema, subject: str, latest: SchemaVersion
    ) -> Codec:
        """The latest version, after a check that no rules lie between it and the writer's schema."""
        check_schema_type(latest.schema.schema_type, self._format)
        where = f"The schema of subject {subject!r} (id {latest.schema_id})"
        check_rules(latest.schema.rule_set, Direction.READ, where=where)
        schema_id = None if isinstance(identity, UUID) else identity
        try:
            source = registry.lookup(subject, writer, deleted=True)
        except (SchemaNotFoundError, SubjectNotFoundError) as error:
            named = f"GUID {identity}" if schema_id is None else f"id {schema_id}"
            raise SubjectVersionError(
                f"With use.latest.version, the schema of the record ({named}) must also be registered under subject "
                f"{subject!r}, but it is not (error code {error.error_code}). "
                "Register it there, or read without use.latest.version.",
                schema_id=schema_id,
                subject=subject,
                error_code=error.error_code,
            ) from error
        check_migrations(registry, subject, source.version, latest)
        return self._codec(latest.schema, subject)

    def _writer(self, registry: Registry, identity: _Identity, subject: str | None, ctx: Context | None) -> _Writer:
        if self._policy is not None:
            if ctx is None:
                raise UsageError(
                    "The policy needs the topic, but there is no context. Pass a context or the topic's name."
                )
            schema = accepted(self._policy, identity, topic=ctx.topic, role=self._role(ctx)).schema
            check_schema_type(schema.schema_type, self._format)
            return schema, self._codec(schema, subject)
        key = (identity, subject)
        writer = self._writers.get(key)
        if writer is None:
            schema = _schema(registry, identity, subject)
            check_schema_type(schema.schema_type, self._format)
            writer = (schema, self._codec(schema, subject))
            remember(self._writers, key, writer, payload_bounds().plans)
        return writer


def _schema(registry: Registry, identity: _Identity, subject: str | None) -> Schema:
    try:
        if not isinstance(identity, UUID):
            return registry.schema_by_id(given_schema_id(identity), subject=subject).schema
        if isinstance(registry, GuidSource):
            return registry.schema_by_guid(str(identity))
    except RegistryAnswerError as error:
        if error.status != 404:
            raise
        raise ResolveError(
            f"The registry does not know {words_for(identity)} (error code {error.error_code}). Check that the "
            "records were written with this registry. If they were, the schema was deleted for good, and only its "
            "text can bring it back.",
            error_code=error.error_code,
        ) from error
    except EndpointNotSupportedError as error:
        raise knows_no_guids("A payload", identity) from error
    raise knows_no_guids("A payload", identity)
