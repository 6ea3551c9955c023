"""An HTTP answer, and the error for it if it is not a registry's good answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, cast

from srfix.serde.errors import RegistryError
from srfix.serde.printable import foreign, is_printable, one_line
from srfix.serde.registry.http.auth import Credentials
from srfix.serde.registry.http.urls import without_user_info
from srfix.serde.schemas.errors import RegistryProtocolError, answer_error_class
from srfix.serde.schemas.models import Json

_BEGINNING = 80
"""The number of printable characters of a foreign body that a message shows."""
_NOT_JSON: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of one URL."""

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
    """The body, decompressed."""

    @property
    def is_good(self) -> bool:
        """True for a 2xx status."""
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
        """True for 408, 429 and 5xx."""
        return self.status in (408, 429) or self.status >= 500

    @property
    def is_final(self) -> bool:
        """False if another URL may succeed (502, 503, 504): the node is down, but the request is fine."""
        return self.status not in (502, 503, 504)

    @property
    def is_lost(self) -> bool:
        """True if the registry may have carried out the request without a confirmation: 5xx, such as a gateway's 502
        and 504, or the registry's own 50002 and 50003, whose write may be in its Kafka topic."""
        return self.status >= 500

    def json(self) -> Json:
        """The body of a good answer."""
        document = self._document()
        if document is _NOT_JSON:
            raise self.foreign("its body is not JSON")
        return cast(Json, document)

    def error(self, *, earlier_attempt_lost: bool) -> RegistryError:
        """The error for this answer."""
        document, code = self._document(), self._error_code()
        if not isinstance(code, int) and self.status not in (401, 403):
            return self.foreign(self._what_is_wrong(document))
        message = document.get("message") if isinstance(document, dict) else None
        return answer_error_class(self.status, code if isinstance(code, int) else self.status)(
            self.status,
            code if isinstance(code, int) else self.status,
            self._scrub(_sentence(message)),
            self.url,
            method=self.method,
            earlier_attempt_lost=earlier_attempt_lost,
        )

    def foreign(self, problem: str) -> RegistryProtocolError:
        """The error for an answer that does not come from a registry."""
        text = "".join(c if is_printable(c) else " " for c in self.body[: 20 * _BEGINNING].decode("utf-8", "replace"))
        return RegistryProtocolError(
            status=self.status,
            content_type=self._scrub(self.content_type),
            # The text is scrubbed before it is cut, because half a secret would not be found.
            beginning=self._scrub(" ".join(text.split()))[:_BEGINNING],
            url=self.url,
            method=self.method,
            problem=problem,
        )

    @property
    def reason(self) -> str:
        """A few words for the list of each URL's answer."""
        document = self._document()
        if isinstance(document, dict) and isinstance(document.get("error_code"), int):
            words = one_line(self._scrub(_sentence(document.get("message")))[:_BEGINNING].rstrip(". "))
            return f"HTTP {self.status}, error {document['error_code']} {words}".rstrip()
        kind = foreign(self._scrub(self.content_type), _BEGINNING) or "no content type"
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
            target = foreign(self._scrub(without_user_info(self.location))) or "nowhere"
            return (
                f"it redirects to {target}, but srfix follows no redirects, because they would get the credentials, too"
            )
        if self.status == 407:
            return "a proxy wants other credentials than those in `proxy`"
        if document is _NOT_JSON:
            return "it is an error whose body is not JSON" if self.body else "it is an error without a body"
        return "it is an error without an error_code"

    def _scrub(self, text: str) -> str:
        return self.credentials.scrub(text)


def _sentence(message: object) -> str:
    """The registry's message; in Karapace's 422 it is a list."""
    if isinstance(message, str):
        return message
    return "" if message is None else json.dumps(message, ensure_ascii=False)
