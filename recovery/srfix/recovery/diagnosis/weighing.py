"""Combines `evidence` and `hypotheses` to a verdict on each changelog, and compares the stores of one application."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from srfix.recovery.commands import shell_words
from srfix.recovery.evidence import names_and_offsets, rules, schema_similarity, supplied
from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.hypotheses import Hypothesis, Verdict, choose, order
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.internal_topics import JoinStore, join_store, ksqldb_query, parse
from srfix.serde.errors import ClusterError, UsageError
from srfix.serde.subjects.names import Topic

_OF_TOPIC: Final = frozenset(
    rule.kind for rule in (rules.ALL_FIELDS, rules.SAME_FIELDS, rules.SAME_RECORD, rules.KEY_FIELDS, rules.NO_IDS)
)
"""Kinds that say the same of a topic for every application."""
_GATHER: Final = (
    supplied.named,
    supplied.on_disk,
    supplied.by_ksqldb,
    supplied.printed,
    names_and_offsets.by_name,
    names_and_offsets.by_offsets,
    schema_similarity.gather,
    schema_similarity.by_row_ids,
)
"""All kinds of evidence for a store's source topic; `Applications` has those for its application."""
_MOST_PEEKED: Final = 50
"""How many topics without commits and without a subject to compare srfix reads some values of."""


def weigh_all(suspects: Iterable[Suspect], survey: Survey, applications: Applications) -> tuple[Verdict, ...]:
    """The verdict on each changelog; a topic belongs to at most one store of an application."""
    every = tuple(suspects)
    established = {suspect: tuple(_established(suspect, applications)) for suspect in every}
    _refuse_ambiguous_sources(survey, established)
    return settle_contests([weigh(suspect, survey, applications) for suspect in every], survey)


def weigh(suspect: Suspect, survey: Survey, applications: Applications) -> Verdict:
    of_applications = {split.application: _of_application(split, suspect, applications) for split in suspect.splits}
    established = tuple(_established(suspect, applications))
    for split in _named_with_source(suspect, established, survey):
        reason = rules.GIVEN.of_application(split.application, "--source names the topic of its store")
        of_applications[split.application] = (*of_applications[split.application], reason)
        established = tuple(dict.fromkeys((*established, split)))
    by_split = (_hypotheses(split, of_applications[split.application], survey) for split in established)
    every = _with_shared(list(chain.from_iterable(by_split)))
    ranked = sorted((hypothesis for hypothesis in every if not hypothesis.is_out), key=order)
    for split in suspect.splits:
        if split not in established:
            left = applications.left_by(suspect.changelog, split.application)
            of_applications[split.application] = (*of_applications[split.application], *left)
    stores = [hypothesis.store for hypothesis in ranked]
    doubts = tuple(_doubts(suspect.splits, of_applications, every, survey))
    return Verdict(
        suspect=suspect,
        applications=of_applications,
        established=tuple(sorted(established, key=lambda split: (*stores, split).index(split))),
        unproven=tuple(name for name, pieces in of_applications.items() if not pieces and applications.is_group(name)),
        ranked=tuple(ranked),
        ruled_out=tuple(sorted((hypothesis for hypothesis in every if hypothesis.is_out), key=order)),
        doubts=doubts,
        chosen=choose(ranked, doubts),
        is_comparable=any(schema_similarity.is_comparable(split, survey) for split in suspect.splits[:1]),
        not_compared=max((len(_not_read(split, survey)) for split in established), default=0),
    )


def may_restore_from(suspect: Suspect, topic: Topic, survey: Survey) -> bool:
    """True if evidence speaks for the topic as the changelog's source, whatever the application is."""
    every = (hypothesis for split in suspect.splits for hypothesis in _hypotheses(split, (), survey))
    return any(hypothesis.topic == topic and hypothesis.is_alike and not hypothesis.is_out for hypothesis in every)


