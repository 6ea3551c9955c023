"""A plan's questions to the registry while it is made, and its decisions as values, for code that explains it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar
from uuid import UUID

from srfix.serde.bounds import PLANNING_REQUESTS, PayloadBounds, payload_bounds
from srfix.serde.column_sources.from_spark import spark_schema
from srfix.serde.columns.text import print_columns
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import deserializer_of
from srfix.serde.errors import SecretError, UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS, Format
from srfix.serde.interface import Deserializer, SerdeRegistry
from srfix.serde.resolve.policies import Resolver
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.schemas.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.spark.interface import Decisions, ListedVersion, NewestSchema, PlannedRefusal, PlannedSchema
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, split_context
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


_T = TypeVar("_T")
_R = TypeVar("_R")
_FEW: Final = 2
"""From this number of requests on, threads are worthwhile."""


def side_by_side(ask: Callable[[_T], _R], questions: Iterable[_T]) -> list[_R]:
    """If requests fail, the first one's error is raised, and those that were not yet sent are skipped."""
    question_list = list(questions)
    if len(question_list) < _FEW:
        return [ask(question) for question in question_list]
    with ThreadPoolExecutor(min(PLANNING_REQUESTS, len(question_list)), thread_name_prefix="srfix-plan") as pool:
        try:
            return list(pool.map(ask, question_list))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class PlanRegistry(SerdeRegistry, Protocol):
    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]: ...


class PlanLookups:
    """A plan's requests, from several threads. An id whose version has the same text is not asked again."""

    def __init__(self, registry: PlanRegistry) -> None:
        self._registry = registry
        if hasattr(registry, "forget_unknown_ids"):
            registry.forget_unknown_ids()  # a new plan needs the registry's present state
        # Keyed by context, because each context has its own ids.
        self._by_id: dict[tuple[str, int], RegisteredSchema] = {}
        self._versions: dict[tuple[str, int | str], SchemaVersion] = {}
        self._lock = Lock()
        self._asking: defaultdict[Hashable, Lock] = defaultdict(Lock)

    @contextmanager
    def _alone(self, *question: Hashable) -> Iterator[None]:
        """Threads with the same request wait for the first one's answer."""
        with self._lock:
            lock = self._asking[question]
        with lock:
            yield

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        key = (DEFAULT_CONTEXT if subject is None else split_context(subject)[0], schema_id)
        with self._alone(*key):
            if key not in self._by_id:
                self._by_id[key] = self._registry.schema_by_id(schema_id, subject=subject)
            return self._by_id[key]

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        with self._alone("version", subject, version):
            answer = self._versions.get((subject, version))
            if answer is None:
                answer = self._registry.version(subject, version, deleted=deleted)
                self._versions[subject, version] = self._versions[subject, answer.version] = answer
                if _is_compact(answer.schema.text):
                    schema = RegisteredSchema(schema_id=answer.schema_id, schema=answer.schema)
                    # An unqualified subject may be answered from another context, whose ids are others.
                    self._by_id.setdefault((split_context(answer.subject)[0], answer.schema_id), schema)
            return answer

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        try:
            return self._registry.versions(subject, deleted=deleted)
        except SubjectNotFoundError:
            return ()

    def latest(self, subject: str) -> SchemaVersion | None:
        try:
            return self.version(subject, "latest")
        except (SubjectNotFoundError, VersionNotFoundError):
            return None

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
        """Always sent to the registry, because a subject that lists an id may still not be found by the content."""
        return self._registry.lookup(subject, schema, deleted=deleted)

    def register(self, subject: str, schema: Schema) -> SchemaId:
        raise UsageError(f"A plan registers no schemas, but something tried to register one under {subject!r}.")


def listed(
    lookups: PlanLookups, subjects: Iterable[Subject], known_versions: Iterable[ListedVersion] = ()
) -> Iterator[ListedVersion]:
    """Also soft-deleted versions, because readers accept them. Only unknown ones are requested."""
    by_place = {(entry.subject, entry.version): entry for entry in known_versions}

    def at(place: tuple[Subject, int]) -> ListedVersion | None:
        subject, version = place
        if place in by_place:
            return by_place[place]
        try:
            answer = lookups.version(subject, version, deleted=True)
        except (SubjectNotFoundError, VersionNotFoundError):
            return None  # deleted for good since it was listed
        return ListedVersion(subject=subject, version=version, schema_id=answer.schema_id)

    places = [(subject, version) for subject in subjects for version in lookups.versions(subject, deleted=True)]
    yield from filter(None, side_by_side(at, places))


def _is_compact(text: str) -> bool:
    """If the text has blanks (Apicurio), the id's text differs, and readers look up that text."""
    try:
        return text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    except (ValueError, RecursionError):
        return False  # Protobuf


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest_of(value: object) -> str:
    """The SHA-256 of a value's plain parts, the same in every process (pickled bytes differ), without secrets."""
    made = hashlib.sha256()
    for part in _parts(value, ()):
        # Lengths keep the parts apart.
        encoded = part.encode("utf-8", "surrogatepass")
        made.update(f"{len(encoded)}:".encode())
        made.update(encoded)
    return made.hexdigest()


