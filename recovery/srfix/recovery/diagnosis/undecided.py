"""The open questions about a store, in words: the hypotheses that are left, and the command that decides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from srfix.recovery.commands import CommandLine
from srfix.recovery.evidence import rules, schema_similarity
from srfix.recovery.evidence.hypotheses import Hypothesis, Verdict
from srfix.recovery.evidence.rules import ALL_FIELDS
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped
from srfix.recovery.internal_topics import ksqldb_query
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

_MOST_HYPOTHESES: Final = 5
_NAMED_GROUPS: Final = 3
"""How many groups that srfix may not ask are named; there may be hundreds."""


def without_source(verdict: Verdict, command_line: CommandLine) -> Skipped:
    store = verdict.store
    return store.skipped(
        "srfix found no evidence of its source topic (no committed offsets, no schema to compare). Name the topic: "
        f"{_ask_for_source(store, command_line)}.{_splits(verdict)}"
    )


def not_decided(verdict: Verdict, command_line: CommandLine) -> Skipped:
    store = verdict.store
    shown = verdict.open[:_MOST_HYPOTHESES]
    several = len({hypothesis.store.application for hypothesis in shown}) > 1
    possible = [
        f"({number}) {_in_words(hypothesis, several=several)}" for number, hypothesis in enumerate(shown, start=1)
    ]
    if len(verdict.open) > len(shown):
        possible.append(f"and {len(verdict.open) - len(shown)} more")
    return store.skipped(
        f"the evidence does not decide from which topic it restores. The candidates: {'. '.join(possible)}. "
        f"{which_is_true(verdict, command_line)}{_splits(verdict)}"
    )


def table_or_global(verdict: Verdict, command_line: CommandLine) -> Skipped:
    """A store with no fault as a table of the topic that its group reads, but with one as another's global table."""
    chosen, rivals = verdict.chosen, verdict.global_rivals
    rival_topics = [rival.topic for rival in rivals if rival.topic is not None]
    commands = [
        _ask_for_source(rival.store, command_line, rival.topic) for rival in rivals[:_MOST_HYPOTHESES] if rival.topic
    ]
    harmless = (
        ""
        if chosen is None or chosen.topic is None
        else f"if the store is a table of {chosen.topic}, which its group reads, nothing is wrong with it. "
    )
    return verdict.store.skipped(
        f"{harmless}{'If' if harmless else 'if'} it is a global table of "
        f"{' or '.join(rival_topics[:_MOST_HYPOTHESES])}, whose fields are the same, something is wrong; "
        f"then run: {' or '.join(commands)}.{_splits(verdict)}"
    )


def which_is_true(verdict: Verdict, command_line: CommandLine) -> str:
    commands = [
        _ask_for_source(hypothesis.store, command_line, hypothesis.topic)
        for hypothesis in verdict.open[:_MOST_HYPOTHESES]
        if hypothesis.topic is not None and not hypothesis.is_gone
    ]
    return f"Name the topic: {' or '.join(commands or [_ask_for_source(verdict.store, command_line)])}."


def without_application(verdict: Verdict, command_line: CommandLine, refused: Collection[str]) -> Skipped:
    """The changelog's name begins with no group's name, or with no name of a Kafka Streams application's group. `refused`
    are the groups that could not be asked.
    """
    suspect = verdict.suspect
    unasked = [split.application for split in suspect.splits if split.application in refused]
    why = (
        f"srfix could not ask for the offsets of group {' or '.join(unasked)}, which may be its group"
        if unasked
        else "Its group may have expired or never existed, or somebody made the topic by hand and deleted it"
    )
    not_asked_for = [
        f"group {application} is not a Kafka Streams application "
        f"({'; '.join(piece.detail for piece in pieces if piece.against)})"
        for application, pieces in verdict.applications.items()
        if any(piece.kind == rules.PLAIN_GROUP.kind for piece in pieces)
    ]
    unproven = [f"group {group} shows no sign of Kafka Streams" for group in verdict.unproven]
    evidence = f": {'; '.join((*not_asked_for, *unproven))}" if not_asked_for or unproven else ""
    likely = sorted(suspect.splits, key=lambda possible: possible.application not in verdict.unproven)
    examine = [command_line.quoted("diagnose", *possible.options) for possible in likely[:_MOST_HYPOTHESES]]
    return suspect.skipped(
        "the name is that of a changelog, but the topic does not exist, and srfix found no Kafka Streams application with "
        f"a matching name{evidence}. {why}. To examine the store, name its application: {' or '.join(examine)}."
    )


def not_compared(verdict: Verdict) -> Iterator[Skipped]:
    chosen = verdict.chosen
    if verdict.not_compared and (chosen is None or not chosen.is_proven):
        yield verdict.store.skipped(
            "there are too many topics for srfix to compare the ids in their records with the store's schema",
            what=f"{counted(verdict.not_compared, 'topic')} without a subject, as sources of {verdict.store.in_words}",
            could_hide=chosen is None,
        )


