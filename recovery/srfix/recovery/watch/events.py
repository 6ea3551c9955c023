"""What a watch tells: frozen values, in the order in which things happen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from srfix.recovery.findings import Diagnosis
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId


class End(Enum):
    KAFKA = "kafka"
    REGISTRY = "registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookEnded:
    """Both ends were asked and have answered."""

    diagnosis: Diagnosis | None
    """What a full look found; None for a short one, which asks for what is new alone."""
    duration_s: float
    lag_records: int = 0
    """Records that a short look left for the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFailed:
    """A full look was not possible as it was asked for, though both ends answer: the application is gone, say."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersions:
    """The subject of a source topic has versions that it had not at the last look."""

    subject: Subject
    versions: tuple[int, ...]
    """Their numbers, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIds:
    """Records of a source topic carry schema ids that none carried at the last look."""

    topic: Topic
    role: Role
    schema_ids: tuple[SchemaId, ...]
    """Ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """Schemas were registered under a phantom subject, and are found there."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """The ids that records carry, ascending."""
    journal: Path
    """What `srfix rollback` undoes it by."""
    was_resumed: bool = False
    """True if an earlier run had begun it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Schemas are missing under a phantom subject, and the signed-off plan does not allow what would register them."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """Ascending."""
    why: str
    """In words: no capital, no full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Nothing was written now, and the next look tries again: another instance is at it, say."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """What is missing meanwhile; empty if that is not known."""
    why: str
    """In words: no capital, no full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A registration stopped on its way; what it had relaxed was put back, and the next look tries again."""

    subject: Subject
    why: str
    """The error, in sentences."""
    put_back: tuple[str, ...]
    """What was put back, each in words."""
    journal: Path | None
    """Where its journal is kept; None if nothing was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandsRelaxed:
    """A subject that plans relax has stood at the relaxed level for several looks: somebody did not put it back."""

    subject: Subject
    looks: int
    put_back: tuple[str, ...] = ()
    """What of it this instance has put back, in words, in order; empty if the registry refused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExamined:
    """The signed-off plan speaks of a store that the full look did not examine, or whose source it sees elsewhere."""

    application: str
    store: str
    subject: Subject
    source_topic: Topic
    """What the plan says that it restores from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageBegan:
    """One end does not answer. Said once; the watch asks again, with growing and random waits."""

    end: End
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageEnded:
    end: End
    duration_s: float


Event: TypeAlias = (
    LookEnded
    | LookFailed
    | NewVersions
    | NewIds
    | Registered
    | Withheld
    | Deferred
    | Stopped
    | StandsRelaxed
    | NotExamined
    | OutageBegan
    | OutageEnded
)
