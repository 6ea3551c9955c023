"""Which stores to look at: internal-looking subjects without a topic, and stores that the person names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.findings import Skipped
from srfix.recovery.internal_topics import Kind, application_prefixes, parse, recognise, record_name_subject
from srfix.recovery.stores import SuspectStore
from srfix.recovery.supplied_candidates import supplied_skips, supplied_stores
from srfix.recovery.survey import Survey
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.subjects import Role, Subject, Topic, join_context, split_context, split_subject, subject_for

__all__ = ["Candidates", "find_candidates"]

_SPOT_CHECKS: Final = 20
"""Listed groups that are asked besides."""
_NAMED_GROUPS: Final = 3
"""Groups that may not be asked and are named; there may be hundreds."""


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
    orphaned = _changelogs_without_topic(survey, application, skipped)
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
    owners = _Owners(survey, listed, named=application)
    if application is None or store is None:
        owners.ask(topic for _context, topic in orphaned)
    stores: dict[tuple[str, str, str], SuspectStore] = {}
    for context, topic in orphaned:
        if application is None:
            found = owners.of(topic)
        else:
            longer = owners.of(topic) if store is None else ()
            if longer:
                skipped.append(_of_another(context, topic, longer[0], application))
                continue
            found = (application,)
        if not found:
            skipped.append(_without_application(context, topic))
            continue
        parsed = parse(topic, application=found[0])
        if parsed is None or parsed.store is None or (store is not None and parsed.store != store):
            continue
        suspect = SuspectStore(application=found[0], name=parsed.store, other_applications=found[1:], context=context)
        stores[suspect.application, suspect.name, context] = suspect
    # One that left a subject in some context is not looked at in another one, where nothing points to it.
    known = {(suspect.application, suspect.name) for suspect in stores.values()}
    for suspect in supplied_stores(survey):
        asked_for = application in (None, suspect.application) and store in (None, suspect.name)
        if asked_for and (suspect.application, suspect.name) not in known:
            stores.setdefault((suspect.application, suspect.name, suspect.context), suspect)
    skipped.extend(owners.skipped())
    names = frozenset(suspect.name for suspect in stores.values())
    skipped.extend(supplied_skips(survey, application=application, found=names))
    if application is not None and store is not None:
        named = SuspectStore(application=application, name=store)
        if named.changelog not in survey.topics():
            if (application, store) not in known:
                stores.setdefault((application, store, named.context), named)
        else:
            skipped.append(
                Skipped(
                    what=f"store {store} of application {application}",
                    reason=f"it has a changelog topic of its own, {named.changelog}, and restores from that",
                    could_hide=False,
                    subjects=named.subjects,
                )
            )
    if application is None and store is not None and not stores:
        raise UsageError(
            f"No store {store!r} was found: no changelog-like subject without a topic ends in its name. If its phantom "
            "subject does not exist, name its application too: --application ID --store NAME."
        )
    _refuse_unknown(survey, application, stores.values(), (*listing.groups, *survey.supplied.applications))
    hidden = _hidden(survey, stores.values())
    skipped.extend(hidden.values())
    return Candidates(
        stores=tuple(stores[name] for name in sorted(stores) if stores[name] not in hidden), skipped=tuple(skipped)
    )


def _changelogs_without_topic(
    survey: Survey, application: str | None, skipped: list[Skipped]
) -> list[tuple[str, Topic]]:
    """Contexts and changelog topics that do not exist; of one application, if it is named."""
    topics = survey.topics()

    def is_wanted(topic: Topic) -> bool:
        is_its_own = application is None or parse(topic, application=application) is not None
        return is_its_own and topic not in topics and recognise(topic) is Kind.CHANGELOG

    found: dict[tuple[str, Topic], None] = {}
    for subject in survey.subjects():
        context, name = split_context(subject)
        split = split_subject(name)
        if split is None:
            record_named = record_name_subject(name)
            if record_named is not None and is_wanted(record_named):
                skipped.append(
                    Skipped(
                        what=f"subject {subject}",
                        reason="it follows TopicRecordNameStrategy, which this version does not examine",
                        could_hide=True,
                        subjects=(subject,),
                    )
                )
            continue
        topic, _role = split
        if is_wanted(topic):
            found[context, topic] = None
    return sorted(found)


class _Owners:
    """Which applications a changelog's name may belong to, the likeliest first.

    :param listed: the groups that the cluster lists.
    :param named: the application that is asked for: then only longer ones are looked for, which the name rather fits.
    """

    def __init__(self, survey: Survey, listed: Collection[str], *, named: str | None) -> None:
        self._survey = survey
        self._listed = listed
        self._named = named
        self._supplied = frozenset(survey.supplied.applications)
        self._refused: dict[str, ClusterError] = {}

    def ask(self, topics: Iterable[Topic]) -> None:
        """Asks for the offsets of all groups that come into question, side by side."""
        groups = [group for topic in topics for group in self._possible(topic)]
        if groups:
            # Some that exist besides: their answers tell how this broker answers.
            self._survey.ask_commits([*groups, *sorted(self._listed)[:_SPOT_CHECKS]])

    def of(self, topic: Topic) -> tuple[str, ...]:
        """The applications that exist."""
        known = {group for group in self._possible(topic) if group in self._listed or self._has_committed(group)}
        return tuple(prefix for prefix in self._prefixes(topic) if prefix in known or prefix in self._supplied)

    def skipped(self) -> Iterator[Skipped]:
        """The groups that could not be asked, in one line: there may be one per subject."""
        if not self._refused:
            return
        groups = sorted(self._refused)
        first = self._refused[groups[0]]
        what = f"the committed offsets of group {groups[0]!r}"
        reason = f"{first} Whether it is an application cannot be told"
        if len(groups) > 1:
            names = ", ".join(map(repr, groups[:_NAMED_GROUPS])) + (", …" if len(groups) > _NAMED_GROUPS else "")
            what = f"the committed offsets of {len(groups)} groups whose names are prefixes of subjects ({names})"
            reason = f"of the first: {first} Whether they are applications cannot be told"
        if self._named is not None:
            reason += f"; what may be theirs was examined as that of {self._named!r}"
        yield Skipped(what=what, reason=reason, could_hide=self._named is None)

    def _prefixes(self, topic: Topic) -> tuple[str, ...]:
        least = 0 if self._named is None else len(self._named)
        return tuple(prefix for prefix in application_prefixes(topic) if len(prefix) > least)

    def _possible(self, topic: Topic) -> tuple[str, ...]:
        """Those that are listed, else all that the name allows.

        A listing shows only the groups that one may describe, so its silence proves nothing.
        """
        prefixes = self._prefixes(topic)
        return tuple(prefix for prefix in prefixes if prefix in self._listed) or prefixes

    def _has_committed(self, group: str) -> bool:
        try:
            return bool(self._survey.commits(group))
        except ClusterError as error:  # one group that may not be asked hides no other one
            self._refused[group] = error
            return False


def _hidden(survey: Survey, suspects: Collection[SuspectStore]) -> Mapping[SuspectStore, Skipped]:
    """Stores whose changelog may exist after all, in a place that this user may not see.

    Not those of which the person says where they restore from, or hands over what says so.
    """
    certain = {(suspect.application, suspect.name) for suspect in supplied_stores(survey)}
    doubtful = [
        suspect
        for suspect in suspects
        if suspect.name not in survey.sources and (suspect.application, suspect.name) not in certain
    ]
    hidden = survey.cluster.hidden_topics(suspect.changelog for suspect in doubtful)
    return {
        suspect: Skipped(
            what=f"store {suspect.name} of application {suspect.application}",
            reason=f"whether it has a changelog topic of its own, {suspect.changelog}, cannot be told: this user may not "
            f"see a topic of that name. The ACL to ask for is Describe on topic {suspect.changelog!r}; or say which topic it "
            f"restores from, with --source {suspect.name}=TOPIC",
            could_hide=True,
            subjects=suspect.subjects,
        )
        for suspect in doubtful
        if suspect.changelog in hidden
    }


def _of_another(context: str, topic: Topic, longer: str, application: str) -> Skipped:
    return Skipped(
        what=f"the subjects of {topic}",
        reason=f"group {longer!r} exists and the name starts with it too, so they are rather its own than those of "
        f"{application!r}; examine them with --application {longer}, or as a store of {application!r} with --store",
        could_hide=True,
        subjects=_subjects_of(context, topic),
    )


def _without_application(context: str, topic: Topic) -> Skipped:
    return Skipped(
        what=f"the subjects of {topic}",
        reason="the name is that of a changelog, no such topic exists, and no consumer group was found whose name it "
        "starts with (it never existed, or its committed offsets expired); "
        "name the application with --application to have it examined",
        could_hide=True,
        subjects=_subjects_of(context, topic),
    )


def _subjects_of(context: str, topic: Topic) -> tuple[Subject, ...]:
    return tuple(join_context(context, subject_for(topic, role)) for role in (Role.VALUE, Role.KEY))


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