def gone(verdict: Verdict, command_line: CommandLine) -> Skipped:
    store, chosen = verdict.store, verdict.chosen
    topic = chosen.topic if chosen is not None else None
    why = "; ".join(piece.detail for piece in chosen.pieces if not piece.against) if chosen is not None else ""
    return store.skipped(
        f"the store seems to restore from {topic} ({why}), but this topic is gone from this cluster, so nothing can be "
        f"restored from it. If the source is another topic, name it: {_ask_for_source(store, command_line)}. Check "
        f"--bootstrap-servers, too.{_splits(verdict)}"
    )


def taken(verdict: Verdict, command_line: CommandLine) -> Skipped:
    store = verdict.store
    return store.skipped(
        f"the only candidate topic, {verdict.taken}, belongs to another store. So this store restores from no topic, for "
        "example because its logging is disabled. If that is wrong, name its topic: "
        f"{_ask_for_source(store, command_line)}.{_splits(verdict)}",
        could_hide=bool(verdict.doubts),
    )


def of_another(verdict: Verdict, application: str | None, command_line: CommandLine) -> Skipped:
    store = verdict.store
    examine = command_line.quoted("diagnose", "--application", store.application)
    return verdict.suspect.skipped(
        f"they also start with the name of application {store.application!r}, and more likely belong there than to "
        f"{application!r}. To examine them there: {examine}. To examine them as a store of {application!r}, add --store"
    )


def hidden(suspect: Suspect, command_line: CommandLine) -> Skipped:
    query = ksqldb_query(suspect.changelog)
    split = next(
        (possible for possible in suspect.splits if query and possible.application == query.application),
        suspect.splits[0],
    )
    return suspect.skipped(
        f"srfix cannot tell whether changelog topic {suspect.changelog} exists: this user is not allowed to see a topic of "
        f"that name. Ask for the ACL Describe on topic {suspect.changelog!r}, or name the topic that the store restores from: "
        f"{_ask_for_source(split, command_line)}"
    )


def refused_groups(refused: Mapping[str, ClusterError], named: str | None) -> Iterator[Skipped]:
    """The groups that could not be asked, in one entry, because there may be one per subject."""
    groups = sorted(group for group in refused if named is None or len(group) > len(named))
    if not groups:
        return
    first = refused[groups[0]]
    what = f"the committed offsets of group {groups[0]!r}"
    reason, them = f"{first} srfix cannot tell whether this group is an application", "it"
    if len(groups) > 1:
        names = ", ".join(map(repr, groups[:_NAMED_GROUPS])) + (", …" if len(groups) > _NAMED_GROUPS else "")
        what = f"the committed offsets of {len(groups)} groups whose names are prefixes of subjects ({names})"
        reason, them = f"for the first group: {first} srfix cannot tell whether these groups are applications", "them"
    if named is not None:
        reason += f"; srfix examined stores that may belong to {them} as stores of {named!r}"
    yield Skipped(what=what, reason=reason, could_hide=named is None)


def _in_words(hypothesis: Hypothesis, *, several: bool) -> str:
    pieces = [piece for piece in hypothesis.pieces if several or piece.topic is not None]
    pro = "; ".join(piece.detail for piece in pieces if not piece.against) or "nothing"
    con = "; ".join(piece.detail for piece in pieces if piece.against) or "nothing"
    whose = f"store {hypothesis.store.name} of {hypothesis.store.application}, from " if several else ""
    topic = (
        "no known topic"
        if hypothesis.topic is None
        else f"topic {hypothesis.topic}{' (gone)' if hypothesis.is_gone else ''}"
    )
    return f"{whose}{topic}; evidence for it: {pro}; evidence against it: {con}"


def _ask_for_source(store: SuspectStore, command_line: CommandLine, topic: Topic | None = None) -> str:
    return command_line.quoted("diagnose", "--source", f"{store.application}/{store.name}={topic or 'TOPIC'}")


def _splits(verdict: Verdict) -> str:
    splits = verdict.other_splits
    if not splits:
        return ""
    named = ", ".join(f"{split.name} of {split.application}" for split in splits)
    return f" By its name alone it could also be store {named}."


def unseen_source(verdict: Verdict, survey: Survey, command_line: CommandLine) -> Skipped | None:
    """Why the topics that this user sees do not judge a store: only a hidden one has such a schema; None if they do."""
    store = verdict.store
    living = [hypothesis for hypothesis in verdict.ranked if not hypothesis.is_gone]
    if any(hypothesis.is_proven or any(map(ALL_FIELDS.says, hypothesis.pieces)) for hypothesis in living):
        return None
    hidden = survey.cluster.hidden_topics(schema_similarity.unlisted_topics(survey, store.context))
    similar = [piece for piece in schema_similarity.compare(store, survey, hidden) if ALL_FIELDS.says(piece)]
    if not similar:
        return None
    acls = ", ".join(f"Describe and Read on topic {piece.topic!r}" for piece in similar)
    return store.skipped(
        f"it may restore from {' or '.join(piece.topic or '' for piece in similar)}, which this user is not allowed to see: "
        f"{similar[0].detail}. Ask for the ACL {acls}, or name the topic that it restores from: "
        f"{_ask_for_source(store, command_line)}"
    )
