"""Verifying asks again, and what could not be looked at is neither confirmed nor a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.repair.plan_file import Plan, load_plan
from srfix.recovery.repair.verify.events import Confirmed, NotLookedAt, Problem
from srfix.recovery.repair.verify.verify import verify
from srfix.serde.subjects.names import Topic
from tests.cli.kept_demo import Parts, staged_parts


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    with staged_parts() as staged:
        yield staged


@pytest.fixture(scope="module")
def plan(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path: Path = tmp_path_factory.mktemp("plan") / "p.json"
    assert parts.srfix("plan", "-o", path).returncode == 0
    return load_plan(path)


class StoppedEarly:
    """A census that could not read partition 1 to its end."""

    def __init__(self, engine: LocalCensus) -> None:
        self._engine = engine

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        census = self._engine.count(request, on_progress=on_progress)
        partitions = tuple(
            replace(partition, stopped_early="no record came for 30 s") if partition.partition == 1 else partition
            for partition in census.partitions
        )
        return replace(census, partitions=partitions)


class TestVerify:
    def test_before_the_repair_every_id_and_row_is_a_problem(self, parts: Parts, plan: Plan) -> None:
        config = {"bootstrap.servers": parts.broker.bootstrap_servers}
        with Cluster(config) as cluster:
            events = list(verify(plan, cluster, LocalCensus(config), parts.client))
        problems = [event.what for event in events if isinstance(event, Problem)]
        assert problems[0].startswith("nothing that the plan registers is registered here: ")
        assert problems[1:3] == [
            f"schema id {schema_id} is not registered here (40403); apply the plan, or, if it was applied, plan and apply again"
            for schema_id in (1, 2)
        ]
        assert len([what for what in problems if "cannot be read: Error retrieving Avro value schema" in what]) == 6

    def test_a_partition_that_was_not_read_to_its_end_is_said(self, parts: Parts, plan: Plan) -> None:
        config = {"bootstrap.servers": parts.broker.bootstrap_servers}
        with Cluster(config) as cluster:
            events = list(verify(plan, cluster, StoppedEarly(LocalCensus(config)), parts.client))
        assert [event for event in events if isinstance(event, NotLookedAt)] == [
            NotLookedAt(subject=parts.staged.phantom_subject, what="users partition 1: no record came for 30 s")
        ]
        assert any(isinstance(event, Confirmed) for event in events)

    def test_a_topic_that_is_gone_is_a_problem(self, parts: Parts, plan: Plan) -> None:
        config = {"bootstrap.servers": parts.broker.bootstrap_servers}
        elsewhere = replace(plan, findings=tuple(replace(f, source_topic=Topic("gone")) for f in plan.findings))
        with Cluster(config) as cluster:
            event, *_others = verify(elsewhere, cluster, LocalCensus(config), parts.client)
        assert event.what == (
            "topic gone, from which the store restores, is gone from this cluster; check --bootstrap-servers"
        )
