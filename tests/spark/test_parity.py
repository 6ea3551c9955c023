"""On generated topics both engines give the deserializer's rows, or the jvm engine has refused; and on a hundred thousand
rows of three ids, or as many as PARITY says, by their sums (`make test-spark PARITY=1000000`)."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from hypothesis import Phase, given, settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.batches.rows import Reason, reason_of
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import ColumnError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.models import SchemaReference
from srfix.serde.serializer import JsonSchemaSerializer, JsonSerializer
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.read.planning import NEWEST, plan_read
from srfix.serde.spark.reading import from_registry
from srfix.serde.spark.releases import require_arrow
from srfix.serde.wire import frame_id
from tests.bench import spark_data
from tests.serde.fuzz.avro_reference import AvroReference, Beyond, Json, Refused
from tests.spark.avro_worlds import Topic, avro_topics
from tests.spark.parity import HAS_ARROW, Compared, Payloads, compare

TOPICS: Final = 40
ROWS: Final = int(os.environ.get("PARITY", "100000"))

# What the jvm engine's `unseen` says of bodies that the deserializer refuses, in the deserializer's words.
WRONG_SIZE: Final = "a block has the size that it says"
READ_BY_JVM: Final = re.compile(r"a boolean of the byte|32 bits|has the index -?[0-9]{10,},")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was compared, with what is known of the payload."""

    compared: Compared
    writer: str
    """The whole writer schema."""
    body: bytes
    is_whole: bool
    """As it was written."""

    @property
    def fault(self) -> str | None:
        """What the body has against the letter of the specification; None if it is a value of the writer schema."""
        try:
            _ToTheLetter(self.writer, logical=False).read(self.body)
        except (Refused, Beyond) as fault:
            return str(fault)
        return None

    @property
    def is_overwritten(self) -> bool:
        """All that is wrong with it: strings that are not UTF-8, in entries of maps that a later one of their key replaces."""
        try:
            made = _Replacing(self.writer, logical=False).read(self.body)
        except (Refused, Beyond):
            return False
        return "\N{REPLACEMENT CHARACTER}" not in repr(made)


class _ToTheLetter(AvroReference):
    """The sizes of blocks and of ints count too."""

    def __init__(self, text: str, *, logical: bool) -> None:
        super().__init__(text, logical=logical)
        self._ends: list[int | None] = []

    def _primitive(self, kind: str) -> object:
        return self._int() if kind == "int" else super()._primitive(kind)

    def _index(self, number: int) -> int:
        before = self._at
        index = super()._index(number)
        if self._at - before > 5:
            raise Refused("an index has five bytes at most")
        return index

    def _int(self) -> int:
        before = self._at
        number = self._long()
        if self._at - before > 5 or not -(2**31) <= number < 2**31:
            raise Refused("an int has 32 bits, and five bytes at most")
        return number

    def _items(self, items: Json, space: str, level: int) -> list[object]:
        self._ends.append(None)
        made = super()._items(items, space, level)
        self._ends.pop()
        return made

    def _entries(self, values: Json, space: str, level: int) -> dict[str, object]:
        self._ends.append(None)
        made = super()._entries(values, space, level)
        self._ends.pop()
        return made

    def _count(self) -> int:
        if self._ends[-1] not in (None, self._at):
            raise Refused(WRONG_SIZE)
        count = self._long()
        self._ends[-1] = None
        if count < 0:
            size = self._long()
            self._ends[-1] = self._at + size
        return abs(count)


class _Replacing(AvroReference):
    """Reads strings that are not UTF-8 too."""

    def _text(self) -> str:
        return self._take(self._size()).decode("utf-8", "replace")


@pytest.fixture(scope="module")
def topics() -> list[Topic]:
    found: list[Topic] = []

    @settings(max_examples=TOPICS, phases=[Phase.generate], database=None)
    @given(avro_topics())
    def generated(topic: Topic) -> None:
        found.append(topic)

    generated()
    return found


