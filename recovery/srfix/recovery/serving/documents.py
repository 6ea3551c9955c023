"""The documents of the HTTP API, and the parameters of its requests; `openapi` describes them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from srfix.recovery.documents import Count, Document
from srfix.recovery.serving.liveness import PartitionRead
from srfix.recovery.serving.node import NotChosen
from srfix.recovery.stores.rows import StateRowDocument

MOST_ROWS: Final = 100_000
MOST_TIMEOUT_S: Final = 60.0

TimeMs: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Milliseconds since the epoch."""


class ServedRows(Document, tag="srfix.served-rows/1"):
    """Rows of a store, with where each partition was read and how far it is."""

    store: str
    rows: list[StateRowDocument]
    count: Count | None
    """For /count, the number of rows; else null."""
    partitions: list[PartitionRead]
    position: str
    """Give it as `min_position` to read nothing older later, from any member."""
    is_complete: bool = msgspec.field(name="complete")
    """False if rows are missing: `failed` says why, or the limit was reached."""
    failed: list[NotChosen]


class ServedStoreDocument(Document, tag="srfix.served-store/1"):
    """A store that is served, and who has its partitions."""

    name: str
    application: str | None
    """Null for a topic."""
    topic: str
    kind: str
    until: str
    """end, or committed: up to the offsets that the application has committed."""
    partitions: list[PartitionRead]
    missing: list[NotChosen]
    """Partitions that no member can read."""


class ServedStores(Document, tag="srfix.served-stores/1"):
    """All stores that are served."""

    member: str
    members: list[str]
    stores: list[ServedStoreDocument]
    notes: list[str]
    """What this member has told of its partitions since it was started, such as why one is filled anew; the newest 100."""
    problems: list[str]
    """What keeps this member from going on."""


class PartitionOfKey(Document, tag="srfix.served-partition/1"):
    """The partition of a key, and who has it."""

    store: str
    keys: list[str]
    """The bytes that the key may have, in hexadecimal."""
    partitions: list[PartitionRead]
    missing: list[NotChosen]


class ServedError(Document, tag="srfix.served-error/1"):
    """Why a request has no answer."""

    error: str
    failed: list[NotChosen]


class Params(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """No parameters."""


class Fresh(Params):
    max_lag: Annotated[str | None, Meta(description="The greatest lag: records, or a time such as 5s or 500ms.")] = None
    min_position: Annotated[str | None, Meta(description="`position` of an earlier answer: read nothing older.")] = None
    standby: Annotated[Literal["yes", "no"], Meta(description="no to ask only active members.")] = "yes"
    timeout: Annotated[float, Meta(gt=0, le=MOST_TIMEOUT_S, description="How long to wait, in seconds.")] = 10.0


class AtTime(Fresh):
    at: Annotated[TimeMs | None, Meta(description="For a versioned store: the version at this time, in ms.")] = None


class WithinTimes(Fresh):
    first: Annotated[TimeMs | None, Meta(description="The first time, inclusive, in milliseconds.")] = None
    last: Annotated[TimeMs | None, Meta(description="The last time, inclusive, in milliseconds.")] = None


class WithinKeys(Fresh):
    prefix: Annotated[str | None, Meta(description="Only keys whose bytes begin with these.")] = None
    first: Annotated[str | None, Meta(description="Only keys from this one on, inclusive.")] = None
    last: Annotated[str | None, Meta(description="Only keys up to this one, inclusive.")] = None
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="The largest number of rows.")] = 1_000
