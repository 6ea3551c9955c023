"""Keeps secrets out of all printed text, also after errors. Messages are built without secrets; this module is the second
safeguard, for the texts of click, of libraries and of tracebacks."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

from srfix.serde import bounds
from srfix.serde.errors import SrfixError
from srfix.serde.files import read_file
from srfix.serde.property_names import is_known, is_plain, names_servers, pieces

_HIDDEN = "***"
_SECRET_NAME = re.compile(r"(?i)password|secret|user\.info|token|credential|\.pem|keystore\.key|jaas|api\.?key")
_NO_SECRET_NAME = re.compile(r"(?i)credentials\.source$|token\.endpoint")
"""Properties that only sound like secrets: their values are a few known words, which messages may name."""
_PROPERTY = re.compile(r"(?:-[XR]|--[a-z-]+=)?\s*([A-Za-z][\w.-]*)\s*[=:]\s*(.+)", re.DOTALL)
_USER_INFO = re.compile(r"(?<=//)[^/@\s'\"]+(?=@)")
_URL_PASSWORD = re.compile(r"//[^/@\s:]*:([^/@\s]+)@")
_SPARKS: Final = re.compile(r"spark\.[\w.-]+", re.ASCII)
_REFERENCES = ("env:", "file:")
_OPTIONS: Final = ("-X", "-R", "--kafka-property", "--registry-property", "--spark-conf")
_URL_OPTIONS: Final = ("--registry", "--ksqldb", "--bootstrap-servers")
_GIVES: Final = re.compile(r"-[XR]|--(?:kafka-property|registry-property|spark-conf)=")
_VARIABLES: Final = ("SRFIX_KAFKA_PROPERTIES", "SRFIX_REGISTRY_PROPERTIES", "SRFIX_SPARK_CONF")
_URL_VARIABLES: Final = ("SRFIX_REGISTRY", "SRFIX_KSQLDB", "SRFIX_BOOTSTRAP_SERVERS")
_USER: Final = re.compile(r"^(https?://)[^/@\s:]*(?::[^/@\s]*)?@")
_PUBLIC: Final = re.compile(r"-----BEGIN CERTIFICATE-----[\sA-Za-z0-9+/=]*-----END CERTIFICATE-----|-----[A-Z ]+-----")
"""The parts of PEM that are not secret: certificates, and the lines around keys."""
_NO_SECRETS: Final = frozenset({"username", "clientId", "scope"})
"""Options that identify a log-in in JAAS entries."""
_NAME_BEFORE: Final = re.compile(r"[\w.-]{1,100}\Z")
_NAME_AFTER: Final = re.compile(r"[\w.-]{1,100}")
_SHORTEST = 4
"""If srfix also hid shorter secrets, half of every message would be hidden."""


def is_secret_property(text: str) -> bool:
    """True if `key=value` shows a secret: its name sounds like one, or a URL has credentials, and it is no reference."""
    key, _, value = text.partition("=")
    name, value = key.strip(), value.strip()
    if not (is_known(name) or _SPARKS.fullmatch(name)) or _USER_INFO.search(value):
        return True
    if not (names_servers(value) if _names_servers(name) else is_plain(value)):
        return is_secret_text(value)
    return bool(_SECRET_NAME.search(key)) and not _NO_SECRET_NAME.search(key) and is_secret_text(value.strip())


def _names_servers(name: str) -> bool:
    return name.endswith(("bootstrap.servers", "metadata.broker.list", "proxy", "url"))


def is_secret_text(text: str) -> bool:
    """True if a secret, or `USER:SECRET`, is the secret itself and not a reference to it (`env:NAME`, `file:PATH`)."""
    _user, colon, password = text.partition(":")
    return not text.startswith(_REFERENCES) and not (bool(colon) and password.startswith(_REFERENCES))


class Redactor:
    """Remembers secrets and their references, and removes the secrets from a text."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self.has_properties = False
        """True if a property was given on the command line: other arguments may then be pieces of a property."""

    def note(self, secret: str) -> None:
        """Remembers a secret or a reference to a secret (`env:NAME`, `file:PATH`), each also with `USER:` before it."""
        self._secrets.add(secret)
        user, colon, password = secret.partition(":")
        if colon and user not in {"env", "file"}:
            self._secrets.add(password)

    def note_text(self, text: str) -> None:
        """Remembers what may be secret in a `key=value` text, and all pieces of a text that srfix cannot parse."""
        text = _PUBLIC.sub("", text)
        in_jaas = _jaas_secrets(text)
        if in_jaas is not None:
            self._secrets.update(in_jaas)
            return
        self.note_properties([text])
        key, equals, value = text.partition("=")
        if not equals or not (is_known(key.strip()) or _SPARKS.fullmatch(key.strip())):
            self._secrets.update(pieces(text))
        elif _names_servers(key.strip()):
            self.note_servers(value)
        elif not is_plain(value.strip()):
            self._secrets.update(piece for piece in pieces(value) if not piece.startswith(_REFERENCES))

    def note_arguments(self, arguments: Iterable[str], environment: Mapping[str, str]) -> None:
        """Remembers the possible secrets on a command line, and in the environment variables for its options."""
        follows = urls = is_master = False
        for argument in arguments:
            if follows or (_GIVES.match(argument) and argument not in _OPTIONS):
                self.note_text(_GIVES.sub("", argument))
            else:
                self.note_properties([argument])
                if urls:
                    self.note_servers(argument)
            self.has_properties |= _GIVES.match(argument) is not None or argument in _OPTIONS
            if is_master or argument.startswith("--master="):
                self.note_master(argument.removeprefix("--master="))
            is_master = argument == "--master"
            urls = argument in _URL_OPTIONS
            follows = argument in _OPTIONS or (follows and argument in ("=", ":"))
        for name in _VARIABLES:
            for line in environment.get(name, "").splitlines():
                self.note_text(line)
        for name in _URL_VARIABLES:
            self.note_servers(environment.get(name, ""))
        self.note_master(environment.get("SRFIX_MASTER", ""))

    def note_master(self, text: str) -> None:
        """Remembers the token of a Spark Connect URL (`sc://HOST:PORT/;token=…`), and passwords in any URL."""
        self.note_properties([text])
        place, *parameters = re.split(r"[;?&]", text)
        self._secrets.update(value for _, _, value in (parameter.partition("=") for parameter in parameters))
        if place.startswith("spark://") and not names_servers(place):
            self._secrets.update(pieces(place))

    def note_servers(self, text: str) -> None:
        """Remembers passwords in a list of URLs. If srfix cannot parse a URL, it remembers all its pieces."""
        self.note_properties([text])
        if not names_servers(",".join(_USER.sub(r"\1", one.strip()) for one in text.split(","))):
            self._secrets.update(pieces(text))

    def note_properties(self, texts: Iterable[str]) -> None:
        """Remembers the value of each `key=value` whose key sounds like a secret, and passwords in URLs."""
        for text in texts:
            for password in _URL_PASSWORD.findall(text):
                self.note(password)
                self.note(unquote(password))
            for line in text.splitlines():
                match = _PROPERTY.fullmatch(line)
                if match is not None and _SECRET_NAME.search(match[1]) and not _NO_SECRET_NAME.search(match[1]):
                    self.note(match[2].strip())

    def scrub(self, text: str) -> str:
        """The text without the known secrets, and without user names and passwords in URLs."""
        forms = {
            form
            for secret in self._secrets
            for value in _values(secret)
            if len(value) >= _SHORTEST
            for form in (value, repr(value)[1:-1], json.dumps(value)[1:-1], quote(value, safe="", errors="replace"))
        }
        for value in sorted(forms, key=len, reverse=True):
            text = _hide(value, text)
        return _USER_INFO.sub(_HIDDEN, text)


