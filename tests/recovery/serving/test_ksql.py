"""Pull queries as ksqlDB's clients send them, and what is refused."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.columns.text import parse_columns, print_type
from srfix.serde.deserializer import JsonDeserializer, KafkaDeserializer
from srfix.serde.interface import SerdeContext
from srfix.serde.serializer import KafkaSerializer
from srfix.serde.subjects.names import Role
from tests.recovery.serving.conftest import PARTITIONS, Member

V1 = "application/vnd.ksql.v1+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
JAVA_TYPES = frozenset(
    {
        *("STRING", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "DECIMAL", "BYTES", "TIMESTAMP", "DATE", "TIME"),
        *("ARRAY", "MAP", "STRUCT"),
    }
)
"""`ColumnType.Type` of ksqlDB's Java client."""


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
        ("\"NAME\" = 'ANN'", {"ann"}),
        ("ID LIKE '%n%'", {"ann"}),
        ("ID LIKE '_o_' OR NAME LIKE 'C%'", {"bob", "cid"}),
        ("ID NOT LIKE 'a%'", {"bob", "cid"}),
        ("ID LIKE 'ann'", {"ann"}),
        ("ID LIKE 'an'", set()),
        ("ID LIKE 'A%'", set()),
        ("ID LIKE '[a]nn' OR ID LIKE '*n' OR ID LIKE '??b'", set()),
        ("'12' LIKE '12'", {"ann", "bob", "cid"}),
        ("ID LIKE '!a!n%' ESCAPE '!'", {"ann"}),
        ("ID LIKE 'a!%' ESCAPE '!' OR ID LIKE 'a!_n' ESCAPE '!'", set()),
        ("ID NOT LIKE 'x!%' ESCAPE '!' AND AGE = 17", {"bob"}),
        ("AGE = NULL OR AGE <> NULL", set()),
        ("ID BETWEEN 'ann' AND 'bob'", {"ann", "bob"}),
        ("17 BETWEEN AGE AND 20", {"bob"}),
        ("ROWTIME > '2020-02' AND ROWTIME > '2020-02-03' AND ROWTIME > 1500000000000 AND AGE = 17", {"bob"}),
        ("ROWTIME < '2020-02-03T04:05+0100'", set()),
    ],
)
def test_conditions(member: Member, where: str, expected: set[str]) -> None:
    assert {row[0] for row in _rows(member, f"SELECT * FROM users WHERE {where};")} == expected


@pytest.mark.parametrize(
    ("name", "where"), [("it's", "'it''s'"), (r"C:\temp", r"'C:\temp'"), ('say "x"', "'say \"x\"'"), ("100%", "'100%'")]
)
def test_a_text_has_no_escapes_except_a_doubled_quote(member: Member, name: str, where: str) -> None:
    member.produce((name, json.dumps({"NAME": "odd", "AGE": 17 if "%" in name else None})))
    member.catch_up()
    try:
        assert _rows(member, f"SELECT ID FROM users WHERE ID = {where};") == [[name]]
        assert _rows(member, f"SELECT ID FROM users WHERE NAME = 'odd' AND ID IN ({where});") == [[name]]
    finally:
        member.produce((name, None))
        member.catch_up()


def _asked(member: Member, path: str, body: Mapping[str, Any], accept: str | None = None, kind: str = "") -> Any:
    headers = {"accept": accept, "content-type": kind, "user-agent": None}
    return member.http.post(path, content=json.dumps(body), headers={k: v for k, v in headers.items() if v})


