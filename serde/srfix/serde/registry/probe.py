"""Checks whether, how fast and with which clock each URL of a registry answers. No request is repeated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import requests

from srfix.serde.errors import SrfixError
from srfix.serde.registry import parse as _parse
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy, seconds_since_epoch
from srfix.serde.registry.http.transport import RegistrySession, Transport, TransportSettings
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError

_NO_SUCH_PATH = (404, 405, 501)
"""Karapace, Apicurio and old registries do not give their version."""
_HALF_A_SECOND = 0.5
"""A Date header has whole seconds without the fraction, so on average it is late by this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryProbe:
    url: str
    elapsed_s: float
    """Seconds until the answer, or until srfix gave up."""
    version: str | None
    """The version that the registry gives; None if it gives none."""
    clock_skew_s: float | None
    """How far its clock is ahead of the local clock, by its Date header, to about a second; None without that
    header."""
    error: SrfixError | None
    """Why no registry answered at this URL; None if all is well."""


def probe(
    client: RegistryClient,
    *,
    timeout_s: float = 5.0,
    clock: Callable[[], float] = time.time,
    stopwatch: Callable[[], float] = time.monotonic,
) -> Iterator[RegistryProbe]:
    """Asks each URL for the registry's version; `timeout_s` limits the time to connect, and then to answer."""
    settings = client._transport.settings  # of the same package: only one module knows how to send requests
    patience = replace(
        settings,
        connect_timeout_s=min(settings.connect_timeout_s, timeout_s),
        read_timeout_s=min(settings.read_timeout_s, timeout_s),
        retry=RetryPolicy(max_attempts=1),
    )
    for endpoint in settings.endpoints:
        transport = _DatedTransport(replace(patience, endpoints=(endpoint,)))
        version: str | None = None
        problem: SrfixError | None = None
        asked_at, began = clock(), stopwatch()
        try:
            version = _parse.text(transport.request("GET", "/v1/metadata/version"), "version")
        except SrfixError as error:
            is_absent = isinstance(error, RegistryAnswerError | RegistryProtocolError) and error.status in _NO_SUCH_PATH
            problem = None if is_absent else error
        finally:
            transport.close()
        elapsed_s = stopwatch() - began
        skew_s = None if transport.date_s is None else transport.date_s + _HALF_A_SECOND - (asked_at + elapsed_s / 2)
        yield RegistryProbe(url=endpoint.url, elapsed_s=elapsed_s, version=version, clock_skew_s=skew_s, error=problem)


class _DatedTransport(Transport):
    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        self.date_s: float | None = None

    def _session(self) -> RegistrySession:
        session = super()._session()
        session.hooks["response"] = [self._note_date]
        return session

    def _note_date(self, response: requests.Response, **_: Any) -> None:
        self.date_s = seconds_since_epoch(response.headers.get("Date", ""))
