"""ksqlDB's HTTP API, as far as its clients need it for pull queries: `/query`, `/query-stream`, `/info`, `/healthcheck`,
`/clusterStatus`, `/is_valid_property`. The shapes are those of `StreamedRow`, `QueryResponseMetadata`,
`KsqlErrorMessage` and `ClusterStatusResponse`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from srfix.recovery.errors import ServingError
from srfix.recovery.serving.api import JSON, Api
from srfix.recovery.serving.asking import written_keys
from srfix.recovery.serving.documents import MOST_ROWS, Fresh
from srfix.recovery.serving.gathering import Asked, Gathered
from srfix.recovery.serving.guarding import Streamed
from srfix.recovery.serving.liveness import PartitionLag
from srfix.recovery.serving.node import ACTIVE, Freshness, NotChosen
from srfix.recovery.serving.pull_queries import Place, PullQuery, parse_pull_query, time_ms
from srfix.recovery.serving.questions import Piece, Question, Served
from srfix.serde.casing import CaseRule, is_same, match_keys
from srfix.serde.errors import SrfixError, UsageError

_KSQLDB: Final = "0.29.0"
"""The version whose API this is: ksqlDB's CLI leaves a server before 0.10."""
_BAD_STATEMENT: Final = 40001
_SERVER_ERROR: Final = 50000
_V1: Final = "application/vnd.ksql.v1+json"
_DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
_MAX_LAG: Final = "ksql.query.pull.max.allowed.offset.lag"
_STANDBY: Final = "ksql.query.pull.enable.standby.reads"
_WINDOWS: Final = {"WINDOWSTART": "BIGINT", "WINDOWEND": "BIGINT"}
_ROW_TIME: Final = "ROWTIME"
_ROLES: Final = ("active", "standBy")
_WHAT: Final = ("Stores", "Partitions")
_LONG_SQL: Final = 500
_MANY_ROWS: Final = 20
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_MOST_VARIABLES: Final = 100
_FORMS: Final = {"/query": (_V1, _DELIMITED), "/query-stream": (_DELIMITED, _V1, JSON)}
"""What an answer may be, at first if the client names nothing: tagged rows, rows on lines, or an array of rows."""
_json: Final = msgspec.json.Encoder(decimal_format="number").encode


class _Body(msgspec.Struct, rename="camel"):
    ksql: str | None = None
    sql: str | None = None
    streams_properties: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    session_variables: dict[str, Any] | None = None


def ksql_routes(api: Api, version: str) -> Sequence[Route]:
    ksql = Ksql(api, version)
    return [
        *(Route(path, ksql.query, methods=["POST"]) for path in _FORMS),
        Route("/info", ksql.info),
        Route("/healthcheck", ksql.healthcheck),
        Route("/clusterStatus", ksql.cluster_status),
        Route("/is_valid_property/{name}", ksql.is_valid_property),
    ]


