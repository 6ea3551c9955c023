"""The predictions of a check, as frozen values; its findings are in `findings`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from srfix.recovery.severity import Severity
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId


class Certainty(Enum):
    """How certain a prediction is, the most certain first."""

    CERTAIN = "certain"
    """It follows from the given inputs and from what srfix saw."""
    POSSIBLE = "possible"
    """The signs that srfix saw speak for it, but srfix does not know the fact that decides it (the reader, or the
    schema that the application writes).
    """
    UNTOLD = "cannot be told from here"
    """A version or a setting decides whether it happens at all, and nobody named it."""
    EXCLUDED = "excluded"


_ORDER = tuple(Certainty)


def weakest(certainties: Iterable[Certainty]) -> Certainty:
    return max(certainties, key=_ORDER.index, default=Certainty.CERTAIN)


class Moment(Enum):
    RESTORE = "restore"
    """The next restore: a lost state directory, a rebalance, a standby that takes over."""
    UPGRADE = "upgrade"
    """The change to the version of `--to`."""
    PUT = "put"
    """The next record that the application stores."""
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    code: str | None
    """As in the catalogue; None if the catalogue has no code for it."""
    severity: Severity
    certainty: Certainty
    moment: Moment
    application: str = ""
    store: str = ""
    role: Role
    subject: Subject
    """The subject that will be asked, or that refuses."""
    topic: Topic | None
    schema_ids: tuple[SchemaId, ...] = ()
    explanation: str
    first: tuple[str, ...] = ()

    @property
    def is_serious(self) -> bool:
        return self.severity is not Severity.NOTE

    @property
    def fails(self) -> bool:
        """True if it is a reason to stop: serious, and certain or possible."""
        return self.is_serious and self.certainty in (Certainty.CERTAIN, Certainty.POSSIBLE)

    @property
    def is_open(self) -> bool:
        """True if it is serious, and srfix cannot tell whether it happens."""
        return self.is_serious and self.certainty is Certainty.UNTOLD
