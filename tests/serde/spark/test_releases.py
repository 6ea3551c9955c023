"""What srfix does on which Spark: one table, for the site and `srfix doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from srfix.serde.spark.releases import (
    ABILITIES,
    RELEASES,
    Abilities,
    abilities_in_words,
    arrow_or,
    lacks_arrow,
    lacks_source,
)

PAGE = Path(__file__).parents[3] / ".ci" / "docs" / "pages" / "spark" / "versions.md"


def as_markdown() -> str:
    """The table, as the site shows it."""
    rows = [
        f"| {line} | {jars.avro}, {jars.kafka} | yes | {_word(ABILITIES[line].arrow)} | {_source(ABILITIES[line])} |"
        for line, jars in RELEASES.items()
    ]
    engines = "jvm engine | arrow engine, alone or together with the jvm engine"
    head = f'| Spark | jars of Avro and Kafka | {engines} | `format("srfix")` |'
    return "\n".join((head, "|---|---|---|---|---|", *rows)) + "\n"


def _word(is_there: bool) -> str:
    return "yes" if is_there else "no"


def _source(found: Abilities) -> str:
    if found.source and not found.source_stream_writer:
        return "yes; streams are written by `foreachBatch`"
    return _word(found.source)


def test_the_table_is_the_site_s() -> None:
    assert as_markdown() in PAGE.read_text()


def test_each_spark_that_has_jars_is_in_it() -> None:
    assert list(ABILITIES) == list(RELEASES)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("4.3.0", 'jvm engine, arrow engine, format("srfix")'),
        ("3.5.9", "jvm engine"),
        ("4.0.5", 'jvm engine, format("srfix") (streams are written by foreachBatch)'),
        ("3.4.4", "not tried with srfix (tried: 3.5, 4.0, 4.1, 4.2, 4.3)"),
    ],
)
def test_in_words(version: str, words: str) -> None:
    assert abilities_in_words(version) == words


def test_the_arrow_engine_is_advised_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = pytest.importorskip("pyspark.sql.functions")
    monkeypatch.setattr(functions, "arrow_udf", object(), raising=False)
    assert lacks_arrow() is None
    assert arrow_or("Plan again.", advice="Use the arrow engine.") == "Use the arrow engine."
    monkeypatch.delattr(functions, "arrow_udf")
    assert arrow_or("Plan again.", advice="Use the arrow engine.") == "Plan again."


def test_what_is_lacking_is_said_with_the_version_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    assert 'format("srfix") needs Spark 4.0 or newer' in str(lacks_source())
