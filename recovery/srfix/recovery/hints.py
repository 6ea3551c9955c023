"""What reads the store, which Streams runs, and whether anything runs: hints, for where nobody said.

A person's `--reader` and `--streams-version` win over every hint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from srfix.recovery.checks.interface import CheckContext, Reader
from srfix.recovery.findings import Observation, Weight
from srfix.recovery.stores import SuspectStore
from srfix.recovery.streams_generation import (
    GenerationHint,
    decisive_version,
    from_commit_metadata,
    from_traces,
)
from srfix.recovery.survey import Survey
from srfix.serde.errors import ClusterError
from srfix.serde.subjects import Role

__all__ = ["Hint", "LivenessHint", "ReaderHint", "gather_hints", "observations", "with_hints"]

_CONNECT: Final = re.compile(
    r'"connect\.(?:name|version|parameters|default|internal\.type)"\s*:|\bKsqlDataSourceSchema'
)
_GENERATED_CLASS: Final = re.compile(r'"avro\.java\.string"\s*:')
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderHint:
    """What reads the store."""

    reader: Reader
    """Which kind."""
    weight: Weight
    """Weak ones are shown, and change nothing."""
    detail: str
    """What is seen, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessHint:
    """Whether the application runs at this moment."""

    is_alive: bool
    """True if its group has members."""
    state: str
    """The group's state, as Kafka names it."""
    detail: str
    """What is seen, in words."""


Hint: TypeAlias = ReaderHint | GenerationHint | LivenessHint


def gather_hints(store: SuspectStore, survey: Survey) -> tuple[Hint, ...]:
    """All hints on a store and its application. What cannot be asked gives none."""
    return (*_reader_hints(store, survey), *_generation_hints(store, survey), *_liveness_hints(store, survey))


def with_hints(context: CheckContext, hints: Iterable[Hint]) -> CheckContext:
    """The context in which the store is judged: what the person said, else what the hints say without doubt.

    ksqlDB's version is stronger than the look of a schema: a patched engine writes the same schemas.
    """
    known = tuple(hints)
    if context.reader is Reader.UNKNOWN:
        for weight in (Weight.CONCLUSIVE, Weight.STRONG):
            readers = {hint.reader for hint in known if isinstance(hint, ReaderHint) and hint.weight is weight}
            if len(readers) == 1:
                context = replace(context, reader=readers.pop())
                break
            if readers:
                break
    if context.streams_version is None:
        version = decisive_version(hint for hint in known if isinstance(hint, GenerationHint))
        context = replace(context, streams_version=version)
    return context


def observations(hints: Iterable[Hint]) -> tuple[Observation, ...]:
    """The hints in words, for a finding."""
    return tuple(map(_observation, hints))


def _observation(hint: Hint) -> Observation:
    match hint:
        case ReaderHint():
            return Observation(kind="reader", says=hint.reader.value, weight=hint.weight, detail=hint.detail)
        case GenerationHint():
            return Observation(kind="streams-version", says=str(hint), weight=hint.weight, detail=hint.detail)
        case LivenessHint():
            return Observation(kind="group-state", says=hint.state, weight=Weight.STRONG, detail=hint.detail)


def _reader_hints(store: SuspectStore, survey: Survey) -> Iterator[ReaderHint]:
    for answers, query in survey.supplied.queries(store.application):
        found = None if answers.server is None else _of_ksqldb(answers.server.version)
        if found is not None:
            reader, why = found
            detail = f"query {query.query_id} runs on ksqlDB {answers.server.version if answers.server else ''}: {why}"
            yield ReaderHint(reader=reader, weight=Weight.CONCLUSIVE, detail=detail)
    for role in (Role.VALUE, Role.KEY):
        subject = store.subject(role)
        latest = survey.latest(subject) if subject in survey.subjects() else None
        if latest is None:
            continue
        where = f"the schema under {subject}, version {latest.version},"
        if _CONNECT.search(latest.schema.text):
            detail = f"{where} has the marks of Connect's converter, which looks versions up under the subject"
            yield ReaderHint(reader=Reader.CONNECT, weight=Weight.STRONG, detail=detail)
        elif _GENERATED_CLASS.search(latest.schema.text):
            detail = f"{where} has avro.java.string, as generated classes have; those are usually read by id alone"
            yield ReaderHint(reader=Reader.PLAIN, weight=Weight.WEAK, detail=detail)


def _of_ksqldb(version: str) -> tuple[Reader, str] | None:
    """What an engine of that version reads with, and why. Builds of Confluent Platform give its version, 5.x and up."""
    found = _VERSION.match(version)
    if found is None:
        return None
    number = (int(found[1]), int(found[2]), int(found[3] or 0))
    is_platform = number >= (5, 0, 0)
    first_with_fallback, first_that_heals = ((6, 0, 0), (6, 1, 0)) if is_platform else ((0, 10, 2), (0, 11, 0))
    if number >= first_that_heals:
        return Reader.DUAL, "it asks the source's subject where the changelog's does not have the id (ksql pull 5823)"
    if number >= first_with_fallback:
        return (
            Reader.CONNECT,
            "it falls back to a second topic, but on Streams 2.6 a store is read under the changelog's name both times",
        )
    return Reader.CONNECT, "it looks versions up under the changelog's subject"


def _generation_hints(store: SuspectStore, survey: Survey) -> Iterator[GenerationHint]:
    for state in survey.supplied.state:
        if state.application == store.application:
            yield from from_traces(state.traces, path=state.path)
    try:
        metadata = survey.commit_metadata(store.application)
    except ClusterError:  # said where the offsets themselves are asked for
        return
    hint = from_commit_metadata(metadata.values())
    if hint is not None:
        yield hint


def _liveness_hints(store: SuspectStore, survey: Survey) -> Iterator[LivenessHint]:
    found = survey.group_state(store.application)
    if found.members is None or found.state is None:
        return
    detail = (
        f"its group has {found.members} member(s): it runs, or tries to"
        if found.members
        else "its group has no members: it is stopped, or its threads have died"
    )
    yield LivenessHint(is_alive=found.members > 0, state=found.state, detail=detail)