def _parts(value: object, within: tuple[int, ...]) -> Iterator[str]:
    if id(value) in within:
        yield f"above {len(within) - within.index(id(value))}"
        return
    within = (*within, id(value))
    match value:
        case Enum():
            yield f"{_name(type(value))}.{value.name}"
        case None | bool() | int() | float() | bytes():
            yield repr(value)
        case str() if type(value) is str:
            yield "text"
            yield value
        case tuple() | list():
            yield f"{type(value).__name__} {len(value)}"
            for item in value:
                yield from _parts(item, within)
        case dict():
            yield f"dict {len(value)}"
            for item in chain.from_iterable(value.items()):
                yield from _parts(item, within)
        case set() | frozenset():
            yield f"set {len(value)}"
            yield from sorted(digest_of(item) for item in value)
        case type():
            yield _name(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield _name(type(value))
            for part in fields(value):
                yield part.name
                yield from _parts(getattr(value, part.name), within)
        case _ if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
            yield _name(value)
        case _:
            yield from _object(value, within)


def _object(value: object, within: tuple[int, ...]) -> Iterator[str]:
    try:
        reduced = value.__reduce_ex__(4)
    except SecretError:
        yield "secret"
        return
    except TypeError:
        # Objects that are not pickled: a lock, a connection.
        yield _ADDRESS.sub("", repr(value))
        return
    yield _name(type(value))
    yield from _parts(reduced, within)


def _name(kind: object) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"


class Kept:
    """The jvm engine's result, once it was asked for. It is not pickled, so that a pickled plan stays small."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: object = None

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


class PlannedResolver:
    """The plan's results for its topic and role; for all else it asks its policy. Picklable if the policy is."""

    def __init__(self, policy: Resolver, schemas: Iterable[ResolvedSchema], *, topic: str, role: Role) -> None:
        self._policy = policy
        self._schemas: dict[tuple[int | None, str, Role], ResolvedSchema] = {
            (resolved.schema_id, topic, role): resolved for resolved in schemas
        }

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        schema = self._schemas.get((schema_id, topic, role))
        return self._policy.resolve(schema_id, topic=topic, role=role) if schema is None else schema

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        return self._policy.resolve_guid(guid, topic=topic, role=role)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadDecisions(Decisions[ReadSpec]):
    """How payloads are read: everything of a `ReadPlan` except the methods that explain it or make it again."""

    format: Format | None
    """The format of bodies; None if each schema's type decides it (Avro and JSON_SR in one topic)."""
    policy: Resolver | None
    """The policy to ask for an id that the plan does not have; None for a format without schemas."""
    subjects: tuple[Subject, ...] = ()
    """The subjects whose versions, live and soft-deleted, were listed."""
    listed: tuple[ListedVersion, ...] = ()
    schemas: tuple[PlannedSchema, ...] = ()
    """The writer schemas, by ascending id."""
    refusals: tuple[PlannedRefusal, ...] = ()
    """Ids that the policy did not accept, ascending."""
    newest: NewestSchema | None = None
    """The schema of the columns, if they are `NEWEST`."""
    bounds: PayloadBounds = field(default_factory=payload_bounds, compare=False)
    """The limits for a payload in a worker (`srfix.serde.bounds`): the driver's limits when the plan was made."""
    kept: Kept = field(default_factory=Kept, init=False, compare=False)
    """The engines' results for the plan, in this process."""

    @property
    def columns(self) -> Columns:
        """The columns of a row, in order: the columns of this half."""
        columns = self.spec.row_columns
        assert columns is not None
        return columns

    @property
    def strict(self) -> bool:
        """True if a row with any unfed column is bad; False if only a row with all columns unfed is bad."""
        return self.spec.strict

    @property
    def reader(self) -> ReaderSchema | None:
        """The Avro schema whose aliases, defaults and promotions count: the given schema, or with `NEWEST` the newest
        schema."""
        return self.spec.reader_schema

    def deserializer(self) -> Deserializer:
        """The deserializer for payloads in this process: rows are dicts of `columns`. Both engines give the same
        rows."""
        if self.policy is None:
            return deserializer_of(self.format, self.spec, None)
        resolved_schemas = (schema.resolved for schema in self.schemas)
        resolver = PlannedResolver(self.policy, resolved_schemas, topic=self.topic, role=self.role)
        return deserializer_of(self.format, self.spec, resolver)

    def spark_schema(self) -> str:
        """The rows' schema in Spark's JSON.

        :raises ColumnError: if Spark has no such type.
        """
        return spark_schema(self.columns)

    @property
    def schema(self) -> StructType:
        """The rows' schema as a Spark object: the fields of the struct that a reader makes. Needs pyspark.

        :raises ColumnError: if Spark has no such type.
        """
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self.spark_schema()))

    @property
    def digest(self) -> str:
        """64 hexadecimal digits: a hash of everything that decides how a payload is read, the same in every process."""
        schemas = [(one.schema_id, one.resolved.schema, one.resolved.references) for one in self.schemas]
        refusals = [(refusal.schema_id, refusal.reason) for refusal in self.refusals]
        columns, spec = print_columns(self.spec.known_columns), replace(self.spec, columns=None)
        return digest_of((self.topic, self.role, self.format, columns, spec, self.policy, schemas, refusals))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ReadDecisions) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        by_schema = f"{' and '.join(schema_format.word for schema_format in SCHEMA_FORMATS)} by schema"
        format_ = by_schema if self.format is None else self.format.value
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        return (
            f"ReadPlan({self.role.value}s of {self.topic!r}, {format_}, {len(self.columns)} columns, "
            f"{len(self.schemas)} schemas{refused})"
        )
