"""Client properties for the schema registry: Confluent's names, with or without `schema.registry.` before; and the client
that they make. Importing this loads no HTTP client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from srfix.serde.bounds import CONNECT_SECONDS, REGISTRY_READ_SECONDS, AnswerBounds, UnknownIdBounds
from srfix.serde.errors import UsageError
from srfix.serde.property_names import shown

if TYPE_CHECKING:
    from srfix.serde.registry import Auth, BasicAuth, ClientCertificate, RegistryClient, RetryPolicy

__all__ = [
    "RegistrySettings",
    "answer_bounds",
    "is_registry_property",
    "open_registry",
    "registry_settings",
    "short_names",
]

_PREFIX: Final = "schema.registry."
_SOURCES: Final = ("USER_INFO", "URL", "SASL_INHERIT")
_KNOWN: Final = (
    "basic.auth.credentials.source",
    "basic.auth.user.info",
    "bearer.auth.credentials.source",
    "bearer.auth.identity.pool.id",
    "bearer.auth.logical.cluster",
    "bearer.auth.token",
    "http.answer.deadline.ms",
    "http.answer.max.bytes",
    "http.answer.max.head.bytes",
    "http.answer.max.parts",
    "http.connect.timeout.ms",
    "http.listing.deadline.ms",
    "http.listing.max.pages",
    "http.read.timeout.ms",
    "max.retries",
    "missing.cache.size",
    "missing.id.cache.ttl.sec",
    "proxy",
    "retries.max.wait.ms",
    "retries.wait.ms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
    "url",
)
ANSWER_BOUNDS: Final = {
    "body_bytes": "http.answer.max.bytes",
    "head_bytes": "http.answer.max.head.bytes",
    "json_parts": "http.answer.max.parts",
    "deadline_s": "http.answer.deadline.ms",
    "pages": "http.listing.max.pages",
    "listing_deadline_s": "http.listing.deadline.ms",
}
"""The property that changes each field of `AnswerBounds`."""
_FETCH_IT_YOURSELF: Final = (
    "srfix fetches no tokens: let something else write one to a file, and give bearer.auth.token=file:PATH; "
    "the file is read anew for each request."
)
_REFUSED: Final = (
    (
        re.compile(r"ssl\.(?:truststore|keystore|key|certificate)\..+"),
        "Give PEM files: ssl.ca.location for the CA; ssl.certificate.location, ssl.key.location and ssl.key.password "
        "for a client certificate.",
    ),
    (re.compile(r"bearer\.auth\..+"), _FETCH_IT_YOURSELF),
    (re.compile(r"(?:https?\.)?proxy.*"), "Give proxy=http://HOST:PORT."),
    (re.compile(r"timeout"), "Give http.connect.timeout.ms and http.read.timeout.ms."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """How the registry is reached."""

    urls: str | None = field(default=None, repr=False)
    """The URLs, comma-joined; they may hold credentials."""
    credentials_source: str = "URL"
    """USER_INFO, URL or SASL_INHERIT."""
    user_info: str | None = field(default=None, repr=False)
    """USER:PASSWORD, where PASSWORD or the whole may be `env:NAME` or `file:PATH`."""
    bearer_token: str | None = field(default=None, repr=False)
    """A bearer token, or `env:NAME` or `file:PATH`, which are read anew for each request."""
    logical_cluster: str | None = None
    """Confluent Cloud's registry, `lsrc-…`."""
    identity_pool: str | None = None
    """Confluent Cloud's identity pool, `pool-…`."""
    ca_file: str | None = None
    """PEM file of the CA."""
    certificate_file: str | None = None
    """PEM file of the client certificate."""
    key_file: str | None = None
    """PEM file of its private key; None if it is in the certificate's file."""
    key_password: str | None = field(default=None, repr=False)
    """The key's password, or `env:NAME` or `file:PATH`."""
    proxy: str | None = field(default=None, repr=False)
    """`http://[USER:PASSWORD@]HOST:PORT`, or `env:NAME` or `file:PATH` for the whole."""
    connect_timeout_s: float = CONNECT_SECONDS
    """Seconds to wait for a connection."""
    read_timeout_s: float = REGISTRY_READ_SECONDS
    """Seconds to wait for an answer."""
    max_retries: int | None = None
    """How often a request is repeated; None for the client's default."""
    retry_wait_s: float | None = None
    """Upper end of the first wait between attempts, in seconds; None for the client's default."""
    retry_max_wait_s: float | None = None
    """No wait between attempts is longer, in seconds; None for the client's default."""
    bounds: AnswerBounds = AnswerBounds()  # noqa: RUF009  (frozen)
    """What an answer may take."""
    unknown_ids: UnknownIdBounds = UnknownIdBounds()  # noqa: RUF009  (frozen)
    """How long it is remembered that the registry does not know an id."""


