"""The errors that only recovery raises; all are `SrfixError`s (`srfix.serde.errors`).

SrfixError
├── PlanError                   a plan or journal that cannot be used
│   ├── AppliedInPartError      a repair that stopped after its first write
│   └── RolledBackInPartError   a rollback that stopped after its first write
├── StateDirectoryError         a file of a state directory that is not as Kafka Streams writes it
│   ├── FormatError             bytes of a store that do not have the format of their kind
│   ├── LibraryMissingError     rocksdict is not installed
│   ├── NotPermittedError       this user may not read it, so nothing is known of it
│   ├── RowsUnreadableError     rows that a new state directory could not take over
│   └── WrittenElsewhereError   a served partition that another member writes, too
├── ServingError                no member of `srfix serve` can answer, or the server does not
├── TopologyError               a text that is not a printed topology
└── KsqldbError                 ksqlDB could not be asked, or answered something else
"""

from __future__ import annotations

from typing import ClassVar, Self

from srfix.serde.errors import SrfixError


class PlanError(SrfixError):
    """A plan or a journal that cannot be used as it is."""


class AppliedInPartError(PlanError):
    """The repair stopped after its first write: some steps are done, and the journal says which."""


class RolledBackInPartError(PlanError):
    """The rollback stopped after it had begun: part of the repair is still in place, and the journal says which."""


class StateDirectoryError(SrfixError, ValueError):
    """A file of a state directory that cannot be read as Kafka Streams writes it."""


class FormatError(StateDirectoryError):
    """Bytes of a store, or of its changelog, that do not have the format of their kind. The message is only a clause,
    because the reader of the bytes knows their place.
    """


class LibraryMissingError(StateDirectoryError):
    """rocksdict, the library that reads RocksDB, is not installed."""

    def __init__(self) -> None:
        super().__init__("reading RocksDB needs the package rocksdict; install it with: pip install 'srfix[state]'")


class NotPermittedError(StateDirectoryError):
    """A file or folder of a state directory that this user may not read. That says nothing about what is in it."""

    REMEDY: ClassVar[str] = "this user is not permitted to read it; run srfix as the user that runs Kafka Streams"

    @classmethod
    def of(cls, path: object) -> Self:
        """The error about a path."""
        return cls(f"{path} cannot be read: {cls.REMEDY}")


class RowsUnreadableError(StateDirectoryError):
    """Some rows could not be written again, so the new directory for them was not completed."""


class WrittenElsewhereError(StateDirectoryError):
    """Another member has written a partition that this one serves: it is further than this member knew."""


class ServingError(SrfixError):
    """`srfix serve` has no answer: no member can give it, or a row cannot be decoded; or the server did not answer."""


class TopologyError(SrfixError, ValueError):
    """A text that is not the printed topology of Kafka Streams."""


class KsqldbError(SrfixError):
    """srfix could not ask ksqlDB, ksqlDB refused, or a saved file does not contain an answer of ksqlDB."""
