"""How a topic's payloads become rows: decided once, on the driver, in plain Python.

A plan holds every schema that the payloads are known to carry, under which subject it was found, and which writer field
feeds which column. It is picklable, printable (`explain`), and works without Spark.

The schemas are those of all versions, live and soft-deleted, of the policy's subjects (the topic's own, for `ById` and
for strategies that make subjects of records' names), of `subjects`, and those of `ids`. What is not among them, a GUID in
a header above all, is resolved where it is met.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from srfix.serde.bounds import PayloadBounds, payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.from_spark import spark_schema
from srfix.serde.columns.text import print_columns
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
)
from srfix.serde.formats.avro.read.resolution import ReaderSchema
from srfix.serde.formats.json_schema import reference_name
from srfix.serde.formats.table import Format
from srfix.serde.html import preformatted
from srfix.serde.interface import Deserializer
from srfix.serde.registries.given import AnyClient, usable_registry
from srfix.serde.resolve.policies import Resolver
from srfix.serde.serdes.framed_deserializer import FramedDeserializer
from srfix.serde.spark.interface import ListedVersion, NewestSchema, PlannedRefusal, PlannedSchema
from srfix.serde.spark.read.digest import digest_of
from srfix.serde.spark.read.explain import explanation
from srfix.serde.spark.read.filling import filled
from srfix.serde.spark.read.kept import Kept
from srfix.serde.spark.read.plan_registry import Asked, PlanRegistry
from srfix.serde.spark.read.planned_resolver import PlannedResolver
from srfix.serde.spark.read.summary import summary
from srfix.serde.subjects.names import Role, Subject

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


_DESERIALIZERS: Final[dict[Format | None, type[FramedDeserializer]]] = {
    Format.AVRO: AvroDeserializer,
    Format.JSON_SR: JsonSchemaDeserializer,
    None: SchemaDeserializer,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadPlan:
    """How payloads are read. Made by `plan_read`.

    Plans are equal if they decide the same (`digest`). Picklable if the policy is; literal secrets refuse to travel.
    """

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
    policy: Resolver | None
    """What is asked for an id that the plan does not hold; None for a format without schemas."""
    subjects: tuple[Subject, ...] = ()
    """The subjects whose versions were listed."""
    listed: tuple[ListedVersion, ...] = ()
    """Their versions, live and soft-deleted."""
    schemas: tuple[PlannedSchema, ...] = ()
    """By ascending id."""
    refusals: tuple[PlannedRefusal, ...] = ()
    """Ids that the policy did not accept, ascending."""
    strict: bool = False
    """True if a row of which any column is not fed is bad; False if one of which none is."""
    newest: NewestSchema | None = None
    """Where the columns are from, if they are `NEWEST`."""
    reader: ReaderSchema | None = None
    """The Avro schema whose aliases and defaults count: the one that was given, or with `NEWEST` the newest, if it has any."""
    times: Times = "datetimes"
    """`"integers"` if a DATE, TIME or TIMESTAMP is the integer that stands in the record."""
    declared: Columns = ()
    """The columns before `times` made integers of them, which decide what feeds them; empty where they are the same."""
    bounds: PayloadBounds = field(default_factory=payload_bounds, compare=False)
    """What a payload may take in a worker (`srfix.serde.bounds`): the driver's, when the plan was made."""
    kept: Kept = field(default_factory=Kept, init=False, compare=False)
    """What engines have made of the plan, in this process."""

    def deserializer(self) -> Deserializer:
        """What reads a payload, in this process: rows are dicts of `columns`. Both engines give the same rows."""
        columns, times = self.declared or self.columns, self.times
        if self.format is Format.JSON:
            return JsonDeserializer(
                columns, case_rule=self.case_rule, wrap=self.wrapped, strict=self.strict, times=times
            )
        if self.format is Format.KAFKA:
            return KafkaDeserializer(self.columns)
        assert self.policy is not None
        found = (schema.resolved for schema in self.schemas)
        resolver = PlannedResolver(self.policy, found, topic=self.topic, role=self.role)
        kind = _DESERIALIZERS[self.format]
        options: dict[str, Any] = {} if self.reader is None else {"reader_schema": self.reader}
        options |= {"case_rule": self.case_rule, "wrap": self.wrapped, "strict": self.strict, "times": times}
        return kind(resolver, columns=columns, **options)

    def spark_schema(self) -> str:
        """The rows' schema in Spark's JSON.

        :raises ColumnError: if Spark has no such type.
        """
        return spark_schema(self.columns)

    @property
    def schema(self) -> StructType:
        """The rows' schema, as Spark's own: what the struct has that a reader makes. Needs pyspark.

        :raises ColumnError: if Spark has no such type.
        """
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self.spark_schema()))

    def _repr_html_(self) -> str:
        return preformatted(self.explain())

    def explain(self, extended: bool = False) -> str:
        """The plan for a person, in at most ten lines: columns, which ids are read, whose rows are bad and why, which
        columns stay null.

        :param extended: True for all of it: which writer field feeds which column, for which id, under which subject; what
            was refused, and what each engine makes of it.
        """
        return explanation(self) if extended else summary(self)

    def refreshed(self, registry: PlanRegistry | AnyClient) -> ReadPlan:
        """The plan with the versions that its subjects have got since; asks for those alone, and again for the ids that
        were refused. Columns stay as they are, `NEWEST` ones too.

        :raises RegistryError: if the registry could not be asked.
        """
        if self.policy is None:
            return self
        return filled(
            self,
            Asked(cast("PlanRegistry", usable_registry(registry))),
            (refusal.schema_id for refusal in self.refusals),
        )

    @property
    def digest(self) -> str:
        """64 hexadecimal digits: a hash of all that decides how a payload is read, the same in every process."""
        schemas = [
            (
                planned.schema_id,
                planned.resolved.schema,
                [(text, reference_name(text)) for text in planned.resolved.references],
            )
            for planned in self.schemas
        ]
        refusals = [(refusal.schema_id, refusal.reason) for refusal in self.refusals]
        columns = print_columns(self.columns)
        how = (self.topic, self.role, self.format, columns, self.wrapped, self.case_rule, self.strict, self.policy)
        return digest_of((*how, self.reader, schemas, refusals))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ReadPlan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        format_ = "Avro and JSON_SR by schema" if self.format is None else self.format.value
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        return (
            f"ReadPlan({self.role.value}s of {self.topic!r}, {format_}, {len(self.columns)} columns, "
            f"{len(self.schemas)} schemas{refused})"
        )
