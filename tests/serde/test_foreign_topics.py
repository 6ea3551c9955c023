"""Topics that ksqlDB did not write are read as an independent model says: by rows, by Arrow and by Spark's workers.

`SRFIX_FOREIGN=N` draws N other topics (`make fuzz`); a topic is told by its seed, `SRFIX_FOREIGN_SEED`, and its number.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from random import Random, SystemRandom
from typing import Any, Final

import pyarrow as pa
import pytest

from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.arrow import to_arrow
from srfix.serde.batches import BadRow, deserialize_many
from srfix.serde.columns import Array, ColumnType, Decimal, Map, Struct
from srfix.serde.errors import ColumnError, SrfixError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry import RegistryClient
from srfix.serde.spark import NEWEST, ReadPlan, plan_read
from srfix.serde.spark._worker import PlanDecoder
from srfix.serde.wire import frame_id
from tests.serde.foreign_topics import (
    ColumnAst,
    Either,
    ForeignTopic,
    draw_topic,
    has_no_feeder,
    row_of,
    text_of,
)
from tests.serde.fuzz.same import same
from tests.serde.logical_types import REFUSED

TOPICS: Final = int(os.environ.get("SRFIX_FOREIGN", "0")) or 300
_IS_NEW: Final = "SRFIX_FOREIGN" in os.environ
SEED: Final = int(os.environ.get("SRFIX_FOREIGN_SEED", SystemRandom().randrange(10**9) if _IS_NEW else 14))
ONLY: Final = os.environ.get("SRFIX_FOREIGN_TOPIC")
_TIMES: Final = ("DATE", "TIME", "TIMESTAMP")


@pytest.fixture(scope="module")
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


def _ast(type_: ColumnType) -> ColumnAst:
    match type_:
        case Struct(columns):
            return ("STRUCT", {each.name: _ast(each.type) for each in columns})
        case Array(items):
            return ("ARRAY", _ast(items))
        case Map(values):
            return ("MAP", _ast(values))
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
    return type_.name


def _plain(column: ColumnAst, value: Any) -> object:
    """Arrow's value as the deserializer has it."""
    if isinstance(value, datetime.datetime):
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


def _has_time(column: ColumnAst) -> bool:
    if isinstance(column, str):
        return column in _TIMES
    return any(map(_has_time, column[1].values())) if column[0] == "STRUCT" else _has_time(column[1])


def _agrees(expected: object, got: object) -> bool:
    if isinstance(expected, Either):
        return got is REFUSED or _agrees(expected.value, got)
    if isinstance(expected, dict) and isinstance(got, dict):
        return list(expected) == list(got) and all(_agrees(expected[name], got[name]) for name in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(_agrees, expected, got))
    # Decimals differ in their digits only, 1.5 and 1.500000000.
    return same(expected, got) or (type(expected) is type(got) and type(got).__name__ == "Decimal" and expected == got)


def _engines(
    plan: ReadPlan, payloads: list[bytes], columns: dict[str, ColumnAst]
) -> Iterator[tuple[str, list[object]]]:
    ctx = SerdeContext(plan.topic)
    read = plan.deserializer()
    rows = deserialize_many(payloads, ctx, read, on_error="quarantine")
    yield "rows", [REFUSED if isinstance(row, BadRow) else row for row in rows]
    batch = to_arrow(payloads, ctx, read, on_error="quarantine")
    yield "arrow", _of_arrow(batch.to_pylist(), batch.column("_srfix_reason").to_pylist(), columns)
    decoded = PlanDecoder(plan)(pa.array(payloads))
    yield "worker", _of_arrow(decoded.field("row").to_pylist(), decoded.field("reason").to_pylist(), columns)


def _of_arrow(rows: list[Any], reasons: list[object], columns: dict[str, ColumnAst]) -> list[object]:
    return [
        REFUSED if reason is not None else {name: _plain(column, row[name]) for name, column in columns.items()}
        for row, reason in zip(rows, reasons, strict=True)
    ]


def _check(number: int, topic: ForeignTopic, registry: FixtureRegistry, client: RegistryClient) -> Iterator[str]:
    ids = [registry.seed(f"t{number}-value", version.text()) for version in topic.versions]
    payloads = [frame_id(ids[row.version], row.body) for row in topic.rows]
    columns = topic.columns
    declared = columns and ", ".join(f"`{name}` {text_of(column)}" for name, column in columns.items())
    try:
        plan = plan_read(
            client, f"t{number}", declared or NEWEST, missing_columns="null" if topic.takes_missing else "error"
        )
    except ColumnError as error:
        # By what README says: a column that nothing feeds, and days or instants that no version can fill.
        if columns is None:
            if "no column" not in str(error).lower():
                yield f"the plan of NEWEST is refused: {error}"
        elif not (has_no_feeder(topic) and not topic.takes_missing) and not any(map(_has_time, columns.values())):
            yield f"the plan is refused: {error}"
        return
    except SrfixError as error:
        yield f"the plan is refused, {type(error).__name__}: {error}"
        return
    if columns is None:
        columns = {column.name: _ast(column.type) for column in plan.columns}
    elif has_no_feeder(topic) and not topic.takes_missing:
        yield "the plan is not refused, though no version feeds a column"
    wanted = [row_of(topic, row, columns) for row in topic.rows]
    for engine, got in _engines(plan, payloads, columns):
        for row, expected, value in zip(topic.rows, wanted, got, strict=True):
            if not _agrees(expected, value):
                yield (
                    f"{engine}: {topic.versions[row.version].text()}\n  body {row.body.hex()}\n  columns "
                    f"{declared or 'NEWEST ' + topic.versions[-1].text()}\n  got {value!r}\n  expected {expected!r}"
                )
                break


def test_every_engine_reads_what_the_model_says(registry: FixtureRegistry) -> None:
    failures = []
    with RegistryClient(registry.url) as client:
        for number in [int(ONLY)] if ONLY else range(TOPICS):
            topic = draw_topic(Random(f"{SEED}-{number}"))
            said = list(_check(number, topic, registry, client))
            failures += [f"SRFIX_FOREIGN_SEED={SEED} SRFIX_FOREIGN_TOPIC={number}: {each}" for each in said]
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures[:15])