class TestRequestsOfClients:
    """What each client sends, and the answer by the rules by which it reads it."""

    SQL = "select age as n, id, rowtime from USERS where id = '${who}' or age = 17;"

    def test_of_the_java_client(self, member: Member) -> None:
        """`ClientImpl`, `QueryResponseMetadata`, `RowImpl`: no Accept, no Content-Type; lines end with a newline."""
        body = {"sql": self.SQL, "properties": {}, "sessionVariables": {"who": "ann"}, "requestProperties": {}}
        text = _asked(member, "/query-stream", body).text
        assert text.endswith("\n")
        head, *rows = map(json.loads, text[:-1].split("\n"))
        assert head["columnNames"] == ["N", "ID", "ROWTIME"]
        assert [re.split("[<(]", kind)[0] in JAVA_TYPES for kind in head["columnTypes"]] == [True] * 3
        assert sorted(row[:2] for row in rows) == [[17, "bob"], [30, "ann"]]
        info = member.http.request("GET", "/info", content=b"{}").json()["KsqlServerInfo"]
        assert all(isinstance(info[name], str) for name in ("version", "kafkaClusterId", "ksqlServiceId"))
        error = _asked(member, "/query-stream", body | {"sql": "SLECTT;"})
        assert (error.status_code, type(error.json()["message"]), error.json()["error_code"]) == (400, str, 40001)

    def test_of_the_cli(self, member: Member) -> None:
        """`StreamPublisher.toJsonMsg`: a line is one element, so that a bracket alone on a line is an error."""
        version = re.fullmatch(r"v?(\d+)\.(\d+)\..*", member.http.get("/info").json()["KsqlServerInfo"]["version"])
        assert version is not None
        assert (0, 10) <= (int(version[1]), int(version[2])) < (1, 0), "Cli.checkServerCompatibility"
        assert member.http.get("/is_valid_property/ksql.query.pull.max.allowed.offset.lag").json() is True
        body = {
            "ksql": self.SQL.replace("${who}", "ann"),
            "streamsProperties": {"auto.offset.reset": "earliest"},
            "requestProperties": {},
            "sessionVariables": {},
            "commandSequenceNumber": -1,
        }
        lines = _asked(member, "/query", body, "application/json").text.removesuffix("\n").split("\n")
        header, *rows = (json.loads(line.removeprefix("[").removesuffix("]").removesuffix(",")) for line in lines)
        assert isinstance(header["header"].pop("queryId"), str)
        assert header == {"header": {"schema": "`N` INTEGER, `ID` STRING KEY, `ROWTIME` BIGINT"}}
        parse_columns(header["header"]["schema"])
        assert sorted(row["row"]["columns"][1] for row in rows) == ["ann", "bob"]
        (line,) = _asked(
            member, "/query", {"ksql": "SELECT * FROM users LIMIT 0;"}, "application/json"
        ).text.splitlines()
        assert json.loads(line)[0].keys() == {"header"}
        error = _asked(member, "/query", {"ksql": "SHOW TABLES;"}, "application/json").json()
        assert error.keys() == {"@type", "error_code", "message", "statementText", "entities"}
        assert (error["@type"], error["statementText"]) == ("statement_error", "SHOW TABLES;")

    def test_of_the_python_clients(self, member: Member) -> None:
        """ksql and ksql-python-ng; ksqldb and jetblack-ksql-dbapi, whose lines are never empty; ksqldb-client."""
        sql = "SELECT * FROM users WHERE ID = 'ann';"
        assert member.http.get("/info", headers={"content-type": V1}).json()["KsqlServerInfo"]["serverStatus"]
        body = {"ksql": sql, "streamsProperties": {}}
        for accept in ("*/*", V1):
            header, row = _asked(member, "/query", body, accept, f"{V1}; charset=utf-8").json()
            assert (header["header"].keys(), row) == ({"queryId", "schema"}, {"row": {"columns": ["ann", "ANN", 30]}})
        lines = _asked(member, "/query-stream", {"sql": sql, "properties": {}}, "*/*", V1).text.splitlines()
        head, values = map(json.loads, lines)
        assert dict(zip(head["columnNames"], values, strict=True)) == {"ID": "ann", "NAME": "ANN", "AGE": 30}
        assert (head["columnTypes"], "queryId" in head) == (["STRING", "STRING", "INTEGER"], True)
        error = _asked(member, "/query", body | {"ksql": "x"}, V1, "application/json")
        assert "application/json" in error.headers["content-type"], "else ksqldb-client shows the body as the message"

    @pytest.mark.parametrize(
        ("path", "accept", "first"),
        [
            ("/query-stream", V1, '[{"header"'),
            ("/query-stream", "application/json", '[{"queryId"'),
            ("/query-stream", DELIMITED, '{"queryId"'),
            ("/query", DELIMITED, '{"queryId"'),
            ("/query", f"{V1}, application/json", '[{"header"'),
        ],
    )
    def test_the_answer_has_the_form_that_is_accepted(self, member: Member, path: str, accept: str, first: str) -> None:
        answer = _asked(member, path, {"sql": "SELECT ID FROM users;"}, accept)
        assert answer.text.startswith(first)
        assert answer.headers["content-type"] in accept
        assert len(answer.text.splitlines() if accept == DELIMITED else answer.json()) == 4

    def test_the_host_that_a_client_names_does_not_matter(self, member: Member) -> None:
        answer = member.http.post("/query", json={"ksql": "SELECT ID FROM users;"}, headers={"host": "x?y"})
        assert answer.status_code == 200

    def test_properties_that_pull_queries_do_not_read_are_ignored(self, member: Member) -> None:
        others = {"ksql.streams.auto.offset.reset": "earliest", "ksql.query.pull.table.scan.enabled": True, "x": None}
        assert _rows(member, "SELECT ID FROM users WHERE ID = 'ann';", **others) == [["ann"]]
        assert _asked(member, "/query", {"ksql": "SELECT ID FROM users;", "streamsProperties": None}).status_code == 200

    @pytest.mark.parametrize("most", ["-1", "x", "9" * 5_000, 0.5, ""])
    def test_a_lag_that_is_no_number_is_refused(self, member: Member, most: object) -> None:
        properties = {"ksql.query.pull.max.allowed.offset.lag": most}
        answer = _asked(member, "/query", {"ksql": "SELECT ID FROM users;", "streamsProperties": properties})
        assert (answer.status_code, "not a number" in answer.json()["message"]) == (400, True)

    def test_variables_are_replaced_once_and_make_no_long_statement(self, member: Member) -> None:
        variables = {"a": "${b}", "b": "ann", "n": 17, "long": "x" * 20_000}

        def answered(sql: str) -> Any:
            return _asked(member, "/query", {"ksql": sql, "sessionVariables": variables}).json()

        (row,) = answered("SELECT ID FROM users WHERE AGE = ${n} OR ID = '${a}' OR ID = '${nobody}';")[1:]
        assert row == {"row": {"columns": ["bob"]}}
        assert "at most" in answered("SELECT ID FROM users WHERE ID = '${long}';")["message"]