def planned(registry: FixtureRegistry, client: RegistryClient, number: int, topic: Topic) -> tuple[ReadPlan, list[int]]:
    """The topic's plan, and its schemas' ids. Every third one reads the newest schema's columns."""
    name, references = f"t{number}", []
    if topic.referred is not None:
        registry.seed(f"referred-{number}", topic.referred[1])
        references.append(SchemaReference(name=topic.referred[0], subject=f"referred-{number}", version=1))
    ids = [registry.seed(f"{name}-value", text, references=references) for text in topic.schemas]
    if number % 3 == 0:
        try:
            return plan_read(client, name, NEWEST, case_rule=topic.case_rule), ids
        except ColumnError:  # no columns at all
            pass
    try:
        return plan_read(client, name, topic.columns, case_rule=topic.case_rule, missing_columns="null"), ids
    except ColumnError:  # a local timestamp for a TIMESTAMP, say, which only ksqlDB's rules take
        return plan_read(client, name, topic.columns, case_rule=CaseRule.KSQLDB, missing_columns="null"), ids


class TestGeneratedTopics:
    def test_both_engines_give_the_deserializers_rows_and_say_why_there_is_none(
        self, spark: SparkSession, registry: FixtureRegistry, topics: Sequence[Topic]
    ) -> None:
        with RegistryClient(registry.url) as client:
            plans, known = [], []
            for number, topic in enumerate(topics):
                plan, ids = planned(registry, client, number, topic)
                bodies = [(*body, True) for body in topic.bodies] + [(*body, False) for body in topic.broken]
                plans.append(
                    Payloads(plan=plan, payloads=[None, *(frame_id(ids[place], body) for place, body, _ in bodies)])
                )
                known += [("", b"", True), *((topic.whole[place], body, whole) for place, body, whole in bodies)]
            seen = [
                Known(compared=compared, writer=writer, body=body, is_whole=is_whole)
                for compared, (writer, body, is_whole) in zip(compare(spark, plans), known, strict=True)
            ]
        counts = Counter[str]()
        for each in seen:
            counts.update(checked(each))
        assert counts["rows"] > 3 * TOPICS, counts
        assert counts["bad"] > 3 * TOPICS, counts
        assert counts["jvm"] > 3 * TOPICS, counts

    @pytest.mark.parametrize("format_", [Format.JSON, Format.JSON_SR])
    def test_the_other_formats_are_the_arrow_engines(
        self, spark: SparkSession, registry: FixtureRegistry, format_: Format
    ) -> None:
        columns = parse_columns(
            "ID BIGINT, NAME STRING, SEEN TIMESTAMP, BORN DATE, PRICE DECIMAL(9, 2), "
            "ITEMS ARRAY<STRUCT<X INT, Y DOUBLE>>, M MAP<STRING, ARRAY<BOOLEAN>>"
        )
        rows: list[dict[str, object]] = [
            {
                "ID": -(2**63),
                "NAME": "Ünï\u0000",
                "ITEMS": [{"X": 1, "Y": -0.0}, None],
                "M": {"": [True, None], "x": None},
            },
            {"ID": None, "PRICE": None, "ITEMS": []},
        ]
        with RegistryClient(registry.url) as client:
            serializer = JsonSerializer(columns) if format_ is Format.JSON else JsonSchemaSerializer(client, columns)
            ctx = SerdeContext("t")
            whole = [serializer({column.name: None for column in columns} | row, ctx) for row in rows]
            prefix = b"" if format_ is Format.JSON else (whole[0] or b"")[:5]
            documents = [
                b'{"id":1,"Id":2,"NAME":"upper","name":"lower"}',
                b'{"ID":1,"ID":2}',
                b'{"SEEN":1582934400000,"BORN":-1,"PRICE":"1.5","M":{"k":[true]}}',
                b"null",
                b"[]",
                b'{"ID":"x"}',
                b'{"ID":1',
                b"\xff",
            ]
            payloads = [None, b"", *whole, *(prefix + document for document in documents)]
            for rule in CaseRule:
                plan = plan_read(client, "t", columns, format=format_, case_rule=rule)
                require_arrow()
                for each in compare(spark, [Payloads(plan=plan, payloads=payloads)]):
                    assert each.jvm is None
                    assert each.arrow == each.deserializer, each