def is_registry_property(name: str) -> bool:
    """True for a name that belongs to the registry in a properties file that has both kinds."""
    return name.startswith((_PREFIX, "basic.auth.", "bearer.auth."))


def registry_settings(properties: Mapping[str, str]) -> RegistrySettings:
    """The settings that the properties make.

    :raises UsageError: if one is unknown, not supported, or not a number where one is needed, or if they contradict
        each other.
    """
    given = {_known_name(name): value for name, value in short_names(properties).items()}
    user_info = given.get("basic.auth.user.info")
    source = given.get("basic.auth.credentials.source") or ("URL" if user_info is None else "USER_INFO")
    if source not in _SOURCES:
        raise UsageError(f"The registry property basic.auth.credentials.source must be one of {', '.join(_SOURCES)}.")
    if source == "USER_INFO" and user_info is None:
        raise UsageError(
            "basic.auth.credentials.source=USER_INFO needs basic.auth.user.info=USER:PASSWORD; "
            "the password may be env:NAME or file:PATH."
        )
    bearer_token = _bearer_token(given)
    if bearer_token is not None and (user_info is not None or "basic.auth.credentials.source" in given):
        raise UsageError(
            "The registry gets one kind of credentials: basic.auth.user.info or bearer.auth.token, not both."
        )
    if "ssl.certificate.location" not in given and given.keys() & {"ssl.key.location", "ssl.key.password"}:
        raise UsageError("The registry properties ssl.key.location and ssl.key.password need ssl.certificate.location.")
    return RegistrySettings(
        urls=given.get("url"),
        credentials_source=source,
        user_info=user_info if source == "USER_INFO" else None,
        bearer_token=bearer_token,
        logical_cluster=given.get("bearer.auth.logical.cluster"),
        identity_pool=given.get("bearer.auth.identity.pool.id"),
        ca_file=given.get("ssl.ca.location"),
        certificate_file=given.get("ssl.certificate.location"),
        key_file=given.get("ssl.key.location"),
        key_password=given.get("ssl.key.password"),
        proxy=given.get("proxy"),
        connect_timeout_s=_seconds(given, "http.connect.timeout.ms") or CONNECT_SECONDS,
        read_timeout_s=_seconds(given, "http.read.timeout.ms") or REGISTRY_READ_SECONDS,
        max_retries=_number(given, "max.retries"),
        retry_wait_s=_seconds(given, "retries.wait.ms"),
        retry_max_wait_s=_seconds(given, "retries.max.wait.ms"),
        bounds=answer_bounds(given),
        unknown_ids=_unknown_ids(given),
    )


def answer_bounds(given: Mapping[str, str], *, default: AnswerBounds = AnswerBounds()) -> AnswerBounds:  # noqa: B008
    """What an answer may take, as the properties say, under their short names; others are passed over.

    :raises UsageError: if one is no number, or not more than 0.
    """
    changed: dict[str, float] = {}
    for bound, name in ANSWER_BOUNDS.items():
        number = _number(given, name)
        if number == 0:
            raise UsageError(f"The property {name} must be more than 0.")
        if number is not None:
            changed[bound] = number / 1000 if name.endswith(".ms") else number
    return replace(default, **changed)  # type: ignore[arg-type]


def _unknown_ids(given: Mapping[str, str]) -> UnknownIdBounds:
    default = UnknownIdBounds()
    remember_s, most = _number(given, "missing.id.cache.ttl.sec"), _number(given, "missing.cache.size")
    return UnknownIdBounds(
        remember_s=default.remember_s if remember_s is None else remember_s, most=default.most if most is None else most
    )


