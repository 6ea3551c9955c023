"""How a command reads bytes: the deserializer and the resolve policy that its options describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

from srfix.cli.options.values import BY_ID, DUAL_SUBJECT, ONE_SUBJECT
from srfix.cli.output.speaking import say_aside
from srfix.serde.casing import CaseRule
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS, Format, usable_delimiter
from srfix.serde.interface import Context, Value
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, SubjectStrategy, split_context, split_subject, subject_for
from srfix.serde.windowed import WindowKind

if TYPE_CHECKING:
    from srfix.recovery.facts.decoding import Deserializer
    from srfix.serde.columns.times import Times
    from srfix.serde.columns.types import Columns
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered
    from srfix.serde.specs import NullableRepresentation, ReadSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    roles: tuple[Role, ...]
    format: Format | None
    """Their format; None to use the schema's format."""
    columns: Columns | None
    """The columns of the key or the value, or of both if some are marked as KEY; None to keep the writer's fields."""
    wrap: bool | None = None
    """Whether a single column is wrapped in a record; None for ksqlDB's rule."""
    case_rule: CaseRule = CaseRule.UNIQUE
    times: Times = "datetimes"
    delimiter: str | None = None
    nullable_representation: NullableRepresentation | None = None
    window: WindowKind | None = None
    schema: str | None = None
    """The writer schema, if srfix must not ask a registry."""
    references: tuple[str, ...] = ()
    """The files that a Protobuf schema imports."""
    is_framed: bool = False
    """With `schema`: True if an id stands before the body."""

    @property
    def asks_a_registry(self) -> bool:
        """True if the bytes hold a schema id and no schema was given."""
        return self.schema is None and (self.format is None or self.format in SCHEMA_FORMATS)

    def check(self, *, of_records: bool) -> None:
        from srfix.serde.columns.half import key_columns
        from srfix.serde.specs import given_representation

        if self.columns is not None and not key_columns(self.columns) and len(self.roles) > 1 and self.wrap is False:
            raise UsageError("--unwrapped with both roles needs columns that mark the KEY.")
        given_representation(self.nullable_representation, is_protobuf=self.format is Format.PROTOBUF_NOSR)
        if self.window is not None and Role.KEY not in self.roles:
            raise UsageError("--window is for keys: give --role key.")
        if self.is_framed and self.schema is None:
            raise UsageError("--framed needs --schema. Without --schema, srfix always takes bytes as framed.")
        if self.schema is not None and self.format is not None and self.format not in SCHEMA_FORMATS:
            raise UsageError(f"The format {self.format.value} has no schemas: leave out --schema.")
        if of_records and self.schema is not None:
            raise UsageError("--schema is only for --payload. Records carry the id of their schema.")
        if not of_records and len(self.roles) > 1:
            raise UsageError("A payload is a key or a value: give --role key or --role value.")

    def deserializer(self, resolver: Resolver, role: Role) -> Deserializer:
        from srfix.serde.deserializer import WindowedDeserializer

        read = self._bare(resolver, role)
        if self.window is None or role is not Role.KEY:
            return read
        windowed = WindowedDeserializer(read, self.window)

        def as_row(payload: bytes | None, ctx: Context) -> Value:
            windowed_key = windowed(payload, ctx)
            if windowed_key is None:
                return None
            window: Value = {"start_ms": windowed_key.window.start_ms, "end_ms": windowed_key.window.end_ms}
            return {"key": windowed_key.key, "window": window}

        return as_row

    def _bare(self, resolver: Resolver, role: Role) -> Deserializer:
        from srfix.serde.columns.half import key_columns
        from srfix.serde.deserializer import deserializer_of
        from srfix.serde.specs import ReadSpec

        columns = self.columns
        if columns is not None and not key_columns(columns) and role is Role.KEY and len(self.roles) > 1:
            columns = None  # unmarked columns belong to the value
        if self.format is not None and self.format.needs_columns and columns is None:
            raise UsageError(f'The format {self.format.value} needs its columns, for example --columns "ID BIGINT".')
        spec = ReadSpec(
            columns=columns,
            case_rule=self.case_rule,
            wrap=self.wrap,
            times=self.times,
            delimiter=usable_delimiter(self.delimiter, self.format),
            nullable_representation=self.nullable_representation,
        )
        if self.schema is None:
            return deserializer_of(self.format, spec, resolver)
        return self._under(self.schema, spec, role)

    def _under(self, text: str, spec: ReadSpec, role: Role) -> Deserializer:
        from srfix.recovery.facts.decoding import OneSchema
        from srfix.serde.deserializer import deserializer_of
        from srfix.serde.serdes.plans import decode_plan

        format_ = self.format or Format.AVRO
        if self.is_framed:
            given = Schema(text=text, schema_type=str(format_.schema_type))
            return deserializer_of(format_, spec, OneSchema(given, self.references))
        plan = cache(lambda: decode_plan(format_, text, spec.half(role, format_.wraps), self.references))
        return lambda payload, ctx: None if payload is None else plan()(payload, 0)


