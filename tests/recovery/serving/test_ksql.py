"""Pull queries as ksqlDB's clients send them, and what is refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.stores.whereabouts import partition_of
from tests.recovery.serving.conftest import PARTITIONS, Member


@pytest.fixture(scope="module")
def member(start_shared: Callable[..., Member]) -> Member:
    return _with_people(start_shared)


def _with_people(start: Callable[..., Member]) -> Member:
    member = start()
    people = {"ann": 30, "bob": 17, "cid": None}
    member.produce(*((name, json.dumps({"NAME": name.upper(), "AGE": age})) for name, age in people.items()))
    member.catch_up()
    return member


def _rows(member: Member, sql: str, **properties: object) -> list[list[object]]:
    answer = member.http.post("/query", json={"ksql": sql, "streamsProperties": properties})
    assert answer.status_code == 200, answer.text
    return [part["row"]["columns"] for part in answer.json() if "row" in part]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("ID = 'ann'", {"ann"}),
        ("'ann' = ID", {"ann"}),
        ("ID IN ('ann', 'bob', 'nobody')", {"ann", "bob"}),
        ("ID = 'ann' AND AGE > 40", set()),
        ("AGE > 20", {"ann"}),
        ("AGE <= 30", {"ann", "bob"}),
        ("NOT AGE > 20", {"bob"}),
        ("AGE IS NULL", {"cid"}),
        ("AGE IS NOT NULL", {"ann", "bob"}),
        ("NOT AGE IN (17)", {"ann"}),
        ("AGE IN (17, NULL)", {"bob"}),
        ("AGE NOT IN (17, NULL)", set()),
        ("AGE = 30.0", {"ann"}),
        ("ID IN (" + ",".join(f"'{number}'" for number in range(2_000)) + ",'ann')", {"ann"}),
        (" OR ".join(f"NAME = 'A{number}'" for number in range(800)) + " OR NAME = 'ANN'", {"ann"}),
        ("AGE BETWEEN 17 AND 20 OR ID = 'cid'", {"bob", "cid"}),
        ("ID >= 'b' AND ID <> 'cid'", {"bob"}),
        ("`NAME` = 'ANN'", {"ann"}),
    ],
)
def test_conditions(member: Member, where: str, expected: set[str]) -> None:
    assert {row[0] for row in _rows(member, f"SELECT * FROM users WHERE {where};")} == expected


def test_the_shapes_of_query_and_query_stream(member: Member) -> None:
    answer = member.http.post("/query", json={"ksql": "select age as n, id from USERS where id = 'ann';"})
    header, row = answer.json()
    assert header["header"]["schema"] == "`N` INTEGER, `ID` STRING KEY"
    assert row == {"row": {"columns": [30, "ann"]}}
    lines = member.http.post("/query-stream", json={"sql": "SELECT * FROM users WHERE ID = 'ann';"}).text.splitlines()
    head = json.loads(lines[0])
    assert (head["columnNames"], head["columnTypes"]) == (["ID", "NAME", "AGE"], ["STRING", "STRING", "INTEGER"])
    assert json.loads(lines[1]) == ["ann", "ANN", 30]


def test_a_limit(member: Member) -> None:
    assert len(_rows(member, "SELECT ID FROM users LIMIT 2;")) == 2
    assert _rows(member, f"SELECT ID FROM users WHERE AGE < {'9' * 5_000};")


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("", "one pull query"),
        ("SELECT * FROM users EMIT CHANGES;", "EMIT CHANGES"),
        ("SELECT * FROM users; SELECT * FROM users;", "one pull query"),
        ("SELECT * FROM users u JOIN other o ON u.id = o.id;", "has joins"),
        ("SELECT COUNT(*) FROM users;", "is no column"),
        ("SELECT * FROM users GROUP BY age;", "has group"),
        ("SELECT * FROM nobody;", "does not exist"),
        ("SELECT WHO FROM users;", "WHO cannot be resolved"),
        ("SELECT * FROM users WHERE WINDOWEND > 3 AND WHO = 1;", "WHO cannot be resolved"),
        ("SELECT * FROM users WHERE ID = 5;", "is no key of users"),
        ("SELECT * FROM users WHERE " + "a." * 5_000 + "b = 1;", "nests too deep"),
        ("SELECT * FROM users WHERE LCASE(ID) = 'x';", "is no value"),
        ("SELECT * FROM users LIMIT " + "9" * 5_000 + ";", "LIMIT takes a number"),
        ("DROP TABLE users;", "one pull query"),
        ("INSERT INTO users VALUES ('x');", "one pull query"),
        ("SELECT * FROM users WHERE " + "(" * 500 + "ID = 'a'" + ")" * 500, "nests too deep"),
        ("'" * 20_000, "at most"),
    ],
)
def test_what_is_no_pull_query(member: Member, sql: str, words: str) -> None:
    answer = member.http.post("/query", json={"ksql": sql})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40001)
    assert words in answer.json()["message"]
    assert member.http.get("/stores").status_code == 200


def test_lag_and_standby_reads_come_from_the_properties(start: Callable[..., Member]) -> None:
    member = _with_people(start)
    assert _rows(member, "SELECT ID FROM users WHERE ID='ann';", **{"ksql.query.pull.max.allowed.offset.lag": "0"})
    part = member.node.part("users", 0)
    for part in member.node.parts():
        part.see_end(10_000)
    answer = member.http.post(
        "/query",
        json={
            "ksql": "SELECT ID FROM users WHERE ID='ann';",
            "streamsProperties": {"ksql.query.pull.max.allowed.offset.lag": 5},
        },
    ).json()
    message = answer[1]["errorMessage"]["message"]
    assert message.startswith("Unable to execute pull query. [Partition ")
    assert "failed to find valid host. Hosts scanned: [127.0.0.1:1 was not selected because" in message


def test_what_other_endpoints_say(member: Member) -> None:
    assert member.http.get("/info").json()["KsqlServerInfo"]["serverStatus"] == "RUNNING"
    assert member.http.get("/healthcheck").json()["isHealthy"] is True
    (status,) = member.http.get("/clusterStatus").json()["clusterStatus"].values()
    assert status["hostAlive"] is True
    lags = status["hostStoreLags"]["stateStoreLags"]["shop#users"]["lagByPartition"]
    assert {partition: lag["offsetLag"] for partition, lag in lags.items()} == {"0": 0, "1": 0, "2": 0}


def test_rows_of_bytes_that_nobody_decodes_are_text_or_an_error_and_never_null(start: Callable[..., Member]) -> None:
    from dataclasses import replace

    member = start(is_decoded=False)
    served = member.node.stores["users"]
    columns = ({"ID": "STRING"}, {"V": "STRING"})
    member.node.stores["users"] = replace(served, columns=columns)  # type: ignore[index]
    member.produce(("ann", "one"), ("bob", b"\xff"))
    member.catch_up()
    assert _rows(member, "SELECT * FROM users WHERE ID = 'ann';") == [["ann", "one"]]
    answer = member.http.post("/query", json={"ksql": "SELECT * FROM users;"}).json()
    assert "is not decoded to V" in str(answer)


def test_a_window_end_that_nobody_knows_is_an_error(start: Callable[..., Member]) -> None:
    from dataclasses import replace

    member = start(kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=600_000)
    served = member.node.stores["users"]
    member.node.stores["users"] = replace(served, window_size_ms=None)  # type: ignore[index]
    sql = "SELECT * FROM users WHERE ID = 'ann' AND WINDOWEND > 5;"
    answer = member.http.post("/query", json={"ksql": sql})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40001)
    assert "--window-size-ms" in answer.json()["message"]


def test_more_rows_than_an_answer_may_have_are_an_error(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srfix.recovery.serving.ksql.MOST_ROWS", 2)
    answer = member.http.post("/query", json={"ksql": "SELECT ID FROM users;"}).json()
    assert "Give a LIMIT" in answer[-1]["errorMessage"]["message"]
    assert len(_rows(member, "SELECT ID FROM users LIMIT 3;")) == 3


def test_the_status_has_what_only_other_members_serve_and_ids_under_wrong_subjects(
    start: Callable[..., Member],
) -> None:
    from dataclasses import replace

    member = start()
    member.node.stores["users"] = replace(member.node.stores["users"], wrong_ids={"s-value": [7]})  # type: ignore[index]
    lags = member.node.own_lags
    member.node.own_lags = lambda: {"strange": {}, **lags()}  # type: ignore[method-assign]
    status = member.http.get("/clusterStatus")
    assert status.status_code == 200
    assert status.json()["srfixIdsUnderWrongSubjects"] == {"users": {"s-value": [7]}}


def test_windows_of_a_key_that_kafka_serialised(start: Callable[..., Member]) -> None:
    member = start(kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=10**12)
    number = partition_of(b"ann", PARTITIONS)
    for start_ms in (0, 60_000, 120_000):
        key, value = b"ann" + struct.pack(">qi", start_ms, 0), json.dumps({"NAME": str(start_ms)}).encode()
        member.broker.produce([ProducedRecord(topic=member.topic, partition=number, key=key, value=value)])
    member.ends[number] = 3
    member.catch_up()

    def starts(where: str) -> list[object]:
        return [row[0] for row in _rows(member, f"SELECT WINDOWSTART, WINDOWEND, NAME FROM users WHERE {where};")]

    assert starts("ID = 'ann'") == [0, 60_000, 120_000]
    assert starts("ID = 'ann' AND WINDOWSTART >= 60000 AND WINDOWEND <= 120000") == [60_000]
    assert starts("ID = 'ann' AND WINDOWSTART >= '1970-01-01T00:01:30'") == [120_000]
    assert starts("ID = 'bob'") == []
    windows = member.http.get("/stores/users/windows/ann?from=1&to=60000").json()
    assert [row["window"]["start_ms"] for row in windows["rows"]] == [60_000]
    assert windows["partitions"][0]["partition"] == number


def test_a_time_is_compared_as_a_time(start: Callable[..., Member]) -> None:
    from dataclasses import replace

    member = start()
    columns = ({"ID": "STRING"}, {"NAME": "TIMESTAMP", "AGE": "INTEGER"})
    member.node.stores["users"] = replace(member.node.stores["users"], columns=columns)  # type: ignore[index]
    member.produce(("ann", '{"NAME": "2020-02-23T00:00:00.000"}'), ("bob", '{"NAME": "2020-02-24T00:00:00"}'))
    member.catch_up()
    assert _rows(member, "SELECT ID, NAME FROM users WHERE NAME = '2020-02-23';") == [
        ["ann", "2020-02-23T00:00:00.000"]
    ]
    assert _rows(member, "SELECT ID FROM users WHERE NAME > '2020-02-23T12:00:00+01:00';") == [["bob"]]
