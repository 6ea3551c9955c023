"""Which changelogs to look at: internal-looking subjects without a topic, and stores that the person, a state
directory, a topology or ksqlDB names. The latter are needed because a restore before any put leaves no subject at all
(40401).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from srfix.recovery.cluster.topic_lookup import did_you_mean
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis import not_looked_at, undecided
from srfix.recovery.diagnosis.without_logging import shown_to_restore_nothing
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.facts.supplied import table_sources
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped, Weight
from srfix.recovery.internal_topics import (
    InternalTopicKind,
    application_prefixes,
    is_internal,
    ksqldb_query,
    operator_behind,
    parse,
    recognise,
    record_name_subject,
)
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.subjects.names import Subject, Topic, split_context, split_subject

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState, StoreOnDisk

_SPOT_CHECKS: Final = 20
"""How many further listed groups are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    suspects: tuple[Suspect, ...]
    """The changelogs, by name and context."""
    applications: Applications
    skipped: tuple[Skipped, ...]


def find_candidates(
    survey: Survey, *, application: str | None, store: str | None, command_line: CommandLine
) -> Candidates:
    """Looks through all subjects, live and soft-deleted, for internal-looking ones whose topic is not listed."""
    skipped: list[Skipped] = []
    listing = survey.cluster.groups()
    applications = Applications(survey, listing, () if application is None else (application,))
    orphaned = _changelogs_without_topic(survey, application, skipped)
    if application is None or store is None:
        _ask(survey, applications.listed, (topic for _context, topic in orphaned), named=application)
    splits = {(topic, context): _splits(topic, context, application, store) for context, topic in orphaned}
    by_changelog = {key: dict.fromkeys(of_name) for key, of_name in splits.items() if of_name}
    # A store that left a subject in one context is not looked for in another context, where nothing points to it.
    topics = {topic for topic, _context in by_changelog}
    named = _named(survey, application, store, skipped)
    for suspect in (*supplied_stores(survey), *named):
        asked_for = application in (None, suspect.application) and store in (None, suspect.name)
        if asked_for and suspect.changelog not in topics:
            by_changelog.setdefault((suspect.changelog, suspect.context), {})[suspect] = None
    suspects = {
        (changelog, context): Suspect(changelog=changelog, context=context, splits=tuple(stores))
        for (changelog, context), stores in by_changelog.items()
    }
    names = frozenset(split.name for stores in by_changelog.values() for split in stores)
    skipped.extend(supplied_skips(survey, application=application, names=names))
    if application is None and store is not None and not suspects:
        names_left = {split.name for split in _all_splits(survey)}
        raise UsageError(
            f"No store {store!r} was found: srfix looked for subjects of a changelog …-{store}-changelog without a topic, and "
            f"in the evidence that you gave.{did_you_mean(store, names_left)} If its phantom subject does not exist, "
            "name its application too: --application ID --store NAME."
        )
    _refuse_unknown(
        survey,
        application,
        # A topology's stores are no trace of an application, because the person said to which application the topology
        # belongs.
        {key: suspect for key, suspect in suspects.items() if store is not None or _has_trace(survey, suspect)},
        (*listing.groups, *survey.supplied.applications_by_themselves),
    )
    of_operators = {
        key: why for key, suspect in suspects.items() if (why := _never_restored(survey, suspect)) is not None
    }
    skipped.extend(of_operators.values())
    left = {key: suspect for key, suspect in suspects.items() if key not in of_operators}
    hidden = _hidden(survey, left.values(), command_line)
    skipped.extend(hidden.values())
    if listing.problem is not None:
        is_seen = bool(suspects) or any(map(_is_changelog, survey.topics())) or all(map(is_internal, survey.topics()))
        skipped.insert(0, not_looked_at.groups(listing.problem, is_all=application is None and not is_seen))
    return Candidates(
        suspects=tuple(left[key] for key in sorted(left) if left[key] not in hidden),
        applications=applications,
        skipped=tuple(skipped),
    )


def _changelogs_without_topic(
    survey: Survey, application: str | None, skipped: list[Skipped]
) -> list[tuple[str, Topic]]:
    """Pairs of a context and a changelog topic that does not exist; only of one application, if it is named."""
    topics = survey.topics()

    def is_wanted(topic: Topic) -> bool:
        is_its_own = application is None or parse(topic, application=application) is not None
        return is_its_own and topic not in topics and _is_changelog(topic)

    changelogs: dict[tuple[str, Topic], None] = {}
    for subject in survey.subjects():
        context, name = split_context(subject)
        split = split_subject(name)
        if split is None:
            record_named = record_name_subject(name)
            if record_named is not None and is_wanted(record_named):
                skipped.append(not_looked_at.by_record_name(subject))
            continue
        topic, _role = split
        if is_wanted(topic):
            changelogs[context, topic] = None
    return sorted(changelogs)


