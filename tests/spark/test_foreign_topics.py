"""Topics that ksqlDB did not write are read by Spark's engines as an independent model says, or for a reason in KNOWN.

The topics are those of tests/serde/test_foreign_topics.py, drawn and told the same way; TIME, which Spark does not have, is
read as STRING.

The first hundred of them in every run, and Spark compiles nothing there: both would take minutes. All of them, compiled, where
`SRFIX_FOREIGN=300` says how many (`make fuzz`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.read.jvm.read import UNSEEN
from tests.serde.foreign.checking import IS_NEW, NUMBERS, SEED, Got, Planned, agrees, drawn, how, planned, told
from tests.serde.foreign.model import Bad
from tests.serde.foreign.topics import ForeignTopic, Row, without_times
from tests.spark.parity import Decoded, Payloads, compare, plain

TOPICS: Final = NUMBERS if IS_NEW else NUMBERS[:100]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A difference of the jvm engine that it says itself."""

    sentence: str
    """How what it says of it begins (UNSEEN)."""
    instead: frozenset[str] = frozenset()
    """The causes in whose place it says DECODE_FAILED."""
    is_read: bool = False
    """True if it reads the row."""


KNOWN: Final = (
    Known(sentence="Why a body cannot be read: ", instead=frozenset({"TRUNCATED"})),
    Known(
        sentence="Why a row is bad, if it has a string that is not UTF-8, or a date or ",
        instead=frozenset({"BAD_VALUE", "OVERFLOW"}),
    ),
    Known(sentence="An error within a field that no column reads, ", is_read=True),
)
"""All that may differ. Each must occur."""


def _spark_topic(number: int) -> ForeignTopic:
    topic = drawn(number)
    if topic.columns is None:
        return topic
    return replace(topic, columns={name: without_times(each, "TIME") for name, each in topic.columns.items()})


def _known(given: Planned, row: Row, wanted: object, got: Got) -> Known | None:
    """The entry by which it may differ."""
    for each in KNOWN:
        if not isinstance(wanted, Bad):
            continue
        if each.is_read:
            # All that is wrong is bytes that are not UTF-8, and where they stand feeds nothing.
            if wanted.causes == {"DECODE_FAILED"} and agrees(plain(given.unread(row)), got):
                return each
        elif got.row is None and got.reason == "DECODE_FAILED" and wanted.causes & each.instead:
            return each
    return None


def _checked(given: Planned, row: Row, wanted: object, engine: str, decoded: Decoded) -> Iterator[str | Known]:
    got = Got(decoded.row, decoded.reason)
    if agrees(wanted if isinstance(wanted, Bad) else plain(wanted), got):
        return
    known = None if engine == "arrow" else _known(given, row, wanted, got)
    if known is not None:
        yield known
        return
    writer = given.topic.versions[row.version].text()
    shown = (
        f"{engine}: {writer}\n  body {row.body.hex()}\n  {how(given.topic)}\n  got {decoded!r}\n  expected {wanted!r}"
    )
    yield told(given.number, shown)


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Nothing is compiled, as that takes longer than to read a dozen rows; but for topics that are drawn anew."""
    if IS_NEW:
        yield
        return
    whole_stage, factory = "spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"
    before = {name: spark.conf.get(name) or "" for name in (whole_stage, factory)}
    spark.conf.set(whole_stage, "false")
    spark.conf.set(factory, "NO_CODEGEN")
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("interpreted")
class TestForeignTopics:
    def test_every_engine_reads_what_the_model_says(self, spark: SparkSession, registry: FixtureRegistry) -> None:
        print(f"SRFIX_FOREIGN_SEED={SEED}, {len(TOPICS)} topics")
        with RegistryClient(registry.url) as client:
            plans = [planned(number, _spark_topic(number), registry, client) for number in TOPICS]
        failures = [told(number, each) for number, each in zip(TOPICS, plans, strict=True) if isinstance(each, str)]
        topics = [each for each in plans if isinstance(each, Planned)]
        found = compare(spark, [Payloads(plan=each.plan, payloads=each.payloads) for each in topics], with_auto=True)
        seen, rows = Counter[str](), Counter[str]()
        for given in topics:
            for row, wanted in zip(given.topic.rows, given.wanted, strict=True):
                compared = next(found)
                for engine, decoded in {"arrow": compared.arrow, "jvm": compared.jvm, "auto": compared.auto}.items():
                    if decoded is None:
                        continue
                    rows[engine] += 1
                    for said in _checked(given, row, wanted, engine, decoded):
                        failures += [said] if isinstance(said, str) else []
                        seen.update([said.sentence] if isinstance(said, Known) else [])
                if compared.jvm is None:
                    assert choose_engine(given.plan, spark, workers_have_srfix=True).engine == "arrow"
        assert not failures, f"SRFIX_FOREIGN_SEED={SEED}: {len(failures)} differences:\n" + "\n".join(failures[:15])
        print(dict(rows), dict(seen))
        if len(TOPICS) >= 100:
            assert all(seen[each.sentence] for each in KNOWN), seen
            assert rows["jvm"] == rows["auto"] > len(TOPICS), rows

    def test_what_is_cut_or_has_bytes_left_over_is_a_bad_row_or_the_deserializers(
        self, spark: SparkSession, registry: FixtureRegistry
    ) -> None:
        random = Random(SEED)
        with RegistryClient(registry.url) as client:
            plans = [planned(number, _spark_topic(number), registry, client) for number in TOPICS[:24]]
        damaged = [
            Payloads(
                plan=each.plan,
                payloads=[
                    broken
                    for payload in filter(None, each.payloads)
                    for broken in (payload[: random.randrange(5, len(payload) + 1)], payload + random.randbytes(2))
                ],
            )
            for each in plans
            if isinstance(each, Planned)
        ]
        bad = 0
        for each in compare(spark, damaged):
            assert each.arrow_agrees, each
            if each.deserializer.row is None:
                bad += 1
                assert each.jvm is None or each.jvm.row is None, each
            else:
                assert each.jvm is None or each.jvm in (each.deserializer, replace(each.jvm, row=None)), each
        assert bad > len(damaged)

    @pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.sentence[:40])
    def test_what_may_differ_is_said_by_the_engine(self, known: Known) -> None:
        assert sum(sentence.startswith(known.sentence) for sentence in UNSEEN) == 1
