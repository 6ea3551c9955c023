"""Asks a ksqlDB server about its queries, with three read-only statements. TERMINATE and DROP would delete a query's
state, subjects and group, and the next query would make a new phantom; this client cannot send them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import requests
import urllib3

from srfix.recovery.errors import KsqldbError
from srfix.recovery.ksqldb.answers import ServerStatus, merge, read_answer, read_cluster_status
from srfix.recovery.ksqldb.models import KsqldbAnswers
from srfix.serde.bounds import CONNECT_SECONDS, KSQLDB_BODY_BYTES, KSQLDB_JSON_PARTS, KSQLDB_SECONDS, AnswerBounds
from srfix.serde.errors import UsageError
from srfix.serde.forking import PerProcess
from srfix.serde.printable import foreign
from srfix.serde.properties.registry import answer_bounds
from srfix.serde.registry.http.bounded import AnswerBoundError, BoundedSession, check_json_parts, exchange
from srfix.serde.registry.secret import NO_CREDENTIALS, BasicAuth, Credentials, Secret
from srfix.serde.schemas.models import Json
from srfix.serde.waiting import waiting

_JSON: Final = "application/vnd.ksql.v1+json"
_QUERY_ID: Final = re.compile(r"[A-Za-z0-9_]+")
_SHOWN: Final = 200
KSQLDB_BOUNDS: Final = AnswerBounds(body_bytes=KSQLDB_BODY_BYTES, json_parts=KSQLDB_JSON_PARTS, deadline_s=30.0)
_CHANGEABLE: Final = (
    "http.answer.max.bytes",
    "http.answer.max.head.bytes",
    "http.answer.max.parts",
    "http.answer.deadline.ms",
)


def ksqldb_bounds(properties: Mapping[str, str]) -> AnswerBounds:
    unknown = sorted(properties.keys() - set(_CHANGEABLE))
    if unknown:
        raise UsageError(
            f"Unknown property {unknown[0]} of the ksqlDB client. The known properties are: {', '.join(_CHANGEABLE)}."
        )
    return answer_bounds(properties, default=KSQLDB_BOUNDS)


class KsqldbClient(AbstractContextManager["KsqldbClient"]):
    """One server. `user:password@` in its URL becomes `auth`, and never appears in a message."""

    def __init__(
        self,
        url: str,
        *,
        auth: BasicAuth | None = None,
        read_timeout_s: float = 15.0,
        deadline_s: float = KSQLDB_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        bounds: AnswerBounds = KSQLDB_BOUNDS,
    ) -> None:
        parts = _parts(url if "://" in url else f"http://{url}")
        if parts is None:
            raise UsageError(
                "The ksqlDB URL must be http://HOST:PORT or https://HOST:PORT, and yours is not. srfix does not show it, "
                "because it may contain a password. Percent-encode special characters in a password."
            )
        if parts.username and auth is None:
            auth = BasicAuth(unquote(parts.username), Secret(unquote(parts.password or "")))
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
        self.url: Final = urlunsplit(bare).rstrip("/")
        self._auth = auth
        self._read_timeout_s = read_timeout_s
        self._deadline_s = deadline_s
        self._clock = clock
        self._bounds = bounds
        self._session = PerProcess(BoundedSession)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"KsqldbClient({self.url!r})"

    def close(self) -> None:
        session = self._session.made()
        if session is not None:
            session.close()

    def survey(self) -> KsqldbAnswers:
        """Version, queries, and the tables and streams that they read. A refusal, or a late answer, is a problem."""
        ends = self._clock() + self._deadline_s
        answers = read_answer(self._send("GET", "/info"), origin=self.url)
        if answers.server is None:
            raise KsqldbError(f"{self.url}/info returns no version, so this is not a ksqlDB server. Check the URL.")
        answers = merge(answers, self._queries())
        for query in answers.queries:
            if query.topology is None and _QUERY_ID.fullmatch(query.query_id):
                answers = merge(answers, self._tell(f"EXPLAIN {query.query_id};", ends))
        for name in dict.fromkeys(name for query in answers.queries for name in query.sources):
            quoted = name.replace("`", "``")
            answers = merge(answers, self._tell(f"DESCRIBE `{quoted}` EXTENDED;", ends))
        return answers

    def cluster_status(self) -> tuple[ServerStatus, ...]:
        try:
            return read_cluster_status(self._send("GET", "/clusterStatus"), origin=self.url)
        except KsqldbError as error:
            raise KsqldbError(
                f"{error.message} ksqlDB answers /clusterStatus only if ksql.heartbeat.enable=true."
            ) from None

    def _queries(self) -> KsqldbAnswers:
        try:
            return self._ask("SHOW QUERIES EXTENDED;")
        except KsqldbError as error:
            # Not every server knows this statement; the short form is as old as ksqlDB.
            short = self._ask("SHOW QUERIES;")
            return merge(short, KsqldbAnswers(origin=self.url, problems=(error.message,)))

    def _tell(self, statement: str, ends: float) -> KsqldbAnswers:
        left_s = ends - self._clock()
        if left_s <= 0:
            late = (
                f"{self._deadline_s:g} s were not enough to ask ksqlDB for everything, so some topologies or topics are not "
                "known"
            )
            return KsqldbAnswers(origin=self.url, problems=(late,))
        try:
            return self._ask(statement, left_s)
        except KsqldbError as error:
            return KsqldbAnswers(origin=self.url, problems=(f"{statement} {error.message}",))

    def _ask(self, statement: str, left_s: float | None = None) -> KsqldbAnswers:
        document = self._send("POST", "/ksql", {"ksql": statement, "streamsProperties": {}}, left_s)
        return read_answer(document, origin=self.url)

    def _send(self, method: str, path: str, body: dict[str, Json] | None = None, left_s: float | None = None) -> Json:
        credentials = self._auth.credentials() if self._auth is not None else NO_CREDENTIALS
        headers = {"Accept": _JSON, "Content-Type": _JSON, **credentials.headers}
        try:
            session = self._session.get()
            request = requests.Request(method, f"{self.url}{path}", json=body, headers=headers)
            with waiting(f"ksqlDB at {self.url} ({method} {path})"):
                answer, received = exchange(
                    session,
                    session.prepare_request(request),
                    bounds=self._bounds,
                    connect_timeout_s=CONNECT_SECONDS,
                    read_timeout_s=self._read_timeout_s,
                    deadline_s=left_s,
                )
            check_json_parts(received, self._bounds)
        except AnswerBoundError as error:
            raise KsqldbError(
                f"{method} {path} at {self.url} failed: {error}. Check that this is ksqlDB. If it is, raise the limit "
                "(--ksqldb-config NAME=VALUE), or save ksqlDB's answers and give them with --ksqldb-text."
            ) from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            # The exception's own text quotes URLs and headers.
            raise KsqldbError(
                f"{self.url} did not answer {method} {path}: {_reason(error)}. Check the URL, the port (8088 by "
                "default), http or https, and that this machine may connect."
            ) from None
        if answer.status_code in (401, 403):
            raise KsqldbError(
                f"{self.url} refused {method} {path}: HTTP {answer.status_code}. Check the user and the password; the "
                "user must be allowed to list and describe."
            )
        try:
            document: Json = json.loads(received)
        except (ValueError, RecursionError):
            raise KsqldbError(
                f"{self.url} answered {method} {path} with HTTP {answer.status_code}, but not with JSON. Is this "
                "ksqlDB, or a proxy?"
            ) from None
        if answer.status_code != 200:
            raise KsqldbError(
                f"{self.url} refused {method} {path}: HTTP {answer.status_code}, {_error_in_words(document, credentials)}"
            )
        return document


def _parts(url: str) -> SplitResult | None:
    """None if the text is no URL of a server. It raises no exception of the parser, whose message would show the text."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is not None or not parts.netloc.endswith(":")
    except ValueError:
        return None
    is_one = parts.scheme in ("http", "https") and parts.hostname and has_port and "@" not in parts.path
    return parts if is_one else None


def _error_in_words(document: Json, credentials: Credentials) -> str:
    message = document.get("message") if isinstance(document, dict) else None
    text = " ".join(str(message).split()) if message else "without a message"
    return foreign(credentials.scrub(text), _SHOWN)


def _reason(error: Exception) -> str:
    match error:
        case requests.exceptions.SSLError():
            return "TLS failed (a certificate that is not trusted, or no TLS at the other end)"
        case requests.Timeout() | urllib3.exceptions.TimeoutError() | TimeoutError():
            return "no answer in time"
        case urllib3.exceptions.DecodeError():
            return "its answer could not be decompressed"
        case urllib3.exceptions.ProtocolError():
            return "the connection was cut before the answer was complete"
        case requests.ConnectionError():
            return "no connection"
        case _:
            return type(error).__name__
