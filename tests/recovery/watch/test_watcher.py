"""The loop of a watch on an embedded broker and registry: what it sees, what it writes, what it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from srfix.recovery.errors import PlanError
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.journal import default_journal_path
from srfix.recovery.repair.planning.repairs import Keep
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.watch.allowance import allowed_pairs
from srfix.recovery.watch.events import (
    Deferred,
    End,
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
from srfix.serde.errors import ClusterError, RegistryError
from srfix.serde.registry.models import Schema
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import frame_id
from tests.recovery.watch.watching import NEXT_SCHEMA, Parts, staged_incident, without_looks


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with staged_incident(tmp_path) as staged:
        yield staged


def nothing() -> None:
    """A wait in which nothing happens."""


class TestWithoutAPlan:
    def test_it_looks_fully_once_then_shortly_and_writes_nothing(self, parts: Parts) -> None:
        before = parts.registry.dump()
        events = parts.watch(nothing, nothing)
        assert [isinstance(event, LookEnded) and event.diagnosis is not None for event in events] == [
            True,
            False,
            False,
        ]
        assert parts.registry.dump() == before
        assert parts.registry.writes == 0

    def test_a_new_version_is_said_once(self, parts: Parts) -> None:
        events = parts.watch(parts.new_version, nothing)
        assert without_looks(events) == [NewVersions(subject=parts.staged.source_subject, versions=(3,))]

    def test_a_new_id_is_said_once_and_looked_at_fully_at_once(self, parts: Parts) -> None:
        events = parts.watch(parts.new_record, nothing, nothing)
        new = NewIds(
            topic=parts.staged.source_topic,
            role=Role.VALUE,
            schema_ids=(parts.client.version(parts.staged.source_subject, 3).schema_id,),
        )
        assert without_looks(events) == [NewVersions(subject=parts.staged.source_subject, versions=(3,)), new]
        full = [event.diagnosis for event in events if isinstance(event, LookEnded) and event.diagnosis is not None]
        assert [[int(fault.schema_id) for fault in found.findings[0].schema_ids] for found in full] == [
            [1, 2],
            [1, 2, int(new.schema_ids[0])],
        ]

    def test_only_what_came_since_is_read(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        read = []
        original = type(parts.cluster).read

        def noting(self: object, topic: str, partition: int, begin: int, end: int, **more: object) -> object:
            read.append((topic, partition, begin, end))
            return original(parts.cluster, topic, partition, begin, end, **more)  # type: ignore[arg-type]

        def from_here_on() -> None:
            monkeypatch.setattr(type(parts.cluster), "read", noting)

        parts.watch(from_here_on, lambda: parts.raw_record(frame_id(1, b"")), nothing)
        assert read == [("users", 1, 4, 5)]

    def test_a_full_look_comes_again_after_its_interval(self, parts: Parts) -> None:
        events = parts.watch(nothing, nothing, nothing, pace=Pace(interval_s=10, full_interval_s=20))
        assert [event.diagnosis is not None for event in events if isinstance(event, LookEnded)] == [
            True,
            False,
            True,
            False,
        ]

    def test_a_new_changelog_like_subject_brings_a_full_look(self, parts: Parts) -> None:
        def another_store() -> None:
            parts.registry.seed(f"{parts.staged.application}-other-changelog-value", '"string"')

        events = parts.watch(nothing, another_store, nothing, nothing)
        kinds = [event.diagnosis is not None for event in events if isinstance(event, LookEnded)]
        assert kinds == [True, False, False, True, False]

    def test_once_is_one_look(self, parts: Parts) -> None:
        assert len(parts.watch(pace=Pace(once=True))) == 1
        assert parts.waits == []


class TestAllowed:
    def test_what_the_plan_repairs_is_repaired_and_told(self, parts: Parts) -> None:
        plan = parts.plan()
        writer = parts.writer(plan)
        events = parts.watch(nothing, writer=writer)
        subject = parts.staged.phantom_subject
        assert without_looks(events) == [
            Registered(subject=subject, schema_ids=parts.staged.writer_ids, journal=writer.journal(subject))
        ]
        last = [event.diagnosis for event in events if isinstance(event, LookEnded)][-1]
        assert last is not None
        assert not last.has_findings

    def test_it_leaves_what_apply_leaves(self, parts: Parts) -> None:
        plan = parts.plan()
        parts.watch(writer=parts.writer(plan))
        watched = parts.registry.dump()
        list(roll_back(parts.writer(plan).journal(parts.staged.phantom_subject), parts.client))
        list(apply_plan(plan, parts.client, default_journal_path(parts.plan_path)))
        assert watched["subjects"] == parts.registry.dump()["subjects"]

    def test_a_new_version_is_registered_before_any_record_carries_it(self, parts: Parts) -> None:
        plan = parts.plan()
        list(apply_plan(plan, parts.client, default_journal_path(parts.plan_path)))
        writer = parts.writer(plan)
        events = parts.watch(parts.new_version, nothing, writer=writer)
        new = parts.client.version(parts.staged.source_subject, 3).schema_id
        assert without_looks(events) == [
            NewVersions(subject=parts.staged.source_subject, versions=(3,)),
            Registered(
                subject=parts.staged.phantom_subject,
                schema_ids=(new,),
                journal=writer.journal(parts.staged.phantom_subject),
            ),
        ]
        assert parts.phantom() == {parts.staged.internal_id: True, 1: False, 2: False, new: False}
        assert parts.client.config(parts.staged.phantom_subject) is None

    def test_a_rollback_of_its_journal_undoes_it_and_it_is_not_done_again(self, parts: Parts) -> None:
        plan = parts.plan()
        before = parts.registry.dump()
        writer = parts.writer(plan)
        subject = parts.staged.phantom_subject

        def undo() -> None:
            list(roll_back(writer.journal(subject), parts.client))
            assert parts.registry.dump() == before

        events = parts.watch(undo, writer=writer, pace=Pace(full_interval_s=0))
        assert without_looks(events) == [
            Registered(subject=subject, schema_ids=parts.staged.writer_ids, journal=writer.journal(subject)),
            Withheld(
                subject=subject,
                schema_ids=parts.staged.writer_ids,
                why="its registration was rolled back; a watch does not do again what a person undid",
            ),
        ]
        assert parts.registry.dump() == before

    def test_nothing_is_done_for_a_plan_that_was_rolled_back(self, parts: Parts) -> None:
        plan = parts.plan()
        journal = default_journal_path(parts.plan_path)
        list(apply_plan(plan, parts.client, journal))
        list(roll_back(journal, parts.client))
        before = parts.registry.dump()
        (event,) = without_looks(parts.watch(nothing, nothing, writer=parts.writer(plan)))
        assert event == Deferred(
            subject=parts.staged.phantom_subject,
            schema_ids=parts.staged.writer_ids,
            why=f"the signed-off plan was rolled back, as its journal {journal} says",
        )
        assert parts.registry.dump() == before

    def test_an_id_that_is_not_under_the_source_s_own_subject_is_only_told(self, parts: Parts) -> None:
        plan = parts.plan()
        list(apply_plan(plan, parts.client, default_journal_path(parts.plan_path)))
        foreign = parts.registry.seed("another-value", NEXT_SCHEMA)
        before = parts.registry.dump()
        events = parts.watch(lambda: parts.raw_record(frame_id(foreign, b"")), nothing, writer=parts.writer(plan))
        assert without_looks(events)[1:] == [
            Withheld(
                subject=parts.staged.phantom_subject,
                schema_ids=(foreign,),  # type: ignore[arg-type]
                why="it is not registered under the source's own subject, users-value",
            )
        ]
        assert parts.registry.dump() == before

    def test_what_would_have_to_be_relaxed_is_only_told_where_the_plan_does_not(self, parts: Parts) -> None:
        plan = parts.plan()
        writer = parts.writer(plan)
        pairs = tuple(replace(pair, may_relax=False) for pair in writer.pairs)
        (event,) = without_looks(parts.watch(writer=replace(writer, pairs=pairs)))
        assert isinstance(event, Withheld)
        assert event.why == (
            "the signed-off plan does not allow it: the compatibility of the subject would have to be relaxed, which that "
            "plan does not do"
        )
        assert parts.registry.writes == 0

    def test_a_store_that_is_not_examined_is_told_once(self, parts: Parts) -> None:
        plan = parts.plan()
        writer = parts.writer(plan)
        pairs = tuple(replace(pair, source_topic=Topic("others")) for pair in writer.pairs)
        events = without_looks(parts.watch(nothing, writer=replace(writer, pairs=pairs), pace=Pace(full_interval_s=0)))
        assert [type(event) for event in events] == [NotExamined]
        assert parts.registry.writes == 0

    def test_a_plan_that_leaves_versions_live_allows_no_soft_delete(self, parts: Parts) -> None:
        plan = parts.plan(keep=Keep.LIVE)
        (event,) = without_looks(parts.watch(writer=parts.writer(plan)))
        assert isinstance(event, Withheld)
        assert event.why.endswith("the version would be soft-deleted at once, and that plan leaves its versions live")


class TestAnotherRepairAtTheSameTime:
    def test_a_relaxed_level_is_waited_for_and_said_if_it_stands(self, parts: Parts) -> None:
        plan = parts.plan()
        subject = parts.staged.phantom_subject
        parts.client.set_config(subject, {"compatibility": "NONE"})

        def put_back() -> None:
            parts.client.delete_config(subject)

        events = without_looks(parts.watch(nothing, nothing, put_back, nothing, writer=parts.writer(plan)))
        assert [type(event) for event in events] == [Deferred, StandsRelaxed, Registered]
        assert parts.client.config(subject) is None
        assert parts.phantom() == {parts.staged.internal_id: True, 1: False, 2: False}

    def test_another_configuration_than_was_signed_off_is_not_written_to(self, parts: Parts) -> None:
        plan = parts.plan()
        parts.client.set_config(parts.staged.phantom_subject, {"compatibility": "FULL"})
        before = parts.registry.dump()
        (event,) = without_looks(parts.watch(nothing, writer=parts.writer(plan)))
        assert isinstance(event, Withheld)
        assert parts.registry.dump() == before


class TestOutages:
    def test_a_registry_that_is_away_is_said_once_and_what_came_meanwhile_is_registered(self, parts: Parts) -> None:
        plan = parts.plan()
        list(apply_plan(plan, parts.client, default_journal_path(parts.plan_path)))
        outage = parts.registry.intercept(Fault(action=CutBefore()))
        outage.remove()

        def goes() -> None:
            parts.new_record()
            goes.handle = parts.registry.intercept(Fault(action=CutBefore()))  # type: ignore[attr-defined]

        def comes_back() -> None:
            goes.handle.remove()  # type: ignore[attr-defined]

        events = parts.watch(goes, nothing, nothing, comes_back, nothing, writer=parts.writer(plan))
        assert [type(event) for event in events] == [
            LookEnded,
            OutageBegan,
            OutageEnded,
            NewVersions,
            NewIds,
            LookEnded,
            Registered,
            LookEnded,
        ]
        assert isinstance(events[1], OutageBegan)
        assert events[1].end is End.REGISTRY
        assert parts.waits == [10.0, 1.0, 2.0, 4.0, 10.0, 10.0]

    def test_a_broker_that_is_away_is_said(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:

        original = type(parts.cluster).topics

        def away(_self: object) -> object:
            raise ClusterError("The Kafka cluster does not answer.")

        def back() -> None:
            monkeypatch.setattr(type(parts.cluster), "topics", original)

        events = parts.watch(lambda: monkeypatch.setattr(type(parts.cluster), "topics", away), nothing, back)
        assert [type(event) for event in events] == [LookEnded, OutageBegan, OutageEnded, LookEnded]
        assert events[1] == OutageBegan(end=End.KAFKA, why="The Kafka cluster does not answer.")

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

    def test_a_refusal_in_the_middle_is_put_back_and_tried_again(self, parts: Parts) -> None:
        from tests.cli.test_kill import REFUSED

        plan = parts.plan()
        with parts.registry.intercept(Fault(method="POST", path="/versions$", calls=(2,), action=REFUSED)):
            events = without_looks(parts.watch(nothing, nothing, writer=parts.writer(plan)))
        assert [type(event) for event in events] == [Stopped, Registered]
        assert isinstance(events[0], Stopped)
        assert events[0].put_back == (f"compatibility of {parts.staged.phantom_subject} put back",)
        assert isinstance(events[1], Registered)
        assert events[1].schema_ids == (parts.staged.writer_ids[1],)
        assert parts.client.config(parts.staged.phantom_subject) is None


class TestAllowedPairs:
    def test_a_plan_without_registrations_is_refused(self, parts: Parts) -> None:
        plan = replace(parts.plan(), actions=())
        with pytest.raises(
            PlanError, match=r"^The plan registers nothing under a phantom subject, so there is nothing"
        ):
            allowed_pairs(plan)

    def test_a_plan_s_pair_says_how_it_repairs(self, parts: Parts) -> None:
        (pair,) = allowed_pairs(parts.plan())
        assert (pair.subject, pair.source_subject) == (parts.staged.phantom_subject, Subject("users-value"))
        assert (pair.may_stay_live, pair.may_soft_delete, pair.may_relax, pair.may_send_ids) == (
            False,
            True,
            True,
            False,
        )
        assert pair.keep is Keep.SOFT_DELETED
        assert Schema(text=NEXT_SCHEMA).text


class TestNothingIsLost:
    def test_what_a_look_has_seen_when_an_end_stops_answering_is_told_and_registered_by_the_next(
        self, parts: Parts, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = parts.plan()
        list(apply_plan(plan, parts.client, default_journal_path(parts.plan_path)))
        original = TailedTopic.go_on

        def fails(*_arguments: object, **_options: object) -> object:
            raise ClusterError("The Kafka cluster does not answer.")

        def new_record() -> None:
            parts.new_record()
            monkeypatch.setattr(TailedTopic, "go_on", fails)

        events = parts.watch(
            new_record, lambda: monkeypatch.setattr(TailedTopic, "go_on", original), writer=parts.writer(plan)
        )
        assert [type(event) for event in without_looks(events)] == [
            OutageBegan,
            OutageEnded,
            NewVersions,
            NewIds,
            Registered,
        ]
