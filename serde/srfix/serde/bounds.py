"""All limits on foreign data.

SECURITY.md has a row for each limit: what it protects from, and how to change it. A test compares the row with the
constant's name and default. If you add a limit, add both; the constant's users import it from here. If a limit is an
argument somewhere, its default is here.

To change a limit that is not an argument, assign it before you import anything else of srfix:

    import srfix.serde.bounds
    srfix.serde.bounds.COLUMN_LEVELS = 100

The limits on nesting suit stacks of at least 1 MiB (glibc gives threads 8 MiB). A thread with a smaller stack
(`threading.stack_size`) may crash the process: 256 KiB cannot hold a body of 500 levels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final, TypeVar

from srfix.serde.errors import UsageError

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

# --- schemas
AVRO_SCHEMA_LEVELS: Final = 400
"""How deep the text of an Avro schema may nest."""
JSON_SCHEMA_LEVELS: Final = 128
"""How deep a JSON Schema may nest, references included."""
JSON_SCHEMA_NODES: Final = 200_000
"""How many schemas a JSON Schema may hold, references included."""
PROTOBUF_SCHEMA_LEVELS: Final = 64
"""How deep the brackets of a Protobuf schema's text may nest."""
COLUMN_LEVELS: Final = 64
"""How deep types of columns may nest. This is far beyond any real table, and safe for every recursive reader."""
CONNECT_COLUMNS: Final = 10_000
"""How many columns are inferred from one schema."""
COMPATIBILITY_PAIRS: Final = 200_000
"""How many pairs of types one comparison of two schemas may look at."""
COMPATIBILITY_REASONS: Final = 100
"""How many reasons one comparison gives."""
REFERENCES: Final = 3000
"""How many versions a schema may refer to, directly or not."""
REFERENCE_LINKS: Final = 30_000
"""How many references a schema and all those versions may have altogether."""
SCHEMA_CACHE: Final = 1000
"""How many schemas a registry client remembers by their ids."""

# --- values that are validated
JSON_LEVELS: Final = 512
"""How deep a JSON body may nest if it is validated."""
JSON_TEXT_LEVELS: Final = 256
"""How deep an object may nest if it is validated as text."""
PATTERN_STEPS: Final = 100_000
"""How many steps a JSON Schema's pattern may take on one text. If it takes more, the text does not match."""
DIGITS: Final = 100_000
"""How many digits a DECIMAL value may have, whatever its column allows: a number of 2³¹ digits takes gigabytes, and
computing its limit takes hours."""

# --- messages
COMMAND_WORD: Final = 8_000
"""How many characters one argument of a printed command may have. A longer argument becomes a shell variable. This
protects from commands that are too long for a terminal and would be cut."""

# --- files that a person names
MOST_PLAN_BYTES: Final = 64 << 20
"""The bytes of a plan file. If the user names a wrong file by mistake, it is refused before it fills the memory."""
MOST_JOURNAL_BYTES: Final = 256 << 20
"""The bytes of a journal: more than a plan, because a journal holds the plan, and two states of a subject for each
step."""
MOST_SETTINGS_BYTES: Final = 1 << 20
"""The bytes of a configuration or properties file, a signature, or a signer's key."""
MOST_SECRET_BYTES: Final = 1 << 20
"""The bytes of a file that `file:PATH` names: a password, a token, a certificate with its chain."""
MOST_EVIDENCE_BYTES: Final = 64 << 20
"""The bytes of a printed topology, a saved answer of ksqlDB, a schema, or a `.checkpoint`."""
MOST_METADATA_BYTES: Final = 64 << 10
"""The bytes of `kafka-streams-process-metadata`. Kafka Streams writes about fifty."""
MOST_NAME_BYTES: Final = 4 << 10
"""The bytes of `CURRENT` and `IDENTITY` of a RocksDB. Each holds a name."""
MOST_COPIED_BYTES: Final = 1 << 30
"""The bytes of a RocksDB that srfix copies to read it: the manifests and write-ahead logs, not the tables."""
DEEPEST_DOCUMENT: Final = 100
"""The levels of a JSON document (plan, journal, metadata). A deeper document exhausts the stack of its reader."""
MOST_KEY_PARTS: Final = 100
"""The dots in one key or value on a line of TOML: `tomllib` needs quadratic time for a key of many parts."""


