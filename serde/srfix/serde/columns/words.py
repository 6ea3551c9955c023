"""Which names stand without quotes in ksqlDB's SQL, and how the others are quoted.

The reserved words are the keywords of `SqlBase.g4` outside its rule `nonReserved`. `ReservedWordMetaTest` lets a new keyword
in only as a non-reserved one, so that no name that was ever plain needs quotes later; two came in nevertheless.
"""

from __future__ import annotations

import re
from typing import Final

RESERVED_WORDS: Final = frozenset(
    """
    ADVANCE ALL AND AS AT BEGINNING BETWEEN BY CASE CAST CATALOG CONNECTOR CONNECTORS CREATE DAYS DECIMAL DELETE
    DESCRIBE DISTINCT DROP ELSE END EXISTS EXPORT EXTENDED FALSE FROM FULL GROUP HAVING HOPPING HOURS IN INNER INSERT
    INTO IS JOIN LEFT LIKE LIMIT LIST LOAD MATERIALIZED MILLISECOND MILLISECONDS MINUTES MONTHS NAMESPACE NOT NULL ON
    OR OUTER PRINT PROPERTIES QUERIES QUERY RENAME RETENTION RIGHT RUN SAMPLE SCRIPT SECONDS SELECT SIZE STREAM STREAMS
    TABLE TERMINATE THEN TO TOPIC TOPICS TRUE TUMBLING UNSET VALUES VIEW WHEN WHERE WINDOW WITH WITHIN YEARS
    """.split()  # noqa: SIM905 -- a list of 86 strings would be 86 lines
)
"""The words that are no names without quotes, in upper case, in every version."""

RESERVED_WORDS_SINCE: Final = {"PAUSE": "7.3", "RESUME": "7.3"}
"""The words that are reserved from a version of the Confluent Platform on (7.3 has ksqlDB 0.28.2), plain names before."""

_PLAIN: Final = re.compile(r"[A-Z_][A-Z0-9_@]*|[0-9][A-Z0-9_@]+")
_NUMBER: Final = re.compile(r"[0-9]+(?:E[0-9]+)?")


def is_plain_name(name: str) -> bool:
    """True if the name, written without quotes, is read as this very name (`IdentifierUtil.needsQuotes`).

    In every version of ksqlDB. A name may start with a digit, but not look like a number: `1A` is one, `12` and `1E5` are not.
    """
    is_reserved = name in RESERVED_WORDS or name in RESERVED_WORDS_SINCE
    return _PLAIN.fullmatch(name) is not None and _NUMBER.fullmatch(name) is None and not is_reserved


def quoted_name(name: str) -> str:
    """The name as it is written: plain where it can be, else in back-quotes."""
    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"
