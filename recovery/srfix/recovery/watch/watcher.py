"""The loop: a full look, which is a whole diagnosis, then short looks at listings and new records, and the writes. A
full look comes at the start, from time to time, and for new candidates or ids that nothing was registered for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.clock import now
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.facts.survey import Survey
from srfix.recovery.internal_topics import InternalTopicKind, application_prefixes, recognise
from srfix.recovery.registry import Registry
from srfix.recovery.watch.allowance import Allowed, AllowedPair, attend, is_relaxed
from srfix.recovery.watch.events import (
    Deferred,
    End,
    Event,
    LookEnded,
    LookFailed,
    NewIds,
    NewVersions,
    NotExamined,
    OutageBegan,
    OutageEnded,
    Registered,
    StandsRelaxed,
    Stopped,
    Withheld,
)
from srfix.recovery.watch.tail import TailedTopic, TopicChangedError
from srfix.recovery.watch.writing import Writer
from srfix.serde.errors import AccessDeniedError, ClusterError, RegistryError, UsageError
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId

_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 60.0
"""The longest wait between two attempts while an end does not answer; or the interval of looks, if that is shorter."""
_LOOKS_RELAXED: Final = 3
"""Another instance resets a relaxed level within seconds; after this number of looks nobody will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    interval_s: float = 10.0
    """The time from the beginning of a short look to the beginning of the next."""
    full_interval_s: float = 3600.0
    """The time from the end of a full look to the next."""
    once: bool = False
    """True for one full look with the writes that follow."""


