"""Every bound on what others wrote: name, default, what it protects from, how to change it.

SECURITY.md shows `as_markdown()`; a test holds both to each other, and each constant of this module to a row. Who adds a
bound adds a constant and a `Bound`; the constant's users import it from here. A bound that is an argument somewhere has its
default here.

To change one that is no argument, assign it before anything else of srfix is imported:

    import srfix.serde.bounds
    srfix.serde.bounds.AVRO_LEVELS = 500
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "AVRO_EMPTY_ITEMS",
    "AVRO_LEVELS",
    "AVRO_SCHEMA_LEVELS",
    "AVRO_SCHEMA_VISITS",
    "BOUNDS",
    "Bound",
    "COLUMN_LEVELS",
    "COMPATIBILITY_PAIRS",
    "COMPATIBILITY_REASONS",
    "CONNECT_COLUMNS",
    "CONNECT_SECONDS",
    "DIGITS",
    "EVIDENCE_BYTES",
    "JSON_LEVELS",
    "JSON_SCHEMA_LEVELS",
    "JSON_SCHEMA_NODES",
    "JSON_TEXT_LEVELS",
    "KSQLDB_SECONDS",
    "LOG_CHARACTERS",
    "PATTERN_STEPS",
    "REGISTRY_READ_SECONDS",
    "SCHEMA_CACHE",
    "as_markdown",
]

_ASSIGN: Final = "assign before import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One row of the table in SECURITY.md."""

    name: str
    """The constant of this module."""
    unit: str
    """What it counts, such as `bytes`."""
    protects_from: str
    """What happens without it."""
    how_to_change: str = _ASSIGN
    """An option or an argument where there is one."""

    @property
    def default(self) -> float:
        """The constant's value."""
        value: float = globals()[self.name]
        return value


# --- schemas
AVRO_SCHEMA_LEVELS: Final = 400
"""How deep the text of an Avro schema may nest."""
AVRO_SCHEMA_VISITS: Final = 100_000
"""How many types an Avro schema may hold once its names are followed: one that names the next twice, 40 deep, holds 2⁴⁰."""
JSON_SCHEMA_LEVELS: Final = 128
"""How deep a JSON Schema may nest, references followed."""
JSON_SCHEMA_NODES: Final = 200_000
"""How many schemas a JSON Schema may hold, references followed."""
COLUMN_LEVELS: Final = 64
"""How deep types of columns may nest. Far beyond any real table, and safe for every recursive reader of them."""
CONNECT_COLUMNS: Final = 10_000
"""How many columns are inferred from one schema."""
COMPATIBILITY_PAIRS: Final = 200_000
"""How many pairs of types one comparison of two schemas may look at."""
COMPATIBILITY_REASONS: Final = 100
"""How many reasons one comparison gives."""
SCHEMA_CACHE: Final = 1000
"""How many schemas a registry client remembers by their ids."""

# --- payloads
AVRO_LEVELS: Final = 1000
"""How deep types may nest while one body is read, references followed. Measured: 2,000 pass on a stack of 8 MiB, 10,000 do
not."""
AVRO_EMPTY_ITEMS: Final = 65_536
"""How many array items that take no bytes one body may claim altogether."""
JSON_LEVELS: Final = 512
"""How deep a JSON body may nest where it is validated."""
JSON_TEXT_LEVELS: Final = 256
"""How deep an object may nest where it is validated as text."""
PATTERN_STEPS: Final = 100_000
"""Steps of a JSON Schema's pattern on one text, beyond which the text does not match."""
DIGITS: Final = 100_000
"""Of a value, whatever its column allows: a number of 2³¹ digits takes gigabytes, and its bound hours."""

# --- what a person hands over, and servers
EVIDENCE_BYTES: Final = 64 << 20
"""Bytes of one file with topologies, saved answers of ksqlDB or a stack trace."""
LOG_CHARACTERS: Final = 8 * 2**20
"""Characters of a log; of a longer one only the end is read, as the last failure is the one that matters."""
KSQLDB_SECONDS: Final = 60.0
"""How long a survey of a ksqlDB server may take altogether."""
CONNECT_SECONDS: Final = 5.0
"""How long a connection to a registry or to ksqlDB may take."""
REGISTRY_READ_SECONDS: Final = 30.0
"""How long a registry may be silent."""

BOUNDS: Final = (
    Bound(name="AVRO_SCHEMA_LEVELS", unit="levels", protects_from="the stack's end in schemas that nest"),
    Bound(name="AVRO_SCHEMA_VISITS", unit="types", protects_from="schemas that double at each name, up to 2⁴⁰ types"),
    Bound(name="JSON_SCHEMA_LEVELS", unit="levels", protects_from="the stack's end in schemas that nest or refer"),
    Bound(name="JSON_SCHEMA_NODES", unit="schemas", protects_from="schemas that double at each reference"),
    Bound(name="COLUMN_LEVELS", unit="levels", protects_from="the stack's end in columns that nest"),
    Bound(name="CONNECT_COLUMNS", unit="columns", protects_from="tables that nothing can show"),
    Bound(
        name="COMPATIBILITY_PAIRS",
        unit="pairs of types",
        protects_from="unions of thousands against unions of thousands, in a comparison before a repair",
    ),
    Bound(name="COMPATIBILITY_REASONS", unit="reasons", protects_from="messages of megabytes"),
    Bound(
        name="SCHEMA_CACHE",
        unit="schemas",
        protects_from="memory for every id that a topic of garbage names",
        how_to_change="`cache_capacity` of `RegistryClient`",
    ),
    Bound(name="AVRO_LEVELS", unit="levels", protects_from="the stack's end in recursive bodies"),
    Bound(name="AVRO_EMPTY_ITEMS", unit="items", protects_from="a body of few bytes that claims millions of items"),
    Bound(name="JSON_LEVELS", unit="levels", protects_from="the stack's end in the validation of a body"),
    Bound(name="JSON_TEXT_LEVELS", unit="levels", protects_from="the stack's end in the validation of a row"),
    Bound(name="PATTERN_STEPS", unit="steps", protects_from="patterns that take exponential time"),
    Bound(name="DIGITS", unit="digits", protects_from="numbers that take hours, a few bytes of exponent long"),
    Bound(
        name="EVIDENCE_BYTES",
        unit="bytes",
        protects_from="a device or a heap dump given as a topology",
    ),
    Bound(name="LOG_CHARACTERS", unit="characters", protects_from="hours over a log of gigabytes"),
    Bound(
        name="KSQLDB_SECONDS",
        unit="s",
        protects_from="a server with thousands of queries, or one that is slow at each",
        how_to_change="`deadline_s` of `KsqldbClient`",
    ),
    Bound(
        name="CONNECT_SECONDS",
        unit="s",
        protects_from="addresses that swallow what is sent to them",
        how_to_change="`-R http.connect.timeout.ms=…`, `connect_timeout_s`",
    ),
    Bound(
        name="REGISTRY_READ_SECONDS",
        unit="s",
        protects_from="registries that take a request and say nothing",
        how_to_change="`-R http.read.timeout.ms=…`, `read_timeout_s`",
    ),
)
"""The table's rows, in its order."""


def as_markdown() -> str:
    """The table, as SECURITY.md shows it."""
    rows = [
        f"| `{bound.name}` | {bound.default:,.0f} {bound.unit} | {bound.protects_from} | {bound.how_to_change} |"
        for bound in BOUNDS
    ]
    return "\n".join(["| bound | default | protects from | how to change it |", "|---|---|---|---|", *rows])