# --- payloads
@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadBounds:
    """The limits for reading one payload, in all formats and engines except Spark's own (jvm), which has no such
    limits.

    Change them with `bound_payloads` before you make deserializers. On a Spark cluster, a read plan carries the
    driver's limits to the workers. A payload that exceeds a limit raises a `PayloadBoundError`: one bad row, with the
    reason BEYOND_BOUNDS.

    A budget counts values: a scalar or null counts 1; an array, map, record or row counts 4 plus its parts; a name or
    text from a schema (not from the payload) counts 1 more for every 32 characters. A value takes 20 to 50 bytes of
    memory, so a payload of 1 MB takes at most 400 MB, and normally a tenth of that.
    """

    values: int = 65_536
    """How many values any payload may make, even a short one. Protects from items without bytes, and from short
    payloads for wide columns."""
    values_per_byte: int = 8
    """How many more values for each byte of the payload. Protects from arrays whose items make many values out of a few
    bytes: wide STRUCTs, defaults, records in records."""
    empty_items: int = 65_536
    """How many array items without any bytes one Avro payload may claim altogether. Protects from counts without
    data."""
    levels: int = 1_000
    """How deep the values of one Avro payload may nest. Protects the C stack, which fastavro does not check: 10,000
    levels crash the process. Do not set more than 2,000."""
    shown_levels: int = 300
    """How deep a row may nest if it is shown as JSON (`srfix decode`). Protects Python's stack: rows of 900 levels can
    be read but not written. At most 400."""
    schema_parts: int = 100_000
    """How many types a reader visits for one record of an Avro schema, if arrays and maps are empty. Protects from
    chains of records in which each holds the next one twice. A schema beyond this limit is refused."""
    decimal_bytes: int = 4_096
    """How many bytes the unscaled number of one Avro or Connect decimal may have (9,864 digits). Protects from the
    quadratic conversion to decimal digits: 900 kB take more than a minute, during which nothing else runs."""
    number_characters: int = 4_300
    """How many characters a JSON number may have if its digits are kept. For whole numbers msgspec and Python have the
    same limit. Protects from quadratic conversions."""
    text_number_characters: int = 1_000
    """How many characters a text may have that is converted to a number: Jackson's limit since 2.15. Protects from the
    same conversions."""
    batch_bytes: int = 4 << 20
    """How many bytes of payloads a batch holds as rows at the same time: at most 1,000 payloads, at least one. Protects
    from a thousand payloads that each use their full limit."""
    shapes: int = 4_096
    """How many sets of JSON keys a deserializer with columns remembers, so that it matches each set only once. It
    forgets the oldest first. Protects from payloads that all have different keys."""
    shape_bytes: int = 16 << 20
    """How many bytes the remembered sets may take. A set of more than a 4,096th of this (4 KiB, about 60 keys) is
    matched again for each row."""
    plans: int = 1_000
    """For how many schemas a deserializer keeps its reading plan. It forgets the oldest first. Protects from a registry
    that knows every id."""
    refusals: int = 10_000
    """How many refused schema ids and GUIDs a batch, or a reader of a topic, remembers, so that it does not ask again.
    It forgets the oldest first."""

    @classmethod
    def lifted(cls) -> PayloadBounds:
        """Limits that are all off, so that decoders check nothing. For measurements, and for trusted data."""
        off = dict.fromkeys(("values", "decimal_bytes", "number_characters", "text_number_characters"), sys.maxsize)
        return cls(values_per_byte=0, **off)

    def budget(self, size: int) -> int:
        return self.values + self.values_per_byte * size


