"""A ksqlDB server in this process, as far as its REST answers go, with the incident of 2020 in it."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from srfix.recovery.ksqldb.models import KsqldbAnswers
from srfix.serde import Topic
from srfix.serde.schemas.models import Json

APPLICATION = "_confluent-ksql-default_query_CSAS_J_0"
STORE = "KafkaTopic_Right-Reduce"
TOPOLOGY = f"""\
Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [s])
      --> KSTREAM-TRANSFORMVALUES-0000000001
    Processor: KSTREAM-TRANSFORMVALUES-0000000001 (stores: [])
      --> Join
      <-- KSTREAM-SOURCE-0000000000
    Source: KSTREAM-SOURCE-0000000002 (topics: [t])
      --> KTABLE-SOURCE-0000000003
    Processor: Join (stores: [{STORE}])
      --> KSTREAM-SINK-0000000004
      <-- KSTREAM-TRANSFORMVALUES-0000000001
    Processor: KTABLE-SOURCE-0000000003 (stores: [{STORE}])
      --> none
      <-- KSTREAM-SOURCE-0000000002
    Sink: KSTREAM-SINK-0000000004 (topic: J)
      <-- Join

"""
INFO: dict[str, Json] = {
    "KsqlServerInfo": {"version": "0.10.1", "ksqlServiceId": "default_", "serverStatus": "RUNNING"}
}
ERROR = "Error retrieving Avro value schema version for id 1"


def query(**changes: Json) -> dict[str, Json]:
    """The description of the query of the incident."""
    description: dict[str, Json] = {
        "id": "CSAS_J_0",
        "statementText": "CREATE STREAM J AS SELECT * FROM S JOIN T ON S.COL1 = T.ID EMIT CHANGES;",
        "windowType": None,
        "fields": [{"name": "ID", "schema": {"type": "INTEGER", "fields": None, "memberSchema": None}}],
        "sources": ["S", "T"],
        "sinks": ["J"],
        "topology": TOPOLOGY,
        "executionPlan": " > [ SINK ] | Schema: ID INTEGER KEY\n\t\t > [ PROJECT ] …",
        "overriddenProperties": {},
        "ksqlHostQueryStatus": {"ksqldb:8088": "ERROR"},
        "queryType": "PERSISTENT",
        "queryErrors": [{"timestamp": 1592262000000, "errorMessage": ERROR, "type": "USER"}],
        "tasksMetadata": [],
        "state": "ERROR",
    }
    return description | changes


def source(name: str, kind: str, topic: str, **changes: Json) -> dict[str, Json]:
    """The description of a table or stream."""
    known: dict[str, Json] = {"name": name, "type": kind, "topic": topic, "keyFormat": "KAFKA", "valueFormat": "AVRO"}
    return known | {"readQueries": [], "fields": [], "extended": True, "partitions": 1, "statement": ""} | changes


def default_answers() -> dict[str, Json]:
    """Per statement what the server of the incident answers."""
    listed: Json = {"queryString": "CREATE STREAM J …", "sinks": ["J"], "id": "CSAS_J_0", "state": "ERROR"}
    return {
        "SHOW QUERIES EXTENDED;": [{"@type": "query_descriptions", "queryDescriptions": [query()], "warnings": []}],
        "SHOW QUERIES;": [{"@type": "queries", "queries": [listed]}],
        "EXPLAIN CSAS_J_0;": [{"@type": "queryDescription", "queryDescription": query(), "warnings": []}],
        "DESCRIBE `S` EXTENDED;": [{"@type": "sourceDescription", "sourceDescription": source("S", "STREAM", "s")}],
        "DESCRIBE `T` EXTENDED;": [{"@type": "sourceDescription", "sourceDescription": source("T", "TABLE", "t")}],
    }


def assert_is_the_incident(answers: KsqldbAnswers) -> None:
    (found,) = answers.queries
    assert (found.query_id, found.state, found.sources) == ("CSAS_J_0", "ERROR", ("S", "T"))
    assert found.topology is not None
    assert found.topology.stores == (STORE,)
    table = answers.source("T")
    assert table is not None
    assert (table.is_table, table.topic, table.value_format) == (True, Topic("t"), "AVRO")
    assert list(answers.queries_of(APPLICATION)) == [found]
    assert answers.problems == ()


@dataclass(slots=True)
class KsqldbServer:
    """Answers what it is told to; a statement that it does not know gets ksqlDB's 400."""

    url: str
    info: Json = field(default_factory=lambda: dict(INFO))
    """The answer of /info."""
    cluster_status: Json = None
    """The answer of /clusterStatus; None for the refusal of a server without heartbeats."""
    answers: dict[str, Json] = field(default_factory=default_answers)
    """Per statement the answer."""
    password: str | None = None
    """What `reader:<password>` must give; None for no authentication."""
    body: bytes | None = None
    """Sent as it is instead of any answer."""
    statements: list[str] = field(default_factory=list)


@contextmanager
def ksqldb_server() -> Iterator[KsqldbServer]:
    """A running server, gone at the end."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.answer({"/info": state.info, "/clusterStatus": state.cluster_status}.get(self.path))

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.statements.append(asked["ksql"])
            self.answer(state.answers.get(asked["ksql"]) if self.path == "/ksql" else None)

        def answer(self, document: Json) -> None:
            status = 200
            if state.password is not None:
                token = b64encode(f"reader:{state.password}".encode()).decode()
                if self.headers.get("Authorization") != f"Basic {token}":
                    status, document = 401, {"@type": "generic_error", "error_code": 40100, "message": "Unauthorized"}
            if document is None:
                status, document = 400, {"@type": "statement_error", "error_code": 40001, "message": "mismatched input"}
            body = state.body if state.body is not None else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.ksql.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state = KsqldbServer(url=f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