class NoRegistry:
    """A resolver for bytes that name no schema. Nothing ever asks it."""

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        raise UsageError(f"srfix needs a registry to look up schema id {schema_id}. Give --registry.")

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        raise UsageError(f"srfix needs a registry to look up the schema {guid}. Give --registry.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    policy: str | None
    """One of the three policies; None to choose by the subjects that were named."""
    subject: str | None
    second_subject: str | None
    application: str | None
    """With `store`: the application of the store whose changelog subject is asked."""
    store: str | None

    def resolver(
        self,
        registry: RegistryClient,
        roles: tuple[Role, ...],
        *,
        has_topic: bool = True,
        on_second: Callable[[SecondAnswered], None] | None = None,
    ) -> Resolver:
        """Without a topic, no subject is named after it. `on_second` is called when a second subject answered. With None,
        srfix prints a line on standard error."""
        from srfix.serde.resolve.policies import ById, DualSubject, UnderOneSubject
        from srfix.serde.subjects.strategies import TopicSubject

        first = self._first(roles)
        second = None if self.second_subject is None else _named(self.second_subject, roles, option="--second-subject")
        policy = self.policy
        if policy is None:
            policy = DUAL_SUBJECT if second is not None else BY_ID if first is None else ONE_SUBJECT
        if second is not None and policy != DUAL_SUBJECT:
            raise UsageError(f"--second-subject is only for --resolve {DUAL_SUBJECT}.")
        if policy == BY_ID:
            named = DEFAULT_CONTEXT if self.subject is None else split_context(self.subject)[0]
            return ById(registry, context=named)
        if policy == ONE_SUBJECT:
            if first is None and not has_topic:
                raise UsageError(
                    f"--resolve {ONE_SUBJECT} needs a subject: give TOPIC, --subject, or --application and --store."
                )
            return UnderOneSubject(registry, first or TopicSubject())
        if first is None:
            raise UsageError(
                f"--resolve {DUAL_SUBJECT} needs the first subject: --subject, or --application and --store."
            )
        if second is None and not has_topic:
            raise UsageError(f"--resolve {DUAL_SUBJECT} needs the second subject: give TOPIC, or --second-subject.")
        return DualSubject(
            registry,
            first=first,
            second=second or TopicSubject(),
            on_second=on_second or (lambda answered: say_aside(answered.note)),
        )

    def _first(self, roles: tuple[Role, ...]) -> SubjectStrategy | None:
        """The subject that the user named, or the subject of the named store; None if the user named neither."""
        from srfix.serde.subjects.strategies import ChangelogSubject

        if self.subject is not None:
            return _named(self.subject, roles, option="--subject")
        if self.store is None:
            return None
        if self.application is None:
            raise UsageError("--store needs --application, because the changelog subject is named after both.")
        return ChangelogSubject(application=self.application, store=self.store)


def _named(subject: str, roles: tuple[Role, ...], *, option: str) -> SubjectStrategy:
    from srfix.serde.subjects.strategies import FixedSubject

    split = split_subject(subject)
    if len(roles) == 1:
        return FixedSubject(**{roles[0].value: subject})
    if split is None:
        raise UsageError(
            f"{option} {subject} does not end in -key or -value, so it cannot be used for both keys and values: "
            "give --role key or --role value."
        )
    return FixedSubject(key=subject_for(split[0], Role.KEY), value=subject_for(split[0], Role.VALUE))
