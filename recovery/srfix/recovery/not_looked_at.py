"""What a diagnosis did not look at, in words: a store, or a part of what was examined of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from srfix.recovery.bodies import Bodies
from srfix.recovery.commands import srfix_command
from srfix.recovery.findings import Skipped
from srfix.recovery.stores import StoreFacts, Suspect, SuspectStore
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.subjects import Role, Subject, Topic

if TYPE_CHECKING:
    from srfix.recovery.hypotheses import Verdict

__all__ = [
    "by_record_name",
    "from_nowhere",
    "gone",
    "hidden",
    "hypotheses_in_words",
    "not_allowed",
    "not_decided",
    "of_another",
    "of_examined",
    "of_operator",
    "of_transient_query",
    "refused_groups",
    "taken",
    "which_is_true",
    "without_application",
    "without_source",
]

_MOST_HYPOTHESES: Final = 5
"""Hypotheses that are told of one store."""
_NAMED_GROUPS: Final = 3
"""Groups that may not be asked and are named; there may be hundreds."""


def of_examined(facts: StoreFacts) -> Iterator[Skipped]:
    """What the examination of a store left out."""
    census = facts.census
    if census is None:
        return
    configs = facts.source_configs
    if configs is not None and configs.is_compacted is None:
        yield Skipped(
            what=f"cleanup.policy of topic {configs.topic}",
            reason=f"{configs.problem or 'the cluster does not name it'}; whether retention deletes rows of store "
            f"{facts.store.name} was not looked at (SRF018)",
            could_hide=False,
        )
    for role, bodies in facts.bodies.items():
        yield from _not_decoded(census.topic, role, bodies)
    if facts.keys is not None and facts.keys.not_looked_at is not None:
        yield Skipped(
            what=f"keys of topic {census.topic}",
            reason=facts.keys.not_looked_at,
            could_hide=facts.keys.could_hide,
        )
    for partition in census.partitions:
        where = f"topic {census.topic}, partition {partition.partition}"
        if partition.stopped_early is not None:
            yield Skipped(what=where, reason=partition.stopped_early, could_hide=True)
        for role in Role:
            if role is Role.KEY and role not in facts.roles and Role.VALUE in facts.roles:
                continue  # the key serde asks no registry
            counted = partition.of(role)
            if counted.guids:
                yield Skipped(
                    what=f"{counted.guids} {role.value}(s) of {where}",
                    reason="they name their schema by GUID, which a diagnosis does not look up under the subjects",
                    could_hide=True,
                )
            told = facts.source is not None and role in facts.roles and bool(counted.live_unframed_keys)  # by SRF013
            if role is Role.VALUE and counted.unframed and not told and not facts.value_asks_no_registry:
                yield Skipped(
                    what=f"{counted.unframed} {role.value}(s) of {where}, the first at offset "
                    f"{counted.first_unframed_offset}",
                    reason="they are not framed by a schema registry serializer, so they carry no schema id",
                    could_hide=True,
                )


def _not_decoded(topic: Topic, role: Role, bodies: Bodies) -> Iterator[Skipped]:
    """Rows that nobody decoded. They could hide a finding where all were asked for; else nobody takes them for proven."""
    what = f"bodies of the {role.value}s of topic {topic}"
    if bodies.newest_only and bodies.decoded < bodies.live_keys:
        yield Skipped(
            what=what,
            reason=f"only the newest live one of each schema id and partition was decoded ({bodies.decoded} of "
            f"{bodies.live_keys}); srfix diagnose --decode-values decodes them all (SRF013)",
            could_hide=False,
        )
    for left_out in bodies.left_out:
        yield Skipped(what=what, reason=f"not decoded: {left_out}", could_hide=not bodies.newest_only)


def not_allowed(suspect: SuspectStore, error: AccessDeniedError) -> Skipped:
    """Its group or its topic may not be read."""
    return Skipped(
        what=_store(suspect),
        reason=f"{error} Without it, what a restore loads cannot be told",
        could_hide=True,
    )


def without_source(verdict: Verdict) -> Skipped:
    """No evidence points to any topic."""
    store = verdict.store
    return Skipped(
        what=_store(store),
        reason="nothing tells which topic it restores from (no committed offsets, no schema to compare). Name it: "
        f"{_ask_for_source(store)}.{_splits(verdict)}",
        could_hide=True,
    )


def not_decided(verdict: Verdict) -> Skipped:
    """Several hypotheses are left, or none is certain enough, and none of them would give a finding."""
    return Skipped(
        what=_store(verdict.store),
        reason=f"it is not decided which topic it restores from. {hypotheses_in_words(verdict)}",
        could_hide=True,
    )


def hypotheses_in_words(verdict: Verdict) -> str:
    """Each hypothesis that is left, what speaks for and against it, and the command that says it is the one."""
    shown = verdict.open[:_MOST_HYPOTHESES]
    several = len({each.store.application for each in shown}) > 1
    parts = []
    for number, each in enumerate(shown, start=1):
        pieces = [piece for piece in each.pieces if several or piece.topic is not None]
        pro = "; ".join(piece.detail for piece in pieces if not piece.against) or "nothing"
        con = "; ".join(piece.detail for piece in pieces if piece.against) or "nothing"
        whose = f"store {each.store.name} of {each.store.application}, from " if several else ""
        topic = "no known topic" if each.topic is None else f"topic {each.topic}{' (gone)' if each.is_gone else ''}"
        parts.append(f"({number}) {whose}{topic}; for it: {pro}; against it: {con}")
    more = len(verdict.open) - len(shown)
    if more > 0:
        parts.append(f"and {more} more")
    return f"Possible: {'. '.join(parts)}. {which_is_true(verdict)}{_splits(verdict)}"


def which_is_true(verdict: Verdict) -> str:
    """The question which of the hypotheses is true, as commands to paste."""
    commands = [
        _ask_for_source(each.store, each.topic)
        for each in verdict.open[:_MOST_HYPOTHESES]
        if each.topic is not None and not each.is_gone
    ]
    return f"Say which: {' or '.join(commands or [_ask_for_source(verdict.store)])}."


def without_application(verdict: Verdict) -> Skipped:
    """No group, or none that is a Kafka Streams application, has a name that the changelog's begins with."""
    suspect = verdict.suspect
    known = [
        f"group {application} is none ({'; '.join(piece.detail for piece in pieces if piece.against)})"
        for application, pieces in verdict.applications.items()
        if any(piece.against and piece.kind == "plain-group" for piece in pieces)
    ]
    unproven = [f"group {group} shows no sign of Kafka Streams" for group in verdict.unproven]
    said = f": {'; '.join((*known, *unproven))}" if known or unproven else ""
    split = next((split for split in suspect.splits if split.application in verdict.unproven), suspect.splits[-1])
    return Skipped(
        what=f"the subjects of {suspect.changelog}",
        reason="the name is that of a changelog, no such topic exists, and no Kafka Streams application was found whose name "
        f"it starts with{said} (it may have expired or never existed, or the topic was a person's and is gone). Name the "
        "application and its store to have it examined, such as "
        f"{srfix_command('diagnose', '--application', split.application, '--store', split.name)}.",
        could_hide=True,
    )


