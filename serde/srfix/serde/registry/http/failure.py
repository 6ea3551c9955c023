"""Why a request got no answer. Only this module knows the exceptions of requests, urllib3 and ssl.

srfix uses only the kind of an exception and the system's message, never the exception's text, because it may quote URLs
and headers.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import requests
import urllib3.exceptions

TRANSPORT_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""The exceptions of sending. OSError: a missing CA file."""


_TUNNEL_REFUSED = re.compile(r"Tunnel connection failed: (\d{3})")
"""http.client's message if a proxy answers CONNECT with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A request that got no answer."""

    reason: str
    """The reason, in a few words."""
    is_worth_repeating: bool
    """False if a repetition cannot help: a refused certificate."""
    is_lost: bool
    """True if the registry may have received the request, and so may have carried it out."""
    is_final: ClassVar = False
    """True if another URL may succeed."""
    may_be_a_followers: ClassVar = False
    names_no_leader: ClassVar = False


def failure_of(
    error: BaseException,
    *,
    connect_timeout_s: float,
    read_timeout_s: float,
    ca_file: str | None,
    proxy_url: str | None = None,
) -> Failure:
    """The failure for an exception of `TRANSPORT_ERRORS`."""
    chain = list(_chain(error))

    def first(*kinds: type[BaseException]) -> BaseException | None:
        return next((link for link in chain if isinstance(link, kinds)), None)

    if cause := first(ssl.SSLCertVerificationError):
        words = getattr(cause, "verify_message", "") or "it cannot be verified"
        return _never_sent(f"its TLS certificate is not accepted ({words}); name the CA that signed it", again=False)
    if first(ssl.SSLEOFError, ssl.SSLZeroReturnError):
        # A killed registry does this, and so does one that wants a client certificate; OpenSSL does not say which.
        return _perhaps_sent("the connection was cut within TLS; maybe the registry wants a client certificate")
    if cause := first(ssl.SSLError) or first(requests.exceptions.SSLError):
        # In OpenSSL's spelling, so that users can search for it. An alert about a certificate comes from the registry,
        # so it is about the client's certificate.
        words = str(getattr(cause, "reason", "") or "handshake failed").replace("_", " ")
        if ("ALERT" in words and "CERT" in words) or "UNKNOWN CA" in words:
            return _never_sent(f"it does not accept the client certificate, or wants one ({words})", again=False)
        return _never_sent(
            f"TLS failed ({words}); maybe the URL must begin with http:// instead of https://", again=False
        )
    if first(urllib3.exceptions.ProxyError, requests.exceptions.ProxyError):
        return _never_sent(f"the proxy {proxy_url} does not pass the request on ({_proxy_words(chain)})")
    if first(urllib3.exceptions.NameResolutionError):
        return _never_sent("its host name cannot be resolved (DNS)")
    if first(ConnectionRefusedError):
        return _never_sent("connection refused")
    if first(requests.exceptions.ConnectTimeout):
        return _never_sent(f"no connection within {connect_timeout_s:g} s (time-out)")
    if cause := first(urllib3.exceptions.NewConnectionError):
        return _never_sent(f"no connection ({_system_words(chain) or 'it could not be opened'})")
    if first(requests.exceptions.ReadTimeout, urllib3.exceptions.ReadTimeoutError, TimeoutError):
        return _perhaps_sent(f"no answer within {read_timeout_s:g} s (time-out)")
    if first(requests.exceptions.ContentDecodingError, urllib3.exceptions.DecodeError):
        return _perhaps_sent("its answer could not be decompressed")
    if first(requests.ConnectionError, requests.exceptions.ChunkedEncodingError, urllib3.exceptions.ProtocolError):
        return _perhaps_sent("the connection was cut before the answer was complete")
    if ca_file is not None and not Path(ca_file).is_file():
        return _never_sent(f"the CA file {ca_file!r} no longer exists", again=False)
    return _never_sent(_system_words(chain) or f"the request could not be sent ({type(error).__name__})", again=False)


def _never_sent(reason: str, *, again: bool = True) -> Failure:
    return Failure(reason=reason, is_worth_repeating=again, is_lost=False)


def _perhaps_sent(reason: str) -> Failure:
    return Failure(reason=reason, is_worth_repeating=True, is_lost=True)


def _system_words(chain: list[BaseException]) -> str:
    words = next((link.strerror for link in chain if isinstance(link, OSError) and link.strerror), "")
    return words and words[0].lower() + words[1:]


def _proxy_words(chain: list[BaseException]) -> str:
    """The reason: only the status of the proxy's message, because the rest may quote the request."""
    if any(isinstance(link, urllib3.exceptions.NameResolutionError) for link in chain):
        return "its host name cannot be resolved"
    refusal = next((match for link in chain if (match := _TUNNEL_REFUSED.search(str(link)))), None)
    if refusal is not None:
        return f"HTTP {refusal[1]}" + (", it wants other credentials" if refusal[1] == "407" else "")
    return _system_words(chain) or "no connection"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and all exceptions that it wraps. urllib3 and requests also pass causes as arguments and as
    `reason`."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        link = waiting.pop(0)
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [*link.args, getattr(link, "reason", None), link.__cause__, link.__context__]