class Ksql:
    def __init__(self, api: Api, version: str) -> None:
        self._api = api
        self._version = version

    async def query(self, request: Request) -> Response:
        """What names the columns, the rows, and an error if one came later: in an array, or each on a line."""
        forms, accepted = _FORMS[request.scope["path"]], request.headers.get("accept", "")
        form = next((form for form in forms if form in accepted), forms[0])
        sql = ""
        try:
            body = msgspec.json.decode(await request.body(), type=_Body)
            sql, variables = body.ksql or body.sql or "", body.session_variables or {}
            sql = _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), sql, _MOST_VARIABLES)
            properties = (body.streams_properties or {}) | (body.properties or {})
            head, rows = await self._answer(sql, properties, is_tagged=form == _V1)
        except (msgspec.MsgspecError, SrfixError) as error:
            return _refused(error, sql)
        first, between, last = (b"", b"\n", b"\n") if form == _DELIMITED else (b"[", b",\n", b"]\n")

        async def text() -> AsyncGenerator[bytes]:
            yield first + _json(head)
            try:
                async with aclosing(rows):
                    async for row in rows:
                        yield between + _json({"row": {"columns": row}} if form == _V1 else row)
            except SrfixError as error:
                yield between + _json({"errorMessage": _message(error)} if form == _V1 else _message(error))
            yield last

        return Streamed(text(), media_type=form, most_s=Fresh().timeout)

    async def _answer(
        self, sql: str, properties: Mapping[str, Any], *, is_tagged: bool
    ) -> tuple[dict[str, Any], AsyncGenerator[list[Any]]]:
        """What comes before the rows, and the rows."""
        pull = await run_sync(parse_pull_query, sql) if len(sql) > _LONG_SQL else parse_pull_query(sql)
        store = self._table(pull.table)
        keys, values = _columns_of(store)
        kind = store.spec.store.kind
        keys = keys | _WINDOWS if kind.is_segmented else keys
        types = keys | values | {_ROW_TIME: "BIGINT"}
        everything = [(Place(name), name) for name in keys | values]
        chosen = [each for column in pull.columns for each in (everything if column is None else [column])]
        shown = [(place, name, place.type_in(types)) for place, name in chosen]
        reads = {place.column for place in pull.places if place.type_in(types)}
        if "WINDOWEND" in reads and kind.format.is_windowed and store.window_size_ms is None:
            raise UsageError("WINDOWEND is not known: no store holds it. Start the server with --window-size-ms.")
        asked = self._api.asked(store, await _question(store, pull), Fresh(), freshness=_freshness(properties))
        head: dict[str, Any] = {"queryId": f"query_{uuid.uuid4().hex}"}
        if is_tagged:
            marks = {Place(name): " KEY" for name in keys}
            schema = (f"`{name}` {type_}{marks.get(place, '')}" for place, name, type_ in shown)
            head = {"header": head | {"schema": ", ".join(schema)}}
        else:
            head |= {"columnNames": [name for _, name, _ in shown], "columnTypes": [type_ for _, _, type_ in shown]}
        return head, self._rows(asked, pull, [place for place, _, _ in shown])

    async def _rows(self, asked: Asked, pull: PullQuery, places: Sequence[Place]) -> AsyncGenerator[list[Any]]:
        gathered, left = Gathered(), MOST_ROWS if pull.limit is None else pull.limit
        store, condition = self._api.node.stores[asked.store], pull.condition
        keys, values = _columns_of(store)
        times = [name for name, kind in (keys | values).items() if kind == "TIMESTAMP"]

        def fits(row: dict[str, Any]) -> bool:
            """With times as milliseconds, so that each text of a time is equal to it."""
            as_ms = {name: time_ms(row[name]) for name in times if isinstance(row[name], str)}
            return condition is None or condition(row | as_ms) is True

        def fitting(piece: Piece) -> list[dict[str, Any]]:
            return [row for text in piece.rows if fits(row := _row(store, msgspec.json.decode(text)))]

        async with aclosing(self._api.gathering.pieces(asked, gathered)) as pieces:
            async for piece in pieces:
                rows = await run_sync(fitting, piece) if len(piece.rows) > _MANY_ROWS else fitting(piece)
                for row in rows[:left]:
                    yield [place.value_in(row) for place in places]
                left -= len(rows)
                if left < 0 and pull.limit is None:
                    raise ServingError(f"The answer has more than {MOST_ROWS:,} rows. Give a LIMIT.")
                if left <= 0 and pull.limit is not None:
                    return
        if gathered.failed:
            raise ServingError(_no_host(gathered.failed))

    def _table(self, name: str) -> Served:
        """A table is a store, by its name in SQL."""
        tables = {store.table or store.name: store for store in self._api.node.stores.values()}
        for table, store in tables.items():
            if is_same(table, name):
                return store
        raise UsageError(f"{name} does not exist. This server has: {', '.join(sorted(tables))}.")

    async def info(self, _request: Request) -> Response:
        version = {"version": f"{_KSQLDB}-srfix-{self._version}", "kafkaClusterId": "", "ksqlServiceId": "srfix"}
        return Response(_json({"KsqlServerInfo": version | {"serverStatus": "RUNNING"}}), media_type=JSON)

    async def is_valid_property(self, _request: Request) -> Response:
        """True: a client may set any; those that no pull query reads are ignored."""
        return Response(b"true", media_type=JSON)

    async def healthcheck(self, _request: Request) -> Response:
        is_healthy = not self._api.problems()
        details = {name: {"isHealthy": is_healthy} for name in ("metastore", "kafka")}
        body = _json({"isHealthy": is_healthy, "details": details, "serverState": "READY"})
        return Response(body, 200 if is_healthy else 500, media_type=JSON)

    async def cluster_status(self, _request: Request) -> Response:
        node = self._api.node
        hosts = {address: self._status_of(address) for address in sorted(node.membership.members().addresses)}
        wrong = {store.name: store.wrong_ids for store in node.stores.values() if store.wrong_ids}
        return Response(_json({"clusterStatus": hosts, "srfixIdsUnderWrongSubjects": wrong}), media_type=JSON)

    def _status_of(self, address: str) -> dict[str, Any]:
        """The stores and partitions that a member has are by application, which stands for a persistent query."""
        node = self._api.node
        is_own = address == node.address
        lags, lags_ms = (node.own_lags(), 0) if is_own else node.liveness.lags(address)
        stores = [(store, lags[name]) for name, store in node.stores.items() if name in lags]
        holdings: dict[str, dict[str, list[Any]]] = {
            store.spec.application: {f"{role}{what}": [] for role in _ROLES for what in _WHAT} for store, _ in stores
        }
        for store, number in ((store, number) for store, by_number in stores for number in by_number):
            entry, role = holdings[store.spec.application], _ROLES[node.role(store, number, address) != ACTIVE]
            if store.name not in entry[f"{role}Stores"]:
                entry[f"{role}Stores"].append(store.name)
            entry[f"{role}Partitions"].append({"topic": store.spec.topic, "partition": number})
        store_lags = {f"{store.spec.application}#{store.name}": _lags(by_number) for store, by_number in stores}
        return {
            "hostAlive": is_own or node.liveness.is_alive(address),
            "lastStatusUpdateMs": 0 if is_own else node.liveness.last_heard_ms(address),
            "activeStandbyPerQuery": holdings,
            "hostStoreLags": {"stateStoreLags": store_lags, "updateTimeMs": lags_ms},
        }


