"""The base of all parts of the client: the transport, the cache, and the life cycle."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from functools import lru_cache
from typing import Generic, TypeVar

from srfix.serde.bounds import CONNECT_SECONDS, REGISTRY_READ_SECONDS, SCHEMA_CACHE, AnswerBounds, UnknownIdBounds
from srfix.serde.closing import Closing
from srfix.serde.errors import UsageError
from srfix.serde.forking import ForkLock, PerProcess
from srfix.serde.registry import parse as _parse
from srfix.serde.registry.http.answer import Answer
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.registry.http.tls import (
    ClientCertificate,
    ClientCertificateText,
    check_ca_file,
    check_ca_text,
    client_context,
)
from srfix.serde.registry.http.transport import Transport, TransportSettings
from srfix.serde.registry.http.urls import Query, parse_proxy, parse_urls, path_of
from srfix.serde.registry.secret import Auth
from srfix.serde.registry.unknown_ids import UnknownIds, writes_sent
from srfix.serde.schemas.errors import (
    AddressNotFoundError,
    EndpointNotSupportedError,
    RegistryAnswerError,
    RegistryProtocolError,
    RegistryUnreachableError,
    SchemaNotFoundError,
)
from srfix.serde.schemas.models import Json, RegisteredSchema, Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Subject, split_context

T = TypeVar("T")

_ROUND = 100
"""The page limits of registries are multiples of this: 1000 schemas and 20000 subjects at Confluent
(`schema.search.max.limit`, `subject.search.max.limit`), 1000 at Apicurio."""


def paged(
    fetch: Callable[[int], Sequence[T]],
    *,
    key: Callable[[T], Hashable],
    bounds: AnswerBounds = AnswerBounds(),  # noqa: B008  (frozen)
    clock: Callable[[], float] = time.monotonic,
    url: str = "the registry",
) -> Iterator[T]:
    """All items of a listing, each once, in the registry's order. `fetch` sends no limit: if it is beyond the
    registry's own, a registry silently uses its default. After a page with a round number of items, `fetch` is called
    until nothing new comes."""
    seen: set[Hashable] = set()
    offset = characters = pages = 0
    spent_s = 0.0
    while True:
        if pages == bounds.pages:
            raise _endless(url, f"its listing does not end after {pages:,} pages (http.listing.max.pages)")
        if spent_s > bounds.listing_deadline_s:
            waited = f"{bounds.listing_deadline_s:g} s of waiting"
            raise _endless(url, f"its listing does not end after {waited} (http.listing.deadline.ms)")
        began = clock()
        page = fetch(offset)
        spent_s += clock() - began
        pages += 1
        before = len(seen)
        for item in page:
            known_by = key(item)
            if known_by not in seen:
                characters += _characters(known_by)
                if characters > bounds.body_bytes:
                    what = f"the names in its listing have more than {bounds.body_bytes:,} characters"
                    raise _endless(url, f"{what} (http.answer.max.bytes)")
                seen.add(known_by)
                yield item
        offset += len(page)
        if len(seen) == before or len(page) % _ROUND:
            return


def _characters(key: Hashable) -> int:
    if isinstance(key, tuple):
        return sum(map(_characters, key))
    return len(key) if isinstance(key, str) else 8


def _endless(url: str, reason: str) -> RegistryUnreachableError:
    return RegistryUnreachableError([(url, reason)], request="a listing")


class ClientBase(Closing):
    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        auth: Auth | None = None,
        ca_file: str | None = None,
        ca_pem: str | None = None,
        client_certificate: ClientCertificate | ClientCertificateText | None = None,
        proxy: str | None = None,
        connect_timeout_s: float = CONNECT_SECONDS,
        read_timeout_s: float = REGISTRY_READ_SECONDS,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008  (frozen)
        cache_capacity: int = SCHEMA_CACHE,
        bounds: AnswerBounds = AnswerBounds(),  # noqa: B008  (frozen)
        unknown_ids: UnknownIdBounds = UnknownIdBounds(),  # noqa: B008  (frozen)
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Sends nothing yet.

        `urls` is one URL, several URLs separated by commas, or a sequence. User name and password in a URL become
        credentials for that URL and are never shown. `proxy` is `http://[USER:PASSWORD@]HOST:PORT`. The client ignores
        the environment's proxies and .netrc. `clock` gives seconds, for deadlines and caches. `ca_pem` is the text of a
        `ca_file`.

        :raises UsageError: if a URL cannot be used, credentials are given twice, `ca_file` is not a PEM file, the
            client certificate and its key cannot be used, or a time-out is not positive.
        :raises SecretError: if the password of the client certificate's key cannot be read.
        """
        if min(connect_timeout_s, read_timeout_s) <= 0:
            raise UsageError(
                f"The registry's time-outs must be longer than 0 s: connect {connect_timeout_s:g} s, "
                f"read {read_timeout_s:g} s."
            )
        if ca_file is not None:
            check_ca_file(ca_file)
        if ca_pem is not None:
            check_ca_text(ca_pem)
        if client_certificate is not None:
            client_context(client_certificate)  # done once now, so that errors are raised before anything is sent
        self._start(
            TransportSettings(
                endpoints=parse_urls(urls, auth),
                ca_file=ca_file,
                ca_pem=ca_pem,
                client_certificate=client_certificate,
                proxy=None if proxy is None else parse_proxy(proxy),
                connect_timeout_s=connect_timeout_s,
                read_timeout_s=read_timeout_s,
                retry=retry,
                bounds=bounds,
                unknown_ids=unknown_ids,
                clock=clock,
            ),
            cache_capacity,
        )

    def _start(self, settings: TransportSettings, cache_capacity: int) -> None:
        self._transport = Transport(settings)
        self._cache_capacity = cache_capacity
        self._unknown_ids = UnknownIds(settings.unknown_ids, settings.clock)
        # lru_cache is bounded and thread-safe, and never keeps an exception; unknown ids are remembered elsewhere, for
        # a while. An id's content never changes, but each context has its own ids, so the context is part of the key.
        transport, flights = self._transport, SingleFlight[RegisteredSchema]()  # not self, which would be a circle

        @lru_cache(maxsize=cache_capacity)
        def fetch(schema_id: int, context: Subject | None) -> RegisteredSchema:
            return _parse.registered_schema(ask_by_id(transport, schema_id, context), schema_id)

        def schema_by_id(schema_id: int, context: Subject | None) -> RegisteredSchema:
            # No caller waits for a request that began before a write, because the write may have made the id known.
            return flights.once((writes_sent(), schema_id, context), lambda: fetch(schema_id, context))

        self._schema_by_id = schema_by_id

    def forget_unknown_ids(self) -> None:
        """Makes the next read of an unknown id ask the registry again, before the time to remember it is over."""
        self._unknown_ids.forget()

    @property
    def url(self) -> str:
        """The URLs, joined with commas, without secrets."""
        return ",".join(endpoint.url for endpoint in self._transport.settings.endpoints)

    def context_of(self, subject: str) -> str:
        """The context of a subject: the one that it names, otherwise the URL's context, otherwise `.`."""
        named, _ = split_context(subject)
        if named != DEFAULT_CONTEXT:
            return named
        return self._transport.settings.endpoints[0].context or DEFAULT_CONTEXT

    def close(self) -> None:
        """Closes the connections of all threads; a later request opens new ones."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __getstate__(self) -> tuple[TransportSettings, int]:
        return self._transport.settings, self._cache_capacity

    def __setstate__(self, state: tuple[TransportSettings, int]) -> None:
        self._start(*state)

    def _listed(
        self,
        path: str,
        query: Query,
        parse: Callable[[Answer], Sequence[T]],
        key: Callable[[T], Hashable],
        ask: Callable[..., Answer] | None = None,
    ) -> Iterator[T]:
        settings, request = self._transport.settings, ask or self._transport.request

        def fetch(offset: int) -> Sequence[T]:
            return parse(request("GET", path, query={**query, **({"offset": str(offset)} if offset else {})}))

        return paged(fetch, key=key, bounds=settings.bounds, clock=settings.clock, url=self.url)

    def _request_if_there(
        self, method: str, path: str, *, query: Query | None = None, body: Json = None, write: bool = False
    ) -> Answer:
        """Sends a request to an endpoint that not every registry has (`EndpointNotSupportedError`)."""
        try:
            return self._transport.request(method, path, query=query, body=body, write=write)
        except (RegistryAnswerError, RegistryProtocolError) as error:
            # Confluent sends 404 in JSON, Karapace in a JSON text, Apicurio without a body. A registry's own code
            # (40403) is a real answer.
            code = error.error_code if isinstance(error, RegistryAnswerError) else error.status
            if code not in (404, 405, 501):
                raise
            raise EndpointNotSupportedError(
                f"{method} {path}",
                why=f"it answers HTTP {error.status}",
                instead="You need another registry, a newer version, or another way to do this; check the URL's base "
                "path, too.",
            ) from error


def flags(**switches: bool) -> dict[str, str]:
    return {name: "true" for name, value in switches.items() if value}


def schema_body(schema: Schema) -> dict[str, Json]:
    """Without AVRO and empty references, like Confluent's own client: old registries refuse unknown keys."""
    body: dict[str, Json] = {"schema": schema.text}
    if schema.schema_type != "AVRO":
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body


