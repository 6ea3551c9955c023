"""Sends requests to a list of URLs, one attempt after the other, until one gives a final answer."""

from __future__ import annotations

import json
import ssl
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import requests

from srfix.serde.bounds import AnswerBounds, UnknownIdBounds
from srfix.serde.forking import ForkLock, PerProcess
from srfix.serde.registry.http.answer import TRANSPORT_ERRORS, Answer, Failure, failure_of
from srfix.serde.registry.http.bounded import (
    AnswerBoundError,
    BoundedAdapter,
    BoundedSession,
    check_json_parts,
    exchange,
)
from srfix.serde.registry.http.retry import RetryPolicy, retry_after_s
from srfix.serde.registry.http.tls import ClientCertificate, ClientCertificateText, client_context
from srfix.serde.registry.http.urls import Endpoint, Query, request_url
from srfix.serde.registry.secret import NO_CREDENTIALS, BasicAuth, Credentials
from srfix.serde.registry.unknown_ids import note_write
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.schemas.models import Json
from srfix.serde.waiting import waiting

if TYPE_CHECKING:
    from tenacity import RetryCallState


class RegistrySession(BoundedSession):
    """Connections with a client certificate and a proxy. Uses nothing from the environment."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__()
        self.proxy_credentials, proxy, certificate = NO_CREDENTIALS, settings.proxy, settings.client_certificate
        if proxy is not None and isinstance(proxy.auth, BasicAuth):
            self.proxy_credentials = proxy.auth.credentials(header="Proxy-Authorization")
        context = client_context(certificate) if certificate is not None else None
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(context, self.proxy_credentials, settings.ca_pem))


class _Adapter(BoundedAdapter):
    """Accepts a TLS context (a key with a password), and a proxy's credentials that are not in a URL."""

    def __init__(self, context: ssl.SSLContext | None, proxy_credentials: Credentials, ca_pem: str | None) -> None:
        self._tls: dict[str, Any] = {} if context is None else {"ssl_context": context}
        self._has_ca_pem = ca_pem is not None
        if ca_pem is not None:
            self._tls["ca_cert_data"] = ca_pem
        self._proxy_credentials = proxy_credentials
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **pool, **self._tls)

    def proxy_manager_for(self, proxy: str, **pool: Any) -> Any:
        return super().proxy_manager_for(proxy, **pool, **self._tls)

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> tuple[Any, Any]:
        host, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        if self._has_ca_pem:
            pool.pop("ca_certs", None)
            pool.pop("ca_cert_dir", None)
        return host, pool

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        super().cert_verify(conn, url, verify, cert)  # type: ignore[no-untyped-call]
        if self._has_ca_pem:
            conn.ca_certs = conn.ca_cert_dir = None  # otherwise certifi's authorities would also be trusted

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        return dict(self._proxy_credentials.headers)


