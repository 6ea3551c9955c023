"""Client properties for the schema registry: Confluent's names, with or without the prefix `schema.registry.`; and the
client for them. Importing this module loads no HTTP client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from srfix.serde.bounds import CONNECT_SECONDS, REGISTRY_READ_SECONDS, AnswerBounds, UnknownIdBounds
from srfix.serde.casing import is_same
from srfix.serde.errors import UsageError
from srfix.serde.properties.java.tls import STORE_NAMES, from_stores
from srfix.serde.properties.kafka_client import together
from srfix.serde.properties.settings_table import Setting, fields_of
from srfix.serde.property_names import shown

if TYPE_CHECKING:
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.registry.http.retry import RetryPolicy
    from srfix.serde.registry.http.tls import ClientCertificate, ClientCertificateText
    from srfix.serde.registry.secret import Auth

_PREFIX: Final = "schema.registry."
_RULE: Final = "ssl.endpoint.identification.algorithm"
_SOURCES: Final = ("USER_INFO", "URL", "SASL_INHERIT")
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
    "srfix fetches no tokens. Let another program write the token to a file, and give bearer.auth.token=file:PATH; "
    "srfix reads the file again for each request."
)
_REFUSED: Final = (
    (
        re.compile(r"ssl\.(?:truststore|keystore|key|certificate)\..+"),
        "Give PEM files: ssl.ca.location for the CA; ssl.certificate.location, ssl.key.location and ssl.key.password "
        "for a client certificate.",
    ),
    (
        re.compile(r"ssl\.endpoint\.identification\.algorithm"),
        "srfix always checks that the certificate belongs to the host, as https requires. Leave the property out.",
    ),
    (re.compile(r"bearer\.auth\..+"), _FETCH_IT_YOURSELF),
    (re.compile(r"(?:https?\.)?proxy.*"), "Give proxy=http://HOST:PORT."),
    (re.compile(r"timeout"), "Give http.connect.timeout.ms and http.read.timeout.ms."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    urls: str | None = field(default=None, repr=False)
    """The URLs, joined with commas; they may hold credentials."""
    credentials_source: str = "URL"
    user_info: str | None = field(default=None, repr=False)
    """USER:PASSWORD. PASSWORD, or the whole value, may be `env:NAME` or `file:PATH`."""
    bearer_token: str | None = field(default=None, repr=False)
    """A bearer token, or `env:NAME` or `file:PATH`, which are read again for each request."""
    logical_cluster: str | None = None
    """Confluent Cloud's registry, `lsrc-…`."""
    identity_pool: str | None = None
    """Confluent Cloud's identity pool, `pool-…`."""
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    """None if the private key is in the certificate's file."""
    ca_pem: str | None = None
    certificate_pem: str | None = None
    key_pem: str | None = field(default=None, repr=False)
    """A PEM text, or `env:NAME` or `file:PATH`."""
    key_password: str | None = field(default=None, repr=False)
    """The key's password, or `env:NAME` or `file:PATH`."""
    proxy: str | None = field(default=None, repr=False)
    """`http://[USER:PASSWORD@]HOST:PORT`, or `env:NAME` or `file:PATH` for the whole."""
    connect_timeout_s: float = CONNECT_SECONDS
    read_timeout_s: float = REGISTRY_READ_SECONDS
    max_retries: int | None = None
    """The number of repetitions of a request; None for the client's default."""
    retry_wait_s: float | None = None
    """The upper limit of the first wait between attempts, in seconds; None for the client's default."""
    retry_max_wait_s: float | None = None
    """The longest wait between attempts, in seconds; None for the client's default."""
    bounds: AnswerBounds = AnswerBounds()  # noqa: RUF009  (frozen)
    unknown_ids: UnknownIdBounds = UnknownIdBounds()  # noqa: RUF009  (frozen)


def is_registry_property(name: str) -> bool:
    """True for a name of the registry's, in a properties file that holds both Kafka's and the registry's properties."""
    return name.startswith((_PREFIX, "basic.auth.", "bearer.auth."))


