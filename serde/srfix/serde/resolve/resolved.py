"""What a resolver answers and tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from srfix.serde.errors import RegistryError, SubjectVersionError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import SchemaId

Identity: TypeAlias = "SchemaId | UUID"
"""What a payload names its schema by."""

_NO_SUCH_SUBJECT: Final = 40401
_KEY_NOTE: Final = (
    "This is a key: reading it works, but look-ups by key still miss, because the writer's bytes differ from what this "
    "reader's side would write. Keys are never registered by a reader."
)
_FIRST_NOTE: Final = (
    "There was no such subject before: the application's own schema, when it comes, is compared with this one, and under "
    "BACKWARD, say, refused (409). Soft-delete this version to prevent that: readers find it all the same, comparisons "
    "do not."
)


def words_for(identity: int | UUID) -> str:
    """`schema id 7`, `schema GUID …`."""
    return f"schema GUID {identity}" if isinstance(identity, UUID) else f"schema id {identity}"


def attributes_of(identity: int | UUID) -> dict[str, object]:
    """What an error has of it."""
    return {"schema_id": None, "guid": identity} if isinstance(identity, UUID) else {"schema_id": identity}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSchema:
    """A writer schema, and how it was found."""

    schema_id: SchemaId | None = None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that it carries instead."""
    schema: Schema
    """The writer schema."""
    references: tuple[str, ...] = ()
    """The texts that it refers to, directly or not, none before those that it refers to itself."""
    subject: Subject | None = None
    """The subject that holds its content; None if none was asked."""
    registered_id: SchemaId | None = None
    """The id in that subject's answer; None if none was asked."""

    @property
    def ids_differ(self) -> bool:
        """True if the subject holds the content under another id than the payload's. A GUID is of the content."""
        return self.schema_id is not None and self.registered_id not in (None, self.schema_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRegistration:
    """A registration that the first subject did not take. It is not tried again."""

    schema_id: SchemaId | None
    """The id whose schema was to be registered; None if the payload carries a GUID."""
    guid: UUID | None = None
    """The GUID that it carries instead."""
    subject: Subject
    """The subject that was to take it."""
    error: RegistryError
    """Why it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondAnswered:
    """The first subject did not hold a schema, and the second did."""

    schema_id: SchemaId | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that it carries instead."""
    role: Role
    """Key or value."""
    topic: str
    """The topic of the payload."""
    first: Subject
    """The subject that lacks it."""
    second: Subject
    """The subject that holds it."""
    first_error: SubjectVersionError
    """What the first subject's reader would have failed with."""
    registered_id: SchemaId | None = None
    """The id under which the first subject holds it now; None if it was not registered."""
    refusal: RefusedRegistration | None = None
    """Why it was not registered, if that was tried."""

    @property
    def is_key(self) -> bool:
        """True for a key: never registered, see `note`."""
        return self.role is Role.KEY

    @property
    def note(self) -> str:
        """What the one who operates the reader should know, in words."""
        identity = f"id {self.schema_id}" if self.guid is None else f"GUID {self.guid}"
        sentence = f"Schema {identity} is not registered under {self.first!r}; {self.second!r} has it."
        if self.is_key:
            return f"{sentence} {_KEY_NOTE}"
        if self.registered_id is not None:
            is_other = self.schema_id is not None and self.registered_id != self.schema_id
            other = f", where it has the id {self.registered_id}" if is_other else ""
            warning = f" {_FIRST_NOTE}" if self.first_error.error_code == _NO_SUCH_SUBJECT else ""
            return f"{sentence} It is registered under {self.first!r} now{other}.{warning}"
        if self.refusal is not None:
            return f"{sentence} Registering it was refused and will not be tried again: {self.refusal.error}"
        return f"{sentence} Readers that ask {self.first!r} alone fail on it: run `srfix diagnose`."
