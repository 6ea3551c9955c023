"""Which stores to look at: internal-looking subjects without a topic, and stores that the person names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from srfix.recovery.findings import Skipped
from srfix.recovery.internal_topics import Kind, application_prefixes, parse, recognise, record_name_subject
from srfix.recovery.stores import SuspectStore
from srfix.recovery.supplied_candidates import supplied_skips, supplied_stores
from srfix.recovery.survey import Survey
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.subjects import Topic, split_subject

__all__ = ["Candidates", "find_candidates"]

_SPOT_CHECKS: Final = 20
"""Listed groups that are asked besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What to look at, and what not."""

    stores: tuple[SuspectStore, ...]
    """By application and name."""
    skipped: tuple[Skipped, ...]
    """Subjects that could not be given to an application, and questions that the broker would not answer."""


def find_candidates(survey: Survey, *, application: str | None, store: str | None) -> Candidates:
    """Looks through all subjects, live and soft-deleted, for internal-looking ones whose topic is not listed.

    The application is found among the listed groups, the one that is named, and every prefix of the subject that
    ends before a `-`, asked as a group id; the longest that exists is taken, the others are remembered.

    :raises UsageError: if the application that is named has neither a group nor a subject.
    :raises ClusterError: if the broker does not answer at all.
    :raises RegistryError: if the registry does not answer.
    """
    skipped: list[Skipped] = []
    orphaned = _changelogs_without_topic(survey, skipped)
    listing = survey.cluster.groups()
    listed = frozenset(listing.groups)
    if listing.problem is not None:
        skipped.append(
            Skipped(
                what="the list of consumer groups",
                reason=f"{listing.problem}; application ids were looked for among the prefixes of subjects instead",
                could_hide=False,
            )
        )
    if application is not None:
        orphaned = [topic for topic in orphaned if parse(topic, application=application) is not None]
    if application is None or store is None:
        # Some of the groups that exist besides: their answers tell how this broker answers.
        groups = [group for topic in orphaned for group in _possible(topic, listed)]
        survey.ask_commits([*groups, *listing.groups[:_SPOT_CHECKS]] if groups else ())
    stores: dict[tuple[str, str], SuspectStore] = {}
    for topic in orphaned:
        if application is not None and store is not None:
            found: tuple[str, ...] = (application,)
        else:
            found = _applications(survey, topic, listed, skipped)
            if application is not None:
                longer = [other for other in found if len(other) > len(application)]
                if longer:
                    skipped.append(_of_another(topic, longer[0], application))
                    continue
                found = (application,)
        if not found:
            skipped.append(_without_application(topic))
            continue
        parsed = parse(topic, application=found[0])
        if parsed is None or parsed.store is None or (store is not None and parsed.store != store):
            continue
        suspect = SuspectStore(application=found[0], name=parsed.store, other_applications=found[1:])
        stores[suspect.application, suspect.name] = suspect
    for suspect in supplied_stores(survey):
        if application in (None, suspect.application) and store in (None, suspect.name):
            stores.setdefault((suspect.application, suspect.name), suspect)
    names = frozenset(suspect.name for suspect in stores.values())
    skipped.extend(supplied_skips(survey, application=application, found=names))
    if application is not None and store is not None:
        named = SuspectStore(application=application, name=store)
        if named.changelog not in survey.topics():
            stores.setdefault((application, store), named)
        else:
            skipped.append(
                Skipped(
                    what=f"store {store} of application {application}",
                    reason=f"it has a changelog topic of its own, {named.changelog}, and restores from that",
                    could_hide=False,
                )
            )
    if application is None and store is not None and not stores:
        raise UsageError(
            f"No store {store!r} was found: no changelog-like subject without a topic ends in its name. If its phantom "
            "subject does not exist, name its application too: --application ID --store NAME."
        )
    _refuse_unknown(survey, application, stores.values(), (*listing.groups, *survey.supplied.applications))
    return Candidates(stores=tuple(stores[name] for name in sorted(stores)), skipped=tuple(skipped))


def _changelogs_without_topic(survey: Survey, skipped: list[Skipped]) -> list[Topic]:
    topics = survey.topics()
    found: dict[Topic, None] = {}
    for subject in survey.subjects():
        split = split_subject(subject)
        if split is None:
            record_named = record_name_subject(subject)
            if record_named is not None and record_named not in topics:
                skipped.append(
                    Skipped(
                        what=f"subject {subject}",
                        reason="it follows TopicRecordNameStrategy, which this version does not examine",
                        could_hide=True,
                    )
                )
            continue
        topic, _role = split
        if topic not in topics and recognise(topic) is Kind.CHANGELOG:
            found[topic] = None
    return sorted(found)


def _applications(survey: Survey, topic: Topic, listed: Collection[str], skipped: list[Skipped]) -> tuple[str, ...]:
    """The applications that the topic may belong to, the likeliest first."""
    possible = _possible(topic, listed)
    known = {group for group in possible if group in listed or _has_committed(survey, group, skipped)}
    known.update(survey.supplied.applications)
    return tuple(prefix for prefix in application_prefixes(topic) if prefix in known)


def _possible(topic: Topic, listed: Collection[str]) -> tuple[str, ...]:
    """The groups that the topic may belong to: those that are listed, else all that its name allows.

    A listing shows only the groups that one may describe, so its silence proves nothing.
    """
    prefixes = application_prefixes(topic)
    return tuple(prefix for prefix in prefixes if prefix in listed) or prefixes


def _has_committed(survey: Survey, group: str, skipped: list[Skipped]) -> bool:
    try:
        return bool(survey.commits(group))
    except ClusterError as error:  # one group that may not be asked hides no other one
        refused = Skipped(
            what=f"the committed offsets of group {group!r}",
            reason=f"{error} Whether it is an application cannot be told",
            could_hide=True,
        )
        if refused not in skipped:
            skipped.append(refused)
        return False


def _of_another(topic: Topic, longer: str, application: str) -> Skipped:
    return Skipped(
        what=f"the subjects of {topic}",
        reason=f"group {longer!r} exists and the name starts with it too, so they are rather its own than those of "
        f"{application!r}; examine them with --application {longer}, or as a store of {application!r} with --store",
        could_hide=True,
    )


def _without_application(topic: Topic) -> Skipped:
    return Skipped(
        what=f"the subjects of {topic}",
        reason="the name is that of a changelog, no such topic exists, and no consumer group was found whose name it "
        "starts with (it never existed, or its committed offsets expired); "
        "name the application with --application to have it examined",
        could_hide=True,
    )


def _refuse_unknown(
    survey: Survey, application: str | None, stores: Iterable[SuspectStore], listed: Iterable[str]
) -> None:
    if application is None or any(True for _ in stores) or application in frozenset(listed):
        return
    try:
        if survey.commits(application):
            return
    except ClusterError as error:
        raise ClusterError(
            f"The committed offsets of group {application!r} could not be read ({error}), and no internal-looking "
            "subject starts with its name: whether the application exists cannot be told."
        ) from error
    raise UsageError(
        f"There is no application {application!r}: no consumer group of that name has a committed offset on this "
        "cluster, and no changelog-like subject in the registry starts with its name. Check the application.id (it is "
        "the group id), the cluster (--bootstrap-servers) and the registry (--registry)."
    )