def checked(each: Known) -> Iterator[str]:
    """What there was, in words; everything about it is as it must be."""
    compared, plain = each.compared, each.compared.deserializer
    shown = _shown(each)
    null_key = plain.row is not None and _has_null_key(plain.row)
    yield "bad" if plain.reason not in (None, Reason.TOMBSTONE.value) else "rows"
    for decoded in filter(None, (compared.arrow, compared.jvm)):
        assert (decoded.row is None) == (decoded.reason is not None), shown
    if null_key:  # no map of Arrow's or of Spark's holds it
        assert compared.arrow is None or compared.arrow.reason == Reason.BAD_VALUE.value, shown
    else:
        assert compared.arrow_agrees, shown
    jvm = compared.jvm
    if jvm is None:
        return
    yield "jvm"
    if plain.reason is None and jvm.reason is None:
        assert jvm == plain or each.fault == WRONG_SIZE, shown
    elif plain.reason is None:
        # Numbers of more bytes than Avro has, which the deserializer lets pass.
        assert null_key or (not each.is_whole and each.fault is not None), shown
        assert jvm.reason == Reason.DECODE_FAILED.value, shown
    elif jvm.reason is None:
        assert each.fault == WRONG_SIZE or _is_unseen(compared) or each.is_overwritten, shown
    elif jvm.reason not in (plain.reason, Reason.DECODE_FAILED.value):
        # A body that cannot be read, under a schema of which none can be.
        problems = (schema.problem for schema in compared.plan.schemas if schema.schema_id == _schema_id(compared))
        assert jvm.reason in {reason.value for reason in map(reason_of, filter(None, problems)) if reason}, shown


def _schema_id(compared: Compared) -> int:
    return int.from_bytes((compared.payload or b"")[1:5], "big")


def _is_unseen(compared: Compared) -> bool:
    message = compared.deserializer.message or ""
    unused = [field for schema in compared.plan.schemas for field in schema.unused]
    beside = any(re.search(rf"(at|within) ->{re.escape(field)}\b", message) for field in unused)
    return READ_BY_JVM.search(message) is not None or beside


def _has_null_key(value: object) -> bool:
    match value:
        case dict():
            return None in value or any(map(_has_null_key, value.values()))
        case list():
            return any(map(_has_null_key, value))
        case _:
            return False


def _shown(each: Known) -> str:
    compared = each.compared
    plan = compared.plan
    made = "\n".join(map(str, (compared.deserializer, compared.arrow, compared.jvm)))
    schemas = "\n".join(schema.resolved.schema.text for schema in plan.schemas)
    return f"{compared.payload!r} under {plan.case_rule}, {plan.columns}:\n{made}\n{schemas}"


class TestManyRows:
    def test_rows_of_three_ids_hash_equal_in_both_engines_and_by_hand(
        self, spark: SparkSession, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        spark_data.write_topic(tmp_path, ROWS)
        for schema_id in range(1, max(spark_data.SCHEMAS) + 1):
            other = json.dumps({"type": "fixed", "name": "Other", "size": schema_id})
            subject, text = f"{spark_data.TOPIC}-value", spark_data.SCHEMAS.get(schema_id)
            assert registry.seed(*(("other", other) if text is None else (subject, text))) == schema_id
        payloads = spark.read.parquet(str(tmp_path))
        with RegistryClient(registry.url) as client:
            plan = plan_read(client, spark_data.TOPIC, spark_data.COLUMNS)
            expected = _sum(_by_hand(spark))
            assert expected[0] == ROWS
            for engine in ("jvm", "arrow") if HAS_ARROW else ("jvm",):
                read = from_registry(plan, engine="jvm" if engine == "jvm" else "arrow", on_error="quarantine")
                assert _sum(payloads.transform(read).where("_srfix_reason IS NULL").select("value.*")) == expected


def _by_hand(spark: SparkSession) -> DataFrame:
    """The rows, of their numbers (`spark_data.row`)."""
    return spark.range(ROWS).selectExpr(
        "id AS ID",
        "concat('name-', id % 5000) AS NAME",
        "if(id % 3 = 0, concat('city-', id % 100), NULL) AS CITY",
        "if(id % 5 = 0, 'seen twice', NULL) AS NOTE",
        "cast(id % 90 AS int) AS AGE",
        # Every fourth is written under the schema without it.
        "if(id % 4 = 3, NULL, cast(id AS double) / 7) AS SCORE",
        "id % 2 = 0 AS ACTIVE",
        "timestamp_millis(1592265600000 + id) AS SEEN",
        "cast(id % 1000 AS double) / 4 AS WEIGHT",
        "slice(array('a', 'b'), 1, cast(id % 3 AS int)) AS TAGS",
    )


def _sum(rows: DataFrame) -> tuple[int, object]:
    """How many, and the sum of their hashes."""
    hashes = F.sum(F.xxhash64(*rows.columns).cast("decimal(20)"))
    (found,) = rows.select(F.count("*"), hashes).collect()
    return int(found[0]), found[1]
