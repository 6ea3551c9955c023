"""The errors of the serde, and the root of all that srfix raises (recovery's are in `srfix.recovery.errors`).

    SrfixError
    ├── WireError                     a payload's framing
    │   ├── PayloadTooShortError      fewer bytes than the framing needs
    │   ├── UnknownMagicByteError     the first byte is neither 0 nor 1
    │   ├── ImpossibleSchemaIdError   a schema id that no registry gives: below 1, or beyond Java's ints
    │   └── MalformedHeaderError      a schema id header that is not 0x01 + GUID
    ├── SchemaError                   a schema text that is not one, or not of the kind asked for
    ├── ColumnError                   a column list that cannot be read, or is not allowed
    ├── CasingError
    │   └── AmbiguousFieldError       several writer fields differ only by case and none is exact
    ├── DecodeError                   a body that is not what its schema says
    │   ├── TruncatedBodyError
    │   ├── TrailingBytesError
    │   ├── PayloadBoundError         a body that asks for more than any may (srfix.serde.bounds)
    │   ├── ColumnNotFedError         a column that the writer does not feed, where every one was asked for
    │   │   └── NothingFedError       the writer feeds none of the columns: its record is not of their kind
    │   ├── IncompatibleTypeError     a writer type that cannot feed the column
    │   │   └── TimeUnitError         because its numbers are no such day, time or instant
    │   └── CoercionError             a value that does not fit the column that it feeds
    │       └── OutOfRangeError       because it is beyond what the column, Python or Arrow can hold
    ├── EncodeError                   a row that does not fit its columns
    ├── ResolveError                  a schema id that the policy does not accept
    │   ├── SubjectVersionError       not registered under the one subject (the incident)
    │   └── DualSubjectError          under neither of two subjects
    ├── SecretError                   a secret that cannot be had, or must not travel
    ├── RegistryError
    │   ├── RegistryUnreachableError  no URL of the list answered
    │   ├── RegistryProtocolError     an answer that no schema registry gives (a proxy's page, say)
    │   └── RegistryAnswerError       an error answer: status, error_code, message (leaves in registry.errors)
    ├── ClusterError                  the Kafka cluster could not be asked
    │   └── AccessDeniedError         this user may not ask; names the ACL to ask for
    ├── SparkError                    (spark) what a plan, a cluster or a worker cannot do as it stands
    │   ├── BadRowError               a row that could not be read, and fails the job
    │   ├── DataLossError             records were gone before they were read
    │   ├── EngineRefusedError        the engine cannot represent the plan exactly; names every reason
    │   ├── JarMissingError           a jar that Spark needs is not there; says which coordinates
    │   └── WorkerPackageError        a worker lacks srfix, or what it needs; says how to ship it
    └── UsageError                    what was asked for makes no sense as it stands
        └── NoSubjectError            a subject strategy makes no subject of this schema

A message says what, where and what to do next, and never holds a secret. It is printable and of bounded length, whatever
others wrote into it (`srfix.serde.printable`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

from srfix.serde import printable


class Reason(Enum):
    """Why a row is not there. The words are stable: they are written to tables and counted."""

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
        """False for `TOMBSTONE` alone."""
        return self is not Reason.TOMBSTONE


class SrfixError(Exception):
    """The root: everything that srfix raises on purpose.

    Leaves may add keyword-only attributes; they survive pickling (process pools, Spark tasks), which a plain
    exception with keyword-only arguments does not.
    """

    def __init__(self, message: str, **attributes: object) -> None:
        super().__init__(printable.message(message))
        for name, value in attributes.items():
            setattr(self, name, value)

    @property
    def message(self) -> str:
        """The sentence: what, where, what to do next."""
        return str(self.args[0])

    def __reduce__(self) -> tuple[Callable[[], SrfixError], tuple[()], dict[str, Any]]:
        return partial(_revive, type(self), self.args), (), dict(self.__dict__)


def _revive(kind: type[SrfixError], args: tuple[object, ...]) -> SrfixError:
    error = kind.__new__(kind)
    error.args = args
    return error


class WireError(SrfixError, ValueError):
    """A payload whose framing cannot be read."""


class PayloadTooShortError(WireError):
    """Fewer bytes than the framing that the first byte announces."""


class UnknownMagicByteError(WireError):
    """The first byte is neither 0 (schema id) nor 1 (schema GUID): the payload is not framed."""


class ImpossibleSchemaIdError(WireError):
    """A schema id that no registry gives: below 1, or of 2^31 and more, which Java takes for negative."""

    schema_id: int
    """The id, as four unsigned bytes or a person say it."""


class MalformedHeaderError(WireError):
    """A `__key_schema_id` / `__value_schema_id` header that is not 0x01 and 16 bytes of GUID."""


class SchemaError(SrfixError, ValueError):
    """A schema text that does not parse, or is not of the kind that is needed."""


class ColumnError(SrfixError, ValueError):
    """A column list that cannot be read, or holds what the format does not allow."""


class CasingError(SrfixError, ValueError):
    """Letter case leaves the match between fields and columns undecided."""


class AmbiguousFieldError(CasingError):
    """Several fields equal a column ignoring case, and none is exact."""

    column: str
    """The column."""
    fields: tuple[str, ...]
    """The fields that could feed it."""


class DecodeError(SrfixError, ValueError):
    """A body that is not what its writer schema says."""


class TruncatedBodyError(DecodeError):
    """The body ends before its schema does."""


class TrailingBytesError(DecodeError):
    """Bytes are left over after the last field: the body was written under another schema, or is corrupt."""


class PayloadBoundError(DecodeError):
    """The body asks for more than any body may: values, levels, digits (`srfix.serde.bounds.PayloadBounds`)."""

    bound: str
    """Which bound: the name of a field of `PayloadBounds`."""


class ColumnNotFedError(DecodeError):
    """A column that the writer does not feed, where every column was asked for (`strict`)."""

    columns: tuple[str, ...]
    """The columns that are not fed, by path: `ADDRESS->CITY`."""


class NothingFedError(ColumnNotFedError):
    """The writer feeds none of the columns: what it wrote is not a row of them, whatever it is."""


class IncompatibleTypeError(DecodeError):
    """A writer's type cannot feed the column's type."""

    path: str
    """Where, from the root: `->A->ARRAY->B`."""
    writer_type: str
    """The writer's type."""
    column_type: str
    """The column's type."""