def test_a_limit(member: Member) -> None:
    assert len(_rows(member, "SELECT ID FROM users LIMIT 2;")) == 2
    assert _rows(member, "SELECT ID FROM users LIMIT 0;") == []
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
        ("SELECT * FROM users WHERE WHO = 1;", "WHO cannot be resolved"),
        ("SELECT `id` FROM users;", "id cannot be resolved"),
        ("SELECT * FROM users WHERE WINDOWEND > 3;", "WINDOWEND cannot be resolved"),
        ("SELECT AGE + 1 FROM users;", "AGE + 1 is no column"),
        ("SELECT UCASE(NAME) FROM users;", "is no column"),
        ("SELECT NAME->X FROM users;", "X cannot be resolved in NAME"),
        ("SELECT ID FROM users WHERE NAME[1] = 'A';", "it is no part of STRING"),
        ("SELECT AGE->'x' FROM users;", "is no column"),
        ("SELECT * FROM users WHERE ID LIKE 12;", "LIKE takes a text"),
        ("SELECT * FROM users WHERE ID LIKE 'a' ESCAPE '!!';", "ESCAPE takes one character"),
        ("SELECT * FROM users ORDER BY age;", "has order"),
        ("SELECT DISTINCT id FROM users;", "has distinct"),
        ("SELECT * FROM users WHERE ID = 'a' EMIT CHANGES LIMIT 1;", "leave out EMIT CHANGES"),
        ("SELECT * FROM users LIMIT -1;", "LIMIT takes a number"),
        ("SELECT * FROM users WHERE ID = 5;", "is no key of users"),
        ("SELECT * FROM users WHERE " + "a." * 5_000 + "b = 1;", "nests too deep"),
        ("SELECT * FROM users WHERE LCASE(ID) = 'x';", "is no value"),
        ("SELECT * FROM users LIMIT " + "9" * 5_000 + ";", "LIMIT takes a number"),
        ("SELEC * FROM users;", "cannot be read: Required keyword: 'expression' missing. Line 1"),
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
    member.fix_ends(10_000)
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
    member = start(kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=600_000)
    served = member.node.stores["users"]
    member.node.stores["users"] = replace(served, window_size_ms=None)  # type: ignore[index]
    sql = "SELECT * FROM users WHERE ID = 'ann' AND WINDOWEND > 5;"
    answer = member.http.post("/query", json={"ksql": sql})
    assert (answer.status_code, answer.json()["error_code"]) == (400, 40001)
    assert "--window-size-ms" in answer.json()["message"]