def registry_settings(properties: Mapping[str, str]) -> RegistrySettings:
    # Java's rule for the names in certificates may be given, if it is the rule that srfix also applies.
    short = {
        name: value for name, value in short_names(properties).items() if name != _RULE or not is_same(value, "https")
    }
    converted, wrong = from_stores(short)
    if wrong:
        raise UsageError(f"For the registry: {together('the configuration', wrong)}")
    by_name = {_known_name(name): value for name, value in converted.items()}
    fields = fields_of(_KNOWN, by_name)
    user_info = by_name.get("basic.auth.user.info")
    source = by_name.get("basic.auth.credentials.source") or ("URL" if user_info is None else "USER_INFO")
    if source not in _SOURCES:
        raise UsageError(f"The registry property basic.auth.credentials.source must be one of {', '.join(_SOURCES)}.")
    if source == "USER_INFO" and user_info is None:
        raise UsageError(
            "basic.auth.credentials.source=USER_INFO needs basic.auth.user.info=USER:PASSWORD; "
            "the password may be env:NAME or file:PATH."
        )
    bearer_token = _bearer_token(by_name)
    if bearer_token is not None and (user_info is not None or "basic.auth.credentials.source" in by_name):
        raise UsageError(
            "The registry gets one kind of credentials: basic.auth.user.info or bearer.auth.token, not both."
        )
    if ("ssl.certificate.pem" in by_name) != ("ssl.key.pem" in by_name):
        raise UsageError("The registry properties ssl.certificate.pem and ssl.key.pem belong together; one is missing.")
    has_certificate = not by_name.keys().isdisjoint({"ssl.certificate.location", "ssl.certificate.pem"})
    if not has_certificate and by_name.keys() & {"ssl.key.location", "ssl.key.password"}:
        raise UsageError("The registry properties ssl.key.location and ssl.key.password need ssl.certificate.location.")
    return RegistrySettings(
        **fields,
        credentials_source=source,
        user_info=user_info if source == "USER_INFO" else None,
        bearer_token=bearer_token,
        bounds=answer_bounds(by_name),
        unknown_ids=_unknown_ids(by_name),
    )


def answer_bounds(properties: Mapping[str, str], *, default: AnswerBounds = AnswerBounds()) -> AnswerBounds:  # noqa: B008
    """The limits for answers from properties with short names; other properties are ignored."""
    changed: dict[str, float] = {}
    for bound, name in ANSWER_BOUNDS.items():
        if name not in properties:
            continue
        number = _number(name, properties[name])
        if number == 0:
            raise UsageError(f"The property {name} must be more than 0.")
        changed[bound] = number / 1000 if name.endswith(".ms") else number
    return replace(default, **changed)  # type: ignore[arg-type]


def _unknown_ids(properties: Mapping[str, str]) -> UnknownIdBounds:
    names = {"remember_s": "missing.id.cache.ttl.sec", "most": "missing.cache.size"}
    return UnknownIdBounds(
        **{bound: _number(name, properties[name]) for bound, name in names.items() if name in properties}
    )


