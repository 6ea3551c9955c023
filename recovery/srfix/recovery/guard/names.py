"""Which subjects without a topic come about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.forecasts import Certainty, weakest
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Assumed, PseudoTopic, SubjectForecast, Wiring
from srfix.serde.subjects.names import Role


def store_forecasts(judged: JudgedStore, version: StreamsVersion | None) -> Iterator[SubjectForecast]:
    """The subjects of its changelog's name: whether they come about although no such topic does."""
    store = judged.store
    for role in (Role.VALUE, Role.KEY):
        subject = store.changelog_subject(role)
        exists = judged.sight.has_subject(subject)
        makes = judged.makes_the_phantom(version)
        certainty = makes
        if makes is not Certainty.EXCLUDED:
            certainty = weakest((makes, _serde(judged, role, exists)))
        yield SubjectForecast(
            subject=subject,
            role=role,
            application=store.application,
            store=store.name,
            why=_why(judged, version),
            version=version,
            certainty=certainty,
            exists=exists,
        )


def _serde(judged: JudgedStore, role: Role, exists: bool | None) -> Certainty:
    """Whether its serde of this role is a schema registry's: an old subject shows it. Of the values, --reader says it where it
    was said of this store, or the registry has schemas of its topic.
    """
    known = judged.known(role)
    is_meant = judged.assumed.is_of_one_store if known is None else known.asks_a_registry
    said = role is Role.VALUE and judged.is_reader_told and is_meant
    return Certainty.CERTAIN if said or exists else Certainty.POSSIBLE


def _why(judged: JudgedStore, version: StreamsVersion | None) -> str:
    found = judged.wirings(version)
    if judged.store.is_ksqldb and Wiring.REUSED in found:
        since = {
            True: "by design (StaticTopicSerde)",
            False: "KAFKA-10179",
            None: "KAFKA-10179, since 0.10.2 by design",
        }
        return f"ksqlDB's ({since[judged.store.falls_back]})"
    if Wiring.GLOBAL in found:
        return "a global store's (KAFKA-10179)"
    if Wiring.REUSED in found:
        return "a reused source topic's (KAFKA-10179)"
    return "a store's without logging" if found == (Wiring.NONE,) else "a store's, without logging only"


def pseudo_forecasts(pseudo: Iterable[PseudoTopic], assumed: Assumed, sight: Sight) -> Iterator[SubjectForecast]:
    """The subjects of foreign-key joins, by design in every version."""
    for each in pseudo:
        exists = sight.has_subject(each.subject)
        yield SubjectForecast(
            subject=each.subject,
            role=each.role,
            application=each.application,
            store=None,
            why="a foreign-key join's pseudo-topic, by design",
            version=assumed.running,
            certainty=Certainty.CERTAIN if exists else Certainty.POSSIBLE,
            exists=exists,
        )
