"""Plans of the jvm engine's tests: schemas given as Python, ids from 1 on, and no registry behind them."""

from __future__ import annotations

import json
from typing import TypeAlias
from uuid import UUID

from srfix.serde import CaseRule, ResolvedSchema, ResolveError, Role, Schema, parse_columns
from srfix.serde.formats.table import Format
from srfix.serde.spark import PlannedRefusal, PlannedSchema, ReadPlan
from srfix.serde.specs import ReadSpec
from srfix.serde.wire import SchemaId

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"


class NoPolicy:
    """Knows nothing that the plan does not."""

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        raise ResolveError(f"There is no schema id {schema_id}.")

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        raise ResolveError(f"There is no schema {guid}.")


def planned(
    schema_id: int, schema: Json, *, references: tuple[str, ...] = (), schema_type: str = "AVRO"
) -> PlannedSchema:
    text = schema if isinstance(schema, str) and schema.startswith("{") else json.dumps(schema)
    resolved = ResolvedSchema(
        schema_id=SchemaId(schema_id), schema=Schema(text=text, schema_type=schema_type), references=references
    )
    return PlannedSchema(resolved=resolved, format=Format.AVRO if schema_type == "AVRO" else Format.JSON_SR)


def plan_of(
    columns: str,
    *schemas: Json | PlannedSchema,
    case_rule: CaseRule = CaseRule.UNIQUE,
    wrapped: bool = True,
    format: Format | None = Format.AVRO,  # noqa: A002 - its name everywhere
    refusals: tuple[PlannedRefusal, ...] = (),
) -> ReadPlan:
    """A plan for these writer schemas; the first has the id 1."""
    return ReadPlan(
        topic="t",
        role=Role.VALUE,
        format=format,
        spec=ReadSpec(columns=parse_columns(columns), wrap=wrapped, case_rule=case_rule),
        policy=NoPolicy(),
        schemas=tuple(
            schema if isinstance(schema, PlannedSchema) else planned(number, schema)
            for number, schema in enumerate(schemas, 1)
        ),
        refusals=refusals,
    )
