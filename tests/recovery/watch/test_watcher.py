"""The loop of a watch on an embedded broker and registry: what it sees, what it writes, what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from srfix.recovery import Keep, PlanError
from srfix.recovery.plans.journal_file import default_journal_path
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.watch.allowance import allowed_pairs
from srfix.recovery.watch.events import (
    Deferred,
    End,
    Event,
    LookEnded,
    NewIds,
    NewVersions,
    NotExamined,
    OutageBegan,
    OutageEnded,
    Registered,
    StandsRelaxed,
    Stopped,
    Withheld,
)
from srfix.recovery.watch.tail import TailedTopic
from srfix.recovery.watch.watcher import Pace
from srfix.serde import ClusterError, RegistryError, Role, Subject, Topic
from srfix.serde.wire import frame_id
from tests.cli.test_kill import REFUSED
from tests.recovery.watch.watching import NEXT_SCHEMA, Parts, staged_incident, without_looks

SOURCE_SUBJECT = "users-value"


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with staged_incident(tmp_path) as staged:
        yield staged


def nothing() -> None:
    """A wait in which nothing happens."""


def are_full(events: Sequence[Event]) -> list[bool]:
    """Of each look whether it was a full one."""
    return [event.diagnosis is not None for event in events if isinstance(event, LookEnded)]


def away(*_arguments: object, **_options: object) -> object:
    raise ClusterError("The Kafka cluster does not answer.")


class TestWithoutAPlan:
    @pytest.mark.parametrize(
        ("waits", "pace", "full"),
        [
            (0, Pace(once=True), [True]),
            (2, Pace(), [True, False, False]),
            (3, Pace(interval_s=10, full_interval_s=20), [True, False, True, False]),
        ],
    )
    def test_it_looks_fully_once_then_shortly_and_writes_nothing(
        self, parts: Parts, waits: int, pace: Pace, full: list[bool]
    ) -> None:
        before = parts.registry.dump()
        events = parts.watch(*[nothing] * waits, pace=pace)
        assert (are_full(events), without_looks(events)) == (full, [])
        assert parts.waits == [] or not pace.once
        assert parts.registry.dump() == before
        assert parts.registry.writes == 0

    def test_a_new_id_is_said_once_and_looked_at_fully_at_once(self, parts: Parts) -> None:
        events = parts.watch(parts.new_record, nothing, nothing)
        new = parts.client.version(SOURCE_SUBJECT, 3).schema_id
        assert without_looks(events) == [
            NewVersions(subject=Subject(SOURCE_SUBJECT), versions=(3,)),
            NewIds(topic=parts.staged.source_topic, role=Role.VALUE, schema_ids=(new,)),
        ]
        full = [event.diagnosis for event in events if isinstance(event, LookEnded) and event.diagnosis is not None]
        ids = [[fault.schema_id for fault in found.findings[0].schema_ids] for found in full]
        assert ids == [[1, 2], [1, 2, new]]

    def test_only_what_came_since_is_read(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        read = []
        original = type(parts.cluster).read

        def noting(self: object, topic: str, partition: int, begin: int, end: int, **more: object) -> object:
            read.append((topic, partition, begin, end))
            return original(parts.cluster, topic, partition, begin, end, **more)  # type: ignore[arg-type]

        from_here_on = partial(monkeypatch.setattr, type(parts.cluster), "read", noting)
        parts.watch(from_here_on, lambda: parts.raw_record(frame_id(1, b"")), nothing)
        assert read == [("users", 1, 4, 5)]

    @pytest.mark.slow
    def test_a_new_changelog_like_subject_brings_a_full_look(self, parts: Parts) -> None:
        subject = f"{parts.staged.application}-other-changelog-value"
        another_store = partial(parts.registry.seed, subject, '"string"')
        assert are_full(parts.watch(nothing, another_store, nothing, nothing)) == [True, False, False, True, False]


class TestAllowed:
    def test_what_the_plan_repairs_is_repaired_as_apply_does_and_told(self, parts: Parts) -> None:
        plan = parts.plan()
        writer = parts.writer(plan)
        events = parts.watch(nothing, writer=writer)
        subject = parts.staged.phantom_subject
        journal = writer.journal(subject)
        assert without_looks(events) == [
            Registered(subject=subject, schema_ids=parts.staged.writer_ids, journal=journal)
        ]
        last = [event.diagnosis for event in events if isinstance(event, LookEnded)][-1]
        assert last is not None
        assert not last.has_findings
        watched = parts.registry.dump()
        list(roll_back(journal, parts.client))
        parts.applied()
        assert watched["subjects"] == parts.registry.dump()["subjects"]

    def test_a_new_version_is_registered_before_any_record_carries_it(self, parts: Parts) -> None:
        subject, writer = parts.staged.phantom_subject, parts.writer(parts.applied())
        events = parts.watch(parts.new_version, nothing, writer=writer)
        new = parts.client.version(SOURCE_SUBJECT, 3).schema_id
        assert without_looks(events) == [
            NewVersions(subject=Subject(SOURCE_SUBJECT), versions=(3,)),
            Registered(subject=subject, schema_ids=(new,), journal=writer.journal(subject)),
        ]
        assert parts.phantom() == {parts.staged.internal_id: True, 1: False, 2: False, new: False}
        assert parts.client.config(subject) is None

    def test_a_rollback_of_its_journal_undoes_it_and_it_is_not_done_again(self, parts: Parts) -> None:
        before, writer, subject = parts.registry.dump(), parts.writer(parts.plan()), parts.staged.phantom_subject

        def undo() -> None:
            list(roll_back(writer.journal(subject), parts.client))
            assert parts.registry.dump() == before

        done, withheld = without_looks(parts.watch(undo, writer=writer, pace=Pace(full_interval_s=0)))
        assert isinstance(done, Registered)
        assert isinstance(withheld, Withheld)
        assert (withheld.subject, withheld.schema_ids) == (subject, parts.staged.writer_ids)
        assert "its registration was rolled back" in withheld.why
        assert parts.registry.dump() == before

    @pytest.mark.slow
    def test_nothing_is_done_for_a_plan_that_was_rolled_back(self, parts: Parts) -> None:
        plan = parts.applied()
        journal = default_journal_path(parts.plan_path)
        list(roll_back(journal, parts.client))
        before = parts.registry.dump()
        (event,) = without_looks(parts.watch(nothing, nothing, writer=parts.writer(plan)))
        assert isinstance(event, Deferred)
        assert (event.subject, event.schema_ids) == (parts.staged.phantom_subject, parts.staged.writer_ids)
        assert f"was rolled back, as its journal {journal} says" in event.why
        assert parts.registry.dump() == before

    @pytest.mark.slow
    def test_an_id_that_is_not_under_the_source_s_own_subject_is_only_told(self, parts: Parts) -> None:
        plan = parts.applied()
        foreign = parts.registry.seed("another-value", NEXT_SCHEMA)
        before = parts.registry.dump()
        events = parts.watch(lambda: parts.raw_record(frame_id(foreign, b"")), nothing, writer=parts.writer(plan))
        _new, event = without_looks(events)
        assert isinstance(event, Withheld)
        assert (event.subject, event.schema_ids) == (parts.staged.phantom_subject, (foreign,))
        assert f"not registered under the source's own subject, {SOURCE_SUBJECT}" in event.why
        assert parts.registry.dump() == before

    @pytest.mark.parametrize(
        ("may_relax", "keep", "said"),
        [
            (False, Keep.AUTO, "have to relax the compatibility of the subject"),
            (True, Keep.LIVE, "would soft-delete the version at once"),
        ],
    )
    def test_what_the_plan_does_not_do_is_only_told(self, parts: Parts, may_relax: bool, keep: Keep, said: str) -> None:
        writer = parts.writer(parts.plan(keep=keep))
        pairs = tuple(replace(pair, may_relax=may_relax) for pair in writer.pairs)
        (event,) = without_looks(parts.watch(writer=replace(writer, pairs=pairs)))
        assert isinstance(event, Withheld)
        assert said in event.why
        assert parts.registry.writes == 0

    @pytest.mark.slow
    def test_a_store_that_is_not_examined_is_told_once(self, parts: Parts) -> None:
        writer = parts.writer(parts.plan())
        pairs = tuple(replace(pair, source_topic=Topic("others")) for pair in writer.pairs)
        events = without_looks(parts.watch(nothing, writer=replace(writer, pairs=pairs), pace=Pace(full_interval_s=0)))
        assert [type(event) for event in events] == [NotExamined]
        assert parts.registry.writes == 0


class TestAnotherRepairAtTheSameTime:
    def test_a_relaxed_level_is_waited_for_and_put_back_if_it_stands(self, parts: Parts) -> None:
        plan, subject = parts.plan(), parts.staged.phantom_subject
        parts.client.set_config(subject, {"compatibility": "NONE"})

        events = without_looks(parts.watch(nothing, nothing, nothing, nothing, writer=parts.writer(plan)))
        stands = events[1]
        assert [type(event) for event in events] == [Deferred, StandsRelaxed, Registered]
        assert isinstance(stands, StandsRelaxed)
        assert stands.put_back == ("the configuration as it was when the plan was signed off",)
        assert parts.client.config(subject) is None
        assert parts.phantom() == {parts.staged.internal_id: True, 1: False, 2: False}

    @pytest.mark.slow
    def test_another_configuration_than_was_signed_off_is_not_written_to(self, parts: Parts) -> None:
        plan = parts.plan()
        parts.client.set_config(parts.staged.phantom_subject, {"compatibility": "FULL"})
        before = parts.registry.dump()
        (event,) = without_looks(parts.watch(nothing, writer=parts.writer(plan)))
        assert isinstance(event, Withheld)
        assert parts.registry.dump() == before


class TestOutages:
    def test_a_registry_that_is_away_is_said_once_and_what_came_meanwhile_is_registered(self, parts: Parts) -> None:
        plan, outages = parts.applied(), []

        def goes() -> None:
            parts.new_record()
            outages.append(parts.registry.intercept(Fault(action=CutBefore())))

        steps = (goes, nothing, nothing, lambda: outages[0].close(), nothing)
        events = parts.watch(*steps, writer=parts.writer(plan))
        first, began, *others = events
        assert isinstance(began, OutageBegan)
        assert began.end is End.REGISTRY
        kinds = [OutageEnded, NewVersions, NewIds, LookEnded, Registered, LookEnded]
        assert [type(event) for event in (first, *others)] == [LookEnded, *kinds]
        assert parts.waits == [10.0, 1.0, 2.0, 4.0, 10.0, 10.0]

    def test_an_end_that_is_away_for_long_is_asked_no_less_often_than_it_is_looked_at(self, parts: Parts) -> None:
        """Seen wrong: eleven seconds after the registry was back nobody had asked it."""
        outages = []

        def goes() -> None:
            outages.append(parts.registry.intercept(Fault(action=CutBefore())))

        parts.watch(goes, *[nothing] * 5, lambda: outages[0].close(), pace=Pace(interval_s=3.0))
        assert parts.waits[1:7] == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0]

    def test_a_broker_that_is_away_is_said(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        cluster = type(parts.cluster)
        original = cluster.topics
        steps = [partial(monkeypatch.setattr, cluster, "topics", each) for each in (away, original)]
        events = parts.watch(steps[0], nothing, steps[1])
        assert [type(event) for event in events] == [LookEnded, OutageBegan, OutageEnded, LookEnded]
        assert events[1] == OutageBegan(end=End.KAFKA, why="The Kafka cluster does not answer.")

    @pytest.mark.slow
    def test_what_a_look_has_seen_when_an_end_stops_answering_is_told_and_registered_by_the_next(
        self, parts: Parts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan, original = parts.applied(), TailedTopic.go_on

        def new_record() -> None:
            parts.new_record()
            monkeypatch.setattr(TailedTopic, "go_on", away)

        back = partial(monkeypatch.setattr, TailedTopic, "go_on", original)
        events = parts.watch(new_record, back, writer=parts.writer(plan))
        kinds = [OutageBegan, OutageEnded, NewVersions, NewIds, Registered]
        assert [type(event) for event in without_looks(events)] == kinds

    def test_once_fails_where_an_end_does_not_answer(self, parts: Parts) -> None:
        with parts.registry.intercept(Fault(action=CutBefore())), pytest.raises(RegistryError):
            parts.watch(pace=Pace(once=True))

    def test_an_outage_in_the_middle_of_a_registration_is_gone_on_with(self, parts: Parts) -> None:
        plan = parts.plan()
        fault = Fault(method="POST", path="/versions$", calls=(1, 2), action=CutBefore())
        with parts.registry.intercept(fault):
            events = parts.watch(nothing, nothing, nothing, writer=parts.writer(plan))
        assert [type(event) for event in without_looks(events)] == [OutageBegan, Registered, OutageEnded]
        assert parts.phantom() == {parts.staged.internal_id: True, 1: False, 2: False}
        assert parts.client.config(parts.staged.phantom_subject) is None

    @pytest.mark.slow
    def test_a_refusal_in_the_middle_is_put_back_and_tried_again(self, parts: Parts) -> None:
        plan, subject = parts.plan(), parts.staged.phantom_subject
        with parts.registry.intercept(Fault(method="POST", path="/versions$", calls=(2,), action=REFUSED)):
            stopped, again = without_looks(parts.watch(nothing, nothing, writer=parts.writer(plan)))
        assert isinstance(stopped, Stopped)
        assert stopped.put_back == (f"compatibility of {subject} put back",)
        assert isinstance(again, Registered)
        assert again.schema_ids == (parts.staged.writer_ids[1],)
        assert parts.client.config(subject) is None


@pytest.mark.core
def test_a_plan_s_pair_says_how_it_repairs(parts: Parts) -> None:
    plan = parts.plan()
    (pair,) = allowed_pairs(plan)
    assert (pair.subject, pair.source_subject) == (parts.staged.phantom_subject, SOURCE_SUBJECT)
    assert (pair.may_soft_delete, pair.may_relax, pair.may_stay_live, pair.may_send_ids) == (True, True, False, False)
    assert pair.keep is Keep.SOFT_DELETED
    with pytest.raises(PlanError, match="registers nothing under a phantom subject"):
        allowed_pairs(replace(plan, actions=()))
