"""Changelog topics that exist: whether the registry still knows the ids in them.

A few records of each topic, and the rows of the store on disk if a state directory was given, show which topics are
worth a census. srfix makes a census of each topic with an id that the registry does not know. So no finding rests on a
record that a later one has replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.diagnosis.learning import Counter
from srfix.recovery.errors import LibraryMissingError
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.changelogs import (
    ChangelogFacts,
    LostIds,
    contexts_of,
    real_changelogs,
    registry_roles,
    unknown_ids,
)
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.rows_on_disk import StoreIds, ids_by_changelog
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding, Skipped
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.internal_topics import application_prefixes, generated_owner, is_in_own_format, parse
from srfix.serde.errors import AccessDeniedError
from srfix.serde.subjects.names import Role, Topic, join_context, subject_for

_MOST: Final = 50
_MOST_NAMED: Final = 3


@dataclass(slots=True)
class LookedInto:
    findings: list[Finding] = field(default_factory=list)
    peeked: list[Topic] = field(default_factory=list)
    left_out: list[Topic] = field(default_factory=list)
    refused: list[Topic] = field(default_factory=list)
    partial: list[Topic] = field(default_factory=list)
    wrapped: list[Topic] = field(default_factory=list)
    """The topics whose rows Kafka Streams wraps in a format of its own."""
    unowned: list[Topic] = field(default_factory=list)
    command: str = ""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        parts = tuple(self._parts())
        if not parts:
            return ()
        topics = sorted({*self.peeked, *self.wrapped, *self.left_out, *self.refused, *self.partial, *self.unowned})
        return (
            Skipped(
                what=f"records of {counted(len(topics), 'changelog topic')}",
                reason=f"whether the registry knows every schema id in them (SRF014): {'; '.join(parts)}",
                could_hide=False,
            ),
        )

    def _parts(self) -> Iterator[str]:
        if self.peeked:
            yield (
                f"in {counted(len(self.peeked), 'topic')} srfix looked only at the first and newest records; "
                f"{self.command} counts all of them"
            )
        if self.wrapped:
            named = listed(self.wrapped, most=_MOST_NAMED)
            yield f"srfix did not look into rows of suppressions, stream-stream joins and foreign-key joins, such as {named}"
        if self.left_out:
            yield f"srfix looked only at the first {_MOST} topics by name, and left out {len(self.left_out)}"
        if self.refused:
            yield f"this user may not read {listed(self.refused, most=_MOST_NAMED)}"
        if self.partial:
            yield f"{listed(self.partial, most=_MOST_NAMED)} was not read to its end"
        if self.unowned:
            named = listed(self.unowned, most=_MOST_NAMED)
            yield (
                f"the registry does not know some ids in {named}, but srfix found no living application with such a name "
                "(if there is one, name it with --application)"
            )


def look_into_changelogs(
    survey: Survey,
    counter: Counter,
    applications: Applications,
    context: CheckContext,
    *,
    is_whole: bool,
    application: str | None,
    store: str | None,
) -> LookedInto:
    """Looks at changelog topics: counts them all (`is_whole`), or looks at a few records of the first 50. Reads only."""
    topics = real_changelogs(survey, application=application, store=store)
    contexts = contexts_of(survey) if topics else ()
    account = LookedInto(command=context.command_line.quoted("diagnose", "--changelogs"))
    if not is_whole:
        topics, account.left_out = topics[:_MOST], [*topics[_MOST:]]
    for topic in topics:
        try:
            facts = _learn(
                survey,
                counter,
                applications,
                topic,
                account,
                contexts=contexts,
                is_whole=is_whole,
                application=application,
            )
        except AccessDeniedError:
            account.refused.append(topic)
            continue
        if facts is not None:
            account.findings += _check(facts, context)
    return account


def _check(facts: ChangelogFacts, context: CheckContext) -> Iterator[Finding]:
    for check in CHECKS:
        if check.find_of_changelog is not None:
            yield from check.find_of_changelog(facts, context)


def _learn(
    survey: Survey,
    counter: Counter,
    applications: Applications,
    topic: Topic,
    account: LookedInto,
    *,
    contexts: Sequence[str],
    is_whole: bool,
    application: str | None,
) -> ChangelogFacts | None:
    """The ids of a changelog that the registry has lost; None if none was seen, or for another application's."""
    if is_in_own_format(topic):
        account.wrapped.append(topic)
        return None
    roles = dict(registry_roles(survey, topic, contexts))
    ids_by_role = {role: frozenset(survey.peek(topic, role).schema_ids) for role in roles}
    if not is_whole and roles:
        on_disk = _ids_on_disk(survey, counter, topic)
        ids_by_role = {role: ids | on_disk.get(role, frozenset()) for role, ids in ids_by_role.items()}
    if not is_whole and not any(unknown_ids(survey, ids, roles[role]) for role, ids in ids_by_role.items()):
        account.peeked.append(topic)
        return None
    if not roles:
        return None  # even a full read would not show which format its bytes have
    owner = application or _owner(survey, applications, topic)
    name = owner or application_prefixes(topic)[-1]
    census = counter(topic, None, survey.restore_isolation(name).isolation)
    if census.is_partial:
        account.partial.append(topic)
    lost = tuple(_lost(survey, topic, roles, census))
    if not lost:
        return None
    if owner is None:
        account.unowned.append(topic)
        return None
    parsed = parse(topic, application=owner)
    if parsed is None or parsed.store is None or owner != (_owner(survey, applications, topic) or owner):
        return None  # it belongs to another application with a longer name
    return ChangelogFacts(
        topic=topic,
        application=owner,
        store=parsed.store,
        other_splits=tuple(_other_splits(topic, owner)),
        census=census,
        lost=lost,
    )


def _ids_on_disk(survey: Survey, counter: Counter, topic: Topic) -> StoreIds:
    """The ids in the rows of the changelog's store; empty without rocksdict, which the stores themselves report."""
    try:
        return ids_by_changelog(survey.supplied.state, topic, counter.rows)
    except LibraryMissingError:
        return {}


def _lost(survey: Survey, topic: Topic, roles: dict[Role, tuple[str, ...]], census: Census) -> Iterator[LostIds]:
    for role, contexts in roles.items():
        ids = unknown_ids(survey, census.restorable_ids(role), contexts)
        if ids:
            name = subject_for(topic, role)
            subject = join_context(contexts[0], name) if contexts else name
            registered = survey.ids_under(subject, deleted=True) if contexts else frozenset()
            yield LostIds(
                role=role,
                subject=subject,
                has_subject=bool(contexts),
                schema_ids=ids,
                registered_ids=tuple(sorted(registered)),
            )


def _owner(survey: Survey, applications: Applications, topic: Topic) -> str | None:
    """The living application with the longest name, else a given or generated one; a restore commits no offsets."""
    prefixes = application_prefixes(topic)
    survey.ask_commits(prefixes)
    named = (name for name in prefixes if applications.is_group(name) and not applications.is_plain(name))
    living = next((name for name in named if topic not in {read for read, _partition in survey.commits(name)}), None)
    owner = living or next((name for name in prefixes if name in survey.supplied.applications), None)
    return owner or generated_owner(topic)


def _other_splits(topic: Topic, owner: str) -> Iterable[str]:
    for name in application_prefixes(topic):
        parsed = parse(topic, application=name)
        if name != owner and parsed is not None:
            yield f"{name}/{parsed.store}"