def gone(verdict: Verdict) -> Skipped:
    """The topic that it restores from does not exist any more."""
    store, chosen = verdict.store, verdict.chosen
    topic = chosen.topic if chosen is not None else None
    why = "; ".join(piece.detail for piece in chosen.pieces if not piece.against) if chosen is not None else ""
    return Skipped(
        what=_store(store),
        reason=f"the topic that it restores from, as it seems, is gone from this cluster: {topic} ({why}). Nothing can be "
        f"restored from it. If it is another topic, name it: {_ask_for_source(store)}; check --bootstrap-servers too."
        f"{_splits(verdict)}",
        could_hide=True,
    )


def of_operator(suspect: Suspect, operator: str) -> Skipped:
    """Its name says that it is no table of one topic."""
    return Skipped(
        what=f"the subjects of {suspect.changelog}",
        reason=f"the name ends in that of {operator} store, which has a changelog of its own and restores from no source "
        "topic. There is no such changelog topic: the application was reset or is gone, or the store's logging is disabled",
        could_hide=False,
    )


def of_transient_query(suspect: Suspect, query_id: str) -> Skipped:
    """A push query's state is never restored."""
    return Skipped(
        what=f"the subjects of {suspect.changelog}",
        reason=f"they are left over from ksqlDB's transient query {query_id}, whose state is never restored",
        could_hide=False,
    )


