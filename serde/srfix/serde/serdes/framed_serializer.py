"""Row → framed payload: the common code of the serializers of all formats with schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, cast
from uuid import UUID

from srfix.serde.arguments import (
    flag,
    flag_or_none,
    member,
    number_or_none,
    plain_row,
    strategy,
    text_or_none,
    type_words,
    usable_context,
)
from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.closing import Closing
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import Times, WrittenTimes, given_times, given_written_times
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import Format, check_schema_type
from srfix.serde.interface import Context, SchemaLookup, SchemaRegistrar
from srfix.serde.native import NativeEncode, kernel, native_codec_of
from srfix.serde.registries.given import AnyClient, given_registry
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.located_errors import ABOUT_THE_ROW, written_to
from srfix.serde.serdes.plans import ColumnPlans, EncodeOrNone, NoneForNull
from srfix.serde.serdes.schema_choices import ExistingSchema, OwnSchema, Published, SchemaChoice, SettledSchema
from srfix.serde.specs import NullableRepresentation, WriteSpec, given_representation
from srfix.serde.subjects.names import Role, SubjectStrategy, role_of
from srfix.serde.subjects.strategies import TopicSubject
from srfix.serde.wire import Framing, frame_guid, is_header_guid_set, prefix_id_bytes, set_header_guid

TOPIC_SUBJECT: Final = TopicSubject()

if TYPE_CHECKING:

    class _Base:
        def _put(self, topic: str, field: str, prefix: bytes, encoder: object, most: int, /) -> None: ...

else:
    # Its calls write, without Python, the dicts for which it has an encoder; `_call` writes all other rows.
    _Base = object if kernel() is None else kernel().Framer


class FramedWriter(_Base):
    """A serializer whose calls go to the kernel, topic by topic. Without a kernel, `_call` is the call."""

    IS_NATIVE: Final = not TYPE_CHECKING and _Base is not object
    """Whether a call goes to the kernel, which calls `_call` for the rows that it does not write."""

    def _put_native(self, ctx: Context, prefix: bytes, encode: object) -> None:
        """From now on the kernel writes the dicts of this topic and field, if `encode` belongs to it."""
        native = native_codec_of(encode)
        if native is not None and isinstance(ctx.topic, str) and isinstance(ctx.field, str):
            self._put(ctx.topic, ctx.field, prefix, native, payload_bounds().plans)


class FramedSerializer(FramedWriter, Closing):
    """Writes rows under a schema that the registry knows. Thread-safe; picklable if its registry is."""

    _format: ClassVar[Format]
    _choice: SchemaChoice

    def __init__(
        self,
        registry: SchemaRegistrar | SchemaLookup | AnyClient,
        columns: GivenColumns | None = None,
        *,
        subjects: SubjectStrategy = TOPIC_SUBJECT,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        generation: Generation = Generation.UP_TO_0_28,
        written_by: WrittenBy = WrittenBy.SERIALIZER,
        schema_id: int | None = None,
        version: int | Literal["latest"] | None = None,
        register: bool = True,
        normalize: bool = False,
        schema_id_framing: Framing = Framing.PREFIX_ID,
        full_name: str | None = None,
        validate: bool = False,
        cut_times: bool = False,
        times: WrittenTimes = "datetimes",
        nullable_representation: NullableRepresentation | None = None,
    ) -> None:
        """A serializer of columns, or of rows under an existing schema.

        :param registry: a client of srfix or confluent_kafka, a configuration of confluent_kafka's client, or a URL.
        :param columns: the columns to write: parsed, text, a dataclass, or a StructType (its names become upper case,
            like unquoted names). With `schema_id` or `version`, None means rows with the schema's field names.
        :param subjects: the strategy for the schema's subject.
        :param case_rule: the rule that matches a row's keys to the columns.
        :param wrap: whether a single column is wrapped in a record; None for ksqlDB's default.
        :param generation: the ksqlDB version whose internal schema is used.
        :param written_by: which of ksqlDB's two writers made the schema.
        :param schema_id: the id of the schema to write under. The schema must exist, and the subject must hold it.
        :param version: the version of the subject to write under.
        :param register: False if the subject must already hold the schema.
        :param normalize: True to let the registry normalise what it registers or looks up.
        :param schema_id_framing: the place of the schema's id or GUID.
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        :raises UsageError: if none of columns, schema_id and version is given, or both schema_id and version; if an
            argument has the wrong type.
        """
        is_protobuf = self._format is Format.PROTOBUF
        has_own_schema = self._format is Format.AVRO and schema_id is None and version is None
        spec = WriteSpec(
            full_name=text_or_none("full_name", full_name),
            validate=flag("validate", validate),
            cut_times=flag("cut_times", cut_times),
            times=given_written_times(times, has_own_schema=has_own_schema),
            nullable_representation=given_representation(nullable_representation, is_protobuf=is_protobuf),
            case_rule=member("case_rule", CaseRule, case_rule),
            generation=member("generation", Generation, generation),
            written_by=member("written_by", WrittenBy, written_by),
            wrap=flag_or_none("wrap", wrap),
            columns=None if columns is None else given_columns(columns, names="upper"),
        )
        _check(subjects, schema_id_framing, register=register, normalize=normalize)
        number_or_none("schema_id", schema_id)
        if version != "latest":
            number_or_none("version", version)
        registry, self._close = given_registry(registry)
        own: dict[str, Any] = {"subjects": subjects, "register": register, "normalize": normalize}
        existing: dict[str, Any] = {"schema_id": schema_id, "version": version}
        make = partial(type(self), registry, schema_id_framing=schema_id_framing, **own, **existing, **spec.options())
        self._set(schema_id_framing, make)
        plans = ColumnPlans(self._format, spec)
        if schema_id is not None or version is not None:
            if full_name and is_protobuf and schema_id_framing is Framing.HEADER_GUID:
                raise UsageError(
                    "full_name= chooses a message of an existing schema, but a header can only name the schema's first message."
                )
            self._choice = ExistingSchema(cast("SchemaLookup", registry), plans.encode_under, subjects, **existing)
            return
        if spec.columns is None:
            raise UsageError("No schema was named: pass columns, schema_id or version, or use for_schema.")
        with_guid = schema_id_framing is not Framing.PREFIX_ID
        registrar = cast("SchemaRegistrar", registry)
        choice = self._choice = OwnSchema(registrar, plans.internal_schema, plans.encode, with_guid=with_guid, **own)
        roles = roles_of(spec.columns)
        self._role = Role.VALUE if Role.VALUE in roles else Role.KEY
        # If it is known which halves there will be, columns that cannot be written raise an error at once.
        for role in roles if wrap is None or len(roles) == 1 else ():
            choice.written("", role)

    @classmethod
    def for_schema(
        cls,
        registry: SchemaRegistrar | AnyClient,
        schema: str | Schema,
        *,
        subjects: SubjectStrategy = TOPIC_SUBJECT,
        register: bool = True,
        normalize: bool = False,
        schema_id_framing: Framing = Framing.PREFIX_ID,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> Self:
        """A serializer that writes under exactly this schema: a text, or a schema with references, which are fetched
        with the first row. Rows have its field names.

        :param cut_times: True to cut times that are finer than the schema's unit; otherwise they are refused.
        :param times: `"integers"` takes times as the integers to write.
        :raises SchemaError: if the text is not a schema of the format.
        """
        spec = WriteSpec(cut_times=cut_times, times=given_times(times))
        options = {"subjects": subjects, "register": register, "normalize": normalize}
        return cls._for_schema(registry, schema, spec, schema_id_framing, options)

    @classmethod
    def _for_schema(
        cls,
        registry: SchemaRegistrar | AnyClient,
        schema: str | Schema,
        spec: WriteSpec,
        framing: Framing,
        options: Mapping[str, Any],
    ) -> Self:
        """`options` are `subjects`, `register` and `normalize`, as `OwnSchema` takes them."""
        registry, close = given_registry(registry)
        flags = {name: options[name] for name in ("register", "normalize")}
        _check(options["subjects"], framing, **flags, validate=spec.validate, cut_times=spec.cut_times)
        if not isinstance(schema, str | Schema):
            raise UsageError(f"schema is {type_words(schema)}; it must be a schema's text, or a Schema of srfix.serde.")
        serializer = cls.__new__(cls)
        serializer._close = close
        make = partial(cls.for_schema, registry, schema, schema_id_framing=framing, **options, **spec.options())
        serializer._set(framing, make)
        schema_type = str(cls._format.schema_type)
        typed_schema = Schema(text=schema, schema_type=schema_type) if isinstance(schema, str) else schema
        check_schema_type(typed_schema.schema_type, cls._format)
        plans = ColumnPlans(cls._format, spec)
        with_guid = framing is not Framing.PREFIX_ID
        choice = OwnSchema(registry, lambda _: typed_schema, plans.encode, with_guid=with_guid, **options)
        serializer._choice = choice
        if not typed_schema.references:
            choice.written("", Role.VALUE)
        return serializer

    def settle(self, topic: str, role: Role = Role.VALUE) -> SettledSchema:
        """The schema for one topic's keys or values. The registry is asked now, not with the first row, and the schema
        is registered if this serializer registers schemas. Pass the result to `settled` to make a serializer that asks
        nothing.

        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        :raises RegistryError: if the registry did not accept the schema.
        :raises ResolveError: if this serializer registers nothing, and the registry does not have the schema.
        :raises UsageError: if a GUID must be written but the registry has none, or a subject strategy has no subject.
        """
        written = self._choice.written(topic, role)
        published = self._choice.publish(written, topic, role)
        if self._framing is not Framing.PREFIX_ID:
            _guid(published)
        return SettledSchema(
            make_encode=self._choice.make_encode,
            schema=written.schema,
            references=written.references,
            published=published,
            topic=topic,
            role=role,
        )

    @classmethod
    def settled(cls, schema: SettledSchema, schema_id_framing: Framing = Framing.PREFIX_ID) -> Self:
        """A serializer for one topic's keys or values that never asks the registry. Picklable."""
        serializer = cls.__new__(cls)
        serializer._set(schema_id_framing, partial(cls.settled, schema, schema_id_framing))
        serializer._choice = schema
        serializer._role = schema.role
        return serializer

    def _set(self, framing: Framing, make: Callable[[], Self]) -> None:
        self._framing = framing
        self._make = make
        self._role = Role.VALUE
        # Without headers to write, there is one look-up per record; with headers, another table is used.
        self._plans: dict[tuple[str, str], tuple[EncodeOrNone, bytes]] = {}
        self._header_plans: dict[tuple[str, str], tuple[EncodeOrNone, UUID]] = {}

    @property
    def schema(self) -> Schema:
        """The schema of values; the schema of keys, if there are only columns for keys.

        :raises UsageError: if only the registry knows the schema (`schema_id`, `version`).
        """
        return self.schema_of(self._role)

    def schema_of(self, role: Role) -> Schema:
        """The schema of keys or values.

        :raises UsageError: if only the registry knows the schema (`schema_id`, `version`).
        :raises ColumnError: if the columns cannot be written.
        """
        if isinstance(self._choice, ExistingSchema):
            raise UsageError("The schema comes from the registry, so it is known only after the first row is written.")
        if isinstance(self._choice, SettledSchema):
            return self._choice.schema
        return self._choice.written("", role).schema

    def _call(self, row: object, ctx: Context | str) -> bytes | None:
        """The payload; None for None (a tombstone), without asking the registry, and for a bare null.

        :param row: a mapping, or a dataclass's instance.
        :param ctx: the context, or the topic's name for its values.

        :raises EncodeError: if the row does not fit; then nothing is registered.
        :raises ColumnError: if there is no column for this half, or the format cannot hold one.
        :raises RegistryError: if the registry did not accept the schema.
        :raises ResolveError: if this serializer registers nothing, and the registry does not have the schema.
        :raises UsageError: if a GUID must be written but the registry has none or the context accepts none, or a
            subject strategy has no subject for the schema.
        """
        if row is None:
            return None
        if isinstance(ctx, str):
            ctx = usable_context(ctx)
        if row.__class__ is not dict:
            row = plain_row(row)
        try:
            plan = self._plans.get((ctx.topic, ctx.field))
        except AttributeError:
            usable_context(ctx)
            raise
        if plan is None:
            return self._otherwise(row, usable_context(ctx))
        encode, prefix = plan
        try:
            return encode(row, prefix)
        except ABOUT_THE_ROW as error:
            raise written_to(error, ctx) from error

    if TYPE_CHECKING or not FramedWriter.IS_NATIVE:
        __call__ = _call

    def native_encode(self, ctx: Context) -> NativeEncode | None:
        """How the kernel writes the next rows of this context; None before the first row, and if Python writes them."""
        where = (ctx.topic, ctx.field)
        plan = self._plans.get(where)
        if plan is None:
            header_plan = self._header_plans.get(where)
            if header_plan is None or not is_header_guid_set(ctx.headers, role_of(ctx.field), header_plan[1]):
                return None
            plan = header_plan[0], b""
        encode, prefix = plan
        is_bare = isinstance(encode, NoneForNull)
        encoder = native_codec_of(encode.encode if isinstance(encode, NoneForNull) else encode)
        return None if encoder is None else NativeEncode(encoder=encoder, prefix=prefix, is_bare=is_bare)

    def _otherwise(self, row: object, ctx: Context) -> bytes | None:
        where = (ctx.topic, ctx.field)
        try:
            header_plan = self._header_plans.get(where)
            if header_plan is None:
                return self._first(row, ctx)
            encode, guid = header_plan
            payload = encode(row, b"")
        except ABOUT_THE_ROW as error:
            raise written_to(error, ctx) from error
        if payload is not None:
            before = self._format.before_body
            set_header_guid(ctx.headers, role_of(ctx.field), guid, before)
            payload = payload[len(before) :]
        return payload

    def _first(self, row: object, ctx: Context) -> bytes | None:
        role = role_of(ctx.field)
        written = self._choice.written(ctx.topic, role)
        # Neither a row that does not fit nor a null registers anything.
        if written.encode(row, b"") is None:
            return None
        published = self._choice.publish(written, ctx.topic, role)
        if self._framing is Framing.HEADER_GUID:
            self._header_plans[ctx.topic, ctx.field] = (written.encode, _guid(published))
            return self._otherwise(row, ctx)
        is_by_id = self._framing is Framing.PREFIX_ID
        prefix = prefix_id_bytes(published.schema_id) if is_by_id else frame_guid(_guid(published))
        self._plans[ctx.topic, ctx.field] = (written.encode, prefix)
        self._put_native(ctx, prefix, written.encode)
        return written.encode(row, prefix)

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        return self._make, ()


def _check(subjects: object, schema_id_framing: object, **flags: object) -> None:
    strategy("subjects", subjects)
    member("schema_id_framing", Framing, schema_id_framing)
    for name, value in flags.items():
        flag(name, value)


def _guid(published: Published) -> UUID:
    if published.guid is None:
        raise UsageError(
            f"The registry gives no GUID for the schema id {published.schema_id}; Confluent's registry gives one only "
            "from 8.0 on. Write the id into the payload instead (schema_id_framing=Framing.PREFIX_ID)."
        )
    return published.guid
