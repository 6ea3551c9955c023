"""How a topic's payloads become rows: decided once, on the driver, in plain Python.

A plan holds every schema that the payloads are known to carry, under which subject it was found, and which writer field
feeds which column. It is picklable, printable (`explain`), and works without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from srfix.serde._column_types import Columns
from srfix.serde._columns_from_spark import SparkSchema
from srfix.serde._framed_deserializer import FramedDeserializer
from srfix.serde._half import Half, half_of
from srfix.serde.batches import reason_of
from srfix.serde.casing import CaseRule
from srfix.serde.columns import columns_from_spark, parse_columns, spark_schema
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer, JsonSchemaDeserializer, SchemaDeserializer
from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.formats.table import Format, format_of
from srfix.serde.interface import Deserializer, SerdeRegistry
from srfix.serde.registry.models import Schema
from srfix.serde.resolve import ById, Resolver
from srfix.serde.spark._planned_resolver import PlannedResolver
from srfix.serde.spark.interface import PlannedRefusal, PlannedSchema
from srfix.serde.subjects import Role, Subject, TopicSubject
from srfix.serde.wire import SchemaId

__all__ = ["NEWEST", "PlanRegistry", "ReadPlan", "plan_read"]


class Newest:
    """The type of `NEWEST`."""

    def __repr__(self) -> str:
        return "NEWEST"


_DESERIALIZERS: Final[dict[Format, type[FramedDeserializer]]] = {
    Format.AVRO: AvroDeserializer,
    Format.JSON_SR: JsonSchemaDeserializer,
}

NEWEST: Final = Newest()
"""The columns that the newest schema has, in its own letters."""


class PlanRegistry(SerdeRegistry, Protocol):
    """What a plan asks: `RegistryClient` is one."""

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """The version numbers of a subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """How payloads are read. Made by `plan_read`."""

    topic: str
    """The topic, by which subjects are named."""
    role: Role
    """Keys or values."""
    format: Format | None
    """What bodies are written in; None where each schema's type says it (Avro and JSON_SR in one topic)."""
    columns: Columns
    """What a row has, in this order: the columns of this half."""
    wrapped: bool
    """False if a body is the bare value of the only column."""
    case_rule: CaseRule
    """Which field feeds which column."""
    policy: Resolver
    """What is asked for an id that the plan does not hold."""
    schemas: tuple[PlannedSchema, ...]
    """By ascending id."""
    refusals: tuple[PlannedRefusal, ...]
    """Ids that the policy did not accept, ascending."""

    def deserializer(self) -> Deserializer:
        """What reads a payload, in this process: rows are dicts of `columns`. Both engines give the same rows."""
        if self.format is Format.JSON:
            return JsonDeserializer(self.columns, case_rule=self.case_rule, wrap=self.wrapped)
        kind: type[FramedDeserializer] = SchemaDeserializer if self.format is None else _DESERIALIZERS[self.format]
        resolver = PlannedResolver(self.policy, (schema.resolved for schema in self.schemas))
        return kind(resolver, columns=self.columns, case_rule=self.case_rule, wrap=self.wrapped)

    def spark_schema(self) -> str:
        """The rows' schema in Spark's JSON.

        :raises ColumnError: if Spark has no such type.
        """
        return spark_schema(self.columns)


def plan_read(
    registry: PlanRegistry,
    topic: str,
    columns: Columns | SparkSchema | Newest,
    *,
    role: Role = Role.VALUE,
    format: Format | None = Format.AVRO,  # noqa: A002 - its name everywhere
    case_rule: CaseRule = CaseRule.UNIQUE,
    wrap: bool | None = None,
    policy: Resolver | None = None,
    subjects: Iterable[Subject] = (),
    ids: Iterable[int] = (),
) -> ReadPlan:
    """Asks the registry for all that the payloads of a topic may carry.

    :param columns: the columns, as SQL text or parsed; a StructType; or `NEWEST`.
    :param policy: which ids are accepted; None is by id alone.
    :param subjects: subjects beside the policy's own, whose schemas the payloads may carry.
    :param ids: ids beside those of the subjects.
    """
    policy = ById(registry) if policy is None else policy
    if isinstance(columns, Newest):
        raise UsageError("not yet")
    half = half_of(_columns(columns), role, wrap)
    found: list[PlannedSchema] = []
    refused: list[PlannedRefusal] = []
    for schema_id in sorted({*ids, *_known(registry, (*_subjects(policy, topic, role), *subjects))}):
        try:
            resolved = policy.resolve(schema_id, topic=topic, role=role)
        except ResolveError as error:
            reason = reason_of(error)
            assert reason is not None
            refused.append(PlannedRefusal(schema_id=SchemaId(schema_id), reason=reason, error=error))
        else:
            planned = PlannedSchema(resolved=resolved, format=format_of(resolved.schema.schema_type))
            found.append(_planned(resolved.schema, half, planned))
    return ReadPlan(
        topic=topic,
        role=role,
        format=format,
        columns=half.columns,
        wrapped=half.wrapped,
        case_rule=case_rule,
        policy=policy,
        schemas=tuple(found),
        refusals=tuple(refused),
    )


def _planned(schema: Schema, half: Half, planned: PlannedSchema) -> PlannedSchema:
    return planned


def _columns(columns: Columns | SparkSchema) -> Columns:
    if isinstance(columns, tuple):
        return columns
    if isinstance(columns, str) and not columns.lstrip().startswith("{"):
        return parse_columns(columns)
    return columns_from_spark(columns)


def _subjects(policy: Resolver, topic: str, role: Role) -> tuple[Subject, ...]:
    return (TopicSubject()(topic, role),)


def _known(registry: PlanRegistry, subjects: Iterable[Subject]) -> Iterator[int]:
    for subject in subjects:
        for version in registry.versions(subject):
            yield registry.version(subject, version).schema_id
