"""The HTTP API: its routes, their parameters and documents (`openapi` describes them), and what answers them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partialmethod
from typing import TYPE_CHECKING, Any, Final

import httpx
import msgspec
from prometheus_client import Counter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from srfix.recovery.documents import Document
from srfix.recovery.serving.asking import freshness_of, key_of, keys_of, params_of, within_of
from srfix.recovery.serving.documents import (
    MOST_ROWS,
    MOST_TIMEOUT_S,
    AtTime,
    Fresh,
    Params,
    PartitionOfKey,
    ServedError,
    ServedRows,
    ServedStoreDocument,
    ServedStores,
    WithinKeys,
    WithinTimes,
)
from srfix.recovery.serving.gathering import FORWARD_PATH, Asked, Gathered, Gathering, token_of
from srfix.recovery.serving.guarding import Credentials, Guard, Streamed
from srfix.recovery.serving.liveness import PartitionRead
from srfix.recovery.serving.node import Freshness, Node, NotChosen, why_not
from srfix.recovery.serving.questions import Question, Served
from srfix.recovery.serving.rounds import HEARTBEAT_PATH, IN_GROUP, LAG_PATH, Rounds
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.stores.rows import RowFilter
from srfix.serde.casing import declared_name
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.hints import nearest

if TYPE_CHECKING:
    from starlette.types import ASGIApp

JSON: Final = "application/json"
_LINES: Final = "application/x-ndjson"
_WINDOWS: Final = "windows"
_BYTES: Final = "application/octet-stream"
_MISTAKES: Final = (HTTPException, SrfixError, msgspec.MsgspecError, RecursionError)


@dataclass(frozen=True, slots=True)
class ApiRoute:
    path: str
    about: str
    params: type[Params]
    document: type[Document]
    handler: Callable[[Api, Request, Any], Awaitable[Response]]
    codes: tuple[int, ...] = (400, 401, 404, 503)


class Api:
    """The application for uvicorn: `Api(…).app`.

    :param max_lag_ready: /readyz answers 200 if no partition lags by more records.
    """

    def __init__(
        self,
        node: Node,
        client: httpx.AsyncClient,
        credentials: Credentials,
        *,
        max_lag_ready: int = 0,
        tell: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.node = node
        self._max_lag_ready = max_lag_ready
        self.gathering = Gathering(node, client)
        self.requests = Counter("srfix_serve_requests", "Answered requests.", ("route", "code"), registry=None)
        self._rounds = Rounds(node, client, tell)
        self._client = client
        of_members = {HEARTBEAT_PATH: self._rounds.heartbeat, LAG_PATH: self._rounds.lag, FORWARD_PATH: self._pieces}
        self._starlette = Starlette(
            routes=[
                *(Route(route.path, self._answering(route), methods=["GET"]) for route in ROUTES),
                *(Route(path, handler, methods=["POST"]) for path, handler in of_members.items()),
                Route("/healthz", self._healthz),
                Route("/readyz", self._readyz),
            ],
            # A client that goes away gets no answer, but is no fault either.
            exception_handlers=dict.fromkeys((*_MISTAKES, ClientDisconnect, Exception), self._refused),
            lifespan=self._lifespan,
        )
        self.app: ASGIApp = Guard(self._starlette, credentials, error_response, members_paths=of_members.keys())

    def add_routes(self, routes: Sequence[Route]) -> None:
        self._starlette.router.routes.extend(routes)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        async with self._client, self._rounds.going():
            yield

    async def _healthz(self, _request: Request) -> Response:
        return Response(b"{}\n", media_type=JSON)  # by a failure a cluster would end members that can still answer

    async def _readyz(self, _request: Request) -> Response:
        lags = [None if part.progress.is_mixed else part.lag.records for part in self.node.parts()]
        is_near = all(lag is not None and lag <= self._max_lag_ready for lag in lags)
        # The group's problems do not count: a stranger who joins it must not make all members unready.
        has_problem = bool(self._rounds.problems.keys() - {IN_GROUP}) or any(self.node.problems())
        is_ready = bool(lags) and is_near and not self.node.is_starting and not has_problem
        return Response(b"{}\n", 200 if is_ready else 503, media_type=JSON)

    def problems(self) -> list[str]:
        return [*self._rounds.problems.values(), *self.node.problems()]

    async def _refused(self, _request: Request, error: Exception) -> Response:
        match error:
            case HTTPException():
                return error_response(error.status_code, error.detail)
            case msgspec.MsgspecError() | RecursionError():
                return error_response(400, f"The request is not as GET /openapi.json describes it: {error}.")
            case UsageError():
                return error_response(400, error.message)
            case SrfixError():
                return error_response(503, error.message)
            case _:
                return error_response(
                    500, f"srfix could not answer ({type(error).__name__}). This is a fault of srfix."
                )

    def _answering(self, route: ApiRoute) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                response = await route.handler(self, request, params_of(request, route.params))
            except _MISTAKES as error:
                response = await self._refused(request, error)
            self.requests.labels(route.path, response.status_code).inc()
            return response

        return answer

    def store(self, name: str) -> Served:
        found = self.node.stores.get(name)
        if found is None:
            stores = self.node.stores.items()
            known = {declared_name(each): own for own, store in stores for each in (store.table or own, own)}
            near = nearest(declared_name(name), known)
            meant = f" Did you mean {known[near]}?" if near is not None else ""
            raise HTTPException(404, f"This server has no store {name!r}.{meant} GET /stores lists them.")
        return found

    async def stores(self, _request: Request, _params: Params) -> Response:
        return document_response(self.stores_document())

    def stores_document(self) -> ServedStores:
        return ServedStores(
            member=self.node.address,
            members=sorted(self.node.membership.members().addresses),
            stores=[self._store_document(store) for store in self.node.stores.values()],
            notes=list(self._rounds.notes),
            problems=self.problems(),
        )

    async def one_store(self, request: Request, _params: Params) -> Response:
        return document_response(self._store_document(self.store(request.path_params["store"])))

    def _store_document(self, store: Served) -> ServedStoreDocument:
        reads, missing = self._whereabouts(store, range(store.spec.partitions))
        spec, kind, until = store.spec, store.spec.store.kind.value, store.spec.until.value
        whose = spec.application or None
        return ServedStoreDocument.of(
            spec, application=whose, kind=kind, until=until, partitions=reads, missing=missing
        )

    def _whereabouts(self, store: Served, numbers: Sequence[int]) -> tuple[list[PartitionRead], list[NotChosen]]:
        reads: list[PartitionRead] = []
        missing: list[NotChosen] = []
        for number in numbers:
            candidates, refused = self.node.candidates(store, number, Freshness())
            missing += () if candidates else refused
            reads += [
                PartitionRead.at(number, candidate.address, candidate.role, candidate.lag)
                for candidate in candidates
                if candidate.lag is not None
            ]
        return reads, missing

    async def partition_of(self, request: Request, _params: Params) -> Response:
        store = self.store(request.path_params["store"])
        keys = await keys_of(store, key_of(request))
        numbers = Question(keys=keys).partitions(store.spec.partitions, store.partitioner)
        reads, missing = self._whereabouts(store, numbers)
        document = PartitionOfKey(store=store.name, keys=[key.hex() for key in keys], partitions=reads, missing=missing)
        return document_response(document)

    async def key(self, request: Request, params: AtTime) -> Response:
        store = self.store(request.path_params["store"])
        return await self.key_of(store, key_of(request), params, is_raw=_BYTES in request.headers.get("accept", ""))

    async def key_of(self, store: Served, key: str, params: AtTime, *, is_raw: bool = False) -> Response:
        if params.at is not None and store.spec.store.kind is not WrittenKind.VERSIONED:
            raise UsageError(f"The store {store.name} keeps no versions: leave out `at`.")
        question = Question(keys=await keys_of(store, key), at_ms=params.at, is_raw=is_raw)
        return await self._whole(self.asked(store, question, params))

    async def _of_times(self, request: Request, params: WithinTimes, *, what: str) -> Response:
        store = self.store(request.path_params["store"])
        form = store.spec.store.kind.format
        if not (form.is_windowed if what == _WINDOWS else form.is_of_sessions):
            raise HTTPException(400, f"The store {store.name} ({form.value}) has no {what}.")
        within = RowFilter(window_from_ms=params.first, window_to_ms=params.last)
        within.refuse_swapped(form)
        question = Question(keys=await keys_of(store, key_of(request)), within=within)
        return await self._whole(self.asked(store, question, params))

    windows = partialmethod(_of_times, what=_WINDOWS)
    sessions = partialmethod(_of_times, what="sessions")

    async def count(self, request: Request, params: WithinKeys) -> Response:
        store = self.store(request.path_params["store"])
        return await self._whole(self.asked(store, replace(within_of(params, store), counts=True), params))

    def asked(self, store: Served, question: Question, params: Fresh, freshness: Freshness | None = None) -> Asked:
        fresh = freshness or freshness_of(params, store)
        return Asked(store=store.name, question=question, freshness=fresh, deadline=time.monotonic() + params.timeout)

    async def _whole(self, asked: Asked) -> Response:
        gathered, rows = Gathered(), []
        async with aclosing(self.gathering.pieces(asked, gathered)) as pieces:
            async for piece in pieces:
                rows += piece.rows
                if len(rows) > MOST_ROWS:
                    break
        if gathered.failed and not gathered.count:
            return error_response(503, why_not(asked.store, gathered.failed), gathered.failed)
        gathered.is_cut = len(rows) > MOST_ROWS
        end = self._end(asked, gathered)
        if asked.question.is_raw and rows and not gathered.failed:
            if len(rows) > 1:
                raise HTTPException(406, f"The key has {len(rows)} rows: ask for {JSON}.")
            value = msgspec.json.decode(rows[0], type=bytes | None)
            headers = {"srfix-position": end.position, "srfix-member": end.partitions[0].member}
            return Response(value or b"", media_type=_BYTES, headers=headers)
        end.rows = rows[:MOST_ROWS]  # type: ignore[assignment]  # their JSON
        return document_response(end, 200 if rows or asked.question.counts else 404)

    async def _pieces(self, request: Request) -> Response:
        """Answers another member, from what this one holds."""
        asked = msgspec.json.decode(await request.body(), type=Asked)
        asked = replace(asked, deadline=time.monotonic() + min(asked.deadline, MOST_TIMEOUT_S))
        self.store(asked.store)

        async def lines() -> AsyncGenerator[bytes]:
            async with aclosing(self.gathering.here(asked)) as pieces:
                async for piece in pieces:
                    yield msgspec.json.encode(piece) + b"\n"

        return Streamed(lines(), media_type=_LINES, most_s=asked.left_s)

    async def all_rows(self, request: Request, params: WithinKeys) -> Response:
        store = self.store(request.path_params["store"])
        asked, gathered = self.asked(store, within_of(params, store), params), Gathered()
        pieces = self.gathering.pieces(asked, gathered)
        first = await anext(pieces, None)
        if first is None and gathered.failed:
            return error_response(503, why_not(store.name, gathered.failed), gathered.failed)
        as_lines = _LINES in request.headers.get("accept", "")
        separator = b"\n" if as_lines else b","

        async def body() -> AsyncGenerator[bytes]:
            """A JSON object whose rows come first, or a row on each line and at last the rest of the object."""
            left, piece, before = params.limit, first, b""
            if not as_lines:
                yield b'{"rows":['
            async with aclosing(pieces):
                while piece is not None and not gathered.is_cut:
                    if rows := piece.rows[:left]:
                        yield before + separator.join(map(bytes, rows))
                        before = separator
                    gathered.is_cut = len(piece.rows) > left
                    left -= len(rows)
                    piece = None if gathered.is_cut else await anext(pieces, None)
            rest = msgspec.to_builtins(self._end(asked, gathered))
            del rest["rows"]
            text = msgspec.json.encode(rest) + b"\n"
            yield before + text if as_lines else b"]," + text[1:]

        return Streamed(body(), media_type=_LINES if as_lines else JSON, most_s=asked.left_s)

    def _end(self, asked: Asked, gathered: Gathered) -> ServedRows:
        """All of an answer but its rows."""
        topic, offsets = self.node.stores[asked.store].spec.topic, dict(asked.freshness.min_offsets)
        reads = sorted(gathered.reads.values(), key=lambda read: read.partition)
        for read in reads:
            offsets[read.partition] = max(offsets.get(read.partition, 0), read.offset)
        return ServedRows(
            store=asked.store,
            rows=[],
            count=gathered.count if asked.question.counts else None,
            partitions=reads,
            position=token_of(topic, offsets),
            is_complete=not gathered.failed and not gathered.is_cut,
            failed=gathered.failed,
        )


def document_response(document: Document, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(document) + b"\n", status, headers, JSON)


def error_response(status: int, text: str, failed: Sequence[NotChosen] = ()) -> Response:
    headers = {"www-authenticate": 'Basic realm="srfix", Bearer'} if status == 401 else None
    return document_response(ServedError(error=text, failed=list(failed)), status, headers)


ROUTES: Final = (
    ApiRoute("/stores", "All stores, and who has their partitions.", Params, ServedStores, Api.stores),
    ApiRoute("/stores/{store}", "A store, and who has its partitions.", Params, ServedStoreDocument, Api.one_store),
    ApiRoute(
        "/stores/{store}/keys/{key:path}",
        "The row of a key, or all its windows or sessions; of a versioned store the version at a time.",
        AtTime,
        ServedRows,
        Api.key,
    ),
    ApiRoute("/stores/{store}/windows/{key:path}", "The windows of a key.", WithinTimes, ServedRows, Api.windows),
    ApiRoute("/stores/{store}/sessions/{key:path}", "The sessions of a key.", WithinTimes, ServedRows, Api.sessions),
    ApiRoute("/stores/{store}/partition-of/{key:path}", "Where a key is.", Params, PartitionOfKey, Api.partition_of),
    ApiRoute("/stores/{store}/keys", "Rows by prefix or range of keys.", WithinKeys, ServedRows, Api.all_rows),
    ApiRoute("/stores/{store}/all", "All rows.", WithinKeys, ServedRows, Api.all_rows),
    ApiRoute("/stores/{store}/count", "The number of rows.", WithinKeys, ServedRows, Api.count),
)
