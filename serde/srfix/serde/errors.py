"""The errors of the serde, and the root of all errors of srfix (recovery's are in `srfix.recovery.errors`).

    SrfixError
    ├── WireError: PayloadTooShortError, UnknownMagicByteError, ImpossibleSchemaIdError, MalformedHeaderError
    ├── SchemaError, ColumnError
    ├── CasingError: AmbiguousFieldError
    ├── DecodeError: TruncatedBodyError, TrailingBytesError, PayloadBoundError
    │   ├── ColumnNotFedError: NothingFedError
    │   ├── IncompatibleTypeError: TimeUnitError
    │   └── CoercionError: OutOfRangeError
    ├── EncodeError
    ├── ResolveError: SubjectVersionError, DualSubjectError
    ├── SecretError
    ├── RegistryError: RegistryUnreachableError, RegistryProtocolError, RegistryAnswerError (`srfix.serde.schemas.errors`)
    ├── ClusterError: AccessDeniedError
    ├── SparkError: BadRowError, DataLossError, EngineRefusedError, JarMissingError, WorkerPackageError
    └── UsageError: NoSubjectError

A message says what is wrong, where, and what to do next. It never holds a secret. It is printable and of limited
length, even if it quotes foreign text (`srfix.serde.printable`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from srfix.serde import printable


class Reason(Enum):
    """Why a payload or row gave no result. The words are stable, because users write them to tables and count them."""

    TOMBSTONE = "TOMBSTONE"
    TOO_SHORT = "TOO_SHORT"
    BAD_MAGIC = "BAD_MAGIC"
    BAD_ID = "BAD_ID"
    BAD_FRAMING = "BAD_FRAMING"
    UNKNOWN_ID = "UNKNOWN_ID"
    NOT_UNDER_SUBJECT = "NOT_UNDER_SUBJECT"
    BAD_SCHEMA = "BAD_SCHEMA"
    AMBIGUOUS_CASE = "AMBIGUOUS_CASE"
    TRUNCATED = "TRUNCATED"
    TRAILING_BYTES = "TRAILING_BYTES"
    BEYOND_BOUNDS = "BEYOND_BOUNDS"
    NOTHING_FED = "NOTHING_FED"
    COLUMN_NOT_FED = "COLUMN_NOT_FED"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    BAD_VALUE = "BAD_VALUE"
    OVERFLOW = "OVERFLOW"
    DECODE_FAILED = "DECODE_FAILED"
    ENCODE_FAILED = "ENCODE_FAILED"
    NO_PLAN = "NO_PLAN"

    @property
    def is_error(self) -> bool:
        """False only for `TOMBSTONE`."""
        return self is not Reason.TOMBSTONE


class SrfixError(Exception):
    """The root of all errors that srfix raises on purpose.

    Subclasses may add keyword-only attributes. These errors can be pickled (process pools, Spark tasks); a plain
    exception with keyword-only arguments cannot.
    """

    row_reason: ClassVar[Reason | None] = None
    """Why a row with this error is bad; None if the error says nothing about a row. Subclasses inherit it."""

    def __init_subclass__(cls, *, reason: Reason | None = None) -> None:
        super().__init_subclass__()
        cls.row_reason = cls.row_reason if reason is None else reason

    def __init__(self, message: str, **attributes: object) -> None:
        super().__init__(printable.message(message))
        for name, value in attributes.items():
            setattr(self, name, value)

    @property
    def message(self) -> str:
        """The message: what is wrong, where, and what to do next."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[Callable[[], SrfixError], tuple[()], dict[str, Any]]:
        return partial(_revive, type(self), self.args), (), dict(self.__dict__)


def _revive(kind: type[SrfixError], args: tuple[object, ...]) -> SrfixError:
    error = kind.__new__(kind)
    error.args = args
    return error


class WireError(SrfixError, ValueError, reason=Reason.BAD_FRAMING):
    """A payload whose framing cannot be read."""


class PayloadTooShortError(WireError, reason=Reason.TOO_SHORT):
    """The payload is shorter than the framing that its first byte announces."""


class UnknownMagicByteError(WireError, reason=Reason.BAD_MAGIC):
    """The first byte is neither 0 (schema id) nor 1 (schema GUID): the payload is not framed."""


class ImpossibleSchemaIdError(WireError, reason=Reason.BAD_ID):
    """A schema id that no registry assigns: below 1, or from 2^31 on, which Java reads as negative."""

    schema_id: int
    """The id, from four unsigned bytes or from a person."""


class MalformedHeaderError(WireError):
    """A `__key_schema_id` / `__value_schema_id` header that is not 0x01 and 16 bytes of GUID."""


class SchemaError(SrfixError, ValueError, reason=Reason.BAD_SCHEMA):
    """A schema text that cannot be parsed, or is not of the needed kind."""


class ColumnError(SrfixError, ValueError):
    """A column list that cannot be read, or that the format does not allow."""


class CasingError(SrfixError, ValueError, reason=Reason.AMBIGUOUS_CASE):
    """Because of letter case, it is not clear which field feeds which column."""


class AmbiguousFieldError(CasingError):
    """Several fields equal a column ignoring case, and none is exact."""

    column: str
    """The column."""
    fields: tuple[str, ...]
    """The fields that could feed the column."""


