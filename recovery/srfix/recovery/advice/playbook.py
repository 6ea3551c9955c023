"""What to do around a repair of one application: before it, after it, and to prevent the next incident. Every sentence
fits what srfix knows of the application. If srfix does not know something, the text says so, and covers both cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final

from srfix.recovery.commands import CommandLine
from srfix.recovery.facts.reader import WITH_FIX, Circumstances, StreamsVersion
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.ksqldb.models import is_at_least
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import Topic

_REPLACES_THREADS: Final = StreamsVersion(2, 8)
_PLANNED: Final = "when the repair was planned"
_MOST_TOPICS: Final = 8


class Verified(Enum):
    HOLDS = "holds"
    NOT_SEEN = "not seen"
    """No fault was found, but srfix could not make all checks."""
    KEYS_MISS = "keys miss"
    """The rows can be read, but look-ups by key miss them (SRF005)."""
    PROBLEMS = "problems"


def playbook(applications: Sequence[Circumstances]) -> Iterator[str]:
    if not applications:
        return
    for facts in applications:
        yield from _named(facts, before_repair(facts), applications)
    yield "Repair: apply the plan with srfix apply, then check the repair with srfix verify."
    yield from afterwards(applications)


def afterwards(applications: Sequence[Circumstances]) -> Iterator[str]:
    for facts in applications:
        yield from _named(facts, (*after_repair(facts, when=_PLANNED), *prevention(facts)), applications)


def _named(facts: Circumstances, lines: Iterable[str], among: Sequence[Circumstances]) -> Iterator[str]:
    yield from (f"{facts.application}: {line}" if len(among) > 1 else line for line in lines)


def upon_verification(facts: Circumstances, outcome: Verified, command_line: CommandLine) -> Iterator[str]:
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
                "Do not yet restart any instance that is down: its threads may die again at the same rows. If the "
                "plan was not applied, or if srfix apply stopped on the way, run srfix apply with the plan. If the "
                "plan was applied, the missing ids came later, or somebody has removed them since. Then make a new "
                f"plan: {command_line.quoted('plan', '--application', facts.application, '-o', 'new-plan.json')}, "
                f"{command_line.quoted('apply', 'new-plan.json')}, "
                f"{command_line.quoted('verify', 'new-plan.json')}. If the plan left out rows, or if a registration "
                "cannot repair some rows, first follow the advice of the plan and of srfix diagnose for these rows."
            )


_NOT_SEEN: Final = (
    "Do not rely on the repair yet. Every check that srfix could make has passed. The checks that it could not make "
    "may fail. Remove the reasons under “Not looked at”, or leave out --deadline and --max-records. Then run srfix "
    "verify again, before you restart an instance that is down. If srfix has no serde for the type of the rows, only "
    "your own reader can check the rows."
)


def _keys_miss(facts: Circumstances) -> str:
    return (
        f"Instances of {facts.application} that are down can read the rows again. But look-ups by key miss these "
        "rows without an error, and every update makes a second row beside the restored one. Decide what to do "
        "about the keys before the application writes again (`srfix explain SRF005`)."
    )


def upon_verification_in_short(
    outcomes: Sequence[tuple[Circumstances, Verified]], command_line: CommandLine
) -> Iterator[str]:
    """What is left to do after a verification, worst first. Advice for several applications is given once."""
    broken = [facts for facts, outcome in outcomes if outcome is Verified.PROBLEMS]
    if broken:
        do_not = list(dict.fromkeys(words for facts in broken for words in not_before_repair(facts)))
        which = ("--application", broken[0].application) if len(broken) == 1 else ()
        yield (
            f"Do not {either(do_not)} yet. If the plan was not applied, or if srfix apply stopped on the way, run "
            "srfix apply with the plan. If the plan was applied, make a new plan, for the ids that are missing "
            f"now: {command_line.quoted('plan', *which, '-o', 'new-plan.json')}. If the plan left out rows, or if a "
            "registration cannot repair some rows, first follow the advice of the plan and of srfix diagnose for "
            "these rows."
        )
    if any(outcome is Verified.NOT_SEEN for _known, outcome in outcomes):
        yield _NOT_SEEN
    yield from (_keys_miss(facts) for facts, outcome in outcomes if outcome is Verified.KEYS_MISS)
    yield from afterwards_in_short([facts for facts, outcome in outcomes if outcome is Verified.HOLDS], when="now")


def before_repair(facts: Circumstances) -> Iterator[str]:
    name = facts.application
    yield f"Before: stop clean-up jobs and deployments of {name}, and copy its state directory. {_wiping(facts)}"
    if facts.query is not None:
        yield (
            f"Before: do not TERMINATE query {facts.query}, and do not DROP. ksqlDB would delete the state, the "
            "subjects and the group. On ksqlDB before 0.11, the query that you then create has a new phantom subject."
        )
    elif not facts.needs_no_version and facts.is_before(WITH_FIX) is not False:
        yield (
            f"Before: do not upgrade {name} to Kafka Streams 2.7 or later if you keep its state. Kafka Streams 2.7 or "
            "later asks the source's subject, but only the phantom subject knows the ids of some rows (SRF004)."
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
        f"done: do not {either(do_not)}."
    )


def either(words: Sequence[str]) -> str:
    """What must not be done, behind "do not": `a`, `a, and do not b`, `a, do not b, and do not c`."""
    return words[0] if len(words) == 1 else f"{', do not '.join(words[:-1])}, and do not {words[-1]}"


def afterwards_in_short(applications: Sequence[Circumstances], *, when: str = _PLANNED) -> Iterator[str]:
    """What is left to do after the repair. Each sentence comes once, and names its applications if it is not for all."""
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
            return f"{alive}Start the application, and restart the processes that still run without a thread."
        return f"{alive}Restart the instances whose stream thread died."
    match _retries(facts):
        case True:
            return f"{alive}ksqlDB {facts.ksqldb_version} retries a failed query by itself, after 15 s to 15 min."
        case False:
            return f"{alive}ksqlDB {facts.ksqldb_version} never retries a failed query: restart its server."
        case None:
            return (
                f"{alive}ksqlDB 0.13 and later (in Confluent Platform from 6.1 on) retry a failed query by themselves, after "
                "15 s to 15 min. If your ksqlDB is older, restart its server."
            )


def _retries(facts: Circumstances) -> bool | None:
    version = facts.ksqldb_version
    return None if version is None else is_at_least(version, ksqldb=(0, 13, 0), platform=(6, 1, 0))


def _wiping(facts: Circumstances) -> str:
    match facts.is_before(WITH_FIX):
        case True:
            return f"Do not wipe the state: on Kafka Streams {facts.streams} the wipe causes the incident."
        case False:
            return (
                f"This repair needs no wipe of the state. On Kafka Streams {facts.streams} a wipe does not cause "
                "the incident."
            )
        case None:
            seen = f" (seen: {facts.streams})" if facts.streams is not None else ""
            return (
                "Do not wipe the state: on Kafka Streams 2.6.3 and earlier the wipe causes the incident, and srfix "
                f"does not know which version runs{seen}."
            )


def after_repair(facts: Circumstances, *, when: str) -> Iterator[str]:
    """Whether to restart, and what standbys do; `when` srfix looked at the group: `now`, or `when … was planned`."""
    yield f"After: {restart(facts, when)}"
    yield from _standbys(facts)


def restart(facts: Circumstances, when: str) -> str:
    """What to restart, if anything, in a clause; `when` as in `after_repair`."""
    if facts.query is not None:
        return _restart_query(facts, when)
    name = facts.application
    if facts.members is None:
        return (
            f"srfix does not know whether {name} runs{_why_unknown(facts)}. Running instances can read at once, "
            f"without a restart. Restart the instances whose stream thread died: {_replacement(facts)}."
        )
    if facts.members == 0:
        return (
            f"the group of {name} has no members {when} ({facts.state}). {name} is stopped, or all its threads have "
            "died. Start the application. Restart the processes that still run without a thread: "
            f"{_replacement(facts)}."
        )
    return (
        f"the group of {name} has {_members(facts.members)} {when} ({facts.state}). Running instances can read at "
        "once, without a restart. If you run more threads than the group has members, restart the instances whose "
        f"thread died: {_replacement(facts)}."
    )


def _replacement(facts: Circumstances) -> str:
    match facts.is_before(_REPLACES_THREADS):
        case True:
            return f"Kafka Streams {facts.streams} does not replace a thread that died"
        case False:
            return (
                f"Kafka Streams {facts.streams} replaces a thread that died only if the application's uncaught "
                "exception handler says so (REPLACE_THREAD)"
            )
        case None:
            seen = f", seen: {facts.streams}" if facts.streams is not None else ""
            return (
                "Kafka Streams replaces threads only from 2.8 on, and only if the uncaught exception handler says "
                f"so (srfix does not know which version runs{seen})"
            )


def _restart_query(facts: Circumstances, when: str) -> str:
    query = f"query {facts.query}" + (f" ({facts.query_state})" if facts.query_state is not None else "")
    if facts.members:
        members = _members(facts.members)
        alive = f"the group of {query} has {members} {when} ({facts.state}). Running instances can read at once. "
    elif facts.members == 0:
        alive = f"the group of {query} has no members {when} ({facts.state}). "
    else:
        alive = f"srfix does not know whether {query} runs{_why_unknown(facts)}. If it runs, it can read at once. "
    retries = _retries(facts)
    if retries is None:
        return (
            f"{alive}If the query has failed: ksqlDB 0.13 and later (in Confluent Platform from 6.1 on) retry it by "
            "themselves, after 15 s to 15 min. Earlier versions never retry a query: restart the ksqlDB server. "
            "srfix does not know which version runs; with --ksqldb URL, srfix asks ksqlDB."
        )
    if retries:
        return (
            f"{alive}If the query has failed: ksqlDB {facts.ksqldb_version} retries it by itself, after 15 s to 15 "
            "min. No restart is needed."
        )
    return (
        f"{alive}If the query has failed: ksqlDB {facts.ksqldb_version} never retries a query, so restart the "
        "ksqlDB server."
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
                f"After: every instance has its own full copy of the global store {store.name}, and there are no "
                "standbys. Each instance can read its copy as soon as the ids are registered."
            )
    if restored or not facts.stores:
        yield (
            "After: standbys, if the application has any (num.standby.replicas), hold the bytes of "
            f"{_topics(facts)} unchanged. The repair covers them, and nothing must be rebuilt. After a fail-over to "
            "a standby, the rows can be read."
        )


def prevention(facts: Circumstances, against_upgrade: str | None = None) -> Iterator[str]:
    """How to prevent the next incident; `against_upgrade` is a clause that says why an upgrade would fail today."""
    again = f"run srfix diagnose after every new schema of {_topics(facts)}"
    if facts.query is not None:
        yield f"To prevent the next incident: {_with_another_ksqldb(facts, again)}"
        return
    if facts.needs_no_version:
        yield f"Later: {facts.why_nothing_fails}. Before you change the reader, run srfix diagnose again."
        return
    if facts.is_before(WITH_FIX) is False:
        yield (
            f"Later: Kafka Streams {facts.streams} asks the source's own subject. Two kinds of rows can still fail: "
            "rows whose ids only the phantom subject knows (`srfix explain SRF004`), and rows whose ids the "
            "source's subject lacks (SRF017)."
        )
        return
    ways = [f"{again}, as long as the store reuses the topic"]
    if any(not store.is_global for store in facts.stores) or not facts.stores:
        ways.append(
            "fill a changelog of the store's own (otherwise the table starts empty), and then stop the reuse of the "
            "topic (topology.optimization)"
        )
    if against_upgrade is not None:
        ways.append(f"upgrade to Kafka Streams 2.7 or later, {against_upgrade}")
    else:
        ways.append(
            "upgrade to Kafka Streams 2.7 or later. Before the upgrade read about ids that only the phantom "
            "subject knows (`srfix explain SRF004`), about the internal schema under the source's subject "
            "(SRF016), and about ids that the source's subject lacks (SRF017)"
        )
    yield f"To prevent the next incident: {'. Or '.join(ways)}."


def _with_another_ksqldb(facts: Circumstances, again: str) -> str:
    version = facts.ksqldb_version
    falls_back = None if version is None else is_at_least(version, ksqldb=(0, 11, 0), platform=(6, 1, 0))
    if falls_back:
        return (
            f"if the phantom subject lacks the id of a value, ksqlDB {version} itself asks the source's subject. It "
            f"does not do so for keys: if the keys carry schema ids, {again}."
        )
    unknown = " (srfix does not know which version runs)" if falls_back is None else ""
    return (
        f"{again}. Or upgrade to ksqlDB 0.11 or later, in Confluent Platform from 6.1 on{unknown}: existing queries then fall "
        "back to the source's subject, and new queries get a changelog of their own."
    )


def _topics(facts: Circumstances) -> str:
    topics = sorted({store.topic for store in facts.stores if store.topic is not None})
    return f"topic {' and '.join(topics)}" if topics else "the source topic"