# --- answers of servers
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """The limits for HTTP answers of a schema registry and of ksqlDB.

    Change them with the registry client's properties that are named here, or with `RegistryClient(bounds=…)` and
    `KsqldbClient(bounds=…)`. If an answer exceeds a limit, srfix stops reading, closes the connection, and raises an
    error with URL, limit and property. It does not repeat the request at the same URL.
    """

    body_bytes: int = 64 * 2**20
    """`http.answer.max.bytes`: bytes of a body, decompressed. Protects memory from endless bodies and from compression
    bombs. 100,000 subjects take 6 MB."""
    head_bytes: int = 256 * 2**10
    """`http.answer.max.head.bytes`: bytes before the body: status line, headers, and every `100 Continue` before them.
    Protects from endless heads."""
    json_parts: int = 5_000_000
    """`http.answer.max.parts`: commas and opening brackets of a JSON body. Protects memory from bodies like
    `[{},{},…]`, whose values take twenty times the memory of their text."""
    deadline_s: float = 120.0
    """`http.answer.deadline.ms`: seconds from the request to the answer's last byte. Protects from slow answers, each
    byte of which arrives within the read time-out."""
    pages: int = 2_000
    """`http.listing.max.pages`: pages of one listing. Protects from endless listings. Registries give 1,000 schemas or
    20,000 subjects on each page."""
    listing_deadline_s: float = 900.0
    """`http.listing.deadline.ms`: seconds spent waiting for the pages of one listing."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise UsageError(f"A bound must be more than 0; {name} is {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownIdBounds:
    """How long a client remembers that the registry does not know an id, and for how many ids.

    Change them with the registry's client properties that are named here (Confluent's names), or with
    `RegistryClient(unknown_ids=…)`. Protects the registry from a request for every record that carries an unknown id.
    If any client of this process writes, all clients forget their unknown ids; `RegistryClient.forget_unknown_ids` does
    the same.
    """

    remember_s: float = 30.0
    """`missing.id.cache.ttl.sec`: seconds; 0 asks each time."""
    most: int = 10_000
    """`missing.cache.size`: the number of ids; if there are more, the client forgets the oldest."""

    def __post_init__(self) -> None:
        if self.remember_s < 0 or self.most < 0:
            raise UsageError(
                "The time to remember unknown ids, and the number of ids to remember, must not be negative; they are "
                f"{self.remember_s} s and {self.most}."
            )


# --- what a person hands over, and servers
LOG_CHARACTERS: Final = 8 * 2**20
"""Characters of a log. If it is longer, srfix reads only its end, because the last failure matters."""
KSQLDB_BODY_BYTES: Final = 16 * 2**20
"""The bytes of one answer of a ksqlDB server. A server with a thousand queries sends a few megabytes."""
KSQLDB_JSON_PARTS: Final = 1_000_000
"""Commas and opening brackets of one answer of a ksqlDB server."""
KSQLDB_SECONDS: Final = 60.0
"""How long a survey of a ksqlDB server may take altogether."""
CONNECT_SECONDS: Final = 5.0
"""How long a connection to a registry or to ksqlDB may take."""
REGISTRY_READ_SECONDS: Final = 30.0
"""How long a registry may be silent."""
PLANNING_REQUESTS: Final = 16
"""How many requests one `plan_read` sends to a registry at a time."""
BROKER_SECONDS: Final = 10.0
"""How long Spark waits for Kafka's brokers when `read_topic` and `read_stream` check whether the topic exists."""
AVRO_JVM_ITEMS: Final = 10_000_000
"""The most items of one array or map that Java's Avro accepts in sessions of `start_session`."""
AVRO_JVM_TEXT_BYTES: Final = 67_108_864
"""The most bytes of one string or one field of bytes that Java's Avro accepts in sessions of `start_session`."""

_payload_bounds = PayloadBounds()


def payload_bounds() -> PayloadBounds:
    """The limits for new deserializers."""
    return _payload_bounds


def bound_payloads(bounds: PayloadBounds) -> PayloadBounds:
    """Sets the limits for deserializers that this process makes from now on. Returns the previous limits.

    >>> before = bound_payloads(PayloadBounds(values_per_byte=100))
    >>> payload_bounds().budget(10)
    66536
    >>> _ = bound_payloads(before)
    """
    global _payload_bounds
    before, _payload_bounds = _payload_bounds, bounds
    return before


def remember(table: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Puts an entry into a table that other threads read without a lock. The table then has at most `most` entries."""
    while len(table) >= most and key not in table:
        try:
            table.pop(next(iter(table)), None)
        except (RuntimeError, StopIteration):
            continue  # another thread has changed the table: look again
    table[key] = value
