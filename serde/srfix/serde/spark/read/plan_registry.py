"""A registry with a cache for planning, and the list of the subjects' versions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Final, Literal, Protocol, TypeVar

from srfix.serde.bounds import PLANNING_REQUESTS
from srfix.serde.errors import UsageError
from srfix.serde.interface import SerdeRegistry
from srfix.serde.schemas.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.spark.interface import ListedVersion
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Subject, split_context
from srfix.serde.wire import SchemaId

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
        key = (_context(subject), schema_id)
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
                    self._by_id.setdefault((_context(answer.subject), answer.schema_id), schema)
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


def _context(subject: str | None) -> str:
    return DEFAULT_CONTEXT if subject is None else split_context(subject)[0]