def short_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without `schema.registry.` before their names, so that one can stand in for another."""
    return {name.removeprefix(_PREFIX): value for name, value in properties.items()}


def _bearer_token(given: Mapping[str, str]) -> str | None:
    source = given.get("bearer.auth.credentials.source", "STATIC_TOKEN")
    if source != "STATIC_TOKEN":
        raise UsageError(
            f"The registry property bearer.auth.credentials.source must be STATIC_TOKEN. {_FETCH_IT_YOURSELF}"
        )
    token = given.get("bearer.auth.token")
    if token is None and any(name.startswith("bearer.auth.") for name in given):
        raise UsageError(
            "The registry properties bearer.auth.… need bearer.auth.token; it may be env:NAME or file:PATH."
        )
    return token


def _known_name(name: str) -> str:
    if name in _KNOWN:
        return name
    for pattern, advice in _REFUSED:
        if pattern.fullmatch(name):
            raise UsageError(f"The registry property {shown(name)} is not supported. {advice}")
    raise UsageError(f"There is no registry property {shown(name)}. Known are: {', '.join(_KNOWN)}.")


def _seconds(given: Mapping[str, str], name: str) -> float | None:
    milliseconds = _number(given, name)
    return None if milliseconds is None else milliseconds / 1000


def _number(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"The registry property {name} must be a whole number.")
    return int(value)


def open_registry(settings: RegistrySettings, urls: str, *, kafka: Mapping[str, str]) -> RegistryClient:
    """A client for the registry; close it after use. It sends nothing yet.

    :param urls: the URLs; `settings.urls` may be None.
    :param kafka: the Kafka properties, whose SASL credentials SASL_INHERIT means; values may be `env:NAME` or `file:PATH`.
    :raises UsageError: if the settings do not go together.
    :raises SecretError: if the user information, the proxy or the key's password is a reference that cannot be read.
    """
    from srfix.serde.registry import RegistryClient
    from srfix.serde.registry.secret import revealed

    return RegistryClient(
        urls,
        auth=_auth(settings, kafka),
        ca_file=settings.ca_file,
        client_certificate=_client_certificate(settings),
        proxy=None if settings.proxy is None else revealed(settings.proxy),
        connect_timeout_s=settings.connect_timeout_s,
        read_timeout_s=settings.read_timeout_s,
        retry=_retry_policy(settings),
        bounds=settings.bounds,
        unknown_ids=settings.unknown_ids,
    )


def _retry_policy(settings: RegistrySettings) -> RetryPolicy:
    from srfix.serde.registry import RetryPolicy

    default = RetryPolicy()
    return RetryPolicy(
        max_attempts=default.max_attempts if settings.max_retries is None else settings.max_retries + 1,
        initial_wait_s=default.initial_wait_s if settings.retry_wait_s is None else settings.retry_wait_s,
        max_wait_s=default.max_wait_s if settings.retry_max_wait_s is None else settings.retry_max_wait_s,
    )


def _client_certificate(settings: RegistrySettings) -> ClientCertificate | None:
    from srfix.serde.registry import ClientCertificate, Secret

    if settings.certificate_file is None:
        return None
    return ClientCertificate(
        certificate_file=settings.certificate_file,
        key_file=settings.key_file,
        key_password=None if settings.key_password is None else Secret.parse(settings.key_password),
    )


def _auth(settings: RegistrySettings, kafka: Mapping[str, str]) -> Auth | None:
    from srfix.serde.registry import BearerAuth, Secret

    if settings.bearer_token is None:
        return _basic_auth(settings, kafka)
    return BearerAuth(
        Secret.parse(settings.bearer_token),
        logical_cluster=settings.logical_cluster,
        identity_pool=settings.identity_pool,
    )


def _basic_auth(settings: RegistrySettings, kafka: Mapping[str, str]) -> BasicAuth | None:
    from srfix.serde.registry import BasicAuth, Secret
    from srfix.serde.registry.secret import revealed

    if settings.credentials_source == "SASL_INHERIT":
        try:
            username, password = kafka["sasl.username"], kafka["sasl.password"]
        except KeyError as missing:
            raise UsageError(
                f"basic.auth.credentials.source=SASL_INHERIT needs the Kafka property {missing.args[0]}."
            ) from None
        return BasicAuth(revealed(username), Secret.parse(password))
    if settings.user_info is None:
        return None
    return BasicAuth.parse(revealed(settings.user_info))
