"""The registry's URLs, and the paths under them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote, urlencode, urlsplit

import requests

from srfix.serde.errors import UsageError
from srfix.serde.property_names import names_servers
from srfix.serde.registry.secret import Auth, BasicAuth, Secret
from srfix.serde.subjects.names import DEFAULT_CONTEXT

Query: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""Parameters of a request; a key with several values occurs several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    url: str
    """Scheme, host, port and base path, without user info and without a slash at the end."""
    auth: Auth | None
    """The credentials for only this URL."""

    @property
    def context(self) -> str | None:
        """The URL's context, to which its subjects without a context belong; None for the default one:
        `http://host/contexts/.ctx` (Confluent's `ContextFilter`, since 7.0)."""
        before, _, name = self.url.rpartition("/")
        context = unquote(name).strip(":")
        if not before.endswith("/contexts") or context in ("", DEFAULT_CONTEXT):
            return None
        return context if context.startswith(DEFAULT_CONTEXT) else f"{DEFAULT_CONTEXT}{context}"


def parse_urls(urls: str | Sequence[str], auth: Auth | None) -> tuple[Endpoint, ...]:
    """The URLs of a list (comma-separated, or a sequence). User info in a URL becomes credentials for only that URL."""
    parts = urls.split(",") if isinstance(urls, str) else list(urls)
    texts = [text.strip() for text in parts if text.strip()]
    if not texts:
        raise UsageError("No registry URL was given. Give one, such as http://registry:8081.")
    # If there is an @ anywhere, a text may be part of a password (for example one with a comma), so no text is shown.
    show = all(names_servers(text) for text in texts)
    endpoints = []
    for number, text in enumerate(texts, start=1):
        endpoint = _parse(text, auth)
        if isinstance(endpoint, str):
            hidden = f"number {number} of {len(texts)} (not shown, because it may contain a password)"
            raise UsageError(f"The registry URL {repr(text) if show else hidden} cannot be used: {endpoint}")
        endpoints.append(endpoint)
    return tuple(endpoints)


def parse_proxy(text: str) -> Endpoint:
    """The proxy in a text; user info may hold a percent-encoded `env:NAME` or `file:PATH` as the password."""
    endpoint = _parse(text.strip(), None, secret=Secret.parse)
    if not isinstance(endpoint, str) and "/" in endpoint.url.partition("//")[2]:
        endpoint = "a proxy's address has no path."
    if isinstance(endpoint, str):
        name = repr(text) if names_servers(text) else "(not shown, because it may contain a password)"
        raise UsageError(f"The proxy {name} for the registry cannot be used: {endpoint}")
    return endpoint


def _parse(text: str, auth: Auth | None, *, secret: Callable[[str], Secret] = Secret) -> Endpoint | str:
    """The endpoint, or the problem as a text: a parser's exception would hold the URL."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is not None or not parts.netloc.endswith(":")
    except ValueError:
        return "its host or port cannot be read. Percent-encode special characters in a user name or password."
    if parts.scheme not in ("http", "https") or not parts.hostname or not has_port:
        return "it needs the form http://host:port or https://host:port."
    if "@" in parts.path:
        return "there is an @ after its host. Percent-encode special characters in a user name or password."
    if parts.query or parts.fragment:
        return "it has a query or a fragment; the registry's address has neither."
    if parts.username is not None:
        if auth is not None:
            return "it has a user name, but credentials are also given separately. Give them only once."
        name = unquote(parts.username)
        if ":" in name:
            return "its user name has a colon, which basic authentication does not allow (RFC 7617)."
        auth = BasicAuth(name, secret(unquote(parts.password or "")))
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], path=parts.path.rstrip("/"))
    try:
        # requests prepares the URL once here: IDNA host names, percent-encoding in the base path.
        prepared = requests.Request("GET", bare.geturl()).prepare().url or ""
    except requests.RequestException:
        prepared = ""
    if not prepared:
        return "its host name is not valid."
    return Endpoint(url=prepared.rstrip("/"), auth=auth)


def path_of(*segments: str | int) -> str:
    """A path whose segments are literal: only RFC 3986's unreserved characters stay, and no `.` or `..` is a step."""
    return "".join(f"/{_segment(str(segment))}" for segment in segments)


def _segment(text: str) -> str:
    try:
        encoded = quote(text, safe="")
    except UnicodeEncodeError:
        encoded = ""
    if not encoded:
        raise UsageError(
            f"The name {text!r} cannot be part of a registry URL: it is empty or not valid Unicode. Check the subject."
        )
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def request_url(endpoint: Endpoint, path: str, query: Query) -> str:
    if not query:
        return f"{endpoint.url}{path}"
    return f"{endpoint.url}{path}?{urlencode(query, doseq=True, quote_via=quote, safe='')}"


def without_user_info(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an unreadable address"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