class TimeUnitError(IncompatibleTypeError):
    """The writer's numbers are none of the days, times of day or instants that the column holds; `writer_type` has what it
    says of its numbers, too."""


class CoercionError(DecodeError):
    """A value that does not fit the column that it feeds: too large, not a number, not base64."""

    path: str
    """Where, from the root: `->A->ARRAY->B`; `$.A[0].B` in JSON."""
    column_type: str
    """The column's type."""


class OutOfRangeError(CoercionError):
    """A value beyond what can be held: by the column (digits), by Python (the years 1 to 9999), or by Arrow."""

    path: str = ""
    """Where, from the root; empty where it is not known."""
    column_type: str = ""
    """The column's type; empty where it is not known."""


class EncodeError(SrfixError, ValueError):
    """A row that does not fit its columns or its schema."""

    paths: tuple[str, ...] = ()
    """The fields that do not fit, from the root: `->A->B[0]`; empty if it is not about fields."""


class ResolveError(SrfixError):
    """A schema id that the policy does not accept."""


class SubjectVersionError(ResolveError):
    """The schema behind the id is not registered under the one subject that was asked: the incident."""

    schema_id: int | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that it carries instead."""
    subject: str
    """The subject that was asked."""
    error_code: int
    """What the registry said: 40401 or 40403."""


class DualSubjectError(ResolveError):
    """The schema behind the id is registered under neither of the two subjects."""

    schema_id: int | None
    """The id that the payload carries; None if it carries a GUID."""
    guid: UUID | None = None
    """The GUID that it carries instead."""
    first_error: SubjectVersionError
    """What the first subject's reader fails with."""
    second_error: SubjectVersionError
    """What the second subject's reader fails with."""


class SecretError(SrfixError):
    """A secret that cannot be read, or would have to travel in clear."""


class RegistryError(SrfixError):
    """The schema registry could not be asked, or said no. The leaves are in `srfix.serde.schemas.errors`."""


class ClusterError(SrfixError):
    """The Kafka cluster could not be asked."""


class AccessDeniedError(ClusterError):
    """The Kafka cluster does not let this user ask."""

    acl: str
    """The permission to ask for: operation and resource, as `kafka-acls` names them."""


class SparkError(SrfixError):
    """What a plan, a cluster or a worker of Spark cannot do as it stands."""


class BadRowError(SparkError):
    """A row that could not be read, or written, where that fails the job."""

    topic: str | None
    """The topic; None if the frame does not say it."""
    partition: int | None
    """The partition; None if the frame does not say it."""
    offset: int | None
    """The offset; None if the frame does not say it."""
    reason: Reason
    """Why."""


class DataLossError(SparkError):
    """Records were gone before they were read: by retention, or because the topic was deleted or truncated."""

    topic: str
    """The topic."""
    partition: int | None
    """The partition; None if it is about the whole topic."""


class EngineRefusedError(SparkError):
    """The engine that was asked for cannot represent the plan exactly."""

    reasons: tuple[str, ...]
    """Every reason, each naming its schema id and column."""


class JarMissingError(SparkError):
    """A jar that Spark needs is not on its class path."""

    packages: tuple[str, ...]
    """The Maven coordinates to start Spark with."""


class WorkerPackageError(SparkError):
    """A worker lacks srfix, or a library that it needs there."""


class UsageError(SrfixError, ValueError):
    """What was asked for makes no sense as it stands."""


class NoSubjectError(UsageError):
    """A subject strategy makes no subject of this schema: it takes a record's name, and the schema has none."""