_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_SHORTEST_WAIT_FOR_A_LEADER_S = 0.25
_HEADERS = {
    "Accept": f"{_CONTENT_TYPE}, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5",
    "User-Agent": "srfix",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """The settings of a transport. They can be pickled if no secret in them is a literal."""

    endpoints: tuple[Endpoint, ...]
    """The URLs, in the order of the first attempt."""
    ca_file: str | None
    """PEM file of the trusted certificate authorities; None for certifi's."""
    ca_pem: str | None
    """PEM text of the trusted certificate authorities. If there is one, no other authorities are trusted."""
    client_certificate: ClientCertificate | ClientCertificateText | None
    proxy: Endpoint | None
    connect_timeout_s: float
    read_timeout_s: float
    """After this number of silent seconds, the wait for an answer ends."""
    retry: RetryPolicy
    bounds: AnswerBounds
    unknown_ids: UnknownIdBounds
    clock: Callable[[], float]
    """Gives seconds, for deadlines and caches."""


class _Try(NamedTuple):
    endpoint: Endpoint
    outcome: Answer | Failure


class Transport:
    """Sends requests. Each thread has its own connections, and answers are limited. Thread-safe.

    An attempt first asks the URL that answered last. After a transport error and after 502, 503, 504 it asks the next
    URL, once through the list. A write also asks the next URL if a node says that it may not write (42205, 50003,
    50004). Attempts follow the `RetryPolicy`. Redirects are not followed. Nothing is read from the environment
    (proxies, .netrc); only the given settings count.
    """

    def __init__(self, settings: TransportSettings) -> None:
        self.settings = settings
        self._proxies = dict.fromkeys(("http", "https"), settings.proxy.url) if settings.proxy is not None else {}
        self._last_answered = 0
        self._local = threading.local()
        self._sessions: weakref.WeakSet[requests.Session] = weakref.WeakSet()
        self._lock = ForkLock()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Json = None,
        write: bool = False,
    ) -> Answer:
        from tenacity import Retrying, retry_if_result

        retry = self.settings.retry
        tries: list[_Try] = []
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode("ascii")

        if write:
            note_write()

        def attempt() -> list[_Try]:
            before = len(tries)
            start = self._last_answered
            for step in range(len(self.settings.endpoints)):
                index = (start + step) % len(self.settings.endpoints)
                tries.append(self._send(self.settings.endpoints[index], method, path, query or {}, content))
                outcome = tries[-1].outcome
                if outcome.is_final and not (write and outcome.may_be_a_followers):
                    self._last_answered = index
                    break
            return tries[before:]

        retrying = Retrying(
            stop=lambda state: state.attempt_number >= retry.max_attempts and not self._is_patient(state, write=write),
            wait=lambda state: self._wait_s(state, write=write),
            sleep=retry.sleep,
            retry=retry_if_result(_is_worth_repeating),
            retry_error_callback=_result,  # no attempts left: the last outcome counts
        )
        urls = " or ".join(endpoint.url for endpoint in self.settings.endpoints)
        try:
            with waiting(f"the schema registry at {urls} ({method} {path})"):
                last = retrying(attempt)
        finally:
            if write:
                note_write()  # requests in the meantime may have been too early
        final = last[-1].outcome
        if isinstance(final, Answer) and (final.is_final or len(self.settings.endpoints) == 1):
            if final.is_good:
                return final
            raise final.error(earlier_attempt_lost=any(one.outcome.is_lost for one in tries[:-1]))
        raise RegistryUnreachableError(
            [(one.endpoint.url, one.outcome.reason) for one in last],
            request=f"{method} {path}",
            rounds=retrying.statistics["attempt_number"],
            outcome_unknown=any(one.outcome.is_lost for one in tries),
            write=write,
        )

    def close(self) -> None:
        with self._lock:
            sessions = list(self._sessions)
        for session in sessions:
            session.close()

    def _send(self, endpoint: Endpoint, method: str, path: str, query: Query, content: bytes | None) -> _Try:
        session = self._session()
        url = request_url(endpoint, path, query)
        prepared = session.prepare_request(requests.Request(method, url, headers=_HEADERS, data=content))
        # requests decodes %2E, and urllib3 then resolves the dots, so the URL is set again to its original form.
        prepared.url = url
        if content is not None:
            prepared.headers["Content-Type"] = _CONTENT_TYPE
        credentials = endpoint.auth.credentials() if endpoint.auth is not None else NO_CREDENTIALS
        prepared.headers.update(credentials.headers)
        try:
            response, received = exchange(
                session,
                prepared,
                bounds=self.settings.bounds,
                connect_timeout_s=self.settings.connect_timeout_s,
                read_timeout_s=self.settings.read_timeout_s,
                clock=self.settings.clock,
                verify=self.settings.ca_file or True,
                proxies=self._proxies,
            )
            check_json_parts(received, self.settings.bounds)
        except AnswerBoundError as error:
            # A repetition would give the same result and take as long.
            return _Try(endpoint, Failure(reason=str(error), is_worth_repeating=False, is_lost=True))
        except TRANSPORT_ERRORS as error:
            # Turned into a value, so that this error does not become the context of a later error: it holds the
            # request.
            failure = failure_of(
                error,
                connect_timeout_s=self.settings.connect_timeout_s,
                read_timeout_s=self.settings.read_timeout_s,
                ca_file=self.settings.ca_file,
                proxy_url=self.settings.proxy.url if self.settings.proxy else None,
            )
            return _Try(endpoint, failure)
        answer = Answer(
            method=method,
            url=url,
            context=endpoint.context,
            credentials=credentials.without_headers(session.proxy_credentials),
            status=response.status_code,
            content_type=response.headers.get("Content-Type", ""),
            location=response.headers.get("Location", ""),
            retry_after_s=retry_after_s(response.headers, self.settings.retry.clock),
            body=received,
        )
        return _Try(endpoint, answer)

    def _session(self) -> RegistrySession:
        """This thread's session; a new one after a fork, because a child must not share its parent's sockets."""
        session: PerProcess[RegistrySession] | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = PerProcess(self._open)
        return session.get()

    def _open(self) -> RegistrySession:
        session = RegistrySession(self.settings)
        with self._lock:
            self._sessions.add(session)
        return session

    def _is_patient(self, state: RetryCallState, *, write: bool) -> bool:
        waited = state.idle_for < self.settings.retry.leader_patience_s
        return write and waited and any(one.outcome.names_no_leader for one in _result(state))

    def _wait_s(self, state: RetryCallState, *, write: bool) -> float:
        seconds = self._ordinary_wait_s(state)
        if self._is_patient(state, write=write):
            # The last wait ends when the patience is over. A minimum wait prevents an endless series of tiny waits.
            left = self.settings.retry.leader_patience_s - state.idle_for
            return min(max(seconds, _SHORTEST_WAIT_FOR_A_LEADER_S), left)
        return seconds

    def _ordinary_wait_s(self, state: RetryCallState) -> float:
        from tenacity import wait_random_exponential

        retry = self.settings.retry
        delays_s = [one.outcome.retry_after_s for one in _result(state) if isinstance(one.outcome, Answer)]
        wanted = [seconds for seconds in delays_s if seconds is not None]
        if wanted:
            return min(*wanted, retry.max_wait_s)
        return wait_random_exponential(multiplier=retry.initial_wait_s, max=retry.max_wait_s)(state)


def _is_worth_repeating(tries: list[_Try]) -> bool:
    outcomes = [one.outcome for one in tries]
    last = outcomes[-1]
    # One node may refuse as a follower (42205) while another waits for a leader (50003).
    waits = last.may_be_a_followers and any(one.names_no_leader for one in outcomes)
    if last.is_final and not waits:
        return last.is_worth_repeating
    return any(one.is_worth_repeating for one in outcomes)


def _result(state: RetryCallState) -> list[_Try]:
    result: list[_Try] = state.outcome.result() if state.outcome is not None else []
    return result