def short_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without the prefix `schema.registry.`, so that both spellings count as the same property."""
    return {name.removeprefix(_PREFIX): value for name, value in properties.items()}


def _bearer_token(properties: Mapping[str, str]) -> str | None:
    source = properties.get("bearer.auth.credentials.source", "STATIC_TOKEN")
    if source != "STATIC_TOKEN":
        raise UsageError(
            f"The registry property bearer.auth.credentials.source must be STATIC_TOKEN. {_FETCH_IT_YOURSELF}"
        )
    token = properties.get("bearer.auth.token")
    if token is None and any(name.startswith("bearer.auth.") for name in properties):
        raise UsageError(
            "The registry properties bearer.auth.… need bearer.auth.token; it may be env:NAME or file:PATH."
        )
    return token


def why_not_of_the_registry(name: str) -> str | None:
    """What to do instead of a refused property (by its short name); "" for an unknown one, None for an accepted one."""
    if name in _KNOWN or name in STORE_NAMES or name == _RULE:
        return None
    return next((advice for pattern, advice in _REFUSED if pattern.fullmatch(name)), "")


def _known_name(name: str) -> str:
    if name in _KNOWN:
        return name
    for pattern, advice in _REFUSED:
        if pattern.fullmatch(name):
            raise UsageError(f"The registry property {shown(name)} is not supported. {advice}")
    raise UsageError(f"Unknown registry property {shown(name)}. The known properties are: {', '.join(_KNOWN)}.")


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"The registry property {name} must be a whole number.")
    return int(value)


def _seconds(name: str, value: str) -> float:
    return _number(name, value) / 1000


def _timeout(field: str, default: float) -> Setting[Enum]:
    """Zero milliseconds mean the default."""
    return Setting(check=lambda name, value: _seconds(name, value) or default, default=default, field=field)


_KNOWN: Final[Mapping[str, Setting[Enum]]] = {
    "basic.auth.credentials.source": Setting(),
    "basic.auth.user.info": Setting(),
    "bearer.auth.credentials.source": Setting(),
    "bearer.auth.identity.pool.id": Setting(field="identity_pool"),
    "bearer.auth.logical.cluster": Setting(field="logical_cluster"),
    "bearer.auth.token": Setting(),
    "http.answer.deadline.ms": Setting(check=_number),
    "http.answer.max.bytes": Setting(check=_number),
    "http.answer.max.head.bytes": Setting(check=_number),
    "http.answer.max.parts": Setting(check=_number),
    "http.connect.timeout.ms": _timeout("connect_timeout_s", CONNECT_SECONDS),
    "http.listing.deadline.ms": Setting(check=_number),
    "http.listing.max.pages": Setting(check=_number),
    "http.read.timeout.ms": _timeout("read_timeout_s", REGISTRY_READ_SECONDS),
    "max.retries": Setting(check=_number, field="max_retries"),
    "missing.cache.size": Setting(check=_number),
    "missing.id.cache.ttl.sec": Setting(check=_number),
    "proxy": Setting(field="proxy"),
    "retries.max.wait.ms": Setting(check=_seconds, field="retry_max_wait_s"),
    "retries.wait.ms": Setting(check=_seconds, field="retry_wait_s"),
    "ssl.ca.location": Setting(field="ca_file"),
    "ssl.ca.pem": Setting(field="ca_pem"),
    "ssl.certificate.location": Setting(field="certificate_file"),
    "ssl.certificate.pem": Setting(field="certificate_pem"),
    "ssl.key.location": Setting(field="key_file"),
    "ssl.key.password": Setting(field="key_password"),
    "ssl.key.pem": Setting(field="key_pem"),
    "url": Setting(field="urls"),
}


def open_registry(settings: RegistrySettings, urls: str, *, kafka: Mapping[str, str]) -> RegistryClient:
    """A client for the registry at `urls`; close it after use. SASL_INHERIT uses the credentials in `kafka`."""
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.registry.secret import revealed

    return RegistryClient(
        urls,
        auth=_auth(settings, kafka),
        ca_file=settings.ca_file,
        ca_pem=settings.ca_pem,
        client_certificate=_client_certificate(settings),
        proxy=None if settings.proxy is None else revealed(settings.proxy),
        connect_timeout_s=settings.connect_timeout_s,
        read_timeout_s=settings.read_timeout_s,
        retry=_retry_policy(settings),
        bounds=settings.bounds,
        unknown_ids=settings.unknown_ids,
    )


def _retry_policy(settings: RegistrySettings) -> RetryPolicy:
    from srfix.serde.registry.http.retry import RetryPolicy

    default = RetryPolicy()
    return RetryPolicy(
        max_attempts=default.max_attempts if settings.max_retries is None else settings.max_retries + 1,
        initial_wait_s=default.initial_wait_s if settings.retry_wait_s is None else settings.retry_wait_s,
        max_wait_s=default.max_wait_s if settings.retry_max_wait_s is None else settings.retry_max_wait_s,
    )


def _client_certificate(settings: RegistrySettings) -> ClientCertificate | ClientCertificateText | None:
    from srfix.serde.registry.http.tls import ClientCertificate, ClientCertificateText
    from srfix.serde.registry.secret import Secret

    password = None if settings.key_password is None else Secret.parse(settings.key_password)
    if settings.certificate_pem is not None and settings.key_pem is not None:
        key = Secret.parse(settings.key_pem)
        return ClientCertificateText(chain=settings.certificate_pem, key=key, key_password=password)
    if settings.certificate_file is None:
        return None
    return ClientCertificate(
        certificate_file=settings.certificate_file, key_file=settings.key_file, key_password=password
    )


def _auth(settings: RegistrySettings, kafka: Mapping[str, str]) -> Auth | None:
    from srfix.serde.registry.secret import BasicAuth, BearerAuth, Secret, revealed

    if settings.bearer_token is not None:
        token = Secret.parse(settings.bearer_token)
        return BearerAuth(token, logical_cluster=settings.logical_cluster, identity_pool=settings.identity_pool)
    if settings.credentials_source == "SASL_INHERIT":
        try:
            username, password = kafka["sasl.username"], kafka["sasl.password"]
        except KeyError as missing:
            raise UsageError(
                f"basic.auth.credentials.source=SASL_INHERIT needs the Kafka property {missing.args[0]}."
            ) from None
        return BasicAuth(revealed(username), Secret.parse(password))
    return None if settings.user_info is None else BasicAuth.parse(revealed(settings.user_info))
