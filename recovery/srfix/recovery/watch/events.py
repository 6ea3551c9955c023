"""The events of a watch: frozen values, in the order in which things happen."""

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
    """Both ends have answered."""

    diagnosis: Diagnosis | None
    """The result of a full look; None for a short look, which only asks for news."""
    duration_s: float
    lag_records: int = 0
    """Records that a short look left for the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFailed:
    """A full look was not possible although both ends answer, for example because the application is gone."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersions:
    """The subject of a source topic has new versions since the last look."""

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
    """Schemas were registered under a phantom subject, and a look-up finds them there."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """The ids that records carry, ascending."""
    journal: Path
    """The journal with which `srfix rollback` undoes it."""
    was_resumed: bool = False
    """True if an earlier run had begun it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Schemas are missing under a phantom subject, and the signed-off plan does not allow to register them."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """Ascending."""
    why: str
    """In words: no capital, no full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Nothing was written now, and the next look tries again, for example because another instance is writing."""

    subject: Subject
    schema_ids: tuple[SchemaId, ...]
    """The ids that are still missing; empty if they are not known."""
    why: str
    """In words: no capital, no full stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A registration stopped before its end; relaxed settings were reset, and the next look tries again."""

    subject: Subject
    why: str
    put_back: tuple[str, ...]
    journal: Path | None
    """Where its journal is kept; None if nothing was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandsRelaxed:
    """A subject of a plan has had the relaxed level for several looks: probably nobody reset it after a repair."""

    subject: Subject
    looks: int
    put_back: tuple[str, ...] = ()
    """The settings that this instance has reset, in words, in order; empty if the registry refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExamined:
    """The signed-off plan names a store that the full look did not examine, or for which it found another source."""

    application: str
    store: str
    subject: Subject
    source_topic: Topic
    """The topic from which the store restores, according to the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageBegan:
    """One end does not answer. Reported once; the watch asks again, with growing and random waits."""

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
