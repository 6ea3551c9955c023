"""What a plan does to a topic: what is written where, out of what, and what is expected to be there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, field

from srfix.recovery.documents import Sha256
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Subject, Topic

OUR_HEADER: Final = "srfix-expiry"
"""The header of the tombstones that a plan writes; its value tells the plan."""


class PartitionRows(Struct, frozen=True, kw_only=True):
    """Records of one partition: those that a plan copies, or puts an end to."""

    partition: int
    start_offset: int
    """Where the log started when it was planned (inclusive)."""
    end_offset: int
    """Where reading ended (exclusive): the committed offset, of a seed; the end of the log, of an expiry."""
    rows: int
    """How many keys are written."""
    bytes_: int = field(name="bytes")
    """Of their keys, values and headers."""
    oldest_ms: int | None = field(name="oldest")
    """The oldest timestamp among them; None if there are none."""
    newest_ms: int | None = field(name="newest")
    """The newest timestamp among them; None if there are none."""
    digest: Sha256
    """Over their keys, values, timestamps and headers."""


class CarriedSchemaId(Struct, frozen=True, kw_only=True):
    """A schema id in the values that a seed writes."""

    schema_id: int = field(name="id")
    rows: int
    is_registered: bool | None = field(name="registered")
    """Whether its schema is under the subject that the store's reader asks; None if that was not looked up."""


class SeedChangelog(Struct, frozen=True, kw_only=True, tag_field="kind", tag="seed-changelog"):
    """Fill a store's changelog topic with what a restore from the source topic loads."""

    application: str
    """The application.id, which is the group too."""
    store: str
    configs: Mapping[str, str]
    """Of a topic that is created."""
    source: Topic
    """The topic that the store is restored from now."""
    changelog: Topic
    """`<application>-<store>-changelog`."""
    subject: Subject
    """What the store's reader asks for the values, which carry the ids below."""
    isolation: Isolation
    """How the source is read: as the application's restore reads it."""
    creates: bool
    """True if there is no changelog topic and the plan creates it."""
    replication_factor: int
    """Of a topic that is created; -1 for the broker's default."""
    changelog_ends: tuple[int, ...]
    """Per partition the end of the changelog when planned: no row stood below. Zeros where there was no topic."""
    partitions: tuple[PartitionRows, ...]
    """By partition, ascending, all of them."""
    schema_ids: tuple[CarriedSchemaId, ...]
    """Ascending."""

    @property
    def topic(self) -> Topic:
        """What is written to."""
        return self.changelog


class KeptRecords(Struct, frozen=True, kw_only=True):
    """The file beside a plan with the records that it puts an end to."""

    file: str
    """Its name, without a folder."""
    records: int
    sha256: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
    """Of its content, in hexadecimal."""


class ExpireKeys(Struct, frozen=True, kw_only=True, tag_field="kind", tag="expire-keys"):
    """Write tombstones for the keys whose newest record is older than a point in time."""

    application: str
    """Whose topic it is."""
    store: str | None
    """The store whose changelog it is; None for a topic that the application reads."""
    configs: Mapping[str, str]
    """`cleanup.policy` and `message.timestamp.type` when planned."""
    topic: Topic
    older_than_s: int
    """The age, in seconds, when planned."""
    cutoff_ms: int = field(name="cutoff")
    """Records with a timestamp below are expired; milliseconds since the epoch."""
    tombstone_ms: int = field(name="tombstone_timestamp")
    """The timestamp of the tombstones: when it was planned. A run that goes on writes the same."""
    limit: int | None
    """The most keys that were taken, oldest first; None for all."""
    left_by_limit: int
    """How many keys are as old, and left for another plan."""
    live_keys: int
    """How many keys of the topic have a row, expired ones too."""
    kept: KeptRecords
    samples: tuple[str, ...]
    """The oldest keys, in words."""
    partitions: tuple[PartitionRows, ...]
    """By partition, ascending, all of them."""


Work: TypeAlias = SeedChangelog | ExpireKeys