class DecodeError(SrfixError, ValueError, reason=Reason.DECODE_FAILED):
    """A body that does not match its writer schema."""


class TruncatedBodyError(DecodeError, reason=Reason.TRUNCATED):
    """The body ends too early: bytes are missing at its end."""


class TrailingBytesError(DecodeError, reason=Reason.TRAILING_BYTES):
    """Bytes are left over after the last field: the body was written under another schema, or is corrupt."""


class PayloadBoundError(DecodeError, reason=Reason.BEYOND_BOUNDS):
    """The body exceeds a limit: values, levels or digits (`srfix.serde.bounds.PayloadBounds`)."""

    bound: str
    """The limit: the name of a field of `PayloadBounds`."""


class ColumnNotFedError(DecodeError, reason=Reason.COLUMN_NOT_FED):
    """A column that the writer does not feed, although every column must be fed (`strict`)."""

    columns: tuple[str, ...]
    """The columns that are not fed, by path: `ADDRESS->CITY`."""


class NothingFedError(ColumnNotFedError, reason=Reason.NOTHING_FED):
    """The writer feeds none of the columns, so its record is not a row of these columns."""


class IncompatibleTypeError(DecodeError, reason=Reason.TYPE_MISMATCH):
    """A writer's type cannot feed the column's type."""

    path: str
    """Where, from the root: `->A->ARRAY->B`."""
    writer_type: str
    """The writer's type."""
    column_type: str
    """The column's type."""


class TimeUnitError(IncompatibleTypeError):
    """The column holds days, times of day, instants or local times, but the writer's schema does not declare its
    numbers as that kind. `writer_type` also names the writer's unit."""


class CoercionError(DecodeError, reason=Reason.BAD_VALUE):
    """A value that does not fit the column that it feeds: too large, not a number, not base64."""

    path: str
    """Where, from the root: `->A->ARRAY->B`; `$.A[0].B` in JSON."""
    column_type: str
    """The column's type."""


class OutOfRangeError(CoercionError, reason=Reason.OVERFLOW):
    """A value that the column (digits), Python (the years 1 to 9999) or Arrow cannot hold."""

    path: str = ""
    """The path from the root; empty if it is not known."""
    column_type: str = ""
    """The column's type; empty if it is not known."""


class EncodeError(SrfixError, ValueError, reason=Reason.ENCODE_FAILED):
    """A row that does not fit its columns or its schema."""

    paths: tuple[str, ...] = ()
    """The fields that do not fit, from the root: `->A->B[0]`; empty if the error is not about fields."""


class ResolveError(SrfixError, reason=Reason.UNKNOWN_ID):
    """A schema id that the policy does not accept."""


class SubjectVersionError(ResolveError, reason=Reason.NOT_UNDER_SUBJECT):
    """The schema of the id is not registered under the subject that was asked: the incident."""

    schema_id: int | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that the payload carries; None if it carries an id."""
    subject: str
    """The subject that was asked."""
    error_code: int
    """The registry's error code: 40401 or 40403."""


class DualSubjectError(ResolveError, reason=Reason.NOT_UNDER_SUBJECT):
    """The schema of the id is registered under neither of the two subjects."""

    schema_id: int | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that the payload carries; None if it carries an id."""
    first_error: SubjectVersionError
    """The error of a reader that asks only the first subject."""
    second_error: SubjectVersionError
    """The error of a reader that asks only the second subject."""


class SecretError(SrfixError):
    """A secret that cannot be read, or would have to be sent unencrypted."""


class RegistryError(SrfixError):
    """The schema registry could not be asked, or refused a request. Subclasses are in `srfix.serde.schemas.errors`."""


class ClusterError(SrfixError):
    """The Kafka cluster could not be asked."""


class AccessDeniedError(ClusterError):
    """The Kafka cluster does not permit this user's request."""

    acl: str
    """The permission to ask for: operation and resource, as `kafka-acls` names them."""


class SparkError(SrfixError):
    """A plan, a cluster or a worker of Spark cannot do its work."""


class BadRowError(SparkError):
    """A row that could not be read or written, and therefore made the job fail."""

    topic: str | None
    """The topic; None if the frame does not name it."""
    partition: int | None
    """The partition; None if the frame does not name it."""
    offset: int | None
    """The offset; None if the frame does not name it."""
    reason: Reason
    """Why."""


class DataLossError(SparkError):
    """Records were gone before they were read: by retention, or because the topic was deleted or truncated."""

    topic: str
    """The topic."""
    partition: int | None
    """The partition; None if the whole topic is affected."""


class EngineRefusedError(SparkError):
    """The requested engine cannot represent the plan exactly."""

    reasons: tuple[str, ...]
    """Every reason, each naming its schema id and column."""


class JarMissingError(SparkError):
    """A jar that Spark needs is not on its class path."""

    packages: tuple[str, ...]
    """The Maven coordinates to start Spark with."""


class WorkerPackageError(SparkError):
    """A worker lacks srfix, or a library that srfix needs."""


class UsageError(SrfixError, ValueError):
    """The request makes no sense."""


class NoSubjectError(UsageError, reason=Reason.NOT_UNDER_SUBJECT):
    """A subject strategy has no subject for this schema: the strategy needs a record name, and the schema has none."""
