"""What a watch writes, killed at any instant and done by several instances at once: the end is always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import LocalCensus, Plan, Survey, diagnose
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.watch.allowance import Allowed, allowed_pairs, attend
from srfix.recovery.watch.events import Registered, Stopped
from srfix.recovery.watch.writing import Writer
from srfix.serde import RegistryClient, RetryPolicy
from tests.cli.kept_demo import registry_like
from tests.recovery.repair.scene import dies, mostly_slow
from tests.recovery.repair.turns import run_in_turns
from tests.recovery.staging import clock
from tests.recovery.watch.watching import Parts, live_by_id, staged_incident

LINES = 16
"""Journal lines of an undisturbed registration: begun, before and after each of six steps, finished, and a little more."""
WRITES = 6
REQUESTS = 60
"""More than one instance sends until it is done."""


@dataclass(frozen=True, kw_only=True)
class Incident:
    """The incident as a full look has seen it, and the plan that was signed off."""

    parts: Parts
    facts: StoreFacts
    plan: Plan


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incident]:
    with staged_incident(tmp_path_factory.mktemp("incident")) as parts:
        plan = parts.plan()
        engine = LocalCensus({"bootstrap.servers": parts.broker.bootstrap_servers})
        (facts,) = diagnose(parts.survey(), engine).facts
        yield Incident(parts=parts, facts=facts, plan=plan)


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One watch, without its loop."""

    incident: Incident
    client: RegistryClient
    writer: Writer

    def look(self) -> bool:
        """Goes on with what was begun, and does what is missing and allowed; True if nothing is left to do."""
        for subject in tuple(self.writer.open_journals()):
            list(self.writer.resume(subject, self.client))
        (pair,) = self.writer.pairs
        survey = Survey(cluster=self.incident.parts.cluster, registry=self.client)
        undone = self.writer.undone(pair.subject)
        decided = list(attend(self.incident.facts, pair, survey, carried=(), undone=undone, clock=clock))
        for each in decided:
            if isinstance(each, Allowed):
                list(self.writer.carry_out(each.plan, pair.subject, self.client))
        return not decided

    def dies(self, moment: str, number: int) -> None:
        """A look that is killed; see `killed_at`."""
        dies(moment, number, self.look)

    def look_until_done(self) -> None:
        for _ in range(4):
            if self.look():
                return


@contextmanager
def instances(incident: Incident, folder: Path, number: int = 1) -> Iterator[tuple[FixtureRegistry, list[Instance]]]:
    """So many on a registry of their own."""
    with ExitStack() as stack:
        registry = stack.enter_context(registry_like(incident.parts.registry))
        plan = replace(incident.plan, registry=registry.url)
        made = []
        for each in range(number):
            client = stack.enter_context(RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)))
            journals = folder / f"watch-{each}"
            journals.mkdir()
            writer = Writer(
                pairs=allowed_pairs(plan), plan=plan, plan_path=folder / "plan.json", journals=journals, clock=clock
            )
            made.append(Instance(incident=incident, client=client, writer=writer))
        yield registry, made


@pytest.fixture(scope="module")
def done(incident: Incident, tmp_path_factory: pytest.TempPathFactory) -> object:
    """The registry after one undisturbed registration."""
    with instances(incident, tmp_path_factory.mktemp("undisturbed")) as (registry, (alone,)):
        alone.look_until_done()
        return registry.dump()