def _lags(by_number: Mapping[int, PartitionLag]) -> dict[str, Any]:
    lags = {
        str(number): {
            "currentOffsetPosition": lag.current,
            "endOffsetPosition": lag.end or 0,
            "offsetLag": lag.records or 0,
        }
        for number, lag in by_number.items()
    }
    return {"lagByPartition": lags, "size": len(lags)}


def _columns_of(store: Served) -> tuple[dict[str, str], dict[str, str]]:
    """Those of the key, and those of the value, with their types."""
    if store.columns is None:
        raise UsageError(
            f"The columns of {store.name} are not known. Start the server with --key-columns and --value-columns."
        )
    return store.columns


async def _question(store: Served, pull: PullQuery) -> Question:
    """By key if all key columns are known, else all rows."""
    keys = _columns_of(store)[0]
    values = pull.keys.get(next(iter(keys))) if len(keys) == 1 and store.key_bytes is not None else None
    if values is None:
        return Question()
    if "DOUBLE" in keys.values():
        values = tuple(float(value) if isinstance(value, Decimal) else value for value in values)
    return Question(keys=await written_keys(store, values))


def _freshness(properties: Mapping[str, Any]) -> Freshness:
    most = properties.get(_MAX_LAG)
    if most is not None and not re.fullmatch(r"[0-9]{1,19}", str(most)):
        raise UsageError(f"{_MAX_LAG} is {str(most)[:40]!r}, and not a number.")
    reads_standbys = not is_same(str(properties.get(_STANDBY, True)), "false")
    return Freshness(max_lag=None if most is None else int(str(most)), reads_standbys=reads_standbys)


def _row(store: Served, document: Mapping[str, Any]) -> dict[str, Any]:
    """A row by ksqlDB's names of columns; `Place.value_in` reads it."""
    window, time = document["window"], document["timestamp"]
    row = {_ROW_TIME: ServingError(f"{store.name} keeps no times: ROWTIME is not known.") if time is None else time}
    if window is not None:
        size = store.window_size_ms
        row["WINDOWSTART"] = window["start_ms"]
        row["WINDOWEND"] = window["start_ms"] + size if window["end_ms"] is None and size else window["end_ms"]
    errors = {error["role"]: error["message"] for error in document["errors"]}
    keys, values = _columns_of(store)
    return row | _half(document["key"], keys, errors.get("key")) | _half(document["value"], values, errors.get("value"))


def _half(half: Any, names: Collection[str], error: str | None) -> dict[str, Any]:
    """The columns of a key or a value. One that was not decoded is a text, if there is one column, or an error."""
    is_raw = isinstance(half, dict) and "$raw" in half
    if isinstance(half, dict) and not is_raw:
        fields = match_keys([*names], [*half], CaseRule.KSQLDB, where="a row")
        return {name: _unmarked(half[fields[name]]) if name in fields else None for name in names}
    value = _unmarked(half["text"] if is_raw else half)
    if error is not None:
        value = ServingError(f"A row cannot be decoded: {error}")
    elif half is not None and (value is None or len(names) != 1):
        value = ServingError(f"A row is not decoded to {', '.join(names)}. Start the server with a format for it.")
    return dict.fromkeys(names, value)


def _unmarked(value: Any) -> Any:
    """A value in ksqlDB's JSON: a decimal is a number, a time a text, bytes are base64."""
    mark, inner = next(iter(value.items())) if isinstance(value, dict) and len(value) == 1 else ("", value)
    if mark == "$decimal":
        return Decimal(inner)
    if mark == "$timestamp":
        return datetime.fromisoformat(inner).replace(tzinfo=None).isoformat(timespec="milliseconds")
    if mark == "$object":  # with names that look like marks
        return {name: _unmarked(each) for name, each in inner.items()}
    if mark.startswith("$"):
        return inner
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items()}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value


def _no_host(failed: Sequence[NotChosen]) -> str:
    scanned: dict[int, list[str]] = {}
    for refusal in failed:
        scanned.setdefault(refusal.partition, []).append(f"{refusal.member} was not selected because {refusal.reason}.")
    partitions = ", ".join(
        f"Partition {number} failed to find valid host. Hosts scanned: [{', '.join(hosts)}]"
        for number, hosts in scanned.items()
    )
    return f"Unable to execute pull query. [{partitions}]"


def _message(error: SrfixError) -> dict[str, Any]:
    code = _BAD_STATEMENT if isinstance(error, UsageError) else _SERVER_ERROR
    return {"@type": "generic_error", "error_code": code, "message": error.message}


def _refused(error: msgspec.MsgspecError | SrfixError, statement: str) -> Response:
    if not isinstance(error, SrfixError):
        error = UsageError(f"The request is not JSON of a query: {error}.")
    body, code = _message(error), 500
    if isinstance(error, UsageError):
        body, code = body | {"@type": "statement_error", "statementText": statement, "entities": []}, 400
    return Response(_json(body), code, media_type=JSON)
