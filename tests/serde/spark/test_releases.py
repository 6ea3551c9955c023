"""What srfix does on which Spark: one table, for README and `srfix doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.serde.spark.packages import RELEASES
from srfix.serde.spark.releases import ABILITIES, abilities_in_words, as_markdown

README = Path(__file__).parents[3] / "README.md"


def test_the_table_is_readmes() -> None:
    assert as_markdown() in README.read_text()


def test_each_spark_that_has_jars_is_in_it() -> None:
    assert list(ABILITIES) == list(RELEASES)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("4.3.0", 'jvm engine, arrow engine, format("srfix")'),
        ("4.0.5", "jvm engine"),
        ("3.4.4", "not tried with srfix; 3.5, 4.0, 4.1, 4.2, 4.3 were"),
    ],
)
def test_in_words(version: str, words: str) -> None:
    assert abilities_in_words(version) == words