@dataclass(slots=True, kw_only=True)
class Watcher:
    """Watches until it is told to end. It prints nothing; the caller gives the clock and the wait function."""

    cluster: Cluster
    registry: Registry
    new_survey: Callable[[], Survey]
    """A survey that has asked nothing yet."""
    examine: Callable[[Survey], Examination]
    """The full look: `diagnose`, as the person asked for it."""
    pace: Pace = field(default_factory=Pace)
    writer: Writer | None = None
    """The writer that registers; None to look and report only."""
    clock: Callable[[], str] = now
    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[float], bool]
    """Waits this number of seconds; if the watch should end, returns True at once."""
    jitter: Callable[[], float] = random.random
    """Between 0 and 1: the part of the longest wait that the watch waits after a failure."""
    _facts: tuple[StoreFacts, ...] = ()
    _tails: dict[Topic, TailedTopic] = field(default_factory=dict)
    _versions: dict[Subject, frozenset[int]] = field(default_factory=dict)
    _shape: object = None
    _next_full_s: float | None = None
    _has_looked: bool = False
    _again: set[Subject] = field(default_factory=set)
    _news: list[Event] = field(default_factory=list)
    _last_events: dict[Subject, set[Event]] = field(default_factory=dict)
    _relaxed: dict[Subject, int] = field(default_factory=dict)
    _away: dict[End, float] = field(default_factory=dict)
    _failures: int = 0

    def events(self) -> Iterator[Event]:
        """The events as they happen. Ends when `wait` says so, or after one look."""
        while True:
            began = self.monotonic()
            try:
                yield from self._round()
            except (ClusterError, RegistryError) as error:
                if self.pace.once:
                    raise
                yield from self._failed(error)
                longest_s = min(_LONGEST_WAIT_S, max(_FIRST_WAIT_S, self.pace.interval_s))
                delay = self.jitter() * min(longest_s, _FIRST_WAIT_S * 2**self._failures)
                self._failures = min(self._failures + 1, 16)
            else:
                self._failures = 0
                # Two instances that disturbed each other look again at different times.
                interval_s = self.pace.interval_s * (0.5 + self.jitter() if self._again else 1.0)
                delay = max(0.0, interval_s - (self.monotonic() - began))
            if self.pace.once or self.wait(delay):
                return

    def _failed(self, error: ClusterError | RegistryError) -> Iterator[Event]:
        end = End.REGISTRY if isinstance(error, RegistryError) else End.KAFKA
        if end not in self._away:
            self._away[end] = self.monotonic()
            yield OutageBegan(end=end, why=str(error))

    def _answered(self) -> Iterator[Event]:
        for end, since in sorted(self._away.items(), key=lambda away: away[0].value):
            yield OutageEnded(end=end, duration_s=self.monotonic() - since)
        self._away.clear()

    def _round(self) -> Iterator[Event]:
        self.registry.forget_unknown_ids()
        if self.writer is not None:
            for subject in tuple(self.writer.open_journals()):
                self._next_full_s = None
                yield from self._without_repeats(self.writer.resume(subject, self.registry))
        if self._next_full_s is None or self.monotonic() >= self._next_full_s:
            yield from self._look_fully()
        else:
            yield from self._look_shortly()
        if self.writer is not None:
            yield from self._look_at_levels(self.writer)

    def _look_fully(self) -> Iterator[Event]:
        began, survey, versions = self.monotonic(), self.new_survey(), self._versions
        try:
            examination = self.examine(survey)
        except UsageError as error:
            if not self._has_looked:
                raise
            self._next_full_s = self.monotonic() + self.pace.full_interval_s
            yield from self._answered()
            yield LookFailed(why=str(error))
            return
        self._facts = tuple(
            facts for facts in examination.facts if facts.census is not None and facts.source is not None
        )
        self._tails = self._tails_of(self._facts)
        sources = self._source_subjects()
        self._versions = {subject: versions[subject] for subject in sources if subject in versions}
        self._note_new_versions()
        self._shape = self._shape_of(survey)
        self._next_full_s = self.monotonic() + self.pace.full_interval_s
        self._has_looked = True
        yield from self._answered()
        yield from self._take_news()
        yield LookEnded(diagnosis=examination.diagnosis, duration_s=self.monotonic() - began)
        has_written = False
        for event in self._attend(self._allowed_subjects()):
            has_written = has_written or isinstance(event, Registered)
            yield event
        if self.writer is not None:
            yield from self._without_repeats(self._not_examined(self.writer))
        if has_written and examination.diagnosis.has_findings:
            if self.pace.once:
                after = self.new_survey()
                yield LookEnded(diagnosis=self.examine(after).diagnosis, duration_s=self.monotonic() - began)
            else:
                self._next_full_s = self.monotonic()  # the findings no longer hold

    def _look_shortly(self) -> Iterator[Event]:
        """News is kept as soon as it is seen, so that nothing is lost if an end stops answering in the middle."""
        began, survey = self.monotonic(), self.new_survey()
        wants_full = self._shape_of(survey) != self._shape
        self._note_new_versions()
        lag = 0
        for tail in self._tails.values():
            try:
                new, behind = tail.go_on(self.cluster, budget_s=self.pace.interval_s, monotonic=time.monotonic)
            except (TopicChangedError, AccessDeniedError):
                wants_full = True
                continue
            lag += behind
            self._note_new_ids(tail.topic, new)
        yield from self._answered()
        yield from self._take_news()
        yield LookEnded(diagnosis=None, duration_s=self.monotonic() - began, lag_records=lag)
        for event in self._attend(self._again):
            wants_full = wants_full or isinstance(event, Withheld)
            yield event
        if wants_full:
            self._next_full_s = self.monotonic()

    def _note_new_versions(self) -> None:
        for subject in self._source_subjects():
            numbers = frozenset(version_numbers(self.registry, subject))
            added = numbers - self._versions.get(subject, numbers)
            if added:
                self._news.append(NewVersions(subject=subject, versions=tuple(sorted(added))))
                self._again |= {pair.subject for pair in self._pairs() if pair.source_subject == subject}
            self._versions[subject] = numbers

    def _note_new_ids(self, topic: Topic, new: Mapping[Role, tuple[SchemaId, ...]]) -> None:
        """If nothing may be registered for a store, a full look says what the ids do to it."""
        for role, ids in new.items():
            self._news.append(NewIds(topic=topic, role=role, schema_ids=ids))
            stores = [facts.store for facts in self._facts if facts.census is not None and facts.census.topic == topic]
            subjects = {store.subject(role) for store in stores}
            allowed = self._allowed_subjects()
            self._again |= subjects & allowed
            if subjects - allowed:
                self._next_full_s = self.monotonic()

    def _take_news(self) -> Iterator[Event]:
        while self._news:
            yield self._news.pop(0)

    def _attend(self, subjects: set[Subject]) -> Iterator[Event]:
        writer = self.writer
        if writer is None:
            return
        survey = self.new_survey()
        examined = [(pair, facts) for pair in writer.pairs if (facts := self._facts_of(pair)) is not None]
        to_do = [(pair, facts) for pair, facts in examined if pair.subject in subjects]
        self._again = {pair.subject for pair, _facts in to_do}  # until it is settled: an outage may come in between
        for pair, facts in to_do:
            tail = self._tails.get(pair.source_topic)
            carried = frozenset(tail.ids.get(pair.role, ())) if tail is not None else frozenset()
            try:
                undone = writer.undone(pair.subject)
                obstacle = writer.obstacle(self.registry)
            except PlanError as error:
                undone, obstacle = frozenset(), str(error).rstrip(".")
            is_settled = True
            decided = attend(facts, pair, survey, carried=carried, undone=undone, clock=self.clock)
            for decision in tuple(decided):
                if isinstance(decision, Allowed) and obstacle is not None:
                    deferred = Deferred(subject=pair.subject, schema_ids=decision.schema_ids, why=obstacle)
                    events: Iterable[Event] = [deferred]
                elif isinstance(decision, Allowed):
                    events = writer.carry_out(decision.plan, pair.subject, self.registry)
                    survey = self.new_survey()  # answers from before the write no longer hold
                else:
                    events = [decision]
                for event in events:
                    is_settled = is_settled and not isinstance(event, Deferred | Stopped)
                    yield from self._without_repeats([event])
            if is_settled:
                self._again.discard(pair.subject)

    def _without_repeats(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events, without those that only repeat a subject's last event."""
        for event in events:
            match event:
                case Registered(subject=subject):
                    self._last_events.pop(subject, None)
                    yield event
                case Withheld(subject=subject) | Deferred(subject=subject) | NotExamined(subject=subject):
                    last_said = self._last_events.setdefault(subject, set())
                    if event not in last_said:
                        if len(last_said) >= 100:
                            last_said.clear()
                        last_said.add(event)
                        yield event
                case _:
                    yield event

    def _look_at_levels(self, writer: Writer) -> Iterator[Event]:
        """Resets a subject of a plan that has been relaxed for several looks, and reports it."""
        for pair in writer.pairs:
            if not pair.may_relax:
                continue
            config = self.registry.config(pair.subject)
            looks = self._relaxed.get(pair.subject, 0) + 1
            if not is_relaxed(pair, None if config is None else config.fields):
                self._relaxed.pop(pair.subject, None)
                continue
            self._relaxed[pair.subject] = looks
            if looks >= _LOOKS_RELAXED:
                try:
                    done = writer.take_over(pair, self.registry)
                except RegistryAnswerError as error:
                    if error.status >= 500:
                        raise
                    done = ()
                if done:
                    self._relaxed.pop(pair.subject)
                    self._again.add(pair.subject)
                if done or looks == _LOOKS_RELAXED:
                    yield StandsRelaxed(subject=pair.subject, looks=looks, put_back=done)

    def _not_examined(self, writer: Writer) -> Iterator[Event]:
        return (
            NotExamined(
                application=pair.application, store=pair.store, subject=pair.subject, source_topic=pair.source_topic
            )
            for pair in writer.pairs
            if self._facts_of(pair) is None
        )

    def _pairs(self) -> tuple[AllowedPair, ...]:
        return () if self.writer is None else self.writer.pairs

    def _allowed_subjects(self) -> set[Subject]:
        return {pair.subject for pair in self._pairs()}

    def _facts_of(self, pair: AllowedPair) -> StoreFacts | None:
        """The store as the last full look saw it, if it restores from the plan's topic."""
        for facts in self._facts:
            source = facts.source_of(pair.role)
            if (
                (facts.store.application, facts.store.name) == (pair.application, pair.store)
                and facts.store.subject(pair.role) == pair.subject
                and source is not None
                and (source.topic, source.subject) == (pair.source_topic, pair.source_subject)
            ):
                return facts
        return None

    def _source_subjects(self) -> tuple[Subject, ...]:
        sources = (facts.source_of(role) for facts in self._facts for role in facts.roles)
        return tuple(dict.fromkeys(source.subject for source in sources if source is not None))

    @staticmethod
    def _tails_of(stores: tuple[StoreFacts, ...]) -> dict[Topic, TailedTopic]:
        of_topics: dict[Topic, tuple[Census, set[Role]]] = {}
        for facts in stores:
            if facts.census is not None:
                of_topics.setdefault(facts.census.topic, (facts.census, set()))[1].update(facts.roles)
        return {topic: TailedTopic.after(census, roles) for topic, (census, roles) in of_topics.items()}

    def _shape_of(self, survey: Survey) -> Mapping[str, frozenset[object]]:
        """What in the listings decides the candidates, and how many partitions the sources have."""
        topics = survey.topics()
        orphaned: set[tuple[str, Topic]] = set()
        for subject in survey.subjects():
            context, name = split_context(subject)
            split = split_subject(name)
            if split is not None and split[0] not in topics and recognise(split[0]) is InternalTopicKind.CHANGELOG:
                orphaned.add((context, split[0]))
        prefixes = {prefix for _context, topic in orphaned for prefix in application_prefixes(topic)}
        groups = frozenset(self.cluster.groups().groups) & prefixes
        sources = {(topic, topics.get(topic)) for topic in self._tails}
        return {"changelogs": frozenset(orphaned), "groups": frozenset(groups), "sources": frozenset(sources)}