class TestKilled:
    @pytest.mark.parametrize(
        ("moment", "number"),
        mostly_slow(
            [
                *((moment, number) for moment in ("before write", "after write") for number in range(1, WRITES + 1)),
                *((moment, number) for moment in ("before line", "after line") for number in range(1, LINES - 1)),
            ],
            quick=[("after write", 2)],
        ),
    )
    def test_at_any_instant_and_started_again_it_ends_as_if_undisturbed(
        self, incident: Incident, done: object, tmp_path: Path, moment: str, number: int
    ) -> None:
        with instances(incident, tmp_path) as (registry, (alone,)):
            before = registry.dump()
            alone.dies(moment, number)
            alone.look_until_done()
            assert registry.dump() == done
            (pair,) = alone.writer.pairs
            list(roll_back(alone.writer.journal(pair.subject), alone.client))
            assert registry.dump() == before

    @pytest.mark.parametrize("number", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3, 4, 5, 6))])
    def test_another_instance_ends_it_as_if_undisturbed(
        self, incident: Incident, done: object, tmp_path: Path, number: int
    ) -> None:
        """Seen wrong: the subject stayed at NONE, and no other registered there until the first was started again."""
        with instances(incident, tmp_path, 2) as (registry, (first, second)):
            first.dies("after write", number)
            (pair,) = second.writer.pairs
            second.writer.take_over(pair, second.client)
            second.look_until_done()
            assert registry.dump() == done
            first.look_until_done()
            assert registry.dump() == done

    @pytest.mark.parametrize("number", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, WRITES + 1))])
    def test_and_left_as_it_is_while_a_person_registers_something_there(
        self, incident: Incident, tmp_path: Path, number: int
    ) -> None:
        """The journal's plan does not fit any more: what it relaxed is put back, and the next look plans anew."""
        with instances(incident, tmp_path) as (registry, (alone,)):
            alone.dies("after write", number)
            (pair,) = alone.writer.pairs
            own = alone.client.schema_by_id(incident.parts.staged.internal_id).schema
            registry.seed(pair.subject, own.text.replace('"fields":[', '"doc":"another","fields":['))
            alone.look_until_done()
            assert alone.client.config(pair.subject) is None
            found = live_by_id(registry, pair.subject)
            assert (found[1], found[2]) == (False, False)


class TestSeveralInstances:
    @staticmethod
    def side_by_side(incident: Incident, folder: Path, order: list[int]) -> None:
        with instances(incident, folder, 2) as (registry, both):
            calls: list[Callable[[], object]] = [each.look_until_done for each in both]
            raised = run_in_turns(order, *calls)
            assert raised == [None, None]
            for each in both:
                each.look_until_done()
            (pair,) = both[0].writer.pairs
            assert both[0].client.config(pair.subject) is None, "a level was left relaxed"
            live = {1: False, 2: False, incident.parts.staged.internal_id: True}
            assert live_by_id(registry, pair.subject) == live

    @pytest.mark.slow
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(pieces=st.lists(st.integers(1, 14), min_size=1, max_size=16), first=st.integers(0, 1))
    @example(pieces=[1, 1, 1, 1, 4, 7, 14, 14, 14, 14, 10, 1, 14, 9, 1, 14], first=0).via(
        "both put back what both began"
    )
    def test_in_any_order_of_requests_nothing_is_left_relaxed_or_live(
        self, incident: Incident, tmp_path_factory: pytest.TempPathFactory, pieces: list[int], first: int
    ) -> None:
        order = list(chain.from_iterable(repeat((first + n) % 2, piece) for n, piece in enumerate(pieces)))
        self.side_by_side(incident, tmp_path_factory.mktemp("two"), order)

    @pytest.mark.parametrize(
        "switch", [pytest.param(at, marks=() if at in (9, 24) else pytest.mark.slow) for at in range(0, REQUESTS, 3)]
    )
    def test_one_within_the_other(self, incident: Incident, tmp_path: Path, switch: int) -> None:
        self.side_by_side(incident, tmp_path, [*[0] * switch, *[1] * 3 * REQUESTS])

    def test_one_that_shares_the_other_s_journals_waits(self, incident: Incident, tmp_path: Path) -> None:
        with instances(incident, tmp_path, 2) as (_registry, (first, second)):
            shared = replace(second, writer=replace(second.writer, journals=first.writer.journals))
            first.look_until_done()
            assert shared.look()


class TestDamagedJournal:
    def test_nothing_is_written_for_its_subject(self, incident: Incident, tmp_path: Path) -> None:
        with instances(incident, tmp_path) as (registry, (alone,)):
            (pair,) = alone.writer.pairs
            alone.writer.journal(pair.subject).write_text("{}\n")
            before = registry.dump()
            assert list(alone.writer.open_journals()) == []
            survey = Survey(cluster=incident.parts.cluster, registry=alone.client)
            (allowed,) = attend(incident.facts, pair, survey, carried=(), undone=(), clock=clock)
            assert isinstance(allowed, Allowed)
            (event,) = alone.writer.carry_out(allowed.plan, pair.subject, alone.client)
            assert not isinstance(event, Registered | Stopped)
            assert registry.dump() == before