def ask_by_id(transport: Transport, schema_id: int, subject: Subject | None) -> Answer:
    """A 404 without the code 40403 also counts as an unknown schema: some registries send it for an invalid id."""
    query = None if subject is None else {"subject": subject}
    try:
        return transport.request("GET", path_of("schemas", "ids", schema_id), query=query)
    except AddressNotFoundError as error:
        raise SchemaNotFoundError(
            error.status,
            error.error_code,
            f"{error.registry_message} This is not an error code of a schema registry. Check the URL's base path.".strip(),
            error.url,
            method="GET",
            earlier_attempt_lost=error.earlier_attempt_lost,
        ) from error


class SingleFlight(Generic[T]):
    """A thread that asks while another asks for the same key gets that thread's answer or error. A cache belongs inside
    `ask`; outside of it, a thread would ask again. Not cachetools' `cached(condition=…)`: if the first request fails,
    the waiting threads repeat it one after another, and its pending keys survive a fork."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._flights: PerProcess[dict[Hashable, Future[T]]] = PerProcess(dict)

    def once(self, key: Hashable, ask: Callable[[], T]) -> T:
        """If the thread that asks is interrupted, a waiting one asks instead. Later callers never get an old error."""
        while True:
            mine: Future[T] = Future()
            try:
                with self._lock:
                    flight = self._flights.get().setdefault(key, mine)
                if flight is mine:
                    return self._ask_and_share(key, mine, ask)
            finally:
                self._end(key, mine)
            try:
                return flight.result()
            except CancelledError:
                continue

    def _ask_and_share(self, key: Hashable, mine: Future[T], ask: Callable[[], T]) -> T:
        try:
            answer = ask()
        except Exception as error:
            mine.set_exception(error)
            raise
        mine.set_result(answer)
        return answer

    def _end(self, key: Hashable, mine: Future[T]) -> None:
        with self._lock:
            flights = self._flights.get()
            if flights.get(key) is mine:
                del flights[key]
        mine.cancel()  # has no effect if it is done