def test_columns_that_were_not_given_are_an_error_that_asks_for_both(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = member.node.stores
    monkeypatch.setitem(stores, "users", replace(stores["users"], columns=None))
    answer = member.http.post("/query", json={"ksql": "SELECT * FROM users;"})
    assert answer.status_code == 400
    assert answer.json()["message"].endswith("Start the server with --key-columns and --value-columns.")


def test_more_rows_than_an_answer_may_have_are_an_error(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srfix.recovery.serving.ksql.MOST_ROWS", 2)
    answer = member.http.post("/query", json={"ksql": "SELECT ID FROM users;"}).json()
    assert "Give a LIMIT" in answer[-1]["errorMessage"]["message"]
    assert len(_rows(member, "SELECT ID FROM users LIMIT 3;")) == 3


def test_the_status_has_what_only_other_members_serve_and_ids_under_wrong_subjects(
    start: Callable[..., Member],
) -> None:
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
    assert starts("ID = 'ann' AND WINDOWSTART BETWEEN '1970-01' AND '1970-01-01T00:01:00Z'") == [0, 60_000]
    header = member.http.post("/query", json={"ksql": "SELECT * FROM users LIMIT 0;"}).json()[0]["header"]
    assert header["schema"].startswith(
        "`ID` STRING KEY, `WINDOWSTART` BIGINT KEY, `WINDOWEND` BIGINT KEY, `NAME` STRING"
    )
    assert member.http.get("/stores/users/windows/ann?from=60000&to=1").status_code == 400
    windows = member.http.get("/stores/users/windows/ann?from=1&to=60000").json()
    assert [row["window"]["start_ms"] for row in windows["rows"]] == [60_000]
    assert windows["partitions"][0]["partition"] == number


def test_a_time_is_compared_as_a_time(start: Callable[..., Member]) -> None:
    member = start()
    columns = ({"ID": "STRING"}, {"NAME": "TIMESTAMP", "AGE": "INTEGER"})
    member.node.stores["users"] = replace(member.node.stores["users"], columns=columns)  # type: ignore[index]
    member.produce(("ann", '{"NAME": "2020-02-23T00:00:00.000"}'), ("bob", '{"NAME": "2020-02-24T00:00:00"}'))
    member.catch_up()
    assert _rows(member, "SELECT ID, NAME FROM users WHERE NAME = '2020-02-23';") == [
        ["ann", "2020-02-23T00:00:00.000"]
    ]
    assert _rows(member, "SELECT ID FROM users WHERE NAME > '2020-02-23T12:00:00+01:00';") == [["bob"]]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("AGE = '30'", "or with a time such as 2020-02-23T23:45:12.000, not with '30'"),
        ("AGE LIKE '3%'", "LIKE compares texts"),
        ("NAME > 3 ", "A number can be compared with a number"),
        ("NAME = 3.5", "cannot be compared"),
        ("NAME = true", "cannot be compared"),
    ],
)
def test_values_of_other_types_are_an_error_and_not_different(member: Member, where: str, words: str) -> None:
    answer = member.http.post("/query", json={"ksql": f"SELECT ID FROM users WHERE {where} AND ID = 'ann';"}).json()
    assert words in answer[1]["errorMessage"]["message"]


