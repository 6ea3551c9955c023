"""What a person saves of ksqlDB: JSON, one answer or many, or the command line's text."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.recovery import KsqldbError
from srfix.recovery.ksqldb.answers import parse_saved_answers
from srfix.recovery.ksqldb.models import KsqldbAnswers
from srfix.serde.schemas.models import Json
from tests.recovery.ksqldb.server import (
    APPLICATION,
    ERROR,
    INFO,
    TOPOLOGY,
    assert_is_the_incident,
    default_answers,
    query,
    source,
)

EXPLAINED = f"""\
ksql> EXPLAIN CSAS_J_0;

ID                   : CSAS_J_0
Query Type           : PERSISTENT
SQL                  : CREATE STREAM J AS SELECT * FROM S JOIN T ON S.COL1 = T.ID EMIT CHANGES;
Host Query Status    : {{ksqldb:8088=ERROR}}

 Field | Type
----------------------------
 ID    | INTEGER   (key)
----------------------------

Sources that this query reads from:
-----------------------------------
S
T

For source description please run: DESCRIBE [EXTENDED] <SourceId>

Sinks that this query writes to:
-----------------------------------
J

Execution plan
--------------
 > [ SINK ] | Schema: ID INTEGER KEY | Logger: CSAS_J_0.J

Processing topology
-------------------
{TOPOLOGY}

Query Errors
------------
Error Date           : 2020-06-16
Error Message        : {ERROR}
"""
DESCRIBED = """\
ksql> DESCRIBE EXTENDED T;

Name                 : T
Type                 : TABLE
Timestamp field      : Not set - using <ROWTIME>
Key format           : KAFKA
Value format         : AVRO
Kafka topic          : t (partitions: 1, replication: 1)
Statement            : CREATE TABLE T (ID INTEGER PRIMARY KEY) WITH (KAFKA_TOPIC='t');

 Field | Type
--------------------------------
 ID    | INTEGER  (primary key)
--------------------------------
"""
BANNER = "CLI v0.10.1, Server v0.10.1 located at http://localhost:8088\n\n"


def saved(text: str) -> KsqldbAnswers:
    return parse_saved_answers(text, origin="ksql.txt")


class TestParseSavedAnswers:
    def test_json_answers_one_behind_the_other(self) -> None:
        assert_is_the_incident(saved("\n".join(json.dumps(answer) for answer in [INFO, *default_answers().values()])))

    def test_the_command_lines_text(self) -> None:
        answers = saved(BANNER + EXPLAINED + DESCRIBED)
        assert_is_the_incident(answers)
        assert answers.server is not None
        assert answers.server.version == "0.10.1"

    def test_the_text_with_windows_line_ends_and_a_byte_order_mark(self) -> None:
        assert_is_the_incident(saved("\ufeff" + (EXPLAINED + DESCRIBED).replace("\n", "\r\n")))

    def test_the_state_is_the_worst_of_the_hosts_where_none_is_given(self) -> None:
        hosts: Json = {"a:1": "RUNNING", "b:1": "ERROR"}
        (found,) = saved(json.dumps(query(state=None, ksqlHostQueryStatus=hosts))).queries
        assert (found.query_id, found.state) == ("CSAS_J_0", "ERROR")

    def test_the_old_name_of_the_format_is_known(self) -> None:
        described = source("T", "TABLE", "t", format="AVRO")
        del described["keyFormat"], described["valueFormat"]
        assert saved(json.dumps(described)).sources[0].value_format == "AVRO"

    def test_the_consumer_group_is_the_application_where_it_is_said(self) -> None:
        answers = saved(json.dumps(query(consumerGroupId="_confluent-ksql-prod_query_CSAS_J_0")))
        assert list(answers.queries_of("_confluent-ksql-prod_query_CSAS_J_0")) == list(answers.queries)
        assert list(answers.queries_of(APPLICATION)) == []
        another_services = saved(json.dumps(INFO) + json.dumps(query()))
        assert list(another_services.queries_of("_confluent-ksql-prod_query_CSAS_J_0")) == []

    def test_an_error_answer_is_a_problem(self) -> None:
        text = json.dumps(query()) + '{"@type": "statement_error", "error_code": 40001, "message": "no such query"}'
        assert saved(text).problems == ("error 40001: no such query",)

    @given(st.text(max_size=60))
    @example("{}")
    @example("[[[")
    @example("[" * 100_000)
    @example("Name : x\nType : y")
    def test_any_text_is_an_answer_or_one_of_our_errors(self, text: str) -> None:
        try:
            parse_saved_answers(text, origin="p")
        except KsqldbError as error:
            assert error.message.startswith("p")  # noqa: PT017  (most texts are answers)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"a": 1}\n{"b": ', r"ksql\.txt, line 2: this line is not JSON"),
            ("hello\n", r"ksql\.txt is neither JSON of ksqlDB nor the text of its command line"),
        ],
    )
    def test_something_else_is_refused_with_the_place(self, text: str, said: str) -> None:
        with pytest.raises(KsqldbError, match=said):
            saved(text)
