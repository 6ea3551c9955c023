"""ksqlDB's HTTP API, as far as its clients need it for pull queries: `/query`, `/query-stream`, `/info`, `/healthcheck`,
`/clusterStatus`. The shapes are those of `StreamedRow`, `QueryResponseMetadata`, `KsqlErrorMessage` and
`ClusterStatusResponse`.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
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
from srfix.recovery.serving.pull_queries import WINDOW_END, WINDOW_START, PullQuery, parse_pull_query, time_ms, value_in
from srfix.recovery.serving.questions import Piece, Question, Served
from srfix.serde.casing import CaseRule, is_same, match_keys
from srfix.serde.errors import SrfixError, UsageError

_BAD_STATEMENT: Final = 40001
_SERVER_ERROR: Final = 50000
_V1: Final = "application/vnd.ksql.v1+json"
_DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
_MAX_LAG: Final = "ksql.query.pull.max.allowed.offset.lag"
_STANDBY: Final = "ksql.query.pull.enable.standby.reads"
_ROLES: Final = ("active", "standBy")
_WHAT: Final = ("Stores", "Partitions")
_LONG_SQL: Final = 500
_MANY_ROWS: Final = 20
_TYPES: Final = {WINDOW_START: "BIGINT", WINDOW_END: "BIGINT"}


class _Body(msgspec.Struct):
    ksql: str | None = None
    sql: str | None = None
    streams_properties: dict[str, Any] = msgspec.field(name="streamsProperties", default_factory=dict)
    properties: dict[str, Any] = {}


def ksql_routes(api: Api, version: str) -> Sequence[Route]:
    ksql = Ksql(api, version)
    return [
        Route("/query", ksql.query, methods=["POST"]),
        Route("/query-stream", ksql.query_stream, methods=["POST"]),
        Route("/info", ksql.info),
        Route("/healthcheck", ksql.healthcheck),
        Route("/clusterStatus", ksql.cluster_status),
    ]


class Ksql:
    def __init__(self, api: Api, version: str) -> None:
        self._api = api
        self._version = version

    async def query(self, request: Request) -> Response:
        """An array of a header, the rows, and an error if one came later."""
        return await self._streamed(request, is_tagged=True, media_type=_V1)

    async def query_stream(self, request: Request) -> Response:
        """The metadata, then a row on each line; an array of all of it for `application/json`."""
        is_array = JSON in request.headers.get("accept", "")
        return await self._streamed(request, is_tagged=False, media_type=JSON if is_array else _DELIMITED)

    async def _streamed(self, request: Request, *, is_tagged: bool, media_type: str) -> Response:
        statement = ""
        try:
            body = msgspec.json.decode(await request.body(), type=_Body)
            statement = body.ksql or body.sql or ""
            head, rows = await self._answer(statement, body.streams_properties | body.properties, is_tagged=is_tagged)
        except msgspec.MsgspecError as error:
            return _error(UsageError(f"The request is not JSON of a query: {error}."), statement)
        except SrfixError as error:
            return _error(error, statement)
        first, between, last = (b"", b"\n", b"\n") if media_type == _DELIMITED else (b"[", b",\n", b"]\n")

        async def text() -> AsyncGenerator[bytes]:
            yield first + _json(head)
            try:
                async with aclosing(rows):
                    async for row in rows:
                        yield between + _json({"row": {"columns": row}} if is_tagged else row)
            except SrfixError as error:
                yield between + _json({"errorMessage": _message(error)} if is_tagged else _message(error))
            yield last

        return Streamed(text(), media_type=media_type, most_s=Fresh().timeout)

    async def _answer(
        self, sql: str, properties: Mapping[str, Any], *, is_tagged: bool
    ) -> tuple[dict[str, Any], AsyncGenerator[list[Any]]]:
        """What comes before the rows, and the rows."""
        pull = await run_sync(parse_pull_query, sql) if len(sql) > _LONG_SQL else parse_pull_query(sql)
        store = self._table(pull.table)
        keys, values = _columns_of(store)
        windows = _TYPES if store.spec.store.kind.is_segmented else {}
        chosen = [(name, name) for name in keys | windows | values] if pull.columns is None else pull.columns
        kinds = keys | windows | values | _TYPES
        for name in (*(name for name, _shown in chosen), *pull.names):
            if name not in kinds:
                raise UsageError(f"Column {name} cannot be resolved. The table has: {', '.join(kinds)}.")
        is_sized = store.window_size_ms is not None or not store.spec.store.kind.format.is_windowed
        if WINDOW_END in pull.names and not is_sized:
            raise UsageError(f"{WINDOW_END} is not known: no store holds it. Start the server with --window-size-ms.")
        asked = self._api.asked(store, await _question(store, pull), Fresh(), freshness=_freshness(properties))
        head: dict[str, Any] = {"queryId": f"query_{uuid.uuid4().hex}"}
        if is_tagged:
            schema = (f"`{shown}` {kinds[name]}{' KEY' if name in keys else ''}" for name, shown in chosen)
            head = {"header": head | {"schema": ", ".join(schema)}}
        else:
            head |= {
                "columnNames": [shown for _name, shown in chosen],
                "columnTypes": [kinds[name] for name, _shown in chosen],
            }
        return head, self._rows(asked, pull, [name for name, _shown in chosen])

    async def _rows(self, asked: Asked, pull: PullQuery, names: Sequence[str]) -> AsyncGenerator[list[Any]]:
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
                    yield [value_in(row, name) for name in names]
                left -= len(rows)
                if left < 0 and pull.limit is None:
                    raise ServingError(f"The answer has more than {MOST_ROWS:,} rows. Give a LIMIT.")
                if left < 0:
                    return
        if gathered.failed:
            raise ServingError(_no_host(gathered.failed))

    def _table(self, name: str) -> Served:
        """A table is a store, by its name or by the name of a ksqlDB table that it belongs to."""
        for store in self._api.node.stores.values():
            if is_same(store.table or store.name, name):
                return store
        raise UsageError(f"{name} does not exist. This server has: {', '.join(sorted(self._api.node.stores))}.")

    async def info(self, _request: Request) -> Response:
        service = {"kafkaClusterId": "", "ksqlServiceId": "srfix", "serverStatus": "RUNNING"}
        return Response(_json({"KsqlServerInfo": {"version": self._version} | service}), media_type=_V1)

    async def healthcheck(self, _request: Request) -> Response:
        is_healthy = not self._api.problems()
        details = {name: {"isHealthy": is_healthy} for name in ("metastore", "kafka")}
        body = _json({"isHealthy": is_healthy, "details": details, "serverState": "READY"})
        return Response(body, 200 if is_healthy else 500, media_type=_V1)

    async def cluster_status(self, _request: Request) -> Response:
        node = self._api.node
        hosts = {}
        for address in sorted(node.membership.members().addresses):
            is_own = address == node.address
            lags, lags_ms = (node.own_lags(), 0) if is_own else node.liveness.lags(address)
            stores = [(store, lags[name]) for name, store in node.stores.items() if name in lags]
            store_lags = {f"{store.spec.application}#{store.name}": _lags(by_number) for store, by_number in stores}
            hosts[address] = {
                "hostAlive": is_own or node.liveness.is_alive(address),
                "lastStatusUpdateMs": 0 if is_own else node.liveness.last_heard_ms(address),
                "activeStandbyPerQuery": self._holdings(address, stores),
                "hostStoreLags": {"stateStoreLags": store_lags, "updateTimeMs": lags_ms},
            }
        wrong = {store.name: store.wrong_ids for store in node.stores.values() if store.wrong_ids}
        return Response(_json({"clusterStatus": hosts, "srfixIdsUnderWrongSubjects": wrong}), media_type=_V1)

    def _holdings(self, address: str, stores: Sequence[tuple[Served, Mapping[int, PartitionLag]]]) -> dict[str, Any]:
        """By application, which stands for a persistent query: the stores and partitions that a member has."""
        holdings: dict[str, dict[str, list[Any]]] = {}
        for store, by_number in stores:
            entry = holdings.setdefault(
                store.spec.application, {f"{role}{what}": [] for role in _ROLES for what in _WHAT}
            )
            for number in by_number:
                role = _ROLES[self._api.node.role(store, number, address) != ACTIVE]
                if store.name not in entry[f"{role}Stores"]:
                    entry[f"{role}Stores"].append(store.name)
                entry[f"{role}Partitions"].append({"topic": store.spec.topic, "partition": number})
        return holdings


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
            f"The columns of {store.name} are not known. Start the server with --key-columns and --value-columns, or with "
            "a registry that has a schema for the topic."
        )
    return store.columns


async def _question(store: Served, pull: PullQuery) -> Question:
    """By key if all key columns are known, else all rows."""
    values = [pull.keys.get(name) for name in _columns_of(store)[0]]
    if len(values) != 1 or values[0] is None or store.key_bytes is None:
        return Question()
    return Question(keys=await written_keys(store, values[0]))


def _freshness(properties: Mapping[str, Any]) -> Freshness:
    most = properties.get(_MAX_LAG)
    if most is not None and not str(most).isdecimal():
        raise UsageError(f"{_MAX_LAG} is {str(most)[:40]!r}, and not a number.")
    reads_standbys = not is_same(str(properties.get(_STANDBY, True)), "false")
    return Freshness(max_lag=None if most is None else int(str(most)), reads_standbys=reads_standbys)


def _row(store: Served, document: Mapping[str, Any]) -> dict[str, Any]:
    """A row by ksqlDB's names of columns; `value_in` reads it."""
    window, row = document["window"], {}
    if window is not None:
        size = store.window_size_ms
        row[WINDOW_START] = window["start_ms"]
        row[WINDOW_END] = window["start_ms"] + size if window["end_ms"] is None and size else window["end_ms"]
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
    if isinstance(value, dict) and len(value) == 1:
        ((mark, inner),) = value.items()
        if mark == "$decimal":
            return Decimal(inner)
        if mark == "$timestamp":
            return inner.replace("+00:00", "")
        if mark.startswith("$"):
            return inner
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items()}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


def _json(value: Any) -> bytes:
    return msgspec.json.Encoder(decimal_format="number").encode(value)


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


def _error(error: SrfixError, statement: str) -> Response:
    is_mistake = isinstance(error, UsageError)
    body = _message(error)
    if is_mistake:
        body |= {"@type": "statement_error", "statementText": statement, "entities": []}
    return Response(_json(body), 400 if is_mistake else 500, media_type=_V1)
