"""On generated topics a worker's batches are the deserializer's rows, reasons and words, whole payloads and broken ones."""

from __future__ import annotations

import decimal
from uuid import UUID

import pyarrow as pa
from hypothesis import given

from srfix.serde.batches.batches import deserialize_many
from srfix.serde.batches.rows import BadRow, Reason
from srfix.serde.columns.types import Array, ColumnType, Map, Struct
from srfix.serde.errors import ColumnError, ResolveError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.models import Schema
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.spark.interface import PlannedSchema
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.worker.decode import PlanDecoder
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId, frame_id
from tests.serde.fuzz.same import same
from tests.serde.spark.worker.avro_worlds import Topic, avro_topics


class _Nobody:
    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        raise ResolveError(f"There is no schema id {schema_id}.")

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        raise ResolveError(f"There is no schema {guid}.")


def _plan(topic: Topic) -> ReadPlan:
    schemas = (
        ResolvedSchema(schema_id=SchemaId(place), schema=Schema(text=text)) for place, text in enumerate(topic.whole, 1)
    )
    return ReadPlan(
        topic="t",
        role=Role.VALUE,
        format=Format.AVRO,
        columns=topic.columns,
        wrapped=True,
        case_rule=topic.case_rule,
        policy=_Nobody(),
        schemas=tuple(PlannedSchema(resolved=resolved, format=Format.AVRO) for resolved in schemas),
    )


def _from_arrow(value: object, type_: ColumnType) -> object:
    """As the deserializer has it: maps are dicts, decimals have the column's digits either way."""
    if value is None:
        return None
    match type_:
        case Struct(fields):
            assert isinstance(value, dict)
            return {field.name: _from_arrow(value[field.name], field.type) for field in fields}
        case Array(items):
            assert isinstance(value, list)
            return [_from_arrow(item, items) for item in value]
        case Map(values):
            assert isinstance(value, list)
            return {key: _from_arrow(item, values) for key, item in value}
        case _:
            return value


def _has_null_key(value: object) -> bool:
    match value:
        case dict():
            return None in value or any(map(_has_null_key, value.values()))
        case list():
            return any(map(_has_null_key, value))
        case _:
            return False


@given(topic=avro_topics(bodies=8))
def test_a_workers_batch_is_what_the_deserializer_gives(topic: Topic) -> None:
    plan = _plan(topic)
    payloads = [None, *(frame_id(place + 1, body) for place, body in (*topic.bodies, *topic.broken))]
    try:
        decoder = PlanDecoder(plan)
    except ColumnError:
        return
    batch = decoder(pa.array(payloads, pa.binary())).to_pylist()
    expected = deserialize_many(payloads, SerdeContext("t"), plan.deserializer(), on_error="quarantine")
    for payload, wanted, got in zip(payloads, expected, batch, strict=True):
        where = (payload, wanted, got)
        if isinstance(wanted, BadRow):
            assert (got["row"], got["reason"], got["message"]) == (None, wanted.reason.value, wanted.error.message), (
                where
            )
        elif wanted is None:
            assert (got["row"], got["reason"], got["message"]) == (None, Reason.TOMBSTONE.value, None), where
        elif _has_null_key(wanted):
            assert (got["row"], got["reason"]) == (None, Reason.BAD_VALUE.value), where
        else:
            assert (got["reason"], got["message"]) == (None, None), where
            assert same(_plain(_from_arrow(got["row"], Struct(plan.columns))), _plain(wanted)), where


def _plain(value: object) -> object:
    match value:
        case decimal.Decimal():
            return value.as_tuple()
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case list():
            return [_plain(part) for part in value]
        case _:
            return str(value) if hasattr(value, "tzinfo") and hasattr(value, "year") else value
