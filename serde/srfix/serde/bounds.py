"""Every bound on what others wrote.

SECURITY.md has a row for each, which a test holds to the constant's name and default: what it protects from, and how to
change it. Whoever adds a bound adds both; the constant's users import it from here. A bound that is an argument somewhere
has its default here.

To change one that is no argument, assign it before anything else of srfix is imported:

    import srfix.serde.bounds
    srfix.serde.bounds.COLUMN_LEVELS = 100

Bounds on nesting are made for stacks of 1 MiB and more (glibc gives threads 8). A thread that is made with less
(`threading.stack_size`) may end the process: 256 KiB do not hold a body of 500 levels.
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
"""How deep a JSON Schema may nest, references followed."""
JSON_SCHEMA_NODES: Final = 200_000
"""How many schemas a JSON Schema may hold, references followed."""
PROTOBUF_SCHEMA_LEVELS: Final = 64
"""How deep the brackets of a Protobuf schema's text may nest."""
COLUMN_LEVELS: Final = 64
"""How deep types of columns may nest. Far beyond any real table, and safe for every recursive reader of them."""
CONNECT_COLUMNS: Final = 10_000
"""How many columns are inferred from one schema."""
COMPATIBILITY_PAIRS: Final = 200_000
"""How many pairs of types one comparison of two schemas may look at."""
COMPATIBILITY_REASONS: Final = 100
"""How many reasons one comparison gives."""
REFERENCES: Final = 3000
"""How many versions a schema may refer to, directly or not."""
SCHEMA_CACHE: Final = 1000
"""How many schemas a registry client remembers by their ids."""

# --- values that are validated
JSON_LEVELS: Final = 512
"""How deep a JSON body may nest where it is validated."""
JSON_TEXT_LEVELS: Final = 256
"""How deep an object may nest where it is validated as text."""
PATTERN_STEPS: Final = 100_000
"""Steps of a JSON Schema's pattern on one text, beyond which the text does not match."""
DIGITS: Final = 100_000
"""Of a value, whatever its column allows: a number of 2³¹ digits takes gigabytes, and its bound hours."""

# --- messages
COMMAND_WORD: Final = 8_000
"""Characters of one argument in a printed command; a longer one is asked for by a variable. It protects from commands that no
terminal takes, and that would be cut."""

# --- files that a person names
MOST_PLAN_BYTES: Final = 64 << 20
"""A plan file: a foreign file named by mistake is refused before it fills the memory."""
MOST_JOURNAL_BYTES: Final = 256 << 20
"""A journal; more than a plan, for it carries one and two states of a subject for each step."""
MOST_SETTINGS_BYTES: Final = 1 << 20
"""A configuration or properties file, a signature, a signer's key."""
MOST_SECRET_BYTES: Final = 1 << 20
"""What `file:PATH` names: a password, a token, a certificate with its chain."""
MOST_EVIDENCE_BYTES: Final = 64 << 20
"""A printed topology, a saved answer of ksqlDB, a schema, a `.checkpoint`."""
MOST_METADATA_BYTES: Final = 64 << 10
"""`kafka-streams-process-metadata`: some fifty bytes as Kafka Streams writes it."""
MOST_NAME_BYTES: Final = 4 << 10
"""`CURRENT` and `IDENTITY` of a RocksDB: a name each."""
MOST_COPIED_BYTES: Final = 1 << 30
"""What of a RocksDB is copied for a look: the manifests and write-ahead logs, not the tables."""
DEEPEST_DOCUMENT: Final = 100
"""Levels of a JSON document (plan, journal, metadata): deeper ones exhaust the stack of whoever walks through them."""
MOST_KEY_PARTS: Final = 100
"""Dots in one piece of a line of TOML: `tomllib` needs quadratic time for a key of many parts."""


