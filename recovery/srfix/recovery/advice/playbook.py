"""What to do around a repair, for the application at hand: before it, after it, and so that it does not come again.

Every sentence holds for what is known of the application; what is not known is said, with both ways it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from srfix.recovery.commands import Given
from srfix.recovery.facts.circumstances import Circumstances
from srfix.recovery.facts.reader import WITH_FIX, StreamsVersion
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.ksqldb.models import is_at_least
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import Topic

_REPLACES_THREADS: Final = StreamsVersion(2, 8)
_PLANNED: Final = "when the repair was planned"
_MOST_TOPICS: Final = 8


class Verified(Enum):
    """What a verification says of an application."""

    HOLDS = "holds"
    NOT_SEEN = "not seen"
    """Nothing is wrong, but not all was looked at."""
    KEYS_MISS = "keys miss"
    """The rows can be read, but look-ups by key miss them (SRF005)."""
    PROBLEMS = "problems"


def playbook(applications: Sequence[Circumstances]) -> Iterator[str]:
    if not applications:
        return
    for facts in applications:
        yield from _named(facts, before_repair(facts), applications)
    yield "Repair: carry the plan out with srfix apply, then check it with srfix verify."
    yield from afterwards(applications)


def afterwards(applications: Sequence[Circumstances]) -> Iterator[str]:
    for facts in applications:
        yield from _named(facts, (*after_repair(facts, when=_PLANNED), *prevention(facts)), applications)


def _named(facts: Circumstances, lines: Iterable[str], among: Sequence[Circumstances]) -> Iterator[str]:
    yield from (f"{facts.application}: {line}" if len(among) > 1 else line for line in lines)


def upon_verification(facts: Circumstances, outcome: Verified, *, given: Given | None = None) -> Iterator[str]:
    """What to do for one application after its repair was verified; its group was asked for just now."""
    given = given or Given()
    match outcome:
        case Verified.HOLDS:
            yield from after_repair(facts, when="now")
            yield from prevention(facts)
        case Verified.NOT_SEEN:
            yield _NOT_SEEN
        case Verified.KEYS_MISS:
            yield _keys_miss(facts)
            yield from prevention(facts)
        case Verified.PROBLEMS:
            yield from before_repair(facts)
            yield (
                "Do not restart what is down yet: its threads would die again at the same rows. If the plan was not carried "
                "out, or stopped on its way: run srfix apply with it. If it was carried out, what is missing came later or "
                f"was taken away since: {given.quoted('plan', '--application', facts.application, '-o', 'new-plan.json')}, "
                f"{given.quoted('apply', 'new-plan.json')}, {given.quoted('verify', 'new-plan.json')}. What the plan left "
                "out, and rows that no registration mends, need what is said there first."
            )


_NOT_SEEN: Final = (
    "Do not rely on the repair yet. What srfix looked at holds; the rest may not. Mend what is named as not looked at, or "
    "leave out --deadline and --max-records. Then run srfix verify again, before you restart what is down. If srfix has no "
    "serde for the type of the rows, only your own reader can check them."
)


def _keys_miss(facts: Circumstances) -> str:
    return (
        f"What is down in {facts.application} can read its rows again, but its look-ups by key miss them without an error, and "
        "every update makes a second row beside the restored one: decide what to do about the keys before it writes again "
        "(`srfix explain SRF005`)."
    )


def upon_verification_in_short(
    outcomes: Sequence[tuple[Circumstances, Verified]], *, given: Given | None = None
) -> Iterator[str]:
    """What is left to do after a verification, worst first; what holds of several applications once."""
    given = given or Given()
    broken = [facts for facts, outcome in outcomes if outcome is Verified.PROBLEMS]
    if broken:
        do_not = list(dict.fromkeys(words for facts in broken for words in not_before_repair(facts)))
        which = ("--application", broken[0].application) if len(broken) == 1 else ()
        yield (
            f"Do not {either(do_not)} yet. If the plan was not applied, or stopped on its way, run srfix apply with it. If it "
            f"was applied, make a new plan: {given.quoted('plan', *which, '-o', 'new-plan.json')}. It has what is missing now. "
            "For what the plan left out, and for rows that no registration repairs, first do what is said there."
        )
    if any(outcome is Verified.NOT_SEEN for _known, outcome in outcomes):
        yield _NOT_SEEN
    yield from (_keys_miss(facts) for facts, outcome in outcomes if outcome is Verified.KEYS_MISS)
    yield from afterwards_in_short([facts for facts, outcome in outcomes if outcome is Verified.HOLDS], when="now")


def before_repair(facts: Circumstances) -> Iterator[str]:
    name = facts.application
    yield (
        f"Before: stop clean-up jobs and deployments of {name}, and keep a copy of its state directory. {_wiping(facts)}"
    )
    if facts.query is not None:
        yield (
            f"Before: no TERMINATE of query {facts.query} and no DROP: ksqlDB then deletes state, subjects and the group, and "
            "the query that is created anew has a new phantom subject."
        )
    elif not facts.needs_no_version and facts.is_before(WITH_FIX) is not False:
        yield (
            f"Before: do not upgrade {name} to Kafka Streams 2.7 or later with its state kept: that asks the source's subject "
            "for ids which only the phantom subject knows (SRF004)."
        )


def not_before_repair(facts: Circumstances) -> Iterator[str]:
    """The same in a few words each, behind "do not"."""
    if facts.is_before(WITH_FIX) is not False:
        yield "wipe a state directory"
    yield "restart anything"
    if facts.query is not None:
        yield "TERMINATE or DROP a query"
    elif not facts.needs_no_version and facts.is_before(WITH_FIX) is not False:
        yield "upgrade to Kafka Streams 2.7 or later"


def until_repaired(applications: Sequence[Circumstances]) -> str | None:
    """The playbook before the repair, in one sentence for all applications; None without any."""
    if not applications:
        return None
    do_not = list(dict.fromkeys(words for facts in applications for words in not_before_repair(facts)))
    return (
        "Before you apply the plan, stop clean-up jobs and deployments, and copy the state directory. Until the repair is "
        f"done, do not {either(do_not)}."
    )


def either(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def afterwards_in_short(applications: Sequence[Circumstances], *, when: str = _PLANNED) -> Iterator[str]:
    """What is left to do once the repair is done, each sentence once, and for whom where that is not everybody."""
    by_words: dict[str, list[str]] = {}
    for facts in applications:
        by_words.setdefault(_restart_in_short(facts, when), []).append(facts.application)
    for sentence, names in by_words.items():
        yield capitalized(sentence) if len(by_words) == 1 else f"{', '.join(names)}: {sentence}"
    again: dict[Topic, None] = {}
    for facts in applications:
        if not facts.needs_no_version and facts.is_before(WITH_FIX) is not False:
            again |= dict.fromkeys(store.topic for store in facts.stores if store.topic is not None)
    if again:
        topics = "topic" if len(again) == 1 else "topics"
        yield f"Run srfix diagnose after every new schema of {topics} {enumerated(again, most=_MOST_TOPICS)}."


def _restart_in_short(facts: Circumstances, when: str) -> str:
    if facts.members == 0:
        alive = f"the group has no members {when}. "
    else:
        alive = "running instances can read at once, without a restart. "
    if facts.query is None:
        if facts.members == 0:
            return f"{alive}Start it, and restart the processes that still run without a thread."
        return f"{alive}Restart the instances whose stream thread died."
    match _retries(facts):
        case True:
            return f"{alive}ksqlDB {facts.ksqldb_version} retries a failed query by itself, after 15 s to 15 min."
        case False:
            return f"{alive}ksqlDB {facts.ksqldb_version} never retries a failed query: restart its server."
        case None:
            return (
                f"{alive}ksqlDB 0.13 (Confluent Platform 6.1) and later retry a failed query by themselves, after 15 s to "
                "15 min. If your ksqlDB is older, restart its server."
            )


def _retries(facts: Circumstances) -> bool | None:
    """True if its ksqlDB retries a query that failed; None if it is not known."""
    version = facts.ksqldb_version
    return None if version is None else is_at_least(version, ksqldb=(0, 13, 0), platform=(6, 1, 0))


def _wiping(facts: Circumstances) -> str:
    match facts.is_before(WITH_FIX):
        case True:
            return f"Do not wipe the state: on Kafka Streams {facts.streams} that is what causes the incident."
        case False:
            return (
                f"Wiping the state is not needed for this repair; on Kafka Streams {facts.streams} it does not cause "
                "the incident."
            )
        case None:
            seen = f" (seen: {facts.streams})" if facts.streams is not None else ""
            return (
                "Do not wipe the state: on Kafka Streams 2.6.3 and earlier that is what causes the incident, and which "
                f"version runs is not known{seen}."
            )


def after_repair(facts: Circumstances, *, when: str) -> Iterator[str]:
    """Restart or not, and what the standbys do. `when` the group was asked for: `now`, or `when the repair was planned`."""
    yield f"After: {restart(facts, when)}"
    yield from _standbys(facts)


def restart(facts: Circumstances, when: str) -> str:
    """What to restart, if anything, in a clause; `when` as in `after_repair`."""
    if facts.query is not None:
        return _restart_query(facts, when)
    name = facts.application
    if facts.members is None:
        return (
            f"whether {name} runs is not known{_why_unknown(facts)}. An instance that is up reads at once, without a restart. "
            f"Restart those whose stream thread died: {_replacement(facts)}."
        )
    if facts.members == 0:
        return (
            f"the group of {name} has no members {when} ({facts.state}): it is stopped, or all its threads have died. Start "
            f"it, and restart the processes that still run without a thread: {_replacement(facts)}."
        )
    return (
        f"the group of {name} has {_members(facts.members)} {when} ({facts.state}): running instances can read at once, "
        f"without a restart. If that is fewer than the threads you run, restart the instances whose thread died: "
        f"{_replacement(facts)}."
    )


def _replacement(facts: Circumstances) -> str:
    match facts.is_before(_REPLACES_THREADS):
        case True:
            return f"Kafka Streams {facts.streams} does not replace a thread that died"
        case False:
            return (
                f"Kafka Streams {facts.streams} replaces a thread that died only where the application's uncaught exception "
                "handler says so (REPLACE_THREAD)"
            )
        case None:
            seen = f", seen: {facts.streams}" if facts.streams is not None else ""
            return (
                "threads are replaced only from Kafka Streams 2.8 on, where the uncaught exception handler says so (which "
                f"version runs is not known{seen})"
            )


def _restart_query(facts: Circumstances, when: str) -> str:
    query = f"query {facts.query}" + (f" ({facts.query_state})" if facts.query_state is not None else "")
    if facts.members:
        members = _members(facts.members)
        alive = f"the group of {query} has {members} {when} ({facts.state}): running instances can read at once. "
    elif facts.members == 0:
        alive = f"the group of {query} has no members {when} ({facts.state}). "
    else:
        alive = f"whether {query} runs is not known{_why_unknown(facts)}. If it does, it reads at once. "
    retries = _retries(facts)
    if retries is None:
        return (
            f"{alive}If it has failed: ksqlDB 0.13 (Confluent Platform 6.1) and later retry it without anybody's help, after "
            "15 s to 15 min; earlier ones never do, so restart the ksqlDB server. Which version runs is not known; --ksqldb "
            "URL tells."
        )
    if retries:
        return (
            f"{alive}If it has failed: ksqlDB {facts.ksqldb_version} retries it without anybody's help, after 15 s to "
            "15 min. No restart."
        )
    return (
        f"{alive}If it has failed: ksqlDB {facts.ksqldb_version} never retries a query, so restart the ksqlDB server."
    )


def _why_unknown(facts: Circumstances) -> str:
    return f": {facts.problem}" if facts.problem else ""


def _members(count: int) -> str:
    return "1 member" if count == 1 else f"{count} members"


def _standbys(facts: Circumstances) -> Iterator[str]:
    restored = [store for store in facts.stores if not store.is_global]
    for store in facts.stores:
        if store.is_global:
            yield (
                f"After: the global store {store.name} is whole on every instance and has no standbys; each instance reads "
                "its own copy as soon as the ids are there."
            )
    if restored or not facts.stores:
        yield (
            f"After: standbys, if it has any (num.standby.replicas), hold the bytes of {_topics(facts)} as they are: the "
            "repair covers them, nothing is to be rebuilt, and a fail-over to one reads."
        )


def prevention(facts: Circumstances, against_upgrade: str | None = None) -> Iterator[str]:
    """How to prevent the next one; `against_upgrade` says why an upgrade would fail as things stand, in a clause."""
    again = f"run srfix diagnose after every new schema of {_topics(facts)}"
    if facts.query is not None:
        yield f"To prevent the next one: {_with_another_ksqldb(facts, again)}"
        return
    if facts.needs_no_version:
        yield f"Later: {facts.why_nothing_fails}; run srfix diagnose again before another one takes its place."
        return
    if facts.is_before(WITH_FIX) is False:
        yield (
            f"Later: Kafka Streams {facts.streams} asks the source's own subject. What can still fail there are rows whose "
            "ids only the phantom subject knows (`srfix explain SRF004`) and ids that the source's subject lacks (SRF017)."
        )
        return
    ways = [f"{again}, for as long as the store reuses it"]
    if any(not store.is_global for store in facts.stores) or not facts.stores:
        ways.append(
            "turn the reuse off (topology.optimization) and give the store a changelog of its own, seeded first, or the table "
            "starts empty"
        )
    if against_upgrade is not None:
        ways.append(f"upgrade to Kafka Streams 2.7 or later, {against_upgrade}")
    else:
        ways.append(
            "upgrade to Kafka Streams 2.7 or later, having looked at what it meets under the source's own subject: ids that "
            "only the phantom subject knows (`srfix explain SRF004`), the internal schema (SRF016), ids that are not there "
            "(SRF017)"
        )
    yield f"To prevent the next one: {'; or '.join(ways)}."


def _with_another_ksqldb(facts: Circumstances, again: str) -> str:
    version = facts.ksqldb_version
    falls_back = None if version is None else is_at_least(version, ksqldb=(0, 11, 0), platform=(6, 1, 0))
    if falls_back:
        return (
            f"ksqlDB {version} itself asks the source's subject where the phantom one lacks the id of a value. It does not "
            f"for keys: if they carry schema ids, {again}."
        )
    unknown = " (which one runs is not known)" if falls_back is None else ""
    return (
        f"{again}; or upgrade to ksqlDB 0.11 (Confluent Platform 6.1) or later{unknown}: a query that exists then falls back "
        "to the source's subject, and a new one gets a changelog of its own."
    )


def _topics(facts: Circumstances) -> str:
    topics = sorted({store.topic for store in facts.stores if store.topic is not None})
    return f"topic {' and '.join(topics)}" if topics else "the source topic"