def test_parts_of_columns(start: Callable[..., Member]) -> None:
    text = (
        "A STRUCT<STREET STRING, `zip` INT, IN_ STRUCT<X INT>>, L ARRAY<STRUCT<X BIGINT>>, M MAP<STRING, DECIMAL(4, 2)>"
    )
    member = _with_columns(start, "ID STRING", text)
    value = {"a": {"street": "Elm", "zip": 5, "in_": {"x": 7}}, "l": [{"x": 1}, {"x": 2}], "m": {"k": "1.50"}}
    member.produce(("ann", json.dumps(value)), ("bob", '{"a": null}'))
    member.catch_up()

    def answered(sql: str) -> tuple[str, list[object]]:
        header, *rows = member.http.post("/query", json={"ksql": sql}).json()
        return header["header"]["schema"], [row["row"]["columns"] for row in rows]

    assert answered(
        "SELECT A->STREET, a->`zip` AS z, A->IN_->X, L[-1]->X, L[1], M['k'] FROM users WHERE ID = 'ann';"
    ) == (
        "`STREET` STRING, `Z` INTEGER, `X` INTEGER, `X` BIGINT, `KSQL_COL_0` STRUCT<X BIGINT>, `KSQL_COL_1` DECIMAL(4, 2)",
        [["Elm", 5, 7, 2, {"X": 1}, 1.5]],
    )
    assert answered("SELECT A->STREET, L[1], M['k'] FROM users WHERE ID = 'bob';")[1] == [[None, None, None]]
    for where in (
        "A->STREET LIKE 'E%'",
        "L[1]->X = 1",
        "M['k'] > 1.2",
        "L[3]->X IS NULL AND L[0] IS NULL AND ID = 'ann'",
    ):
        assert answered(f"SELECT ID FROM users WHERE {where} AND M['K'] IS NULL;")[1] == [["ann"]]
    member.produce(("cid", '{"m": {"$timestamp": "1.50"}, "l": []}'))
    member.catch_up()
    assert answered("SELECT M, M['$timestamp'], L FROM users WHERE ID = 'cid';")[1] == [[{"$timestamp": 1.5}, 1.5, []]]
    assert answered("SELECT u.*, ROWTIME AS T FROM users u LIMIT 0;")[0].endswith("DECIMAL(4, 2)>, `T` BIGINT")


def _with_columns(start: Callable[..., Member], key: str, value: str) -> Member:
    member = start()
    makes = {Role.KEY: KafkaDeserializer(key), Role.VALUE: JsonDeserializer(columns=value)}
    decoder = RecordDecoder(None, roles=tuple(Role), make=lambda _resolver, role: makes[role])  # type: ignore[arg-type]
    types = [{c.name: print_type(c.type) for c in parse_columns(text)} for text in (key, value)]

    def key_bytes(name: object) -> list[bytes]:
        written = KafkaSerializer(key)({"ID": name}, SerdeContext("any", Role.KEY))
        return [] if written is None else [written]

    served = replace(member.node.stores["users"], decoder=decoder, columns=(types[0], types[1]), key_bytes=key_bytes)
    member.node.stores["users"] = served  # type: ignore[index]
    return member


def test_a_key_that_is_a_double_is_found_by_any_number(start: Callable[..., Member]) -> None:
    member = _with_columns(start, "ID DOUBLE", "T TIMESTAMP")
    member.produce((struct.pack(">d", 10.5), '{"T": 1}'), (struct.pack(">d", 10.0), '{"T": 0}'))
    member.catch_up()
    for text, found in (("10.5", 10.5), ("1.0E1", 10.0), ("10", 10.0)):
        (row,) = _rows(member, f"SELECT ID, T FROM users WHERE ID = {text};")
        assert row[0] == found
    assert row[1] == "1970-01-01T00:00:00.000"
    assert _rows(member, "SELECT ID FROM users WHERE T > '1970-01-01';") == [[10.5]]