# --- payloads
@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadBounds:
    """What reading one payload may take, in all formats and engines but Spark's own (jvm), which knows no such bounds.

    Change them with `bound_payloads` before deserializers are made; on a Spark cluster the driver's are shipped with a
    read plan. What goes beyond one is a `PayloadBoundError`: one bad row, with the reason BEYOND_BOUNDS.

    A budget counts values: a scalar or null is 1; an array, map, record or row is 4 and its parts; a name or text that
    comes from a schema, not from the payload, is 1 more for every 32 characters. A value takes 20 to 50 bytes of memory,
    so that a payload of 1 MB takes 400 MB at the very most, and an ordinary one a tenth of that.
    """

    values: int = 65_536
    """How many values any payload may make, however short. Protects from items that take no bytes, and from short
    payloads for wide columns."""
    values_per_byte: int = 8
    """How many more for each byte of the payload. Protects from arrays whose items make many values of few bytes: wide
    STRUCTs, defaults, records in records."""
    empty_items: int = 65_536
    """How many array items without any bytes one Avro payload may claim altogether. Protects from counts that nothing
    stands behind."""
    levels: int = 1_000
    """How deep the values of one Avro payload may nest. Protects the C stack, which fastavro does not check: 10,000
    levels end the process. JSON ends at about 1,000 by itself. Do not raise it beyond 2,000."""
    shown_levels: int = 300
    """How deep a row may nest that is shown as JSON (`srfix decode`). Protects Python's stack: rows of 900 levels can be
    read, and nothing writes them. At most 400."""
    schema_parts: int = 100_000
    """How many types a reader visits for one record of an Avro schema, arrays and maps taken as empty. Protects from records
    that hold the next one twice, and so on: the schema is refused."""
    decimal_bytes: int = 4_096
    """How many bytes the unscaled number of one Avro or Connect decimal may have (9,864 digits). Protects from the
    conversion to decimal digits, which is quadratic: 900 kB take more than a minute, in which nothing else runs."""
    number_characters: int = 4_300
    """How many characters a number of JSON may have where its digits count. Whole numbers have this limit from msgspec and
    Python. Protects from quadratic conversions."""
    text_number_characters: int = 1_000
    """How many characters a text may have that a number is made of: what Jackson reads since 2.15. Protects likewise."""
    batch_bytes: int = 4 << 20
    """How many bytes of payloads are held as rows together where a batch is read: up to 1,000 payloads, and one at least.
    Protects from a thousand payloads that each take what they may."""
    shapes: int = 4_096
    """How many sets of JSON keys a deserializer of columns remembers, to match each with the columns only once. The oldest
    are forgotten first. Protects from payloads that all have other keys."""
    shape_bytes: int = 16 << 20
    """How many bytes the remembered sets may take; one of more than a 4,096th of it (4 KiB, about 60 keys) is matched
    anew for each row."""
    plans: int = 1_000
    """How many schemas a deserializer remembers how to read. Protects from a registry that knows every id. The oldest are
    forgotten first."""
    refusals: int = 10_000
    """How many refused schema ids and GUIDs a batch, or a reader of a topic, remembers, so as not to ask again. The oldest
    are forgotten first."""

    @classmethod
    def lifted(cls) -> PayloadBounds:
        """None of those that decoders look at: nothing is looked at then. For measuring, and for data that is trusted."""
        none = sys.maxsize
        return cls(
            values=none,
            values_per_byte=0,
            decimal_bytes=none,
            number_characters=none,
            text_number_characters=none,
        )

    def budget(self, size: int) -> int:
        """How many values a payload of so many bytes may make."""
        return self.values + self.values_per_byte * size


