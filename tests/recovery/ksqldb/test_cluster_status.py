"""`/clusterStatus`: the answer of ksqlDB's documentation, and others."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from srfix.recovery import KsqldbError
from srfix.recovery.ksqldb.answers import read_cluster_status
from srfix.recovery.ksqldb.client import KsqldbClient
from srfix.recovery.state.directory import Task
from srfix.recovery.stores.whereabouts import HostRole, hosts_by_ksqldb
from srfix.serde.schemas.models import Json

GROUPED = "_confluent-ksql-default_query_CTAS_MY_AGG_TABLE_3-Aggregate-GroupBy-repartition"
STORE = "Aggregate-Aggregate-Materialize"


def held(active: tuple[int, ...], standby: tuple[int, ...] = ()) -> Json:
    return {
        "hostAlive": True,
        "lastStatusUpdateMs": 1617609098808,
        "activeStandbyPerQuery": {
            "CTAS_MY_AGG_TABLE_3": {
                "activeStores": [STORE] if active else [],
                "activePartitions": [
                    {"topic": topic, "partition": number} for topic in ("my_stream", GROUPED) for number in active
                ],
                "standByStores": [STORE] if standby else [],
                "standByPartitions": [{"topic": GROUPED, "partition": number} for number in standby],
            }
        },
        "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": 1617609168917},
    }


PLAIN = Task(name="1_1", path="", subtopology=1, partition=1)
ANSWER: Json = {
    "clusterStatus": {"localhost:8088": held((1, 3), (0, 2)), "other.ksqldb.host:8088": held((0, 2), (1,)), "third": 7}
}


def test_each_server_has_its_active_and_standby_partitions() -> None:
    here, other = read_cluster_status(json.loads(json.dumps(ANSWER)), origin="http://ksqldb:8088")
    (query,) = here.queries.values()
    assert (here.host, here.is_alive, other.host) == ("localhost:8088", True, "other.ksqldb.host:8088")
    assert (query.active_stores, query.active_partitions[0]) == ((STORE,), ("my_stream", 1))
    assert (query.is_active(STORE, 3), query.is_active(STORE, 2), query.is_active("another", 3)) == (True, False, False)
    assert (query.is_standby(STORE, 2), query.is_standby(STORE, 3)) == (True, False)


@pytest.mark.parametrize(
    ("task", "application"),
    [
        (PLAIN, "_confluent-ksql-default_query_CTAS_MY_AGG_TABLE_3"),
        (replace(PLAIN, topology="CTAS_MY_AGG_TABLE_3"), "_confluent-ksql-default_query-1"),  # a shared runtime
    ],
)
def test_hosts_are_named_for_the_query_of_the_application(task: Task, application: str) -> None:
    servers = read_cluster_status(ANSWER, origin="u")
    found = hosts_by_ksqldb(servers, application=application, store=STORE, task=task, partition=1, url="u")
    assert [(each.host, each.role) for each in found] == [
        ("localhost:8088", HostRole.ACTIVE),
        ("other.ksqldb.host:8088", HostRole.STANDBY),
    ]
    assert not list(hosts_by_ksqldb(servers, application="shop", store=STORE, task=PLAIN, partition=1, url="u"))


@pytest.mark.parametrize("answer", [[], {"clusterStatus": None}, {"message": "no"}])
def test_another_answer_is_refused(answer: Json) -> None:
    with pytest.raises(KsqldbError, match="u/clusterStatus did not answer with a cluster status"):
        read_cluster_status(answer, origin="u")


def test_a_server_that_does_not_tell_says_what_makes_it_tell() -> None:
    with (
        KsqldbClient("http://127.0.0.1:1") as client,
        pytest.raises(KsqldbError, match=r"ksql\.heartbeat\.enable=true"),
    ):
        client.cluster_status()