def _hide(secret: str, text: str) -> str:
    """The text without a secret. A longer property name that begins or ends with the secret's letters stays: it is not
    secret, and its remaining letters (`***o`) would reveal the secret."""
    hidden, rest = [], 0
    for match in re.finditer(re.escape(secret), text):
        begin, end = match.span()
        before, after = _NAME_BEFORE.search(text, max(0, begin - 100), begin), _NAME_AFTER.match(text, end)
        name = f"{before[0] if before else ''}{secret}{after[0] if after else ''}".rstrip(".")
        if name == secret or not is_known(name):
            hidden += [text[rest:begin], _HIDDEN]
            rest = end
    return "".join([*hidden, text[rest:]])


def _jaas_secrets(text: str) -> set[str] | None:
    """The secrets in a JAAS entry; None if the property is not a JAAS entry that srfix can parse."""
    name, _, value = text.partition("=")
    if not name.strip().endswith("sasl.jaas.config"):
        return None
    from srfix.serde.properties.java.sasl import parse_jaas

    try:
        module = parse_jaas(value)
    except SrfixError:
        return None
    return {piece for option, secret in module.options.items() if option not in _NO_SECRETS for piece in pieces(secret)}


def _values(secret: str) -> tuple[str, ...]:
    if secret.startswith("env:"):
        return (os.environ.get(secret.removeprefix("env:"), ""),)
    if secret.startswith("file:"):
        try:
            content = read_file(secret.removeprefix("file:"), most_bytes=bounds.MOST_SECRET_BYTES)
            return (content.decode("utf-8").strip(),)
        except (OSError, UnicodeDecodeError):
            return ()
    return (secret,)