# --- answers of servers
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """What an answer over HTTP may take, of a schema registry and of ksqlDB.

    Change them with the registry's client properties that are named here, or with `RegistryClient(bounds=…)` and
    `KsqldbClient(bounds=…)`. An answer beyond one is not read on: its connection is closed, and the error names URL, bound
    and property. It is not asked for again at the same URL.
    """

    body_bytes: int = 64 * 2**20
    """`http.answer.max.bytes`: bytes of a body, decompressed. Protects memory from bodies without end and from compressed
    bombs. 100,000 subjects take 6 MB."""
    head_bytes: int = 256 * 2**10
    """`http.answer.max.head.bytes`: bytes before the body: status line, headers, and every `100 Continue` before them.
    Protects from heads without end."""
    json_parts: int = 5_000_000
    """`http.answer.max.parts`: commas and opening brackets of a JSON body. Protects memory from bodies like `[{},{},…]`,
    whose values take twenty times the room of their text."""
    deadline_s: float = 120.0
    """`http.answer.deadline.ms`: seconds from the request to the answer's last byte. Protects from answers that drip, whose
    every byte comes within the read time-out."""
    pages: int = 2_000
    """`http.listing.max.pages`: pages of one listing. Protects from listings without end. Registries give 1,000 schemas or
    20,000 subjects a page."""
    listing_deadline_s: float = 900.0
    """`http.listing.deadline.ms`: seconds spent waiting for the pages of one listing."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise UsageError(f"A bound must be more than 0; {name} is {getattr(self, name)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownIdBounds:
    """How long, and of how many ids, a client remembers that the registry does not know them.

    Change them with the registry's client properties that are named here (Confluent's names), or with
    `RegistryClient(unknown_ids=…)`. Protects the registry from a question for every record that carries an unknown id. What
    any client of this process writes makes all of them forget; `RegistryClient.forget_unknown_ids` does too.
    """

    remember_s: float = 30.0
    """`missing.id.cache.ttl.sec`: seconds; 0 asks each time."""
    most: int = 10_000
    """`missing.cache.size`: ids; beyond it the oldest is forgotten."""

    def __post_init__(self) -> None:
        if self.remember_s < 0 or self.most < 0:
            raise UsageError(
                "The time to remember unknown ids, and the number of ids to remember, must not be negative; they are "
                f"{self.remember_s} s and {self.most}."
            )


# --- what a person hands over, and servers
LOG_CHARACTERS: Final = 8 * 2**20
"""Characters of a log; of a longer one only the end is read, as the last failure is the one that matters."""
KSQLDB_BODY_BYTES: Final = 16 * 2**20
"""One answer of a ksqlDB server; one with a thousand queries answers with some megabytes."""
KSQLDB_JSON_PARTS: Final = 1_000_000
"""Commas and opening brackets of one answer of a ksqlDB server."""
KSQLDB_SECONDS: Final = 60.0
"""How long a survey of a ksqlDB server may take altogether."""
CONNECT_SECONDS: Final = 5.0
"""How long a connection to a registry or to ksqlDB may take."""
REGISTRY_READ_SECONDS: Final = 30.0
"""How long a registry may be silent."""
PLANNING_REQUESTS: Final = 16
"""How many requests of one `plan_read` a registry is sent at a time."""
BROKER_SECONDS: Final = 10.0
"""How long Spark waits for Kafka's brokers when `read_topic` and `read_stream` look whether there is such a topic."""
AVRO_JVM_ITEMS: Final = 10_000_000
"""Items of one array or map that Java's Avro believes in, in sessions of `start_session`."""
AVRO_JVM_TEXT_BYTES: Final = 67_108_864
"""Bytes of one string, and of one field of bytes, that Java's Avro believes in, in sessions of `start_session`."""

_payload_bounds = PayloadBounds()


def payload_bounds() -> PayloadBounds:
    """The bounds that deserializers are made with."""
    return _payload_bounds


def bound_payloads(bounds: PayloadBounds) -> PayloadBounds:
    """Sets the bounds that this process makes deserializers with from now on; gives those before.

    >>> before = bound_payloads(PayloadBounds(values_per_byte=100))
    >>> payload_bounds().budget(10)
    66536
    >>> _ = bound_payloads(before)
    """
    global _payload_bounds
    before, _payload_bounds = _payload_bounds, bounds
    return before


def remember(table: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Puts an entry where others read without a lock; `table` has at most `most` then."""
    while len(table) >= most and key not in table:
        try:
            table.pop(next(iter(table)), None)
        except (RuntimeError, StopIteration):
            continue  # another thread was here: look again
    table[key] = value
