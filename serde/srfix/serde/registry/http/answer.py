"""What comes of a request: an HTTP answer and its error, or a failure. Only this module knows the exceptions of
requests, urllib3 and ssl, and it never uses their text, because it may quote URLs and headers.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, cast

import requests
import urllib3.exceptions

from srfix.serde.errors import RegistryError
from srfix.serde.printable import foreign, is_printable, one_line
from srfix.serde.registry.http.urls import without_user_info
from srfix.serde.registry.secret import Credentials
from srfix.serde.schemas.errors import RegistryProtocolError, answer_error_class
from srfix.serde.schemas.models import Json

_BEGINNING = 80
"""The number of printable characters of a foreign body that a message shows."""
_NOT_JSON: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    method: str
    url: str
    """The request's URL, without secrets."""
    context: str | None
    """The URL's context; None for the default context."""
    credentials: Credentials
    """The credentials of the request, to remove them from the answer's text."""
    status: int
    content_type: str = field(repr=False)
    """The Content-Type header, or empty. Not in the repr, like the next two, because they are not scrubbed."""
    location: str = field(repr=False)
    """The Location header, or empty."""
    retry_after_s: float | None
    """The wait in seconds that the answer asks for."""
    body: bytes = field(repr=False)

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def names_no_leader(self) -> bool:
        """True for 50003 and 50004: the registry cannot write yet, because its nodes have no leader."""
        return self.status >= 500 and self._error_code() in (50003, 50004)

    @property
    def may_be_a_followers(self) -> bool:
        """True for 42205, 50003 and 50004: a node sends these if it may not write itself, but another node may."""
        return self.status >= 400 and self._error_code() in (42205, 50003, 50004)

    @property
    def is_worth_repeating(self) -> bool:
        return self.status in (408, 429) or self.status >= 500

    @property
    def is_final(self) -> bool:
        """False if another URL may succeed (502, 503, 504): the node is down, but the request is fine."""
        return self.status not in (502, 503, 504)

    @property
    def is_lost(self) -> bool:
        """True if the request may have been carried out: 5xx, also the registry's own 50002 and 50003."""
        return self.status >= 500

    def json(self) -> Json:
        document = self._document()
        if document is _NOT_JSON:
            raise self.foreign("its body is not JSON")
        return cast(Json, document)

    def error(self, *, earlier_attempt_lost: bool) -> RegistryError:
        document, code = self._document(), self._error_code()
        if not isinstance(code, int) and self.status not in (401, 403):
            return self.foreign(self._what_is_wrong(document))
        message = document.get("message") if isinstance(document, dict) else None
        code = code if isinstance(code, int) else self.status
        return answer_error_class(self.status, code)(
            self.status,
            code,
            self.credentials.scrub(_sentence(message)),
            self.url,
            method=self.method,
            earlier_attempt_lost=earlier_attempt_lost,
        )

    def foreign(self, problem: str) -> RegistryProtocolError:
        text = "".join(c if is_printable(c) else " " for c in self.body[: 20 * _BEGINNING].decode("utf-8", "replace"))
        return RegistryProtocolError(
            status=self.status,
            content_type=self.credentials.scrub(self.content_type),
            # The text is scrubbed before it is cut, because half a secret would not be found.
            beginning=self.credentials.scrub(" ".join(text.split()))[:_BEGINNING],
            url=self.url,
            method=self.method,
            problem=problem,
        )

    @property
    def reason(self) -> str:
        """A few words for the list of each URL's answer."""
        document = self._document()
        if isinstance(document, dict) and isinstance(document.get("error_code"), int):
            words = one_line(self.credentials.scrub(_sentence(document.get("message")))[:_BEGINNING].rstrip(". "))
            return f"HTTP {self.status}, error {document['error_code']} {words}".rstrip()
        kind = foreign(self.credentials.scrub(self.content_type), _BEGINNING) or "no content type"
        return f"HTTP {self.status}, not a schema registry's answer ({kind})"

    def _document(self) -> object:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return _NOT_JSON

    def _error_code(self) -> object:
        document = self._document()
        return document.get("error_code") if isinstance(document, dict) else None

    def _what_is_wrong(self, document: object) -> str:
        if 300 <= self.status < 400:
            target = foreign(self.credentials.scrub(without_user_info(self.location))) or "nowhere"
            return f"it redirects to {target}, but srfix follows no redirects: the other server would get the credentials, too"
        if self.status == 407:
            return "a proxy wants other credentials than those in `proxy`"
        if document is _NOT_JSON:
            return "it is an error whose body is not JSON" if self.body else "it is an error without a body"
        return "it is an error without an error_code"


def _sentence(message: object) -> str:
    """The registry's message; in Karapace's 422 it is a list."""
    if isinstance(message, str):
        return message
    return "" if message is None else json.dumps(message, ensure_ascii=False)


TRANSPORT_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""The exceptions of sending. OSError: a missing CA file."""
_TUNNEL_REFUSED = re.compile(r"Tunnel connection failed: (\d{3})")
"""http.client's message if a proxy answers CONNECT with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    reason: str
    is_worth_repeating: bool
    """False if a repetition cannot help: a refused certificate."""
    is_lost: bool
    """True if the registry may have received the request, and so may have carried it out."""
    is_final: ClassVar = False
    """Another URL may succeed."""
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
    """The exception and all that it wraps; urllib3 and requests also pass causes as arguments and as `reason`."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        link = waiting.pop(0)
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [*link.args, getattr(link, "reason", None), link.__cause__, link.__context__]