def _with_shared(every: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The hypotheses, each with evidence that was found for another application: how a schema fits is the same for all."""
    of_topics: defaultdict[Topic | None, dict[str, list[Evidence]]] = defaultdict(dict)
    for hypothesis in every:
        by_application: defaultdict[str, list[Evidence]] = defaultdict(list)
        for piece in hypothesis.pieces:
            if piece.topic is not None and piece.application is None and piece.kind in _OF_TOPIC:
                by_application[piece.kind].append(piece)
        for kind, pieces in by_application.items():
            of_topics[hypothesis.topic].setdefault(kind, pieces)
    whole = []
    for hypothesis in every:
        kinds = {piece.kind for piece in hypothesis.pieces}
        more = [piece for kind, pieces in of_topics[hypothesis.topic].items() if kind not in kinds for piece in pieces]
        whole.append(replace(hypothesis, pieces=(*hypothesis.pieces, *more)))
    return whole


def settle_contests(verdicts: Sequence[Verdict], survey: Survey) -> tuple[Verdict, ...]:
    """A topic is a source once per application (`InternalTopologyBuilder.validateTopicNotAlreadyRegistered`): of
    several stores, the one that leads the others by the margin keeps it; if none leads, none does."""
    proven = {
        (chosen.store.application, chosen.topic): chosen.store.name
        for verdict in verdicts
        if (chosen := verdict.chosen) is not None and chosen.is_proven
    }
    verdicts = [_without_proven(verdict, proven) for verdict in verdicts]
    settled = {(application, store) for (application, _topic), store in proven.items()}
    verdicts = [_by_elimination(verdict, settled, survey) for verdict in verdicts]
    rivals: defaultdict[tuple[str, Topic | None], list[Hypothesis]] = defaultdict(list)
    claims: defaultdict[tuple[str, Topic | None], list[Hypothesis]] = defaultdict(list)
    for verdict in verdicts:
        chosen = verdict.chosen
        of_topics, likely = (claims, verdict.open) if chosen is None else (rivals, (chosen,))
        for hypothesis in likely:
            of_topics[hypothesis.store.application, hypothesis.topic].append(hypothesis)

    def keeps(verdict: Verdict, mine: Hypothesis) -> bool:
        key = mine.store.application, mine.topic
        if not all(_leads(mine, other) for other in rivals[key]):
            return False
        is_claimed = any(_has_all(other.pieces) and not _leads(mine, other) for other in claims[key])
        return not ((is_claimed or _is_joined(mine, survey)) and _may_be_global(verdict, mine, survey))

    return tuple(
        verdict if verdict.chosen is None or keeps(verdict, verdict.chosen) else replace(verdict, chosen=None)
        for verdict in verdicts
    )


def _is_joined(mine: Hypothesis, survey: Survey) -> bool:
    """True if a join window of the application may hold the topic's records: then the topic is read as a stream."""
    topic, store = mine.topic, mine.store
    if topic is None or mine.is_gone or mine.is_proven:
        return False
    windows = survey.once(("windows", store.context, store.application), lambda: tuple(_windows(store, survey)))
    return any(
        _has_all((*schema_similarity.compare(window, survey, (topic,)), *_by_ids(window, (topic,), survey)))
        for window in windows
    )


def _windows(store: SuspectStore, survey: Survey) -> Iterator[SuspectStore]:
    for topic in schema_similarity.value_topics(survey, store.context):
        internal = parse(topic, application=store.application)
        if internal is not None and internal.store is not None and join_store(internal.store) is JoinStore.WINDOW:
            yield replace(store, name=internal.store, other_applications=())


def _may_be_global(verdict: Verdict, mine: Hypothesis, survey: Survey) -> bool:
    """True if it may be a global table of a topic that no group reads; ksqlDB has none (`StreamsBuilder.table`)."""
    if mine.is_proven or ksqldb_query(mine.store.application) is not None:
        return False
    if verdict.global_rivals:
        return True
    bare = _unread_without_subject(mine.store, survey)
    return verdict.not_compared > 0 or not {piece.topic for piece in _by_ids(mine.store, bare, survey)}.issuperset(bare)


def _without_proven(verdict: Verdict, proven: Mapping[tuple[str, Topic | None], str]) -> Verdict:
    """The verdict without the topics that other stores of the application are proven to restore from."""

    def is_free(hypothesis: Hypothesis) -> bool:
        owner = proven.get((hypothesis.store.application, hypothesis.topic), hypothesis.store.name)
        return hypothesis.is_proven or owner == hypothesis.store.name

    free = tuple(filter(is_free, verdict.ranked))
    if len(free) == len(verdict.ranked):
        return verdict
    is_taken = not any(hypothesis.topic is not None for hypothesis in free)
    taken = next(hypothesis.topic for hypothesis in verdict.ranked if not is_free(hypothesis)) if is_taken else None
    return replace(verdict, ranked=free, chosen=choose(free, verdict.doubts), taken=taken)


def _by_elimination(verdict: Verdict, settled: Collection[tuple[str, str]], survey: Survey) -> Verdict:
    """The verdict, decided if a checkpoint leaves it one topic, as all other stores there are `settled` on others."""
    left = {
        hypothesis.topic: hypothesis
        for hypothesis in verdict.ranked
        if any(piece.kind == rules.STATE_DIRECTORY.kind and not piece.against for piece in hypothesis.pieces)
    }
    if verdict.chosen is not None or len(left) != 1:
        return verdict
    (mine,) = left.values()
    store = mine.store
    rivals = {
        (store.application, rival)
        for on_disk in survey.supplied.on_disk(store.application, store.name)
        for source in on_disk.sources
        if source.topic == mine.topic
        for rival in source.rivals
    }
    return replace(verdict, chosen=mine) if rivals and rivals <= set(settled) else verdict


def _leads(mine: Hypothesis, other: Hypothesis) -> bool:
    # it is the same store, which left subjects in several contexts
    if mine.is_named or other.store.name == mine.store.name:
        return True
    if mine.is_proven != other.is_proven:
        return mine.is_proven
    return not other.is_named and mine.points >= other.points + rules.MARGIN_OF_STORES


def _established(suspect: Suspect, applications: Applications) -> Iterator[SuspectStore]:
    for split in suspect.splits:
        pieces = _of_application(split, suspect, applications)
        is_named = any(piece.kind == rules.GIVEN.kind for piece in pieces)
        out = any(piece.against and piece.is_conclusive for piece in pieces)
        if is_named or (not out and any(not piece.against for piece in pieces)):
            yield split


def _of_application(split: SuspectStore, suspect: Suspect, applications: Applications) -> tuple[Evidence, ...]:
    name = split.application
    return (
        *applications.evidence(name),
        *applications.of_name(suspect.changelog, name),
        *applications.of_store(name, split.name),
    )


def _named_with_source(suspect: Suspect, established: Sequence[SuspectStore], survey: Survey) -> Iterator[SuspectStore]:
    """The split that a person means by naming a source: with its application, or while no other one is known."""
    for split in suspect.splits:
        named = survey.named_source(split)
        if named is not None and (named.has_application or not established):
            yield split
            return


def _doubts(
    splits: Iterable[SuspectStore],
    of_applications: Mapping[str, tuple[Evidence, ...]],
    every: Sequence[Hypothesis],
    survey: Survey,
) -> Iterator[Hypothesis]:
    """Each likely topic for an application without a sign: it may have expired, or have only global tables."""
    seen = {(hypothesis.store.application, hypothesis.topic) for hypothesis in every}
    of_topics: dict[Topic, Hypothesis] = {}
    for hypothesis in sorted(every, key=order):
        if hypothesis.topic is not None and not hypothesis.is_out:
            of_topics.setdefault(hypothesis.topic, hypothesis)
    for split in splits:
        of_application = of_applications[split.application]
        if any(piece.against and piece.is_conclusive for piece in of_application):
            continue
        read = names_and_offsets.read_topics(split, survey)
        of_names = {piece.topic: piece for piece in names_and_offsets.by_name(split, survey)}
        for topic, hypothesis in of_topics.items():
            if (split.application, topic) in seen:
                continue
            pieces = [
                piece
                for piece in hypothesis.pieces
                if piece.application is None and piece.kind != names_and_offsets.NAME
            ]
            pieces += [of_names[topic]] if topic in of_names else []
            if topic in read:
                pieces += [piece for piece in names_and_offsets.by_offsets(split, survey) if piece.topic == topic]
            yield replace(hypothesis, store=split, pieces=(*of_application, *pieces))


def _refuse_ambiguous_sources(survey: Survey, established: Mapping[Suspect, Sequence[SuspectStore]]) -> None:
    """:raises UsageError: if `--source STORE=TOPIC` fits stores of several applications."""
    for key, topic in survey.sources.items():
        meant = sorted({split.application for splits in established.values() for split in splits if split.name == key})
        if len(meant) > 1:
            option = shell_words("--source", f"{key}={topic}")
            several = ", ".join(shell_words("--source", f"{application}/{key}={topic}") for application in meant)
            raise UsageError(
                f"{option} is ambiguous: {len(meant)} applications have a store of this name. "
                f"Name the application: {several}."
            )


def _hypotheses(split: SuspectStore, of_application: tuple[Evidence, ...], survey: Survey) -> Iterator[Hypothesis]:
    pieces = [piece for gather in _GATHER for piece in gather(split, survey)]
    read = names_and_offsets.read_topics(split, survey)
    bare = schema_similarity.topics_without_subject(split, survey)
    too_many = frozenset(_not_read(split, survey))
    fit = {piece.topic for piece in pieces if piece.kind == rules.ALL_FIELDS.kind and not piece.against}
    doubtful = sorted(schema_similarity.topics_of_readers_schemas(split, survey), key=lambda topic: topic not in read)
    to_peek = (*(topic for topic in bare if topic not in too_many), *doubtful[:_MOST_PEEKED])
    by_ids = tuple(_by_ids(split, [topic for topic in to_peek if topic not in fit], survey))
    shown = {piece.topic for piece in by_ids}
    pieces = [piece for piece in pieces if not (piece.topic in shown and rules.NO_FIELD.says(piece))]
    pieces.extend(by_ids)
    compared = {piece.topic for piece in pieces if piece.kind in (rules.ALL_FIELDS.kind, rules.NO_IDS.kind)}
    named_after = {piece.topic for piece in pieces if piece.kind == names_and_offsets.NAME}
    # If an application has committed nothing, srfix does not know what it reads.
    is_unseen = fit and not read
    pieces.extend(
        rules.NOT_COMPARED.of_topic(topic, "its schema cannot be compared with that of the store")
        for topic in bare
        if topic not in compared and (is_unseen or topic in read or topic in named_after)
    )
    gone = tuple(schema_similarity.unlisted_topics(survey, split.context))
    by_topic: defaultdict[Topic, list[Evidence]] = defaultdict(list)

    def add(of_topics: Iterable[Evidence]) -> None:
        for piece in of_topics:
            if piece.topic is not None:
                by_topic[piece.topic].append(piece)

    add(pieces)
    add(schema_similarity.compare(split, survey, gone))
    add(names_and_offsets.by_name_of_gone(split, survey, gone))
    passed_over = [topic for topic, of_topic in by_topic.items() if not _says(of_topic, schema_similarity.KIND)]
    add(schema_similarity.against(split, passed_over, survey))
    # All evidence is against these, and some conclusively, as for nearly every topic of a cluster.
    out = [
        topic
        for topic, of_topic in by_topic.items()
        if all(piece.against for piece in of_topic) and any(piece.is_conclusive for piece in of_topic)
    ]
    for topic in out:
        del by_topic[topic]
    outdone = _outdone(by_topic, read, is_of_ksqldb=ksqldb_query(split.application) is not None)
    add(names_and_offsets.against_by_offsets(split, tuple(by_topic), survey, outdone))
    add(supplied.against(split, tuple(by_topic), survey))
    _named_otherwise(split, by_topic)
    of_read = [of_topic for topic, of_topic in by_topic.items() if topic in read]
    is_any_there = any(topic in survey.topics() for topic in out)
    for topic, of_topic in by_topic.items():
        is_gone = topic not in survey.topics()
        if is_gone and not _fits(of_topic):
            continue
        if is_gone and any(_fits_as_well(other, of_topic) for other in of_read):
            detail = "this topic no longer exists, and another topic that the group reads fits as well"
            of_topic.append(rules.GONE.of_topic(topic, detail))
        if any(not piece.against for piece in of_topic) or _says(of_topic, rules.ALL_FIELDS.kind):
            is_any_there = True
            yield Hypothesis(store=split, topic=topic, is_gone=is_gone, pieces=(*of_application, *of_topic))
    if not is_any_there:
        yield Hypothesis(store=split, topic=None, pieces=of_application)


def _not_read(split: SuspectStore, survey: Survey) -> tuple[Topic, ...]:
    """Topics without a subject whose values are not read, as there are too many; any may be a global table's."""
    return tuple(_unread_without_subject(split, survey)[_MOST_PEEKED:])


def _unread_without_subject(split: SuspectStore, survey: Survey) -> list[Topic]:
    read = names_and_offsets.read_topics(split, survey)
    return [topic for topic in schema_similarity.topics_without_subject(split, survey) if topic not in read]


def _named_otherwise(split: SuspectStore, by_topic: Mapping[Topic, list[Evidence]]) -> None:
    named = {topic for topic, pieces in by_topic.items() if _says(pieces, names_and_offsets.NAME)}
    others = ", ".join(sorted(named))
    for topic, pieces in by_topic.items():
        if named and topic not in named:
            detail = f"the store's name, {split.name}, begins like another topic: {others}"
            pieces.append(rules.NAMED_OTHERWISE.of_topic(topic, detail))


def _by_ids(split: SuspectStore, topics: Iterable[Topic], survey: Survey) -> Iterator[Evidence]:
    for topic in topics:
        try:
            yield from schema_similarity.compare_by_ids(split, survey, (topic,))
        except ClusterError as error:  # it stays open: other evidence is shown, and the census says why
            survey.cluster.require_answers(error)


def _outdone(
    by_topic: Mapping[Topic, Sequence[Evidence]], read: Collection[Topic], *, is_of_ksqldb: bool
) -> dict[Topic, Topic]:
    """The topics with all the fields, each with the only such topic that the group reads; not if the store is named
    after it and not after the other: it may be a global table's, which ksqlDB lacks (`StreamsBuilder.table`).
    """
    fit = {topic for topic, pieces in by_topic.items() if _has_all(pieces)}
    mine = [topic for topic in fit if topic in read]
    if len(mine) != 1:
        return {}
    named = {topic for topic in fit if _says(by_topic[topic], names_and_offsets.NAME)}
    return {
        other: mine[0]
        for other in fit.difference(mine)
        if is_of_ksqldb
        or (_fits_as_well(by_topic[mine[0]], by_topic[other]) and (other not in named or mine[0] in named))
    }


def _has_all(pieces: Iterable[Evidence]) -> bool:
    return any(map(rules.ALL_FIELDS.says, pieces))


def _fits(pieces: Iterable[Evidence]) -> bool:
    return any(not piece.against and piece.weight is not Weight.WEAK for piece in pieces)


def _fits_as_well(pieces: Iterable[Evidence], others: Iterable[Evidence]) -> bool:
    """True if a topic has all the fields, and extra fields only if the other topic has extra fields too."""
    mine, no_other = tuple(pieces), rules.SAME_FIELDS.kind
    return _fits(mine) and (_says(mine, no_other) or not _says(others, no_other))


def _says(pieces: Iterable[Evidence], kind: str) -> bool:
    return any(piece.kind == kind for piece in pieces)
