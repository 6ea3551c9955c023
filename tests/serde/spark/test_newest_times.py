"""`times="integers"` where the columns are the newest schema's, or integers themselves."""

from __future__ import annotations

import json

import pytest

from srfix.serde import AvroDeserializer, RegistryClient, SrfixError, confluent
from srfix.serde.spark import NEWEST, plan_read
from srfix.serde.spark.source.frame import frame_of, plan_of, with_columns
from srfix.serde.spark.source.options import Use, source_options

CONNECTS = {"connect.name": "org.apache.kafka.connect.data.Time", "connect.version": 1}
TIME = {"type": "int", "logicalType": "time-millis", **CONNECTS}
SCHEMA = json.dumps({"type": "record", "name": "R", "fields": [{"name": "T", "type": TIME}]})


NUMBERS = (5, 86_400_001, -1)


def payloads(client: RegistryClient) -> list[bytes | None]:
    """A time of the day, and numbers that are none."""
    write = confluent.AvroSerializer(client, SCHEMA, conf={"times": "integers"})
    return [write({"T": number}, "t") for number in NUMBERS]


@pytest.mark.parametrize("column", ["T TIME", "T INT", "T BIGINT"])
def test_a_number_that_is_no_time_of_day_is_read_whatever_the_column(client: RegistryClient, column: str) -> None:
    read = AvroDeserializer(client, columns=column, times="integers")
    assert [read.row(payload or b"", "t") for payload in payloads(client)] == [{"T": number} for number in NUMBERS]


@pytest.mark.parametrize("columns", ["T TIME", None])
def test_the_data_source_plans_as_plan_read_does(client: RegistryClient, columns: str | None) -> None:
    """Seen: a Connect Time beyond its day was a bad row there, for its columns are integers; NEWEST left it out."""
    payloads(client)
    given = {"topic": "t", "kafka.bootstrap.servers": "b:9092", "registry": client.url, "times": "integers"}
    options = with_columns(source_options(given | ({} if columns is None else {"columns": columns}), Use.BATCH))
    plan = plan_of(options, frame_of(options))
    assert plan is not None
    assert plan.times == "integers"
    for named in ("T TIME", NEWEST):
        assert plan.columns == plan_read(client, "t", named, times="integers").columns


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"columns": "NOPE INT"},
            "give the option subject whose versions have these fields, or set the option missing.columns (null)",
        ),
        (
            {"columns": "T TIME", "strict": "true", "missing.columns": "null"},
            "^The option strict (true) requires every column",
        ),
        (
            {"columns": "T TIME", "reader.schema": SCHEMA, "case.rule": "ksqldb"},
            "^The option reader.schema needs Avro's",
        ),
    ],
)
def test_the_data_source_speaks_of_its_own_options(client: RegistryClient, more: dict[str, str], words: str) -> None:
    payloads(client)
    given = {"topic": "t", "kafka.bootstrap.servers": "b:9092", "registry": client.url, **more}
    options = with_columns(source_options(given, Use.BATCH))
    with pytest.raises(SrfixError) as caught:
        plan_of(options, frame_of(options))
    said = caught.value.message
    assert said.startswith(words[1:]) if words.startswith("^") else words in said