def _is_changelog(topic: Topic) -> bool:
    return recognise(topic) is InternalTopicKind.CHANGELOG


def _all_splits(survey: Survey) -> Iterator[SuspectStore]:
    for context, topic in _changelogs_without_topic(survey, None, []):
        yield from _splits(topic, context, None, None)


def _splits(topic: Topic, context: str, application: str | None, store: str | None) -> tuple[SuspectStore, ...]:
    """The ways to split a changelog's name, the longest application first; one named with its store is the only one."""
    names = application_prefixes(topic) if application is None or store is None else (application,)
    return tuple(
        SuspectStore(application=name, name=parsed.store, context=context)
        for name in names
        if (parsed := parse(topic, application=name)) is not None
        and parsed.store is not None
        and store in (None, parsed.store)
    )


def _ask(survey: Survey, listed: Collection[str], topics: Iterable[Topic], *, named: str | None) -> None:
    """Asks side by side for the offsets of all groups in question; one that is not listed may still exist."""
    least = 0 if named is None else len(named)
    groups: dict[str, None] = {}
    for topic in topics:
        prefixes = [prefix for prefix in application_prefixes(topic) if len(prefix) >= least]
        groups |= dict.fromkeys([prefix for prefix in prefixes if prefix in listed] or prefixes)
    if groups:
        # Some other groups that exist: their answers show how this broker answers.
        survey.ask_commits([*groups, *sorted(listed)[:_SPOT_CHECKS]])


def _named(
    survey: Survey, application: str | None, store: str | None, skipped: list[Skipped]
) -> Iterator[SuspectStore]:
    """The stores that the person named with their applications, whether or not they left a subject."""
    for key in survey.sources:
        of_application, slash, name = key.rpartition("/")
        if slash and application in (None, of_application) and store in (None, name):
            named = SuspectStore(application=of_application, name=name)
            if named.changelog not in survey.topics():
                yield named
    if application is None or store is None:
        return
    named = SuspectStore(application=application, name=store)
    if named.changelog not in survey.topics():
        yield named
    else:
        why = f"it restores from its own changelog topic, {named.changelog}"
        skipped.append(named.skipped(why, could_hide=False))


def _never_restored(survey: Survey, suspect: Suspect) -> Skipped | None:
    """Why its name says that no source topic is restored; None if it does not, or if something given shows it."""
    if any(survey.named_source(split) is not None for split in suspect.splits):
        return None
    if any(shown_to_restore_nothing(survey, split) is not None for split in suspect.splits):
        return None
    operator = operator_behind(suspect.changelog)
    if operator is not None:
        return not_looked_at.of_operator(suspect, operator)
    query = ksqldb_query(suspect.changelog)
    return (
        not_looked_at.of_transient_query(suspect, query.query_id) if query is not None and query.is_transient else None
    )


def _hidden(survey: Survey, suspects: Collection[Suspect], command_line: CommandLine) -> Mapping[Suspect, Skipped]:
    """Stores whose changelog this user may not see; not those whose source is named, or shown by something given."""
    certain = {suspect.changelog for suspect in supplied_stores(survey)}
    doubtful = [
        suspect
        for suspect in suspects
        if suspect.changelog not in certain and not any(map(survey.named_source, suspect.splits))
    ]
    hidden = survey.cluster.hidden_topics(suspect.changelog for suspect in doubtful)
    return {suspect: undecided.hidden(suspect, command_line) for suspect in doubtful if suspect.changelog in hidden}


def _has_trace(survey: Survey, suspect: Suspect) -> bool:
    """True if anything but a topology names it, or if all its topology's stores are global: then it has no group."""
    return any(
        any(map(survey.has_subject, split.subjects))
        or survey.named_source(split) is not None
        or split.application in survey.supplied.applications_by_themselves
        or _has_global_stores_alone(survey, split.application)
        for split in suspect.splits
    )


def _has_global_stores_alone(survey: Survey, application: str) -> bool:
    stores = survey.supplied.stores_of_topologies(application)
    return bool(stores) and all(survey.supplied.is_global(application, store) for store in stores)


def _refuse_unknown(
    survey: Survey, application: str | None, suspects: Mapping[tuple[Topic, str], Suspect], listed: Collection[str]
) -> None:
    if application is None or suspects or application in listed:
        return
    try:
        if survey.commits(application):
            return
    except ClusterError as error:
        raise ClusterError(
            f"srfix cannot tell whether application {application!r} exists: it could not read the committed offsets of the "
            f"group with this name ({error}), and no internal-looking subject starts with the name."
        ) from error
    prefixes = {split.application for split in _all_splits(survey)}
    raise UsageError(
        f"There is no application {application!r}: no consumer group of that name has a committed offset on this "
        "cluster, and no changelog-like subject in the registry starts with its name."
        f"{did_you_mean(application, listed) or did_you_mean(application, prefixes)} Check the application.id (it is "
        "the group id), the cluster (--bootstrap-servers) and the registry (--registry)."
    )


