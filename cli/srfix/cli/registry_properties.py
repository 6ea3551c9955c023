"""Client properties for the schema registry: Confluent's names, with or without `schema.registry.` before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from srfix.serde.errors import UsageError

__all__ = ["RegistrySettings", "is_registry_property", "registry_settings", "short_names"]

_PREFIX: Final = "schema.registry."
_SOURCES: Final = ("USER_INFO", "URL", "SASL_INHERIT")
_KNOWN: Final = (
    "basic.auth.credentials.source",
    "basic.auth.user.info",
    "http.connect.timeout.ms",
    "http.read.timeout.ms",
    "max.retries",
    "ssl.ca.location",
    "url",
)
_REFUSED: Final = (
    (
        re.compile(r"ssl\.(?:truststore|keystore|key)\..+|ssl\.certificate\.location"),
        "Only the CA can be named, by ssl.ca.location (PEM); client certificates are not supported yet.",
    ),
    (re.compile(r"bearer\.auth\..+"), "Only basic authentication is supported yet: basic.auth.user.info."),
    (re.compile(r"proxy.*"), "srfix does not go through a proxy; give a URL that can be reached directly."),
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
    ca_file: str | None = None
    """PEM file of the CA."""
    connect_timeout_s: float = 5.0
    """Seconds to wait for a connection."""
    read_timeout_s: float = 30.0
    """Seconds to wait for an answer."""
    max_retries: int | None = None
    """How often a request is repeated; None for the client's default."""


def is_registry_property(name: str) -> bool:
    """True for a name that belongs to the registry in a properties file that has both kinds."""
    return name.startswith((_PREFIX, "basic.auth.", "bearer.auth."))


def registry_settings(properties: Mapping[str, str]) -> RegistrySettings:
    """The settings that the properties make.

    :raises UsageError: if one is unknown, not supported, or not a number where one is needed.
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
    return RegistrySettings(
        urls=given.get("url"),
        credentials_source=source,
        user_info=user_info if source == "USER_INFO" else None,
        ca_file=given.get("ssl.ca.location"),
        connect_timeout_s=(_number(given, "http.connect.timeout.ms") or 5000) / 1000,
        read_timeout_s=(_number(given, "http.read.timeout.ms") or 30000) / 1000,
        max_retries=_number(given, "max.retries"),
    )


def short_names(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without `schema.registry.` before their names, so that one can stand in for another."""
    return {name.removeprefix(_PREFIX): value for name, value in properties.items()}


def _known_name(name: str) -> str:
    if name in _KNOWN:
        return name
    for pattern, advice in _REFUSED:
        if pattern.fullmatch(name):
            raise UsageError(f"The registry property {name} is not supported. {advice}")
    raise UsageError(f"There is no registry property {name}. Known are: {', '.join(_KNOWN)}.")


def _number(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"The registry property {name} must be a whole number.")
    return int(value)