def by_record_name(subject: Subject) -> Skipped:
    """It follows another strategy."""
    return Skipped(
        what=f"subject {subject}",
        reason="it follows TopicRecordNameStrategy, which this version does not examine",
        could_hide=True,
    )


def of_another(topic: Topic, longer: str, application: str) -> Skipped:
    """A longer application's name fits too."""
    return Skipped(
        what=f"the subjects of {topic}",
        reason=f"application {longer!r} exists and the name starts with it too, so they may be its own rather than those of "
        f"{application!r}. Examine them as its own: {srfix_command('diagnose', '--application', longer)}; or as a store of "
        f"{application!r} with --store",
        could_hide=True,
    )


def hidden(suspect: Suspect) -> Skipped:
    """Its changelog may exist after all, in a place that this user may not see."""
    split = suspect.splits[0]
    return Skipped(
        what=f"the subjects of {suspect.changelog}",
        reason=f"whether there is a changelog topic {suspect.changelog} cannot be told: this user may not see a topic of that "
        f"name. The ACL to ask for is Describe on topic {suspect.changelog!r}; or say which topic the store restores from: "
        f"{_ask_for_source(split)}",
        could_hide=True,
    )


def refused_groups(refused: Mapping[str, ClusterError], named: str | None) -> Iterator[Skipped]:
    """The groups that could not be asked, in one line: there may be one per subject."""
    groups = sorted(group for group in refused if named is None or len(group) > len(named))
    if not groups:
        return
    first = refused[groups[0]]
    what = f"the committed offsets of group {groups[0]!r}"
    reason = f"{first} Whether it is an application cannot be told"
    if len(groups) > 1:
        names = ", ".join(map(repr, groups[:_NAMED_GROUPS])) + (", …" if len(groups) > _NAMED_GROUPS else "")
        what = f"the committed offsets of {len(groups)} groups whose names are prefixes of subjects ({names})"
        reason = f"of the first: {first} Whether they are applications cannot be told"
    if named is not None:
        reason += f"; what may be theirs was examined as that of {named!r}"
    yield Skipped(what=what, reason=reason, could_hide=named is None)


def taken(verdict: Verdict) -> Skipped:
    """Its topic is another store's."""
    store = verdict.store
    return Skipped(
        what=_store(store),
        reason=f"the only topic that it may restore from, {verdict.taken}, is another store's, so it restores from nowhere "
        f"(logging disabled, say); if that is wrong, name its topic: {_ask_for_source(store)}",
        could_hide=False,
    )


def from_nowhere(suspect: SuspectStore) -> Skipped:
    """Its logging is disabled."""
    return Skipped(
        what=_store(suspect),
        reason="its state directory says that nothing is restored into it: its logging is disabled, so its subjects have no "
        f"topic by design (srfix explain SRF007). If that is wrong, name its topic: {_ask_for_source(suspect)}",
        could_hide=False,
    )


def _ask_for_source(store: SuspectStore, topic: Topic | None = None) -> str:
    return srfix_command("diagnose", "--source", f"{store.application}/{store.name}={topic or 'TOPIC'}")


def _splits(verdict: Verdict) -> str:
    others = verdict.other_splits
    if not others:
        return ""
    named = ", ".join(f"{split.name} of {split.application}" for split in others)
    return f" By its name alone it could also be store {named}."


def _store(suspect: SuspectStore) -> str:
    return f"store {suspect.name} of application {suspect.application}"