def supplied_stores(survey: Survey) -> Iterator[SuspectStore]:
    """Stores without a changelog topic that restore, or may restore, from a source topic: none with segments."""
    from srfix.recovery.state.directory import StoreKind

    topics = survey.topics()
    for store_on_disk in survey.supplied.stores_on_disk():
        if store_on_disk.kind is StoreKind.SEGMENTED or store_on_disk.own_changelog is not None:
            continue
        suspect = SuspectStore(application=store_on_disk.prefix, name=store_on_disk.name)
        if (store_on_disk.sources or store_on_disk.is_silent) and suspect.changelog not in topics:
            yield suspect
    for application in survey.supplied.applications:
        for topology, table in survey.supplied.tables(application):
            suspect = SuspectStore(application=application, name=table.store)
            certain = topology.application == application and table.weight is not Weight.WEAK
            if certain and table.topic in topics and suspect.changelog not in topics:
                yield suspect


def supplied_skips(survey: Survey, *, application: str | None, names: frozenset[str]) -> Iterator[Skipped]:
    """The parts of the given inputs that srfix could not read, or did not follow because they are not among `names`."""
    for state in survey.supplied.state:
        if application is None or state.application == application:
            yield from _of_state_directory(state)
        else:
            yield Skipped(
                what=f"the state directory {state.path}",
                reason=f"the directory belongs to application {state.application!r}, not to {application!r}. If it is a "
                "copy under another name, rename its folder to the application.id",
                could_hide=False,
            )
    for shut in survey.supplied.shut:
        if application in (None, Path(shut.path).name):
            yield Skipped(what=shut.path, reason=shut.reason, could_hide=True)
    for disk in survey.supplied.stores_on_disk():
        if application is None or disk.prefix == application:
            yield from _lost(disk, survey)
    on_disk = {disk.name for disk in survey.supplied.stores_on_disk()}
    for topology in survey.supplied.topologies:
        unknown = sorted({table.store for table in table_sources(topology.topology)} - names - on_disk)
        if topology.application is None and unknown:
            yield Skipped(
                what=f"{'store' if len(unknown) == 1 else 'stores'} {', '.join(unknown)} in {topology.origin}",
                reason="the printed topology does not name its application, and no subject or group points to one. Name "
                "the application with --application",
                could_hide=True,
            )
        missing = sorted({t.topic for t in table_sources(topology.topology)}.difference(survey.topics()))
        if missing:
            yield _not_on_this_cluster(topology.origin, ", ".join(missing))
    for answers in survey.supplied.ksqldb:
        for problem in answers.problems:
            yield Skipped(what=f"ksqlDB ({answers.origin})", reason=problem, could_hide=True)


def _of_state_directory(state: ApplicationState) -> Iterator[Skipped]:
    for problem in state.problems:
        # The names of the directories show the stores; a store without evidence is reported as skipped by itself.
        yield Skipped(what=problem.path, reason=problem.reason, could_hide=False)
    bare = [task.name for task in state.without_checkpoint() if task.checkpoint is None]
    if bare and not (state.is_in_use and state.traces.has_offsets_column_families):
        yield Skipped(
            what=f"the checkpoint of {'task' if len(bare) == 1 else 'tasks'} {', '.join(bare)} in {state.path}",
            reason="there is none, but that proves nothing. Streams 2.6.0 to 2.6.3 delete a checkpoint after they load "
            "it. If a thread then dies before its first commit, no checkpoint is left, and the next start restores the "
            "whole store, although nobody wiped anything",
            could_hide=False,
        )


def _lost(store_on_disk: StoreOnDisk, survey: Survey) -> Iterator[Skipped]:
    own = store_on_disk.own_changelog
    suspect = SuspectStore(application=store_on_disk.prefix, name=store_on_disk.name)
    if own is not None and own not in survey.topics():
        yield suspect.skipped(
            f"its checkpoint names its own changelog topic, {own}, which does not exist here: the topic was deleted, "
            "or this is another cluster. The store does not restore from a source topic",
            could_hide=False,
        )
    missing = sorted({source.topic for source in store_on_disk.sources}.difference(survey.topics()))
    if missing:
        whose = f"the checkpoint of store {store_on_disk.name}"
        yield _not_on_this_cluster(whose, ", ".join(missing), suspect.subjects)


def _not_on_this_cluster(what: str, topics: str, subjects: tuple[Subject, ...] = ()) -> Skipped:
    return Skipped(
        what=f"{topics}, named by {what}",
        reason="this cluster has no such topic. Check --bootstrap-servers: the cluster and what you gave must belong "
        "to one environment",
        could_hide=True,
        subjects=subjects,
    )
