"""Topics that ksqlDB did not write are read as an independent model says: by rows, by Arrow and by Spark's workers.
Spark's engines: tests/spark/test_foreign_topics.py.

`SRFIX_FOREIGN=N` draws N other topics (`make fuzz`); a topic is told by its seed, `SRFIX_FOREIGN_SEED`, and its number.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import BadRow, RegistryClient, SerdeContext, deserialize_many
from srfix.serde.arrow import to_arrow
from srfix.serde.spark.worker.decode import PlanDecoder
from tests.serde.foreign.checking import NUMBERS, SEED, Got, Planned, differences, drawn, planned, told
from tests.serde.foreign.topics import ColumnAst

FEW = 10
"""How many topics the quick circle reads."""


@pytest.fixture(scope="module")
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


def _plain(column: ColumnAst, value: Any) -> object:
    """Arrow's value as the deserializer has it."""
    if isinstance(value, datetime.datetime) and column == "TIMESTAMP":
        assert value.utcoffset() == datetime.timedelta(0)
        return value.replace(tzinfo=datetime.UTC)
    if value is None or isinstance(column, str):
        return value
    word, inner = column
    if word == "STRUCT":
        return {name: _plain(each, value[name]) for name, each in inner.items()}
    if word == "MAP":
        return {key: _plain(inner, each) for key, each in value}
    return [_plain(inner, each) for each in value]


def _engines(given: Planned) -> Iterator[tuple[str, list[Got]]]:
    plan, payloads = given.plan, given.payloads
    ctx = SerdeContext(plan.topic)
    read = plan.deserializer()
    rows = deserialize_many(payloads, ctx, read, on_error="quarantine")
    yield "rows", [Got(None, row.reason.value) if isinstance(row, BadRow) else _row(row) for row in rows]
    batch = to_arrow(payloads, ctx, read, on_error="quarantine")
    yield "arrow", _of_arrow(batch.to_pylist(), batch.column("_srfix_reason").to_pylist(), given.columns)
    decoded = PlanDecoder(plan)(pa.array(payloads, pa.binary()))
    yield "worker", _of_arrow(decoded.field("row").to_pylist(), decoded.field("reason").to_pylist(), given.columns)


def _row(row: object) -> Got:
    return Got(row, "TOMBSTONE" if row is None else None)


def _of_arrow(rows: list[Any], reasons: list[Any], columns: dict[str, ColumnAst]) -> list[Got]:
    return [
        Got(None, reason)
        if reason is not None
        else Got({name: _plain(column, row[name]) for name, column in columns.items()}, None)
        for row, reason in zip(rows, reasons, strict=True)
    ]


def _check(number: int, registry: FixtureRegistry, client: RegistryClient) -> Iterator[str]:
    given = planned(number, drawn(number), registry, client)
    if isinstance(given, str):
        yield given
    elif given is not None:
        for engine, got in _engines(given):
            # One of an engine is enough to begin with.
            yield from list(differences(given, engine, got))[:1]


@pytest.mark.parametrize(
    "numbers", [NUMBERS[:FEW], pytest.param(NUMBERS[FEW:], marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_every_engine_reads_what_the_model_says(registry: FixtureRegistry, numbers: Sequence[int]) -> None:
    print(f"SRFIX_FOREIGN_SEED={SEED}, {len(NUMBERS)} topics")
    with RegistryClient(registry.url) as client:
        failures = [told(number, each) for number in numbers for each in _check(number, registry, client)]
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures[:15])
