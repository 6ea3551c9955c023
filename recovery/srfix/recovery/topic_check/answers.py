"""What a look at a topic answers: per schema id whether the reader reads it, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from uuid import UUID

from srfix.recovery.census.interface import Census
from srfix.recovery.facts.holders import Holder
from srfix.recovery.facts.stores import Membership
from srfix.recovery.facts.topics import TopicQuestion
from srfix.recovery.findings import IdAtFault, Severity, Skipped
from srfix.recovery.topic_check.lives import Lives, Positions, Standing
from srfix.recovery.topic_check.origin import Told
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId


class Trouble(Enum):
    """Why a reader cannot read an id."""

    UNKNOWN_ID = "unknown id"
    """The registry does not know it at all: SRF011."""
    NO_SUBJECT = "no subject"
    """Its schema has no record's name, of which the strategy makes the subject."""
    MISSING = "not under the subject"
    """The subject that is asked does not hold its schema."""
    NO_LATEST = "no live latest version"
    """The subject has no live version, or none with the metadata that is asked for."""
    LATEST_CANNOT_READ = "the latest version cannot read it"
    """The subject's latest version does not resolve what was written under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedId:
    """One schema id of a topic's keys or values, and what comes of reading it."""

    schema_id: SchemaId
    subject: Subject | None
    """The subject that the reader asks; None where the strategy names none, or the registry does not know the id."""
    membership: Membership
    """Whether that subject holds its schema, asked by content with `deleted=true`."""
    trouble: Trouble | None
    """Why the reader fails on it; None if it does not, as far as was told."""
    why: str | None = None
    """What to say of the trouble besides, in words."""
    untold: str | None = None
    """Why it could not be told whether the reader reads it; None if it was."""
    standing: Standing
    """Whether the reader meets it."""
    fault: IdAtFault
    """Where it is. Its `live_keys` are records where every record is live."""
    guids: tuple[UUID, ...] = ()
    """The GUIDs by which records name it; empty where they carry the id itself."""

    @property
    def is_mended(self) -> bool:
        """True if a registration under the subject is all that it lacks."""
        return self.membership.is_missing and self.trouble in (Trouble.MISSING, None)

    @property
    def reads(self) -> bool | None:
        """True if the reader reads it, False if it fails; None if that was not told."""
        return False if self.trouble is not None else None if self.untold is not None else True


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleAnswer:
    """The keys or the values of the topic."""

    role: Role
    ids: tuple[AskedId, ...]
    """Every id in the log, ascending."""
    unknown_guids: tuple[UUID, ...] = ()
    """GUIDs that the registry does not know."""
    records: int
    """Keys or values that are not null."""
    framed: int
    """Those that name a schema."""
    nulls: int
    """Tombstones, or null keys."""
    window: WindowKind | None = None
    """The window behind each key; None if they are not windowed."""
    is_looked_at: bool = True
    """False for keys that no schema registry serializer wrote (BIGINT, UUID, text)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFinding:
    """One thing that a reader of the topic fails on, or a note. One per (code, role, subject)."""

    code: str
    severity: Severity
    topic: Topic
    role: Role
    subject: Subject
    """The subject that the reader asks."""
    schema_ids: tuple[IdAtFault, ...]
    """The ids at fault, ascending."""
    registered_ids: tuple[SchemaId, ...] = ()
    """What stands under `subject` now, soft-deleted versions too, ascending."""
    holders: tuple[Holder, ...] = ()
    """Who holds the ids at fault."""
    origin: Told | None = None
    """What the holders tell; None where that was not asked."""
    explanation: str
    next: str
    repairable: bool = False
    """True if `srfix plan --topic` has a repair for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCheck:
    """The outcome of looking at a topic."""

    question: TopicQuestion
    census: Census
    """What is in the log, with what the reader meets counted as live and GUIDs counted under their ids."""
    lives: Lives
    """What counts as live."""
    cleanup_policy: str | None
    """The topic's `cleanup.policy`; None where the cluster does not tell."""
    positions: Positions | None
    """Where the group reads on; None without a group."""
    roles: tuple[RoleAnswer, ...]
    findings: tuple[TopicFinding, ...]
    """Worst first, then by role, subject, code."""
    skipped: tuple[Skipped, ...]

    @property
    def has_findings(self) -> bool:
        """True if something other than notes was found."""
        return any(finding.severity is not Severity.NOTE for finding in self.findings)

    @property
    def is_inconclusive(self) -> bool:
        """True if nothing was found, but something that could hide a finding was not looked at."""
        return not self.has_findings and any(skipped.could_hide for skipped in self.skipped)

    def role(self, role: Role) -> RoleAnswer | None:
        """The answer for keys or values; None if it was not asked for."""
        return next((answer for answer in self.roles if answer.role is role), None)
