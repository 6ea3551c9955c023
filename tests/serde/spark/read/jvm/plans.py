"""Plans of the jvm engine's tests: schemas given as Python, ids from 1 on, and no registry behind them."""

from __future__ import annotations

import json
from typing import TypeAlias

from srfix.serde import ById, CaseRule, ResolvedSchema, Role, Schema, parse_columns
from srfix.serde.formats.table import Format
from srfix.serde.spark import PlannedRefusal, PlannedSchema, ReadPlan
from srfix.serde.specs import ReadSpec
from srfix.serde.wire import SchemaId
from tests.serde.fakes import MemoryRegistry

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"


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
        policy=ById(MemoryRegistry()),
        schemas=tuple(
            schema if isinstance(schema, PlannedSchema) else planned(number, schema)
            for number, schema in enumerate(schemas, 1)
        ),
        refusals=refusals,
    )
